package script_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/fstest"

	"github.com/skillet-run/skillet/host/base/fault"
	"github.com/skillet-run/skillet/internal/reexec"

	"github.com/hashicorp/go-hclog"

	"github.com/skillet-run/skillet/host/author/script"
	"github.com/skillet-run/skillet/host/engine/sandbox"
	"github.com/skillet-run/skillet/host/engine/sandbox/worker"
	"github.com/skillet-run/skillet/host/run/hostfn"
)

// TestMain runs the tests, or is one of the processes that bundle for them.
func TestMain(m *testing.M) {
	if reexec.Bundler.Is(os.Args) {
		os.Exit(script.RunBundler(nil))
	}
	code := m.Run()
	for _, do := range atEnd {
		do()
	}
	os.Exit(code)
}

// atEnd is done when all tests have run.
var atEnd []func()

// here runs modules in this process, and keeps what it has loaded.
type here struct {
	*worker.Pool
	runtime *sandbox.Runtime
	mu      sync.Mutex
	loaded  map[string]*sandbox.Module
}

func (h *here) Run(ctx context.Context, wasm []byte, c sandbox.Call) (sandbox.Result, error) {
	m, err := h.module(ctx, wasm)
	if err != nil {
		return sandbox.Result{}, err
	}
	if c.Env == nil {
		c.Env = hostfn.NewEnv(hostfn.Settings{})
	}
	return m.Call(ctx, c)
}

func (h *here) module(ctx context.Context, wasm []byte) (*sandbox.Module, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if m, ok := h.loaded[string(wasm)]; ok {
		return m, nil
	}
	m, err := h.runtime.Load(ctx, wasm)
	if err == nil {
		h.loaded[string(wasm)] = m
	}
	return m, err
}

// host is shared by all tests: the interpreter takes a second to compile.
var host = sync.OnceValues(func() (*here, error) {
	r, err := sandbox.New(context.Background(), hclog.NewNullLogger(), sandbox.Options{Functions: hostfn.Functions(), CacheDir: os.Getenv("TEST_CODE_CACHE")})
	if err != nil {
		return nil, err
	}
	pool, err := worker.NewPool(hclog.NewNullLogger(), worker.Settings{})
	return &here{Pool: pool, runtime: r, loaded: map[string]*sandbox.Module{}}, err
})

// engine is the module of the interpreter, from npm's cache or the registry.
var engine = sync.OnceValues(func() ([]byte, error) {
	h, err := host()
	if err != nil {
		return nil, err
	}
	in, _ := script.Find("qjs")
	files, err := script.Engine(context.Background(), h, fetcher(), in)
	return files[script.ModuleFile], err
})

func fetcher() script.Registries {
	return script.NewRegistries(hclog.NewNullLogger(), os.Getenv, "")
}

// tools are the runner and the interpreter, or the test is skipped: without the
// network and without npm's cache there is none.
func tools(t testing.TB) (*here, script.Interpreter, []byte) {
	t.Helper()
	h, err := host()
	if err != nil {
		t.Fatal(err)
	}
	wasm, err := engine()
	var e *fault.Error
	if errors.As(err, &e) && e.Kind == fault.KindNotFound {
		t.Skipf("no interpreter: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	in, _ := script.Find("qjs")
	return h, in, wasm
}

func build(t testing.TB, files map[string]string) ([]byte, error) {
	t.Helper()
	h, in, wasm := tools(t)
	tree := fstest.MapFS{}
	main := ""
	for name, text := range files {
		tree[name] = &fstest.MapFile{Data: []byte(text)}
		if strings.HasPrefix(name, "main.") {
			main = name
		}
	}
	return script.Build(context.Background(), h, in, wasm, script.Source{Files: tree, Main: main})
}

// call builds a program of one file and calls its tool.
func call(t testing.TB, text, tool, input string) (string, error) {
	t.Helper()
	wasm, err := build(t, map[string]string{"main.js": text})
	if err != nil {
		t.Fatal(err)
	}
	h, _, _ := tools(t)
	r, err := h.Run(context.Background(), wasm, sandbox.Call{Export: tool, Input: []byte(input)})
	return string(r.Output), err
}

// buildAll makes one program of files that export a function tool each: it takes
// half a second to compile one. It returns what calls the tool of a file.
func buildAll(t testing.TB, texts map[string]string) func(name string, c sandbox.Call) (string, error) {
	t.Helper()
	files, main := map[string]string{}, ""
	for name, text := range texts {
		files[name+".js"] = text
		main += "export { tool as " + name + " } from './" + name + ".js';\n"
	}
	files["main.js"] = main
	wasm, err := build(t, files)
	if err != nil {
		t.Fatal(err)
	}
	h, _, _ := tools(t)
	return func(name string, c sandbox.Call) (string, error) {
		c.Export = name
		r, err := h.Run(context.Background(), wasm, c)
		return string(r.Output), err
	}
}

func TestBuildAndCall(t *testing.T) {
	t.Parallel()
	cases := map[string]struct{ text, input, want string }{
		"sync":     {`export function tool(i) { return {n: i.n + 1} }`, `{"n":41}`, `{"n":42}`},
		"async":    {`export async function tool(i) { await null; return [await Promise.resolve(i)] }`, `"x"`, `["x"]`},
		"nothing":  {`export function tool() {}`, ``, `null`},
		"unicode":  {`export const tool = (s) => s + "é\u{1f600}日"`, `"日本"`, `"日本é😀日"`},
		"lone":     {`export const tool = () => "\ud800"`, ``, `"\ud800"`},
		"timers":   {`export async function tool() { const t = []; setTimeout(() => t.push(2), 20); setTimeout(() => t.push(1), 10); await new Promise(r => setTimeout(r, 30)); return t }`, ``, `[1,2]`},
		"interval": {`export const tool = () => new Promise(r => { let n = 0; const i = setInterval(() => { if (++n === 3) { clearInterval(i); r(n) } }, 5) })`, ``, `3`},
	}
	texts := map[string]string{}
	for name, c := range cases {
		texts[name] = c.text
	}
	run := buildAll(t, texts)
	for name, c := range cases {
		if got, err := run(name, sandbox.Call{Input: []byte(c.input)}); err != nil || got != c.want {
			t.Errorf("%s: %s, %v, want %s", name, got, err, c.want)
		}
	}
}

func TestBuildIsReproducible(t *testing.T) {
	t.Parallel()
	files := map[string]string{
		"main.ts":                        `import { shout } from "./lib/shout.js"; import data from "./data.json"; import { pad } from "left"; const seen: number[] = [Math.random(), Date.now()]; export function tool(s: string): string { return pad(shout(s)) + data.n + seen.length }`,
		"lib/shout.ts":                   `export const shout = (s: string) => s.toUpperCase() + "!"`,
		"data.json":                      `{"n": 7}`,
		"node_modules/left/package.json": `{"exports": {".": {"import": "./i.js"}}}`,
		"node_modules/left/i.js":         `export const pad = (s) => " " + s`,
	}
	first, err := build(t, files)
	if err != nil {
		t.Fatal(err)
	}
	second, err := build(t, files)
	if err != nil || !bytes.Equal(first, second) {
		t.Errorf("two builds differ, %v", err)
	}
	h, _, _ := tools(t)
	r, err := h.Run(context.Background(), first, sandbox.Call{Export: "tool", Input: []byte(`"hi"`)})
	if err != nil || string(r.Output) != `" HI!72"` {
		t.Errorf("%s, %v", r.Output, err)
	}
}

func TestWrongProgramsSayWhere(t *testing.T) {
	t.Parallel()
	for want, files := range map[string]map[string]string{
		`main.js:2:12: Expected`:          {"main.js": "export function f() {\n  return (1;\n}\n"},
		`lib.ts:1:11: Unexpected`:         {"main.js": `import "./lib"`, "lib.ts": `const a = = 1`},
		`"lodash" not found`:              {"main.js": `import "lodash"; export const f = 1`},
		`file "./gone" not found`:         {"main.js": `import "./gone"`},
		`it offers no function`:           {"main.js": `export const n = 1`},
		`x is not defined (at main.ts:3:`: {"main.ts": "interface A { a: number }\ntype B = string\nx.y\nexport const f = () => 1"},
		`top-level await`:                 {"main.js": `await 1; export const f = () => 1`},
	} {
		_, err := build(t, files)
		var e *fault.Error
		if !errors.As(err, &e) || e.Kind != fault.KindVerification || !strings.Contains(strings.ToLower(err.Error()), strings.ToLower(want)) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

// What is outside of the package cannot be read, by any way of writing its name.
func TestImportsStayInThePackage(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"/etc/hostname", "../../../../../../etc/hostname", "./../../etc/hostname", "file:///etc/hostname", "https://example.com/a.js"} {
		if _, err := build(t, map[string]string{"main.js": "import a from " + quote(name) + "; export const f = () => a"}); err == nil || !strings.Contains(err.Error(), " not found") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func quote(s string) string {
	b, _ := json.Marshal(s)
	return string(b)
}

func TestErrorsOfTools(t *testing.T) {
	t.Parallel()
	cases := map[string]struct{ text, input, kind, want string }{
		"mistake": {"export function tool(i) {\n  return i.a.b;\n}", `{}`, "failed", "TypeError: cannot read property 'b' of undefined (at mistake.js:2:"},
		"kind":    {`export function tool() { throw Object.assign(new Error("no such city"), {kind: "not_found"}) }`, ``, "not_found", "no such city"},
		"string":  {`export function tool() { throw "x" }`, ``, "failed", `the script threw "x"`},
		"async":   {`export async function tool() { await null; throw new RangeError("far") }`, ``, "failed", "RangeError: far (at async.js:1:"},
		"never":   {`export function tool() { return new Promise(() => {}) }`, ``, "failed", "never settled"},
		"func":    {`export function tool() { return () => 1 }`, ``, "invalid", "the result is a function"},
		"cycle":   {`export function tool() { const a = {}; a.a = a; return a }`, ``, "failed", "circular"},
		"bigint":  {`export function tool() { return 1n }`, ``, "failed", "BigInt"},
		"deep":    {`export function tool() { const f = () => f() + 1; return f() }`, ``, "failed", "RangeError: Maximum call stack size exceeded"},
		"regexp":  {`export function tool() { return JSON.parse("[".repeat(1e6)) }`, ``, "failed", ""},
	}
	texts := map[string]string{}
	for name, c := range cases {
		texts[name] = c.text
	}
	run := buildAll(t, texts)
	for name, c := range cases {
		_, err := run(name, sandbox.Call{Input: []byte(c.input)})
		var g *sandbox.GuestError
		if !errors.As(err, &g) || g.Kind != c.kind || !strings.Contains(g.Message, c.want) {
			t.Errorf("%s: %v (%+v), want %q", name, err, g, c.want)
		}
	}
}

func TestHostileScripts(t *testing.T) {
	t.Parallel()
	limits := sandbox.Limits{Fuel: 200_000_000, MemoryBytes: 32 << 20, OutputBytes: 100_000}
	cases := map[string]struct {
		text string
		want error
	}{
		"loop":       {`export function tool() { for (;;); }`, sandbox.ErrFuel},
		"microtasks": {`export function tool() { const f = () => Promise.resolve().then(f); return f() }`, sandbox.ErrFuel},
		"timers":     {`export function tool() { return new Promise(() => setInterval(() => {}, 1)) }`, sandbox.ErrFuel},
		"regexp":     {`export function tool() { return /(a+)+$/.test("a".repeat(40) + "b") }`, sandbox.ErrFuel},
		"gigabyte":   {`export function tool() { return new Uint8Array(1 << 30).length }`, nil},
		"many":       {`export function tool() { const a = []; for (;;) a.push("x".repeat(1000) + a.length) }`, nil},
		"caught":     {`export function tool() { const a = []; try { for (;;) a.push(new Uint8Array(1 << 20)) } catch (e) { throw Object.assign(new Error("full"), {kind: "limit"}) } }`, nil},
		"output":     {`export function tool() { return "x".repeat(200000) }`, sandbox.ErrOutput},
	}
	texts := map[string]string{}
	for name, c := range cases {
		texts[name] = c.text
	}
	run := buildAll(t, texts)
	for name, c := range cases {
		_, err := run(name, sandbox.Call{Limits: limits})
		switch {
		case c.want == nil && err == nil, c.want != nil && !errors.Is(err, c.want):
			t.Errorf("%s: %v, want %v", name, err, c.want)
		case errors.Is(err, sandbox.ErrPanic):
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestHostileBuilds(t *testing.T) {
	if testing.Short() {
		t.Skip("builds that run to their limit take seconds")
	}
	t.Parallel()
	for name, text := range map[string]string{
		"loop":     `for (;;); export const f = () => 1`,
		"gigabyte": `new Uint8Array(1 << 30); export const f = () => 1`,
		"memory":   `const a = []; for (;;) a.push(new Uint8Array(1 << 16)); export const f = () => 1`,
	} {
		if _, err := build(t, map[string]string{"main.js": text}); err == nil || errors.Is(err, sandbox.ErrPanic) {
			t.Errorf("%s: %v", name, err)
		}
	}
	huge := "export const s = \"" + strings.Repeat("x", script.MaxProgram) + "\""
	var e *fault.Error
	if _, err := build(t, map[string]string{"main.js": huge}); !errors.As(err, &e) {
		t.Errorf("huge: %v", err)
	}
}

// A script may break what it finds for itself, and nothing for the host.
func TestScriptsThatReplaceBuiltins(t *testing.T) {
	t.Parallel()
	got, err := call(t, `JSON.stringify = () => { throw 1 }; JSON.parse = null; globalThis.TextDecoder = null; Object.prototype.x = 1;
		export function tool(i) { return i }`, "tool", `[1]`)
	if err != nil || got != "[1]" {
		t.Errorf("%s, %v", got, err)
	}
}

// Each call starts where the build ended: nothing an earlier call did is there.
func TestCallsShareNothing(t *testing.T) {
	t.Parallel()
	wasm, err := build(t, map[string]string{"main.js": `
		let n = 0; globalThis.g = []; const m = new Map();
		export function tool() { n++; g.push(n); m.set(n, 1); Array.prototype.x = (Array.prototype.x ?? 0) + 1; return [n, g.length, m.size, [].x] }`})
	if err != nil {
		t.Fatal(err)
	}
	h, _, _ := tools(t)
	for range 3 {
		r, err := h.Run(context.Background(), wasm, sandbox.Call{Export: "tool"})
		if err != nil || string(r.Output) != "[1,1,1,1]" {
			t.Fatalf("%s, %v", r.Output, err)
		}
	}
}

// Randomness and time are those of the call, although the build is frozen.
func TestCallsAreFresh(t *testing.T) {
	t.Parallel()
	wasm, err := build(t, map[string]string{"main.js": `
		const baked = Math.random();
		export const random = () => [Math.random(), Math.random(), crypto.randomUUID(), crypto.getRandomValues(new Uint8Array(4)).join(), baked];
		export const time = () => [Date.now(), new Date().getTime(), performance.timeOrigin, performance.now() >= 0]`})
	if err != nil {
		t.Fatal(err)
	}
	h, _, _ := tools(t)
	run := func(c sandbox.Call) string {
		r, err := h.Run(context.Background(), wasm, c)
		if err != nil {
			t.Fatal(err)
		}
		return string(r.Output)
	}
	one, same, two := run(sandbox.Call{Export: "random", Seed: 1}), run(sandbox.Call{Export: "random", Seed: 1}), run(sandbox.Call{Export: "random", Seed: 2})
	if one != same || one == two {
		t.Errorf("seed 1 %s and %s, seed 2 %s", one, same, two)
	}
	if a, b := run(sandbox.Call{Export: "random", Random: true}), run(sandbox.Call{Export: "random", Random: true}); a == b {
		t.Errorf("real randomness twice the same: %s", a)
	}
	if a, b := run(sandbox.Call{Export: "time"}), run(sandbox.Call{Export: "time", Clock: true}); a == b || !strings.HasPrefix(a, "[16409952") {
		t.Errorf("without a clock %s, with one %s", a, b)
	}
}

func BenchmarkBuild(b *testing.B) {
	h, in, wasm := tools(b)
	tree := fstest.MapFS{"main.js": {Data: []byte(`import { log } from "skillet"; export function tool(i) { log("x"); return {n: i.n + 1} }`)}}
	for b.Loop() {
		if _, err := script.Build(context.Background(), h, in, wasm, script.Source{Files: tree, Main: "main.js"}); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkCall(b *testing.B) {
	wasm, err := build(b, map[string]string{"main.js": `export function tool(i) { return {words: i.text.split(" ").length} }`})
	if err != nil {
		b.Fatal(err)
	}
	h, _, _ := tools(b)
	for b.Loop() {
		if _, err := h.Run(context.Background(), wasm, sandbox.Call{Export: "tool", Input: []byte(`{"text":"a b c"}`)}); err != nil {
			b.Fatal(err)
		}
	}
}
