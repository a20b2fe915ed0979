package orchestrator

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/skillet-run/skillet/host/base/fault"

	"github.com/skillet-run/skillet/host/base/task"
	"github.com/skillet-run/skillet/plugins/agent"
	"github.com/skillet-run/skillet/plugins/provider"
)

// The confidence of an answer that a model made of what the steps of a plan came to.
const (
	sureAnswer   = 0.9
	unsureAnswer = 0.3
)

// answerRule is what a model is told that makes one answer of what steps came to.
const answerRule = "This is your last turn: call no tools. Answer the goal from what the tools and steps answered, and from nothing else; say what is missing when a step failed. " +
	"Begin your answer with " + provider.LowConfidence + " when that does not answer the goal. " + provider.DataRule

// doAnswer asks a model to make one answer of the results of a plan's steps. It is shown
// the conversation that would have led there: the goal, the calls and their
// results.
func (w *work) doAnswer(s task.Step) (outcome, error) {
	known, err := w.known(s)
	if err != nil {
		return outcome{}, err
	}
	b := brief{agent: cmp.Or(s.Agent, w.now().Agent), goal: cmp.Or(s.Goal, w.task.Goal), known: known, constraints: w.constraints(s, w.now()), planning: true, strategy: s.Strategy}
	var rep agent.Report
	err = w.withAgent(s.ID, b, func(ctx context.Context, _ agent.Agent, t agent.Task, h agent.Host) (err error) {
		rep, err = w.answerOf(ctx, s, t, h)
		return err
	})
	return w.outcomeOf(s, rep, err)
}

// answerOf asks the model.
func (w *work) answerOf(ctx context.Context, s task.Step, t agent.Task, h agent.Host) (agent.Report, error) {
	a, err := h.Think(ctx, agent.Thought{Purpose: "answer", Request: provider.Request{
		System: strings.Join(append([]string{t.SystemPrompt, answerRule}, t.Constraints...), "\n\n"), Messages: w.story(s, t),
		Tools: t.Tools, MaxTokens: t.MaxTokens, Temperature: t.Temperature, Thinking: t.Thinking,
	}})
	if err != nil {
		return agent.Report{}, err
	}
	text := strings.TrimSpace(a.Text)
	short, unsure := strings.CutPrefix(text, provider.LowConfidence)
	rep := agent.Report{Done: text != "", Answer: strings.TrimSpace(short), Confidence: sureAnswer}
	switch {
	case text == "" || a.Finish == provider.FinishFilter:
		rep.Done, rep.Problem, rep.Confidence = false, "the model gave no answer", 0
	case unsure:
		rep.Confidence = unsureAnswer
	}
	for _, p := range t.Context {
		rep.Sources = append(rep.Sources, agent.Passage{Source: p.Source})
	}
	return rep, nil
}

// story is the conversation that leads to an answer: what is known that was not
// remembered and is not the result of a tool, the goal, the calls of tools, and their
// results.
func (w *work) story(s task.Step, t agent.Task) []provider.Message {
	r := w.now()
	steps := map[string]task.Step{}
	for _, st := range lastAttempt(&r) {
		if st.Tool != "" && st.State.Final() && st.ID != s.ID {
			steps["step:"+st.ID] = st
		}
	}
	var data []string
	for _, p := range t.Context {
		if _, isCall := steps[p.Source]; !isCall && !strings.HasPrefix(p.Source, "memory:") {
			data = append(data, provider.MarkData(p.Source, p.Text))
		}
	}
	var all []provider.Message
	if len(data) > 0 {
		all = append(all, provider.Message{Role: provider.RoleUser, Text: strings.Join(data, "\n")})
	}
	all = append(all, provider.Message{Role: provider.RoleUser, Text: t.Goal})
	// A call is named by its turn and its step: models of the host's own name them so.
	name := func(st task.Step) string {
		return fmt.Sprintf("t%d-%s", len(all), strings.TrimPrefix(st.ID, strings.TrimSuffix(strings.TrimRight(s.ID, "_"), answerStep)))
	}
	turn := provider.Message{Role: provider.RoleAssistant}
	var results []provider.Message
	for _, st := range r.Steps {
		if _, shown := steps["step:"+st.ID]; !shown {
			continue
		}
		input, err := resolve(st.Input, w.find)
		if err != nil {
			input = st.Input
		}
		turn.Calls = append(turn.Calls, provider.ToolCall{ID: name(st), Name: st.Tool, Input: input})
		results = append(results, w.toldResult(st, name(st), len(steps)))
	}
	if len(turn.Calls) > 0 {
		all = append(append(all, turn), results...)
	}
	return all
}

// toldResult is what a step came to, as the result of its call. The more there are, the
// less is shown of each.
func (w *work) toldResult(st task.Step, id string, of int) provider.Message {
	text := errorText(st.Error)
	if st.State == task.StepDone {
		w.mu.Lock()
		text = w.answers[st.ID].Text
		w.mu.Unlock()
	}
	room := min(w.o.settings.MaxOutput, maxKnown/max(1, of))
	return provider.Message{Role: provider.RoleTool, CallID: id, Text: provider.MarkData(st.Tool, bounded(text, room)), Failed: st.State != task.StepDone}
}

// outcomeOf is what becomes of a step from the report of its agent, or from why there
// is none.
func (w *work) outcomeOf(s task.Step, rep agent.Report, err error) (outcome, error) {
	o := outcome{state: task.StepDone}
	var stopped *stoppedError
	switch {
	case errors.As(err, &stopped):
		if o, err = stopped.scope.stop(stopped.err); err != nil {
			return o, err
		}
	case w.stopped() != nil:
		return o, w.stopped()
	case err != nil:
		o = outcome{state: task.StepFailed, err: withHint(err)}
	case !rep.Done:
		o = outcome{state: task.StepFailed, err: fault.Errorf(fault.KindSkill, "%s", cmp.Or(line(rep.Problem), "the agent did not reach the goal"))}
	}
	rep.Confidence = min(1, max(0, rep.Confidence))
	o.out = output{answer: answer{Text: bounded(rep.Answer, maxAnswer)}, Report: trimmed(rep), Untrusted: w.untrusted(s)}
	return o, nil
}
