package runner_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/skillet-run/skillet/host/record/approval"

	"github.com/hashicorp/go-hclog"

	"github.com/skillet-run/skillet/host/base/store"
	"github.com/skillet-run/skillet/host/base/task"
	"github.com/skillet-run/skillet/host/engine/sandbox"
	"github.com/skillet-run/skillet/host/engine/sandbox/wasmbin/wasmtest"
	"github.com/skillet-run/skillet/host/record/journal"
	"github.com/skillet-run/skillet/host/record/registry"
	"github.com/skillet-run/skillet/host/run/hostfn"
	"github.com/skillet-run/skillet/host/run/runner"
	"github.com/skillet-run/skillet/manifests"
	"github.com/skillet-run/skillet/manifests/bundle"
	"github.com/skillet-run/skillet/policies"
	"github.com/skillet-run/skillet/policies/capability"
)

// A guest is a module under construction whose tools fail, answer, and ask the
// host for something.
type guest struct {
	m     *wasmtest.Module
	funcs map[string]int
	at    int
}

// newGuest imports what most guests need, and what is named of WASI: instances
// that import some of WASI may not come from a pool.
func newGuest(wasi ...string) *guest {
	g := &guest{m: wasmtest.New(), funcs: map[string]int{}, at: 1024}
	for name, sig := range map[string]wasmtest.Signature{
		"output_write": wasmtest.Sig("i32 i32", ""),
		"error_write":  wasmtest.Sig("i32 i32 i32 i32", ""),
		"fs_read":      wasmtest.Sig("i32 i32 i32 i32", "i64"),
		"fs_write":     wasmtest.Sig("i32 i32 i32 i32", "i64"),
		"kv_get":       wasmtest.Sig("i32 i32 i32 i32", "i64"),
		"kv_put":       wasmtest.Sig("i32 i32 i32 i32", "i64"),
		"http_request": wasmtest.Sig("i32 i32 i32 i32", "i64"),
		"input_length": wasmtest.Sig("", "i64"),

		"skill_call":    wasmtest.Sig("i32 i32 i32 i32", "i64"),
		"response_read": wasmtest.Sig("i32 i32", ""),
	} {
		g.funcs[name] = g.m.ImportFunc(hostfn.Module, name, sig)
	}
	for _, name := range wasi {
		g.funcs[name] = g.m.ImportFunc("wasi_snapshot_preview1", name, wasmtest.Sig("i32 i32", "i32"))
	}
	g.m.Memory(16, 16)
	g.m.ExportMemory("memory")
	return g
}

// draw has the module draw 8 random bytes when it is initialised, and put them
// at 16.
func (g *guest) draw() {
	g.m.ExportFunc("_initialize", g.m.Func(wasmtest.Sig("", ""), "", c(16), c(8), wasmtest.Call(g.funcs["random_get"]), wasmtest.Drop()))
}

// text puts a text into memory and pushes where it is and how long.
func (g *guest) text(s string) []byte {
	at := g.at
	g.m.Data(int32(at), []byte(s))
	g.at += len(s) + 1
	return wasmtest.Code(c(at), c(len(s)))
}

// tool makes a tool of code that ends with its status.
func (g *guest) tool(name string, code ...[]byte) *guest {
	g.m.ExportFunc(name, g.m.Func(wasmtest.Sig("", "i32"), "i32", code...))
	return g
}

func (g *guest) answer(text string) []byte {
	return wasmtest.Code(g.text(text), wasmtest.Call(g.funcs["output_write"]), c(0))
}

func (g *guest) fail(kind, message string) []byte {
	return wasmtest.Code(g.text(kind), g.text(message), wasmtest.Call(g.funcs["error_write"]), c(1))
}

// ask asks the host, and pushes the length of the body of its response: 0 for an
// error.
func (g *guest) ask(function, meta, body string) []byte {
	wrap := wasmtest.Op(0xa7) // i32.wrap_i64: the lower half is the body's
	return wasmtest.Code(g.text(meta), g.text(body), wasmtest.Call(g.funcs[function]), wrap)
}

// relay makes a tool that calls another skill, and answers with what it is told:
// the data of the response, and its body.
func (g *guest) relay(name, meta, body string) *guest {
	const answer, out = 2 << 16, 4 << 16
	shift, wrap, write := wasmtest.Op(0x88), wasmtest.Op(0xa7), wasmtest.Call(g.funcs["output_write"])
	g.m.ExportFunc(name, g.m.Func(wasmtest.Sig("", "i32"), "i64",
		g.text(meta), g.text(body), wasmtest.Call(g.funcs["skill_call"]), wasmtest.LocalSet(0),
		c(answer), c(out), wasmtest.Call(g.funcs["response_read"]),
		c(answer), wasmtest.LocalGet(0), wasmtest.I64Const(32), shift, wrap, write,
		c(out), wasmtest.LocalGet(0), wrap, write, c(0)))
	return g
}

// tally makes a tool that counts its calls in memory, and answers with a for the
// first, b for the second and so on. What follows it may fail then.
func (g *guest) tally(name string, then ...[]byte) *guest {
	const at = 900
	up := wasmtest.Code(c(at), c(at), wasmtest.Load(0x2d, 0), c(1), wasmtest.Op(0x6a), wasmtest.Store(0x3a, 0))
	letter := wasmtest.Code(c(at+1), c(at), wasmtest.Load(0x2d, 0), c('a'-1), wasmtest.Op(0x6a), wasmtest.Store(0x3a, 0))
	then = append([][]byte{up, letter, c(at + 1), c(1), wasmtest.Call(g.funcs["output_write"])}, then...)
	if len(then) == 5 {
		then = append(then, c(0))
	}
	return g.tool(name, then...)
}

// when has the tool do one thing or the other; its condition is on the stack.
func when(then, otherwise []byte) []byte { return wasmtest.IfElse(wasmtest.I32, then, otherwise) }

func spin() []byte {
	return wasmtest.Code(wasmtest.Loop(wasmtest.Empty, wasmtest.Br(0)), wasmtest.Unreachable())
}

// A machine is a store that several processes share, each of which has a runner.
type machine struct {
	t      testing.TB
	store  store.Store
	calls  *journal.Journal
	skills skills
	bubble bool // where processes cannot be waited for
}

func newMachine(t testing.TB) *machine {
	t.Helper()
	calls, err := journal.Open(t.TempDir(), journal.Options{})
	if err != nil {
		t.Fatal(err)
	}
	m := &machine{t: t, store: store.Memory(), calls: calls, skills: skills{}}
	t.Cleanup(func() { m.store.Close() })
	return m
}

// inBubble runs a test on a machine whose time passes when everybody waits.
func inBubble(t *testing.T, f func(t *testing.T, m *machine)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		m := newMachine(t)
		m.bubble = true
		f(t, m)
	})
}

// process makes a runner as a process of its own has it. It is closed with the
// test.
func (m *machine) process(change ...func(*runner.Settings)) parts {
	m.t.Helper()
	return m.processWith(sandbox.Options{
		Functions: hostfn.Functions(), IdleTimeout: 1000 * time.Hour, // longer than any bubble lasts
	}, change...)
}

// processWith is process with a sandbox of those options.
func (m *machine) processWith(o sandbox.Options, change ...func(*runner.Settings)) parts {
	m.t.Helper()
	log := hclog.NewNullLogger()
	rt, err := sandbox.New(m.t.Context(), log, o)
	if err != nil {
		m.t.Fatal(err)
	}
	m.t.Cleanup(func() { rt.Close(context.Background()) })
	ps, err := policies.Default()
	if err != nil {
		m.t.Fatal(err)
	}
	s := runner.Settings{Home: "/home/x/.skillet", Skills: m.skills}
	if !m.bubble {
		isolate(m.t, rt, o.Functions, &s)
	}
	for _, f := range change {
		f(&s)
	}
	return parts{runner.New(log, m.store.KV(), rt, ps, nil, nil, m.calls, s), m.calls}
}

// skills are installed ones, by name.
type skills map[string]runner.Target

func (s skills) Target(_ context.Context, _ runner.Target, ref manifests.Ref) (runner.Target, error) {
	t, ok := s[ref.Name]
	if !ok {
		return t, fmt.Errorf("find %s: %w", ref.Name, registry.ErrNotFound)
	}
	return t, nil
}

// Granted is what a target was put there with.
func (s skills) Granted(_ context.Context, c runner.Call) (approval.Granted, error) {
	return c.Target.Granted, nil
}

// skill makes a package of that name with tools, written as in JSON, and more
// members of the manifest.
func skill(t testing.TB, name string, g *guest, tools, members string) *bundle.Package {
	t.Helper()
	return ofType(t, manifests.KindCodeInline, name, g, tools, members)
}

// ofType is skill for any type.
func ofType(t testing.TB, kind manifests.Kind, name string, g *guest, tools, members string) *bundle.Package {
	t.Helper()
	p, err := bundle.FromFiles(map[string][]byte{
		"skill.json": fmt.Appendf(nil, `{"name":%q,"version":"1.0.0","description":"for tests","type":%q,
			"command":"main.wasm","tools":[%s]%s}`, name, kind, tools, members),
		"main.wasm": g.m.Bytes(),
	})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// on calls a tool of a package as an installed skill that was granted that.
func on(p *bundle.Package, tool string, granted ...string) runner.Call {
	set, err := capability.ParseSet(granted...)
	if err != nil {
		panic(err)
	}
	return runner.Call{
		Target: runner.Target{Label: p.Manifest().Name + "@" + p.Manifest().Version, Package: p, Origin: registry.OriginUser, Granted: grantedTo(p, set)},
		Tool:   tool, Caller: "human:ada",
	}
}

// reasons are those of the attempts at a call.
func reasons(attempts []task.Attempt) []string {
	var all []string
	for _, a := range attempts {
		all = append(all, a.Reason)
	}
	return slices.Clip(all)
}
