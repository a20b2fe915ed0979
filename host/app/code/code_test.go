package code_test

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/skillet-run/skillet/host/app/code"
	"github.com/skillet-run/skillet/host/app/invoke"
	"github.com/skillet-run/skillet/host/base/fault"
	"github.com/skillet-run/skillet/host/record/approval"
)

// outcome is what came of a script, in short.
func outcome(r code.Result) string {
	if r.Error == nil {
		return string(r.Value)
	}
	at := ""
	if r.Error.Line > 0 {
		at = fmt.Sprintf(" %d", r.Error.Line)
	}
	return fmt.Sprintf("%s: %s%s", r.Error.Kind, r.Error.Message, at)
}

func TestJavaScript(t *testing.T) {
	t.Parallel()
	h := newHome(t, newServer(t))
	defer h.close()
	for _, c := range []struct{ text, data, want string }{
		{`1 + 1`, ``, `2`},
		{`const a = [3, 1, 2]; a.toSorted()`, ``, `[1,2,3]`},
		{`data.a + data["__proto__"].b`, `{"a":1,"__proto__":{"b":2}}`, `3`},
		{`await 1; 5`, ``, `5`},
		{`return 7`, ``, `7`},
		{"const x = await tools.net_work.say({ a: 1 });\nx.a", ``, `1`},
		{"const x = await tools[\"net-work\"].say({ a: 1 });\n({\n  b: x.a,\n})", ``, `{"b":1}`},
		{`async () => (await tools.net_work.say({ a: "text" })).a`, ``, `"text"`},
		{"let x = 1\n;[2].map(v => v + x)[0]", ``, `3`},
		{"let x = await 1\nfunction f(n) { return n }\nf\n(2)", ``, `2`},
		{"let k = await 1; try { k++ } catch {}\n[k]", ``, `[2]`},
		{"let k = await { a: 1 }\n[\"a\"]", ``, `null`},
		{"const all = await Promise.all([1,2,3].map(n => tools.net_work.say({ n })));\nall.map(r => r.n)", ``, `[1,2,3]`},
		{`undefined`, ``, `null`},
		{"let a = 1;\n\nnull.x", ``, "skill: TypeError: cannot read property 'x' of null 3"},
		{"let a = 1;\nlet b = = 2", ``, "skill: SyntaxError: unexpected token in expression: '=' 2"},
		{"await 1;\nlet b = = 2", ``, "skill: SyntaxError: unexpected token in expression: '=' 2"},
		{"await 1;\nnull.x", ``, "skill: TypeError: cannot read property 'x' of null 2"},
		{"const x = 1;\nawait tools.net_work.fail()", ``, "conflict: it is so already 2"},
		{"await tools.net_work.post({ n: 'x' })", ``, "usage: input does not fit the tool post: n: wants a whole number, has text 1"},
		{"await tools.net_work.nothing()", ``, "not_found: net-work has no tool nothing that a script could call 1"},
		{"await tools.nobody.nothing()", ``, "not_found: skill not found 1"},
		{"throw 5", ``, "skill: the script threw 5"},
		{"await new Promise(() => {})", ``, "skill: the promise of the result is never settled: nothing is left to wait for"},
		{"let k; try { await tools.net_work.fail() } catch (e) { k = e.kind }\nk", ``, `"conflict"`},
		{"__skillet_call", ``, "skill: ReferenceError: __skillet_call is not defined 1"},
		{"await fetch('http://127.0.0.1/')", ``, "skill: TypeError: fetch http://127.0.0.1/: a script can do nothing but call tools 1"},
		{"JSON.parse = JSON.stringify = () => { throw 1 }; [1]", ``, "[1]"},
	} {
		res := h.run(code.Request{Code: c.text, Data: []byte(c.data)})
		if got := outcome(res); got != c.want || (res.Status == code.Done) != (res.Error == nil) || res.Engine != "qjs@0.1.0" {
			t.Errorf("%s\n%s %s, want %s", c.text, res.Status, got, c.want)
		}
	}
	if n, err := code.Kept(t.Context(), h.h.Code()); n != 0 || err != nil {
		t.Errorf("%d entries are kept of scripts that changed nothing, %v", n, err)
	}
	res := h.run(code.Request{Code: "console.log('a', 1);\nawait tools.net_work.big();\nawait tools.net_work.get()"})
	if len(res.Logs) != 1 || res.Logs[0].Message != "a 1" || len(res.Calls) != 2 || !res.Calls[0].OK || res.Calls[0].Skill != "net-work" || res.Calls[0].Tool != "big" || res.Calls[0].RunID == "" {
		t.Errorf("%+v", res)
	}
}

func TestPython(t *testing.T) {
	t.Parallel()
	for _, engine := range []string{"cpython", "python"} {
		t.Run(engine, func(t *testing.T) {
			if testing.Short() && engine == "cpython" {
				t.Skip("to link and to compile CPython takes long; make test LONG=1 runs it")
			}
			t.Parallel()
			h := newHome(t, newServer(t), engine)
			defer h.close()
			for _, c := range []struct{ text, data, want string }{
				{"1 + 1", ``, `2`},
				{"x = data['a']\n\nx + 1", `{"a":1}`, `2`},
				{"r = tools.net_work.say({'a': 1})\nr['a']", ``, `1`},
				{"tools['net-work'].say(a=[1])", ``, `{"a":[1]}`},
				{"x = 1", ``, `null`},
				{"x = 1\n\nraise Exception('no')", ``, "skill: no 3"},
				{"x = 1\ntools.net_work.fail()", ``, "conflict: it is so already 2"},
				{"try:\n    tools.net_work.fail()\nexcept ToolError as e:\n    k = e.kind\nk", ``, `"conflict"`},
				{"def f():\n    return [n * 2 for n in range(3)]\n\nf()", ``, `[0,2,4]`},
				{"import json\njson.loads('[1]')", ``, `[1]`},
			} {
				res := h.run(code.Request{Language: "python", Code: c.text, Data: []byte(c.data)})
				if got := strings.ReplaceAll(outcome(res), " ", ""); got != strings.ReplaceAll(c.want, " ", "") || !strings.HasPrefix(res.Engine, engine+"@") {
					t.Errorf("%s\n%s %s, want %s; %s", c.text, res.Status, outcome(res), c.want, res.Engine)
				}
			}
			if engine == "python" {
				return
			}
			res := h.run(code.Request{Language: "python", Code: "import datetime, random, zipfile\nasync def f():\n    return 5\n[await f(), datetime.datetime.now().year > 2025]"})
			if outcome(res) != "[5,true]" && outcome(res) != "[5, true]" {
				t.Error(outcome(res))
			}
		})
	}
}

// A call that needs a person stops the script, and the same request goes on: calls that were
// made are not made again, and time and randomness are those of before.
func TestPause(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	h := newHome(t, s)
	defer h.close()
	h.asks()
	req := code.Request{Code: `const at = Date.now(), r = Math.random(), seen = [];
await tools.net_work.put({ n: 7 });
for (let n = 1; n <= 3; n++) seen.push((await tools.net_work.post({ n })).seen);
({ at, r, seen })`}
	first := h.run(req)
	if first.Status != code.Paused || first.Waits == nil || first.Waits.Call != 2 || first.Waits.Tool != "post" || string(first.Waits.Input) != `{"n":1}` || first.Waits.Proposal == "" || len(first.Calls) != 1 {
		t.Fatalf("%+v %+v", first, first.Waits)
	}
	if again := h.run(req); again.Status != code.Paused || again.RunID != first.RunID || again.Waits.Proposal != first.Waits.Proposal {
		t.Errorf("asked again before the decision: %+v", again)
	}
	other := req
	other.Data = []byte("1")
	if two := h.run(other); two.RunID == first.RunID || two.Status != code.Paused {
		t.Errorf("with other data: %+v", two)
	}
	for n, res := 1, first; ; n++ {
		h.approve(res.Waits.Proposal)
		if res = h.run(req); res.RunID != first.RunID {
			t.Fatalf("another run: %+v", res)
		}
		if res.Status == code.Done {
			if n != 3 || !strings.Contains(string(res.Value), `"seen":[1,1,1]`) || len(res.Calls) != 4 || !res.Calls[0].Recorded || res.Calls[3].Recorded {
				t.Errorf("after %d decisions: %s %+v", n, res.Value, res.Calls)
			}
			break
		}
		if n > 3 || res.Waits.Call != n+2 {
			t.Fatalf("after %d decisions: %+v %+v", n, res, res.Error)
		}
	}
	if got := s.counts(); len(got) != 4 || got["/1"] != 1 || got["/2"] != 1 || got["/3"] != 1 || got["/7"] != 2 {
		t.Errorf("the server was sent %v", got) // 7 by the script with other data, too
	}
	// What has ended begins anew, and waits for decisions of its own.
	if res := h.run(req); res.Status != code.Paused || res.RunID == first.RunID {
		t.Errorf("after the end: %+v", res)
	}
	// By its name it is answered as it ended.
	if res := h.run(code.Request{Run: first.RunID}); res.Status != code.Done || len(s.counts()) != 4 {
		t.Errorf("by name: %+v", res)
	}
}

// What a person does not agree to is told to the script as refused.
func TestRejected(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	h := newHome(t, s)
	defer h.close()
	h.asks()
	req := code.Request{Code: "let k;\ntry { await tools.net_work.post({ n: 1 }) } catch (e) { k = e.kind + ' ' + e.message }\nk", Key: "one"}
	res := h.run(req)
	h.reject(res.Waits.Proposal)
	if res = h.run(req); res.Status != code.Done || string(res.Value) != `"denied denied"` || !strings.Contains(res.Calls[0].Error.Message, "rejected") || len(s.counts()) != 0 {
		t.Errorf("%s %+v", res.Value, res.Calls)
	}
}

// A request with a key is carried out once, and another one with the key is refused.
func TestKeys(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	h := newHome(t, s)
	defer h.close()
	req := code.Request{Code: "await tools.net_work.post({ n: 1 })", Key: "k"}
	first, again := h.run(req), h.run(req)
	if first.Status != code.Done || again.RunID != first.RunID || string(again.Value) != string(first.Value) || s.counts()["/1"] != 1 {
		t.Errorf("%+v, then %+v; %v", first, again, s.counts())
	}
	req.Code += " "
	if _, err := h.h.Code().Execute(t.Context(), bot, req); fault.AsError(err) == nil || fault.AsError(err).Kind != fault.KindConflict {
		t.Errorf("another script with the key: %v", err)
	}
	// Another caller's key is another one, and nobody goes on with a run of somebody else.
	req.May, req.Bounds = all, &invoke.Bounds{}
	if res, err := h.h.Code().Execute(t.Context(), approval.NewAgent("other"), req); err != nil || res.RunID == first.RunID {
		t.Errorf("%+v %v", res, err)
	}
	for _, by := range []approval.Principal{approval.NewAgent("other"), ada} {
		if _, err := h.h.Code().Execute(t.Context(), by, code.Request{Run: first.RunID}); fault.AsError(err) == nil || fault.AsError(err).Kind != fault.KindNotFound {
			t.Errorf("%s goes on with it: %v", by.Actor(), err)
		}
	}
	// All at once it is one run, which is answered or said to be on its way.
	var wait sync.WaitGroup
	for range 8 {
		wait.Go(func() {
			res, err := h.h.Code().Execute(t.Context(), bot, code.Request{Code: "await tools.net_work.post({ n: 2 })", Key: "many", May: all, Bounds: &invoke.Bounds{}})
			if err == nil && res.Status != code.Done || err != nil && fault.AsError(err).Kind != fault.KindConflict {
				t.Errorf("%+v %v", res, err)
			}
		})
	}
	wait.Wait()
	if n := s.counts()["/2"]; n != 1 {
		t.Errorf("sent %d times", n)
	}
}

// Who leaves something out gets less.
func TestWhatIsLeftOut(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	h := newHome(t, s)
	defer h.close()
	do := func(by approval.Principal, req code.Request) (code.Result, error) {
		return h.h.Code().Execute(t.Context(), by, req)
	}
	if res, err := do(bot, code.Request{Code: "await tools.net_work.say({})"}); err != nil || outcome(res) != "denied: denied 1" {
		t.Errorf("without May: %s %v", outcome(res), err)
	}
	if res, err := do(bot, code.Request{Code: "await tools.net_work.get()", May: all}); err != nil || res.Error == nil || len(s.counts()) != 0 {
		t.Errorf("an agent without bounds: %+v %v", res, err)
	}
	only := func(skill, tool string) error {
		if skill == "net-work" && tool == "say" {
			return nil
		}
		return errors.New("no")
	}
	if res, err := do(bot, code.Request{Code: "await tools.net_work.say({ a: 1 });\nawait tools.net_work.post({ n: 1 })", May: only, Bounds: &invoke.Bounds{}}); err != nil || res.Status != code.Failed || len(s.counts()) != 0 {
		t.Errorf("a tool that the caller may not call: %+v %v", res, err)
	}
	for what, c := range map[string]struct {
		by   approval.Principal
		req  code.Request
		kind fault.Kind
	}{
		"nobody":           {nil, code.Request{Code: "1"}, fault.KindDenied},
		"no script":        {bot, code.Request{}, fault.KindUsage},
		"another language": {bot, code.Request{Code: "1", Language: "perl"}, fault.KindUsage},
		"no interpreter":   {bot, code.Request{Code: "1", Language: "python"}, fault.KindNotFound},
		"no JSON":          {bot, code.Request{Code: "1", Data: []byte("{")}, fault.KindUsage},
		"too long":         {bot, code.Request{Code: strings.Repeat(" ", code.MaxCode+1)}, fault.KindLimit},
		"a doubt":          {bot, code.Request{Code: "1", Doubt: "maybe"}, fault.KindUsage},
		"an unknown run":   {bot, code.Request{Run: "0197c3a2-7c1e-7e55-9a51-6d1f0c8d2b11"}, fault.KindNotFound},
		"a run of no name": {bot, code.Request{Run: "../x"}, fault.KindNotFound},
	} {
		if _, err := do(c.by, c.req); fault.AsError(err) == nil || fault.AsError(err).Kind != c.kind {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// A script that would do otherwise than before is stopped, and says so.
func TestDivergence(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	h := newHome(t, s)
	defer h.close()
	h.asks()
	req := code.Request{Code: "await tools.net_work.put({ n: 1 });\nawait tools.net_work.post({ n: 2 })"}
	res := h.run(req)
	if res.Status != code.Paused {
		t.Fatalf("%s %s", res.Status, outcome(res))
	}
	if err := code.Change(t.Context(), h.h.Code(), res.RunID, 1); err != nil {
		t.Fatal(err)
	}
	h.approve(res.Waits.Proposal)
	req.May, req.Bounds = all, &invoke.Bounds{}
	if res, err := h.h.Code().Execute(t.Context(), bot, req); !errors.Is(err, code.ErrDiverged) || s.counts()["/2"] != 0 {
		t.Errorf("%+v %v %v", res, err, s.counts())
	}
}

// What eats without end is stopped by name, and the next script has nothing of it.
func TestBombs(t *testing.T) {
	t.Parallel()
	h := newHome(t, newServer(t))
	defer h.close()
	for what, c := range map[string]struct{ text, want string }{
		"memory":    {"const all = []; for (;;) all.push(new ArrayBuffer(1 << 20))", "memory"},
		"buffer":    {"new ArrayBuffer(1 << 30)", "memory"},
		"text":      {"let s = 'x'; for (;;) s += s", "too long"},
		"loop":      {"for (;;);", "limit"},
		"pattern":   {"/(a*)*b/.test('a'.repeat(100))", "limit"},
		"recursion": {"const f = () => f() + 1; f()", "stack"},
		"proxy":     {"let p = {}; for (let i = 0; i < 1e5; i++) p = new Proxy(p, {}); p.x", ""},
		"promises":  {"const f = () => Promise.resolve().then(f); await f()", ""},
		"output":    {"'x'.repeat(1 << 20)", "output"},
		"logs":      {"for (;;) console.log('x'.repeat(1000))", "limit"},
		"calls":     {"for (;;) await tools.net_work.say({})", "more than 1000 calls"},
		"answers":   {"for (let i = 0; i < 100; i++) await tools.net_work.big()", ""},
	} {
		t.Run(what, func(t *testing.T) {
			res := h.run(code.Request{Code: c.text, Limits: invoke.Limits{Seconds: 60, Fuel: 2_000_000_000}})
			if got := outcome(res); res.Status != code.Failed || !strings.Contains(got, c.want) {
				t.Errorf("%s %s, want %s", res.Status, got, c.want)
			} else {
				t.Logf("%s, %.0f ms", got, res.Took)
			}
			if res := h.run(code.Request{Code: "1 + 1"}); outcome(res) != "2" {
				t.Errorf("afterwards: %s", outcome(res))
			}
		})
	}
}

// A script and its calls have one budget of fuel.
func TestFuel(t *testing.T) {
	t.Parallel()
	h := newHome(t, newServer(t))
	defer h.close()
	calls := func(n int, fuel uint64) code.Result {
		return h.run(code.Request{Code: fmt.Sprintf("for (let i = 0; i < %d; i++) await tools.net_work.big();\n1", n), Limits: invoke.Limits{Fuel: fuel}})
	}
	one, ten := calls(1, 0), calls(10, 0)
	each := (ten.Fuel - one.Fuel) / 9
	if one.Status != code.Done || ten.Status != code.Done || each < 100_000 {
		t.Fatalf("%s with %d, %s with %d", outcome(one), one.Fuel, outcome(ten), ten.Fuel)
	}
	half := one.Fuel + 4*each + each/2
	res := calls(10, half)
	if res.Status != code.Failed || res.Error.Kind != fault.KindLimit || len(res.Calls) < 5 || len(res.Calls) > 6 || res.Fuel > half {
		t.Errorf("with %d of %d: %s after %d calls, with %d", half, ten.Fuel, outcome(res), len(res.Calls), res.Fuel)
	}
	t.Logf("one call %d, each more %d: %s", one.Fuel, each, outcome(res))
}

// Many at once have nothing of each other.
func TestManyAtOnce(t *testing.T) {
	t.Parallel()
	h := newHome(t, newServer(t))
	defer h.close()
	var wait sync.WaitGroup
	for i := range 64 {
		wait.Go(func() {
			res, err := h.h.Code().Execute(t.Context(), bot, code.Request{Code: "globalThis.x = (globalThis.x ?? 0) + data;\nconst r = await tools.net_work.say({ n: x });\nr.n", Data: fmt.Appendf(nil, "%d", i), May: all})
			if err != nil || string(res.Value) != fmt.Sprint(i) {
				t.Errorf("%d: %s %v", i, outcome(res), err)
			}
		})
	}
	wait.Wait()
}

// The search answers what the caller may call, with types.
func TestTools(t *testing.T) {
	t.Parallel()
	h := newHome(t, newServer(t))
	defer h.close()
	find := func(q code.Search) []code.Tool {
		t.Helper()
		f, err := h.h.Code().Tools(t.Context(), bot, q)
		if err != nil {
			t.Fatal(err)
		}
		return f.Tools
	}
	all := func(string, string) error { return nil }
	if got := find(code.Search{Query: "post a number", May: all}); len(got) == 0 || got[0].Call != "tools.net_work.post" || got[0].Types != "tools.net_work.post(input: { n: number }): Promise<{ n?: number; seen?: number }>" {
		t.Errorf("%+v", got)
	}
	if got := find(code.Search{Query: "post a number", Language: "python", May: all}); len(got) == 0 || got[0].Types != "tools.net_work.post(input: {n: int}) -> {n?: int, seen?: int}" {
		t.Errorf("%+v", got)
	}
	if got := find(code.Search{Query: "post"}); len(got) != 0 {
		t.Errorf("without May: %+v", got)
	}
	only := func(_, tool string) error {
		if tool == "get" {
			return nil
		}
		return errors.New("no")
	}
	if got := find(code.Search{Query: "post a number", May: only, Limit: 50}); len(got) > 1 || len(got) == 1 && got[0].Tool != "get" {
		t.Errorf("for a token of one tool: %+v", got)
	}
	if got := find(code.Search{May: all, Limit: 100}); len(got) != 7 {
		t.Errorf("all: %+v", got)
	}
}

func FuzzTypes(f *testing.F) {
	f.Add([]byte(`{"type":"object","properties":{"a":{"type":["string","null"]},"b-c":{"enum":[1,"x"]}},"required":["a"]}`))
	f.Add([]byte(`{"anyOf":[{"const":true},{"type":"array","items":{"type":"integer"}}]}`))
	f.Add([]byte(`{"properties":5,"type":{}}`))
	f.Fuzz(func(t *testing.T, schema []byte) {
		for _, l := range code.Languages() {
			if text := code.TypesOf(l, schema, schema); len(text) > 8<<10 {
				t.Errorf("%d bytes", len(text))
			}
		}
	})
}

func FuzzReadAnswer(f *testing.F) {
	f.Add([]byte(`{"value":1}`))
	f.Add([]byte(`{"error":{"message":"m","line":-1,"kind":"denied"}}`))
	f.Fuzz(func(_ *testing.T, raw []byte) { _ = code.ReadAnswer(raw) })
}
