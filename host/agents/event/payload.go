package event

import (
	"encoding/json"
	"fmt"

	"github.com/skillet-run/skillet/host/base/fault"
	"github.com/skillet-run/skillet/host/base/task"
	"github.com/skillet-run/skillet/plugins/provider"
)

// Created is the data of [TaskCreated]: how large the goal seems to be.
type Created struct {
	Complexity task.Complexity `json:"complexity"`
	Confidence float64         `json:"confidence"` // 0 to 1
	Estimate   int64           `json:"estimate"`   // tokens of output
}

// Planned is the data of [TaskPlanned].
type Planned struct {
	Steps []task.Step `json:"steps"`
	Risk  task.Risk   `json:"risk"`
	// Note says why the plan was cut short; empty otherwise.
	Note string `json:"note,omitempty"`
}

// Started is the data of [TaskStarted].
type Started struct {
	Attempt int    `json:"attempt"` // from 1
	Worker  string `json:"worker"`
}

// Recovered is the data of [TaskRecovered].
type Recovered struct {
	Strategy task.Strategy `json:"strategy"`
	Steps    []string      `json:"steps"` // IDs of the steps that were added
}

// Ended is the data of [TaskCompleted] and [TaskFailed].
type Ended struct {
	Partial    bool           `json:"partial"`
	Confidence float64        `json:"confidence"` // 0 to 1
	Telemetry  task.Telemetry `json:"telemetry"`
}

// Decided is the data of [TaskApproved] and [TaskDenied].
type Decided = task.Decision

// Step is the data of events about a step of a task.
type Step struct {
	Step  string `json:"step"` // its ID
	Agent string `json:"agent,omitempty"`
	Tool  string `json:"tool,omitempty"`
	// Percent is how far the step is, 0 to 100; nil when nobody says.
	Percent *float64 `json:"percent,omitempty"`
	// OK says whether a call answered; nil for what is not a call.
	OK     *bool           `json:"ok,omitempty"`
	Error  *fault.Error    `json:"error,omitempty"`
	TookMS float64         `json:"took_ms,omitempty"`
	Delta  *provider.Delta `json:"delta,omitempty"` // of [TaskPartial]
	RunID  task.RunID      `json:"run_id,omitempty"`
	Input  json.RawMessage `json:"input,omitempty"`
	// TaskPercent, Done and Steps are how far the task is, where a step has ended.
	TaskPercent *float64 `json:"task_percent,omitempty"`
	Done        int      `json:"done,omitempty"`
	Steps       int      `json:"steps,omitempty"`
}

// payload makes a place for the data of events of a type; nil for types that have none,
// or whose data belongs to the package that tells them.
func payload(t Type) any {
	switch t {
	case TaskCreated:
		return new(Created)
	case TaskPlanned:
		return new(Planned)
	case TaskStarted:
		return new(Started)
	case TaskRecovered:
		return new(Recovered)
	case TaskCompleted, TaskFailed:
		return new(Ended)
	case TaskApproved, TaskDenied:
		return new(Decided)
	case TaskProgress, TaskPartial, TaskWaiting, StepStarted, StepCompleted, StepFailed, StepCalled, StepDenied, StepUncertain:
		return new(Step)
	}
	return nil
}

// Payload is the data of an event of a task, as a pointer to one of the types of this
// package: [Step] for [StepStarted], and so on. It is nil for an event without data, and
// for one of something else.
func (e Event) Payload() (any, error) {
	p := payload(e.Type)
	if p == nil || len(e.Data) == 0 {
		return nil, nil
	}
	if err := json.Unmarshal(e.Data, p); err != nil {
		return nil, fmt.Errorf("read event %d, %s: %w", e.Seq, e.Type, err)
	}
	return p, nil
}

// Step is the data of an event about a step; the zero value for any other, and for one
// that cannot be read.
func (e Event) Step() Step {
	if p, err := e.Payload(); err == nil {
		if s, ok := p.(*Step); ok {
			return *s
		}
	}
	return Step{}
}
