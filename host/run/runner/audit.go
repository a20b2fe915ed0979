package runner

import (
	"context"

	"github.com/skillet-run/skillet/manifests"

	"github.com/skillet-run/skillet/host/base/fault"
	"github.com/skillet-run/skillet/host/base/task"
	"github.com/skillet-run/skillet/host/record/journal"
)

// A Record is what the audit log keeps of a run. Inputs and outputs are there
// as digests only.
type Record struct {
	RunID           task.RunID    `json:"run_id"`
	Skill           string        `json:"skill"`
	Digest          string        `json:"digest"`
	Tool            string        `json:"tool"`
	Allowed         []string      `json:"allowed_once,omitempty"`
	InputDigest     string        `json:"input_digest"`
	OutputDigest    string        `json:"output_digest,omitempty"`
	OK              bool          `json:"ok"`
	Error           *fault.Error  `json:"error,omitempty"`
	DurationMS      float64       `json:"duration_ms"`
	Fuel            uint64        `json:"fuel"`
	PeakMemoryBytes uint64        `json:"peak_memory_bytes"`
	HostCalls       int           `json:"host_calls"`
	Used            []Use         `json:"used,omitempty"`
	Denials         []task.Denial `json:"denials,omitempty"`
	// Figures, Attempts, Fallback and Cached are as in [task.Result].
	Figures  task.Figures   `json:"figures"`
	Attempts []task.Attempt `json:"attempts,omitempty"`
	Fallback *task.Fallback `json:"fallback,omitempty"`
	Cached   bool           `json:"cached,omitempty"`
	// Part says what a run was for that nobody asked for: "call" for one that the
	// guest of another run made, "fallback", "health_check" or "migration"; Of of
	// which run it is a part; and OnBehalfOf whose skill that is.
	Part       string     `json:"part,omitempty"`
	Of         task.RunID `json:"of,omitempty"`
	OnBehalfOf string     `json:"on_behalf_of,omitempty"`
	// Session is the session that the run went on with; empty for none.
	Session string `json:"session,omitempty"`
	// Task and Step are those of the goal that it was for; empty for none.
	Task string `json:"task,omitempty"`
	Step string `json:"step,omitempty"`
	// Context is what policies could look at of the call, beside its tool, task, session and
	// input; nil when none did.
	Context *Context `json:"context,omitempty"`
	// Models is what models were asked within it; nil for none.
	Models *task.ModelUse `json:"models,omitempty"`
}

// KindRun is the kind of a [Record]'s journal entry.
const KindRun = "run"

func (r *Runner) record(ctx context.Context, a *run) error {
	res := a.result
	rec := Record{
		RunID: res.RunID, Skill: res.Skill, Digest: res.Digest, Tool: res.Tool,
		Allowed: a.call.Allow.Set().Strings(), InputDigest: string(manifests.DigestOf(a.call.Input)),
		OK: res.OK, Error: res.Error, DurationMS: res.DurationMS, Fuel: res.Fuel,
		PeakMemoryBytes: res.PeakMemoryBytes, HostCalls: res.Figures.HostCalls, Used: a.uses, Denials: res.Denials,
		Figures: res.Figures, Attempts: res.Attempts, Fallback: res.Fallback, Cached: res.Cached, Part: string(a.part), OnBehalfOf: a.onBehalfOf(),
		Task: a.call.Task, Step: a.call.Step, Context: a.context(),
	}
	if a.turn != nil {
		rec.Session = a.call.Session
	}
	if a.call.Models != nil {
		rec.Models = a.call.Models()
	}
	if a.from != nil {
		rec.Of = a.from.result.RunID
	}
	if res.OK {
		rec.OutputDigest = string(manifests.DigestOf(res.Raw))
	}
	// A run that was interrupted is recorded all the same.
	_, err := r.calls.Append(context.WithoutCancel(ctx), journal.Record{Kind: KindRun, Actor: a.call.Caller, Data: rec})
	return err
}
