package code

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/skillet-run/skillet/host/app/invoke"
	"github.com/skillet-run/skillet/host/base/fault"
	"github.com/skillet-run/skillet/host/base/task"
	"github.com/skillet-run/skillet/host/record/approval"
	"github.com/skillet-run/skillet/host/run/hostfn"
	"github.com/skillet-run/skillet/host/run/runner"
	"github.com/skillet-run/skillet/internal/duration"
	"github.com/skillet-run/skillet/manifests"
)

// ErrDiverged: a script that was run again did not do what it did before, so that it cannot be
// answered with what is kept.
var ErrDiverged = errors.New("the script does not do what it did before")

// ended is what is answered without running the script: what it came to, or what it still
// waits for.
func (s *Service) ended(ctx context.Context, r *run, req Request) (Result, bool, error) {
	switch r.head.State {
	case Done, Failed:
		res, err := r.end(ctx)
		return res, true, err
	case Paused:
		last := r.steps[len(r.steps)-1]
		if err := s.parts.CatchUp(ctx); err != nil {
			return Result{}, true, err
		}
		p, err := s.parts.Approvals.Proposal(ctx, last.Proposal)
		if err != nil || p.Status == approval.StatusPending {
			res, endErr := r.end(ctx)
			return res, true, errors.Join(err, endErr)
		}
		if p.Status != approval.StatusApplied { // a person said no, or nobody decided
			last.refuse(p)
			return Result{}, false, r.put(ctx, last)
		}
		return Result{}, false, nil
	}
	i := slices.IndexFunc(r.steps, func(st *step) bool { return !st.Done && !st.Again && st.Proposal == "" })
	if i < 0 {
		return Result{}, false, nil
	}
	st := r.steps[i]
	switch req.Doubt {
	case DoubtAgain:
		st.Again = true
	case DoubtDone:
		st.Done, st.Answer = true, json.RawMessage("null")
	case DoubtFail:
		st.Done, st.Kind, st.Told = true, string(hostfn.KindFailed), "nobody knows whether the call was made"
		st.Error = fault.Errorf(fault.KindConflict, "%s", st.Told)
	default:
		res := r.result(nil)
		res.Status, res.Waits = Uncertain, st.wait(fmt.Sprintf("%s:%s was begun when the process ended, and may or may not have been done", st.Skill, st.Tool))
		return res, true, r.finish(ctx, res)
	}
	return Result{}, false, r.put(ctx, st)
}

// refuse ends a step that no person agreed to.
func (st *step) refuse(p approval.Proposal) {
	st.Done, st.Kind, st.Told = true, string(hostfn.KindDenied), "denied"
	st.Error = fault.Errorf(fault.KindDenied, "%s:%s was not approved: the proposal %s is %s", st.Skill, st.Tool, p.ID, p.Status)
}

func (st *step) wait(message string) *Wait {
	return &Wait{Call: st.Number, Skill: st.Skill, Tool: st.Tool, Input: st.Shown, Proposal: st.Proposal, Message: message}
}

// result is what is known of a run.
func (r *run) result(p *play) Result {
	res := Result{RunID: r.head.ID, Status: Failed, Language: r.head.Language, Engine: r.head.Engine, Calls: []Call{}, Logs: []invoke.LogLine{}}
	for _, st := range r.steps {
		if !st.Done {
			continue
		}
		res.Calls = append(res.Calls, Call{st.Skill, st.Tool, st.Kind == "", st.RunID, st.Error, p == nil || st.Number <= p.known})
		res.Fuel += st.Fuel
	}
	return res
}

// A play is one time that the script of a run is run, from its beginning.
type play struct {
	s     *Service
	r     *run
	by    approval.Principal
	req   Request
	rest  string // of the guest
	next  int    // number of the last call
	known int    // calls that were recorded when it began
	bytes int    // of answers
	fuel  uint64 // of calls
	left  uint64 // of the script's fuel, when it asked last
	waits *step
	err   error // why it was stopped
}

// play runs the script.
func (s *Service) play(ctx context.Context, by approval.Principal, req Request, r *run) (Result, error) {
	l, _ := languageOf(r.head.Language)
	e, target, err := s.engine(ctx, l)
	if err != nil {
		return Result{}, err
	}
	if digest := target.Package.Digest(); r.head.Digest == "" {
		r.head.Digest, r.head.Engine = digest, target.Label
		if e.note != "" {
			r.head.Engine += " (" + e.note + ")"
		}
	} else if r.head.Digest != digest {
		return Result{}, fault.Errorf(fault.KindConflict, "the run began with another interpreter than %s, and cannot go on with this one", target.Label).
			WithHint("run the script anew, with another key or text")
	}
	input, err := e.program(r.head, r.code)
	if err != nil {
		return Result{}, err
	}
	if r.durable {
		if err := r.save(ctx, running); err != nil {
			return Result{}, err
		}
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	done, err := s.turn(ctx, req.Limits.Wall())
	if err != nil {
		return Result{}, err
	}
	defer done()
	defer context.AfterFunc(r.lost, func() { cancel(errLost) })()
	p := &play{s: s, r: r, by: by, req: req, known: r.recorded(), rest: e.rest}
	res := s.parts.Runner.Run(ctx, runner.Call{
		Target: target, Tool: EvalTool, Input: input, Caller: by.Actor(), Tape: p, Seed: r.head.Seed, Began: r.head.Began, NoCache: true,
		Task: r.head.ID, Limits: req.Limits, Logged: req.Logged, Bounds: &runner.Bounds{Offline: true},
	})
	return p.end(ctx, res)
}

// recorded is how many calls are answered from the record.
func (r *run) recorded() int {
	n := 0
	for n < len(r.steps) && r.steps[n].Done {
		n++
	}
	return n
}

// end is the result of a script that was run.
func (p *play) end(ctx context.Context, ran task.Result) (Result, error) {
	r := p.r
	res := r.result(p)
	res.Logs, res.Took = append(res.Logs, ran.Logs...), duration.Milliseconds(ran.FinishedAt.Sub(ran.StartedAt))
	res.Fuel = ran.Fuel // with that of its calls
	switch {
	case p.waits != nil:
		res.Status, res.Waits = Paused, p.waits.wait(p.waits.Why)
		return res, r.finish(ctx, res)
	case ctx.Err() != nil: // it goes on when it is asked again
		return Result{}, context.Cause(ctx)
	case p.err != nil && !errors.Is(p.err, context.DeadlineExceeded):
		return p.stopped(ctx, res)
	case ran.OK && p.next < p.known:
		return Result{}, p.diverged("it ended after %d calls, and made %d before", p.next, p.known)
	case ran.OK:
		value, failed, err := readAnswer(ran.Raw)
		switch {
		case err != nil:
			res.Error = &Error{Kind: fault.KindSkill, Message: err.Error()}
		case failed != nil:
			res.Error = failed
		default:
			res.Status, res.Value = Done, value
		}
	default:
		res.Error = errorOf(ran.Error)
	}
	return res, r.finish(ctx, res)
}

// stopped is the result of a script that the host stopped. What is not the script's mistake
// leaves the run as it is.
func (p *play) stopped(ctx context.Context, res Result) (Result, error) {
	e := fault.AsError(p.err)
	if errors.Is(p.err, ErrDiverged) || e.Kind != fault.KindLimit {
		return Result{}, p.err
	}
	res.Error = errorOf(e)
	return res, p.r.finish(ctx, res)
}

func errorOf(e *fault.Error) *Error {
	// Hints would be about the interpreter.
	message, _, _ := strings.Cut(strings.TrimPrefix(e.Message, "call "+EvalTool+": "), " (raise it with security.")
	return &Error{Kind: e.Kind, Message: message}
}

func (p *play) diverged(format string, args ...any) error {
	return fault.Errorf(fault.KindConflict, "run %s: %w: %s", p.r.head.ID, ErrDiverged, fmt.Sprintf(format, args...)).
		WithHint("run the script anew, with another key or text")
}

// stop ends the script.
func (p *play) stop(err error) (hostfn.Answer, error) {
	p.err = err
	return hostfn.Answer{}, err
}

// asked is what a script asks of the host.
type asked struct {
	Data  bool   `json:"data"`
	Rest  bool   `json:"rest"` // of the guest
	Skill string `json:"skill"`
	Tool  string `json:"tool"`
}

// HostCall answers what the script asks: its data, and calls of tools. Nothing else is let
// through, whatever was granted to the interpreter.
func (p *play) HostCall(ctx context.Context, c hostfn.HostCall, act func(context.Context) hostfn.Answer) (hostfn.Answer, error) {
	if c.Own {
		return act(ctx), nil
	}
	var a asked
	if c.Name != "skill_call" || json.Unmarshal(c.Meta, &a) != nil {
		return hostfn.Refused(hostfn.KindDenied, "a script can do nothing but call tools"), nil
	}
	if p.err != nil {
		return hostfn.Answer{}, p.err
	}
	if a.Rest {
		meta, err := json.Marshal(struct {
			Rest string `json:"rest"`
		}{p.rest})
		return hostfn.Answer{Meta: meta}, err
	}
	if a.Data {
		return hostfn.Answer{Meta: json.RawMessage("{}"), Body: p.r.data}, nil
	}
	p.left = c.FuelLeft
	st, err := p.take(a, c.Body)
	if err != nil {
		return p.stop(err)
	}
	if !st.Done {
		if err := p.make(ctx, st, c.Body); err != nil {
			return p.stop(err)
		}
	}
	p.r.tape(len(st.Answer))
	if p.bytes += len(st.Answer); p.bytes > MaxAnswers {
		return p.stop(fault.Errorf(fault.KindLimit, "the answers of tools have more than %d MB together", MaxAnswers>>20))
	}
	p.fuel += st.Fuel
	if st.Kind != "" {
		refused := hostfn.Refused(hostfn.Kind(st.Kind), st.Told)
		refused.Fuel = st.Fuel
		return refused, nil
	}
	return hostfn.Answer{Meta: json.RawMessage("{}"), Body: st.Answer, Fuel: st.Fuel}, nil
}

// maxShown is the longest input that is kept to be shown, in bytes.
const maxShown = 16 << 10

// take numbers a call, and finds what is kept under the number.
func (p *play) take(a asked, input []byte) (*step, error) {
	sum := sha256.Sum256(input)
	want := &step{Number: p.next + 1, Skill: strings.ReplaceAll(a.Skill, "_", "-"), Tool: a.Tool, Input: hex.EncodeToString(sum[:])}
	if len(input) <= maxShown && json.Valid(input) {
		want.Shown = slices.Clone(input)
	}
	if want.asked = a.Tool; p.r.tape(len(input)) {
		want.body = slices.Clone(input)
	}
	p.next++
	if p.next > len(p.r.steps) {
		if p.next > MaxCalls {
			return nil, fault.Errorf(fault.KindLimit, "the script makes more than %d calls of tools", MaxCalls)
		}
		p.r.steps = append(p.r.steps, want)
		return want, nil
	}
	st := p.r.steps[p.next-1]
	st.body, st.asked = want.body, want.asked
	if st.Skill != want.Skill || st.Tool != want.Tool && want.Tool != "" || st.Input != want.Input {
		return nil, p.diverged("call %d was of %s:%s, and is of %s:%s with other words now", p.next, st.Skill, st.Tool, want.Skill, want.Tool)
	}
	return st, nil
}

// make makes a call. What goes wrong with it is told to the script; the error is why the
// script has to stop.
func (p *play) make(ctx context.Context, st *step, body []byte) error {
	target, input, err := p.target(ctx, st, body)
	if err != nil {
		return p.settle(ctx, st, invoke.Answer{}, err)
	}
	st.Proposal, st.Why = "", ""
	begun := false
	begins := func() error { // what changes nothing needs no record before it is made
		if tool, _ := target.Describe(); tool.ReadOnly || begun {
			return nil
		}
		begun = true
		st.Tries++
		p.err = p.r.keep(ctx, st)
		return p.err
	}
	script := &approval.Script{Run: p.r.head.ID, Number: st.Number, Language: p.r.head.Language, Digest: manifests.DigestOf([]byte(p.r.code))}
	if tool, _ := target.Describe(); !tool.ReadOnly {
		script.Once = fmt.Sprintf("%s/%d/%d", p.r.head.ID, st.Number, st.Tries)
	}
	a, err := p.s.parts.Invoke.Invoke(ctx, invoke.Invocation{
		Target: target, By: p.by, Input: input, Bounds: p.req.Bounds, Workspace: p.req.Workspace, Begins: begins, Limits: p.limits(target), Script: script,
		Run: p.r.head.ID, Task: p.r.head.ID, Step: fmt.Sprint(st.Number),
	})
	if p.err != nil {
		return p.err
	}
	if ctx.Err() != nil { // it is not known what became of it
		return context.Cause(ctx)
	}
	return p.settle(ctx, st, a, err)
}

// limits are what a call may use: what its manifest says, and no more than is left to the script.
func (p *play) limits(t invoke.Target) invoke.Limits {
	left := min(p.left, p.req.Limits.Fuel-min(p.fuel, p.req.Limits.Fuel)) // an interpreter in another process says what it likes
	if most := t.Manifest().Limits().Fuel; most > left {
		return invoke.Limits{Fuel: max(left, 1)}
	}
	return invoke.Limits{}
}

// target is what a call is of, and its input.
func (p *play) target(ctx context.Context, st *step, body []byte) (invoke.Target, []byte, error) {
	ref, err := manifests.ParseRef(st.Skill)
	if err != nil || ref.Version != "" || ref.Tool != "" {
		return invoke.Target{}, nil, fault.Errorf(fault.KindUsage, "%q is not the name of a skill", clip(st.Skill, 100))
	}
	t, err := p.s.parts.Invoke.Find(ctx, p.by, invoke.Address{Ref: ref, Tool: st.Tool}, nil)
	if err != nil {
		return t, nil, err
	}
	tool, ok := t.Describe()
	if !ok || t.IsPrompt() {
		return t, nil, fault.Errorf(fault.KindNotFound, "%s has no tool %s that a script could call", ref.Name, clip(st.Tool, 100)).WithHint("its tools are %s", strings.Join(namesOf(t.Manifest()), ", "))
	}
	if err := p.req.May(ref.Name, tool.Name); err != nil {
		return t, nil, fault.Wrap(fault.KindDenied, err)
	}
	st.Tool, st.Again = tool.Name, tool.ReadOnly || tool.Idempotent
	st.Version, st.Digest = t.Manifest().Version, t.Package().Digest()
	return t, inputOf(tool, body), nil
}

// inputOf is the input of a tool: of one without a schema a text as it stands.
func inputOf(t manifests.Tool, body []byte) []byte {
	var text string
	if len(t.InputSchema) == 0 && json.Unmarshal(body, &text) == nil {
		return []byte(text)
	}
	return slices.Clone(body)
}

// settle records what a call came to.
func (p *play) settle(ctx context.Context, st *step, a invoke.Answer, err error) error {
	ctx = context.WithoutCancel(ctx)
	failed := a.Error
	if err != nil {
		failed = fault.AsError(err)
	}
	var waits *approval.WaitsError
	switch {
	case failed != nil && failed.Kind == fault.KindApproval && errors.As(failed, &waits):
		st.Proposal, st.Why = waits.Proposal, failed.Message
		p.waits = st
		return errors.Join(errPaused, p.r.keep(ctx, st))
	case failed != nil && failed.Kind == fault.KindInternal, failed != nil && failed.Kind == fault.KindFull:
		return failed // of the host; the script is not told, and goes on another time
	}
	st.Done, st.RunID, st.Fuel = true, a.RunID, a.Fuel
	switch {
	case failed != nil:
		st.fail(failed)
	default:
		st.Answer = a.Data
	}
	if st.revision == 0 { // it changed nothing, and is kept when something after it is
		return nil
	}
	return p.r.put(ctx, st)
}

var errPaused = errors.New("a call of the script waits for a person")

// fail records why a call failed, and what the script is told of it: of a refusal nothing more.
func (st *step) fail(e *fault.Error) {
	st.Error, st.Kind, st.Told = e, string(hostfn.KindDenied), "denied"
	if e.Kind != fault.KindDenied && e.Kind != fault.KindApproval {
		f := runner.Told(e)
		st.Kind, st.Told = string(f.Kind), f.Message
	}
}

// kindTold is what the kind of an error means to the caller that a script let end it.
func kindTold(told string) fault.Kind {
	switch hostfn.Kind(told) {
	case hostfn.KindInvalid:
		return fault.KindUsage
	case hostfn.KindNotFound:
		return fault.KindNotFound
	case hostfn.KindConflict:
		return fault.KindConflict
	case hostfn.KindLimit:
		return fault.KindLimit
	case hostfn.KindDenied:
		return fault.KindDenied
	}
	return fault.KindSkill
}
