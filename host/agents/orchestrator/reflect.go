package orchestrator

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/skillet-run/skillet/host/base/fault"

	"github.com/skillet-run/skillet/host/agents/event"
	"github.com/skillet-run/skillet/host/agents/memory"
	"github.com/skillet-run/skillet/host/base/task"
	"github.com/skillet-run/skillet/plugins/agent"
)

// A way is what a strategy of recovery changes.
type way struct {
	constraint string
	// more multiplies the tokens of an answer and the iterations.
	more int
	// thinking has models think before they answer, with the tier smart.
	thinking bool
}

// wayOf is the way of a strategy.
func wayOf(s task.Strategy) way {
	switch s {
	case task.ReducedScope:
		return way{constraint: "An earlier attempt did not reach the goal. Reach the most important part of it, as simply as it can be done, and say what is left out.", more: 1}
	case task.MoreTokens:
		return way{constraint: "An earlier attempt did not reach the goal. There is more room now: go on from the results in the context.", more: 2}
	case task.ThinkingMode:
		return way{constraint: "Earlier attempts did not reach the goal. Think about why before you act, and go another way.", more: 2, thinking: true}
	case task.Decompose:
		return way{constraint: "Earlier attempts did not reach the goal as a whole. Take it apart into small steps, each of which one tool or one agent can do.", more: 1}
	}
	return way{more: 1}
}

// defaultAnswer is how many tokens the strategy more_tokens takes an answer to have
// had whose agent says nothing.
const defaultAnswer = 4096

// strengthen changes what an agent is given in another attempt.
func strengthen(t *agent.Task, s task.Strategy, set Settings) {
	w := wayOf(s)
	if w.more > 1 {
		t.MaxTokens = cmp.Or(t.MaxTokens, defaultAnswer) * w.more
		t.Iterations *= w.more
	}
	if w.thinking {
		t.Thinking, t.Tier = set.ThinkingTokens, smartTier
	}
}

// A verdict is whether the goal is met.
type verdict struct {
	met        bool
	because    string // not met
	err        *fault.Error
	step       string // whose answer it is
	hopeless   bool   // no other way can help
	confidence float64
}

// judge says whether the last attempt met the goal: every step of it is done, and the
// agent that answered says that the goal is reached, with enough confidence.
func judge(r *task.Run, s Settings, reports func(step string) *agent.Report) verdict {
	last := lastAttempt(r)
	for _, st := range last {
		if st.State != task.StepDone {
			v := verdict{because: fmt.Sprintf("the step %s is %s: %s", st.ID, st.State, errorText(st.Error)), err: st.Error}
			v.hopeless = hopeless(st)
			return v
		}
	}
	end := last[len(last)-1]
	v := verdict{step: end.ID, confidence: end.Confidence}
	rep := reports(end.ID)
	switch {
	case rep == nil || !rep.Done:
		v.because = "the goal is not reached"
	case end.Confidence < s.MinConfidence:
		v.because = fmt.Sprintf("the answer has a confidence of %.2f, and needs %.2f", end.Confidence, s.MinConfidence)
	default:
		v.met = true
	}
	return v
}

// lastAttempt is the steps of the last strategy, or those of the plan.
func lastAttempt(r *task.Run) []task.Step {
	var names []string
	for _, rec := range r.Recovery {
		if len(rec.Steps) > 0 {
			names = rec.Steps
		}
	}
	var steps []task.Step
	for _, s := range r.Steps {
		if len(names) == 0 || slices.Contains(names, s.ID) {
			steps = append(steps, s)
		}
	}
	return steps
}

// hopeless reports whether a step failed in a way that no other attempt changes: a
// person refused it, there is no such agent, or nothing is left of the budget.
func hopeless(s task.Step) bool {
	if s.State == task.StepDenied && s.Approval {
		return true
	}
	return s.Hopeless || s.Agent != "" && s.Error != nil && s.Error.Kind == fault.KindNotFound
}

// reflect looks whether the goal is met. When it is not, the next strategy adds steps
// and they are done; when there is none left, the task ends with a partial report.
func (w *work) reflect() (task.Phase, error) {
	r := w.now()
	if countFinal(r.Steps) < len(r.Steps) { // of a strategy that was begun when its process died
		return task.PhaseAct, nil
	}
	v := judge(&r, w.o.settings, w.reportOf)
	if err := w.settleRecovery(v); err != nil {
		return "", err
	}
	if v.met {
		return task.PhaseConsolidate, w.conclude(task.Completed, nil)
	}
	for _, s := range task.Strategies() {
		if slices.ContainsFunc(r.Recovery, func(x task.Recovery) bool { return x.Strategy == s }) {
			continue
		}
		why := w.unsuitable(v)
		if why == "" {
			begun, err := w.recover(s, v)
			if err != nil {
				return "", err
			}
			if begun {
				return task.PhaseAct, nil
			}
			continue
		}
		if err := w.passOver(s, v, why); err != nil {
			return "", err
		}
	}
	return task.PhaseConsolidate, w.conclude(task.Failed, unmet(v))
}

// unmet is the error of a task whose goal is not met.
func unmet(v verdict) error {
	if v.err != nil {
		e := *v.err
		e.Message = v.because
		return &e
	}
	return fault.Errorf(fault.KindSkill, "%s", v.because).WithHint("say more about the goal, or give the task more tokens")
}

// reportOf is what the agent of a step reported; nil for none.
func (w *work) reportOf(step string) *agent.Report {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.answers[step].Report
}

// settleRecovery writes down what the last strategy came to.
func (w *work) settleRecovery(v verdict) error {
	r := w.now()
	if len(r.Recovery) == 0 || r.Recovery[len(r.Recovery)-1].Outcome != "" {
		return nil
	}
	return w.update(func(r *task.Run) error {
		outcome := "met"
		if !v.met {
			outcome = "not met: " + v.because
		}
		r.Recovery[len(r.Recovery)-1].Outcome = cut(outcome, maxLine)
		return nil
	})
}

// unsuitable is why no other way is tried; empty when one is.
func (w *work) unsuitable(v verdict) string {
	r := w.now()
	w.mu.Lock()
	used := w.log.telemetry()
	w.mu.Unlock()
	switch tokens := used.InputTokens + used.OutputTokens; {
	case v.hopeless:
		return "nothing else can help: " + v.because
	case w.unchanging(r):
		return "whoever answered would answer the same again"
	case tokens >= r.SoftTokens:
		return fmt.Sprintf("%d tokens are used of the %d that the task should take; a budget of its own allows more", tokens, r.SoftTokens)
	case len(r.Steps) >= agent.MaxSteps:
		return fmt.Sprintf("there are %d steps already", len(r.Steps))
	}
	return ""
}

// unchanging reports whether another attempt would come to what the last one came to: no
// model can be asked, or the only ones that were answer the same goal with the same, and
// no call failed for a reason that goes away.
func (w *work) unchanging(r task.Run) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	steady := 0
	for _, s := range append(lastAttempt(&r), task.Step{ID: "plan"}) {
		for _, k := range w.log[s.ID] {
			switch {
			case k.Final:
				return true
			case k.Kind == askThink && (k.Response == nil || w.o.settings.Steady == nil || !w.o.settings.Steady(k.Response.Model)):
				return false
			case k.Kind == askThink:
				steady++
			case k.Result != nil && slices.Contains([]fault.Kind{fault.KindLimit, fault.KindFull, fault.KindInternal}, fault.Kind(k.Result.Kind)):
				return false
			}
		}
	}
	return steady > 0
}

// passOver writes down that a strategy was not tried.
func (w *work) passOver(s task.Strategy, v verdict, why string) error {
	return w.update(func(r *task.Run) error {
		r.Recovery = append(r.Recovery, task.Recovery{Strategy: s, At: time.Now().UTC(), Because: cut(v.because, maxLine), Outcome: "passed over: " + cut(why, maxLine)})
		return nil
	})
}

// recover adds the steps of a strategy; begun is false when it has none.
func (w *work) recover(s task.Strategy, v verdict) (begun bool, err error) {
	r := w.now()
	n := 1 + len(r.Recovery)
	steps := []task.Step{{
		ID: fmt.Sprintf("recover-%d", n), Title: strings.ReplaceAll(string(s), "_", " "), Agent: r.Agent, State: task.StepPending,
	}}
	if s == task.Decompose {
		if steps, err = w.decomposed(n); err != nil {
			if stop := cmp.Or(w.stopped(), hard(err)); stop != nil {
				return false, stop
			}
			return false, w.passOver(s, v, "no plan could be made: "+line(err.Error()))
		}
	}
	ids := make([]string, 0, len(steps))
	for i := range steps {
		steps[i].Strategy = s
		ids = append(ids, steps[i].ID)
	}
	err = w.update(func(r *task.Run) error {
		r.Steps = append(r.Steps, steps...)
		r.Recovery = append(r.Recovery, task.Recovery{Strategy: s, At: time.Now().UTC(), Because: cut(v.because, maxLine), Steps: ids})
		return nil
	})
	if err != nil {
		return false, err
	}
	w.tell(event.TaskRecovered, v.because, event.Recovered{Strategy: s, Steps: ids})
	return true, nil
}

// decomposed is the steps of a plan for a goal that was not met.
func (w *work) decomposed(n int) ([]task.Step, error) {
	r := w.now()
	name, err := w.planner(w.soft, r.Agent)
	if err != nil {
		return nil, err
	}
	known, err := w.known(task.Step{Strategy: task.Decompose})
	if err != nil {
		return nil, err
	}
	p, err := w.askPlan(name, fmt.Sprintf("replan-%d", n), w.task.Goal, known, []string{wayOf(task.Decompose).constraint})
	if err != nil {
		return nil, err
	}
	steps, err := w.steps(*p, fmt.Sprintf("r%d-", n))
	if err == nil && len(steps)+len(r.Steps) > 2*agent.MaxSteps {
		err = fault.Errorf(fault.KindLimit, "the plan has %d steps more", len(steps))
	}
	return steps, err
}

// consolidate remembers what was done and what it cost, and has memory merged when it
// is time.
func (w *work) consolidate() (task.Phase, error) {
	r := w.now()
	ctx, done := w.closing()
	defer done()
	err := w.o.learn(ctx, taskCost{
		Task: r.TaskID, At: time.Now().UTC(), Words: topic(w.task.Goal), Complexity: r.Complexity,
		Tokens: r.Telemetry.OutputTokens, ActiveMS: r.ActiveMS,
		Exhausted: r.Report.Error != nil && r.Report.Error.Kind == fault.KindLimit,
	})
	if m := w.o.ports.Memory; m != nil && w.task.Type == task.TypeGoal && !w.nothingLearnt(r) {
		if _, addErr := m.Add(ctx, remembered(r, w.task)); addErr != nil {
			err = errors.Join(err, fmt.Errorf("remember the task: %w", addErr))
		}
		_, _, tendErr := m.Tend(ctx)
		err = errors.Join(err, tendErr)
	}
	return task.PhaseNotify, err
}

// nothingLearnt reports whether a task failed without anything being tried: no call was made,
// and all that was said was said by models that answer the same to the same goal. To
// remember it would only have later goals find it.
func (w *work) nothingLearnt(r task.Run) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	steady, others := 0, 0
	w.log.each(func(k exchange) {
		if k.Kind == askThink && k.Response != nil && w.o.settings.Steady != nil && w.o.settings.Steady(k.Response.Model) {
			steady++
		} else if k.Kind == askThink || k.Kind == askCall {
			others++
		}
	})
	return r.Report.Partial && steady > 0 && others == 0
}

// maxRemembered is how many bytes a task leaves in memory.
const maxRemembered = 2 << 10

// remembered is what is remembered of a task: what was wanted, how it went, what was
// done for it and, for one that failed, why. Of the answer only the beginning.
func remembered(r task.Run, t task.Task) memory.Draft {
	var b strings.Builder
	fmt.Fprintf(&b, "Goal: %s\nOutcome: %s\n", cut(line(t.Goal), maxLine), line(r.Report.Summary))
	for _, s := range r.Steps[:min(len(r.Steps), 12)] {
		fmt.Fprintf(&b, "Step %s: %s, %s\n", s.ID, cmp.Or(s.Tool, "agent "+s.Agent), s.State)
	}
	fmt.Fprintf(&b, "Answer: %s", line(r.Report.Answer))
	d := memory.Draft{
		Type: memory.TaskExecution, Task: r.TaskID, Failed: r.Report.Partial, Text: cut(b.String(), maxRemembered),
		Metadata: map[string]string{memory.By: "host", "complexity": string(r.Complexity), "agent": r.Agent},
	}
	if slices.ContainsFunc(r.Steps, func(s task.Step) bool { return s.Untrusted }) {
		d.Metadata["untrusted"] = "true"
	}
	if r.Report.Partial {
		d.Type = memory.FailurePattern
	}
	return d
}
