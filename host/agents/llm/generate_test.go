package llm_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/skillet-run/skillet/host/base/fault"

	"github.com/skillet-run/skillet/host/agents/llm"
	"github.com/skillet-run/skillet/host/agents/llm/budget"
	"github.com/skillet-run/skillet/host/base/store"
	"github.com/skillet-run/skillet/plugins/provider"
)

// TestFailures: which class is tried again, what is asked then, and what the caller
// is told.
func TestFailures(t *testing.T) {
	t.Parallel()
	limited := func(after time.Duration) answer {
		return answer{err: &provider.Error{Class: provider.ClassRateLimited, Message: "slow down", RetryAfter: after}}
	}
	for _, row := range []struct {
		name     string
		settings llm.Settings
		one, two []answer // nil: there is no second provider
		asked    string   // how often each was asked
		want     string   // the answer, or the class of the failure
		kind     fault.Kind
		most     time.Duration
	}{
		{"at once", llm.Settings{}, []answer{says("hello")}, nil, "1", "hello", "", 0},
		{"unavailable goes away", llm.Settings{}, []answer{fails(provider.ClassUnavailable), fails(provider.ClassUnavailable), says("now")}, []answer{says("other")}, "3 0", "now", "", 2 * time.Second},
		{"unavailable stays", llm.Settings{}, []answer{fails(provider.ClassUnavailable)}, []answer{says("other")}, "3 1", "other", "", 2 * time.Second},
		{"unavailable, and nobody else", llm.Settings{}, []answer{fails(provider.ClassUnavailable)}, nil, "3", "unavailable", fault.KindInternal, 2 * time.Second},
		{"internal", llm.Settings{}, []answer{fails(provider.ClassInternal)}, []answer{says("other")}, "2 1", "other", "", time.Second},
		{"a broken connection", llm.Settings{}, []answer{{err: errors.New("EOF")}, says("again")}, nil, "2", "again", "", time.Second},
		{"limited for a moment", llm.Settings{}, []answer{limited(time.Second), says("later")}, []answer{says("other")}, "2 0", "later", "", 2 * time.Second},
		{"limited for long", llm.Settings{}, []answer{limited(10 * time.Second)}, []answer{says("other")}, "1 1", "other", "", 0},
		{"limited for long, and nobody else", llm.Settings{}, []answer{limited(10 * time.Second), says("later")}, nil, "2", "later", "", 11 * time.Second},
		{"limited for too long, and nobody else", llm.Settings{}, []answer{limited(time.Hour)}, nil, "1", "rate_limited", fault.KindLimit, 0},
		{"auth", llm.Settings{}, []answer{fails(provider.ClassAuth)}, []answer{says("other")}, "1 1", "other", "", 0},
		{"auth, and nobody else", llm.Settings{}, []answer{fails(provider.ClassAuth)}, nil, "1", "auth", fault.KindDenied, 0},
		{"invalid", llm.Settings{}, []answer{fails(provider.ClassInvalid)}, []answer{says("other")}, "1 0", "invalid", fault.KindUsage, 0},
		{"refused", llm.Settings{}, []answer{fails(provider.ClassRefused)}, []answer{says("other")}, "1 0", "refused", fault.KindSkill, 0},
		{"refused, with the setting", llm.Settings{FallbackRefused: true}, []answer{fails(provider.ClassRefused)}, []answer{says("other")}, "1 1", "other", "", 0},
		{"held back", llm.Settings{}, []answer{{finish: provider.FinishFilter}}, []answer{says("other")}, "1 0", "refused", fault.KindSkill, 0},
		{"empty", llm.Settings{}, []answer{{text: " \n"}}, []answer{says("other")}, "1 1", "other", "", 0},
		{"empty, and nobody else", llm.Settings{}, []answer{{text: " "}}, nil, "1", "", fault.KindSkill, 0},
		{"too slow", llm.Settings{}, []answer{{text: "late", took: time.Hour}}, []answer{says("other")}, "2 1", "other", "", 190 * time.Second},
		{"too slow once", llm.Settings{}, []answer{{text: "late", took: time.Hour}, {text: "slow", took: 89 * time.Second}}, nil, "2", "slow", "", 190 * time.Second},
		{"the limit of the provider", llm.Settings{Limits: map[string]llm.Limit{"one": {Timeout: time.Second}}}, []answer{{text: "late", took: 2 * time.Second}}, nil, "2", "timeout", fault.KindLimit, 4 * time.Second},
		{"one model only", llm.Settings{MaxModels: 1}, []answer{fails(provider.ClassAuth)}, []answer{says("other")}, "1 0", "auth", fault.KindDenied, 0},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				ps := []*script{local("one", row.one...)}
				if row.two != nil {
					ps = append(ps, local("two", row.two...))
				}
				h := newHost(t, row.settings, budget.Settings{}, ps...)
				start := time.Now()
				ans, err := h.Generate(t.Context(), ask(llm.Balanced))
				var asked []string
				for _, p := range ps {
					asked = append(asked, fmt.Sprint(len(p.asked())))
				}
				if got := strings.Join(asked, " "); got != row.asked {
					t.Errorf("asked %s times, want %s", got, row.asked)
				}
				if took := time.Since(start); took > row.most {
					t.Errorf("took %s", took)
				}
				if row.kind == "" {
					if err != nil || ans.Text != row.want {
						t.Errorf("got %q, %v", ans.Text, err)
					}
					return
				}
				e := fault.AsError(err)
				if string(classOf(err)) != row.want || e.Kind != row.kind || e.Way().String() == "" || !strings.Contains(err.Error(), "one/m") {
					t.Errorf("got %v: class %q, kind %s, hint %q", err, classOf(err), e.Kind, e.Way().String())
				}
			})
		})
	}
}

func TestAttemptsAreReported(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		one, two := local("one", fails(provider.ClassInternal)), local("two", answer{text: "yes", usage: provider.Usage{InputTokens: 10, OutputTokens: 5}})
		two.models[0].InputUSD, two.models[0].OutputUSD = 1, 2
		h := newHost(t, llm.Settings{}, budget.Settings{}, one, two)
		a := ask(llm.Balanced)
		a.Task, a.Agent = "T1", "code"
		ans := must[llm.Answer](t)(h.Generate(t.Context(), a))
		if len(ans.Attempts) != 3 || ans.Attempts[0].Class != provider.ClassInternal || ans.Attempts[2].Class != "" || ans.Provider != "two" || ans.Model != "m" {
			t.Errorf("got %+v", ans)
		}
		if want := 20e-6; ans.USD != want || ans.Attempts[2].USD != want { // 10*1 + 5*2 millionths
			t.Errorf("cost %v", ans.USD)
		}
		if got := events(t, h, "model.*"); len(got) != 1 || !strings.HasPrefix(got[0], "model.fallback: two/m answers instead of one/m: internal") {
			t.Errorf("events %v", got)
		}
		two.answers = []answer{fails(provider.ClassInvalid)}
		ans, err := h.Generate(t.Context(), a)
		if classOf(err) != provider.ClassInvalid || len(ans.Attempts) == 0 || !strings.Contains(err.Error(), "one/m, then two/m") && !strings.Contains(err.Error(), "two/m") {
			t.Errorf("got %+v, %v", ans, err)
		}
		if got := events(t, h, "model.failed"); len(got) != 1 {
			t.Errorf("events %v", got)
		}
	})
}

// TestLongerContext: a request that is too long goes to a model that takes more.
func TestLongerContext(t *testing.T) {
	t.Parallel()
	p := local("one")
	p.models = []provider.Model{text("small", "balanced"), text("same", "balanced"), text("large", "smart")}
	p.models[0].ContextTokens, p.models[1].ContextTokens, p.models[2].ContextTokens = 4000, 4000, 32_000
	p.answers = []answer{fails(provider.ClassContextLength), says("read it all")}
	h := newHost(t, llm.Settings{}, budget.Settings{}, p)
	ans := must[llm.Answer](t)(h.Generate(t.Context(), ask(llm.Balanced)))
	if got := p.asked(); ans.Text != "read it all" || !slices.Equal(got, []string{"small", "large"}) {
		t.Errorf("asked %v: %q", got, ans.Text)
	}
	// One that is known to be too long is not even sent.
	p.calls = nil
	a := ask(llm.Balanced)
	a.Request = question(strings.Repeat("word ", 4000))
	if must[llm.Answer](t)(h.Generate(t.Context(), a)); !slices.Equal(p.asked(), []string{"large"}) {
		t.Errorf("asked %v", p.asked())
	}
	a.Request = question(strings.Repeat("word ", 40_000))
	if _, err := h.Generate(t.Context(), a); !errors.Is(err, llm.ErrNoModel) || !strings.Contains(fault.AsError(err).Way().String(), "its context has 32000") {
		t.Errorf("got %v", err)
	}
}

// stream collects what the caller is handed.
type stream struct{ text, think strings.Builder }

func (s *stream) emit(d provider.Delta) error {
	s.text.WriteString(d.Text)
	s.think.WriteString(d.Thinking)
	return nil
}

// TestStreamsNeverRepeat: whatever attempts an answer takes, the caller's pieces are
// the beginning of one answer.
func TestStreamsNeverRepeat(t *testing.T) {
	t.Parallel()
	broken := func(think []string, pieces ...string) answer {
		a := fails(provider.ClassUnavailable)
		a.think, a.pieces = think, pieces
		return a
	}
	schema := json.RawMessage(`{"type":"object"}`)
	for _, row := range []struct {
		name        string
		schema      json.RawMessage
		one, two    []answer
		text, think string // that the caller has in the end
		fails       provider.Class
		asked       string
	}{
		{"pieces", nil, []answer{{pieces: []string{"Good ", "day"}, think: []string{"hm"}}}, nil, "Good day", "hm", "", "1 0"},
		{"no pieces", nil, []answer{says("Good day")}, nil, "Good day", "", "", "1 0"},
		{"pieces and more", nil, []answer{{pieces: []string{"Good"}, text: "Good day"}}, nil, "Good day", "", "", "1 0"},
		{"pieces of a trimmed answer", nil, []answer{{pieces: []string{"\nGood day\n"}, text: "Good day"}}, nil, "\nGood day\n", "", "", "1 0"},
		{"broken before the first piece", nil, []answer{broken(nil), {pieces: []string{"Good", " day"}}}, nil, "Good day", "", "", "2 0"},
		{"broken while thinking", nil, []answer{broken([]string{"hm"}), {pieces: []string{"Good day"}, think: []string{"hm, well"}}}, nil, "Good day", "hm", "", "2 0"},
		{"broken, and says the same again", nil, []answer{broken(nil, "Good ", "d"), {pieces: []string{"Go", "od day", "!"}}}, nil, "Good day!", "", "", "2 0"},
		{"broken twice", nil, []answer{broken(nil, "Good "), broken(nil, "G"), says("Good day")}, nil, "Good day", "", "", "3 0"},
		{"broken, and says something else", nil, []answer{broken(nil, "Good "), {pieces: []string{"Goo", "se"}}}, nil, "Good ", "", provider.ClassUnavailable, "2 0"},
		{"broken, and says less", nil, []answer{broken(nil, "Good day"), says("Good")}, nil, "Good day", "", provider.ClassUnavailable, "2 0"},
		{"broken for good: nobody else is asked", nil, []answer{broken(nil, "Good ")}, []answer{says("Good day")}, "Good ", "", provider.ClassUnavailable, "3 0"},
		{"broken for good before the first piece", nil, []answer{broken(nil)}, []answer{says("Good day")}, "Good day", "", "", "3 1"},
		{"checked answers come in one piece", schema, []answer{{pieces: []string{"Sure: ", `{"a":`, `1}`}, think: []string{"hm"}}}, nil, `{"a":1}`, "hm", "", "1 0"},
		{"checked answers of others", schema, []answer{{pieces: []string{"no"}}}, []answer{says(`{"b":2}`)}, `{"b":2}`, "", "", "2 1"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				one, two := local("one", row.one...), local("two", row.two...)
				h := newHost(t, llm.Settings{Tiers: map[llm.Tier][]string{llm.Balanced: {"one/m", "two/m"}}}, budget.Settings{}, one, two)
				var s stream
				a := ask(llm.Balanced)
				a.Emit, a.Request.Schema = s.emit, row.schema
				ans, err := h.Generate(t.Context(), a)
				if s.text.String() != row.text || s.think.String() != row.think || classOf(err) != row.fails {
					t.Errorf("the caller has %q, thoughts %q: %v", s.text.String(), s.think.String(), err)
				}
				if err == nil && !strings.Contains(row.text, ans.Text) {
					t.Errorf("the answer is %q", ans.Text)
				}
				if got := fmt.Sprint(len(one.asked()), " ", len(two.asked())); got != row.asked {
					t.Errorf("asked %s, want %s", got, row.asked)
				}
			})
		})
	}
}

func TestEmitEndsARequest(t *testing.T) {
	t.Parallel()
	enough := errors.New("enough")
	p := local("one", answer{pieces: []string{"a", "b"}})
	h := newHost(t, llm.Settings{}, budget.Settings{}, p, local("two"))
	a := ask(llm.Balanced)
	a.Emit = func(provider.Delta) error { return enough }
	if _, err := h.Generate(t.Context(), a); !errors.Is(err, enough) || len(p.asked()) != 1 {
		t.Errorf("got %v after %d calls", err, len(p.asked()))
	}
}

// TestPiecesThatCameArePaid: an attempt that broke off is counted with the question
// and the pieces that came.
func TestPiecesThatCameArePaid(t *testing.T) {
	t.Parallel()
	broken := fails(provider.ClassInvalid)
	broken.pieces = []string{strings.Repeat("x", 400)}
	p := local("one", broken)
	p.models[0].InputUSD, p.models[0].OutputUSD = 10, 20
	h := newHost(t, llm.Settings{}, budget.Settings{}, p)
	a := ask(llm.Balanced)
	a.Emit = func(provider.Delta) error { return nil }
	ans, err := h.Generate(t.Context(), a)
	// "What is it?" is 11 bytes: 3 tokens, and 4 for the message; 400 bytes are 100.
	if used := must[budget.Amount](t)(h.ledger.Host().Used(t.Context())); err == nil || used != (budget.Amount{Tokens: 107, MicroUSD: 7*10 + 100*20}) {
		t.Errorf("used %+v, %v", used, err)
	}
	if !ans.Attempts[0].Usage.Estimated {
		t.Errorf("got %+v", ans.Attempts)
	}
}

func TestCancelled(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := remote("one", answer{text: "late", took: time.Hour})
		h := newHost(t, llm.Settings{}, budget.Settings{Day: budget.Amount{Tokens: 1500}}, p)
		late := errors.New("the task has ended")
		ctx, cancel := context.WithTimeoutCause(t.Context(), time.Second, late)
		defer cancel()
		if _, err := h.Generate(ctx, ask(llm.Balanced)); !errors.Is(err, context.DeadlineExceeded) || !errors.Is(err, late) || len(p.asked()) != 1 {
			t.Errorf("got %v after %d calls", err, len(p.asked()))
		}
		st := must[[]budget.Status](t)(h.ledger.Host().Statuses(t.Context()))
		if st[0].Held != (budget.Amount{}) {
			t.Errorf("what was reserved is not given back: %+v", st[0])
		}
		if d := must[llm.Diagnosis](t)(h.Diagnose(t.Context(), ask(llm.Balanced))); d.Candidates[0].Scores.Health != 1 {
			t.Error("that somebody gave up counts against the model")
		}
	})
}

// TestStructured: models that know schemas are given them, others are told in words;
// what does not fit is corrected once, then another model is asked.
func TestStructured(t *testing.T) {
	t.Parallel()
	schema := json.RawMessage(`{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}`)
	one, two := local("one"), local("two", says(`{"n":7}`))
	one.models[0].JSONSchema = false
	settings := llm.Settings{Tiers: map[llm.Tier][]string{llm.Balanced: {"one/m", "two/m"}}}
	h := newHost(t, settings, budget.Settings{}, one, two)
	a := ask(llm.Balanced)
	a.Request.System, a.Request.Schema = "Be brief.", schema

	one.answers = []answer{says("```json\n{\"n\": 3}\n```")}
	ans := must[llm.Answer](t)(h.Generate(t.Context(), a))
	if sent := one.request(0); ans.Text != `{"n": 3}` || sent.Schema != nil || !strings.HasPrefix(sent.System, "Be brief.\n\n") || !strings.Contains(sent.System, string(schema)) {
		t.Errorf("got %q for %+v", ans.Text, sent)
	}

	one.calls, one.answers = nil, []answer{says(`{"n":"three"}`), says(`{"n":3}`)}
	ans = must[llm.Answer](t)(h.Generate(t.Context(), a))
	last := one.request(1).Messages
	if ans.Text != `{"n":3}` || len(ans.Attempts) != 2 || ans.Attempts[0].Class != llm.ClassUnfit || len(last) != 3 ||
		last[1].Text != `{"n":"three"}` || !strings.Contains(last[2].Text, "n: wants a whole number") {
		t.Errorf("got %+v after %+v", ans, last)
	}

	one.calls, one.answers = nil, []answer{says(`nothing`)}
	ans = must[llm.Answer](t)(h.Generate(t.Context(), a))
	if ans.Text != `{"n":7}` || ans.Provider != "two" || len(one.asked()) != 2 || string(two.request(0).Schema) != string(schema) || two.request(0).System != "Be brief." {
		t.Errorf("got %+v, the second was asked %+v", ans, two.request(0))
	}

	two.answers = []answer{says(`{"n":0.5}`)}
	if _, err := h.Generate(t.Context(), a); !errors.Is(err, llm.ErrUnfit) || !strings.Contains(err.Error(), "does not fit its schema") {
		t.Errorf("got %v", err)
	}

	one.answers = []answer{{text: "I look it up.", calls: []provider.ToolCall{{ID: "1", Name: "find", Input: json.RawMessage(`{}`)}}, finish: provider.FinishTools}}
	a.Request.Tools = []provider.Tool{{Name: "find", InputSchema: json.RawMessage(`{}`)}}
	if ans := must[llm.Answer](t)(h.Generate(t.Context(), a)); len(ans.Calls) != 1 || ans.Text != "I look it up." {
		t.Errorf("a tool call has to fit the schema: %+v", ans)
	}

	one.calls, one.answers = nil, []answer{{text: `{"n":`, finish: provider.FinishLength}}
	two.answers = []answer{says(`{"n":1}`)}
	if ans := must[llm.Answer](t)(h.Generate(t.Context(), a)); ans.Provider != "two" || len(one.asked()) != 1 {
		t.Errorf("an answer that was cut off is asked for again: %d times", len(one.asked()))
	}

	a.Request.Schema = json.RawMessage(`{}`)
	two.calls = nil
	one.answers = []answer{fails(provider.ClassAuth)}
	two.answers = []answer{says("yes: [1]")}
	if ans := must[llm.Answer](t)(h.Generate(t.Context(), a)); ans.Text != "[1]" || two.request(0).Schema != nil {
		t.Errorf("any JSON: %+v", ans)
	}
}

// TestAccept: the caller says what is good enough.
func TestAccept(t *testing.T) {
	t.Parallel()
	one, two := local("one", says("perhaps")), local("two", says("certainly"))
	h := newHost(t, llm.Settings{Tiers: map[llm.Tier][]string{llm.Balanced: {"one/m", "two/m"}}}, budget.Settings{}, one, two)
	a := ask(llm.Balanced)
	a.Accept = func(r provider.Response) error {
		if r.Text == "perhaps" {
			return errors.New("not sure enough")
		}
		return nil
	}
	ans := must[llm.Answer](t)(h.Generate(t.Context(), a))
	if ans.Text != "certainly" || ans.Attempts[0].Class != llm.ClassUnfit || !strings.Contains(ans.Attempts[0].Message, "not sure enough") {
		t.Errorf("got %+v", ans)
	}
	two.answers = []answer{says("perhaps")}
	if _, err := h.Generate(t.Context(), a); !errors.Is(err, llm.ErrUnfit) {
		t.Errorf("got %v", err)
	}
}

func TestInvalidAsks(t *testing.T) {
	t.Parallel()
	h := newHost(t, llm.Settings{}, budget.Settings{}, local("one"))
	hot := 2.5
	for name, change := range map[string]func(*llm.Ask){
		"tier":        func(a *llm.Ask) { a.Tier = "huge" },
		"no message":  func(a *llm.Ask) { a.Request.Messages = nil },
		"max tokens":  func(a *llm.Ask) { a.Request.MaxTokens = -1 },
		"thinking":    func(a *llm.Ask) { a.Request.Thinking = -1 },
		"temperature": func(a *llm.Ask) { a.Request.Temperature = &hot },
		"schema":      func(a *llm.Ask) { a.Request.Schema = json.RawMessage(`{"type":7}`) },
		"remote ref":  func(a *llm.Ask) { a.Request.Schema = json.RawMessage(`{"$ref":"http://a.example/x"}`) },
	} {
		a := ask(llm.Fast)
		change(&a)
		if _, err := h.Generate(t.Context(), a); !errors.Is(err, llm.ErrInvalid) || fault.AsError(err).Kind != fault.KindUsage {
			t.Errorf("%s: %v", name, err)
		}
	}
	a := ask("")
	a.Model = "nobody/knows"
	if _, err := h.Generate(t.Context(), a); !errors.Is(err, llm.ErrNoModel) || fault.AsError(err).Kind != fault.KindNotFound {
		t.Errorf("got %v", err)
	}
}

// TestOpaque: what a provider attached to its answer goes back to it, and to no other.
func TestOpaque(t *testing.T) {
	t.Parallel()
	one, two := local("one", answer{text: "a", opaque: `{"sig":1}`}), local("two", answer{text: "b"})
	h := newHost(t, llm.Settings{}, budget.Settings{}, one, two)
	a := ask("")
	a.Model = "one/m"
	first := must[llm.Answer](t)(h.Generate(t.Context(), a))
	for _, p := range []*script{one, two} {
		p.calls = nil
		a := ask("")
		a.Model = p.info.Name + "/m"
		a.Request.Messages = append(a.Request.Messages, provider.Message{Role: provider.RoleAssistant, Text: "a", Opaque: first.Opaque},
			provider.Message{Role: provider.RoleUser, Text: "go on", Opaque: json.RawMessage(`{"sig":2}`)})
		must[llm.Answer](t)(h.Generate(t.Context(), a))
		sent := p.request(0).Messages
		if want := map[string]string{"one": `{"sig":1}`, "two": ""}[p.info.Name]; string(sent[1].Opaque) != want || sent[2].Opaque != nil {
			t.Errorf("%s got %s and %s", p.info.Name, sent[1].Opaque, sent[2].Opaque)
		}
		if string(a.Request.Messages[1].Opaque) != string(first.Opaque) {
			t.Error("the caller's request was changed")
		}
	}
}

// TestNoMoreThanItCan: a model is not asked for more than it can do.
func TestNoMoreThanItCan(t *testing.T) {
	t.Parallel()
	p := local("p")
	h := newHost(t, llm.Settings{}, budget.Settings{}, p)
	a := ask(llm.Balanced)
	a.Request.MaxTokens, a.Request.Thinking = 5000, 700
	must[llm.Answer](t)(h.Generate(t.Context(), a))
	if sent := p.request(0); sent.MaxTokens != 1000 || sent.Thinking != 0 || sent.Model != "m" {
		t.Errorf("sent %+v", sent)
	}
}

// TestNobodyIsThere: why there is no model is said.
func TestNobodyIsThere(t *testing.T) {
	t.Parallel()
	p := local("p")
	p.setDown(errors.New("connection refused"))
	h := newHost(t, llm.Settings{}, budget.Settings{}, p)
	_, err := h.Generate(t.Context(), ask(llm.Fast))
	if !errors.Is(err, llm.ErrNoModel) || !strings.Contains(err.Error(), "no model can answer: tier fast: provider p: connection refused") {
		t.Errorf("got %v: %s", err, fault.AsError(err).Way().String())
	}
}

// TestFree: what costs nothing and leaves nothing is asked also when the day is used up,
// and leaves the day as it is; a task has the bounds that it was given.
func TestFree(t *testing.T) {
	t.Parallel()
	use := provider.Usage{InputTokens: 900, OutputTokens: 100}
	free, far := local("free", answer{text: "yes", usage: use}), remote("far", answer{text: "yes", usage: use})
	h := newHost(t, llm.Settings{}, budget.Settings{Day: budget.Amount{Tokens: 3}}, free, far)
	used := func() budget.Amount { return must[budget.Amount](t)(h.ledger.Host().Used(t.Context())) }
	a := ask(llm.Balanced)
	a.Model = "free/m"
	for range 3 {
		if ans := must[llm.Answer](t)(h.Generate(t.Context(), a)); ans.Text != "yes" || used() != (budget.Amount{}) {
			t.Errorf("got %+v, used %v", ans, used())
		}
	}
	if d := must[llm.Diagnosis](t)(h.Diagnose(t.Context(), a)); d.Short != "" {
		t.Errorf("diagnosed %q", d.Short)
	}
	a.Lease = must[*budget.Lease](t)(h.ledger.Task(t.Context(), "t", budget.Amount{Tokens: 100}))
	if _, err := h.Generate(t.Context(), a); !errors.Is(err, budget.ErrExhausted) {
		t.Errorf("beyond the task: %v", err)
	}
	a.Model, a.Lease = "far/m", nil
	if _, err := h.Generate(t.Context(), a); !errors.Is(err, budget.ErrExhausted) {
		t.Errorf("from elsewhere: %v", err)
	}
	free.models[0].InputUSD = 1
	h.Refresh(t.Context())
	a.Model = "free/m"
	if _, err := h.Generate(t.Context(), a); !errors.Is(err, budget.ErrExhausted) {
		t.Errorf("with a price: %v", err)
	}
}

// TestHostFailures: what is wrong with the host is no reason to ask another model.
func TestHostFailures(t *testing.T) {
	t.Parallel()
	one, two := remote("one"), remote("two")
	h := newHost(t, llm.Settings{}, budget.Settings{}, one, two)
	if _, err := h.store.KV().Put(t.Context(), "budget/period", []byte("?"), store.AnyRevision); err != nil {
		t.Fatal(err)
	}
	_, err := h.Generate(t.Context(), ask(llm.Balanced))
	if !errors.Is(err, store.ErrDamaged) || fault.AsError(err).Kind != fault.KindInternal || len(one.asked())+len(two.asked()) != 0 {
		t.Errorf("got %v", err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("the person changed their mind"))
	if _, err := h.Generate(ctx, ask(llm.Balanced)); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}
