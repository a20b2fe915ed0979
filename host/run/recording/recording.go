// Package recording is one tool call kept so that it can be made again: what the
// guest was given, what it asked the host and was told, and how it ended.
//
// What a guest does is a function of its module, its input and what it sees of
// the world. A [Recorder] keeps all it sees: the answers of host functions,
// readings of the real clock, the system's randomness, and what the file
// functions of WASI returned. A [Player] shows a guest the same again, with
// nothing real behind it, and notes the first thing it does differently. A
// [Trial] does so for another version of the guest, which may ask for things in
// another order, and notes what it asks that was not asked before.
//
// The package runs nothing: package runner does, with a Recorder, Player or
// Trial as the call's tape. It does not know where packages, grants or secrets
// are kept.
//
// # Format
//
// A recording is a JSON object whose first member is "skillet_recording", the
// version of the format: 1. The members are those of [Recording]. Bytes are
// {"text":…} where they are UTF-8 and {"base64":…} where not. Request and
// response data of host functions stand as the JSON objects they are, when they
// are such objects without white space, and otherwise as a string behind "text:"
// or "base64:".
package recording

import (
	"time"

	"github.com/skillet-run/skillet/host/base/fault"
	"github.com/skillet-run/skillet/host/engine/sandbox"

	"github.com/skillet-run/skillet/host/base/task"
	"github.com/skillet-run/skillet/manifests"
)

// Format is the version of the format that this package writes, and the only
// one it reads.
const Format = 1

// A Recording is one tool call. It must not be changed while it is played.
type Recording struct {
	Format     int       `json:"skillet_recording"`
	RecordedAt time.Time `json:"recorded_at"`
	// Skill and Version are the package's own words, Digest names its bytes, and
	// Module those of the module that ran, which may be an interpreter's.
	Skill   string           `json:"skill"`
	Version string           `json:"version"`
	Digest  manifests.Digest `json:"digest"`
	Module  manifests.Digest `json:"module"`
	// Path is where the package was read from; empty for an installed one.
	Path string `json:"path,omitempty"`
	Tool string `json:"tool"`
	// Export is the function that ran, and Args the arguments of a WASI command.
	Export string   `json:"export"`
	Args   []string `json:"args,omitempty"`
	Input  Bytes    `json:"input"`
	// Config is what an Extism guest reads with config_get.
	Config map[string]string `json:"config,omitempty"`
	// Grants are the capabilities the skill had; Workspace is the directory that
	// relative paths meant.
	Grants    []string `json:"grants"`
	Workspace string   `json:"workspace,omitempty"`
	// Clock and Random say that the guest had the real ones; Seed is that of the
	// randomness it has otherwise.
	Clock  bool   `json:"clock,omitempty"`
	Random bool   `json:"random,omitempty"`
	Seed   uint64 `json:"seed,omitempty"`
	// Restart says that the module's initialisation was part of the call.
	Restart bool   `json:"restart,omitempty"`
	Limits  Limits `json:"limits"`
	// Files is the file tree that WASI showed; nil for none.
	Files *Tree `json:"files,omitempty"`
	// Events are what the guest saw, in order.
	Events  []Event `json:"events"`
	Outcome Outcome `json:"outcome"`
	// Attempt is which attempt at the call this was, from 1.
	Attempt int `json:"attempt"`
	// Struck is where values of secrets were taken out.
	Struck []Struck `json:"struck,omitempty"`
	// Inexact says why a replay may not, or does not, end like the call; empty for
	// one that does.
	Inexact string `json:"inexact,omitempty"`
}

// Limits are those that held, in the units of package sandbox.
type Limits struct {
	MemoryBytes uint64 `json:"memory_bytes"`
	Fuel        uint64 `json:"fuel"`
	WallMS      int64  `json:"wall_ms"`
	InputBytes  int64  `json:"input_bytes"`
	OutputBytes int64  `json:"output_bytes"`
	LogBytes    int64  `json:"log_bytes"`
	HostCalls   int    `json:"host_calls"`
	TableElems  uint32 `json:"table_elems"`
}

// LimitsOf are limits of the sandbox, with no zero among them, as a recording has them.
func LimitsOf(l sandbox.Limits) Limits {
	return Limits{
		MemoryBytes: l.MemoryBytes, Fuel: l.Fuel, WallMS: max(l.Wall.Milliseconds(), 1), InputBytes: l.InputBytes,
		OutputBytes: l.OutputBytes, LogBytes: l.LogBytes, HostCalls: l.HostCalls, TableElems: l.TableElems,
	}
}

// Sandbox is the limits as the sandbox takes them.
func (l Limits) Sandbox() sandbox.Limits {
	return sandbox.Limits{
		MemoryBytes: l.MemoryBytes, Fuel: l.Fuel, Wall: time.Duration(l.WallMS) * time.Millisecond, InputBytes: l.InputBytes,
		OutputBytes: l.OutputBytes, LogBytes: l.LogBytes, HostCalls: l.HostCalls, TableElems: l.TableElems,
	}
}

// A Tree is the directories that are open when the guest begins.
type Tree struct {
	Preopens []Preopen `json:"preopens"`
}

// A Preopen is one of them. Only lists the files that are to be seen in it, when
// it is not itself part of the tree; null for all.
type Preopen struct {
	Path string   `json:"path"`
	Only []string `json:"only"`
}

// An Event is one thing the guest saw: exactly one member is there.
type Event struct {
	Call   *Call  `json:"call,omitempty"`
	Clock  *Clock `json:"clock,omitempty"`
	Random *Bytes `json:"random,omitempty"`
	File   *File  `json:"file,omitempty"`
}

// A Call is a call of a host function that reaches beyond the guest, and its
// answer. The Extism imports have the names and the form of skillet:host/v1; see
// package hostfn.
type Call struct {
	Name       string `json:"name"`
	Request    Meta   `json:"request"`
	Body       Bytes  `json:"body,omitzero"`
	Answer     Meta   `json:"answer"`
	AnswerBody Bytes  `json:"answer_body,omitzero"`
}

// A Clock is a reading of a real clock: "realtime" or "monotonic", in
// nanoseconds.
type Clock struct {
	ID  string `json:"id"`
	Now int64  `json:"now"`
}

// An Outcome is how the call ended.
type Outcome struct {
	OK       bool   `json:"ok"`
	Output   Bytes  `json:"output"`
	ExitCode uint32 `json:"exit_code,omitempty"`
	Stderr   Bytes  `json:"stderr,omitzero"`
	// Ending is how the guest ended; the zero value is that it answered.
	Ending Ending `json:"ending,omitzero"`
	// Error is what the caller was told; nil when OK.
	Error           *fault.Error   `json:"error,omitempty"`
	Logs            []task.LogLine `json:"logs"`
	Denials         []task.Denial  `json:"denials"`
	Fuel            uint64         `json:"fuel"`
	PeakMemoryBytes uint64         `json:"peak_memory_bytes"`
	HostCalls       int            `json:"host_calls"`
	DurationMS      float64        `json:"duration_ms"`
}

// An Ending is how a guest ended that did not answer.
type Ending struct {
	// Reason is the sort of failure in one word, as package runner judges it:
	// "failed", "crash", "timeout".
	Reason string `json:"reason"`
	// Kind and Message are the guest's own; Message is that of a limit or trap for
	// others, and empty where a host function ended the call.
	Kind    string `json:"kind,omitempty"`
	Message string `json:"message,omitempty"`
	// Clock says that the clock ended the call, or whoever asked for it: where
	// exactly does not follow from the recording.
	Clock bool `json:"clock,omitempty"`
}

// Struck says that the value of a secret was taken out.
type Struck struct {
	// Secret is its name, and Where the part of the recording: "input",
	// "event 3: http_request answer body".
	Secret string `json:"secret"`
	Where  string `json:"where"`
	// Seen says that the guest saw the value there, so that a replay shows it
	// something else.
	Seen bool `json:"seen,omitempty"`
}

// Calls are the calls of host functions, in order.
func (r *Recording) Calls() []Call {
	var calls []Call
	for _, e := range r.Events {
		if e.Call != nil {
			calls = append(calls, *e.Call)
		}
	}
	return calls
}

// Ref names the skill and its version.
func (r *Recording) Ref() string { return r.Skill + "@" + r.Version }
