package wasmbin_test

import (
	"bufio"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/tetratelabs/wazero"

	"github.com/skillet-run/skillet/host/engine/sandbox/wasmbin"
)

// childEnv makes the test binary a child that compiles, or runs, what it reads.
const childEnv = "WASMBIN_TEST_CHILD"

func TestMain(m *testing.M) {
	switch os.Getenv(childEnv) {
	case "compile":
		limitMemory()
		compileAll()
	case "run":
		limitMemory()
		runWithDeadline()
	default:
		os.Exit(m.Run())
	}
}

const childMemory = 4 << 30

func limitMemory() {
	l := syscall.Rlimit{Cur: childMemory, Max: childMemory}
	if err := syscall.Setrlimit(syscall.RLIMIT_AS, &l); err != nil {
		panic(err)
	}
	debug.SetMemoryLimit(childMemory / 2)
}

// What a child says about a module.
const (
	verdictCompiled = 'c'
	verdictRefused  = 'r'
	verdictPanicked = 'p'
)

// compileAll reads modules with their lengths in front and answers each with a
// verdict.
func compileAll() {
	in := bufio.NewReader(os.Stdin)
	r := wazero.NewRuntimeWithConfig(context.Background(), runtimeConfig())
	for {
		var n uint32
		if binary.Read(in, binary.LittleEndian, &n) != nil {
			return
		}
		wasm := make([]byte, n)
		if _, err := io.ReadFull(in, wasm); err != nil {
			return
		}
		verdict := byte(verdictCompiled)
		if err := compiles(r, wasm); err != nil {
			verdict = verdictRefused
			if strings.HasPrefix(err.Error(), "panic") {
				verdict = verdictPanicked
			}
		}
		os.Stdout.Write([]byte{verdict})
	}
}

// runWithDeadline calls the export "run" of one module with wazero's own means
// against guests that do not return.
func runWithDeadline() {
	wasm, _ := io.ReadAll(os.Stdin)
	ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
	defer cancel()
	r := wazero.NewRuntimeWithConfig(ctx, runtimeConfig().WithCloseOnContextDone(true))
	m, err := r.Instantiate(ctx, wasm)
	if err == nil {
		_, err = m.ExportedFunction("run").Call(ctx)
	}
	fmt.Println(err)
}

// child is a process that compiles modules.
type child struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out io.Reader
	err strings.Builder
}

func startChild(t *testing.T, mode string) *child {
	t.Helper()
	c := &child{cmd: exec.Command(os.Args[0], "-test.run=^$")}
	c.cmd.Env = append(os.Environ(), childEnv+"="+mode, "GOTRACEBACK=single")
	c.cmd.Stderr = &c.err
	c.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	var err error
	if c.in, err = c.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	if c.out, err = c.cmd.StdoutPipe(); err != nil {
		t.Fatal(err)
	}
	runtime.LockOSThread() // Pdeathsig is bound to the thread
	err = c.cmd.Start()
	runtime.UnlockOSThread()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.stop)
	return c
}

func (c *child) stop() {
	c.in.Close()
	c.cmd.Process.Kill()
	c.cmd.Wait()
}

// compile returns the verdict on a module, or 0 when the child died or took
// longer than the time allowed; late tells the two apart.
func (c *child) compile(wasm []byte, allowed time.Duration) (verdict byte, late bool) {
	answer := make(chan byte, 1)
	go func() {
		binary.Write(c.in, binary.LittleEndian, uint32(len(wasm)))
		c.in.Write(wasm)
		b := make([]byte, 1)
		io.ReadFull(c.out, b)
		answer <- b[0]
	}()
	select {
	case v := <-answer:
		return v, false
	case <-time.After(allowed):
		return 0, true
	}
}

// TestBombs shows that each bomb is one (wazero alone dies, panics or is still
// busy when nobody waits any more), and that the gate refuses it.
func TestBombs(t *testing.T) {
	t.Parallel()
	for _, b := range bombs() {
		t.Run(b.name, func(t *testing.T) {
			t.Parallel()
			start := time.Now()
			_, err := wasmbin.Inspect(b.wasm, wasmbin.DefaultLimits())
			took := time.Since(start)
			if err == nil {
				t.Error("the gate accepts it")
			}
			t.Logf("%d bytes: %v; in %v", len(b.wasm), err, took)
			showBomb(t, b)
		})
	}
}

func showBomb(t *testing.T, b bomb) {
	if testing.Short() {
		return
	}
	c := startChild(t, "compile")
	switch v, late := c.compile(b.wasm, time.Second); {
	case b.hang && late:
		t.Log("wazero alone: still compiling after a second")
	case b.hang:
		t.Logf("wazero alone is done in a second here: verdict %q", v)
	case v == verdictPanicked:
		t.Log("wazero alone: its compiler panics")
	case v == 0 && !late:
		c.cmd.Wait()
		line, _, _ := strings.Cut(c.err.String(), "\n")
		t.Logf("wazero alone: the process dies: %s", line)
	default:
		t.Errorf("wazero alone: verdict %q, late %v: the bomb is none", v, late)
	}
}

// Recursion without a loop passes every deadline that wazero's own option sets.
func TestRecursionPassesWazerosDeadline(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("waits for a process that hangs")
	}
	c := startChild(t, "run")
	c.in.Write(callTree())
	c.in.Close()
	done := make(chan string, 1)
	go func() {
		b, _ := io.ReadAll(c.out)
		done <- string(b)
	}()
	select {
	case s := <-done:
		t.Errorf("wazero stopped it: %s", s)
	case <-time.After(time.Second):
		t.Log("wazero alone: still running, ten times the deadline later")
	}
}

// TestMutants damages modules of the corpus at random. The gate never panics;
// what it accepts, instrumented or not, never kills a process that compiles it;
// and what is instrumented compiles when, and only when, the original did.
func TestMutants(t *testing.T) {
	t.Parallel()
	span := 2 * time.Second
	if prove() {
		span = proveSpan()
	}
	if testing.Short() {
		span /= 4
	}
	m := newMutator(t)
	c := startChild(t, "compile")
	count := map[string]int{}
	for end := time.Now().Add(span); time.Now().Before(end) && !t.Failed(); {
		count[c.tryMutant(t, m.next())]++
	}
	t.Logf("%v", count)
	if count["accepted"] == 0 {
		t.Errorf("no mutant was accepted: nothing was tested")
	}
}

// proveSpan is how long the long proof takes: SKILLET_PROVE may name a span.
func proveSpan() time.Duration {
	if d, err := time.ParseDuration(os.Getenv("SKILLET_PROVE")); err == nil {
		return d
	}
	return 2 * time.Minute
}

func (c *child) tryMutant(t *testing.T, wasm []byte) string {
	l := wasmbin.DefaultLimits()
	if _, err := wasmbin.Inspect(wasm, l); err != nil {
		return "refused"
	}
	i, err := wasmbin.Instrument(wasm, l, options)
	if err != nil {
		t.Errorf("Inspect accepts what Instrument refuses: %v\n%x", err, wasm)
		return "refused"
	}
	l.FunctionWork, l.CompileWork = 10*l.FunctionWork, 10*l.CompileWork
	if _, err := wasmbin.InspectOwn(i.Wasm, l); err != nil {
		t.Errorf("what was written is refused: %v\n%x", err, wasm)
	}
	const allowed = 30 * time.Second
	after, late2 := c.compile(i.Wasm, allowed)
	before, late1 := after, false
	if !wasmbin.HasExceptions(wasm) { // which no compiler is to see
		before, late1 = c.compile(wasm, allowed)
	}
	if late1 || late2 || before == 0 || after == 0 || before != after {
		t.Errorf("verdict %q late %v, instrumented %q late %v: %s\n%x", before, late1, after, late2, c.err.String(), wasm)
	}
	if before == verdictPanicked {
		return "panics wazero"
	}
	return "accepted"
}
