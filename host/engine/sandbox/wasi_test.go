package sandbox_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/skillet-run/skillet/host/engine/jail"
	"github.com/skillet-run/skillet/host/engine/sandbox"
	"github.com/skillet-run/skillet/host/engine/sandbox/wasi"
	w "github.com/skillet-run/skillet/host/engine/sandbox/wasmbin/wasmtest"
)

// wasip1 builds the command of testdata/wasip1, once.
var wasip1 = sync.OnceValues(func() ([]byte, error) {
	return w.BuildGo("host/engine/sandbox/testdata/wasip1", "-ldflags=-s -w")
})

// loadCommand compiles that command, once for all tests.
var loadCommand = sync.OnceValues(func() (*sandbox.Module, error) {
	b, err := wasip1()
	if err != nil {
		return nil, err
	}
	r, err := sandbox.New(context.Background(), hclog.NewNullLogger(), sandbox.Options{})
	if err != nil {
		return nil, err
	}
	return r.Load(context.Background(), b)
})

// command is the loaded command.
func command(t testing.TB) *sandbox.Module {
	t.Helper()
	m, err := loadCommand()
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func start(args ...string) sandbox.Call {
	return sandbox.Call{Export: "_start", Args: args}
}

func TestWASICommand(t *testing.T) {
	t.Parallel()
	m := command(t)
	if abi := m.Info().ABI; abi != sandbox.ABIWASICommand {
		t.Errorf("ABI %v", abi)
	}
	t.Run("json", func(t *testing.T) {
		t.Parallel()
		c := start()
		c.Input = []byte(`{"text":"one two three"}`)
		if r := mustCall(t, m, c); string(r.Output) != "{\"words\":3}\n" || r.ExitCode != 0 {
			t.Errorf("output %q, code %d", r.Output, r.ExitCode)
		}
	})
	t.Run("nothing ambient", func(t *testing.T) {
		t.Parallel()
		for arg, want := range map[string]string{"env": "0", "args": "skill []", "clock": "2022-01-01"} {
			if r := mustCall(t, m, start(arg)); string(r.Output) != want {
				t.Errorf("%s: %q, want %q", arg, r.Output, want)
			}
		}
		if r := mustCall(t, m, start("args", "a b", "c")); string(r.Output) != `skill ["a b" "c"]` {
			t.Errorf("args: %q", r.Output)
		}
	})
	t.Run("clock", func(t *testing.T) {
		t.Parallel()
		c := start("clock")
		c.Clock = true
		before := time.Now().UTC().Format(time.DateOnly)
		if r := mustCall(t, m, c); string(r.Output) < before {
			t.Errorf("granted clock says %q, it is %s", r.Output, before)
		}
	})
	t.Run("random", func(t *testing.T) {
		t.Parallel()
		testRandom(t, m)
	})
	t.Run("exit", func(t *testing.T) {
		t.Parallel()
		r := mustCall(t, m, start("exit", "0"))
		if string(r.Output) != "before exit" {
			t.Errorf("output %q", r.Output)
		}
		r, err := call(t, m, start("exit", "7"))
		var guest *sandbox.GuestError
		if !errors.As(err, &guest) || !errors.Is(err, sandbox.ErrGuest) || guest.Code != 7 || r.ExitCode != 7 || string(r.Output) != "before exit" {
			t.Errorf("result %+v, error %v", r, err)
		}
	})
	t.Run("panic", func(t *testing.T) {
		t.Parallel()
		r, err := call(t, m, start("panic"))
		if !errors.Is(err, sandbox.ErrGuest) || r.ExitCode != 2 || !strings.Contains(string(r.Stderr), "panic: on purpose") {
			t.Errorf("code %d, stderr %q, error %v", r.ExitCode, r.Stderr, err)
		}
	})
	t.Run("sleep", func(t *testing.T) {
		t.Parallel()
		// Without a clock each reading takes a millisecond of the guest's time,
		// and the guest asks to sleep for what is left then.
		for granted, atLeast := range map[bool]time.Duration{false: 50*time.Millisecond - 10*wasi.ReadingStep, true: 50 * time.Millisecond} {
			c := start("sleep", "50ms")
			c.Clock = granted
			begin := time.Now()
			if r := mustCall(t, m, c); string(r.Output) != "true" || time.Since(begin) < atLeast {
				t.Errorf("with a clock: %v, slept %v, the guest says %s", granted, time.Since(begin), r.Output)
			}
		}
	})
}

// testRandom wants randomness that depends on the seed, or on nothing.
func testRandom(t *testing.T, m *sandbox.Module) {
	draw := func(granted bool, seed uint64) string {
		c := start("random")
		c.Random, c.Seed = granted, seed
		return string(mustCall(t, m, c).Output)
	}
	if a, b := draw(false, 1), draw(false, 1); a != b || len(a) != 32 {
		t.Errorf("one seed gave %s and %s", a, b)
	}
	if a, b := draw(false, 1), draw(false, 2); a == b {
		t.Errorf("two seeds gave %s", a)
	}
	if a, b := draw(true, 1), draw(true, 1); a == b {
		t.Errorf("granted randomness gave %s twice", a)
	}
}

// fileCase is one run of the command on a tree: in/a.txt (5 bytes), in/sub/b.txt
// and the empty directory out, which may be written.
type fileCase struct {
	args string // D stands for the tree
	want string // of the output; "" means any
	err  string // part of standard error; "" means success
}

func TestWASIFiles(t *testing.T) {
	t.Parallel()
	m := command(t)
	for _, c := range []fileCase{
		{args: "read D/in/a.txt", want: "hello"},
		{args: "read D/in/../in/./a.txt", want: "hello"},
		{args: "read D/in/a.txt/", err: "ot a directory"},
		{args: "read D/in/missing", err: "o such file"},
		{args: "read D/in/sub", err: "s a directory"},
		{args: "read D/secret", err: "D/secret"},
		{args: "read D/in/../secret", err: "secret"},
		{args: "read /etc/passwd", err: "/etc/passwd"},
		{args: "list D/in", want: "a.txt false\nsub true\n"},
		{args: "list D/in/sub", want: "b.txt false\n"},
		{args: "list D/in/a.txt", err: "ot a directory"},
		{args: "walk D/in", want: "D/in\nD/in/a.txt\nD/in/sub\nD/in/sub/b.txt\n"},
		{args: "stat D/in/a.txt", want: "5 false"},
		{args: "stat D/in/sub/"},
		{args: "stat D/in"},
		{args: "write D/in/new x", err: "ead-only"},
		{args: "write D/in/a.txt x", err: "ead-only"},
		{args: "mkdir D/in/new", err: "ead-only"},
		{args: "remove D/in/a.txt", err: "ead-only"},
		{args: "truncate D/in/a.txt 1", err: "ead-only"},
		{args: "rename D/in/a.txt D/in/c.txt", err: "ead-only"},
		{args: "rename D/in/a.txt D/out/c.txt", err: "rename"},
		{args: "link D/in/a.txt D/out/l", err: "link"},
		{args: "link ../secret D/out/l", err: "link"},
		{args: "seek D/in/a.txt", err: "ead-only"},
	} {
		t.Run(c.args, func(t *testing.T) {
			t.Parallel()
			c.run(t, m, newTree(t))
		})
	}
	t.Run("changes", func(t *testing.T) {
		t.Parallel()
		dir := newTree(t)
		for _, c := range []fileCase{
			{args: "write D/out/x one two"},
			{args: "read D/out/x", want: "one two"},
			{args: "append D/out/x A B"},
			{args: "read D/out/x", want: "one twoAB"},
			{args: "seek D/out/x", want: "oAB o"},
			{args: "read D/out/x", want: "oXe twoAB"},
			{args: "truncate D/out/x 3"},
			{args: "stat D/out/x", want: "3 false"},
			{args: "mkdir D/out/d/e"},
			{args: "rename D/out/x D/out/d/y"},
			{args: "walk D/out", want: "D/out\nD/out/d\nD/out/d/e\nD/out/d/y\n"},
			{args: "remove D/out/d", err: "not empty"},
			{args: "remove D/out/d/y"},
			{args: "remove D/out/d/e"},
			{args: "remove D/out/d"},
			{args: "list D/out", want: ""},
		} {
			c.run(t, m, dir)
		}
	})
}

// newTree makes the tree of a fileCase.
func newTree(t testing.TB) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "out"), 0o700); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"in/a.txt": "hello", "in/sub/b.txt": "b", "secret": "SECRET"} {
		writeFile(t, filepath.Join(dir, name), text)
	}
	return dir
}

func writeFile(t testing.TB, path, text string) {
	t.Helper()
	err := os.MkdirAll(filepath.Dir(path), 0o700)
	if err == nil {
		err = os.WriteFile(path, []byte(text), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func (c fileCase) run(t *testing.T, m *sandbox.Module, dir string) {
	t.Helper()
	call := start(strings.Fields(strings.ReplaceAll(c.args, "D/", dir+"/"))...)
	call.FS = openJail(t, jail.Quota{}, jail.Root{Path: filepath.Join(dir, "in")}, jail.Root{Path: filepath.Join(dir, "out"), Write: true})
	r, err := m.Call(t.Context(), call)
	output := strings.ReplaceAll(string(r.Output), dir+"/", "D/")
	stderr := strings.ReplaceAll(string(r.Stderr), dir+"/", "D/")
	switch {
	case (err != nil) != (c.err != ""):
		t.Errorf("%s: %v, stderr %q", c.args, err, stderr)
	case c.err != "" && !strings.Contains(stderr, c.err):
		t.Errorf("%s: stderr %q does not say %q", c.args, stderr, c.err)
	case c.want != "" && output != c.want:
		t.Errorf("%s: output %q, want %q", c.args, output, c.want)
	case strings.Contains(output, "SECRET"):
		t.Errorf("%s: read the secret", c.args)
	}
	if left := call.FS.Usage().OpenFiles; left != 0 {
		t.Errorf("%s: %d files are still open", c.args, left)
	}
}

// TestWASIFileRoot grants one file of a directory.
func TestWASIFileRoot(t *testing.T) {
	t.Parallel()
	m := command(t)
	dir := newTree(t)
	files := openJail(t, jail.Quota{}, jail.Root{Path: filepath.Join(dir, "in/a.txt")})
	for args, want := range map[string]string{"read D/in/a.txt": "hello", "list D/in": "a.txt false\n"} {
		c := start(strings.Fields(strings.ReplaceAll(args, "D/", dir+"/"))...)
		c.FS = files
		if r := mustCall(t, m, c); string(r.Output) != want {
			t.Errorf("%s: %q, want %q", args, r.Output, want)
		}
	}
	for _, args := range []string{"read D/in/sub/b.txt", "read D/secret", "list D/in/sub"} {
		c := start(strings.Fields(strings.ReplaceAll(args, "D/", dir+"/"))...)
		c.FS = files
		if r, err := call(t, m, c); err == nil {
			t.Errorf("%s: %q", args, r.Output)
		}
	}
}

// TestWASIGuard shows that the guest learns that it was refused, and no more.
func TestWASIGuard(t *testing.T) {
	t.Parallel()
	m := command(t)
	dir := newTree(t)
	files, err := jail.Open([]jail.Root{{Path: dir, Write: true}}, jail.GuardFunc(func(op jail.Op, path string) error {
		if strings.HasSuffix(path, "a.txt") {
			return errors.New("policy p17 says no")
		}
		return nil
	}), jail.Quota{})
	if err != nil {
		t.Fatal(err)
	}
	defer files.Close()
	c := start("read", filepath.Join(dir, "in/a.txt"))
	c.FS = files
	r, err := call(t, m, c)
	if err == nil || !strings.Contains(strings.ToLower(string(r.Stderr)), "permission denied") || strings.Contains(string(r.Stderr), "p17") {
		t.Errorf("error %v, stderr %q", err, r.Stderr)
	}
}

// TestWASIToolchains runs the commands that ship with wazero's own tests: Rust,
// TinyGo, C and hand-written ones.
func TestWASIToolchains(t *testing.T) {
	t.Parallel()
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/tetratelabs/wazero").Output()
	if err != nil {
		t.Skipf("the modules of github.com/tetratelabs/wazero are not in the module cache: %v", err)
	}
	testdata := filepath.Join(strings.TrimSpace(string(out)), "imports", "wasi_snapshot_preview1", "testdata")
	dir := newTree(t)
	in := filepath.Join(dir, "in")
	r := newRuntime(t, sandbox.Options{})
	for _, c := range []struct {
		file, args, want string
		code             uint32
	}{
		{file: "exit_on_start.wasm", code: 2},
		{file: "print_args.wasm", args: "a b", want: "skill\x00a\x00b\x00"},
		{file: "print_prestat_dirname.wasm", want: in},
		{file: "cargo-wasi/wasi.wasm", args: "ls " + in + "/sub", want: in + "/sub/b.txt\n"},
		{file: "cargo-wasi/wasi.wasm", args: "ls " + in + "/a.txt", want: "ENOTDIR\n"},
		{file: "tinygo/wasi.wasm", args: "ls " + in + "/sub", want: "./b.txt\n"},
		{file: "zig-cc/wasi.wasm", args: "ls " + in + "/sub", want: "./.\n./..\n./b.txt\n"},
		{file: "zig-cc/wasi.wasm", args: "sleepmillis 5", want: "OK\n"},
	} {
		t.Run(c.file+" "+c.args, func(t *testing.T) {
			wasm, err := os.ReadFile(filepath.Join(testdata, c.file))
			if err != nil {
				t.Fatal(err)
			}
			call := start(strings.Fields(c.args)...)
			call.FS = openJail(t, jail.Quota{}, jail.Root{Path: in})
			result, err := loadIn(t, r, wasm).Call(t.Context(), call)
			if string(result.Output) != c.want || result.ExitCode != c.code || (err != nil) != (c.code != 0) {
				t.Errorf("output %q, code %d, stderr %q, %v", result.Output, result.ExitCode, result.Stderr, err)
			}
		})
	}
}

// filesGuest is a reactor that reads a.txt below its first preopen and returns
// it as its output. initialise is what it does before: it is given the
// functions by name.
func filesGuest(initialise func(call map[string]int) []byte) []byte {
	g := newGuest()
	calls := map[string]int{}
	for name, params := range map[string]string{
		"fd_prestat_get": "i32 i32",
		"path_open":      "i32 i32 i32 i32 i32 i64 i64 i32 i32",
		"fd_read":        "i32 i32 i32 i32",
	} {
		calls[name] = g.ImportFunc(preview1, name, w.Sig(params, "i32"))
	}
	g = g.memory(1, 1)
	g.Data(0, []byte("a.txt"))
	g.Data(1000, []byte{0xd0, 7, 0, 0, 100, 0, 0, 0}) // 100 bytes at 2000
	g.ExportFunc("_initialize", g.Func(w.Sig("", ""), "", initialise(calls)))
	read := w.Code(w.I32Const(900), w.Load(0x28, 0), args(1000, 1, 1100), w.Call(calls["fd_read"]), w.Drop())
	return g.tool("run", openStep(calls, 0, 5), read, w.I32Const(2000), w.I32Const(1100), w.Load(0x28, 0), w.Call(g.write), zero()).Bytes()
}

// openStep opens the text at an address below the first preopen, following
// links, with rights to read, and leaves the descriptor at 900.
func openStep(call map[string]int, at, length int32) []byte {
	return w.Code(args(3, 1, at, length, 0), w.I64Const(2), w.I64Const(0), args(0, 900), w.Call(call["path_open"]), w.Drop())
}

// TestPoolWithFiles uses instances again for calls with the same roots, unless
// their initialisation has read a file. None leaves a file open.
func TestPoolWithFiles(t *testing.T) {
	t.Parallel()
	nothing := func(map[string]int) []byte { return nil }
	asks := func(call map[string]int) []byte {
		return w.Code(args(3, 3000), w.Call(call["fd_prestat_get"]), w.Drop())
	}
	opens := func(call map[string]int) []byte { return openStep(call, 0, 5) }
	for _, c := range []struct {
		what       string
		initialise func(map[string]int) []byte
		kept       bool // instances are used again, for the same roots
	}{
		{"does not look", nothing, true},
		{"asks for preopens", asks, true},
		{"opens a file", opens, false},
	} {
		t.Run(c.what, func(t *testing.T) {
			t.Parallel()
			m := load(t, filesGuest(c.initialise))
			dirs := []string{filepath.Join(newTree(t), "in"), filepath.Join(newTree(t), "in")}
			var calls [2]int
			for i, which := range []int{0, 0, 0, 0, 1, 1, 0, 1} {
				calls[which]++
				text := fmt.Sprintf("content %d", i)
				writeFile(t, filepath.Join(dirs[which], "a.txt"), text)
				files := openJail(t, jail.Quota{}, jail.Root{Path: dirs[which]})
				r := mustCall(t, m, sandbox.Call{FS: files})
				if string(r.Output) != text {
					t.Errorf("call %d: %q, want %q", i, r.Output, text)
				}
				if want := c.kept && calls[which] > 2; r.Pooled != want {
					t.Errorf("call %d: used again is %v, want %v", i, r.Pooled, want)
				}
				if files.Usage().OpenFiles != 0 {
					t.Errorf("call %d: a file is still open", i)
				}
			}
		})
	}
}
