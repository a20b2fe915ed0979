package task

import (
	"encoding/json"
	"time"

	"github.com/skillet-run/skillet/host/base/fault"
)

// A Phase is a part of the work on a task.
type Phase string

// The phases, in order.
const (
	PhaseIntake      Phase = "intake"
	PhaseRetrieve    Phase = "retrieve"
	PhasePlan        Phase = "plan"
	PhaseAct         Phase = "act"
	PhaseReflect     Phase = "reflect"
	PhaseConsolidate Phase = "consolidate"
	PhaseNotify      Phase = "notify"
)

// A Complexity says how much a goal asks for.
type Complexity string

// The complexities.
const (
	Simple  Complexity = "simple"
	Medium  Complexity = "medium"
	Complex Complexity = "complex"
)

// A Run is what is known of the work on a task. One key of the store holds it; it
// decides what the task's state is.
type Run struct {
	TaskID    string    `json:"task_id"`
	CreatedAt time.Time `json:"created_at"`
	// Title, Type, Owner and Priority are those of the task, for lists.
	Title    string   `json:"title"`
	Type     Type     `json:"type"`
	Owner    string   `json:"owner"`
	Priority Priority `json:"priority"`

	// Envelope names the submission of the task, so that another one of the same ID that
	// failed is not taken for it.
	Envelope string `json:"envelope"`

	State State `json:"state"`
	// Phase is the one that is being worked on, or was last.
	Phase Phase `json:"phase"`
	// Reason says why the state is what it is, where that is not obvious.
	Reason string `json:"reason,omitempty"`
	// Fence is that of the lock of the process that works on it; what one with a
	// smaller fence wants to write is refused.
	Fence uint64 `json:"fence,omitempty"`
	// Worker names that process.
	Worker string `json:"worker,omitempty"`
	// Held keeps it for one process while it is queued; nil if any process may take it.
	Held *Held `json:"held,omitempty"`
	// Attempts is how often a process began to work on it.
	Attempts int `json:"attempts"`
	// FirstEvent is the number of its first event; 0 when that was lost.
	FirstEvent uint64 `json:"first_event,omitempty"`

	// Complexity, Confidence (0 to 1) and Estimate are what intake found. The estimate is
	// tokens of output.
	Complexity Complexity `json:"complexity,omitempty"`
	Confidence float64    `json:"confidence,omitempty"`
	Estimate   int64      `json:"estimate,omitempty"`
	// Similar is how many earlier tasks the estimate is from.
	Similar int `json:"similar,omitempty"`
	// ExpectedMS is how long those took on average; 0 without any.
	ExpectedMS float64 `json:"expected_ms,omitempty"`
	// SoftTokens is what the task should cost, and Budget what it may cost.
	SoftTokens int64  `json:"soft_tokens,omitempty"`
	Budget     Budget `json:"budget,omitzero"`
	// Agent is the one the task was routed to.
	Agent string `json:"agent,omitempty"`

	// Planned says that a plan was made, and Stop when its steps need not go on.
	Planned bool     `json:"planned,omitempty"`
	Stop    []string `json:"stop,omitempty"`
	Risk    Risk     `json:"risk,omitempty"`
	// RiskReason says why.
	RiskReason string `json:"risk_reason,omitempty"`
	// Steps are in the order in which they were planned.
	Steps []Step `json:"steps,omitempty"`
	// Notes are what the host decided on the way, each in a line.
	Notes []string `json:"notes,omitempty"`
	// Recovery is what was tried when the goal was not met, in order.
	Recovery []Recovery `json:"recovery,omitempty"`
	// Approvals are what persons agreed to or refused.
	Approvals []Decision `json:"approvals,omitempty"`

	// StartedAt and FinishedAt are zero before that. ActiveMS is how long processes
	// worked on it, all attempts together.
	StartedAt  time.Time `json:"started_at,omitzero"`
	FinishedAt time.Time `json:"finished_at,omitzero"`
	UpdatedAt  time.Time `json:"updated_at"`
	ActiveMS   float64   `json:"active_ms,omitempty"`

	Telemetry Telemetry `json:"telemetry"`
	// Report is nil until the task has ended.
	Report *Report `json:"report,omitempty"`
}

// A Held says for which process a task is kept, and until when.
type Held struct {
	Worker string    `json:"worker"`
	Until  time.Time `json:"until"`
}

// From reports whether worker may not take the task, because it is kept for another one.
// h may be nil.
func (h *Held) From(worker string) bool {
	return h != nil && h.Worker != worker && time.Now().Before(h.Until)
}

// A Step is a part of a run: a tool call, or a goal for an agent.
type Step struct {
	// ID is unique in the task: letters, digits, "_" and "-".
	ID    string `json:"id"`
	Title string `json:"title,omitempty"`
	// Tool and Input are a tool call, Agent and Goal a goal for an agent; an empty Goal
	// is that of the task.
	Tool  string          `json:"tool,omitempty"`
	Input json.RawMessage `json:"input,omitempty"`
	Agent string          `json:"agent,omitempty"`
	Goal  string          `json:"goal,omitempty"`
	// After are the steps that have to be done before.
	After []string `json:"after,omitempty"`
	// Approval says that a person has to agree before, and Approved that one did.
	Approval bool `json:"approval,omitempty"`
	Approved bool `json:"approved,omitempty"`
	// Strategy is the way of recovery that the step belongs to; empty for none.
	Strategy Strategy `json:"strategy,omitempty"`

	State StepState `json:"state"`
	// Output is the beginning of what it answered; OutputBytes is how long that is.
	Output      string `json:"output,omitempty"`
	OutputBytes int    `json:"output_bytes,omitempty"`
	// Untrusted says that the output is from outside.
	Untrusted bool `json:"untrusted,omitempty"`
	// Confidence is what an agent said of its answer.
	Confidence float64 `json:"confidence,omitempty"`
	// Error says why it did not succeed.
	Error *fault.Error `json:"error,omitempty"`
	// Calls are those that wait for a person. Proposal is the proposal to approve; empty
	// if the calls are approved themselves.
	Calls    []WaitingCall `json:"calls,omitempty"`
	Proposal string        `json:"proposal,omitempty"`
	// Hopeless says that no other attempt can help: nothing is left of the task's budget,
	// or what was kept does not fit any more.
	Hopeless bool `json:"hopeless,omitempty"`
	// Always begins the step even when steps that it waits for did not succeed.
	Always bool `json:"always,omitempty"`
	// Percent is how far an agent said it is.
	Percent    *float64  `json:"percent,omitempty"`
	StartedAt  time.Time `json:"started_at,omitzero"`
	FinishedAt time.Time `json:"finished_at,omitzero"`
}

// A Strategy is a way to go on when a goal was not met.
type Strategy string

// The strategies, in the order in which they are tried.
const (
	ReducedScope Strategy = "reduced_scope"
	MoreTokens   Strategy = "more_tokens"
	ThinkingMode Strategy = "thinking_mode"
	Decompose    Strategy = "decompose"
)

// Strategies returns all strategies, in order.
func Strategies() []Strategy {
	return []Strategy{ReducedScope, MoreTokens, ThinkingMode, Decompose}
}

// A Recovery is one attempt to reach a goal in another way.
type Recovery struct {
	Strategy Strategy  `json:"strategy"`
	At       time.Time `json:"at"`
	// Because says what was not met.
	Because string `json:"because"`
	// Steps are those that were added for it; none when it was passed over.
	Steps []string `json:"steps,omitempty"`
	// Outcome is "met", "not met" or why it was passed over; empty while it goes on.
	Outcome string `json:"outcome,omitempty"`
}

// A Decision is a person's approval or rejection of a step.
type Decision struct {
	Step string `json:"step"`
	// Calls are the places of the calls that it is about; none when it is about the step
	// as a whole.
	Calls    []string  `json:"calls,omitempty"`
	Approved bool      `json:"approved"`
	By       string    `json:"by"`
	At       time.Time `json:"at"`
	Notes    string    `json:"notes,omitempty"`
}

// Telemetry is what a task cost, the model calls of its skills included.
type Telemetry struct {
	InputTokens    int64 `json:"input_tokens"`
	OutputTokens   int64 `json:"output_tokens"`
	ThinkingTokens int64 `json:"thinking_tokens,omitempty"`
	// MicroUSD is millionths of a US dollar.
	MicroUSD int64 `json:"micro_usd"`
	// ModelCalls, ToolCalls, ToolFailures and Denials count. Recorded answers that
	// were used again after a restart count once.
	ModelCalls   int `json:"model_calls"`
	ToolCalls    int `json:"tool_calls"`
	ToolFailures int `json:"tool_failures,omitempty"`
	Denials      int `json:"denials,omitempty"`
	// Uncertain counts calls of which nobody knows whether they had an effect.
	Uncertain int `json:"uncertain,omitempty"`
	// Models are those that answered.
	Models []string `json:"models,omitempty"`
	// DurationMS is from the beginning to the end, ActiveMS without the time in
	// which no process worked on it.
	DurationMS float64 `json:"duration_ms,omitempty"`
	ActiveMS   float64 `json:"active_ms,omitempty"`
	Attempts   int     `json:"attempts,omitempty"`
}

// Find returns the step of an ID, or nil.
func (r *Run) Find(id string) *Step {
	for i := range r.Steps {
		if r.Steps[i].ID == id {
			return &r.Steps[i]
		}
	}
	return nil
}

// Move makes a transition of the task: see [State.Next].
func (r *Run) Move(by Signal, reason string) error {
	to, err := r.State.Next(by)
	if err != nil {
		return err
	}
	r.State, r.Reason = to, reason
	return nil
}

// Move makes a transition of the step: see [StepState.To].
func (s *Step) Move(to StepState) error {
	next, err := s.State.To(to)
	s.State = next
	return err
}
