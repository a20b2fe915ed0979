// Package skillmodel answers the model calls of skills with the models that the host
// routes to. It refuses to know what a skill is granted: that was asked before.
package skillmodel

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/skillet-run/skillet/host/agents/llm"
	"github.com/skillet-run/skillet/host/agents/llm/budget"
	"github.com/skillet-run/skillet/host/base/task"
	"github.com/skillet-run/skillet/host/run/hostfn"
	"github.com/skillet-run/skillet/plugins/provider"
)

// A Generator asks models: a [*llm.Router].
type Generator interface {
	Generate(ctx context.Context, a llm.Ask) (llm.Answer, error)
}

// A Caller is for whom a skill is called. The zero value is nobody in particular:
// the day and the month pay.
type Caller struct {
	// Lease is the budget that pays; nil for those of the day and the month.
	Lease *budget.Lease
	// Task, Step, Agent and Principal are as in [llm.Ask].
	Task, Step, Agent, Principal string
	// Private keeps answers for the task alone, and LocalOnly asks only models of
	// this machine.
	Private, LocalOnly bool
}

type callerKey struct{}

// With returns a context in which the calls of skills are made for c.
func With(ctx context.Context, c Caller) context.Context {
	return context.WithValue(ctx, callerKey{}, c)
}

// A Count is what skills asked of models. It is safe for concurrent use.
type Count struct {
	mu  sync.Mutex
	use task.ModelUse
}

type countKey struct{}

// Counting returns a context in which what skills ask of models is counted, and the
// count.
func Counting(ctx context.Context) (context.Context, *Count) {
	c := &Count{}
	return context.WithValue(ctx, countKey{}, c), c
}

// Use is what was asked so far; nil when nothing was.
func (c *Count) Use() *task.ModelUse {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.use.Calls == 0 && c.use.MicroUSD == 0 {
		return nil
	}
	use := c.use
	use.Names = slices.Clone(use.Names)
	return &use
}

// add counts what came of a request.
func (c *Count) add(a llm.Answer, err error) {
	u := task.ModelUse{MicroUSD: budget.MicroUSD(a.USD)}
	if err == nil {
		u.Calls, u.Names = 1, []string{a.Provider + "/" + a.Model}
		u.InputTokens, u.OutputTokens = int64(a.Usage.InputTokens), int64(a.Usage.OutputTokens)
		u.ThinkingTokens = int64(a.Usage.ThinkingTokens)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.use.Add(u)
}

// Models asks models for skills. It is a [hostfn.Models].
type Models struct{ models Generator }

// New makes Models.
func New(g Generator) Models { return Models{g} }

// AskModel answers a prompt.
func (m Models) AskModel(ctx context.Context, r hostfn.ModelRequest) (hostfn.ModelAnswer, error) {
	c, _ := ctx.Value(callerKey{}).(Caller)
	a := llm.Ask{
		Model: r.Model, Purpose: "skill", Lease: c.Lease, Task: c.Task, Step: c.Step, Agent: c.Agent,
		Principal: principal(c.Principal, r.For), Private: c.Private, LocalOnly: c.LocalOnly,
		Request: provider.Request{
			System: r.System, MaxTokens: r.MaxTokens, Temperature: r.Temperature,
			Messages: []provider.Message{{Role: provider.RoleUser, Text: r.Prompt}},
		},
	}
	if r.Format == hostfn.FormatJSON {
		a.Request.Schema = json.RawMessage("{}")
	}
	ans, err := m.models.Generate(ctx, a)
	if count, ok := ctx.Value(countKey{}).(*Count); ok {
		count.add(ans, err)
	}
	if err != nil {
		return hostfn.ModelAnswer{}, guestError(err)
	}
	return hostfn.ModelAnswer{
		Model: ans.Model, FinishReason: ans.Finish, Text: []byte(ans.Text),
		InputTokens: ans.Usage.InputTokens, OutputTokens: ans.Usage.OutputTokens,
	}, nil
}

// principal is for whom a skill asks: two skills are never given each other's
// answers, nor is one skill those that it was given for another caller.
func principal(caller, skill string) string {
	if skill == "" {
		return caller
	}
	return caller + " skill:" + skill
}

// guestError adds what the guest may know of an error: nothing of providers, prices and
// what other models there are.
func guestError(err error) error {
	var pe *provider.Error
	f := &hostfn.Failure{Kind: hostfn.KindFailed, Message: "no model answered"}
	switch {
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return err
	case errors.Is(err, budget.ErrExhausted):
		f = &hostfn.Failure{Kind: hostfn.KindLimit, Message: "the budget for models does not have as much"}
	case errors.Is(err, llm.ErrNoModel):
		f.Message = "model not found, or no model can answer this"
	case errors.Is(err, llm.ErrUnfit):
		f.Message = "the model's answer is not what was asked for"
	case errors.Is(err, llm.ErrInvalid):
		f = &hostfn.Failure{Kind: hostfn.KindInvalid, Message: "the request makes no sense to a model"}
	case errors.As(err, &pe):
		f = byClass(pe.Class)
	}
	return fmt.Errorf("%w (%w)", f, err)
}

func byClass(c provider.Class) *hostfn.Failure {
	switch c {
	case provider.ClassContextLength:
		return &hostfn.Failure{Kind: hostfn.KindLimit, Message: "the prompt is longer than any model takes"}
	case provider.ClassTimeout:
		return &hostfn.Failure{Kind: hostfn.KindTimeout, Message: "no model answered in time"}
	case provider.ClassRefused:
		return &hostfn.Failure{Kind: hostfn.KindFailed, Message: "the model does not want to answer this"}
	case provider.ClassRateLimited:
		return &hostfn.Failure{Kind: hostfn.KindLimit, Message: "too many requests to models"}
	}
	return &hostfn.Failure{Kind: hostfn.KindFailed, Message: "no model answered"}
}
