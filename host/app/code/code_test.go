package code_test

import (
	"testing"

	"github.com/skillet-run/skillet/host/app/code"
)

func TestScripts(t *testing.T) {
	s := newServer(t)
	h := newHome(t, s)
	defer h.close()
	for _, c := range []struct{ text, data, want, failed string }{
		{`1 + 1`, ``, `2`, ``},
		{`const a = [3, 1, 2]; a.toSorted()`, ``, `[1,2,3]`, ``},
		{`data.a + data["__proto__"].b`, `{"a":1,"__proto__":{"b":2}}`, `3`, ``},
		{`await 1; 5`, ``, `5`, ``},
		{`return 7`, ``, `7`, ``},
		{`const x = await tools.net_work.say({ a: 1 });` + "\nx.a", ``, `1`, ``},
		{`const x = await tools["net-work"].say({ a: 1 });` + "\n({\n  b: x.a,\n})", ``, `{"b":1}`, ``},
		{`async () => (await tools.net_work.say("text"))`, ``, `"text"`, ``},
		{"let x = 1\n;[2].map(v => v + x)[0]", ``, `3`, ``},
		{"await 1\nlet x = 1\nfunction f() { return 1 }\nx += f()\n", ``, `null`, ``},
		{"const all = await Promise.all([1,2,3].map(n => tools.net_work.say({ n })));\nall.map(r => r.n)", ``, `[1,2,3]`, ``},
		{`undefined`, ``, `null`, ``},
		{"let a = 1;\n\nnull.x", ``, ``, "TypeError: cannot read property 'x' of null 3:5"},
		{"let a = 1;\nlet b = = 2", ``, ``, "SyntaxError: unexpected token in expression: '=' 2:9"},
		{"await 1;\nlet b = = 2", ``, ``, "SyntaxError: unexpected token in expression: '=' 2:9"},
		{"await 1;\nnull.x", ``, ``, "TypeError: cannot read property 'x' of null 2:5"},
		{"null.x", ``, ``, "TypeError: cannot read property 'x' of null 1:5"},
		{"await null.x", ``, ``, "TypeError: cannot read property 'x' of null 1:11"},
		{"const x = 1;\nawait tools.net_work.fail()", ``, ``, "it is so already 2"},
		{"await tools.net_work.nothing()", ``, ``, "net-work has no tool nothing that a script could call 1"},
		{"await tools.nobody.nothing()", ``, ``, "not found 1"},
		{"throw 5", ``, ``, "the script threw 5"},
		{"await new Promise(() => {})", ``, ``, "never settled"},
		{"try { await tools.net_work.fail() } catch (e) { e.kind + e.message }", ``, `"conflictit is so already"`, ``},
		{"__skillet_call", ``, ``, "not defined"},
		{"await fetch('http://127.0.0.1/')", ``, ``, "nothing but call tools"},
	} {
		res := h.run(code.Request{Code: c.text, Data: []byte(c.data)})
		t.Logf("%s\n-> %s %s %+v %.2f ms", c.text, res.Status, res.Value, res.Error, res.Took)
	}
}
