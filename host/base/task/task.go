// Package task has the vocabulary of doing: one tool call, its result, and the
// kinds of failure every caller meets, with the exit codes that stand for them.
//
// It is values and pure functions. It knows no store, no sandbox and no wire
// format but JSON, whose field names are part of the public contract.
package task

import (
	"encoding/json"
	"slices"
	"time"

	"github.com/skillet-run/skillet/host/base/fault"

	"github.com/google/uuid"
)

// A RunID names one attempt at one tool call. It is a version 7 UUID
// (RFC 9562, section 5.7), so that ids sort by the time they were made.
type RunID string

// NewRunID makes a RunID that no other run has.
func NewRunID() RunID {
	id, err := uuid.NewV7()
	if err != nil { // the system's randomness is broken: nothing else can work either
		panic("task: make a run id: " + err.Error())
	}
	return RunID(id.String())
}

// Began is when a RunID was made; false for a text that is none.
func (r RunID) Began() (time.Time, bool) {
	id, err := uuid.Parse(string(r))
	if err != nil || id.Version() != 7 {
		return time.Time{}, false
	}
	return time.Unix(id.Time().UnixTime()), true
}

// A Result is what one tool call came to. It is what `skillet run --json`
// prints, and what every other caller receives.
type Result struct {
	// OK is true when the tool answered and its answer was accepted.
	OK bool `json:"ok"`
	// Data is the tool's answer: its JSON as it stands; a JSON string when the answer
	// was text that is not JSON, or is nested deeper than 64 levels; an object with the
	// one field "base64" when it was neither. It is null when OK is false.
	Data json.RawMessage `json:"data"`
	// Error says why OK is false; nil otherwise.
	Error *fault.Error `json:"error,omitempty"`
	// StartedAt and FinishedAt are in UTC.
	StartedAt  time.Time `json:"started_at"`
	FinishedAt time.Time `json:"finished_at"`
	// DurationMS is the wall time of the call in milliseconds, loading included.
	DurationMS float64 `json:"duration_ms"`
	// Fuel is the deterministic cost of the instructions the guest executed.
	Fuel uint64 `json:"fuel"`
	// PeakMemoryBytes is the largest linear memory the guest had.
	PeakMemoryBytes uint64 `json:"peak_memory_bytes"`
	// Figures are what else is known of the call's cost.
	Figures Figures `json:"figures"`
	// Attempts are the attempts at the call, in order; nil when the first one
	// settled it.
	Attempts []Attempt `json:"attempts,omitempty"`
	// Fallback says what ran because the call had failed; nil when nothing did.
	Fallback *Fallback `json:"fallback,omitempty"`
	// Calls are the calls of other skills that were made from within this one, in
	// order; at most 100.
	Calls []Nested `json:"calls,omitempty"`
	// Asked are calls of other skills that were not made, because a person has to agree
	// to this call first, see [ToolCall]; each once, at most 100.
	Asked []AskedCall `json:"asked,omitempty"`
	// Session is the session that the call went on with; nil for none.
	Session *Session `json:"session,omitempty"`
	// Cached is true when the answer was kept from an earlier call, and nothing
	// ran.
	Cached bool `json:"cached,omitempty"`
	// Models is what models were asked from within the call, calls of other skills
	// included; nil when none was.
	Models *ModelUse `json:"models,omitempty"`
	// Logs are the lines the guest logged, redacted and capped.
	Logs []LogLine `json:"logs"`
	// Denials are the host's refusals during the call, in order.
	Denials []Denial `json:"denials"`
	// Skill is name@version of an installed skill, or the path that was run.
	Skill string `json:"skill"`
	// Tool is the tool that was called.
	Tool string `json:"tool"`
	// Digest is the content digest of the package that ran.
	Digest string `json:"digest"`
	// RunID names this run in logs and in the audit log.
	RunID RunID `json:"run_id"`

	// Raw is the tool's answer byte for byte, for callers that pass it on
	// unparsed. It is not part of the JSON form.
	Raw []byte `json:"-"`
}

// ModelUse is what models were asked, and what that cost.
type ModelUse struct {
	// Calls is how many requests were answered.
	Calls          int   `json:"calls"`
	InputTokens    int64 `json:"input_tokens"`
	OutputTokens   int64 `json:"output_tokens"`
	ThinkingTokens int64 `json:"thinking_tokens,omitempty"`
	// MicroUSD is millionths of a US dollar, also of requests that nothing came of.
	MicroUSD int64 `json:"micro_usd,omitempty"`
	// Names are the models that answered, as PROVIDER/MODEL.
	Names []string `json:"names,omitempty"`
}

// Add counts v too.
func (u *ModelUse) Add(v ModelUse) {
	u.Calls += v.Calls
	u.InputTokens += v.InputTokens
	u.OutputTokens += v.OutputTokens
	u.ThinkingTokens += v.ThinkingTokens
	u.MicroUSD += v.MicroUSD
	for _, name := range v.Names {
		if !slices.Contains(u.Names, name) {
			u.Names = append(u.Names, name)
		}
	}
}

// Figures are what a call cost. Durations are in nanoseconds. The zero value of
// a field means none, or that the engine does not tell.
type Figures struct {
	// Fuel is that of all attempts together, and PeakMemoryBytes the largest of
	// any.
	Fuel            uint64 `json:"fuel"`
	PeakMemoryBytes uint64 `json:"peak_memory_bytes"`
	// DirtyPages is how many pages of memory the guest wrote to, which had to be
	// taken back after the call by ResetStrategy in ResetNS.
	DirtyPages    uint64 `json:"dirty_pages,omitempty"`
	ResetStrategy string `json:"reset_strategy,omitempty"`
	ResetNS       int64  `json:"reset_ns,omitempty"`
	// Pooled is true when the instance had served calls before.
	Pooled bool `json:"pooled"`
	// InstantiateNS is how long it took to have an instance ready, CompileNS to
	// compile the module or take it from the cache, and SnapshotNS to take the
	// snapshot it starts from; the last two are of the first call only.
	InstantiateNS int64 `json:"instantiate_ns"`
	CompileNS     int64 `json:"compile_ns,omitempty"`
	SnapshotNS    int64 `json:"snapshot_ns,omitempty"`
	// HostCalls is how many host functions the guest called, in all attempts.
	HostCalls int `json:"host_calls"`
	// Attempts is how often the guest ran; 0 when it did not.
	Attempts int `json:"attempts"`
	// QueuedNS is how long the call waited for others of the same skill.
	QueuedNS int64 `json:"queued_ns,omitempty"`
}

// Add counts another attempt of the same call: costs add up, and of sizes the
// larger one stands.
func (f Figures) Add(g Figures) Figures {
	f.Fuel += g.Fuel
	f.PeakMemoryBytes = max(f.PeakMemoryBytes, g.PeakMemoryBytes)
	f.DirtyPages = max(f.DirtyPages, g.DirtyPages)
	f.ResetStrategy, f.Pooled = g.ResetStrategy, g.Pooled
	f.ResetNS += g.ResetNS
	f.InstantiateNS += g.InstantiateNS
	f.CompileNS += g.CompileNS
	f.SnapshotNS += g.SnapshotNS
	f.HostCalls += g.HostCalls
	f.Attempts += g.Attempts
	f.QueuedNS += g.QueuedNS
	return f
}

// An Attempt is one of several at the same call.
type Attempt struct {
	// Error says why it failed; nil for the one that succeeded.
	Error *fault.Error `json:"error,omitempty"`
	// Reason is what sort of failure it was, finer than its class: "timeout",
	// "network_error", "resource_limit", "crash" and so on.
	Reason string `json:"reason,omitempty"`
	// WaitMS is the pause before it in milliseconds; 0 for the first.
	WaitMS float64 `json:"wait_ms"`
	// DurationMS is how long it took in milliseconds.
	DurationMS float64 `json:"duration_ms"`
}

// A Fallback is what ran because a call had failed.
type Fallback struct {
	// Command is what the manifest names: a tool, or skill:tool.
	Command string `json:"command"`
	// Because is the error of the call that failed.
	Because *fault.Error `json:"because"`
	// RunID, Skill and Digest are those of the run that took its place; empty
	// when it could not be run.
	RunID  RunID  `json:"run_id,omitempty"`
	Skill  string `json:"skill,omitempty"`
	Digest string `json:"digest,omitempty"`
	// Error says why it failed as well; nil when its answer was taken.
	Error *fault.Error `json:"error,omitempty"`
}

// A Session is what a call left for the next one of the same name.
type Session struct {
	Name string `json:"name"`
	// Calls is how many calls it has had, with this one if that left something.
	Calls int `json:"calls"`
	// After is true when an earlier session of the name had ended, so that this one
	// began with nothing.
	After bool `json:"after_ended,omitempty"`
	// Closed is true when somebody closed it while the call ran.
	Closed bool `json:"closed,omitempty"`
	// ExpiresAt is when it ends unless it is called again, in UTC.
	ExpiresAt time.Time `json:"expires_at"`
}

// A Nested is a call of a skill that was made from within another call. It is a
// run of its own.
type Nested struct {
	RunID RunID  `json:"run_id"`
	Skill string `json:"skill"`
	Tool  string `json:"tool"`
	OK    bool   `json:"ok"`
	// Error says why OK is false; nil otherwise. The calling skill was told less.
	Error      *fault.Error `json:"error,omitempty"`
	DurationMS float64      `json:"duration_ms"`
	// Calls are those that were made from within this one.
	Calls []Nested `json:"calls,omitempty"`
}

// A LogLine is one line a guest logged.
type LogLine struct {
	// Level is trace, debug, info, warn or error; "stderr" for a line the guest
	// wrote to its standard error.
	Level string `json:"level"`
	// Message has no control characters and no secrets the host knows.
	Message string `json:"message"`
	// Fields are the structured fields of the line, in no order; may be nil.
	Fields map[string]string `json:"fields,omitempty"`
}

// A Denial is one thing a guest tried and was not allowed to do. The guest
// itself was told only "denied".
type Denial struct {
	// Request is what was tried: "http:GET https://example.com/x".
	Request string `json:"request"`
	// Capability is the narrowest capability that would have allowed it;
	// empty when none can.
	Capability string `json:"capability,omitempty"`
	// Policies are the ids of the Cedar policies that decided; empty when the
	// grant was missing.
	Policies []string `json:"policies,omitempty"`
	// Reason says in words why it was refused.
	Reason string `json:"reason"`
	// Hint is what a person could do to allow it; empty when a policy forbids what no
	// grant can open.
	Hint string `json:"hint,omitempty"`
	// Remedies are what Hint speaks of; see [fault.Error].
	Remedies []fault.Remedy `json:"remedies,omitempty"`
	// Asks is true when policies ask a person about it, who can approve this very
	// call.
	Asks bool `json:"asks,omitempty"`
	// Count is how often the same thing was refused in this call; at least 1.
	Count int `json:"count"`
}

// Hinted says how to get out of it.
func (d *Denial) Hinted(h fault.Hint) { d.Hint, d.Remedies = h.Text, h.Remedies }

// Way says how to get out of it.
func (d Denial) Way() fault.Hint { return fault.Hint{Text: d.Hint, Remedies: d.Remedies} }
