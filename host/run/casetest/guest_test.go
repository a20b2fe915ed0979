package casetest

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/hashicorp/go-hclog"

	"github.com/skillet-run/skillet/host/base/store"
	"github.com/skillet-run/skillet/host/engine/sandbox"
	"github.com/skillet-run/skillet/host/engine/sandbox/wasmbin/wasmtest"
	"github.com/skillet-run/skillet/host/engine/sandbox/worker"
	"github.com/skillet-run/skillet/host/record/journal"
	"github.com/skillet-run/skillet/host/run/hostfn"
	"github.com/skillet-run/skillet/host/run/runner"
	"github.com/skillet-run/skillet/internal/reexec"
	"github.com/skillet-run/skillet/manifests/bundle"
	"github.com/skillet-run/skillet/policies"
)

// TestMain runs the tests, or is one of their workers.
func TestMain(m *testing.M) {
	if reexec.Worker.Is(os.Args) {
		os.Exit(worker.Main())
	}
	os.Exit(m.Run())
}

// real is what a host has behind its grants, which no case may reach.
type real struct {
	*Tester
	kv    store.KV
	calls *journal.Journal
}

// secretsOfHost has every secret.
type secretsOfHost struct{}

func (secretsOfHost) Get(context.Context, string) ([]byte, error) { return []byte("real-secret"), nil }
func (secretsOfHost) Has(context.Context, string) (bool, error)   { return true, nil }

type realNotifier struct{ t testing.TB }

func (n realNotifier) Notify(context.Context, hostfn.Notification) error {
	n.t.Error("a person was notified")
	return nil
}

// open makes a Tester on a host with everything.
func open(tb testing.TB) real {
	tb.Helper()
	log, ctx := hclog.NewNullLogger(), context.Background()
	j, err := journal.Open(tb.TempDir(), journal.Options{})
	if err != nil {
		tb.Fatal(err)
	}
	s := store.Memory()
	tb.Cleanup(func() { s.Close() })
	pool, err := worker.NewPool(log, worker.Settings{})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { pool.Close() })
	rt, err := sandbox.New(ctx, log, sandbox.Options{Functions: hostfn.Functions(), CacheDir: os.Getenv("TEST_CODE_CACHE")})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { rt.Close(ctx) })
	apart := worker.NewRuntime(log, pool, rt, hostfn.Functions(), 0)
	tb.Cleanup(func() { apart.Close(ctx) })
	ps, err := policies.Default()
	if err != nil {
		tb.Fatal(err)
	}
	run := runner.New(log, s.KV(), rt, ps, secretsOfHost{}, realNotifier{tb}, j, runner.Settings{Home: "/home/x/.skillet", Workers: apart})
	return real{New(run), s.KV(), j}
}

// functions are the host functions that the guest has tools for: NAME answers with the
// response data, and NAME_body with the response body. The input is the request data,
// and the request body is "body".
func functions() []string {
	return []string{"http_request", "fs_read", "fs_write", "kv_get", "kv_put", "kv_list", "secret_exists", "notify", "log", "skill_call", "model_call"}
}

// guest is a module whose tools call host functions, look at the clock and at
// randomness, fail, and never end.
func guest() []byte {
	const atBody, atMeta, atOut, atInput = 1 << 16, 2 << 16, 6 << 16, 10 << 16
	m, c := wasmtest.New(), wasmtest.I32Const
	imports := map[string]int{}
	for _, name := range functions() {
		imports[name] = m.ImportFunc(hostfn.Module, name, wasmtest.Sig("i32 i32 i32 i32", "i64"))
	}
	length := m.ImportFunc(hostfn.Module, "input_length", wasmtest.Sig("", "i64"))
	input := m.ImportFunc(hostfn.Module, "input_read", wasmtest.Sig("i32 i64 i32", "i32"))
	read := m.ImportFunc(hostfn.Module, "response_read", wasmtest.Sig("i32 i32", ""))
	write := m.ImportFunc(hostfn.Module, "output_write", wasmtest.Sig("i32 i32", ""))
	fail := m.ImportFunc(hostfn.Module, "error_write", wasmtest.Sig("i32 i32 i32 i32", ""))
	clock := m.ImportFunc("wasi_snapshot_preview1", "clock_time_get", wasmtest.Sig("i32 i64 i32", "i32"))
	random := m.ImportFunc("wasi_snapshot_preview1", "random_get", wasmtest.Sig("i32 i32", "i32"))
	m.Memory(64, 256)
	m.ExportMemory("memory")
	m.Data(atBody, []byte("body"))
	m.Data(64, []byte("not_found"))
	m.Data(80, []byte("nothing here"))
	shift, wrap := wasmtest.Op(0x88), wasmtest.Op(0xa7)
	size := wasmtest.Code(wasmtest.Call(length), wrap)
	take := wasmtest.Code(c(atInput), wasmtest.I64Const(0), size, wasmtest.Call(input), wasmtest.Drop())
	high := wasmtest.Code(wasmtest.LocalGet(0), wasmtest.I64Const(32), shift, wrap)
	for _, name := range functions() {
		ask := wasmtest.Code(take, c(atInput), size, c(atBody), c(4), wasmtest.Call(imports[name]), wasmtest.LocalSet(0), c(atMeta), c(atOut), wasmtest.Call(read))
		m.ExportFunc(name, m.Func(wasmtest.Sig("", "i32"), "i64", ask, c(atMeta), high, wasmtest.Call(write), c(0)))
		m.ExportFunc(name+"_body", m.Func(wasmtest.Sig("", "i32"), "i64", ask, c(atOut), wasmtest.LocalGet(0), wrap, wasmtest.Call(write), c(0)))
	}
	m.ExportFunc("echo", m.Func(wasmtest.Sig("", "i32"), "", take, c(atInput), size, wasmtest.Call(write), c(0)))
	m.ExportFunc("fail", m.Func(wasmtest.Sig("", "i32"), "", c(64), c(9), c(80), c(12), wasmtest.Call(fail), c(1)))
	m.ExportFunc("crash", m.Func(wasmtest.Sig("", ""), "", wasmtest.Unreachable()))
	m.ExportFunc("endless", m.Func(wasmtest.Sig("", ""), "", wasmtest.Loop(wasmtest.Empty, wasmtest.Br(0))))
	m.ExportFunc("grow", m.Func(wasmtest.Sig("", ""), "", c(100), wasmtest.MemoryGrow(), wasmtest.Drop()))
	m.ExportFunc("clock", m.Func(wasmtest.Sig("", "i32"), "", c(0), wasmtest.I64Const(0), c(0), wasmtest.Call(clock), wasmtest.Drop(), c(0), c(8), wasmtest.Call(write), c(0)))
	m.ExportFunc("random", m.Func(wasmtest.Sig("", "i32"), "", c(0), c(8), wasmtest.Call(random), wasmtest.Drop(), c(0), c(8), wasmtest.Call(write), c(0)))
	return m.Bytes()
}

// tools are those of the guest.
func tools() []string {
	all := []string{"echo", "fail", "crash", "endless", "grow", "clock", "random"}
	for _, f := range functions() {
		all = append(all, f, f+"_body")
	}
	return all
}

// pack makes a package with files of test cases, by name.
func pack(tb testing.TB, files map[string]string) *bundle.Package {
	tb.Helper()
	return packWith(tb, 5_000_000, files)
}

// packWith is pack with another limit of fuel.
func packWith(tb testing.TB, fuel uint64, files map[string]string) *bundle.Package {
	tb.Helper()
	var list []string
	for _, t := range tools() {
		list = append(list, fmt.Sprintf(`{"name":%q}`, t))
	}
	all := map[string][]byte{
		"main.wasm": guest(),
		"skill.json": fmt.Appendf(nil, `{"name":"probe","version":"1.0.0","description":"asks","type":"code_inline","command":"main.wasm","tools":[%s],
			"security":{"permissions":{"kv":{"reason":"r"},"network":["https://api.example.com/*"],"secrets":[{"name":"api","inject":{"url":"https://api.example.com/*","header":"Authorization","prefix":"Bearer "}}]},
			"resource_limits":{"max_fuel":%d}}}`, strings.Join(list, ","), fuel),
	}
	for name, text := range files {
		all[name] = []byte(text)
	}
	p, err := bundle.FromFiles(all)
	if err != nil {
		tb.Fatal(err)
	}
	return p
}

// outcomes runs the cases of a file and returns what each came to, by name.
func outcomes(t *testing.T, r real, name, text string, more map[string]string) map[string]Result {
	t.Helper()
	files := map[string]string{name: text}
	for n, x := range more {
		files[n] = x
	}
	rep, err := r.Run(t.Context(), pack(t, files), Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range rep.Problems {
		t.Fatal(p)
	}
	all := map[string]Result{}
	for _, x := range rep.Results {
		all[x.Name] = x
	}
	return all
}

// wantAll demands that every case passes, but for those in details, which have to fail
// and to say that.
func wantAll(t *testing.T, all map[string]Result, details map[string]string) {
	t.Helper()
	for name, r := range all {
		want, fails := details[name]
		switch {
		case fails && r.Outcome != Failed:
			t.Errorf("%s: %s", name, r.Outcome)
		case fails && !strings.Contains(strings.Join(append(r.Lines(), r.Detail), "\n"), want):
			t.Errorf("%s: %q, want %q", name, strings.Join(append(r.Lines(), r.Detail), "\n"), want)
		case !fails && r.Outcome != Passed:
			t.Errorf("%s: %s: %s", name, r.Outcome, strings.Join(append(r.Lines(), r.Detail), "\n"))
		}
	}
	for name := range details {
		if _, ok := all[name]; !ok {
			t.Errorf("%s was not run", name)
		}
	}
}
