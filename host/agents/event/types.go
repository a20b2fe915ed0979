package event

import "slices"

// A Type says what happened. Its parts are separated by dots, so that patterns
// name groups of types.
type Type string

// The types.
const (
	TaskCreated   Type = "task.created"
	TaskPlanned   Type = "task.planned"
	TaskApproved  Type = "task.approved"
	TaskDenied    Type = "task.denied"
	TaskQueued    Type = "task.queued"
	TaskStarted   Type = "task.started"
	TaskProgress  Type = "task.progress"
	TaskPaused    Type = "task.paused"
	TaskResumed   Type = "task.resumed"
	TaskCompleted Type = "task.completed"
	TaskFailed    Type = "task.failed"
	TaskCancelled Type = "task.cancelled"
	TaskRecovered Type = "task.recovered"
	TaskPhase     Type = "task.phase"
	TaskPartial   Type = "task.partial"
	TaskWaiting   Type = "task.waiting"

	StepStarted   Type = "step.started"
	StepCompleted Type = "step.completed"
	StepFailed    Type = "step.failed"
	StepCalled    Type = "step.called"
	StepDenied    Type = "step.denied"
	StepUncertain Type = "step.uncertain"

	ProviderHealthy   Type = "provider.healthy"
	ProviderUnhealthy Type = "provider.unhealthy"

	ModelFallback Type = "model.fallback"
	ModelFailed   Type = "model.failed"
	ModelLoaded   Type = "model.loaded"
	ModelUnloaded Type = "model.unloaded"

	BudgetAlert     Type = "budget.alert"
	BudgetExhausted Type = "budget.exhausted"

	MemoryConsolidated Type = "memory.consolidated"

	QueueShed      Type = "queue.shed"
	QueueTakenOver Type = "queue.taken_over"
	QueueDead      Type = "queue.dead"

	WorkerOnline  Type = "system.worker_online"
	WorkerOffline Type = "system.worker_offline"
)

// A Description is a type and what it means.
type Description struct {
	Type Type   `json:"type"`
	Doc  string `json:"doc"`
}

// Types lists every type there is.
func Types() []Description {
	return []Description{
		{TaskCreated, "a task was submitted and is kept"},
		{TaskPlanned, "a task has a plan"},
		{TaskApproved, "a person let a task go on"},
		{TaskDenied, "a person refused what a task wanted to do"},
		{TaskQueued, "a task waits for its turn"},
		{TaskStarted, "a run of a task began"},
		{TaskProgress, "a task says how far it is"},
		{TaskPaused, "a task stands still until it is resumed"},
		{TaskResumed, "a task goes on"},
		{TaskCompleted, "a task has reached its goal"},
		{TaskFailed, "a task has ended without its goal, with a partial report"},
		{TaskCancelled, "a person ended a task"},
		{TaskRecovered, "a task goes on in another way after a failure"},
		{TaskPhase, "a task came to another phase"},
		{TaskPartial, "a piece of an answer came, which is not the whole"},
		{TaskWaiting, "a task or a step waits for a person"},
		{StepStarted, "a step of a task began"},
		{StepCompleted, "a step of a task is done"},
		{StepFailed, "a step of a task failed"},
		{StepCalled, "a tool was called for a step"},
		{StepDenied, "a call, or a step, was refused"},
		{StepUncertain, "a call was begun by a process that died, and is not made again"},
		{ProviderHealthy, "a provider answers again"},
		{ProviderUnhealthy, "a provider does not answer, or answers with errors"},
		{ModelFallback, "another model answered than the one that was asked first"},
		{ModelFailed, "no model answered a request"},
		{ModelLoaded, "a model takes memory of this machine"},
		{ModelUnloaded, "a model gave back the memory it took"},
		{BudgetAlert, "a budget is used beyond its threshold"},
		{BudgetExhausted, "a budget is used up"},
		{MemoryConsolidated, "memory records were merged or pruned"},
		{QueueShed, "a queue is full and turned something away"},
		{QueueTakenOver, "the worker of an item was lost, and another has it"},
		{QueueDead, "an item of a queue is given up, and waits for a person"},
		{WorkerOnline, "a worker takes tasks"},
		{WorkerOffline, "a worker takes no more tasks"},
	}
}

// Known reports whether t is one of [Types].
func (t Type) Known() bool {
	return slices.ContainsFunc(Types(), func(d Description) bool { return d.Type == t })
}
