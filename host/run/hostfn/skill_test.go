package hostfn

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
)

// callees are skills that tell what they were called with.
type callees struct {
	calls []SkillCall
	err   error
}

func (c *callees) CallSkill(_ context.Context, call SkillCall) ([]byte, error) {
	c.calls = append(c.calls, call)
	return append([]byte("out of "), call.Input...), c.err
}

func TestSkillCall(t *testing.T) {
	t.Parallel()
	behind := &callees{}
	s := settings(t, "skill:csv", "skill:js-*", "session:js-repl/work")
	s.Skills = behind
	e := open(t, s)
	for _, c := range []struct {
		meta string
		kind Kind
	}{
		{`{"skill":"csv","tool":"stats"}`, ""},
		{`{"skill":"csv"}`, ""},
		{`{"skill":"js-repl","session":"work"}`, ""},
		{`{"skill":"js-repl","session":"home"}`, KindDenied},
		{`{"skill":"csv","session":"work"}`, KindDenied},
		{`{"skill":"text"}`, KindDenied},
		{`{}`, KindInvalid},
		{`{"skill":"csv@1.0.0"}`, KindInvalid},
		{`{"skill":"a/b"}`, KindInvalid},
		{`{"skill":"csv","tool":"a b"}`, KindInvalid},
		{`{"skill":"js-repl","session":"../work"}`, KindInvalid},
	} {
		before := len(behind.calls)
		r := call(t, e, "skill_call", c.meta, []byte("input"))
		wantKind(t, c.meta, r, c.kind)
		if called := len(behind.calls) > before; called != (c.kind == "") {
			t.Errorf("%s: called: %v", c.meta, called)
		}
		if c.kind == "" && string(r.Body) != "out of input" {
			t.Errorf("%s: %q", c.meta, r.Body)
		}
	}
	if got := fmt.Sprint(e.Uses()); got != "[{skill:csv skill:csv 3} {skill:js-repl skill:js-* 2} {session:js-repl/work session:js-repl/work 1}]" {
		t.Errorf("uses %s", got)
	}
}

// What a guest is told of an error is what a Failure says, or its kind alone.
func TestSkillCallErrors(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		err  error
		kind Kind
		text string
	}{
		{failf(KindConflict, "try again"), KindConflict, "try again"},
		{errors.New("the password is 1234"), KindIO, "input or output failed"},
		{context.DeadlineExceeded, KindTimeout, "took too long"},
	} {
		s := settings(t, "skill:csv")
		s.Skills = &callees{err: c.err}
		r := call(t, open(t, s), "skill_call", `{"skill":"csv"}`, nil)
		if wantKind(t, c.err.Error(), r, c.kind); r.Error.Message != c.text || r.Body != nil {
			t.Errorf("%v: told %q with %q", c.err, r.Error.Message, r.Body)
		}
	}
	wantKind(t, "nobody to call", call(t, env(t, "skill:csv"), "skill_call", `{"skill":"csv"}`, nil), KindFailed)
}

// models answer with what they were asked.
type models struct{ answer ModelAnswer }

func (m models) AskModel(_ context.Context, r ModelRequest) (ModelAnswer, error) {
	if m.answer.Text == nil {
		m.answer.Text, _ = json.Marshal(r)
	}
	return m.answer, nil
}

func TestModelCall(t *testing.T) {
	t.Parallel()
	s := settings(t, "model:fast")
	s.Models = models{ModelAnswer{Model: "small-1", FinishReason: "stop", InputTokens: 3, OutputTokens: 5}}
	r := call(t, open(t, s), "model_call", `{"model":"fast","system":"be brief","max_tokens":7,"temperature":0.5,"format":"json"}`, []byte("hello"))
	if want := `{"For":"tester@","Model":"fast","System":"be brief","Prompt":"hello","MaxTokens":7,"Temperature":0.5,"Format":"json"}`; string(r.Body) != want {
		t.Errorf("asked %s\nwant  %s", r.Body, want)
	}
	if want := `{"model":"small-1","finish_reason":"stop","input_tokens":3,"output_tokens":5}`; string(r.Meta) != want {
		t.Errorf("answered %s", r.Meta)
	}
}

func TestModelCallRefusals(t *testing.T) {
	t.Parallel()
	r := call(t, env(t, "model:*"), "model_call", `{"model":"fast"}`, []byte("p"))
	if wantKind(t, "no provider", r, KindFailed); r.Error.Message != "no model provider is configured on this host" {
		t.Errorf("told %q", r.Error.Message)
	}
	s := settings(t, "model:fast")
	s.Models = models{}
	e := open(t, s)
	for _, c := range []struct {
		meta, prompt string
		kind         Kind
	}{
		{`{"model":"large"}`, "p", KindDenied},
		{`{}`, "p", KindInvalid},
		{`{"model":"a b"}`, "p", KindInvalid},
		{`{"model":"fast","max_tokens":-1}`, "p", KindInvalid},
		{`{"model":"fast","temperature":2.5}`, "p", KindInvalid},
		{`{"model":"fast","format":"xml"}`, "p", KindInvalid},
		{`{"model":"fast"}`, "\xff", KindInvalid},
		{`{"model":"fast"}`, strings.Repeat("p", MaxPrompt+1), KindLimit},
		{`{"model":"fast","system":"s"}`, strings.Repeat("p", MaxPrompt), KindLimit},
		{`{"model":"fast"}`, strings.Repeat("p", MaxPrompt), ""},
	} {
		wantKind(t, c.meta, call(t, e, "model_call", c.meta, []byte(c.prompt)), c.kind)
	}
	for text, kind := range map[string]Kind{strings.Repeat("x", MaxModelAnswer+1): KindLimit, "no json": KindFailed, "[1]": ""} {
		s.Models = models{ModelAnswer{Text: []byte(text)}}
		wantKind(t, text[:3], call(t, open(t, s), "model_call", `{"model":"fast","format":"json"}`, nil), kind)
	}
}
