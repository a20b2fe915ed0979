package task

import (
	"encoding/json"
	"slices"
	"time"

	"github.com/skillet-run/skillet/host/base/fault"
)

// A ToolCall is one call of a tool, as the work on a task makes it.
type ToolCall struct {
	// Name is what the model calls the tool; Skill and Tool are what it is.
	Name  string `json:"name"`
	Skill string `json:"skill"`
	Tool  string `json:"tool"`
	// Args is the input, JSON.
	Args json.RawMessage `json:"args"`
	// TimeoutMS bounds the call in milliseconds; 0 leaves that to the tool.
	TimeoutMS int64 `json:"timeout_ms,omitempty"`
	// AllowNetwork and AllowFS say whether the call may use the network, and files
	// under Roots. They allow nothing that was not granted to the skill.
	AllowNetwork bool `json:"allow_network"`
	AllowFS      bool `json:"allow_fs"`
	// ExpectedOutputSchema is the JSON Schema that the answer fits; nil for any.
	ExpectedOutputSchema json.RawMessage `json:"expected_output_schema,omitempty"`

	// Task and Step are what it is made for.
	Task string `json:"task"`
	Step string `json:"step"`
	// Key is the same for a call that is made again after a crash, and for no
	// other: who acts on it may recognise it.
	Key string `json:"idempotency_key"`
	// Caller is who makes it: "agent:code". It is never a person.
	Caller string `json:"caller"`
	// Roots are those of the task.
	Roots []string `json:"roots,omitempty"`
	// AskFrom is the risk from which on a call of another skill, made from within this
	// one, is not made: the result says then which one it was, and a person is asked.
	// It is empty when a person has agreed, or none is asked.
	AskFrom Risk `json:"ask_from,omitempty"`
}

// A Report is what became of a task. There is one for every task that has ended,
// also for one that failed.
type Report struct {
	TaskID string `json:"task_id"`
	State  State  `json:"state"`
	// Summary says in a line or two what became of the task.
	Summary string `json:"summary"`
	// Answer is for the person who set the goal; when Partial, what there is of one.
	Answer string `json:"answer"`
	// Partial says that the goal was not reached as a whole.
	Partial bool `json:"partial"`
	// Confidence is from 0 to 1.
	Confidence float64 `json:"confidence"`
	// Artifacts are what was made: outputs of steps, proposals, files that tools
	// named.
	Artifacts []Artifact `json:"artifacts"`
	Decisions []string   `json:"decisions"`
	// NextSteps are what a person could do now.
	NextSteps []string  `json:"next_steps"`
	Telemetry Telemetry `json:"telemetry"`
	// Steps are what was done, each in a line.
	Steps []StepReport `json:"steps"`
	// Denials are what was refused on the way.
	Denials []DeniedCall `json:"denials,omitempty"`
	// Recovery is what was tried when the goal was not met.
	Recovery []Recovery `json:"recovery,omitempty"`
	// Sources are where what the answer says is from.
	Sources []string `json:"sources,omitempty"`
	// Error says why the task failed; nil when it did not.
	Error      *fault.Error `json:"error,omitempty"`
	StartedAt  time.Time    `json:"started_at,omitzero"`
	FinishedAt time.Time    `json:"finished_at,omitzero"`
}

// HintsFilled implements [fault.Filler]: what helps against the failure, and against what was
// refused, is among the next steps.
func (r *Report) HintsFilled() {
	var hints []string
	if r.Error != nil {
		hints = append(hints, r.Error.Hint)
	}
	for _, d := range r.Denials {
		hints = append(hints, d.Hint)
	}
	r.NextSteps = slices.Clone(r.NextSteps)
	for _, h := range hints {
		if h != "" && !slices.Contains(r.NextSteps, h) {
			r.NextSteps = append(r.NextSteps, h)
		}
	}
}

// An Artifact is something that a task made.
type Artifact struct {
	// Kind is "step_output" or "proposal".
	Kind string `json:"kind"`
	// Name is the step or the proposal.
	Name  string `json:"name"`
	Title string `json:"title,omitempty"`
	Bytes int    `json:"bytes,omitempty"`
}

// A StepReport is one step of a report.
type StepReport struct {
	ID         string    `json:"id"`
	Title      string    `json:"title,omitempty"`
	Tool       string    `json:"tool,omitempty"`
	Agent      string    `json:"agent,omitempty"`
	State      StepState `json:"state"`
	Error      string    `json:"error,omitempty"`
	DurationMS float64   `json:"duration_ms,omitempty"`
}

// A DeniedCall is a tool call that was refused.
type DeniedCall struct {
	Step string `json:"step"`
	// Tool is the name that was called.
	Tool   string `json:"tool"`
	Reason string `json:"reason"`
	// Hint is what a person could do; empty when nothing helps.
	Hint string `json:"hint,omitempty"`
	// Remedies are what Hint speaks of; see [fault.Error].
	Remedies []fault.Remedy `json:"remedies,omitempty"`
}

// Way says how to get out of it.
func (d DeniedCall) Way() fault.Hint { return fault.Hint{Text: d.Hint, Remedies: d.Remedies} }
