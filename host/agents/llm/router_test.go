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

	"github.com/hashicorp/go-hclog"

	"github.com/skillet-run/skillet/host/agents/llm"
	"github.com/skillet-run/skillet/host/agents/llm/budget"
	"github.com/skillet-run/skillet/host/agents/memory"
	"github.com/skillet-run/skillet/host/base/store"
	"github.com/skillet-run/skillet/host/base/store/badgerstore"
	"github.com/skillet-run/skillet/plugins/provider"
)

// order is the order in which models would be asked.
func order(t testing.TB, h host, a llm.Ask) string {
	t.Helper()
	return strings.Join(must[llm.Diagnosis](t)(h.Diagnose(context.Background(), a)).Order, " ")
}

// TestWhoIsAsked: tiers, names, settings.
func TestWhoIsAsked(t *testing.T) {
	t.Parallel()
	near, far := local("near"), remote("far")
	near.models = []provider.Model{text("tiny", "fast"), text("mid", "balanced"), {Name: "vectors", Embeddings: true, Dimensions: 2}}
	far.models = []provider.Model{text("mid", "balanced"), text("big", "smart"), text("coder", "code")}
	for i := range far.models {
		far.models[i].InputUSD, far.models[i].OutputUSD = 1, 3
	}
	const fallback = "near/tiny"
	for _, row := range []struct {
		name     string
		settings llm.Settings
		ask      llm.Ask
		want     string
	}{
		{"a tier, then those that stand in", llm.Settings{}, llm.Ask{Tier: llm.Fast}, "near/tiny near/mid far/mid far/big"},
		{"no tier is balanced", llm.Settings{}, llm.Ask{}, "near/mid far/mid far/big near/tiny"},
		{"code", llm.Settings{}, llm.Ask{Tier: llm.Code}, "far/coder far/big near/mid far/mid"},
		{"conversation has no model of its own", llm.Settings{}, llm.Ask{Tier: llm.Conversation}, "near/tiny near/mid far/mid far/big"},
		{"a model", llm.Settings{}, llm.Ask{Model: "far/big"}, "far/big"},
		{"a model of several providers", llm.Settings{}, llm.Ask{Model: "mid"}, "near/mid far/mid"},
		{"a model that is a tier", llm.Settings{}, llm.Ask{Model: "smart"}, "far/big far/coder near/mid far/mid"},
		{"the default", llm.Settings{Default: "far/coder"}, llm.Ask{}, "far/coder"},
		{"the default is a tier", llm.Settings{Default: "fast", MaxModels: 1}, llm.Ask{}, "near/tiny"},
		{"the default first of all", llm.Settings{Default: "far/mid"}, llm.Ask{Tier: llm.Fast}, "far/mid near/tiny near/mid far/big"},
		{"a tier that is set before the default", llm.Settings{Default: "far/mid", Tiers: map[llm.Tier][]string{llm.Fast: {"near/tiny"}}}, llm.Ask{Tier: llm.Fast}, "near/tiny near/mid far/mid far/big"},
		{"the last resort is not asked", llm.Settings{LastResort: []string{"near/tiny", "near/mid"}}, llm.Ask{Tier: llm.Fast}, "far/mid far/big far/coder"},
		{"unless there is nothing else", llm.Settings{LastResort: []string{"near/tiny", "near/mid"}}, llm.Ask{Tier: llm.Fast, LocalOnly: true}, "near/tiny near/mid"},
		{"or by name", llm.Settings{LastResort: []string{"near/tiny"}}, llm.Ask{Model: "tiny"}, "near/tiny"},
		{"or by the settings", llm.Settings{LastResort: []string{"near/tiny"}, Tiers: map[llm.Tier][]string{llm.Fast: {"near/tiny"}}}, llm.Ask{Tier: llm.Fast}, "near/tiny near/mid far/mid far/big"},
		{"the settings' order", llm.Settings{Tiers: map[llm.Tier][]string{llm.Fast: {"far/big", "near/mid", "no/such"}}}, llm.Ask{Tier: llm.Fast}, "far/big near/mid far/mid far/coder"},
		{"fallbacks instead of what stands in", llm.Settings{Fallback: []string{fallback}}, llm.Ask{Tier: llm.Code}, "far/coder near/tiny"},
		{"fallbacks of a model", llm.Settings{Fallback: []string{fallback, "far/mid"}}, llm.Ask{Model: "far/big"}, "far/big near/tiny far/mid"},
		{"only local by the settings", llm.Settings{LocalOnly: true}, llm.Ask{Tier: llm.Smart}, "near/mid near/tiny"},
		{"only local this time", llm.Settings{}, llm.Ask{Tier: llm.Smart, LocalOnly: true}, "near/mid near/tiny"},
		{"what the settings say of models", llm.Settings{Models: map[string][]provider.Model{"near": {{Name: "mid", Tiers: []string{"smart"}}}}}, llm.Ask{Tier: llm.Smart}, "near/mid far/big far/coder far/mid"},
		{"dear last", llm.Settings{Models: map[string][]provider.Model{"near": {{Name: "mid", InputUSD: 100, OutputUSD: 900}}}}, llm.Ask{Tier: llm.Balanced}, "far/mid near/mid far/big near/tiny"},
	} {
		h := newHost(t, row.settings, budget.Settings{}, near, far)
		row.ask.Request = question("What is it?")
		if got := order(t, h, row.ask); got != row.want {
			t.Errorf("%s: got %s, want %s", row.name, got, row.want)
		}
	}
}

// TestLocalOnlyIsEnforced: no request leaves the machine, whoever is named.
func TestLocalOnlyIsEnforced(t *testing.T) {
	t.Parallel()
	far := remote("far")
	far.models[0].Embeddings, far.models[0].Dimensions = true, 2
	for _, s := range []llm.Settings{{LocalOnly: true}, {}} {
		h := newHost(t, s, budget.Settings{}, far)
		a := ask("")
		a.Model, a.LocalOnly = "far/m", !s.LocalOnly
		if _, err := h.Generate(t.Context(), a); !errors.Is(err, llm.ErrNoModel) || !strings.Contains(err.Error(), "only local models") {
			t.Errorf("got %v", err)
		}
		if _, err := h.Embedder(t.Context(), "far/m"); s.LocalOnly && !errors.Is(err, llm.ErrNoModel) {
			t.Errorf("got %v", err)
		}
	}
	if len(far.asked()) != 0 {
		t.Errorf("it was asked: %v", far.asked())
	}
}

// TestDiagnose: every candidate with its scores, and why it is not asked.
func TestDiagnose(t *testing.T) {
	t.Parallel()
	p := remote("p")
	p.models = []provider.Model{text("good", "balanced"), text("plain", "balanced"), text("small", "balanced"), {Name: "vectors", Embeddings: true, Dimensions: 2, Tiers: []string{"balanced"}}}
	p.models[0].InputUSD, p.models[0].OutputUSD = 2, 6
	p.models[1].Tools = false
	p.models[2].ContextTokens = 200
	h := newHost(t, llm.Settings{CacheTTL: time.Hour}, budget.Settings{Day: budget.Amount{Tokens: 1 << 20, MicroUSD: 2000}}, p)
	a := ask(llm.Balanced)
	a.Request.Tools = []provider.Tool{{Name: "t", InputSchema: json.RawMessage(`{}`)}}
	d := must[llm.Diagnosis](t)(h.Diagnose(t.Context(), a))
	var lines []string
	for _, c := range d.Candidates {
		lines = append(lines, c.Model+": "+c.Excluded)
	}
	want := []string{"good: ", "plain: it cannot call tools", "small: the request takes about 272 tokens, and its context has 200"}
	if !slices.Equal(lines, want) {
		t.Errorf("got %q", lines)
	}
	// 11+3 bytes are 4 tokens, with 4 of the message and 8 of the tool 16; the answer
	// has 1000: 16*2 + 1000*6 = 6032 millionths, and 0.01/(0.01+0.006032) of the score.
	c := d.Candidates[0]
	if c.MayCost != (budget.Amount{Tokens: 1016, MicroUSD: 6032}) || c.Why != "tier balanced" || !slices.Equal(d.Order, []string{"p/good"}) {
		t.Errorf("got %+v", c)
	}
	if got := fmt.Sprintf("%.4f %.4f", c.Scores.Cost, c.Total); got != "0.6238 0.8856" { // 0.30+0.15+0.142+0.10+0.15*0.6238+0.10
		t.Errorf("scores %s", got)
	}
	if d.Short != "the budget of day has 1048576 tokens, $0.002 left, and 1016 tokens, $0.006032 may be needed" || len(d.Budget) != 2 {
		t.Errorf("budget: %q, %+v", d.Short, d.Budget)
	}
	if !strings.Contains(d.Cached, "temperature of 0") {
		t.Errorf("cached: %s", d.Cached)
	}
	if _, err := json.Marshal(d); err != nil {
		t.Error(err)
	}
	if len(p.asked()) != 0 {
		t.Error("a diagnosis asked a model")
	}
}

// TestBudgets: what may cost too much is not asked; what is free still is.
func TestBudgets(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	dear, free := remote("dear", answer{text: "dear", usage: provider.Usage{InputTokens: 100, OutputTokens: 50}}), local("free", says("free"))
	dear.models[0].InputUSD, dear.models[0].OutputUSD = 1000, 1000
	settings := llm.Settings{Tiers: map[llm.Tier][]string{llm.Balanced: {"dear/m", "free/m"}}}
	h := newHost(t, settings, budget.Settings{}, dear, free)
	lease := must[*budget.Lease](t)(h.ledger.Task(ctx, "T1", budget.Amount{Tokens: 3000, MicroUSD: 1_200_000}))
	a := ask(llm.Balanced)
	a.Lease, a.Task = must[*budget.Lease](t)(lease.Sub(ctx, "code", budget.Amount{})), "T1"
	ans := must[llm.Answer](t)(h.Generate(ctx, a)) // may cost $1.007, and did cost $0.15
	if ans.Text != "dear" || ans.USD != 0.15 {
		t.Errorf("got %+v", ans)
	}
	for _, l := range []*budget.Lease{a.Lease, lease, h.ledger.Host()} {
		if used := must[budget.Amount](t)(l.Used(ctx)); used != (budget.Amount{Tokens: 150, MicroUSD: 150_000}) {
			t.Errorf("%q used %+v", l.Name(), used)
		}
	}
	must[llm.Answer](t)(h.Generate(ctx, a))
	ans = must[llm.Answer](t)(h.Generate(ctx, a)) // $0.9 are left
	if ans.Text != "free" || ans.Attempts[0].Class != llm.ClassBudget || len(dear.asked()) != 2 {
		t.Errorf("got %+v", ans)
	}
	a.Model = "dear/m"
	_, err := h.Generate(ctx, a)
	var r *budget.Refusal
	if !errors.As(err, &r) || !errors.Is(err, budget.ErrExhausted) || r.Budget != "task T1" || fault.AsError(err).Kind != fault.KindLimit || !strings.Contains(fault.AsError(err).Way().String(), "budget.task.usd") {
		t.Errorf("got %v", err)
	}
	st := must[[]budget.Status](t)(a.Lease.Statuses(ctx))
	if st[0].Held != (budget.Amount{}) {
		t.Errorf("still held: %+v", st[0])
	}
}

func TestCache(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx := t.Context()
		zero, half := 0.0, 0.5
		p := local("p", answer{text: "Paris", usage: provider.Usage{InputTokens: 9, OutputTokens: 1}})
		h := newHost(t, llm.Settings{CacheTTL: time.Hour}, budget.Settings{}, p)
		base := ask(llm.Balanced)
		base.Request.Temperature, base.Principal, base.Task = &zero, "human:ada", "T1"
		must[llm.Answer](t)(h.Generate(ctx, base))
		for _, row := range []struct {
			name   string
			change func(*llm.Ask)
			cached bool
		}{
			{"the same", func(*llm.Ask) {}, true},
			{"another task", func(a *llm.Ask) { a.Task = "T2" }, true},
			{"another principal", func(a *llm.Ask) { a.Principal = "human:bob" }, false},
			{"private", func(a *llm.Ask) { a.Private = true }, false},
			{"private again", func(a *llm.Ask) { a.Private = true }, true},
			{"private, another task", func(a *llm.Ask) { a.Private, a.Task = true, "T2" }, false},
			{"private, no task", func(a *llm.Ask) { a.Private, a.Task = true, "" }, false},
			{"private, no task again", func(a *llm.Ask) { a.Private, a.Task = true, "" }, false},
			{"not wanted", func(a *llm.Ask) { a.NoCache = true }, false},
			{"another question", func(a *llm.Ask) { a.Request = question("Why?"); a.Request.Temperature = &zero }, false},
			{"another system", func(a *llm.Ask) { a.Request.System = "Be kind." }, false},
			{"any temperature", func(a *llm.Ask) { a.Request.Temperature = nil }, false},
			{"any temperature again", func(a *llm.Ask) { a.Request.Temperature = nil }, false},
			{"a temperature", func(a *llm.Ask) { a.Request.Temperature = &half }, false},
		} {
			a, before := base, len(p.asked())
			row.change(&a)
			var s stream
			a.Emit = s.emit
			ans := must[llm.Answer](t)(h.Generate(ctx, a))
			if asked := len(p.asked()) > before; ans.Cached != row.cached || asked == row.cached || ans.Text != "Paris" || s.text.String() != "Paris" {
				t.Errorf("%s: cached %v, asked %v: %+v", row.name, ans.Cached, asked, ans)
			}
		}
		if d := must[llm.Diagnosis](t)(h.Diagnose(ctx, base)); d.Cached != "yes" {
			t.Errorf("diagnosis: %s", d.Cached)
		}
		time.Sleep(time.Hour)
		if ans := must[llm.Answer](t)(h.Generate(ctx, base)); ans.Cached {
			t.Error("it was kept for too long")
		}
		uses := must[[]llm.Use](t)(h.Usage(ctx, llm.Filter{Task: "T1"}))
		if len(uses) != 1 || uses[0].Cached != 2 || uses[0].Calls != int64(uses[0].OutputTokens) {
			t.Errorf("usage %+v", uses)
		}
	})
}

// TestCacheIsBounded: what ends first makes room.
func TestCacheIsBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		zero := 0.0
		p := local("p", says(strings.Repeat("x", 1000)))
		h := newHost(t, llm.Settings{CacheTTL: time.Hour, CacheBytes: 4000}, budget.Settings{}, p)
		generate := func(n int) bool {
			a := ask(llm.Balanced)
			a.Request = question(fmt.Sprint("question ", n))
			a.Request.Temperature = &zero
			time.Sleep(time.Second)
			return must[llm.Answer](t)(h.Generate(t.Context(), a)).Cached
		}
		for n := range 6 {
			generate(n)
		}
		entries := must[[]store.Entry](t)(h.store.KV().List(t.Context(), "llm/cache/"))
		size := 0
		for _, e := range entries {
			size += len(e.Value)
		}
		if size > 4000 || len(entries) != 3 || !generate(5) || generate(0) {
			t.Errorf("%d answers with %d bytes", len(entries), size)
		}
		p.answers = []answer{says(strings.Repeat("y", 5000))}
		if generate(100); generate(100) {
			t.Error("an answer larger than all the room is kept")
		}
		p.answers = []answer{{text: "cut", finish: provider.FinishLength}}
		if generate(101); generate(101) {
			t.Error("an answer that was cut off is kept")
		}
	})
}

// TestCatalog: models stay while their provider is down, also over a restart.
func TestCatalog(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		st := store.Memory()
		t.Cleanup(func() { st.Close() })
		one, two := local("one"), local("two")
		settings := llm.Settings{Tiers: map[llm.Tier][]string{llm.Balanced: {"one/m", "two/m"}}}
		h := hostOn(t, st, settings, budget.Settings{}, one, two)
		if got := order(t, h, ask(llm.Balanced)); got != "one/m two/m" {
			t.Errorf("got %s", got)
		}
		one.setDown(errors.New("connection refused"))
		time.Sleep(5 * time.Minute)
		order(t, h, ask(llm.Balanced)) // has it looked at again
		synctest.Wait()
		if got := order(t, h, ask(llm.Balanced)); got != "two/m one/m" {
			t.Errorf("while it is down: %s", got)
		}
		list := must[[]llm.Listed](t)(h.Models(t.Context()))
		if len(list) != 2 || list[0].Problem != "connection refused" || !slices.Equal(list[0].In, []llm.Tier{llm.Balanced}) || !list[0].Local || list[1].Problem != "" {
			t.Errorf("got %+v", list)
		}
		one.models = []provider.Model{text("m", "balanced"), text("m2", "balanced")}
		one.setDown(nil)
		time.Sleep(30 * time.Second)
		order(t, h, ask(llm.Balanced))
		synctest.Wait()
		if got := order(t, h, ask(llm.Balanced)); got != "one/m two/m" {
			t.Errorf("when it is back: %s", got)
		}
		want := []string{"provider.unhealthy: provider one: connection refused", "provider.healthy: provider one answers again"}
		if got := events(t, h, "provider.*"); !slices.Equal(got, want) {
			t.Errorf("events %q", got)
		}
		h.Close()
		one.setDown(errors.New("gone"))
		after := hostOn(t, st, settings, budget.Settings{}, one, two)
		defer after.Close()
		if list := must[[]llm.Listed](t)(after.Models(t.Context())); len(list) != 3 || list[1].Name != "m2" || list[1].Problem != "gone" {
			t.Errorf("after a restart: %+v", list)
		}
		one.setDown(nil)
		if err := after.Refresh(t.Context()); err != nil {
			t.Fatal(err)
		}
		if list := must[[]llm.Listed](t)(after.Models(t.Context())); list[1].Problem != "" {
			t.Errorf("after a refresh: %+v", list)
		}
	})
}

// TestCircuit: a model that fails and fails is left alone, then tried once; a restart
// does not forget it.
func TestCircuit(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		st := store.Memory()
		t.Cleanup(func() { st.Close() })
		p := local("p", fails(provider.ClassUnavailable))
		h := hostOn(t, st, llm.Settings{}, budget.Settings{}, p)
		for range 2 { // three attempts each; the sixth is not made
			if _, err := h.Generate(t.Context(), ask(llm.Balanced)); classOf(err) != provider.ClassUnavailable {
				t.Errorf("got %v", err)
			}
		}
		if n := len(p.asked()); n != 5 {
			t.Errorf("asked %d times", n)
		}
		h.Close()
		h = hostOn(t, st, llm.Settings{}, budget.Settings{}, p)
		defer func() { h.Close() }()
		_, err := h.Generate(t.Context(), ask(llm.Balanced))
		if !errors.Is(err, llm.ErrNoModel) || len(p.asked()) != 5 || !strings.Contains(err.Error(), "tier balanced: p/m: it failed 5 times in a row") {
			t.Errorf("got %v after %d calls", err, len(p.asked()))
		}
		time.Sleep(31 * time.Second)
		gate := make(chan struct{})
		p.answers = []answer{{text: "back", wait: gate}}
		trial := make(chan error)
		go func() { _, err := h.Generate(t.Context(), ask(llm.Balanced)); trial <- err }()
		synctest.Wait()
		if _, err := h.Generate(t.Context(), ask(llm.Balanced)); !errors.Is(err, llm.ErrNoModel) {
			t.Errorf("a second trial at the same time: %v", err)
		}
		close(gate)
		if err := <-trial; err != nil {
			t.Error(err)
		}
		if ans := must[llm.Answer](t)(h.Generate(t.Context(), ask(llm.Balanced))); ans.Text != "back" {
			t.Errorf("got %+v", ans)
		}
	})
}

// TestLastResort: it does not stand in for a model that fails.
func TestLastResort(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		one, last := local("one", fails(provider.ClassUnavailable)), local("last")
		h := newHost(t, llm.Settings{LastResort: []string{"last/m"}}, budget.Settings{}, last, one)
		for range 3 { // the third time nobody is asked at all
			if _, err := h.Generate(t.Context(), ask(llm.Balanced)); err == nil {
				t.Error("something answered")
			}
		}
		d := must[llm.Diagnosis](t)(h.Diagnose(t.Context(), ask(llm.Balanced)))
		if len(last.asked()) != 0 || len(d.Candidates) != 2 || d.Candidates[1].Excluded != "it is the last resort, and there are others" {
			t.Errorf("asked %v, got %+v", last.asked(), d.Candidates)
		}
	})
}

// The last resort does not stand in either for what the settings name of a provider
// that never answered: it is asked all the same where the settings say what it has, and
// otherwise the error says why nobody is.
func TestLastResortAtTheStart(t *testing.T) {
	t.Parallel()
	named := map[string][]provider.Model{"one": {{Name: "m"}}}
	tier := map[llm.Tier][]string{llm.Balanced: {"one/m"}}
	for _, row := range []struct {
		name     string
		settings llm.Settings
		ask      llm.Ask
		asked    bool // although its list cannot be had
		last     bool // answers
	}{
		{"a tier", llm.Settings{Tiers: tier}, ask(llm.Balanced), false, false},
		{"a tier that another stands in for", llm.Settings{Tiers: tier}, ask(llm.Smart), false, false},
		{"the default", llm.Settings{Default: "one/m"}, ask(llm.Balanced), false, false},
		{"a fallback", llm.Settings{Fallback: []string{"one/m"}}, ask(llm.Balanced), false, false},
		{"a model by name", llm.Settings{}, llm.Ask{Model: "one/m", Request: question("What?")}, false, false},
		{"a tier and a model of the settings", llm.Settings{Tiers: tier, Models: named}, ask(llm.Balanced), true, false},
		{"the default and a model of the settings", llm.Settings{Default: "one/m", Models: named}, ask(llm.Balanced), true, false},
		{"a model of the settings alone", llm.Settings{Models: named}, ask(llm.Balanced), true, false},
		{"nothing that the settings name", llm.Settings{}, ask(llm.Balanced), false, true},
		{"the default is elsewhere, and may not be asked", llm.Settings{Default: "one/m", LocalOnly: true}, ask(llm.Balanced), false, true},
	} {
		one, last := remote("one", says("of one")), local("last", says("of the last"))
		one.unlisted = errors.New("404 Not Found")
		row.settings.LastResort = []string{"last/m"}
		h := newHost(t, row.settings, budget.Settings{}, last, one)
		a, err := h.Generate(t.Context(), row.ask)
		switch {
		case row.asked && (err != nil || a.Text != "of one"), row.last && (err != nil || a.Text != "of the last"):
			t.Errorf("%s: %q, %v", row.name, a.Text, err)
		case row.asked || row.last:
		case !errors.Is(err, llm.ErrNoModel) || !strings.Contains(err.Error(), "one/m: its provider one does not answer: 404 Not Found") ||
			!strings.Contains(fault.AsError(err).Way().String(), "[show_routing]"):
			t.Errorf("%s: %q, %v", row.name, a.Text, err)
		}
	}
}

// TestUpAgain: a provider that was down at the start answers the first request after it
// came up, and is not asked with each request before.
func TestUpAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		one := remote("one", says("of one"))
		one.setDown(errors.New("connection refused"))
		h := newHost(t, llm.Settings{Tiers: map[llm.Tier][]string{llm.Balanced: {"one/m"}}}, budget.Settings{}, one)
		if _, err := h.Generate(t.Context(), ask(llm.Balanced)); !errors.Is(err, llm.ErrNoModel) || !strings.Contains(err.Error(), "connection refused") {
			t.Errorf("got %v", err)
		}
		one.setDown(nil)
		if _, err := h.Generate(t.Context(), ask(llm.Balanced)); !errors.Is(err, llm.ErrNoModel) {
			t.Errorf("at once: %v", err)
		}
		time.Sleep(3 * time.Second)
		if a := must[llm.Answer](t)(h.Generate(t.Context(), ask(llm.Balanced))); a.Text != "of one" {
			t.Errorf("got %+v", a)
		}
	})
}

// TestRateLimits: requests and tokens in a minute, and requests at the same time.
func TestRateLimits(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name   string
		limit  llm.Limit
		answer int           // tokens
		took   time.Duration // until five are answered, one after the other
	}{
		{"none", llm.Limit{}, 500, 0},
		{"requests", llm.Limit{RequestsPerMinute: 3}, 500, 40 * time.Second}, // two more than a burst of three: 20 s each
		// An answer may take 1000 tokens and the question 7: the fifth 1007 are not
		// among the 4028 there are at first, and come in a quarter of a minute.
		{"tokens", llm.Limit{TokensPerMinute: 4028}, 500, 15 * time.Second},
		// Each takes 2000 more than was thought: 4 * 3007 + 1007 - 4028 at 67.13 a second.
		{"tokens that are owed", llm.Limit{TokensPerMinute: 4028}, 3000, 134 * time.Second},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				p := local("p", answer{text: "ok", usage: provider.Usage{InputTokens: 7, OutputTokens: row.answer}})
				h := newHost(t, llm.Settings{Limits: map[string]llm.Limit{"p": row.limit}, MaxWait: time.Minute}, budget.Settings{}, p)
				start := time.Now()
				for range 5 {
					must[llm.Answer](t)(h.Generate(t.Context(), ask(llm.Balanced)))
				}
				if took := time.Since(start).Round(time.Second); took != row.took {
					t.Errorf("took %s, want %s", took, row.took)
				}
			})
		})
	}
}

func TestTooLongAWaitFallsBack(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		one, two := local("one"), local("two")
		h := newHost(t, llm.Settings{
			Limits: map[string]llm.Limit{"one": {RequestsPerMinute: 1}},
			Tiers:  map[llm.Tier][]string{llm.Balanced: {"one/m", "two/m"}},
		}, budget.Settings{}, one, two)
		for _, want := range []string{"one", "two"} {
			if ans := must[llm.Answer](t)(h.Generate(t.Context(), ask(llm.Balanced))); ans.Provider != want {
				t.Errorf("got %s, want %s", ans.Provider, want)
			}
		}
		if uses := must[[]llm.Use](t)(h.Usage(t.Context(), llm.Filter{Provider: "one"})); len(uses) != 1 || uses[0].Calls != 1 {
			t.Errorf("a request that was not made is counted: %+v", uses)
		}
	})
}

// TestConcurrent: a provider is sent no more at once than it may be, and another one
// is preferred while it is full.
func TestConcurrent(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		gate := make(chan struct{})
		one, two := local("one", answer{text: "ok", wait: gate}), local("two")
		h := newHost(t, llm.Settings{Limits: map[string]llm.Limit{"one": {Concurrent: 2}}}, budget.Settings{}, one, two)
		named := ask("")
		named.Model = "one/m"
		ends := make(chan error, 3)
		for range 3 {
			go func() { _, err := h.Generate(t.Context(), named); ends <- err }()
		}
		synctest.Wait()
		if n := len(one.asked()); n != 2 {
			t.Errorf("%d at once", n)
		}
		d := must[llm.Diagnosis](t)(h.Diagnose(t.Context(), ask(llm.Balanced)))
		if d.Order[0] != "two/m" || !strings.Contains(d.Candidates[1].SetBack, "2 requests under way") || d.Candidates[1].Scores.Load != 0 {
			t.Errorf("got %+v", d.Candidates)
		}
		close(gate)
		for range 3 {
			if err := <-ends; err != nil {
				t.Error(err)
			}
		}
	})
}

// TestUsage: every call is counted, by what it was for.
func TestUsage(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) { // begins on 2000-01-01
		ctx := t.Context()
		st := store.Memory()
		t.Cleanup(func() { st.Close() })
		p := local("p", answer{text: "ok", usage: provider.Usage{InputTokens: 100, OutputTokens: 30, ThinkingTokens: 20}, took: 250 * time.Millisecond})
		p.models[0].InputUSD = 2
		h := hostOn(t, st, llm.Settings{}, budget.Settings{}, p)
		for _, who := range []struct{ task, agent, purpose string }{{"T1", "code", "plan"}, {"T1", "code", "act"}, {"T1", "code", "act"}, {"T2", "", ""}} {
			a := ask(llm.Fast)
			a.Task, a.Agent, a.Purpose = who.task, who.agent, who.purpose
			must[llm.Answer](t)(h.Generate(ctx, a))
		}
		h.Close()
		h = hostOn(t, st, llm.Settings{}, budget.Settings{}, p)
		defer func() { h.Close() }()
		uses := must[[]llm.Use](t)(h.Usage(ctx, llm.Filter{Purpose: "act"}))
		want := llm.Use{Day: "2000-01-01", Provider: "p", Model: "m", Tier: llm.Fast, Task: "T1", Agent: "code", Purpose: "act",
			Usage: llm.Usage{Calls: 2, InputTokens: 200, OutputTokens: 60, ThinkingTokens: 40, MicroUSD: 400, TookMS: 500}}
		if len(uses) != 1 || uses[0] != want {
			t.Errorf("got %+v", uses)
		}
		time.Sleep(24 * time.Hour)
		p.answers = []answer{fails(provider.ClassInvalid)}
		if _, err := h.Generate(ctx, ask(llm.Fast)); err == nil {
			t.Error("no error")
		}
		for _, row := range []struct {
			f    llm.Filter
			want int
		}{
			{llm.Filter{}, 4}, {llm.Filter{Task: "T1"}, 2}, {llm.Filter{From: "2000-01-02"}, 1}, {llm.Filter{From: "2000-01-01", To: "2000-01-01"}, 3},
			{llm.Filter{To: "1999-12-31"}, 0}, {llm.Filter{Tier: llm.Smart}, 0}, {llm.Filter{Provider: "p", Model: "m", Agent: "code"}, 2},
		} {
			if uses := must[[]llm.Use](t)(h.Usage(ctx, row.f)); len(uses) != row.want {
				t.Errorf("%+v: got %+v", row.f, uses)
			}
		}
		if last := must[[]llm.Use](t)(h.Usage(ctx, llm.Filter{From: "2000-01-02"})); last[0].Failed != 1 || last[0].Calls != 1 {
			t.Errorf("got %+v", last)
		}
		if n := must[int](t)(h.PruneUsage(ctx, "2000-01-02")); n != 3 {
			t.Errorf("%d forgotten", n)
		}
		if uses := must[[]llm.Use](t)(h.Usage(ctx, llm.Filter{})); len(uses) != 1 {
			t.Errorf("left %+v", uses)
		}
	})
}

// TestEstimatesLearn: the ratio of real to estimated tokens makes the next estimate.
func TestEstimatesLearn(t *testing.T) {
	t.Parallel()
	p := local("p", answer{text: "ok", usage: provider.Usage{InputTokens: 14, OutputTokens: 1}})
	h := newHost(t, llm.Settings{}, budget.Settings{}, p)
	may := func() int64 {
		return must[llm.Diagnosis](t)(h.Diagnose(t.Context(), ask(llm.Balanced))).Candidates[0].MayCost.Tokens
	}
	before := may()
	must[llm.Answer](t)(h.Generate(t.Context(), ask(llm.Balanced)))
	if before != 1007 || may() != 1014 { // 7 were estimated, and 14 it was
		t.Errorf("%d, then %d", before, may())
	}
}

// TestSaved: what was learnt is written a second later, by itself.
func TestSaved(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t, llm.Settings{}, budget.Settings{}, local("p"))
		must[llm.Answer](t)(h.Generate(t.Context(), ask(llm.Balanced)))
		count := func() int {
			return len(must[[]store.Entry](t)(h.store.KV().List(t.Context(), "llm/usage/"))) + len(must[[]store.Entry](t)(h.store.KV().List(t.Context(), "llm/model/")))
		}
		if n := count(); n != 0 {
			t.Errorf("%d entries at once", n)
		}
		time.Sleep(time.Second)
		synctest.Wait()
		if n := count(); n != 2 {
			t.Errorf("%d entries", n)
		}
	})
}

var _ memory.Embedder = (*llm.Embedder)(nil)

func TestEmbed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx := t.Context()
		far, near := remote("far"), local("near")
		far.models = []provider.Model{{Name: "v", Embeddings: true, Dimensions: 2}}
		near.models = []provider.Model{text("m"), {Name: "v", Embeddings: true, Dimensions: 2, InputUSD: 1}, {Name: "unknown", Embeddings: true}}
		h := newHost(t, llm.Settings{}, budget.Settings{}, far, near)
		e := must[*llm.Embedder](t)(h.Embedder(ctx, ""))
		if e.Name() != "near/v" || e.Dimensions() != 2 {
			t.Errorf("got %s of %d", e.Name(), e.Dimensions())
		}
		near.answers = []answer{fails(provider.ClassUnavailable), {usage: provider.Usage{InputTokens: 70}}}
		vectors := must[[][]float32](t)(h.Embed(ctx, make([]string, 70)))
		if len(vectors) != 70 || vectors[63][1] != 63 || vectors[64][1] != 0 || near.embeds != 3 {
			t.Errorf("%d vectors in %d requests", len(vectors), near.embeds)
		}
		if used := must[budget.Amount](t)(h.ledger.Host().Used(ctx)); used != (budget.Amount{Tokens: 140, MicroUSD: 140}) {
			t.Errorf("used %+v", used)
		}
		if uses := must[[]llm.Use](t)(h.Usage(ctx, llm.Filter{Purpose: "embed"})); len(uses) != 1 || uses[0].Calls != 3 || uses[0].Failed != 1 {
			t.Errorf("got %+v", uses)
		}
		near.answers = []answer{fails(provider.ClassAuth)}
		if _, err := e.Embed(ctx, []string{"x"}); classOf(err) != provider.ClassAuth || len(far.asked()) != 0 {
			t.Errorf("another model stood in, or %v", err)
		}
		far.models[0].Dimensions = 3 // the catalog says 2 until it is asked again
		if must[*llm.Embedder](t)(h.Embedder(ctx, "far/v")).Dimensions() != 2 {
			t.Error("the catalog changed by itself")
		}
		h.Refresh(ctx)
		if _, err := must[*llm.Embedder](t)(h.Embedder(ctx, "far/v")).Embed(ctx, []string{"x"}); classOf(err) != provider.ClassInternal {
			t.Errorf("vectors of another length: %v", err)
		}
		without := newHost(t, llm.Settings{LastResort: []string{"near/v"}}, budget.Settings{}, far, near, local("none"))
		if e := must[*llm.Embedder](t)(without.Embedder(ctx, "")); e.Name() != "near/v" {
			t.Errorf("texts leave the machine to %s", e.Name())
		}
		for _, name := range []string{"near/m", "near/unknown", "nobody"} {
			if _, err := h.Embedder(ctx, name); !errors.Is(err, llm.ErrNoModel) || !strings.Contains(err.Error(), name) {
				t.Errorf("%s: %v", name, err)
			}
		}
		if v := must[[][]float32](t)(e.Embed(ctx, nil)); len(v) != 0 {
			t.Errorf("got %v", v)
		}
	})
}

// TestOnBadger: all of it on the store that is used.
func TestOnBadger(t *testing.T) {
	t.Parallel()
	dir, zero := t.TempDir(), 0.0
	p := remote("p", answer{text: "once", usage: provider.Usage{InputTokens: 3, OutputTokens: 2}}, says("twice"))
	a := ask(llm.Balanced)
	a.Request.Temperature = &zero
	for range 2 {
		st := must[*badgerstore.Store](t)(badgerstore.Open(hclog.NewNullLogger(), dir, badgerstore.Options{}))
		h := hostOn(t, st, llm.Settings{CacheTTL: time.Hour}, budget.Settings{}, p)
		if ans := must[llm.Answer](t)(h.Generate(t.Context(), a)); ans.Text != "once" {
			t.Errorf("got %+v", ans)
		}
		if used := must[budget.Amount](t)(h.ledger.Host().Used(t.Context())); used.Tokens != 5 {
			t.Errorf("used %+v", used)
		}
		if err := errors.Join(h.Close(), h.Close(), st.Close()); err != nil {
			t.Fatal(err)
		}
	}
}

// BenchmarkGenerate: what asking costs beside the model.
func BenchmarkGenerate(b *testing.B) {
	for name, open := range map[string]func() store.Store{
		"memory": func() store.Store { return store.Memory() },
		"badger": func() store.Store {
			return must[*badgerstore.Store](b)(badgerstore.Open(hclog.NewNullLogger(), b.TempDir(), badgerstore.Options{}))
		},
	} {
		b.Run(name, func(b *testing.B) {
			st := open()
			defer st.Close()
			h := hostOn(b, st, llm.Settings{}, budget.Settings{Day: budget.Amount{Tokens: 1 << 40}}, local("one", answer{text: "ok", usage: provider.Usage{InputTokens: 3, OutputTokens: 2}}), remote("two"))
			defer h.Close()
			for b.Loop() {
				must[llm.Answer](b)(h.Generate(b.Context(), ask(llm.Balanced)))
			}
		})
	}
}

// BenchmarkDiagnose: what choosing costs, with 40 models.
func BenchmarkDiagnose(b *testing.B) {
	p := local("p")
	p.models = nil
	for i := range 40 {
		p.models = append(p.models, text(fmt.Sprint("m", i), "balanced"))
	}
	h := newHost(b, llm.Settings{}, budget.Settings{}, p)
	for b.Loop() {
		must[llm.Diagnosis](b)(h.Diagnose(b.Context(), ask(llm.Balanced)))
	}
}
