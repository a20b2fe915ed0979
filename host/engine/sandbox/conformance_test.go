package sandbox_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/skillet-run/skillet/host/engine/jail"
	"github.com/skillet-run/skillet/host/engine/sandbox"
	"github.com/skillet-run/skillet/host/engine/sandbox/reference"
)

// extismDir finds the modules that ship with the Extism Go SDK, once.
var extismDir = sync.OnceValues(func() (string, error) {
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/extism/go-sdk").Output()
	if err != nil {
		return "", err
	}
	dir := filepath.Join(strings.TrimSpace(string(out)), "wasm")
	_, err = os.Stat(dir)
	return dir, err
})

// extismModule reads one of them, or skips the test.
func extismModule(t testing.TB, name string) []byte {
	t.Helper()
	dir, err := extismDir()
	if err != nil {
		t.Skipf("the modules of github.com/extism/go-sdk are not in the module cache: %v", err)
	}
	b, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

const env = "extism:host/env"

// vars is what var_get and var_set work on; it is the Env of these calls.
type vars map[string][]byte

// extismFunctions are the functions of extism:host/env that reach outside the
// instance, as small as the modules need them.
func extismFunctions() []sandbox.HostFunc {
	i64 := []sandbox.ValueType{sandbox.I64}
	f := func(name string, params, results []sandbox.ValueType, call func(g *sandbox.Guest, s []uint64) error) sandbox.HostFunc {
		return sandbox.HostFunc{Module: env, Name: name, Params: params, Results: results,
			Call: func(_ context.Context, g *sandbox.Guest, s []uint64) error { return call(g, s) }}
	}
	out := []sandbox.HostFunc{
		f("config_get", i64, i64, func(g *sandbox.Guest, s []uint64) error {
			value, ok := g.Config()[blockText(g, s[0])]
			return answer(g, s, []byte(value), ok)
		}),
		f("var_get", i64, i64, func(g *sandbox.Guest, s []uint64) error {
			value, ok := g.Env().(vars)[blockText(g, s[0])]
			return answer(g, s, value, ok)
		}),
		f("var_set", []sandbox.ValueType{sandbox.I64, sandbox.I64}, nil, func(g *sandbox.Guest, s []uint64) error {
			g.Env().(vars)[blockText(g, s[0])] = []byte(blockText(g, s[1]))
			return nil
		}),
		f("http_request", []sandbox.ValueType{sandbox.I64, sandbox.I64}, i64, func(*sandbox.Guest, []uint64) error {
			return errors.New("not allowed")
		}),
		f("http_status_code", nil, []sandbox.ValueType{sandbox.I32}, func(_ *sandbox.Guest, s []uint64) error { s[0] = 0; return nil }),
		f("http_headers", nil, i64, func(_ *sandbox.Guest, s []uint64) error { s[0] = 0; return nil }),
	}
	for level := sandbox.LevelTrace; level <= sandbox.LevelError; level++ {
		out = append(out, f("log_"+level.String(), i64, nil, func(g *sandbox.Guest, s []uint64) error {
			g.Log(level, blockText(g, s[0]))
			g.Free(s[0])
			return nil
		}))
	}
	return out
}

func blockText(g *sandbox.Guest, off uint64) string {
	b, _ := g.Block(off)
	return string(b)
}

// answer returns a new block, or 0 when there is none.
func answer(g *sandbox.Guest, s []uint64, b []byte, ok bool) (err error) {
	s[0] = 0
	if ok {
		s[0], err = g.NewBlock(b)
	}
	return err
}

// userFunction is a host function for both engines.
type userFunction struct {
	module, name    string
	params, results []byte
	change          func([]byte) []byte    // of one block
	number          func(s []uint64) error // of plain numbers
}

func (u userFunction) ours() sandbox.HostFunc {
	return sandbox.HostFunc{Module: u.module, Name: u.name, Params: u.params, Results: u.results,
		Call: func(_ context.Context, g *sandbox.Guest, s []uint64) error {
			if u.number != nil {
				return u.number(s)
			}
			return answer(g, s, u.change([]byte(blockText(g, s[0]))), true)
		}}
}

func (u userFunction) theirs() reference.Function {
	return reference.Function{Module: u.module, Name: u.name, Params: u.params, Results: u.results,
		Call: func(m reference.Memory, s []uint64) error {
			if u.number != nil {
				return u.number(s)
			}
			b, err := m.Block(s[0])
			if err == nil {
				s[0], err = m.NewBlock(u.change(b))
			}
			return err
		}}
}

func userFunctions() []userFunction {
	i64 := []byte{sandbox.I64}
	i32 := []byte{sandbox.I32}
	prefix := func(p string) func([]byte) []byte {
		return func(b []byte) []byte { return append([]byte(p), b...) }
	}
	nothing := func([]uint64) error { return nil }
	return []userFunction{
		{module: "extism:host/user", name: "mult", params: []byte{sandbox.I64, sandbox.I64}, results: i64,
			number: func(s []uint64) error { s[0] = uint64(uint32(int32(s[0]) * int32(s[1]))); return nil }},
		{module: "host", name: "to_upper", params: i64, results: i64, change: bytes.ToUpper},
		{module: "extism:host/user", name: "hostGreenMessage", params: i64, results: i64, change: prefix("green:")},
		{module: "extism:host/user", name: "hostPurpleMessage", params: i64, results: i64, change: prefix("purple:")},
		{module: "lib", name: "capitalize", params: i64, results: i64, change: bytes.ToUpper},
		{module: "dylibso_observe", name: "instrument_enter", params: i32, number: nothing},
		{module: "dylibso_observe", name: "instrument_exit", params: i32, number: nothing},
		{module: "dylibso_observe", name: "instrument_memory_grow", params: i32, number: nothing},
	}
}

// extismCase is one call on both engines. want is what the SDK's own tests
// expect; "" leaves it to the comparison.
type extismCase struct {
	file, export, input string
	config              map[string]string
	want                string
	fails               bool
	code                uint32
}

func extismCases() []extismCase {
	return []extismCase{
		{file: "alloc.wasm", export: "run_test"},
		{file: "config.wasm", export: "run_test", config: map[string]string{"thing": "hello"}, want: `{"config": "hello"}`},
		{file: "config.wasm", export: "run_test", want: `{"config": "<unset by host>"}`},
		{file: "count_vowels.wasm", export: "count_vowels", input: "hello world", want: `{"count":3,"total":3,"vowels":"aeiouAEIOU"}`},
		{file: "count_vowels.wasm", export: "count_vowels", input: strings.Repeat("aeiou ", 20_000)},
		{file: "count_vowels.wasm", export: "count_vowels", want: `{"count":0,"total":0,"vowels":"aeiouAEIOU"}`},
		{file: "count_vowels_std.wasm", export: "_start", input: "hello world"},
		{file: "exit.wasm", export: "_start", config: map[string]string{"code": "500"}, fails: true, code: 500},
		{file: "exit.wasm", export: "_start", config: map[string]string{"code": "0"}},
		{file: "exit.wasm", export: "_start", config: map[string]string{"code": "-1"}, fails: true, code: 0xffffffff},
		{file: "exit.wasm", export: "_start", config: map[string]string{"code": "abc"}, fails: true, code: 1},
		{file: "exit.wasm", export: "_start", fails: true, code: 2},
		{file: "fail.wasm", export: "run_test", fails: true, code: 1},
		{file: "fs.wasm", export: "run_test", fails: true, code: 1},     // reads /mnt/test.txt, which
		{file: "fs_std.wasm", export: "run_test", fails: true, code: 1}, // nobody granted

		{file: "hello.wasm", export: "run_test", want: "Hello, world!"},
		{file: "hello_haskell.wasm", export: "testing", input: "John", config: map[string]string{"greeting": "Howdy"}, want: "Howdy, John"},
		{file: "host.wasm", export: "run_test", want: "42 x 2 = 84"},
		{file: "host_memory.wasm", export: "run_test", input: "Frodo", want: "HELLO FRODO!"},
		{file: "host_multiple.wasm", export: "say_green", input: "John Doe"},
		{file: "host_multiple.wasm", export: "say_purple", input: "Jane Doe"},
		{file: "http.wasm", export: "run_test", fails: true, code: 1},
		{file: "http_headers.wasm", export: "http_get", fails: true, code: 0xffffffff},
		{file: "input_offset.wasm", export: "input_offset_length", input: "hello world", want: "\x0b\x00\x00\x00\x00\x00\x00\x00"},
		{file: "lib.wasm", export: "capitalize", fails: true},
		{file: "log.wasm", export: "run_test"},
		{file: "main.wasm", export: "run_test", input: "benjamin", want: "Hello, BENJAMIN"},
		{file: "nested.c.instr.wasm", export: "_start", want: "Hello from Wasm!\n"},
		{file: "noop.wasm", export: "run_test"},
		{file: "println.wasm", export: "run_test", input: "to standard output"},
		{file: "read_write.wasm", export: "try_read", config: map[string]string{"path": "/nowhere/at/all"}, fails: true},
		{file: "read_write.wasm", export: "try_write", input: "x", config: map[string]string{"path": "/nowhere/at/all"}, fails: true},
		{file: "replace.wasm", export: "run_test", input: "a test of test", want: "a wasm of wasm"},
		{file: "sleep.wasm", export: "run_test", config: map[string]string{"duration": "0"}, want: "slept for 0 seconds"},
		{file: "std_command.wasm", export: "_start", input: "ben", want: "hello ben"},
		{file: "var.wasm", export: "run_test"},
	}
}

// TestExtismModules runs every module that ships with the Extism SDK, unchanged,
// on this engine and on the SDK's.
func TestExtismModules(t *testing.T) {
	t.Parallel()
	functions := extismFunctions()
	var theirs []reference.Function
	for _, u := range userFunctions() {
		functions = append(functions, u.ours())
		theirs = append(theirs, u.theirs())
	}
	r := newRuntime(t, sandbox.Options{Functions: functions})
	covered := map[string][]extismCase{}
	for _, c := range extismCases() {
		covered[c.file] = append(covered[c.file], c)
	}
	for file, cases := range covered {
		t.Run(file, func(t *testing.T) {
			t.Parallel()
			wasm := extismModule(t, file)
			if testing.Short() && len(wasm) > 1<<20 {
				t.Skip("takes seconds to compile on both engines")
			}
			m := loadIn(t, r, wasm)
			for _, c := range cases {
				compareExtism(t, m, wasm, c, theirs)
			}
		})
	}
	dir, err := extismDir()
	if err != nil {
		t.Skip(err)
	}
	files, _ := filepath.Glob(filepath.Join(dir, "*.wasm"))
	for _, f := range files {
		if covered[filepath.Base(f)] == nil {
			t.Errorf("%s is not tried", filepath.Base(f))
		}
	}
}

func compareExtism(t *testing.T, m *sandbox.Module, wasm []byte, c extismCase, functions []reference.Function) {
	ctx := context.Background()
	ref, err := reference.Load(ctx, wasm, reference.Options{Config: c.config, Functions: functions, Clock: true})
	if err != nil {
		t.Fatalf("reference: %v", err)
	}
	defer ref.Close(ctx)
	want, wantErr := ref.Call(ctx, c.export, []byte(c.input))

	got, gotErr := m.Call(ctx, sandbox.Call{Export: c.export, Input: []byte(c.input), Config: c.config, Env: vars{}, Clock: true})

	failed := wantErr != nil || want.Code != 0
	if (gotErr != nil) != failed || failed != c.fails {
		t.Fatalf("ours: %v; reference: %v, code %d; want failure: %v", gotErr, wantErr, want.Code, c.fails)
	}
	// The SDK throws the output of WASI commands away.
	command := m.Info().ABI == sandbox.ABIWASICommand && c.export == "_start"
	if gotErr == nil && !command && !bytes.Equal(got.Output, want.Output) {
		t.Errorf("output %q, reference %q", got.Output, want.Output)
	}
	if c.want != "" && string(got.Output) != c.want {
		t.Errorf("output %q, want %q", got.Output, c.want)
	}
	var guest *sandbox.GuestError
	if errors.As(gotErr, &guest) {
		if got.ExitCode != want.Code || c.code != 0 && got.ExitCode != c.code {
			t.Errorf("code %d, reference %d", got.ExitCode, want.Code)
		}
		if guest.Message != "" && guest.Message != wantErr.Error() {
			t.Errorf("message %q, reference %q", guest.Message, wantErr)
		}
	}
}

// TestExtismVar keeps a value from one call to the next where the host does.
func TestExtismVar(t *testing.T) {
	t.Parallel()
	m := load(t, extismModule(t, "var.wasm"), extismFunctions()...)
	v := vars{"a": binary.LittleEndian.AppendUint32(nil, 10)}
	for _, want := range []uint32{20, 40} {
		mustCall(t, m, sandbox.Call{Export: "run_test", Env: v})
		if got := binary.LittleEndian.Uint32(v["a"]); got != want {
			t.Errorf("a = %d, want %d", got, want)
		}
	}
}

// TestExtismLog sees every level, and get_log_level says when nobody listens.
func TestExtismLog(t *testing.T) {
	t.Parallel()
	m := load(t, extismModule(t, "log.wasm"), extismFunctions()...)
	var lines []string
	mustCall(t, m, sandbox.Call{Export: "run_test", Log: func(l sandbox.Level, msg string) { lines = append(lines, l.String()+": "+msg) }})
	want := "trace: this is a trace log|debug: this is a debug log|info: this is an info log|warn: this is a warning log|error: this is an error log"
	if got := strings.Join(lines, "|"); got != want {
		t.Errorf("log %q, want %q", got, want)
	}
	mustCall(t, m, sandbox.Call{Export: "run_test"})
}

// TestExtismSleep is killed by its deadline while it sleeps.
func TestExtismSleep(t *testing.T) {
	t.Parallel()
	m := load(t, extismModule(t, "sleep.wasm"), extismFunctions()...)
	c := sandbox.Call{Export: "run_test", Config: map[string]string{"duration": "60"}, Limits: sandbox.Limits{Wall: 50 * time.Millisecond}, Clock: true}
	_, err := call(t, m, c)
	wantLimit(t, err, sandbox.ErrTime, "50ms", "max_execution_time")
}

// TestExtismFiles reads and writes through the jail, where the SDK would mount
// a directory.
func TestExtismFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "test.txt")
	if err := os.WriteFile(path, []byte("hello world!"), 0o600); err != nil {
		t.Fatal(err)
	}
	m := load(t, extismModule(t, "read_write.wasm"), extismFunctions()...)
	config := map[string]string{"path": path}
	for _, write := range []bool{false, true} {
		files := openJail(t, jail.Quota{}, jail.Root{Path: dir, Write: write})
		r := mustCall(t, m, sandbox.Call{Export: "try_read", Config: config, FS: files})
		if string(r.Output) != "hello world!" {
			t.Errorf("read %q", r.Output)
		}
		_, err := call(t, m, sandbox.Call{Export: "try_write", Config: config, FS: files, Input: []byte("changed")})
		got, _ := os.ReadFile(path)
		if write != (err == nil) || write == (string(got) == "hello world!") {
			t.Errorf("write granted %v: error %v, file %q", write, err, got)
		}
	}
}

// openJail opens a file tree that allows everything in its roots.
func openJail(t testing.TB, q jail.Quota, roots ...jail.Root) *jail.FS {
	t.Helper()
	f, err := jail.Open(roots, jail.GuardFunc(func(jail.Op, string) error { return nil }), q)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}
