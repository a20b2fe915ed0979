package skillmodel_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/skillet-run/skillet/host/agents/llm"
	"github.com/skillet-run/skillet/host/agents/llm/budget"
	"github.com/skillet-run/skillet/host/agents/llm/skillmodel"
	"github.com/skillet-run/skillet/host/base/task"
	"github.com/skillet-run/skillet/host/run/hostfn"
	"github.com/skillet-run/skillet/plugins/provider"
)

var (
	_ hostfn.Models        = skillmodel.Models{}
	_ skillmodel.Generator = (*llm.Router)(nil)
)

// answering stands for what a router answers.
type answering struct {
	asked llm.Ask
	err   error
	usd   float64
}

func (a *answering) Generate(_ context.Context, ask llm.Ask) (llm.Answer, error) {
	a.asked = ask
	return llm.Answer{Provider: "p", USD: a.usd, Response: provider.Response{Model: "m", Text: "yes", Finish: "stop", Usage: provider.Usage{InputTokens: 3, OutputTokens: 1}}}, a.err
}

func TestAskModel(t *testing.T) {
	t.Parallel()
	g, warm := &answering{}, 0.5
	ctx := skillmodel.With(t.Context(), skillmodel.Caller{Task: "T1", Step: "2", Agent: "code", Principal: "human:ada", Private: true, LocalOnly: true})
	ans, err := skillmodel.New(g).AskModel(ctx, hostfn.ModelRequest{
		Model: "fast", System: "Be brief.", Prompt: "Is it?", MaxTokens: 7, Temperature: &warm, Format: hostfn.FormatJSON,
	})
	if err != nil || ans.Model != "m" || string(ans.Text) != "yes" || ans.FinishReason != "stop" || ans.InputTokens != 3 || ans.OutputTokens != 1 {
		t.Errorf("got %+v, %v", ans, err)
	}
	a := g.asked
	if a.Model != "fast" || a.Task != "T1" || a.Step != "2" || a.Agent != "code" || a.Principal != "human:ada" || !a.Private || !a.LocalOnly || a.Purpose != "skill" {
		t.Errorf("asked %+v", a)
	}
	r := a.Request
	if r.System != "Be brief." || r.Messages[0].Text != "Is it?" || r.MaxTokens != 7 || *r.Temperature != 0.5 || string(r.Schema) != "{}" {
		t.Errorf("asked %+v", r)
	}
	if _, err := skillmodel.New(g).AskModel(t.Context(), hostfn.ModelRequest{Format: hostfn.FormatText}); err != nil || g.asked.Request.Schema != nil || g.asked.Task != "" {
		t.Errorf("asked %+v, %v", g.asked, err)
	}
}

// What is asked is counted for who makes the call, also what failed and cost something.
func TestCounting(t *testing.T) {
	t.Parallel()
	ctx, count := skillmodel.Counting(t.Context())
	if use := count.Use(); use != nil {
		t.Errorf("before anything was asked: %+v", use)
	}
	for _, err := range []error{nil, nil, llm.ErrUnfit} {
		_, _ = skillmodel.New(&answering{err: err, usd: 0.5}).AskModel(ctx, hostfn.ModelRequest{})
	}
	want := task.ModelUse{Calls: 2, InputTokens: 6, OutputTokens: 2, MicroUSD: 1_500_000, Names: []string{"p/m"}}
	if use := count.Use(); use == nil || !reflect.DeepEqual(*use, want) {
		t.Errorf("counted %+v, want %+v", use, want)
	}
}

// TestFailures: the guest is told the kind of failure and nothing of what is behind it.
func TestFailures(t *testing.T) {
	t.Parallel()
	secret := "provider openai at 10.0.0.1"
	class := func(c provider.Class) error { return fmt.Errorf("ask: %w", &provider.Error{Class: c, Message: secret}) }
	for _, row := range []struct {
		err  error
		want hostfn.Kind
	}{
		{fmt.Errorf("%s: %w", secret, budget.ErrExhausted), hostfn.KindLimit},
		{fmt.Errorf("%s: %w", secret, llm.ErrNoModel), hostfn.KindFailed},
		{fmt.Errorf("%s: %w", secret, llm.ErrUnfit), hostfn.KindFailed},
		{fmt.Errorf("%s: %w", secret, llm.ErrInvalid), hostfn.KindInvalid},
		{errors.New(secret), hostfn.KindFailed},
		{class(provider.ClassContextLength), hostfn.KindLimit},
		{class(provider.ClassRateLimited), hostfn.KindLimit},
		{class(provider.ClassTimeout), hostfn.KindTimeout},
		{class(provider.ClassRefused), hostfn.KindFailed},
		{class(provider.ClassAuth), hostfn.KindFailed},
	} {
		_, err := skillmodel.New(&answering{err: row.err}).AskModel(t.Context(), hostfn.ModelRequest{})
		var f *hostfn.Failure
		if !errors.As(err, &f) || f.Kind != row.want || strings.Contains(f.Message, secret) || !errors.Is(err, row.err) {
			t.Errorf("%v: told %v", row.err, f)
		}
	}
	_, err := skillmodel.New(&answering{err: context.Canceled}).AskModel(t.Context(), hostfn.ModelRequest{})
	if f := (*hostfn.Failure)(nil); errors.As(err, &f) || !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

// A kept answer is kept for the skill that asked, and for the caller it was called for.
func TestSkillsAreDifferentPrincipals(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, caller := range []string{"", "human:ada"} {
		for _, skill := range []string{"a@sha256:1", "b@sha256:1", "a@sha256:2"} {
			g := &answering{}
			ctx := skillmodel.With(t.Context(), skillmodel.Caller{Principal: caller})
			if _, err := skillmodel.New(g).AskModel(ctx, hostfn.ModelRequest{For: skill, Model: "fast", Prompt: "Is it?"}); err != nil {
				t.Fatal(err)
			}
			if seen[g.asked.Principal] || g.asked.Principal == "" {
				t.Errorf("%q for %q is %q, as another", skill, caller, g.asked.Principal)
			}
			seen[g.asked.Principal] = true
		}
	}
}
