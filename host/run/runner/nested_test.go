package runner_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/skillet-run/skillet/host/base/fault"

	"github.com/hashicorp/go-hclog"

	"github.com/skillet-run/skillet/host/base/store"
	"github.com/skillet-run/skillet/host/base/task"
	"github.com/skillet-run/skillet/host/engine/sandbox"
	"github.com/skillet-run/skillet/host/engine/sandbox/wasmbin/wasmtest"
	"github.com/skillet-run/skillet/host/record/approval"
	"github.com/skillet-run/skillet/host/record/journal"
	"github.com/skillet-run/skillet/host/run/hostfn"
	"github.com/skillet-run/skillet/host/run/runner"
	"github.com/skillet-run/skillet/policies"
	"github.com/skillet-run/skillet/policies/capability"
)

// lend makes a skill one that others can call.
func (m *machine) lend(c runner.Call) runner.Call {
	m.skills[c.Target.Package.Manifest().Name] = c.Target
	return c
}

// told is what the guest of relay was told: "ok BODY", or the kind and message of
// an error.
func told(r task.Result) string {
	text := string(r.Raw)
	if body, ok := strings.CutPrefix(text, "{}"); ok {
		return "ok " + body
	}
	text = strings.TrimPrefix(text, `{"error":{"kind":"`)
	return strings.TrimSuffix(strings.Replace(text, `","message":"`, " ", 1), `"}}`)
}

func TestSkillCall(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	p := m.process()
	g := newGuest()
	g.tool("run", g.ask("kv_get", `{"key":"k"}`, ""), wasmDrop, g.answer("answer"))
	m.lend(on(skill(t, "callee", g, runTool, ""), "run", "kv"))
	caller := on(skill(t, "caller", newGuest().relay("run", `{"skill":"callee"}`, "input"), runTool, ""), "run", "skill:callee")

	r := p.Run(t.Context(), caller)
	if told(r) != "ok answer" {
		t.Fatalf("told %q, %+v", told(r), r.Error)
	}
	if len(r.Calls) != 1 || r.Calls[0].Skill != "callee@1.0.0" || r.Calls[0].Tool != "run" || !r.Calls[0].OK {
		t.Errorf("calls %+v", r.Calls)
	}
	all := p.records(t)
	if len(all) != 2 || all[0].RunID != r.Calls[0].RunID || all[0].Of != r.RunID || all[0].Part != "call" || all[0].OnBehalfOf != "caller@1.0.0" {
		t.Fatalf("recorded %+v", all)
	}
	if fmt.Sprint(all[0].Used) != "[{kv kv 1}]" || fmt.Sprint(all[1].Used) != "[{skill:callee skill:callee 1}]" || all[1].Of != "" {
		t.Errorf("used %v and %v", all[0].Used, all[1].Used)
	}

	caller.Target.Granted = approval.Granted{}
	r = p.Run(t.Context(), caller)
	if told(r) != "denied denied" || len(r.Denials) != 1 || r.Denials[0].Way().String() != "[grant caller skill:callee]" || len(p.records(t)) != 3 {
		t.Errorf("not granted: %q, %+v", told(r), r.Denials)
	}
}

// TestNestedCallsOfARiskWait: a tool that says that it changes nothing has no other
// change something for it before a person has agreed, neither by a call nor as its
// fallback; and writes no file itself, and sends nothing that may change something.
func TestNestedCallsOfARiskWait(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	p := m.process()
	const reads = `{"name":"run","read_only":true,"idempotent":true}`
	g := newGuest()
	g.tool("run", g.ask("kv_get", `{"key":"k"}`, ""), wasmDrop, g.answer("changed"))
	m.lend(on(skill(t, "writer", g, runTool, ""), "run", "kv"))
	middle := on(skill(t, "middle", newGuest().relay("run", `{"skill":"writer"}`, `{"n":1}`), reads, ""), "run", "skill:writer")
	m.lend(middle)
	outer := on(skill(t, "outer", newGuest().relay("run", `{"skill":"middle"}`, ""), reads, ""), "run", "skill:middle")
	failing := newGuest()
	failing.tool("run", failing.fail("failed", "no"))
	falls := on(skill(t, "falls", failing, reads, `,"resilience":{"fallback_command":"writer:run"},"security":{"permissions":{"skills":[{"name":"writer","reason":"r"}]}}`), "run", "skill:writer")
	for name, c := range map[string]runner.Call{"call": middle, "call within a call": outer, "fallback": falls} {
		for from, want := range map[task.Risk]int{task.RiskHigh: 1, task.RiskLow: 1, task.RiskNever: 0, "": 0} {
			c.Bounds, c.Input = &runner.Bounds{AskFrom: from}, []byte(`{"n":1}`)
			r := p.Run(t.Context(), c)
			if len(r.Asked) != want {
				t.Errorf("%s, asked from %q: %+v, %q %v", name, from, r.Asked, r.Raw, r.Error)
			}
			if changed := strings.Contains(string(r.Raw), "changed"); changed != (want == 0) {
				t.Errorf("%s, asked from %q: changed %v, %q %v", name, from, changed, r.Raw, r.Error)
			}
			if from == task.RiskHigh && (r.Asked[0].Skill != "writer" || r.Asked[0].Tool != "run" || string(r.Asked[0].Input) != `{"n":1}` || r.Asked[0].Risk != task.RiskHigh) {
				t.Errorf("%s: %+v", name, r.Asked)
			}
		}
	}

	dir := t.TempDir()
	w := newGuest()
	w.tool("run", w.ask("fs_write", fmt.Sprintf(`{"path":%q}`, filepath.Join(dir, "a.txt")), "x"), wasmDrop, w.answer("asked"))
	for tools, want := range map[string]bool{reads: false, runTool: true} {
		c := on(skill(t, "liar", w, tools, ""), "run", "fs.write:"+dir+"/**")
		c.Bounds = &runner.Bounds{Roots: []string{dir}}
		r := p.Run(t.Context(), c)
		_, err := os.Stat(filepath.Join(dir, "a.txt"))
		_ = os.Remove(filepath.Join(dir, "a.txt"))
		if (err == nil) != want || !want && (len(r.Denials) != 1 || !strings.Contains(r.Denials[0].Reason, "changes nothing")) {
			t.Errorf("%s: %v, %+v", tools, err, r.Denials)
		}
	}

	var sent atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { sent.Add(1) }))
	t.Cleanup(server.Close)
	for method, want := range map[string]int32{"POST": 0, "DELETE": 0, "GET": 1} {
		w := newGuest()
		w.tool("run", w.ask("http_request", fmt.Sprintf(`{"method":%q,"url":%q}`, method, server.URL+"/"), ""), wasmDrop, w.answer("asked"))
		c := on(skill(t, "liar", w, reads, ""), "run", "http:* "+server.URL+"/*")
		c.Bounds = &runner.Bounds{}
		sent.Store(0)
		r := p.Run(t.Context(), c)
		if sent.Load() != want || want == 0 && (len(r.Denials) != 1 || !strings.Contains(r.Denials[0].Reason, "it sends no "+method)) {
			t.Errorf("%s: %d sent, %+v", method, sent.Load(), r.Denials)
		}
		c.Bounds = nil
		if p.Run(t.Context(), c); sent.Load() != want+1 {
			t.Errorf("%s of a person: %d sent", method, sent.Load())
		}
	}
}

// TestBoundsArePassedOn: neither a call nor one that it makes opens a file outside of
// the roots, whatever was granted.
func TestBoundsArePassedOn(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	p := m.process()
	dir := t.TempDir()
	inside, outside := filepath.Join(dir, "in"), filepath.Join(dir, "out")
	for _, d := range []string{inside, outside} {
		if err := os.MkdirAll(d, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(d, "a.txt"), []byte("text"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, tt := range []struct {
		file   string
		bounds *runner.Bounds
		want   string
	}{
		{outside, nil, "ok read"},
		{inside, &runner.Bounds{Roots: []string{inside}}, "ok read"},
		{outside, &runner.Bounds{Roots: []string{inside}}, "denied"},
		{inside, &runner.Bounds{}, "denied"},
	} {
		g := newGuest()
		g.tool("run", g.ask("fs_read", fmt.Sprintf(`{"path":%q}`, filepath.Join(tt.file, "a.txt")), ""), when(g.answer("read"), g.fail("refused", "denied")))
		reader := on(skill(t, "reader", g, runTool, ""), "run", "fs.read:"+dir+"/**")
		reader.Bounds = tt.bounds
		r := p.Run(t.Context(), reader)
		if got := r.OK; got != (tt.want == "ok read") {
			t.Errorf("%s within %+v: ok %v, %+v", tt.file, tt.bounds, got, r.Denials)
		}
		way := ""
		if tt.bounds != nil && len(tt.bounds.Roots) == 0 { // a task that touches no file can be made with a directory
			way = "name a directory for the task with [set_field dir]; relative paths begin in the first"
		}
		if !r.OK && (len(r.Denials) != 1 || r.Denials[0].Way().String() != way || !strings.Contains(r.Denials[0].Reason, "whatever was granted")) {
			t.Errorf("refused with %+v", r.Denials)
		}
		m.lend(reader)
		caller := on(skill(t, "caller", newGuest().relay("run", `{"skill":"reader"}`, ""), runTool, ""), "run", "skill:reader")
		caller.Bounds = tt.bounds
		if got := told(p.Run(t.Context(), caller)); (got == "ok read") != (tt.want == "ok read") {
			t.Errorf("%s called within %+v: %q", tt.file, tt.bounds, got)
		}
	}
}

// What a person allows for one run is for the skill that was called.
func TestNothingIsPassedOn(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	p := m.process()
	g := newGuest()
	g.tool("run", g.ask("kv_get", `{"key":"k"}`, ""), when(g.answer("granted"), g.fail("oops", "no kv for me")))
	m.lend(on(skill(t, "callee", g, runTool, ""), "run"))
	caller := on(skill(t, "caller", newGuest().relay("run", `{"skill":"callee"}`, ""), runTool, ""), "run", "kv")
	caller.Allow = approval.NewHuman("ada").Allow(capability.NewSet(capability.MustParse("kv"), capability.MustParse("skill:callee")))
	r := p.Run(t.Context(), caller)
	if told(r) != "failed the skill could not do it" {
		t.Errorf("told %q", told(r))
	}
	if len(r.Denials) > 0 {
		t.Errorf("the caller was denied %+v", r.Denials)
	}
	if e := r.Calls[0].Error; e == nil || e.Kind != fault.KindDenied || !strings.Contains(e.Way().String(), "[grant callee kv]") {
		t.Errorf("a person is told %+v", e)
	}
}

func TestSkillCallErrors(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	p := m.process()
	g := newGuest()
	g.tool("reports", g.fail("not_found", "no such page"))
	g.tool("plain", g.fail("", "it broke"))
	g.tool("speaks", g.fail("denied", "by me"))
	g.tool("odd", g.fail("Not A Word", "odd"))
	g.tool("traps", wasmtest.Unreachable())
	g.tool("spins", spin())
	g.tool("good", g.answer("fine"))
	tool := func(name, members string) string { return fmt.Sprintf(`{"name":%q%s}`, name, members) }
	tools := strings.Join([]string{
		tool("reports", ""), tool("plain", ""), tool("speaks", ""), tool("odd", ""), tool("traps", ""), tool("spins", ""),
		tool("good", `,"input_schema":{"type":"object","required":["x"]}`),
	}, ",")
	m.lend(on(skill(t, "callee", g, tools, `,"security":{"resource_limits":{"max_fuel":1000000}}`), ""))
	one := newGuest()
	one.tool("run", one.answer("once"))
	m.lend(on(skill(t, "rare", one, runTool, `,"performance":{"rate_limit":{"max_calls":1,"per_seconds":3600}}`), ""))
	ill := newGuest().tool("run", wasmtest.Unreachable())
	m.lend(on(skill(t, "ill", ill, runTool, `,"resilience":{"circuit_breaker":{"failure_threshold":1}}`), ""))
	for _, row := range []struct{ meta, want string }{
		{`{"skill":"callee","tool":"reports"}`, "not_found no such page"},
		{`{"skill":"callee","tool":"plain"}`, "failed it broke"},
		{`{"skill":"callee","tool":"speaks"}`, "failed by me"},
		{`{"skill":"callee","tool":"odd"}`, "failed odd"},
		{`{"skill":"callee","tool":"traps"}`, "failed the skill crashed"},
		{`{"skill":"callee","tool":"spins"}`, "limit fuel limit of 1000000 units reached"},
		{`{"skill":"callee","tool":"good"}`, "invalid "},
		{`{"skill":"callee","tool":"none"}`, "not_found callee@1.0.0 has no tool none"},
		{`{"skill":"callee"}`, "invalid callee@1.0.0 has several tools"},
		{`{"skill":"nobody"}`, "not_found "},
		{`{"skill":"rare"}`, "ok once"},
		{`{"skill":"rare"}`, "limit the skill is called too often"},
		{`{"skill":"ill"}`, "failed the skill crashed"},
		{`{"skill":"ill"}`, "limit the skill is not called for a while, because it failed"},
	} {
		caller := on(skill(t, "caller", newGuest().relay("run", row.meta, "{}"), runTool, ""), "run", "skill:*")
		if got := told(p.Run(t.Context(), caller)); !strings.HasPrefix(got, row.want) {
			t.Errorf("%s: told %q, want %q", row.meta, got, row.want)
		}
	}
}

// An answer that is kept is given to skills, too, and theirs is not kept.
func TestSkillCallIsCached(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	p := m.process()
	const pure = `{"name":"run","read_only":true,"idempotent":true}`
	g := newGuest()
	g.tool("run", g.answer("kept"))
	m.lend(on(skill(t, "callee", g, pure, cached), "run"))
	caller := on(skill(t, "caller", newGuest().relay("run", `{"skill":"callee"}`, ""), pure, cached), "run", "skill:callee")
	for range 3 {
		if r := p.Run(t.Context(), caller); told(r) != "ok kept" || r.Cached {
			t.Errorf("told %q, cached: %v", told(r), r.Cached)
		}
	}
	ran := 0
	for _, rec := range p.records(t) {
		if rec.Part == "call" && !rec.Cached {
			ran++
		}
	}
	if ran != 1 {
		t.Errorf("the callee ran %d times", ran)
	}
}

func TestCirclesAndDepth(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	p := m.process()
	add := func(name, next string) runner.Call {
		return m.lend(on(skill(t, name, newGuest().relay("run", `{"skill":"`+next+`"}`, ""), runTool, ""), "run", "skill:*"))
	}
	add("self", "self")
	a := add("a", "b")
	add("b", "c")
	add("c", "a")
	if r := p.Run(t.Context(), a); !strings.Contains(told(r), "the calls go in a circle: a -") {
		t.Errorf("told %q", told(r))
	}
	if r := p.Run(t.Context(), runner.Call{Target: m.skills["self"], Caller: "human:ada"}); !strings.Contains(told(r), "circle") {
		t.Errorf("told %q", told(r))
	}
	for i := range runner.MaxNested + 2 {
		add(fmt.Sprintf("d%d", i), fmt.Sprintf("d%d", i+1))
	}
	end := newGuest()
	end.tool("run", end.answer("end"))
	m.lend(on(skill(t, fmt.Sprintf("d%d", runner.MaxNested+2), end, runTool, ""), "run"))
	if r := p.Run(t.Context(), runner.Call{Target: m.skills["d0"], Caller: "human:ada"}); !strings.Contains(told(r), "more than 8 calls within each other") {
		t.Errorf("told %q", told(r))
	}
	if r := p.Run(t.Context(), runner.Call{Target: m.skills["d3"], Caller: "human:ada"}); !strings.HasSuffix(told(r), "end") {
		t.Errorf("%d deep: told %q", runner.MaxNested, told(r))
	}
}

// A skill that is called has the time that its caller has left, and ends with it.
func TestSkillCallEndsWithItsCaller(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	p := m.process()
	m.lend(on(skill(t, "callee", newGuest().tool("run", spin()), runTool, ""), "run"))
	caller := on(skill(t, "caller", newGuest().relay("run", `{"skill":"callee"}`, ""), runTool, ""), "run", "skill:callee")
	caller.Limits.Seconds = 0.2
	r := p.Run(t.Context(), caller)
	if r.OK || r.Error.Kind != fault.KindLimit || !strings.Contains(r.Error.Message, "wall time") {
		t.Errorf("got %+v", r.Error)
	}
	caller.Limits.Seconds = 0
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(100*time.Millisecond, cancel)
	if r := p.Run(ctx, caller); r.OK || !strings.Contains(r.Error.Message, "cancel") {
		t.Errorf("got %+v", r.Error)
	}
	for _, rec := range p.records(t) {
		if rec.OK || rec.Error == nil {
			t.Errorf("recorded %+v", rec)
		}
	}
}

// TestCallsNeverWaitInACircle has skills call each other that may run once at a
// time, with few places to run: whoever would wait for a circle is refused, and
// nobody waits for ever.
func TestCallsNeverWaitInACircle(t *testing.T) {
	t.Parallel()
	log := hclog.NewNullLogger()
	calls, err := journal.Open(t.TempDir(), journal.Options{})
	if err != nil {
		t.Fatal(err)
	}
	s := store.Memory()
	t.Cleanup(func() { s.Close() })
	rt, err := sandbox.New(t.Context(), log, sandbox.Options{Functions: hostfn.Functions(), MaxConcurrent: 3})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { rt.Close(context.Background()) })
	ps, err := policies.Default()
	if err != nil {
		t.Fatal(err)
	}
	found := skills{}
	settings := runner.Settings{Home: "/home/x/.skillet", Skills: found}
	isolate(t, rt, hostfn.Functions(), &settings)
	r := runner.New(log, s.KV(), rt, ps, nil, nil, calls, settings)
	names := []string{"a", "b", "c", "d"}
	for _, name := range names {
		g := newGuest()
		var tools []string
		for _, other := range names {
			g.relay("to_"+other, `{"skill":"`+other+`","tool":"leaf"}`, "")
			g.relay("over_"+other, `{"skill":"`+other+`","tool":"to_`+names[len(tools)*7%4]+`"}`, "")
			tools = append(tools, `{"name":"to_`+other+`"},{"name":"over_`+other+`"}`)
		}
		g.tool("leaf", g.ask("kv_get", `{"key":"k"}`, ""), wasmDrop, g.answer("leaf"))
		set, err := capability.ParseSet("skill:*", "kv")
		if err != nil {
			t.Fatal(err)
		}
		c := on(skill(t, name, g, strings.Join(append(tools, `{"name":"leaf"}`), ","),
			`,"performance":{"execution":{"max_concurrent_calls":1,"execution_queue_size":1000}}`), "")
		c.Target.Granted = grantedTo(c.Target.Package, set)
		found[name] = c.Target
	}
	results := make(chan task.Result, 1000)
	var wg sync.WaitGroup
	for i := range 400 {
		wg.Go(func() {
			tool := []string{"to_", "over_"}[i%2] + names[i/2%4]
			results <- r.Run(t.Context(), runner.Call{Target: found[names[i/8%4]], Tool: tool, Caller: "human:ada"})
		})
	}
	wg.Wait()
	close(results)
	through := 0
	for res := range results {
		text := string(res.Raw)
		if res.Error != nil {
			text = res.Error.Message
		}
		switch {
		case strings.HasSuffix(text, "leaf"):
			through++
		case strings.Contains(text, "took too long") || strings.Contains(text, "waited for") || strings.Contains(text, "time"):
			t.Errorf("waited: %s", text)
		case !strings.Contains(text, "busy") && !strings.Contains(text, "circle"):
			t.Errorf("got %s", text)
		}
	}
	if through == 0 {
		t.Error("nobody got through")
	}
}

func BenchmarkSkillCall(b *testing.B) {
	m := newMachine(b)
	p := m.process()
	g := newGuest()
	g.tool("run", g.answer("ok"))
	callee := m.lend(on(skill(b, "callee", g, runTool, ""), "run"))
	caller := on(skill(b, "caller", newGuest().relay("run", `{"skill":"callee"}`, ""), runTool, ""), "run", "skill:callee")
	for name, c := range map[string]runner.Call{"callee alone": callee, "through a caller": caller} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if r := p.Run(b.Context(), c); !r.OK {
					b.Fatal(r.Error)
				}
			}
		})
	}
}

// TestBegins: a call is told to begin once its module is loaded, and does not run when it
// may not.
func TestBegins(t *testing.T) {
	t.Parallel()
	p := newMachine(t).process()
	g := newGuest()
	g.tool("run", g.answer("ran"))
	c := on(skill(t, "runs", g, runTool, ""), "run")
	for _, refused := range []error{nil, errors.New("not now")} {
		asked := 0
		c.Begins = func() error { asked++; return refused }
		if r := p.Run(t.Context(), c); r.OK != (refused == nil) || asked != 1 || refused != nil && !strings.Contains(r.Error.Message, "not now") {
			t.Errorf("begins %v: ok %v, asked %d times, %v", refused, r.OK, asked, r.Error)
		}
	}
	asked := false
	missing := on(skill(t, "missing", newGuest(), runTool, ""), "run") // exports no such function
	missing.Begins = func() error { asked = true; return nil }
	missing.Tool = "other"
	if r := p.Run(t.Context(), missing); r.OK || asked {
		t.Errorf("ok %v, asked %v", r.OK, asked)
	}
}

// A guest that names a file by a relative path in a call that has no workspace fails with
// what would give it one.
func TestRelativePathWithoutWorkspace(t *testing.T) {
	t.Parallel()
	p := newMachine(t).process()
	for _, tt := range []struct {
		bounds *runner.Bounds
		want   string
	}{
		{nil, "relative paths begin in the workspace: name one with [set_field workspace]"},
		{&runner.Bounds{}, "name a directory for the task with [set_field dir]; relative paths begin in the first"},
	} {
		g := newGuest()
		g.tool("run", g.ask("fs_read", `{"path":"a.txt"}`, ""), when(g.answer("read"), g.fail("refused", "no file")))
		c := on(skill(t, "reader", g, runTool, ""), "run", "fs.read:/data/**")
		c.Bounds = tt.bounds
		if r := p.Run(t.Context(), c); r.OK || r.Error.Kind != fault.KindSkill || r.Error.Way().String() != tt.want {
			t.Errorf("within %+v: %+v", tt.bounds, r.Error)
		}
		c.Workspace = "/data"
		if r := p.Run(t.Context(), c); tt.bounds == nil && (r.OK || strings.Contains(r.Error.Way().String(), "relative")) {
			t.Errorf("with a workspace: %+v", r.Error)
		}
	}
}
