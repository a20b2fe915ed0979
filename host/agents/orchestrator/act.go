package orchestrator

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/skillet-run/skillet/host/base/fault"

	"github.com/skillet-run/skillet/host/agents/event"
	"github.com/skillet-run/skillet/host/agents/llm"
	"github.com/skillet-run/skillet/host/agents/llm/budget"
	"github.com/skillet-run/skillet/host/base/task"
	"github.com/skillet-run/skillet/host/record/approval"
	"github.com/skillet-run/skillet/plugins/agent"
	"github.com/skillet-run/skillet/plugins/provider"
)

// act has steps done: those that wait for no other side by side, as many at once as
// the settings say. What waits for a person does not keep others from being done.
func (w *work) act() (task.Phase, error) {
	ended, running := make(chan error), 0
	var stop error
	for {
		var begin []task.Step
		if stop == nil {
			var err error
			if begin, err = w.ready(w.o.settings.Parallel - running); err != nil {
				stop = err
			}
		}
		for _, s := range begin {
			running++
			go func() { ended <- w.do(s) }()
		}
		if running == 0 {
			break
		}
		err := <-ended
		running--
		stop = cmp.Or(stop, err, w.stopped())
		if stop == nil && running == 0 {
			stop = w.stopWhen()
		}
	}
	if stop != nil {
		return "", stop
	}
	r := w.now()
	if slices.ContainsFunc(r.Steps, func(s task.Step) bool { return s.State == task.StepWaiting }) {
		return "", errWaiting
	}
	return task.PhaseReflect, nil
}

// ready makes the steps that can begin now those that run, and returns them. Steps
// that wait for one that did not succeed are skipped, and those that a person has to
// agree to wait.
func (w *work) ready(places int) (begin []task.Step, err error) {
	r := w.now()
	if !slices.ContainsFunc(r.Steps, func(s task.Step) bool { return s.State == task.StepPending }) {
		return nil, nil
	}
	acts, err := w.acting(r.Steps)
	if err != nil {
		return nil, err
	}
	var told []func()
	err = w.update(func(r *task.Run) error {
		begin, told = nil, nil
		for changed := true; changed; { // skipping one may skip others
			changed = false
			for i := range r.Steps {
				if s := &r.Steps[i]; s.State == task.StepPending && w.passedOver(r, s) {
					changed = true
				}
			}
		}
		for i := range r.Steps {
			s := &r.Steps[i]
			if s.State != task.StepPending || !allFinal(r, s.After) || r.State != task.Running {
				continue
			}
			if !inTurn(r.Steps, s, acts) && !unasked(r, s) {
				continue
			}
			to := task.StepRunning
			switch {
			case s.Approval && !s.Approved && s.Tool == "": // of a tool, the very call waits
				to = task.StepWaiting
				told = append(told, func() { w.tell(event.TaskWaiting, s.Title, event.Step{Step: s.ID, Agent: s.Agent, Tool: s.Tool}) })
			case len(begin) >= places:
				continue
			default:
				s.StartedAt, s.Calls = time.Now().UTC(), nil
			}
			if err := s.Move(to); err != nil {
				return err
			}
			if to == task.StepRunning {
				begin = append(begin, *s)
			}
		}
		return nil
	})
	for _, tell := range told {
		tell()
	}
	return begin, err
}

// passedOver skips a step when one that it waits for did not succeed.
func (w *work) passedOver(r *task.Run, s *task.Step) bool {
	for _, id := range s.After {
		if b := r.Find(id); b != nil && b.State.Final() && b.State != task.StepDone && !s.Always {
			s.State = task.StepSkipped
			s.Error = fault.Errorf(fault.KindSkill, "the step %s before it is %s", id, b.State)
			return true
		}
	}
	return false
}

// allFinal reports whether some steps are over.
func allFinal(r *task.Run, ids []string) bool {
	for _, id := range ids {
		if s := r.Find(id); s != nil && !s.State.Final() {
			return false
		}
	}
	return true
}

// outcome is what became of a step.
type outcome struct {
	state task.StepState
	out   output
	err   *fault.Error
	// calls are what waits for a person, for the sake of a proposal when that is named.
	calls    []task.WaitingCall
	proposal string
	hopeless bool
}

// output is what a step answered, as it is kept.
type output struct {
	Step string `json:"step"`
	answer
	Untrusted bool          `json:"untrusted,omitempty"`
	Report    *agent.Report `json:"report,omitempty"`
}

// outputs reads what steps answered: agents what is kept of it, and tools what is
// kept of their calls.
func (o *Orchestrator) outputs(ctx context.Context, id string, steps []task.Step, log transcript) (map[string]output, error) {
	entries, err := o.kv.List(ctx, outputKey+id+"/")
	all := map[string]output{}
	for _, s := range steps {
		if k := log[s.ID][1]; s.Tool != "" && s.State.Final() && k.Done && k.Result != nil {
			all[s.ID] = outputOf(s.ID, *k.Result, k)
		}
	}
	for _, e := range entries {
		out, _, _, readErr := read[output](ctx, o.kv, e.Key)
		err = errors.Join(err, readErr)
		all[out.Step] = out
	}
	return all, err
}

// do does one step and writes down what became of it. The error is why the task has
// to stop; that a step failed is none.
func (w *work) do(s task.Step) error {
	w.tell(event.StepStarted, s.Title, event.Step{Step: s.ID, Agent: s.Agent, Tool: s.Tool})
	var o outcome
	var err error
	switch {
	case s.Tool != "":
		o, err = w.doTool(s)
	case s.Always:
		o, err = w.doAnswer(s)
	default:
		o, err = w.doAgent(s)
	}
	if err != nil {
		return err
	}
	return w.ended(s, o)
}

// ended writes down what became of a step: first what it answered, then that it is
// over.
func (w *work) ended(s task.Step, o outcome) error {
	o.out.Step, o.err = s.ID, shortened(o.err)
	if s.Agent != "" && o.state != task.StepWaiting { // what a tool answered is kept with its call
		if err := write(context.WithoutCancel(w.hard), w.o.kv, outputKey+w.task.ID+"/"+s.ID, o.out, anyRevision); err != nil {
			return fmt.Errorf("keep the answer of the step %s: %w", s.ID, err)
		}
	}
	w.mu.Lock()
	w.answers[s.ID] = o.out
	w.mu.Unlock()
	err := w.update(func(r *task.Run) error {
		at := r.Find(s.ID)
		if at == nil || r.State.Final() {
			return nil
		}
		at.Error, at.Proposal, at.Calls, at.Hopeless = o.err, o.proposal, o.calls, o.hopeless
		at.Output, at.OutputBytes, at.Untrusted = cut(o.out.Text, maxShown), len(o.out.Text), o.out.Untrusted
		if o.out.Report != nil {
			at.Confidence = o.out.Report.Confidence
		}
		if o.state.Final() {
			at.FinishedAt = time.Now().UTC()
		}
		return at.Move(o.state)
	})
	if err != nil {
		return err
	}
	w.toldStep(s, o)
	return nil
}

// shortened is an error of bounded length: it is part of the run.
func shortened(e *fault.Error) *fault.Error {
	if e == nil {
		return nil
	}
	c := *e
	c.Message = bounded(e.Message, maxShown)
	return c.Hinted(shortHint(e.Way(), maxShown))
}

// shortHint is a hint of at most so many bytes. One with remedies that is longer says
// nothing: cut in the middle it would help nobody.
func shortHint(h fault.Hint, most int) fault.Hint {
	switch {
	case len(h.Remedies) == 0:
		h.Text = bounded(h.Text, most)
	case len(h.String()) > most:
		return fault.Hint{}
	}
	return h
}

// maxShown is how many bytes of what a step answered are in the run itself.
const maxShown = 512

func (w *work) toldStep(s task.Step, o outcome) {
	t := map[task.StepState]event.Type{
		task.StepDone: event.StepCompleted, task.StepWaiting: event.TaskWaiting, task.StepDenied: event.StepDenied,
		task.StepUncertain: event.StepUncertain,
	}[o.state]
	text := o.out.Text
	if o.err != nil {
		text = o.err.Message
	}
	r := w.now()
	percent := percentOf(r)
	w.tell(cmp.Or(t, event.StepFailed), text, event.Step{
		Step: s.ID, Agent: s.Agent, Tool: s.Tool, Error: o.err, TookMS: msSince(s.StartedAt), TaskPercent: &percent, Done: countFinal(r.Steps), Steps: len(r.Steps),
	})
}

func countFinal(steps []task.Step) int {
	n := 0
	for _, s := range steps {
		if s.State.Final() {
			n++
		}
	}
	return n
}

// percent writes down how far an agent says it is.
func (w *work) percent(step string, percent float64) {
	err := w.update(func(r *task.Run) error {
		if s := r.Find(step); s != nil {
			s.Percent = &percent
		}
		return nil
	})
	if err != nil && !errors.Is(err, errLost) {
		w.o.log.Warn("how far a step is was not written down", "task", w.task.ID, "step", step, "err", err)
	}
}

// doTool makes the one call of a step.
func (w *work) doTool(s task.Step) (outcome, error) {
	input, err := resolve(s.Input, w.find)
	if err != nil {
		return outcome{state: task.StepFailed, err: fault.AsError(err)}, nil
	}
	sc := &scope{w: w, name: s.ID, agent: w.now().Agent, tools: w.tools, lease: w.lease, again: s.Strategy != "", soft: w.soft, single: true, approval: s.Approval}
	res, err := sc.Call(w.soft, agent.Call{Tool: s.Tool, Input: input})
	if err != nil {
		return sc.stop(err)
	}
	w.mu.Lock()
	k := w.log[s.ID][1]
	w.mu.Unlock()
	o := outcome{out: outputOf(s.ID, res, k), state: task.StepDone}
	if !res.OK {
		o.err = &fault.Error{Kind: fault.Kind(res.Kind), Message: res.Text, Hint: k.Hint, Remedies: k.Remedies}
		o.state = cmp.Or(map[fault.Kind]task.StepState{fault.KindDenied: task.StepDenied}[o.err.Kind], task.StepFailed)
		if k.Uncertain {
			o.state = task.StepUncertain
		}
	}
	return o, nil
}

// outputOf is what a call answered, for other steps: nothing when it failed.
func outputOf(step string, res agent.ToolResult, k exchange) output {
	out := output{Step: step, Untrusted: res.Untrusted}
	switch {
	case !res.OK:
	case len(k.Data) == 0:
		out.answer = answer{Text: res.Text, Cut: true}
	default:
		out.answer = answer{Text: textOf(k.Data), Data: k.Data}
	}
	return out
}

// find is what a step answered.
func (w *work) find(step string) (answer, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	out, ok := w.answers[step]
	if !ok {
		return answer{}, fault.Errorf(fault.KindUsage, "the step %s has no answer", step)
	}
	return out.answer, nil
}

// stop is what becomes of a step whose scope does not answer any more: why the task
// has to stop, or that the step waits, or failed.
func (s *scope) stop(err error) (outcome, error) {
	s.mu.Lock()
	waits, why, proposal := s.waits, s.why, s.proposal
	s.mu.Unlock()
	if errors.Is(err, errWaiting) && waits != nil {
		return outcome{state: task.StepWaiting, err: why, proposal: proposal, calls: waits}, nil
	}
	for _, reason := range []error{errPaused, errCancelled, errLost, errInterrupted, errDeadline} {
		if errors.Is(err, reason) {
			return outcome{}, err
		}
	}
	if stop := s.w.stopped(); stop != nil {
		return outcome{}, stop
	}
	return outcome{state: task.StepFailed, err: withHint(err), hopeless: hopelessError(err)}, nil
}

// hopelessError reports whether no other attempt can help after an error. A budget
// that is only the step's own does not keep others from more.
func hopelessError(err error) bool {
	var refusal *budget.Refusal
	if errors.As(err, &refusal) {
		return refusal.Part == ""
	}
	return errors.Is(err, ErrDiverged) || errors.Is(err, budget.ErrExhausted)
}

// withHint is an error with a hint of how to give a task more, or of what helps where
// a provider failed.
func withHint(err error) *fault.Error {
	e := fault.AsError(err)
	var of *provider.Error
	if e.Way().IsZero() && errors.As(err, &of) {
		_, hint := llm.Meaning(of.Class)
		return e.Hinted(hint)
	}
	if e.Kind == fault.KindLimit && e.Way().IsZero() {
		return e.WithHint("give the task more: %s, %s, or the agent's own bounds", fault.SetField(fault.FieldTokens), fault.SetField(fault.FieldTimeout))
	}
	return e
}

// proposalOf is the name of the proposal that an error of kind approval ends in; the
// error itself when it names none.
func proposalOf(e *fault.Error) string {
	var waits *approval.WaitsError
	if errors.As(e, &waits) {
		return waits.Proposal
	}
	return cut(e.Message, maxLine)
}
