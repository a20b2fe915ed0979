// Package code runs scripts of callers, with the tools of skills as functions in them. A
// script runs in a fresh sandbox at the snapshot of an installed interpreter, and can do
// nothing but compute and call tools; each call is one of [invoke.Service], with what the
// skill was granted and its caller may call.
//
// A script is replayed: its time and its randomness are those of its run, and what its calls
// came to is kept, so that it can be run again from its beginning and goes on where it ended.
// That is how one goes on that waited for a person, or whose process died.
package code

import (
	"cmp"
	"context"
	"encoding/json"
	"math/rand/v2"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/skillet-run/skillet/host/app/invoke"
	"github.com/skillet-run/skillet/host/base/fault"
	"github.com/skillet-run/skillet/host/base/store"
	"github.com/skillet-run/skillet/host/base/task"
	"github.com/skillet-run/skillet/host/record/approval"
	"github.com/skillet-run/skillet/host/record/journal"
	"github.com/skillet-run/skillet/host/record/registry"
	"github.com/skillet-run/skillet/host/run/casetest"
	"github.com/skillet-run/skillet/host/run/runner"
)

// Parts are what a [Service] works on. All are needed.
type Parts struct {
	Invoke    *invoke.Service
	Skills    *invoke.Skills
	Registry  *registry.Registry
	Runner    *runner.Runner
	Approvals *approval.Store
	Store     store.Store
	// CatchUp brings the state to what was decided last, and Decided returns a number that
	// changes with each decision.
	CatchUp func(context.Context) error
	Decided func() uint64
	// Redact strikes the values of secrets out of a text, and Calls are the runs on record.
	Redact func(string) string
	Calls  *journal.Journal
	// Tester runs the test cases of packages, and Proposals are where they are proposed.
	Tester    *casetest.Tester
	Proposals Proposer
}

// Settings are what can be chosen. The zero value lets nothing run.
type Settings struct {
	// Enabled lets scripts run.
	Enabled bool
	// ToolsBudget is how many tokens the definitions of all tools may have that a model is
	// shown, before it is shown a search and scripts instead.
	ToolsBudget int
	// Lease is after how long a run is taken over whose process has died; 0 for 5 seconds.
	Lease time.Duration
	// Keep is how long a run is kept that has ended or waits; 0 for seven days.
	Keep time.Duration
	// AtOnce is how many scripts run at once, so that many do not take more memory than those;
	// others wait for their turn. 0 is for four a processor, and at least eight.
	AtOnce int
}

// A Service runs scripts. It is safe for concurrent use.
type Service struct {
	parts Parts
	log   hclog.Logger
	set   Settings
	found atomic.Pointer[catalog]
	swept atomic.Int64 // when old runs were removed last
	turns chan struct{}
}

var usualLease = 5 * time.Second // a variable for tests that kill processes

// New makes a Service.
func New(log hclog.Logger, p Parts, s Settings) *Service {
	s.Lease, s.Keep = cmp.Or(s.Lease, usualLease), cmp.Or(s.Keep, 7*24*time.Hour)
	s.AtOnce = cmp.Or(s.AtOnce, max(8, 4*runtime.GOMAXPROCS(0)))
	return &Service{parts: p, log: log, set: s, turns: make(chan struct{}, s.AtOnce)}
}

// Bounds of scripts.
const (
	// MaxCode is the longest script, and MaxData the longest data, in bytes.
	MaxCode = 256 << 10
	MaxData = 4 << 20
	// MaxCalls is how many calls of tools a script may make.
	MaxCalls = 1000
	// MaxAnswers is how much all answers of tools may have together, in bytes.
	MaxAnswers = 64 << 20
	// usualOutput is the longest value that a script may have, in bytes, and usualTime how long
	// it may take with all its calls, in seconds, and usualFuel how much fuel they have together,
	// when nothing is said.
	usualOutput = 256 << 10
	usualTime   = 120
	usualFuel   = 1_000_000_000_000
)

// A Request is a script to run, or to go on with.
type Request struct {
	// Language is one of [Languages]; empty for the first.
	Language string
	// Code is the script. It may be left out for a Run.
	Code string
	// Data is JSON that the script has as data; nil for none.
	Data json.RawMessage
	// Run is a run to go on with: one that waits, or whose process died. One that has ended is
	// answered as it ended.
	Run string
	// Key names the request: made again with it, it is not carried out a second time. Without
	// one it is the script with its data that is known again, until the run has ended.
	Key string
	// Doubt says what becomes of a call of which nobody knows whether it was made; empty to be
	// asked.
	Doubt Doubt
	// May refuses a tool that the caller may not call. Nil refuses all.
	May func(skill, tool string) error
	// Bounds, Workspace and Limits are those of [invoke.Invocation]: the first two for each
	// call, the last for the script with all its calls.
	Bounds    *invoke.Bounds
	Workspace string
	Limits    invoke.Limits
	// Logged is told each line that the script logs as it comes; nil is for nobody.
	Logged func(invoke.LogLine)
}

// A Doubt says what becomes of a call of which nobody knows whether it was made, because the
// process died while it was, and whose tool does not promise that it may be made again.
type Doubt string

// What can become of it.
const (
	DoubtAgain Doubt = "again" // it is made again
	DoubtDone  Doubt = "done"  // it counts as made, and answers null
	DoubtFail  Doubt = "fail"  // the script is told that it failed
)

// A Status is how a run stands.
type Status string

// The statuses.
const (
	Done      Status = "done"      // the script has ended, and has a value
	Failed    Status = "failed"    // it ended with an error
	Paused    Status = "paused"    // a call waits for a person
	Uncertain Status = "uncertain" // nobody knows whether a call was made
	running   Status = "running"
)

// A Result is what came of a script.
type Result struct {
	RunID  string `json:"run_id"`
	Status Status `json:"status"`
	// Language is that of the script, and Engine the interpreter that ran it.
	Language string `json:"language"`
	Engine   string `json:"engine"`
	// Value is the value of the script; null unless it is done.
	Value json.RawMessage `json:"value"`
	Error *Error          `json:"error,omitempty"`
	// Waits says what a run that is paused or uncertain waits for.
	Waits *Wait `json:"waits,omitempty"`
	// Calls are the calls of tools, in order.
	Calls []Call           `json:"calls" nullable:"false"`
	Logs  []invoke.LogLine `json:"logs" nullable:"false"`
	// Fuel is what the script used, with its calls.
	Fuel uint64  `json:"fuel"`
	Took float64 `json:"duration_ms"`
}

// An Error is why a script failed.
type Error struct {
	Kind    fault.Kind `json:"kind"`
	Message string     `json:"message"`
	// Line and Column are where in the script, from 1; 0 where that is not known.
	Line   int        `json:"line,omitempty"`
	Column int        `json:"column,omitempty"`
	Hint   fault.Hint `json:"hint,omitzero"`
}

// A Wait is what a run waits for.
type Wait struct {
	// Call is the number of the call, and Skill and Tool what it is of.
	Call  int    `json:"call"`
	Skill string `json:"skill"`
	Tool  string `json:"tool"`
	// Input is what it would be given.
	Input json.RawMessage `json:"input,omitempty"`
	// Proposal is what a person decides about; empty when nobody knows whether the call was made.
	Proposal string `json:"proposal,omitempty"`
	Message  string `json:"message"`
}

// A Call is a call of a tool that a script made.
type Call struct {
	Skill string     `json:"skill"`
	Tool  string     `json:"tool"`
	OK    bool       `json:"ok"`
	RunID task.RunID `json:"run_id,omitempty"`
	// Error says why it failed.
	Error *fault.Error `json:"error,omitempty"`
	// Recorded says that it was not made now, but answered with what it came to before.
	Recorded bool `json:"recorded,omitempty"`
}

// Execute runs a script, or goes on with a run. What went wrong with the script is in the
// result; the error is why it was not run, or what became of it is not known.
//
// A call that needs a person stops the script, and the result says what it waits for. The
// same request again goes on when the person has decided: what was done is answered from the
// record, and not done again. A script that does otherwise then than before is stopped with
// an error that wraps [ErrDiverged].
func (s *Service) Execute(ctx context.Context, by approval.Principal, req Request) (Result, error) {
	if err := s.admit(by, &req); err != nil {
		return Result{}, err
	}
	s.sweep(ctx)
	r, err := s.open(ctx, by, req)
	if err != nil {
		return Result{}, err
	}
	defer r.close(ctx)
	if res, ended, err := s.ended(ctx, r, req); ended || err != nil {
		return res, err
	}
	return s.play(ctx, by, req, r)
}

func (s *Service) admit(by approval.Principal, req *Request) error {
	if err := approval.CheckPrincipal(by); err != nil {
		return err
	}
	if !s.set.Enabled {
		return fault.Errorf(fault.KindDenied, "scripts are not run here: the setting code.enabled is off").WithHint("a person can set it: %s", fault.SetSetting("code.enabled", "true"))
	}
	if _, ok := languageOf(req.Language); !ok {
		return fault.Errorf(fault.KindUsage, "the language %q is not known", req.Language).WithHint("it is %s", orWords(Languages()))
	}
	switch {
	case req.Code == "" && req.Run == "":
		return fault.Errorf(fault.KindUsage, "a script is needed")
	case len(req.Code) > MaxCode:
		return fault.Errorf(fault.KindLimit, "the script has %d bytes, at most %d", len(req.Code), MaxCode).WithHint("hand what is long over as data")
	case len(req.Data) > MaxData:
		return fault.Errorf(fault.KindLimit, "the data has %d bytes, at most %d", len(req.Data), MaxData)
	case len(req.Data) > 0 && !json.Valid(req.Data):
		return fault.Errorf(fault.KindUsage, "the data is not JSON")
	case req.Doubt != "" && req.Doubt != DoubtAgain && req.Doubt != DoubtDone && req.Doubt != DoubtFail:
		return fault.Errorf(fault.KindUsage, "what becomes of a call that may have been made is again, done or fail")
	}
	if req.May == nil {
		req.May = func(string, string) error { return fault.Errorf(fault.KindDenied, "no tools may be called") }
	}
	req.Limits = req.Limits.Or(invoke.Limits{Seconds: usualTime, OutputBytes: usualOutput, Fuel: usualFuel})
	return nil
}

// turn waits until a script may run, no longer than it might run itself, and returns what ends that.
func (s *Service) turn(ctx context.Context, most time.Duration) (done func(), err error) {
	patience := time.NewTimer(most)
	defer patience.Stop()
	select {
	case s.turns <- struct{}{}:
		return func() { <-s.turns }, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	case <-patience.C:
		return nil, fault.Errorf(fault.KindLimit, "%d scripts run already, and none has ended for too long", s.set.AtOnce).
			WithHint("ask again when fewer run").WithRetryAfter(time.Second)
	}
}

// newHead is that of a run that begins.
func newHead(by approval.Principal, req Request, sum string) head {
	l, _ := languageOf(req.Language)
	return head{
		ID: string(task.NewRunID()), Owner: by.Actor(), Sum: sum, Language: l.name, Given: len(req.Data) > 0,
		Seed: rand.Uint64(), Began: time.Now().UTC().Truncate(time.Millisecond), State: running,
	}
}
