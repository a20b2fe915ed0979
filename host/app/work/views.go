package work

import (
	"github.com/skillet-run/skillet/host/agents/event"
	"github.com/skillet-run/skillet/host/agents/llm"
	"github.com/skillet-run/skillet/host/agents/llm/budget"
	"github.com/skillet-run/skillet/host/agents/memory"
	"github.com/skillet-run/skillet/host/agents/orchestrator"
	"github.com/skillet-run/skillet/host/agents/queue"
	"github.com/skillet-run/skillet/host/base/task"
	"github.com/skillet-run/skillet/host/record/approval"
	"github.com/skillet-run/skillet/manifests/agent"
	"github.com/skillet-run/skillet/plugins/provider"
)

// What is shown of tasks. An edge needs no package below for them.
type (
	Task       = task.Task
	Run        = task.Run
	Step       = task.Step
	Report     = task.Report
	Recovery   = task.Recovery
	State      = task.State
	StepState  = task.StepState
	Planning   = task.Planning
	Priority   = task.Priority
	Risk       = task.Risk
	Attachment = task.Attachment
	Status     = orchestrator.Status
	Update     = orchestrator.Update
	DeadLetter = queue.DeadLetter
	Proposal   = approval.Proposal
	// An AgentDefinition says what an agent is for, and which tools it may use.
	AgentDefinition = agent.Definition
)

// States of tasks and of steps, and what a request says of how one is done.
const (
	Queued          = task.Queued
	Running         = task.Running
	WaitingApproval = task.WaitingApproval
	Paused          = task.Paused
	Completed       = task.Completed
	Failed          = task.Failed
	Cancelled       = task.Cancelled

	StepPending = task.StepPending
	StepWaiting = task.StepWaiting
	StepDone    = task.StepDone

	PhaseAct       = task.PhaseAct
	PlanAuto       = task.PlanAuto
	PriorityNormal = task.PriorityNormal
	RiskNever      = task.RiskNever
)

// Events of tasks, and their types. [event.Event.Step] is what one says of a step.
type (
	Event     = event.Event
	EventType = event.Type
)

// Types of events.
const (
	TaskPlanned   = event.TaskPlanned
	TaskProgress  = event.TaskProgress
	TaskPartial   = event.TaskPartial
	TaskRecovered = event.TaskRecovered
	TaskPaused    = event.TaskPaused
	TaskResumed   = event.TaskResumed
	TaskCancelled = event.TaskCancelled
	StepStarted   = event.StepStarted
	StepCompleted = event.StepCompleted
	StepFailed    = event.StepFailed
	StepDenied    = event.StepDenied
	StepUncertain = event.StepUncertain
	StepCalled    = event.StepCalled
)

// EventTypes lists every type of event, with what it means.
func EventTypes() []event.Description { return event.Types() }

// What is shown of what is remembered.
type (
	Record      = memory.Record
	Match       = memory.Match
	MemoryDraft = memory.Draft
	Filter      = memory.Filter
	Query       = memory.Query
	Area        = memory.Area
	MemoryType  = memory.Type
	Order       = memory.Order
	Outcome     = memory.Outcome
	Imported    = memory.Imported
)

// Orders of a search, its default limit, and the type of a memory that says none.
const (
	ByImportance = memory.ByImportance
	ByRank       = memory.ByRank
	DefaultLimit = memory.DefaultLimit
	Knowledge    = memory.Knowledge
	MaxText      = memory.MaxText
)

// Areas and MemoryTypes are those of memories.
func Areas() []Area { return memory.Areas() }

// MemoryTypes are the types of memories.
func MemoryTypes() []MemoryType { return memory.Types() }

// Shown is a text of a memory as it can be shown: others wrote it.
func Shown(text string) string { return memory.Shown(text) }

// What is shown of providers and their models.
type (
	Listed       = llm.Listed
	Diagnosis    = llm.Diagnosis
	Tier         = llm.Tier
	Model        = provider.Model
	BudgetStatus = budget.Status
)

// QueueStats are figures of the queue.
type QueueStats = queue.Stats
