package script_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/skillet-run/skillet/host/engine/sandbox"
	"github.com/skillet-run/skillet/host/run/hostfn"
)

// evaluate runs an expression in the interpreter.
func evaluate(t *testing.T, code string, env *hostfn.Env) (string, error) {
	t.Helper()
	h, _, wasm := tools(t)
	input, err := json.Marshal(map[string]string{"code": code})
	if err != nil {
		t.Fatal(err)
	}
	c := sandbox.Call{Export: "eval", Input: input}
	if env != nil {
		c.Env = env
	}
	r, err := h.Run(context.Background(), wasm, c)
	return string(r.Output), err
}

func TestWhatScriptsFind(t *testing.T) {
	t.Parallel()
	for code, want := range map[string]string{
		// text
		`Array.from(new TextEncoder().encode("é€😀"))`:                                                         `[195,169,226,130,172,240,159,152,128]`,
		`new TextDecoder().decode(new Uint8Array([239,187,191,195,169]))`:                                     `"é"`,
		`new TextDecoder().decode(new Uint8Array([65,0,66]))`:                                                 `"A\u0000B"`,
		`new TextDecoder("latin1").decode(new Uint8Array([233]))`:                                             `"é"`,
		`try { new TextDecoder("utf-8", {fatal: true}).decode(new Uint8Array([0xc3])) } catch (e) { e.name }`: `"TypeError"`,
		`new TextEncoder().encodeInto("aé€", new Uint8Array(4))`:                                              `{"read":2,"written":3}`,
		`btoa("hello") + atob("aGk=")`:                                                                        `"aGVsbG8=hi"`,
		`new TextDecoder().decode(new TextEncoder().encode("x".repeat(70000))).length`:                        `70000`,
		// URL
		`new URL("HTTPS://User:p%40@Example.COM:443/a/./b/../c%20d?q=1#f").href`:            `"https://User:p%40@example.com/a/c%20d?q=1#f"`,
		`new URL("../x?y=2", "https://example.com/a/b/c?z#h").href`:                         `"https://example.com/a/x?y=2"`,
		`new URL("//other.org/p", "https://example.com").href`:                              `"https://other.org/p"`,
		`new URL("?q", "https://example.com/a?b#c").href`:                                   `"https://example.com/a?q"`,
		`new URL("#n", "https://example.com/a?b#c").href`:                                   `"https://example.com/a?b#n"`,
		`new URL("http://0x7f.1/").hostname`:                                                `"127.0.0.1"`,
		`new URL("http://[::1]:8080/x").host`:                                               `"[::1]:8080"`,
		`new URL("mailto:a@b.c").pathname`:                                                  `"a@b.c"`,
		`new URL("https://example.com:80/é ü?ä").href`:                                      `"https://example.com:80/%C3%A9%20%C3%BC?%C3%A4"`,
		`new URL("https:\\\\example.com\\a").href`:                                          `"https://example.com/a"`,
		`new URL("data:text/plain,hi there").href`:                                          `"data:text/plain,hi there"`,
		`URL.canParse("no") + "" + URL.canParse("http://a b/") + URL.canParse("http://é/")`: `"falsefalsefalse"`,
		`const u = new URL("https://a.b/"); u.searchParams.append("k", "v w"); u.pathname = "/x y"; u.port = "8443"; u.hash = "z"; u.href`: `"https://a.b:8443/x%20y?k=v+w#z"`,
		`const p = new URLSearchParams("?a=1&b=%26+c&a=2"); [p.getAll("a"), p.get("b"), p.has("c"), String(p), p.size]`:                    `[["1","2"],"& c",false,"a=1&b=%26+c&a=2",3]`,
		`const q = new URLSearchParams({z: "1", a: "ü"}); q.sort(); q.set("z", 3); q.delete("none"); String(q)`:                            `"a=%C3%BC&z=3"`,
		// clones, events, timers
		`const o = {d: new Date(5), m: new Map([[1, new Set([2])]]), a: [1,,3], b: new Uint8Array([1,2])}; o.self = o; const c = structuredClone(o); [c !== o, c.self === c, c.d.getTime(), c.m.get(1).has(2), c.a.length, c.b[1]]`: `[true,true,5,true,3,2]`,
		`try { structuredClone({f() {}}) } catch (e) { e.name }`: `"DataCloneError"`,
		`const c = new AbortController(); const seen = []; c.signal.addEventListener("abort", e => seen.push(e.type)); c.abort(); c.abort(); [c.signal.aborted, c.signal.reason.name, seen]`: `[true,"AbortError",["abort"]]`,
		`fetch("https://example.com", {signal: AbortSignal.abort()}).catch(e => e.name)`:                                                                                                     `"AbortError"`,
		`const order = []; queueMicrotask(() => order.push("micro")); setTimeout(() => order.push("timer")); order.push("now"); new Promise(r => setTimeout(() => r(order), 1))`:             `["now","micro","timer"]`,
		// randomness and time
		`/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/.test(crypto.randomUUID())`:                                                           `true`,
		`const r = Array.from({length: 1000}, Math.random); [r.every(x => x >= 0 && x < 1), new Set(r).size, Math.abs(r.reduce((a, b) => a + b) / 1000 - 0.5) < 0.1]`: `[true,1000,true]`,
		`try { crypto.getRandomValues(new Float64Array(1)) } catch (e) { e.name }`:                                                                                    `"TypeError"`,
		`performance.now() >= 0 && performance.timeOrigin > 1e12`:                                                                                                     `true`,
		// fetch's classes
		`const h = new Headers({A: "1"}); h.append("a", "2"); [h.get("A"), [...h]]`: `["1, 2",[["a","1, 2"]]]`,
		`try { new Headers({"bad name": "1"}) } catch (e) { e.name }`:               `"TypeError"`,
		`Response.json({a: 1}).json()`:                                              `{"a":1}`,
		`const r = new Request("https://a.b", {method: "post", body: new URLSearchParams({a: "1"})}); r.text().then(t => [r.method, r.headers.get("content-type"), t])`: `["POST","application/x-www-form-urlencoded;charset=UTF-8","a=1"]`,
		`const s = new Response("é"); s.clone().text().then(async t => [t, (await s.bytes()).length, s.bodyUsed])`:                                                      `["é",2,true]`,
		// what a script must not see
		`[typeof __n, typeof require, typeof process, typeof std, typeof os, typeof WebAssembly, typeof print]`: `["undefined","undefined","undefined","undefined","undefined","undefined","undefined"]`,
		`Object.keys(globalThis).filter(k => k !== "__exports")`:                                                `[]`,
		`undefined`: `null`,
	} {
		if got, err := evaluate(t, code, nil); err != nil || got != want {
			t.Errorf("%s\n  is %s, %v\nwant %s", code, got, err, want)
		}
	}
}

func TestPrimitive(t *testing.T) {
	t.Parallel()
	env := hostfn.NewEnv(hostfn.Settings{})
	for code, want := range map[string]string{
		`const a = __skillet_call("kv_get", '{"key":"x"}', null); [typeof a.meta, a.body instanceof Uint8Array, JSON.parse(a.meta).error.kind]`: `["string",true,"denied"]`,
		`fetch("https://example.com/x").catch(e => [e.name, e.kind])`:                                                                           `["TypeError","denied"]`,
		`try { __skillet_call("rm", "{}", null) } catch (e) { [e.kind, e.message] }`:                                                            `["invalid","the host has no function rm"]`,
		`try { __skillet_call("kv_get", {}, null) } catch (e) { [e.kind, e.message] }`:                                                          `["invalid","kv_get: the request is a string of JSON"]`,
		`try { __skillet_call("kv_get", "{}", 7) } catch (e) { e.kind }`:                                                                        `"invalid"`,
		`JSON.parse(__skillet_call("kv_get", "no json", null).meta).error.kind`:                                                                 `"invalid"`,
		`JSON.parse(__skillet_call("kv_put", '{"key":"x"}', "x".repeat(100000)).meta).error.kind`:                                               `"denied"`,
	} {
		if got, err := evaluate(t, code, env); err != nil || got != want {
			t.Errorf("%s\n  is %s, %v\nwant %s", code, got, err, want)
		}
	}
}

func TestConsoleWritesToTheLog(t *testing.T) {
	t.Parallel()
	h, _, wasm := tools(t)
	env := hostfn.NewEnv(hostfn.Settings{})
	input := `{"code":"console.log('a', {b: [1, 'x', null]}, new Map([[1, 2]]), 3n); console.warn('w'); console.error(new TypeError('bad')); const o = {}; o.o = o; console.debug(o); 1"}`
	if _, err := h.Run(context.Background(), wasm, sandbox.Call{Export: "eval", Input: []byte(input), Env: env}); err != nil {
		t.Fatal(err)
	}
	got := ""
	for _, l := range env.Logs() {
		got += l.Level + " " + l.Message + "\n"
	}
	for _, want := range []string{`info a {b: [1, "x", null]} Map {1 => 2} 3n`, "warn w", "error TypeError: bad", "debug {o: [circular]}"} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
}

func TestEvalReportsErrors(t *testing.T) {
	t.Parallel()
	for code, want := range map[string]string{
		`throw new Error("no")`: "no",
		`let let = 1`:           "SyntaxError",
	} {
		_, err := evaluate(t, code, nil)
		var g *sandbox.GuestError
		if !errors.As(err, &g) || !strings.Contains(g.Message, want) {
			t.Errorf("%s: %v", code, err)
		}
	}
}
