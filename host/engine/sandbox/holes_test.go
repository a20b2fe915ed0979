//go:build linux || darwin

package sandbox_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/imports/wasi_snapshot_preview1"

	"github.com/skillet-run/skillet/host/engine/jail"
	"github.com/skillet-run/skillet/host/engine/sandbox"
	"github.com/skillet-run/skillet/host/engine/sandbox/reference"
	"github.com/skillet-run/skillet/host/engine/sandbox/wasmbin"
	w "github.com/skillet-run/skillet/host/engine/sandbox/wasmbin/wasmtest"
)

// The tests of this file show holes in wazero and in the Extism SDK twice:
// open in the part as it comes, and closed here. Where the open one kills or
// hangs its process, it runs in a child: the test binary itself, told by
// holeEnv which one to run.
const (
	holeEnv    = "SKILLET_OPEN_HOLE"
	holeDirEnv = "SKILLET_OPEN_HOLE_DIR"
)

// openHoles are what a child runs. Each prints what the test looks for.
var openHoles = map[string]func(){
	"function count":  func() { limitAddressSpace(); compileStock(functionCountLie()) },
	"locals":          func() { limitAddressSpace(); compileStock(localsLie()) },
	"tree recursion":  func() { runStock(treeRecursion(), 100*time.Millisecond) },
	"collector":       collectorStock,
	"start section":   startStock,
	"fifo":            fifoStock,
	"fd_renumber":     func() { limitAddressSpace(); mountStock(renumber()) },
	"table":           func() { runStock(tableGrowth(), time.Minute) },
	"symlink":         func() { mountStock(symlinkEscape()) },
	"wasi test":       runSuiteChild,
	"compiler panics": func() { compileStock(typeIndexLie()) },
	"exceptions":      exceptionsStock,
}

// TestMain runs the tests, or in a child the hole it was told.
func TestMain(m *testing.M) {
	if run, ok := openHoles[os.Getenv(holeEnv)]; ok {
		run()
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// openHole runs one in a child for at most a while and returns what it printed,
// and whether it was still running.
func openHole(t *testing.T, name, dir string, atMost time.Duration) (output string, hung bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), atMost)
	defer cancel()
	cmd := exec.CommandContext(ctx, os.Args[0])
	cmd.Env = append(os.Environ(), holeEnv+"="+name, holeDirEnv+"="+dir)
	out, _ := cmd.CombinedOutput()
	return string(out), ctx.Err() != nil
}

// limitAddressSpace keeps a child that eats memory from eating the machine's.
func limitAddressSpace() {
	const most = 4 << 30
	if err := syscall.Setrlimit(syscall.RLIMIT_AS, &syscall.Rlimit{Cur: most, Max: most}); err != nil {
		panic(err)
	}
}

// compileStock compiles with wazero alone.
func compileStock(wasm []byte) {
	ctx := context.Background()
	_, err := wazero.NewRuntime(ctx).CompileModule(ctx, wasm)
	fmt.Println("compiled:", err)
}

// runStock runs an export with a memory limit of one page and a deadline, both
// as wazero offers them.
func runStock(wasm []byte, deadline time.Duration) {
	ctx, cancel := context.WithTimeout(context.Background(), deadline)
	defer cancel()
	r := wazero.NewRuntimeWithConfig(ctx, wazero.NewRuntimeConfig().WithMemoryLimitPages(1).WithCloseOnContextDone(true))
	mod, err := r.Instantiate(ctx, wasm)
	if err != nil {
		panic(err)
	}
	results, err := mod.ExportedFunction("run").Call(ctx)
	fmt.Println("ended:", results, err)
}

// mountStock runs a command with the directory mounted by wazero.
func mountStock(wasm []byte) {
	ctx := context.Background()
	r := wazero.NewRuntime(ctx)
	wasi_snapshot_preview1.MustInstantiate(ctx, r)
	config := wazero.NewModuleConfig().WithStdout(os.Stdout).WithStartFunctions().
		WithFSConfig(wazero.NewFSConfig().WithDirMount(os.Getenv(holeDirEnv), "/"))
	mod, err := r.InstantiateWithConfig(ctx, wasm, config)
	if err != nil {
		panic(err)
	}
	_, err = mod.ExportedFunction("run").Call(ctx)
	fmt.Println("ended:", err)
}

// ourMount runs the same command here, with the directory in a jail.
func ourMount(t *testing.T, wasm []byte, dir string) (sandbox.Result, error) {
	t.Helper()
	return call(t, load(t, wasm), sandbox.Call{FS: openJail(t, jail.Quota{}, jail.Root{Path: dir, Write: true})})
}

// functionCountLie declares four thousand million functions in 15 bytes.
func functionCountLie() []byte {
	return append(w.Header(), 3, 5, 0xff, 0xff, 0xff, 0xff, 0x0f)
}

// localsLie declares as many locals.
func localsLie() []byte {
	m := w.New()
	m.ExportFunc("run", m.RawFunc(m.Type(w.Sig("", "i32")), []byte{1, 0xff, 0xff, 0xff, 0xff, 0x0f, w.I64, 0x41, 0, 0x0b}))
	return m.Bytes()
}

// typeIndexLie calls a function whose type does not exist.
func typeIndexLie() []byte {
	m := w.New()
	t := m.Type(w.Sig("", ""))
	m.RawFunc(t, []byte{0, 0x10, 1, 0x0b})
	m.RawFunc(200, []byte{0, 0x0b})
	return m.Bytes()
}

func TestHoleCompileBombs(t *testing.T) {
	t.Parallel()
	r := newRuntime(t, sandbox.Options{})
	for name, wasm := range map[string][]byte{"function count": functionCountLie(), "locals": localsLie(), "compiler panics": typeIndexLie()} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			out, hung := openHole(t, name, "", time.Minute)
			if hung || strings.Contains(out, "compiled:") {
				t.Errorf("wazero alone survives %d bytes: %.300s", len(wasm), out)
			}
			_, err := r.Load(t.Context(), wasm)
			var refused *wasmbin.Error
			if !errors.Is(err, sandbox.ErrRefused) || !errors.As(err, &refused) {
				t.Errorf("ours: %v", err)
			}
		})
	}
}

func TestHoleRecursion(t *testing.T) {
	t.Parallel()
	if out, hung := openHole(t, "tree recursion", "", time.Second); !hung {
		t.Errorf("wazero alone keeps its deadline: %s", out)
	}
	_, err := call(t, load(t, treeRecursion()), sandbox.Call{Limits: sandbox.Limits{Wall: 50 * time.Millisecond, Fuel: 1 << 60}})
	wantLimit(t, err, sandbox.ErrTime)
}

// collectorStock collects garbage while a guest computes.
func collectorStock() {
	ctx := context.Background()
	mod, err := wazero.NewRuntime(ctx).Instantiate(ctx, spin())
	if err != nil {
		panic(err)
	}
	go mod.ExportedFunction("run").Call(ctx)
	time.Sleep(100 * time.Millisecond)
	fmt.Println("collecting")
	runtime.GC()
	fmt.Println("alive")
}

// TestHoleCollector shows that a guest that only computes does not keep the
// rest of the process from running: collections end while it goes on.
func TestHoleCollector(t *testing.T) {
	t.Parallel()
	if out, hung := openHole(t, "collector", "", time.Second); !hung || strings.Contains(out, "alive") {
		t.Errorf("wazero alone lets the collector in: %s", out)
	}
	m := load(t, spin())
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, runtime.GOMAXPROCS(0))
	for range cap(ended) {
		go func() {
			_, err := m.Call(ctx, sandbox.Call{Export: "run", Limits: sandbox.Limits{Fuel: 1 << 60, Wall: time.Minute}})
			ended <- err
		}()
	}
	for range 5 {
		runtime.GC()
		time.Sleep(time.Millisecond)
	}
	select {
	case err := <-ended:
		t.Errorf("a guest ended by itself: %v", err)
		ended <- err
	default:
	}
	cancel()
	for range cap(ended) {
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Errorf("cancelled guest: %v", err)
		}
	}
}

// tableGrowth grows a table to ten million entries, 80 MB, under a memory limit
// of 64 KiB, and returns what the last step gave.
func tableGrowth() []byte {
	m := w.New()
	m.Table(w.FuncRef, 0, w.NoMax)
	grow := w.Code(w.Op(0xd0, 0x70), w.I32Const(1_000_000), w.Op(0xfc, 15, 0))
	code := bytes.Repeat(w.Code(grow, w.Drop()), 9)
	m.ExportFunc("run", m.Func(w.Sig("", "i32"), "", code, grow))
	return m.Bytes()
}

func TestHoleTable(t *testing.T) {
	t.Parallel()
	if out, _ := openHole(t, "table", "", time.Minute); !strings.Contains(out, "[9000000]") {
		t.Errorf("wazero alone bounds tables: %s", out)
	}
	r, err := call(t, load(t, tableGrowth()), sandbox.Call{})
	if !errors.Is(err, sandbox.ErrGuest) || r.ExitCode != 1<<32-1 {
		t.Errorf("ours: %d, %v", r.ExitCode, err)
	}
}

// wasiSteps is a command that makes WASI calls one after the other on a memory
// with the given strings, 100 bytes apart.
func wasiSteps(text []string, code func(call map[string]int) []byte) []byte {
	return wasiStepsTo("", text, code)
}

// wasiStepsTo is one that returns something.
func wasiStepsTo(result string, text []string, code func(call map[string]int) []byte) []byte {
	m := w.New()
	calls := map[string]int{}
	for _, f := range []struct{ name, params string }{
		{"path_symlink", "i32 i32 i32 i32 i32"},
		{"path_open", "i32 i32 i32 i32 i32 i64 i64 i32 i32"},
		{"fd_read", "i32 i32 i32 i32"},
		{"fd_write", "i32 i32 i32 i32"},
		{"fd_renumber", "i32 i32"},
	} {
		calls[f.name] = m.ImportFunc(preview1, f.name, w.Sig(f.params, "i32"))
	}
	m.Memory(1, 1)
	m.ExportMemory("memory")
	for i, s := range text {
		m.Data(int32(100*i), []byte(s))
	}
	m.Data(1000, binary.LittleEndian.AppendUint32(binary.LittleEndian.AppendUint32(nil, 2000), 100)) // one buffer
	m.ExportFunc("run", m.Func(w.Sig("", result), "", code(calls)))
	return m.Bytes()
}

// printStep reads 100 bytes from the descriptor at 900 and writes them to
// standard output.
func printStep(call map[string]int) []byte {
	return w.Code(
		w.I32Const(900), w.Load(0x28, 0), args(1000, 1, 1100), w.Call(call["fd_read"]), w.Drop(),
		w.I32Const(1), args(1000, 1, 1100), w.Call(call["fd_write"]), w.Drop())
}

// symlinkEscape makes a link to ../secret and reads it.
func symlinkEscape() []byte {
	return wasiSteps([]string{"../secret", "l"}, func(call map[string]int) []byte {
		link := w.Code(args(0, 9, 3, 100, 1), w.Call(call["path_symlink"]), w.Drop())
		return w.Code(link, openStep(call, 100, 1), printStep(call))
	})
}

// renumber moves an open file to the largest descriptor.
func renumber() []byte {
	return wasiStepsTo("i32", []string{"file"}, func(call map[string]int) []byte {
		return w.Code(openStep(call, 0, 4), w.I32Const(900), w.Load(0x28, 0), w.I32Const(1<<31-1), w.Call(call["fd_renumber"]))
	})
}

// openFifo opens a FIFO that nobody writes to.
func openFifo() []byte {
	return wasiSteps([]string{"fifo"}, func(call map[string]int) []byte { return openStep(call, 0, 4) })
}

// mountTree makes a tree with a secret beside the directory that is mounted.
func mountTree(t *testing.T) (mounted string) {
	t.Helper()
	dir := t.TempDir()
	writeFile(t, filepath.Join(dir, "secret"), "SECRET")
	mounted = filepath.Join(dir, "mounted")
	writeFile(t, filepath.Join(mounted, "file"), "file")
	if err := syscall.Mkfifo(filepath.Join(mounted, "fifo"), 0o600); err != nil {
		t.Fatal(err)
	}
	return mounted
}

func TestHoleSymlink(t *testing.T) {
	t.Parallel()
	if out, _ := openHole(t, "symlink", mountTree(t), time.Minute); !strings.Contains(out, "SECRET") {
		t.Errorf("wazero's mount holds: %q", out)
	}
	dir := mountTree(t)
	r, err := ourMount(t, symlinkEscape(), dir)
	if err != nil || bytes.Contains(r.Stderr, []byte("SECRET")) {
		t.Errorf("ours: %q, %v", r.Stderr, err)
	}
	if _, err := os.Lstat(filepath.Join(dir, "l")); err == nil {
		t.Error("ours: the link was made")
	}
	if err := os.Symlink("file", filepath.Join(dir, "l")); err != nil {
		t.Fatal(err)
	}
	if r, err := ourMount(t, symlinkEscape(), dir); err != nil || !strings.HasPrefix(string(r.Stderr), "file\x00") {
		t.Errorf("ours, with a link that stays inside: %q, %v", r.Stderr, err)
	}
	os.Remove(filepath.Join(dir, "l"))
	// A link that somebody else made is no way out either.
	if err := os.Symlink("../secret", filepath.Join(dir, "l")); err != nil {
		t.Fatal(err)
	}
	if r, err := ourMount(t, symlinkEscape(), dir); err != nil || bytes.Contains(r.Stderr, []byte("SECRET")) {
		t.Errorf("ours, with the link there: %q, %v", r.Stderr, err)
	}
}

func fifoStock() { mountStock(openFifo()) }

func TestHoleFIFO(t *testing.T) {
	t.Parallel()
	if out, hung := openHole(t, "fifo", mountTree(t), time.Second); !hung {
		t.Errorf("wazero's mount opens a FIFO: %q", out)
	}
	if _, err := ourMount(t, openFifo(), mountTree(t)); err != nil {
		t.Errorf("ours: %v", err)
	}
}

func TestHoleRenumber(t *testing.T) {
	t.Parallel()
	if out, _ := openHole(t, "fd_renumber", mountTree(t), time.Minute); strings.Contains(out, "ended: <nil>") {
		t.Errorf("wazero alone bounds descriptors: %.300s", out)
	}
	// Here a descriptor can only take the place of another: the guest gets EBADF.
	if r, err := ourMount(t, renumber(), mountTree(t)); !errors.Is(err, sandbox.ErrGuest) || r.ExitCode != 8 {
		t.Errorf("ours: code %d, %v", r.ExitCode, err)
	}
}

// startStock makes an instance of a plug-in that loops in its start section,
// with the timeout of the Extism SDK.
func startStock() {
	ctx := context.Background()
	m, err := reference.Load(ctx, startLoop(), reference.Options{Timeout: 100 * time.Millisecond})
	if err != nil {
		panic(err)
	}
	_, err = m.Instance(ctx)
	fmt.Println("ended:", err)
}

func TestHoleStartSection(t *testing.T) {
	t.Parallel()
	if out, hung := openHole(t, "start section", "", time.Second); !hung {
		t.Errorf("the Extism SDK keeps its timeout: %s", out)
	}
	_, err := call(t, load(t, startLoop()), sandbox.Call{Limits: sandbox.Limits{Wall: 50 * time.Millisecond, Fuel: 1 << 60}})
	wantLimit(t, err, sandbox.ErrTime)
}

// siblingReader imports the memory of a library by the name the Extism SDK
// gives to the library of its first instance.
func siblingReader() []byte {
	m := w.New()
	put := m.ImportFunc("lib", "put", w.Sig("", "i32"))
	m.Import("lib_1", "memory", w.KindMemory, []byte{0, 1})
	m.ExportFunc("put", m.Func(w.Sig("", "i32"), "", w.Call(put)))
	m.ExportFunc("peek", m.Func(w.Sig("", "i32"), "", zero(), w.Load(0x28, 0)))
	return m.Bytes()
}

// library keeps a secret number in its memory.
func library() []byte {
	m := w.New()
	m.Memory(1, w.NoMax)
	m.ExportMemory("memory")
	put := m.Func(w.Sig("", "i32"), "", zero(), w.I32Const(4711), w.Store(0x36, 0), zero())
	m.ExportFunc("put", put)
	m.Custom("name", w.Section(1, w.U32(1), w.U32(uint32(put)), w.Name("put"))) // the SDK links by debug names
	return m.Bytes()
}

func TestHoleSibling(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	m, err := reference.Load(ctx, siblingReader(), reference.Options{Libraries: map[string][]byte{"lib": library()}})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close(ctx)
	var instances []*reference.Instance
	for range 2 {
		i, err := m.Instance(ctx)
		if err != nil {
			t.Fatal(err)
		}
		instances = append(instances, i)
	}
	if _, err := instances[0].Call(ctx, "put", nil); err != nil {
		t.Fatal(err)
	}
	if r, err := instances[1].Call(ctx, "peek", nil); r.Code != 4711 || err != nil {
		t.Errorf("the Extism SDK separates instances: %d, %v", r.Code, err)
	}
	if _, err := newRuntime(t, sandbox.Options{}).Load(ctx, siblingReader()); !errors.Is(err, sandbox.ErrRefused) {
		t.Errorf("ours: %v", err)
	}
}

func TestHoleOversizedInput(t *testing.T) {
	t.Parallel()
	const size = 2 << 20
	m := w.New()
	length := m.ImportFunc(env, "input_length", w.Sig("", "i64"))
	m.ExportFunc("run", m.Func(w.Sig("", "i32"), "", w.Call(length), w.Op(0xa7)))
	ref, err := reference.Load(t.Context(), m.Bytes(), reference.Options{MemoryPages: 16})
	if err != nil {
		t.Fatal(err)
	}
	defer ref.Close(t.Context())
	if r, err := ref.Call(t.Context(), "run", make([]byte, size)); r.Code != 0 || err != nil {
		t.Errorf("the Extism SDK: %d, %v", r.Code, err)
	}
	ours := load(t, m.Bytes())
	limits := sandbox.Limits{MemoryBytes: 1 << 20}
	if r, err := call(t, ours, sandbox.Call{Input: make([]byte, size), Limits: limits}); r.ExitCode != size {
		t.Errorf("ours: the guest sees %d bytes, %v", r.ExitCode, err)
	}
	limits.InputBytes = size - 1
	_, err = call(t, ours, sandbox.Call{Input: make([]byte, size), Limits: limits})
	wantLimit(t, err, sandbox.ErrInput)
}
