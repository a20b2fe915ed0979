package local

import (
	"context"
	"strings"

	cut "github.com/skillet-run/skillet/internal/text"
	"github.com/skillet-run/skillet/plugins/provider"
)

// Generate implements provider.Provider. The goal is the last message of the user,
// without what is marked as data in it. With a schema of a plan it is answered with a
// plan, with another schema by what the text says of its fields; otherwise with calls
// of tools, and when these have answered, with what they said. Temperature changes
// nothing: there is only one answer.
func (p *Provider) Generate(ctx context.Context, r provider.Request, emit func(provider.Delta) error) (provider.Response, error) {
	if err := check(r); err != nil {
		return provider.Response{}, err
	}
	if err := ctx.Err(); err != nil {
		return provider.Response{}, ended(err)
	}
	answer, err := p.answer(ctx, r)
	if err != nil {
		return provider.Response{}, err
	}
	answer = bound(r, answer)
	return answer, speak(ctx, answer, emit)
}

// check refuses what cannot be answered.
func check(r provider.Request) error {
	if r.Model != Planner {
		return refuse(provider.ClassInvalid, "unknown model %q for text; it is called %s", r.Model, Planner)
	}
	if t := r.Temperature; t != nil && !(*t >= 0 && *t <= 2) {
		return refuse(provider.ClassInvalid, "the temperature is %v, and must be from 0 to 2", *t)
	}
	asked := false
	for i, m := range r.Messages {
		switch m.Role {
		case provider.RoleUser:
			asked = true
		case provider.RoleAssistant, provider.RoleTool:
		default:
			return refuse(provider.ClassInvalid, "message %d has the role %q, which there is not", i+1, m.Role)
		}
	}
	if !asked {
		return refuse(provider.ClassInvalid, "the request has no message of the user, and so no goal")
	}
	if n := inputTokens(r); n > contextTokens {
		return refuse(provider.ClassContextLength, "the request has about %d tokens, and may have %d", n, contextTokens)
	}
	return nil
}

func inputTokens(r provider.Request) int {
	n := tokensOf(r.System) + tokensOf(string(r.Schema))
	for _, m := range r.Messages {
		n += tokensOf(m.Text)
		for _, c := range m.Calls {
			n += tokensOf(c.Name) + tokensOf(string(c.Input))
		}
	}
	for _, t := range r.Tools {
		n += tokensOf(t.Name) + tokensOf(t.Description) + tokensOf(string(t.InputSchema))
	}
	return n
}

func (p *Provider) answer(ctx context.Context, r provider.Request) (provider.Response, error) {
	c := conversationOf(r)
	answer := provider.Response{Model: Planner, Finish: provider.FinishStop}
	if len(r.Schema) > 0 && !isPlan(r.Schema) {
		text, err := extract(r.Schema, c)
		answer.Text = text
		return answer, err
	}
	plan := p.lex.plan(c.goal, c.before, r.Tools)
	if err := ctx.Err(); err != nil {
		return answer, ended(err)
	}
	if r.Thinking > 0 {
		answer.Thinking = cut.Head(plan.reasons(), 4*r.Thinking)
	}
	if len(r.Schema) > 0 {
		text, err := plan.json(c.goal, agentsOf(r.System))
		answer.Text = text
		return answer, err
	}
	w := &run{planner: plan, conversation: c}
	w.follow()
	if calls := w.calls(); len(calls) > 0 && !lastTurn(r.System) {
		answer.Calls, answer.Finish = calls, provider.FinishTools
		return answer, nil
	}
	answer.Text = w.text()
	return answer, nil
}

// lastTurn says whether whoever asks, and not a text that is worked on, has said that
// no more tools are called.
func lastTurn(system string) bool { return strings.Contains(system, "This is your last turn") }

// bound cuts an answer at the first text that is to stop it, and at the tokens that it
// may have. Calls are never cut: half a call is none.
func bound(r provider.Request, a provider.Response) provider.Response {
	for _, stop := range r.Stop {
		if i := strings.Index(a.Text, stop); stop != "" && i >= 0 {
			a.Text = a.Text[:i]
		}
	}
	most := outputTokens
	if r.MaxTokens > 0 && r.MaxTokens < most {
		most = r.MaxTokens
	}
	if len(a.Text) > 0 && tokensOf(a.Text) > most {
		a.Text, a.Finish = cut.Head(a.Text, 4*(most-1)), provider.FinishLength
	}
	a.Usage = provider.Usage{InputTokens: inputTokens(r), Estimated: true}
	if a.Thinking != "" {
		a.Usage.ThinkingTokens = tokensOf(a.Thinking)
	}
	a.Usage.OutputTokens = a.Usage.ThinkingTokens + tokensOf(a.Text)
	for _, c := range a.Calls {
		a.Usage.OutputTokens += tokensOf(c.Name) + tokensOf(string(c.Input))
	}
	return a
}

// speak hands out an answer line by line.
func speak(ctx context.Context, a provider.Response, emit func(provider.Delta) error) error {
	if emit == nil {
		return nil
	}
	if a.Thinking != "" {
		if err := emit(provider.Delta{Thinking: a.Thinking}); err != nil {
			return err
		}
	}
	for line := range strings.Lines(a.Text) {
		if err := ctx.Err(); err != nil {
			return ended(err)
		}
		if err := emit(provider.Delta{Text: line}); err != nil {
			return err
		}
	}
	return nil
}
