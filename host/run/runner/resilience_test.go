package runner_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/skillet-run/skillet/host/base/fault"

	"github.com/skillet-run/skillet/host/base/task"
	"github.com/skillet-run/skillet/host/engine/sandbox/wasmbin/wasmtest"
	"github.com/skillet-run/skillet/host/record/approval"
	"github.com/skillet-run/skillet/host/record/registry"
	"github.com/skillet-run/skillet/host/run/runner"
	"github.com/skillet-run/skillet/manifests"
	"github.com/skillet-run/skillet/manifests/bundle"
)

const runTool = `{"name":"run","description":"runs"}`

// TestRetryEndsInSuccess: a service that comes back while the host waits.
func TestRetryEndsInSuccess(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "there")
	g := newGuest()
	g.tool("run", g.ask("fs_read", `{"path":"`+file+`"}`, ""), when(g.answer("ok"), g.fail("io", "not there")))
	pkg := skill(t, "tester", g, runTool, `,"resilience":{"retry_config":{"max_attempts":10,"backoff_strategy":"constant","base_delay":2}}`)
	inBubble(t, func(t *testing.T, m *machine) {
		p := m.process()
		time.AfterFunc(1500*time.Millisecond, func() {
			if err := os.WriteFile(file, []byte("x"), 0o600); err != nil {
				t.Error(err)
			}
		})
		r := p.Run(t.Context(), on(pkg, "run", "fs.read:"+file))
		if !r.OK || string(r.Raw) != "ok" {
			t.Fatalf("got %+v", r.Error)
		}
		n := len(r.Attempts)
		if n < 2 || r.Figures.Attempts != n || r.Attempts[n-1].Error != nil || r.Attempts[0].WaitMS != 0 {
			t.Fatalf("%d attempts of %d: %+v", n, r.Figures.Attempts, r.Attempts)
		}
		var waited float64
		for i, a := range r.Attempts[:n-1] {
			if a.Reason != "network_error" || a.Error.Class != fault.ClassTransient || a.Error.Kind != fault.KindSkill {
				t.Errorf("attempt %d: %+v", i, a)
			}
		}
		for _, a := range r.Attempts[1:] {
			waited += a.WaitMS
		}
		if took := r.FinishedAt.Sub(r.StartedAt); took < 1500*time.Millisecond || waited < 1500 || r.Fuel != r.Figures.Fuel {
			t.Errorf("took %s, of which %v ms were pauses", took, waited)
		}
		if rec := p.records(t)[0]; len(rec.Attempts) != n || rec.Attempts[0].Reason != "network_error" || len(rec.Used) != 1 || rec.Used[0].Count < n {
			t.Errorf("recorded %+v, %+v", rec.Attempts, rec.Used)
		}
	})
}

// TestRetryConfigIsEnforced ranges over what says whether a call is tried again.
func TestRetryConfigIsEnforced(t *testing.T) {
	t.Parallel()
	const thrice = `,"resilience":{"retry_config":{"max_attempts":3`
	rows := []struct {
		name, kind, tool, members string
		granted                   []string
		attempts                  int
	}{
		{"nothing said", "io", runTool, "", nil, 1},
		{"one attempt", "io", runTool, `,"resilience":{"retry_config":{"max_attempts":1}}`, nil, 1},
		{"three attempts", "io", runTool, thrice + `}}`, nil, 3},
		{"the usual number", "timeout", runTool, `,"resilience":{"retry_config":{}}`, nil, 3},
		{"only timeouts, and it is not", "io", runTool, thrice + `,"retry_on":["timeout"]}}`, nil, 1},
		{"only timeouts, and it is", "timeout", runTool, thrice + `,"retry_on":["timeout"]}}`, nil, 3},
		{"a limit", "limit", runTool, thrice + `}}`, nil, 1},
		{"a limit, asked for", "limit", runTool, thrice + `,"retry_on":["resource_limit"]}}`, nil, 3},
		{"the skill's own failure", "failed", runTool, thrice + `}}`, nil, 1},
		{"an answer", "not_found", runTool, thrice + `}}`, nil, 1},
		{"with a grant to look", "io", runTool, thrice + `}}`, []string{"fs.read:/data/**", "clock"}, 3},
		{"with a grant to write", "io", runTool, thrice + `}}`, []string{"fs.write:/data/**"}, 1},
		{"with a grant to write, but idempotent", "io", `{"name":"run","idempotent":true}`, thrice + `}}`, []string{"fs.write:/data/**"}, 3},
		{"with a grant to write, but read-only", "io", `{"name":"run","read_only":true}`, thrice + `}}`, []string{"kv"}, 3},
	}
	inBubble(t, func(t *testing.T, m *machine) {
		p := m.process()
		for _, row := range rows {
			g := newGuest()
			g.tool("run", g.fail(row.kind, "no"))
			pkg := skill(t, "tester", g, row.tool, row.members)
			r := p.Run(t.Context(), on(pkg, "run", row.granted...))
			if r.OK || r.Figures.Attempts != row.attempts || row.attempts > 1 && len(r.Attempts) != row.attempts || row.attempts == 1 && r.Attempts != nil {
				t.Errorf("%s: %d attempts, %v, %+v", row.name, r.Figures.Attempts, reasons(r.Attempts), r.Error)
			}
		}
	})
}

func TestRetryPausesAreBounded(t *testing.T) {
	t.Parallel()
	g := newGuest()
	g.tool("run", g.fail("io", "no"))
	for members, most := range map[string][]float64{
		`"backoff_strategy":"constant","base_delay":1`:                    {1, 1, 1, 1},
		`"backoff_strategy":"linear","base_delay":1,"max_delay":3`:        {1, 2, 3, 3},
		`"backoff_strategy":"exponential","base_delay":0.5,"max_delay":3`: {0.5, 1, 2, 3},
	} {
		pkg := skill(t, "tester", g, runTool, `,"resilience":{"retry_config":{"max_attempts":5,`+members+`}}`)
		inBubble(t, func(t *testing.T, m *machine) {
			p := m.process()
			longest := make([]float64, 4)
			for range 20 {
				r := p.Run(t.Context(), on(pkg, "run"))
				for i, a := range r.Attempts[1:] {
					longest[i] = max(longest[i], a.WaitMS/1000)
				}
			}
			for i, d := range longest {
				if d > most[i] || d < most[i]/2 { // the chance that none of 20 is in the upper half is 1e-6
					t.Errorf("%s: pause %d was up to %v s long, not %v", members, i+1, d, most[i])
				}
			}
		})
	}
}

func TestTimeoutBoundsAllAttempts(t *testing.T) {
	t.Parallel()
	g := newGuest()
	g.tool("run", g.fail("io", "no"))
	retry := `"retry_config":{"max_attempts":10,"backoff_strategy":"linear","base_delay":4}`
	for name, row := range map[string]struct {
		pkg  *bundle.Package
		wall time.Duration
		most time.Duration
	}{
		"manifest": {skill(t, "tester", g, runTool, `,"resilience":{`+retry+`,"timeout":5}`), 0, 5 * time.Second},
		"caller":   {skill(t, "tester", g, runTool, `,"resilience":{`+retry+`}`), 3 * time.Second, 3 * time.Second},
	} {
		inBubble(t, func(t *testing.T, m *machine) {
			p := m.process()
			for range 10 {
				c := on(row.pkg, "run")
				c.Limits.Seconds = row.wall.Seconds()
				start := time.Now()
				r := p.Run(t.Context(), c)
				if took := time.Since(start); r.OK || took > row.most || r.Figures.Attempts == 10 {
					t.Errorf("%s: %d attempts in %s", name, r.Figures.Attempts, took)
				}
			}
		})
	}
}

// TestTimeoutBoundsLaterAttempts: an attempt after others has what they left.
func TestTimeoutBoundsLaterAttempts(t *testing.T) {
	t.Parallel()
	p := newMachine(t).process()
	file := filepath.Join(t.TempDir(), "there")
	g := newGuest()
	g.tool("run", g.ask("fs_read", `{"path":"`+file+`"}`, ""), when(spin(), g.fail("io", "not yet")))
	pkg := skill(t, "tester", g, runTool, `,"resilience":{"retry_config":{"max_attempts":10,"base_delay":0.2,"backoff_strategy":"constant","retry_on":["network_error"]},"timeout":1}`)
	if err := p.Check(t.Context(), pkg); err != nil { // compiled now, the first attempt is quick
		t.Fatal(err)
	}
	time.AfterFunc(300*time.Millisecond, func() {
		if err := os.WriteFile(file, []byte("x"), 0o600); err != nil {
			t.Error(err)
		}
	})
	r := p.Run(t.Context(), on(pkg, "run", "fs.read:"+file))
	if r.OK || !strings.Contains(r.Error.Message, "time limit of 1s reached") { // as it was set, not what was left
		t.Errorf("got %+v after %v", r.Error, reasons(r.Attempts))
	}
}

// A fallback command has what the tool left of the time, and its error tells all of it.
func TestTimeoutOfFallbackIsToldAsSet(t *testing.T) {
	t.Parallel()
	p := newMachine(t).process()
	g := newGuest()
	g.tool("fails", g.fail("io", "no"))
	g.tool("plan_b", spin())
	pkg := skill(t, "tester", g, `{"name":"fails"},{"name":"plan_b"}`, `,"resilience":{"fallback_command":"plan_b"}`)
	c := on(pkg, "fails")
	c.Limits.Seconds = 1
	r := p.Run(t.Context(), c)
	if f := r.Fallback; r.OK || f == nil || f.Error == nil || !strings.Contains(f.Error.Message, "time limit of 1s reached") {
		t.Errorf("got %+v, %+v", r.Error, f)
	}
}

func TestCancelEndsAPause(t *testing.T) {
	t.Parallel()
	g := newGuest()
	g.tool("run", g.fail("io", "no"))
	pkg := skill(t, "tester", g, runTool, `,"resilience":{"retry_config":{"max_attempts":10,"base_delay":600,"max_delay":600,"backoff_strategy":"constant"}}`)
	inBubble(t, func(t *testing.T, m *machine) {
		p := m.process()
		ctx, cancel := context.WithTimeoutCause(t.Context(), time.Second, context.Canceled)
		defer cancel()
		start := time.Now()
		r := p.Run(ctx, on(pkg, "run"))
		if r.OK || time.Since(start) > time.Second {
			t.Errorf("%+v after %s", r.Error, time.Since(start))
		}
	})
}

func TestBreakerIsSharedByProcesses(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "there")
	g := newGuest()
	g.tool("run", g.ask("fs_read", `{"path":"`+file+`"}`, ""), when(g.answer("ok"), g.fail("", "broken")))
	g.tool("look", g.fail("not_found", "nothing"))
	pkg := skill(t, "tester", g, runTool+`,{"name":"look"}`, `,"resilience":{"circuit_breaker":{"failure_threshold":2,"recovery_timeout":60}}`)
	inBubble(t, func(t *testing.T, m *machine) {
		one, two := m.process(), m.process()
		run := func(p parts, tool string) task.Result { return p.Run(t.Context(), on(pkg, tool, "fs.read:"+file)) }
		run(one, "run")
		run(one, "look") // an answer: the skill works
		run(one, "run")
		if r := run(two, "run"); r.Error.Kind != fault.KindSkill {
			t.Fatalf("got %+v", r.Error)
		}
		r := run(one, "look")
		if !errors.Is(r.Error, runner.ErrOpen) || r.Figures.Attempts != 0 || r.Error.RetryAfterMS != 60_000 || r.Error.Class != fault.ClassLimit {
			t.Fatalf("got %+v", r.Error)
		}
		if h, err := two.Health(t.Context(), on(pkg, "run").Target); err != nil || h.Circuit.State != runner.CircuitOpen || h.Circuit.Failures != 2 {
			t.Errorf("got %+v, %v", h, err)
		}
		time.Sleep(time.Minute)
		if err := os.WriteFile(file, []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
		if r := run(two, "run"); !r.OK {
			t.Errorf("got %+v", r.Error)
		}
		if r := run(one, "run"); !r.OK {
			t.Errorf("got %+v", r.Error)
		}
	})
}

// TestBreakerCountsCalls: not attempts, and nothing that is not the skill's fault.
func TestBreakerCountsCalls(t *testing.T) {
	t.Parallel()
	g := newGuest()
	g.tool("fails", g.fail("io", "no"))
	g.tool("denied", g.ask("kv_get", `{"key":"k"}`, ""), when(g.answer("x"), g.fail("denied", "denied")))
	pkg := skill(t, "tester", g, `{"name":"fails","input_schema":{"type":"object","required":["a"]}},{"name":"denied"}`,
		`,"resilience":{"circuit_breaker":{"failure_threshold":2},"retry_config":{"max_attempts":3}}`)
	inBubble(t, func(t *testing.T, m *machine) {
		p := m.process()
		failing := on(pkg, "fails")
		failing.Input = []byte(`{"a":1}`)
		for i, c := range []runner.Call{failing, on(pkg, "denied"), on(pkg, "fails"), on(pkg, "denied"), failing} {
			if r := p.Run(t.Context(), c); r.OK || errors.Is(r.Error, runner.ErrOpen) {
				t.Errorf("call %d: %+v", i, r.Error)
			}
		}
		if r := p.Run(t.Context(), failing); !errors.Is(r.Error, runner.ErrOpen) {
			t.Errorf("got %+v", r.Error)
		}
	})
}

func TestFallbackToAnotherTool(t *testing.T) {
	t.Parallel()
	p := newMachine(t).process()
	g := newGuest()
	g.tool("fails", g.fail("io", "no"))
	g.tool("refused", g.ask("kv_get", `{"key":"k"}`, ""), when(g.answer("x"), g.fail("", "I give up")))
	g.tool("answers", g.fail("invalid", "no such thing"))
	g.tool("plan_b", g.answer(`{"plan":"b"}`))
	g.tool("strict", g.fail("io", "no"))
	pkg := skill(t, "tester", g, `{"name":"fails","input_schema":{"type":"object"}},{"name":"refused"},{"name":"answers"},{"name":"plan_b"},
		{"name":"strict","output_schema":{"type":"object","required":["answer"]}}`,
		`,"resilience":{"fallback_command":"plan_b"}`)
	c := on(pkg, "fails")
	c.Input = []byte("{}")
	r := p.Run(t.Context(), c)
	f := r.Fallback
	if !r.OK || string(r.Raw) != `{"plan":"b"}` || f == nil || f.Command != "plan_b" || f.Because.Message != "call fails: no" || f.Error != nil || f.RunID == "" {
		t.Fatalf("got %+v, %+v", r.Error, f)
	}
	recs := p.records(t)
	if len(recs) != 2 || recs[0].RunID != f.RunID || recs[0].Part != "fallback" || recs[0].Of != r.RunID || recs[0].Tool != "plan_b" || recs[1].Fallback == nil {
		t.Errorf("recorded %+v", recs)
	}
	c.Input = []byte("nonsense")
	for name, c := range map[string]runner.Call{"denied": on(pkg, "refused"), "an answer": on(pkg, "answers"), "a wrong input": c, "itself": on(pkg, "plan_b")} {
		if r := p.Run(t.Context(), c); r.Fallback != nil {
			t.Errorf("%s: %+v, %+v", name, r.Error, r.Fallback)
		}
	}
	r = p.Run(t.Context(), on(pkg, "strict"))
	if r.OK || r.Error.Message != "call strict: no" || r.Fallback.Error == nil || !strings.Contains(r.Fallback.Error.Message, "does not fit") {
		t.Errorf("got %+v, %+v", r.Error, r.Fallback)
	}
}

func TestFallbackToAnotherSkill(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	p := m.process()
	first, second := newGuest(), newGuest()
	first.tool("run", first.fail("", "broken"))
	second.tool("help", second.ask("fs_read", `{"path":"/etc/hostname"}`, ""), when(second.answer("with its own grants"), second.answer("bare")))
	pkg := skill(t, "first", first, runTool, `,"security":{"permissions":{"skills":["second"]}},"resilience":{"fallback_command":"second:help"}`)

	r := p.Run(t.Context(), on(pkg, "run"))
	if r.OK || r.Fallback.Error == nil || r.Fallback.Error.Kind != fault.KindDenied || len(r.Denials) != 1 || !strings.Contains(r.Denials[0].Way().String(), "[grant first skill:second]") {
		t.Errorf("not granted: %+v, %+v, %+v", r.Error, r.Fallback, r.Denials)
	}
	r = p.Run(t.Context(), on(pkg, "run", "skill:second"))
	if r.OK || r.Fallback.Error == nil || r.Fallback.Error.Kind != fault.KindInternal && r.Fallback.Error.Kind != fault.KindNotFound || r.Error.Message != "call run: broken" {
		t.Errorf("not installed: %+v, %+v", r.Error, r.Fallback)
	}
	m.skills["second"] = on(skill(t, "second", second, `{"name":"help"}`, ""), "help").Target
	c := on(pkg, "run", "skill:second", "fs.read:/etc/hostname")
	if r = p.Run(t.Context(), c); !r.OK || string(r.Raw) != "bare" || r.Fallback.Skill != "second@1.0.0" {
		t.Errorf("the grants of the first go to the second: %q, %+v", r.Raw, r.Error)
	}
	if rec := p.records(t); !strings.Contains(rec[len(rec)-1].Used[0].Request, "skill:second") {
		t.Errorf("recorded %+v", rec[len(rec)-1].Used)
	}
	c.Allow = approval.NewHuman("ada").Allow(c.Target.Granted.Set())
	if r = p.Run(t.Context(), c); string(r.Raw) != "bare" {
		t.Errorf("what was allowed for one run goes to another skill: %q", r.Raw)
	}
}

// TestFallbackWhileOpen: a skill that is left alone is answered for, also by
// another tool of its own.
func TestFallbackWhileOpen(t *testing.T) {
	t.Parallel()
	p := newMachine(t).process()
	g := newGuest()
	g.tool("run", g.fail("", "broken"))
	g.tool("plain", g.answer("plain"))
	pkg := skill(t, "tester", g, runTool+`,{"name":"plain"}`, `,"resilience":{"fallback_command":"plain","circuit_breaker":{"failure_threshold":1}}`)
	for i := range 2 {
		r := p.Run(t.Context(), on(pkg, "run"))
		if !r.OK || string(r.Raw) != "plain" || errors.Is(r.Fallback.Because, runner.ErrOpen) != (i == 1) {
			t.Errorf("call %d: %+v, %+v", i, r.Error, r.Fallback)
		}
	}
}

func TestRateLimitIsEnforced(t *testing.T) {
	t.Parallel()
	pkg := pack(t, answers("ok"), `,"performance":{"rate_limit":{"max_calls":2,"per_seconds":10}}`)
	inBubble(t, func(t *testing.T, m *machine) {
		one, two := m.process(), m.process()
		for i, p := range []parts{one, two, one, two} {
			r := p.Run(t.Context(), call(pkg))
			if r.OK != (i < 2) || !r.OK && (!errors.Is(r.Error, runner.ErrRate) || r.Error.Kind != fault.KindLimit || r.Error.RetryAfterMS != 5000 || r.Figures.Attempts != 0) {
				t.Errorf("call %d: %+v", i, r.Error)
			}
		}
		time.Sleep(5 * time.Second)
		if r := two.Run(t.Context(), call(pkg)); !r.OK {
			t.Errorf("got %+v", r.Error)
		}
	})
}

// TestRatesOfAPerson: each skill and tool is counted apart, and a call that one
// rate refuses costs nothing of another.
func TestRatesOfAPerson(t *testing.T) {
	t.Parallel()
	g := newGuest()
	g.tool("run", g.answer("ok"))
	g.tool("walk", g.answer("ok"))
	pkg := skill(t, "tester", g, runTool+`,{"name":"walk","description":"walks"}`, `,"performance":{"rate_limit":{"max_calls":100,"per_seconds":1000}}`)
	rates := []runner.Rate{
		{Skill: "test*", Tool: "r*", RateLimit: manifests.RateLimit{MaxCalls: 1, PerSeconds: 10}},
		{Skill: "tester", RateLimit: manifests.RateLimit{MaxCalls: 3, PerSeconds: 30}},
		{Skill: "other", RateLimit: manifests.RateLimit{MaxCalls: 1, PerSeconds: 1000}},
	}
	inBubble(t, func(t *testing.T, m *machine) {
		p := m.process(func(s *runner.Settings) { s.Rates = rates })
		for i, c := range []struct {
			tool string
			ok   bool
		}{{"run", true}, {"run", false}, {"run", false}, {"walk", true}, {"walk", true}, {"walk", false}} {
			r := p.Run(t.Context(), on(pkg, c.tool))
			if r.OK != c.ok || !r.OK && (!errors.Is(r.Error, runner.ErrRate) || !strings.Contains(r.Error.Way().String(), "rate_limits")) {
				t.Errorf("call %d of %s: %+v", i, c.tool, r.Error)
			}
		}
	})
}

func TestConcurrencyIsEnforced(t *testing.T) {
	t.Parallel()
	p := newMachine(t).process()
	g := newGuest()
	g.tool("run", spin())
	pkg := skill(t, "tester", g, runTool, `,"performance":{"execution":{"max_concurrent_calls":1,"execution_queue_size":1}}`)
	c := on(pkg, "run")
	c.Limits.Seconds = 0.3
	var wg sync.WaitGroup
	results := make([]task.Result, 3)
	for i := range results {
		wg.Go(func() { results[i] = p.Run(t.Context(), c) })
	}
	wg.Wait()
	ran, busy, turned := 0, 0, 0
	for _, r := range results {
		if r.Error != nil && strings.Contains(r.Error.Message, "1 more wait already") {
			turned++
		}
		switch {
		case r.Figures.Attempts > 0:
			ran++
		case errors.Is(r.Error, runner.ErrOverloaded) && r.Error.Kind == fault.KindLimit && r.Error.RetryAfterMS > 0:
			busy++
		}
	}
	if ran == 0 || ran > 2 || busy == 0 || ran+busy > 3 || turned != 1 {
		t.Errorf("%d ran, %d were refused, %d at once: %+v", ran, busy, turned, results)
	}
}

const cached = `,"performance":{"caching":{"result_cache_ttl":60}}`

func TestCacheIsEnforced(t *testing.T) {
	t.Parallel()
	pure := `{"name":"run","read_only":true,"idempotent":true}`
	g := newGuest()
	g.tool("run", g.answer("ok"))
	pkg := skill(t, "tester", g, pure, cached)
	inBubble(t, func(t *testing.T, m *machine) {
		one, two := m.process(), m.process()
		is := func(what string, p parts, c runner.Call, want bool) {
			t.Helper()
			r := p.Run(t.Context(), c)
			if !r.OK || string(r.Raw) != "ok" || r.Cached != want || (r.Figures.Attempts == 0) != want {
				t.Errorf("%s: cached %v, %d attempts, %+v", what, r.Cached, r.Figures.Attempts, r.Error)
			}
		}
		c := on(pkg, "run")
		is("first", one, c, false)
		is("again", one, c, true)
		is("another process", two, c, true)
		other := c
		other.NoCache = true
		is("not wanted", one, other, false)
		other = c
		other.Input = []byte("x")
		is("another input", one, other, false)
		is("other grants", one, on(pkg, "run", "clock"), false)
		other = c
		other.Target.Origin = registry.OriginPath
		is("a path", one, other, false)
		is("a path again", one, other, false)
		is("random", one, on(pkg, "run", "random"), false)
		is("random again", one, on(pkg, "run", "random"), false)
		time.Sleep(time.Minute)
		is("a minute later", one, c, false)
		if err := one.Purge(t.Context(), "tester"); err != nil {
			t.Fatal(err)
		}
		is("after a purge", two, c, false)
		var hits int
		for _, rec := range one.records(t) {
			if rec.Cached {
				hits++
			}
		}
		if hits != 2 {
			t.Errorf("%d of the runs recorded were cached", hits)
		}
	})
}

// TestCacheKeepsNoEffects: whatever a tool promises, what it did is not left out
// the next time; and no failure is kept.
func TestCacheKeepsNoEffects(t *testing.T) {
	t.Parallel()
	p := newMachine(t).process()
	g := newGuest()
	g.tool("writes", g.ask("kv_put", `{"key":"k"}`, "v"), wasmDrop, g.answer("ok"))
	g.tool("denied", g.ask("fs_read", `{"path":"/etc/hostname"}`, ""), wasmDrop, g.answer("ok"))
	g.tool("fails", g.fail("", "no"))
	g.tool("changes", g.answer("ok"))
	pkg := skill(t, "tester", g, `{"name":"writes","read_only":true,"idempotent":true},{"name":"denied","read_only":true,"idempotent":true},
		{"name":"fails","read_only":true,"idempotent":true},{"name":"changes","idempotent":true}`, cached)
	for _, tool := range []string{"writes", "denied", "fails", "changes"} {
		for range 2 {
			if r := p.Run(t.Context(), on(pkg, tool, "kv")); r.Cached || r.Figures.Attempts != 1 || r.OK == (tool == "fails") {
				t.Errorf("%s: cached %v, %+v", tool, r.Cached, r.Error)
			}
		}
	}
}

func TestHealth(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "there")
	g := newGuest()
	g.tool("run", g.answer("ok"))
	g.tool("check", g.ask("fs_read", `{"path":"`+file+`"}`, ""), when(g.answer("ok"), g.fail("", "ill")))
	tools := runTool + `,{"name":"check","read_only":true,"input_schema":{"type":"object","required":["deep"]}}`
	pkg := skill(t, "tester", g, tools, `,"resilience":{"health_check":{"enabled":true,"interval":30,"tool":"check","input":{"deep":true}}}`)
	inBubble(t, func(t *testing.T, m *machine) {
		p := m.process()
		target := on(pkg, "run", "fs.read:"+file).Target
		check := func(ok bool, age time.Duration) {
			t.Helper()
			h, err := p.Health(t.Context(), target)
			if err != nil || h.OK != ok || h.Tool != "check" || time.Since(h.CheckedAt).Round(time.Millisecond) != age || (h.Error == nil) != ok || h.RunID == "" {
				t.Errorf("got %+v, %v, %v", h, h.Error, err)
			}
		}
		check(false, 0)
		if err := os.WriteFile(file, []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
		time.Sleep(29 * time.Second)
		check(false, 29*time.Second) // stands
		time.Sleep(time.Second)
		check(true, 0)
		recs := p.records(t)
		if len(recs) != 2 || recs[0].Part != "health_check" || recs[0].Tool != "check" {
			t.Errorf("recorded %+v", recs)
		}
	})
	p := newMachine(t).process()
	for members, tools := range map[string]string{"": runTool, `,"resilience":{"health_check":{"enabled":true}}`: runTool + `,{"name":"missing"}`} {
		h, err := p.Health(t.Context(), on(skill(t, "other", g, tools, members), "run").Target)
		if err != nil || h.OK != (members == "") || h.Tool != "" {
			t.Errorf("%q: %+v, %v", members, h, err)
		}
	}
}

// TestBreakerAsksHealthFirst: no call is let through while the check fails.
func TestBreakerAsksHealthFirst(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "there")
	g := newGuest()
	g.tool("run", g.fail("", "broken"))
	g.tool("check", g.ask("fs_read", `{"path":"`+file+`"}`, ""), when(g.answer("ok"), g.fail("", "ill")))
	pkg := skill(t, "tester", g, runTool+`,{"name":"check","read_only":true}`,
		`,"resilience":{"circuit_breaker":{"failure_threshold":1,"recovery_timeout":10},"health_check":{"enabled":true,"tool":"check"}}`)
	inBubble(t, func(t *testing.T, m *machine) {
		p := m.process()
		run := func() task.Result { return p.Run(t.Context(), on(pkg, "run", "fs.read:"+file)) }
		run()
		time.Sleep(10 * time.Second)
		if r := run(); !errors.Is(r.Error, runner.ErrOpen) || r.Figures.Attempts != 0 || !strings.Contains(r.Error.Message, "ill") {
			t.Errorf("got %+v", r.Error)
		}
		time.Sleep(9 * time.Second)
		if r := run(); !errors.Is(r.Error, runner.ErrOpen) {
			t.Errorf("a failed check does not count: %+v", r.Error)
		}
		time.Sleep(time.Second)
		if err := os.WriteFile(file, []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
		if r := run(); r.Figures.Attempts != 1 {
			t.Errorf("not let through: %+v", r.Error)
		}
	})
}

func TestMetrics(t *testing.T) {
	t.Parallel()
	p := newMachine(t).process()
	g := newGuest()
	g.tool("run", g.answer("ok"))
	g.tool("fails", g.fail("io", "no"))
	pkg := skill(t, "tester", g, `{"name":"run","read_only":true,"idempotent":true},{"name":"fails"}`,
		`,"resilience":{"retry_config":{"max_attempts":3,"base_delay":0.001}}`+cached)
	for _, tool := range []string{"run", "run", "fails"} {
		p.Run(t.Context(), on(pkg, tool))
	}
	path := on(pkg, "run")
	path.Target.Origin = registry.OriginPath
	p.Run(t.Context(), path)
	all := p.Metrics().Skills
	if len(all) != 2 || all[0].Skill != runner.UninstalledSkills || all[1].Skill != "tester" {
		t.Fatalf("got %+v", all)
	}
	s := all[1]
	if !reflect.DeepEqual(s.Outcomes, map[string]uint64{"ok": 2, "skill": 1}) || !reflect.DeepEqual(s.Reasons, map[string]uint64{"network_error": 1}) || s.Cached != 1 || s.Retries != 2 {
		t.Errorf("got %+v", s)
	}
	sum := func(h runner.Histogram) (n uint64) {
		for _, c := range h.Counts {
			n += c
		}
		return n
	}
	if sum(s.Seconds) != 3 || sum(s.Fuel) != 2 || s.Seconds.Sum <= 0 || s.Fuel.Sum <= 0 || len(s.Fuel.Counts) != len(s.Fuel.Bounds)+1 {
		t.Errorf("got %+v, %+v", s.Seconds, s.Fuel)
	}
	s.Outcomes["ok"], s.Fuel.Counts[0] = 99, 99
	if again := p.Metrics().Skills[1]; again.Outcomes["ok"] != 2 || again.Fuel.Counts[0] == 99 {
		t.Error("the snapshot is not a copy")
	}
}

// TestFiguresAreFilledIn: what the sandbox knows of a call is in its result, and
// in the audit log.
func TestFiguresAreFilledIn(t *testing.T) {
	t.Parallel()
	p := newMachine(t).process()
	g := newGuest()
	g.tool("run", g.ask("kv_get", `{"key":"k"}`, ""), wasmDrop, c(64), c(1), wasmtest.Store(0x36, 0), g.answer("ok"))
	pkg := skill(t, "tester", g, runTool, "")
	var all []task.Figures
	var sum task.Figures
	for range 4 {
		f := p.Run(t.Context(), on(pkg, "run")).Figures
		if f.Fuel == 0 || f.PeakMemoryBytes == 0 || f.HostCalls == 0 || f.InstantiateNS == 0 || f.Attempts != 1 || f.ResetStrategy == "" {
			t.Errorf("got %+v", f)
		}
		all, sum = append(all, f), sum.Add(f)
	}
	if last := all[3]; all[0].CompileNS == 0 || last.CompileNS != 0 || all[0].Pooled || !last.Pooled || sum.SnapshotNS == 0 || last.ResetNS == 0 || last.DirtyPages == 0 {
		t.Errorf("got %+v", all)
	}
	for i, rec := range p.records(t) {
		if rec.Figures != all[i] || rec.HostCalls != all[i].HostCalls {
			t.Errorf("recorded %+v", rec)
		}
	}
}

// TestSnapshotNoneIsEnforced: randomness that a module draws when it begins is
// the same in every call, unless its manifest says otherwise.
func TestSnapshotNoneIsEnforced(t *testing.T) {
	t.Parallel()
	p := newMachine(t).process()
	g := newGuest("random_get")
	g.draw()
	g.tool("run", c(16), c(8), wasmtest.Call(g.funcs["output_write"]), c(0))
	for members, differ := range map[string]bool{"": false, `,"snapshot":"none"`: true} {
		pkg := skill(t, "tester", g, runTool, members)
		one, two := p.Run(t.Context(), on(pkg, "run", "random")), p.Run(t.Context(), on(pkg, "run", "random"))
		if !one.OK || !two.OK || (string(one.Raw) != string(two.Raw)) != differ {
			t.Errorf("%q: %x, %x, %+v", members, one.Raw, two.Raw, one.Error)
		}
	}
}

// TestCallersEndIsNoFailure: a caller that leaves a skill too little time or fuel, or
// goes away, does not have the skill be refused to everybody.
func TestCallersEndIsNoFailure(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	p := m.process()
	g := newGuest()
	g.tool("spins", spin())
	g.tool("good", g.answer("fine"))
	g.tool("fails", g.fail("", "broken"))
	pkg := skill(t, "callee", g, `{"name":"spins"},{"name":"good"},{"name":"fails"}`,
		`,"resilience":{"circuit_breaker":{"failure_threshold":1,"recovery_timeout":3600}}`)
	m.lend(on(pkg, ""))
	nested := on(skill(t, "caller", newGuest().relay("run", `{"skill":"callee","tool":"spins"}`, ""), runTool, ""), "run", "skill:callee")
	nested.Limits.Seconds = 0.05
	timed, poor := on(pkg, "spins"), on(pkg, "spins")
	timed.Limits.Seconds, poor.Limits.Fuel = 0.05, 1000
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	for name, run := range map[string]func() task.Result{
		"nested":   func() task.Result { return p.Run(t.Context(), nested) },
		"timed":    func() task.Result { return p.Run(t.Context(), timed) },
		"poor":     func() task.Result { return p.Run(t.Context(), poor) },
		"deadline": func() task.Result { return p.Run(ctx, on(pkg, "spins")) },
	} {
		if r := run(); r.OK || errors.Is(r.Error, runner.ErrOpen) {
			t.Errorf("%s: %+v", name, r.Error)
		}
	}
	if r := p.Run(t.Context(), on(pkg, "good")); !r.OK {
		t.Errorf("got %+v", r.Error)
	}
	p.Run(t.Context(), on(pkg, "fails"))
	if r := p.Run(t.Context(), on(pkg, "good")); !errors.Is(r.Error, runner.ErrOpen) {
		t.Errorf("its own failure: %+v", r.Error)
	}
}

// TestRateLimitNamesWhoUsedItUp: the refusal says which skill made the last call.
func TestRateLimitNamesWhoUsedItUp(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	p := m.process()
	g := newGuest()
	g.tool("run", g.answer("fine"))
	pkg := skill(t, "callee", g, runTool, `,"performance":{"rate_limit":{"max_calls":1,"per_seconds":1000}}`)
	m.lend(on(pkg, ""))
	nested := on(skill(t, "caller", newGuest().relay("run", `{"skill":"callee"}`, ""), runTool, ""), "run", "skill:callee")
	if r := p.Run(t.Context(), nested); !r.OK {
		t.Fatalf("got %+v", r.Error)
	}
	if r := p.Run(t.Context(), on(pkg, "run")); !errors.Is(r.Error, runner.ErrRate) || !strings.Contains(r.Error.Message, "the last of them by skill:caller@1.0.0") {
		t.Errorf("got %+v", r.Error)
	}
}
