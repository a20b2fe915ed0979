package worker

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/skillet-run/skillet/host/engine/jail"
	"github.com/skillet-run/skillet/host/engine/sandbox"
	w "github.com/skillet-run/skillet/host/engine/sandbox/wasmbin/wasmtest"
)

// guest is a module under construction with what the tests call.
type guest struct {
	*w.Module
	length, read, write, fail int
	functions                 map[string]int
}

// newGuest imports the bulk functions and the host functions of the tests.
func newGuest() guest {
	m := w.New()
	g := guest{Module: m, functions: map[string]int{}}
	g.length = m.ImportFunc("skillet:host/v1", "input_length", w.Sig("", "i64"))
	g.read = m.ImportFunc("skillet:host/v1", "input_read", w.Sig("i32 i64 i32", "i32"))
	g.write = m.ImportFunc("skillet:host/v1", "output_write", w.Sig("i32 i32", ""))
	g.fail = m.ImportFunc("skillet:host/v1", "error_write", w.Sig("i32 i32 i32 i32", ""))
	response := m.ImportFunc("skillet:host/v1", "response_read", w.Sig("i32 i32", ""))
	g.functions["response"] = response
	for _, f := range hostFunctions() {
		params, results := "", ""
		for range f.Params {
			params += "i32 "
		}
		for range f.Results {
			results += "i32 "
		}
		g.functions[f.Name] = m.ImportFunc(f.Module, f.Name, w.Sig(strings.TrimSpace(params), strings.TrimSpace(results)))
	}
	m.Memory(2, 400)
	m.ExportMemory("memory")
	return g
}

func (g guest) tool(name string, code ...[]byte) guest {
	g.ExportFunc(name, g.Func(w.Sig("", "i32"), "i32 i32 i64", append(code, w.I32Const(0))...))
	return g
}

// host calls a host function with constant parameters and drops its result.
func (g guest) host(name string, params ...int32) []byte {
	var code []byte
	for _, p := range params {
		code = append(code, w.I32Const(p)...)
	}
	code = append(code, w.Call(g.functions[name])...)
	if name == "answer" || name == "grow" {
		code = append(code, w.Drop()...)
	}
	return code
}

var errOurs = errors.New("an error of the host's own")

// hostFunctions do what a host function can do with its guest.
func hostFunctions() []sandbox.HostFunc {
	i32 := func(n int) []sandbox.ValueType { return slices.Repeat([]sandbox.ValueType{sandbox.I32}, n) }
	f := func(name string, params, results int, call func(ctx context.Context, g *sandbox.Guest, s []uint64) error) sandbox.HostFunc {
		return sandbox.HostFunc{Module: "test", Name: name, Params: i32(params), Results: i32(results), Call: call}
	}
	return []sandbox.HostFunc{
		// answer(ptr, n) answers with the guest's own bytes, its Env and Config.
		f("answer", 2, 1, func(_ context.Context, g *sandbox.Guest, s []uint64) error {
			b, err := g.Read(uint32(s[0]), uint32(s[1]))
			if err != nil {
				return err
			}
			v, err := g.View(uint32(s[0]), uint32(s[1]))
			if err != nil || string(v) != string(b) {
				return fmt.Errorf("view %q, read %q: %w", v, b, err)
			}
			g.SetResponse([]byte(fmt.Sprint(g.Env(), g.Config())), b)
			s[0] = uint64(len(b))
			return nil
		}),
		f("fails", 0, 0, func(context.Context, *sandbox.Guest, []uint64) error { return fmt.Errorf("refused: %w", errOurs) }),
		f("panics", 0, 0, func(context.Context, *sandbox.Guest, []uint64) error { panic("host function") }),
		f("bounds", 0, 0, func(_ context.Context, g *sandbox.Guest, _ []uint64) error {
			_, err := g.Read(1<<20, 1<<20)
			return errors.Join(err, g.Write(1<<31, make([]byte, 10)))
		}),
		f("log", 0, 0, func(_ context.Context, g *sandbox.Guest, _ []uint64) error {
			g.Log(sandbox.LevelWarn, "one")
			g.Log(sandbox.LevelInfo, strings.Repeat("x", 100))
			g.Log(sandbox.LevelInfo, "not heard")
			return nil
		}),
		f("blocks", 0, 0, func(_ context.Context, g *sandbox.Guest, _ []uint64) error {
			off, err := g.NewBlock([]byte("block"))
			if err != nil {
				return err
			}
			b, err := g.Block(off)
			g.Free(off)
			if _, gone := g.Block(off); err != nil || string(b) != "block" || gone == nil {
				return fmt.Errorf("block %q: %w, after free %v", b, err, gone)
			}
			return g.Write(0, []byte("written"))
		}),
		f("greedy", 0, 0, func(_ context.Context, g *sandbox.Guest, _ []uint64) error {
			_, err := g.NewBlock(make([]byte, 8<<20))
			return err
		}),
		f("nested", 0, 0, func(ctx context.Context, g *sandbox.Guest, _ []uint64) error {
			sum, err := g.Call(ctx, "plus", 1, 2)
			if err == nil {
				g.SetResponse(nil, fmt.Append(nil, sum))
			}
			return err
		}),
		// spends takes fuel and says what was left before, and after.
		f("spends", 1, 0, func(_ context.Context, g *sandbox.Guest, s []uint64) error {
			left := g.FuelLeft()
			g.Spend(s[0])
			g.SetResponse(nil, fmt.Append(nil, left, g.FuelLeft()))
			return nil
		}),
		f("recurse", 0, 0, func(ctx context.Context, g *sandbox.Guest, _ []uint64) error {
			_, err := g.Call(ctx, "recurse")
			return err
		}),
		f("waits", 0, 0, func(ctx context.Context, _ *sandbox.Guest, _ []uint64) error {
			<-ctx.Done()
			return ctx.Err()
		}),
	}
}

// reactor is a module that does all this.
var reactor = sync.OnceValue(func() []byte {
	g := newGuest()
	g.Data(100, []byte("some bytes\xff\xfe"))
	respond := w.Code(w.I32Const(0), w.I32Const(200), w.Call(g.functions["response"]), w.I32Const(0), w.I32Const(250), w.Call(g.write))
	g.tool("echo", w.Call(g.length), w.Op(0xa7), w.LocalSet(0),
		w.I32Const(0), w.I64Const(0), w.LocalGet(0), w.Call(g.read), w.LocalSet(1),
		w.I32Const(0), w.LocalGet(1), w.Call(g.write))
	g.tool("answer", g.host("answer", 100, 12), respond)
	for _, name := range []string{"fails", "panics", "bounds", "log", "greedy", "recurse", "waits"} {
		g.tool(name, g.host(name))
	}
	g.tool("blocks", g.host("blocks"), w.I32Const(0), w.I32Const(16), w.Call(g.write))
	g.tool("nested", g.host("nested"), respond)
	g.tool("spends", g.host("spends", 1000), g.host("spends", 2000), respond)
	g.tool("overspends", g.host("spends", 99_999_999), respond)
	g.tool("spin", w.Loop(w.Empty, w.Br(0)))
	g.tool("trap", w.Unreachable())
	g.tool("error", w.I32Const(100), w.I32Const(4), w.I32Const(100), w.I32Const(12), w.Call(g.fail))
	g.tool("grow", w.I32Const(300), w.MemoryGrow(), w.Drop())
	g.tool("flood", w.Loop(w.Empty, w.I32Const(0), w.I32Const(1<<16), w.Call(g.write), w.Br(0)))
	g.tool("often", w.Loop(w.Empty, g.host("blocks"), w.Br(0)))
	g.ExportFunc("code", g.Func(w.Sig("", "i32"), "", w.I32Const(7)))
	g.ExportFunc("plus", g.Func(w.Sig("i32 i32", "i32"), "", w.LocalGet(0), w.LocalGet(1), w.Op(0x6a)))
	return g.Bytes()
})

// engine is what the tests compare: a sandbox, or a runtime in workers.
type caller interface {
	Call(context.Context, sandbox.Call) (sandbox.Result, error)
}

// runtimes returns a sandbox of this process and a runtime in workers that
// offer the same.
func runtimes(t testing.TB, s Settings, functions []sandbox.HostFunc) (*sandbox.Runtime, *Runtime) {
	t.Helper()
	p := newPool(t, s)
	o := sandbox.Options{Functions: functions, Compiler: p, CacheDir: filepath.Join(t.TempDir(), "c")}
	inside, outside := newSandbox(t, o), newSandbox(t, o)
	r := NewRuntime(hclog.NewNullLogger(), p, outside, functions, 0)
	t.Cleanup(func() {
		if err := r.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return inside, r
}

// both loads a module in both.
func both(t testing.TB, wasm []byte, functions []sandbox.HostFunc) (inside *sandbox.Module, outside *Module) {
	t.Helper()
	s, r := runtimes(t, Settings{}, functions)
	inside, err := s.Load(t.Context(), wasm)
	if err != nil {
		t.Fatal(err)
	}
	if outside, err = r.Load(t.Context(), wasm); err != nil {
		t.Fatal(err)
	}
	return inside, outside
}

// outcome is what a call left behind, without what differs each time.
type outcome struct {
	Result sandbox.Result
	Err    string
	Is     []bool
	Log    []string
}

var looked = []error{
	sandbox.ErrMemory, sandbox.ErrFuel, sandbox.ErrTime, sandbox.ErrInput, sandbox.ErrOutput, sandbox.ErrHostCalls,
	sandbox.ErrStack, sandbox.ErrDepth, sandbox.ErrFiles, sandbox.ErrNoExport, sandbox.ErrSignature, sandbox.ErrTrap,
	sandbox.ErrGuest, sandbox.ErrPanic, errOurs, context.DeadlineExceeded, context.Canceled,
}

// see makes one call.
func see(ctx context.Context, m caller, c sandbox.Call) (o outcome) {
	if c.Log != nil {
		c.Log = func(l sandbox.Level, msg string) { o.Log = append(o.Log, l.String()+" "+msg) }
	}
	r, err := m.Call(ctx, c)
	o.Result = r
	o.Result.Figures, o.Result.Duration = sandbox.Figures{}, 0
	o.Err = fmt.Sprint(err)
	for _, is := range looked {
		o.Is = append(o.Is, errors.Is(err, is))
	}
	for _, b := range []*[]byte{&o.Result.Output, &o.Result.Stderr} {
		if len(*b) == 0 {
			*b = nil
		}
	}
	return o
}

// TestCallIsTheSame makes the same calls in this process and in a worker.
func TestCallIsTheSame(t *testing.T) {
	t.Parallel()
	inside, outside := both(t, reactor(), hostFunctions())
	want, got := inside.Info(), outside.Info()
	want.CompileTime, got.CompileTime, want.FromCache, got.FromCache = 0, 0, false, false // the second finds it kept
	if !reflect.DeepEqual(got, want) {
		t.Errorf("info %+v, want %+v", got, want)
	}
	small := sandbox.Limits{LogBytes: 50, MemoryBytes: 4 << 20, HostCalls: 10, Fuel: 100_000_000}
	log := func(sandbox.Level, string) {}
	for name, c := range map[string]sandbox.Call{
		"echo":          {Export: "echo", Input: []byte("hello")},
		"echo much":     {Export: "echo", Input: []byte(strings.Repeat("0123456789", 13_000))},
		"answer":        {Export: "answer", Env: "env", Config: map[string]string{"k": "v"}},
		"fails":         {Export: "fails"},
		"bounds":        {Export: "bounds"},
		"log":           {Export: "log", Limits: small, Log: log},
		"log to nobody": {Export: "log", Limits: small},
		"greedy":        {Export: "greedy", Limits: small},
		"recurse":       {Export: "recurse"},
		"blocks":        {Export: "blocks"},
		"nested":        {Export: "nested"},
		"fuel":          {Export: "spin", Limits: small},
		"spends":        {Export: "spends", Limits: small},
		"overspends":    {Export: "overspends", Limits: small},
		"trap":          {Export: "trap"},
		"guest error":   {Export: "error"},
		"memory":        {Export: "grow", Limits: small},
		"output":        {Export: "flood", Limits: small},
		"host calls":    {Export: "often", Limits: small},
		"code":          {Export: "code"},
		"no export":     {Export: "none"},
		"signature":     {Export: "plus"},
		"input":         {Export: "echo", Input: make([]byte, 11), Limits: sandbox.Limits{InputBytes: 10}},
		"wall":          {Export: "spin", Limits: sandbox.Limits{Wall: 50 * time.Millisecond, Fuel: 1 << 60}},
		"wall in host":  {Export: "waits", Limits: sandbox.Limits{Wall: 50 * time.Millisecond}},
		"bad limits":    {Export: "code", Limits: sandbox.Limits{Wall: -1}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			want := see(t.Context(), inside, c)
			for turn := range 2 {
				got := see(t.Context(), outside, c)
				if strings.HasPrefix(name, "wall") {
					got.Result.Fuel, want.Result.Fuel = 0, 0
				}
				if !reflect.DeepEqual(got, want) {
					t.Errorf("turn %d:\ngot  %+v\nwant %+v", turn, got, want)
				}
			}
		})
	}
}

// TestPanicInHost fails the call alone.
func TestPanicInHost(t *testing.T) {
	t.Parallel()
	inside, m := both(t, reactor(), hostFunctions())
	var first *process
	for name, module := range map[string]caller{"inside": inside, "outside": m} {
		_, err := module.Call(t.Context(), sandbox.Call{Export: "panics"})
		var fault *sandbox.PanicError
		if !errors.Is(err, sandbox.ErrPanic) || errors.Is(err, sandbox.ErrTrap) || !errors.As(err, &fault) ||
			!strings.Contains(err.Error(), "host function test.panics: fault of the host, not of the module: panic: host function") || !strings.Contains(fault.Stack, "call_test.go") {
			t.Errorf("%s: %v", name, err)
		}
	}
	m.mu.Lock()
	if len(m.idle) > 0 {
		first = m.idle[0].proc
	}
	m.mu.Unlock()
	if first != nil {
		t.Error("the process of the call waits for the next one")
	}
	if r, err := m.Call(t.Context(), sandbox.Call{Export: "echo", Input: []byte("x")}); err != nil || string(r.Output) != "x" {
		t.Errorf("after that: %q, %v", r.Output, err)
	}
}

// TestCancel ends calls with their context, whatever they do.
func TestCancel(t *testing.T) {
	t.Parallel()
	inside, outside := both(t, reactor(), hostFunctions())
	if _, err := outside.Call(t.Context(), sandbox.Call{Export: "echo"}); err != nil { // the process is there
		t.Fatal(err)
	}
	reason := errors.New("the caller's reason")
	for _, export := range []string{"spin", "waits"} {
		for _, m := range []caller{inside, outside} {
			ctx, cancel := context.WithCancelCause(t.Context())
			time.AfterFunc(50*time.Millisecond, func() { cancel(reason) })
			_, err := m.Call(ctx, sandbox.Call{Export: export, Limits: sandbox.Limits{Fuel: 1 << 60}})
			if !errors.Is(err, reason) {
				t.Errorf("%s in %T: %v", export, m, err)
			}
			deadline, stop := context.WithTimeout(t.Context(), 50*time.Millisecond)
			_, err = m.Call(deadline, sandbox.Call{Export: export, Limits: sandbox.Limits{Fuel: 1 << 60}})
			stop()
			if !errors.Is(err, sandbox.ErrTime) || !strings.Contains(err.Error(), "the caller's deadline") {
				t.Errorf("%s in %T: %v", export, m, err)
			}
		}
	}
	if p := onlyIdle(t, outside); !p.alive() {
		t.Error("the worker did not outlive a cancelled call")
	}
}

// onlyIdle is the one process that waits for a call of a module.
func onlyIdle(t *testing.T, m *Module) *process {
	t.Helper()
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.idle) != 1 || len(m.busy) != 0 {
		t.Fatalf("%d processes wait, %d are busy", len(m.idle), len(m.busy))
	}
	return m.idle[0].proc
}

// command is the WASI command of package sandbox's tests, built once.
var command = sync.OnceValues(func() ([]byte, error) {
	return w.BuildGo("host/engine/sandbox/testdata/wasip1", "-ldflags=-s -w")
})

// contents is what lies below a directory.
func contents(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			all[path] = "directory"
			return err
		}
		b, err := os.ReadFile(path)
		all[path] = string(b)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// fill makes the tree the commands work on.
func fill(t *testing.T, dir string, deep int) {
	t.Helper()
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	for path, text := range map[string]string{"in/a.txt": "alpha", "in/b.txt": "beta", "in/deep/c.txt": strings.Repeat("c", deep), "secret/key": "hidden"} {
		path = filepath.Join(dir, path)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
}

// TestFilesAreTheSame runs a WASI command over files that stay with the parent.
func TestFilesAreTheSame(t *testing.T) {
	if testing.Short() {
		t.Skip("it is long, and nothing in it is concurrent")
	}
	t.Parallel()
	if underRace {
		t.Skip("a worker with the race detector takes a minute to compile the command")
	}
	wasm, err := command()
	if err != nil {
		t.Fatal(err)
	}
	inside, outside := both(t, wasm, nil)
	dir := filepath.Join(t.TempDir(), "tree")
	refused := errors.New("refused")
	guard := jail.GuardFunc(func(_ jail.Op, path string) error {
		if strings.Contains(path, "secret") {
			return refused
		}
		return nil
	})
	big := sandbox.Limits{OutputBytes: 16 << 20}
	for _, c := range []struct {
		args   string
		limits sandbox.Limits
	}{
		{args: "args a b"}, {args: "exit 7"}, {args: "panic"}, {args: "random"}, {args: "clock"}, {args: "env"},
		{args: "read D/in/a.txt"}, {args: "read D/in/deep/c.txt", limits: big}, {args: "read D/none"}, {args: "read D/secret/key"}, {args: "read /etc/passwd"},
		{args: "write D/out.txt one two"}, {args: "append D/in/a.txt more"}, {args: "truncate D/in/a.txt 2"}, {args: "mkdir D/new"},
		{args: "remove D/in/b.txt"}, {args: "remove D/in"}, {args: "rename D/in/a.txt D/in/z.txt"}, {args: "rename D/in/a.txt D/secret/a"},
		{args: "list D/in"}, {args: "walk D"}, {args: "stat D/in/a.txt"}, {args: "link D/in/a.txt D/in/l"}, {args: "seek D/in/a.txt"},
		{args: "openmany D/in/a.txt 10", limits: sandbox.Limits{Files: jail.Quota{OpenFiles: 4}}},
		{args: "createmany D/in 10", limits: sandbox.Limits{Files: jail.Quota{Files: 4}}},
		{args: "write D/out.txt too-long", limits: sandbox.Limits{Files: jail.Quota{FileBytes: 3}}},
		{args: "stderr 3"}, {args: "flood"},
	} {
		var outcomes []outcome
		var trees []map[string]string
		for _, m := range []caller{inside, outside} {
			deep := 10
			if c.limits.OutputBytes > 0 {
				deep = 9 << 20
			}
			fill(t, dir, deep)
			files, err := jail.Open([]jail.Root{{Path: dir, Write: true}}, guard, jail.Quota{})
			if err != nil {
				t.Fatal(err)
			}
			args := strings.Fields(strings.ReplaceAll(c.args, "D/", dir+"/"))
			o := see(t.Context(), m, sandbox.Call{Export: "_start", Args: args, FS: files, Limits: c.limits})
			o.Result.Fuel, o.Result.HostCalls = 0, 0 // the order of a directory is the system's
			outcomes, trees = append(outcomes, o), append(trees, contents(t, dir))
			if err := files.Close(); err != nil {
				t.Errorf("%s: close: %v", c.args, err)
			}
		}
		if !reflect.DeepEqual(outcomes[0], outcomes[1]) {
			t.Errorf("%s:\ngot  %+v\nwant %+v", c.args, outcomes[1], outcomes[0])
		}
		if !maps.Equal(trees[0], trees[1]) {
			t.Errorf("%s: files %v, want %v", c.args, slices.Sorted(maps.Keys(trees[1])), slices.Sorted(maps.Keys(trees[0])))
		}
	}
}
