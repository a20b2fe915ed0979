package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/urfave/cli/v2"

	"github.com/skillet-run/skillet/cmd/skillet/internal/cmdline"
	"github.com/skillet-run/skillet/host/base/secret"
	"github.com/skillet-run/skillet/host/engine/sandbox/wasmbin/wasmtest"
	"github.com/skillet-run/skillet/host/fetch/catalog"
	"github.com/skillet-run/skillet/host/run/mcpserver/mcptest"
)

var update = flag.Bool("update", false, "rewrite the golden parts of the scripts")

func TestMain(m *testing.M) {
	mcptest.Main()
	builtinCatalog = testCatalog
	testscript.Main(runs{m}, map[string]func(){"skillet": main, "skillet-bounded": bounded, "skillet-keyring": withKeyring, "ten": tenProvider, "xdg-open": browser, "suite-client": suiteClient, "paid": paidProvider})
}

// mcpServer is the address of an MCP server that asks for a token.
func mcpServer(t *testing.T) string {
	h := mcptest.Handler("", true)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer token-of-the-server" {
			http.Error(w, "who are you?", http.StatusUnauthorized)
			return
		}
		h.ServeHTTP(w, r)
	}))
	t.Cleanup(s.Close)
	return s.URL
}

// browser is the browser of a person who agrees to everything.
func browser() {
	res, err := http.Get(os.Args[1])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	_ = res.Body.Close()
}

// loginServer starts the server of $LOGIN_SERVER, to which one logs in by OAuth.
func loginServer(t *testing.T, e *testscript.Env) {
	s := mcptest.NewIssuer(mcptest.IssuerOptions{})
	t.Cleanup(s.Close)
	e.Values["issuer"] = s
	e.Setenv("LOGIN_SERVER", s.Server)
}

// issuer changes what gives the tokens for $LOGIN_SERVER, or looks what it did.
func issuer(ts *testscript.TestScript, neg bool, args []string) {
	s := ts.Value("issuer").(*mcptest.Issuer)
	switch args[0] {
	case "deny", "agree":
		s.Change(func(o *mcptest.IssuerOptions) { o.Deny = args[0] == "deny" })
	case "unregistering":
		s.Change(func(o *mcptest.IssuerOptions) { o.Unregistering = true })
	case "scope":
		s.Change(func(o *mcptest.IssuerOptions) { o.Scope = args[1] })
	case "expire", "end":
		s.Expire(args[0] == "end")
	case "count":
		c := s.Counts()
		if got := fmt.Sprintf("renewed %d, reused %d, revoked %d", c.Renewed, c.Reused, c.Revoked); strings.Contains(got, args[1]) == neg {
			ts.Fatalf("it counts %s", got)
		}
	default:
		ts.Fatalf("issuer knows no %s", args[0])
	}
}

// bounded is the program on a machine whose administrator's directory is $SYSTEM.
func bounded() {
	os.Exit(skilletMain(os.Getenv("SYSTEM"), nil))
}

// withKeyring is the program in a session with the keyring in the file $KEYRING,
// which is locked while there is a file of that name with .locked behind it.
func withKeyring() {
	os.Exit(skilletMain("", keyringFile(os.Getenv("KEYRING"))))
}

// testCatalog is the catalog in the file $CATALOG, with the packages of it in the same
// folder, as a release has one; none when it is not set.
func testCatalog() *catalog.Catalog {
	path := os.Getenv("CATALOG")
	var list catalog.List
	if path == "" {
		return nil
	}
	b, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(b, &list)
	}
	if err != nil {
		panic(err)
	}
	return catalog.New(list, filepath.Dir(path))
}

// A keyringFile is a keyring in the file of that path.
type keyringFile string

func (f keyringFile) read() (map[string]string, error) {
	if _, err := os.Stat(string(f) + ".locked"); err == nil {
		return nil, secret.ErrLocked
	}
	all := map[string]string{}
	b, err := os.ReadFile(string(f))
	if err == nil {
		err = json.Unmarshal(b, &all)
	}
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return all, err
}

func (f keyringFile) Get(name string) (string, error) {
	all, err := f.read()
	if text, ok := all[name]; ok || err != nil {
		return text, err
	}
	return "", secret.ErrNoEntry
}

func (f keyringFile) Set(name, value string) error {
	all, err := f.read()
	if err != nil {
		return err
	}
	all[name] = value
	b, err := json.Marshal(all)
	if err != nil {
		return err
	}
	return os.WriteFile(string(f), b, 0o600)
}

// runs runs the tests, and deletes what they share.
type runs struct{ *testing.M }

func (r runs) Run() int {
	code := r.M.Run()
	if c, err := shelved(); err == nil {
		if err := c.keep(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	if p, err := program(); err == nil && p.dir != "" {
		os.RemoveAll(p.dir)
	}
	return code
}

// made is the program that tests run, and the directory that was made for it,
// if any.
type made struct{ dir, path string }

// program is the test binary itself, in which main runs under that name; but a
// plain build when the test binary has the race detector, with which compiling
// modules takes ten times as long.
var program = sync.OnceValues(func() (p made, err error) {
	if !underRace {
		p.path, err = os.Executable()
		return p, err
	}
	if p.dir, err = os.MkdirTemp("", "skillet-program-"); err != nil {
		return p, err
	}
	p.path = filepath.Join(p.dir, "skillet")
	if out, err := exec.Command("go", "build", "-o", p.path, ".").CombinedOutput(); err != nil {
		return p, fmt.Errorf("build skillet: %w: %s", err, out)
	}
	return p, nil
})

// TestScripts runs testdata/script: each is what a person types, and what they
// see. Beside testscript's own commands there are
//
//	exits CODE COMMAND...   the command ends with this exit code
//	module KIND FILE        writes a small WebAssembly module
//	flip FILE               changes one bit in the middle of a file
//	spoil FILE TEXT         changes one bit in the first TEXT of a file
//	append FILE TEXT...     appends a line to a file
//	id FILE VAR             sets VAR to the id of the only proposal in FILE
//	member FILE NAME VAR    sets VAR to a member of the JSON object in FILE
//	line FILE VAR           sets VAR to the first line of a file
//	blob FILE PATH VAR      sets VAR to the stored copy of a file of a package
//	                        that info printed to FILE
//	expand FILE...          puts the values of variables into files
//	spoil-session HOME SKILL/NAME  changes one bit in the file of a session
//	archive KIND FILE       writes a .skill file that is broken in some way
//	warm                    the home has the code that other scripts compiled
//	catalog DIR KEY NAME... lists the packages of these names in a directory, for $CATALOG,
//	                        signed with a key that is made for it; with - by nobody
//	shelve FILE NAME        has the web server serve a file as /shelf/NAME
//
// and the variables $SERVER, the address of a web server on this machine,
// $GUEST and $COMMAND, modules that were built from testdata, $WEB, $KEEP and
// $FILES, parts of $GUEST that call nothing else of the host, and $EXTISM, the
// modules of github.com/extism/go-sdk, where the condition [extism] holds; and
// $REGISTRY and $GUARDED, registries of which the second wants a password. The
// conditions [qjs] and [python] hold where engines of interpreters can be had, and [race]
// where the program is a plain build.
func TestScripts(t *testing.T) {
	testscript.Run(t, scripts(t))
}

// scripts are the parameters that all scripts are run with.
func scripts(t *testing.T) testscript.Params {
	t.Helper()
	lent := &shelf{}
	server := httptest.NewServer(lent.before(pages()))
	t.Cleanup(server.Close)
	plainly, err := program()
	if err != nil {
		t.Fatal(err)
	}
	guests := t.TempDir()
	buildGuest(t, filepath.Join(guests, "guest.wasm"), "./testdata/guest", "-buildmode=c-shared")
	buildGuest(t, filepath.Join(guests, "command.wasm"), "./testdata/command")
	built := []string{filepath.Join(guests, "guest.wasm"), filepath.Join(guests, "command.wasm")}
	for _, part := range []string{"web", "keep", "files"} {
		built = append(built, filepath.Join(guests, part+".wasm"))
		buildGuest(t, filepath.Join(guests, part+".wasm"), "./testdata/guest", "-buildmode=c-shared", "-tags=part,"+part)
	}
	compileFirst(t, built...)
	code, err := shelved()
	if err != nil {
		t.Fatal(err)
	}
	extism, extismErr := extismModules()
	open, guarded := registries(t)
	return testscript.Params{
		Dir:           "testdata/script",
		UpdateScripts: *update,
		Setup: func(e *testscript.Env) error {
			// The scripts use tools that every Unix has there, whatever the PATH of who runs them.
			e.Setenv("PATH", strings.Join([]string{e.Getenv("PATH"), "/usr/bin", "/bin"}, string(filepath.ListSeparator)))
			if underRace {
				e.Setenv("PATH", plainly.dir+string(filepath.ListSeparator)+e.Getenv("PATH"))
			}
			e.Setenv("SKILLET_HOME", filepath.Join(e.WorkDir, "home"))
			e.Setenv("HOME", filepath.Join(e.WorkDir, "person"))
			e.Setenv("USER", "ada")
			e.Setenv("SKILLET_SECRET_KEY", "file")
			e.Setenv("SERVER", server.URL)
			e.Setenv("REGISTRY", open)
			e.Setenv("MCP_SERVER", mcpServer(t))
			loginServer(t, e)
			e.Setenv("GUARDED", guarded)
			e.Setenv("DOCKER_CONFIG", filepath.Join(e.WorkDir, "docker"))
			e.Setenv("GUEST", filepath.Join(guests, "guest.wasm"))
			e.Setenv("COMMAND", filepath.Join(guests, "command.wasm"))
			for _, part := range []string{"web", "keep", "files"} {
				e.Setenv(strings.ToUpper(part), filepath.Join(guests, part+".wasm"))
			}
			e.Setenv("EXTISM", extism)
			e.Setenv("npm_config_cache", npmCache())
			e.Setenv("npm_config_registry", os.Getenv("npm_config_registry"))
			home := filepath.Join(e.WorkDir, "home")
			e.Defer(func() {
				if err := code.take(home); err != nil {
					t.Error(err)
				}
			})
			return nil
		},
		Condition: func(name string) (bool, error) {
			switch name {
			case "extism":
				return extismErr == nil, nil
			case "qjs", "python", "cpython", "cpython-office":
				return engineThere(t, name), nil
			case "race":
				return underRace, nil
			}
			return false, fmt.Errorf("unknown condition %s", name)
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits": exits, "line": firstLine, "module": module, "flip": flip, "spoil": spoil, "id": id, "member": member, "blob": blob, "expand": expand, "archive": archive, "spoil-session": spoilSession, "spoil-store": spoilStore,
			"append": appendTo, "shelve": lent.shelve, "deep": deep, "warm": code.warm, "issuer": issuer, "catalog": makeCatalog,
		},
	}
}

// appendTo appends words to a file, as a line.
func appendTo(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: append FILE TEXT...")
	}
	f, err := os.OpenFile(ts.MkAbs(args[0]), os.O_APPEND|os.O_WRONLY, 0o644)
	ts.Check(err)
	_, err = fmt.Fprintln(f, strings.Join(args[1:], " "))
	ts.Check(errors.Join(err, f.Close()))
}

// makeCatalog lists packages as the release tool does. The key is the same for a name.
func makeCatalog(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 3 {
		ts.Fatalf("usage: catalog DIR KEY NAME...")
	}
	var key crypto.Signer
	if args[1] != "-" {
		seed := sha256.Sum256([]byte(args[1]))
		key = ed25519.NewKeyFromSeed(seed[:])
	}
	_, err := catalog.Make(ts.MkAbs(args[0]), args[2:], key)
	ts.Check(err)
}

// deep writes a script with lists nested so and so often.
func deep(ts *testscript.TestScript, _ bool, args []string) {
	n, err := strconv.Atoi(args[1])
	ts.Check(err)
	text := "export function hi() { return 1; }\nexport const list = " + strings.Repeat("[", n) + strings.Repeat("]", n) + ";\n"
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(text), 0o644))
}

// extismModules is the directory of the modules that ship with the Extism SDK.
func extismModules() (string, error) {
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/extism/go-sdk").Output()
	if err != nil {
		return "", err
	}
	dir := filepath.Join(strings.TrimSpace(string(out)), "wasm")
	_, err = os.Stat(dir)
	return dir, err
}

// buildGuest compiles a package to a module. It reads the sources first: the
// cache of go test knows what a test has read, and not what its children have.
func buildGuest(t *testing.T, out, pkg string, flags ...string) {
	t.Helper()
	for _, dir := range []string{pkg, "../../sdk/go"} {
		sources, err := filepath.Glob(filepath.Join(dir, "*.go"))
		if err != nil || len(sources) == 0 {
			t.Fatalf("no sources in %s: %v", dir, err)
		}
		for _, f := range sources {
			if _, err := os.ReadFile(f); err != nil {
				t.Fatal(err)
			}
		}
	}
	args := append([]string{"build", "-trimpath", "-ldflags=-s -w", "-o", out}, append(flags, pkg)...)
	cmd := exec.Command("go", args...)
	cmd.Env = append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm")
	if text, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("build %s: %v\n%s", pkg, err, text)
	}
}

func expand(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 {
		ts.Fatalf("usage: expand FILE...")
	}
	for _, f := range args {
		ts.Check(os.WriteFile(ts.MkAbs(f), []byte(os.Expand(ts.ReadFile(f), ts.Getenv)), 0o644))
	}
}

// firstLine sets a variable to the first line of a file.
func firstLine(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: line FILE VAR")
	}
	first, _, _ := strings.Cut(ts.ReadFile(args[0]), "\n")
	ts.Setenv(args[1], first)
}

// archives are .skill files that somebody broke.
var archives = map[string]func(skill []byte) ([]byte, error){
	"truncated": func(skill []byte) ([]byte, error) { return skill[:len(skill)/2], nil },
	"traversal": func([]byte) ([]byte, error) {
		return tarball(&tar.Header{Name: "../../escaped.txt", Mode: 0o644, Size: 5}, strings.NewReader("hello"))
	},
	"link": func([]byte) ([]byte, error) {
		return tarball(&tar.Header{Name: "skill.json", Typeflag: tar.TypeSymlink, Linkname: "/etc/passwd"}, nil)
	},
	"device": func([]byte) ([]byte, error) {
		return tarball(&tar.Header{Name: "skill.json", Typeflag: tar.TypeChar, Devmajor: 1, Devminor: 5}, nil)
	},
	"bomb": func([]byte) ([]byte, error) { // 200 MB of zeros in 200 kB
		const size = 200 << 20
		return tarball(&tar.Header{Name: "assets/zeros", Mode: 0o644, Size: size}, io.LimitReader(zeros{}, size))
	},
	"garbage": func([]byte) ([]byte, error) { return []byte("not a package at all"), nil },
	"empty":   func([]byte) ([]byte, error) { return nil, nil },
}

type zeros struct{}

func (zeros) Read(b []byte) (int, error) {
	clear(b)
	return len(b), nil
}

func tarball(h *tar.Header, content io.Reader) ([]byte, error) {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	w := tar.NewWriter(z)
	err := w.WriteHeader(h)
	if err == nil && content != nil {
		_, err = io.Copy(w, content)
	}
	err = errors.Join(err, w.Close(), z.Close())
	return b.Bytes(), err
}

// archive breaks what is in FILE, in one of the ways.
func archive(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 || archives[args[0]] == nil {
		ts.Fatalf("usage: archive KIND FILE, with KIND one of %v", slices.Sorted(maps.Keys(archives)))
	}
	path := ts.MkAbs(args[1])
	whole, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		ts.Check(err)
	}
	broken, err := archives[args[0]](whole)
	ts.Check(err)
	ts.Check(os.WriteFile(path, broken, 0o644))
}

// pages are what the web server serves.
func pages() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /csv-1.0.0.skill", func(w http.ResponseWriter, _ *http.Request) {
		if err := writeEcho(w); err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
		}
	})
	mux.HandleFunc("GET /hello", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "hello") })
	mux.HandleFunc("GET /away", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "http://elsewhere.example/", http.StatusFound)
	})
	mux.HandleFunc("GET /api/who", func(w http.ResponseWriter, r *http.Request) { // what the credentials are, not the credentials
		switch r.Header.Get("Authorization") {
		case "":
			fmt.Fprint(w, "nobody")
		case "Bearer hunter2hunter2":
			fmt.Fprint(w, "ada")
		default:
			fmt.Fprint(w, "a stranger")
		}
	})
	mux.HandleFunc("GET /api/echo", func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, r.Header.Get("Authorization")) })
	mux.HandleFunc("GET /api/out", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/hello", http.StatusFound) })
	return mux
}

// exits runs a command that must end with the given exit code.
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE COMMAND...")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	err = ts.Exec(args[1], args[2:]...)
	got := 0
	if exit := (*exec.ExitError)(nil); err != nil {
		var ok bool
		if exit, ok = err.(*exec.ExitError); !ok {
			ts.Fatalf("%v", err)
		}
		got = exit.ExitCode()
	}
	if got != want {
		ts.Fatalf("exit code %d, want %d", got, want)
	}
}

// modules are the modules that scripts can have.
var modules = map[string]func() []byte{
	"echo": echo, "notebook": notebook, "caller": caller, "reader": readerModule,
	"spin": func() []byte {
		m := wasmtest.New()
		m.ExportFunc("spin", m.Func(wasmtest.Signature{}, "", wasmtest.Loop(wasmtest.Empty, wasmtest.Br(0))))
		return m.Bytes()
	},
	"trap": func() []byte {
		m := wasmtest.New()
		m.ExportFunc("trap", m.Func(wasmtest.Signature{}, "", wasmtest.Op(0x00)))
		return m.Bytes()
	},
	"wants": func() []byte { // reads the file data, and fails when it is refused
		m := wasmtest.New()
		read := m.ImportFunc("skillet:host/v1", "fs_read", wasmtest.Sig("i32 i32 i32 i32", "i64"))
		write := m.ImportFunc("skillet:host/v1", "output_write", wasmtest.Sig("i32 i32", ""))
		m.Memory(1, 1)
		m.Data(0, []byte(`{"path":"data"}`))
		m.Data(100, []byte("was read"))
		m.ExportFunc("echo", m.Func(wasmtest.Sig("", "i32"), "",
			wasmtest.I32Const(100), wasmtest.I32Const(8), wasmtest.Call(write),
			wasmtest.I32Const(0), wasmtest.I32Const(15), wasmtest.I32Const(0), wasmtest.I32Const(0), wasmtest.Call(read),
			wasmtest.Op(0xa7), wasmtest.Op(0x45)))
		return m.Bytes()
	},
	"fickle": func() []byte { // good answers, bad does not
		m := wasmtest.New()
		write := m.ImportFunc("skillet:host/v1", "output_write", wasmtest.Signature{Params: []byte{0x7f, 0x7f}})
		m.Memory(1, 1)
		m.Data(0, []byte(`{"fine":true}`))
		m.ExportFunc("good", m.Func(wasmtest.Signature{}, "", wasmtest.I32Const(0), wasmtest.I32Const(13), wasmtest.Call(write)))
		m.ExportFunc("bad", m.Func(wasmtest.Signature{}, "", wasmtest.Op(0x00)))
		return m.Bytes()
	},
	"broken": func() []byte { // has echo, and fails
		m := wasmtest.New()
		m.ExportFunc("echo", m.Func(wasmtest.Signature{}, "", wasmtest.Op(0x00)))
		return m.Bytes()
	},
	"bomb": func() []byte { // says it has four thousand million functions
		return []byte("\x00asm\x01\x00\x00\x00\x03\x05\xff\xff\xff\xff\x0f")
	},
}

// readerModule makes the file begun, goes on reading data until it is refused, and says so.
func readerModule() []byte {
	m := wasmtest.New()
	sig := wasmtest.Sig("i32 i32 i32 i32", "i64")
	read, write := m.ImportFunc("skillet:host/v1", "fs_read", sig), m.ImportFunc("skillet:host/v1", "fs_write", sig)
	output := m.ImportFunc("skillet:host/v1", "output_write", wasmtest.Sig("i32 i32", ""))
	m.Memory(1, 1)
	text := func(at int32, s string) []byte {
		m.Data(at, []byte(s))
		return wasmtest.Code(wasmtest.I32Const(at), wasmtest.I32Const(int32(len(s))))
	}
	begun := wasmtest.Code(text(0, `{"path":"begun"}`), text(100, "x"), wasmtest.Call(write), wasmtest.Drop())
	again := wasmtest.Loop(wasmtest.Empty, text(200, `{"path":"data"}`), text(300, ""), wasmtest.Call(read), wasmtest.Op(0xa7), wasmtest.BrIf(0))
	m.ExportFunc("run", m.Func(wasmtest.Sig("", "i32"), "", begun, again, text(400, "refused"), wasmtest.Call(output), wasmtest.I32Const(0)))
	return m.Bytes()
}

// echo answers with its input.
func echo() []byte {
	m := wasmtest.New()
	length := m.ImportFunc("skillet:host/v1", "input_length", wasmtest.Signature{Results: []byte{0x7e}})
	read := m.ImportFunc("skillet:host/v1", "input_read", wasmtest.Signature{Params: []byte{0x7f, 0x7e, 0x7f}, Results: []byte{0x7f}})
	write := m.ImportFunc("skillet:host/v1", "output_write", wasmtest.Signature{Params: []byte{0x7f, 0x7f}})
	m.Memory(16, 16)
	m.ExportFunc("echo", m.Func(wasmtest.Signature{}, "",
		wasmtest.I32Const(0),
		wasmtest.I32Const(0), wasmtest.I64Const(0), wasmtest.Call(length), wasmtest.Op(0xa7), wasmtest.Call(read),
		wasmtest.Call(write),
	))
	return m.Bytes()
}

func module(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 || modules[args[0]] == nil {
		ts.Fatalf("usage: module KIND FILE, with KIND one of %v", slices.Sorted(maps.Keys(modules)))
	}
	path := ts.MkAbs(args[1])
	ts.Check(os.MkdirAll(filepath.Dir(path), 0o755))
	ts.Check(os.WriteFile(path, modules[args[0]](), 0o644))
}

func flip(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: flip FILE")
	}
	found, err := filepath.Glob(ts.MkAbs(args[0]))
	ts.Check(err)
	if len(found) != 1 {
		ts.Fatalf("%s is %d files", args[0], len(found))
	}
	b, err := os.ReadFile(found[0])
	ts.Check(err)
	b[len(b)/2] ^= 1
	ts.Check(os.Chmod(found[0], 0o600))
	ts.Check(os.WriteFile(found[0], b, 0o600))
}

func spoil(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: spoil FILE TEXT")
	}
	path := ts.MkAbs(args[0])
	b, err := os.ReadFile(path)
	ts.Check(err)
	i := bytes.Index(b, []byte(args[1]))
	if i < 0 {
		ts.Fatalf("%s does not have %s", args[0], args[1])
	}
	b[i] ^= 1
	ts.Check(os.WriteFile(path, b, 0o600))
}

// spoilStore is spoil for whatever file of a store has the text.
func spoilStore(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: spoil-store STORE TEXT")
	}
	files, err := os.ReadDir(filepath.Join(ts.MkAbs(args[0]), "db"))
	ts.Check(err)
	n := 0
	for _, f := range files {
		path := filepath.Join(ts.MkAbs(args[0]), "db", f.Name())
		if b, err := os.ReadFile(path); err == nil && bytes.Contains(b, []byte(args[1])) {
			spoil(ts, false, []string{path, args[1]})
			n++
		}
	}
	if n == 0 {
		ts.Fatalf("%s does not have %s", args[0], args[1])
	}
}

// member sets a variable to a member of the JSON object in a file.
func member(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: member FILE NAME VAR")
	}
	var all map[string]any
	ts.Check(json.Unmarshal([]byte(ts.ReadFile(args[0])), &all))
	ts.Setenv(args[2], fmt.Sprint(all[args[1]]))
}

func id(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: id FILE VAR")
	}
	var ps []struct{ ID string }
	ts.Check(json.Unmarshal([]byte(ts.ReadFile(args[0])), &ps))
	if len(ps) != 1 {
		ts.Fatalf("%d proposals wait", len(ps))
	}
	ts.Setenv(args[1], ps[0].ID)
}

func blob(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: blob FILE PATH VAR")
	}
	var about struct {
		Files []struct{ Path, Digest string }
	}
	ts.Check(json.Unmarshal([]byte(ts.ReadFile(args[0])), &about))
	for _, f := range about.Files {
		if f.Path == args[1] {
			ts.Setenv(args[2], filepath.Join(ts.Getenv("SKILLET_HOME"), "blobs", "blobs", strings.Replace(f.Digest, ":", "/", 1)))
			return
		}
	}
	ts.Fatalf("no file %s", args[1])
}

// Every command has an example in its help, and a script that uses it.
func TestEveryCommandHasExampleAndScript(t *testing.T) {
	scripts := ""
	files, err := filepath.Glob("testdata/script/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatal("no scripts", err)
	}
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		scripts += string(b)
	}
	for path, c := range leaves("skillet", newApp(&terminal{}).Commands) {
		if c.Hidden {
			continue
		}
		if !strings.Contains(c.Description, path+" ") && !strings.Contains(c.Description, path+"\n") && !strings.HasSuffix(c.Description, path) && c.Name != "exit-codes" {
			t.Errorf("%s: no example in its help", path)
		}
		if !strings.Contains(scripts, path) && c.Name != "exit-codes" {
			t.Errorf("%s: no script uses it", path)
		}
	}
}

// Every section of the texts is about a command: a command that was written, and never put among the commands, is not
// missed by anything else.
func TestEveryTextIsOfACommand(t *testing.T) {
	app := newApp(&terminal{})
	for path := range textsOfCommands() {
		if l := takeApart(app, append([]string{"skillet"}, strings.Fields(path)...)); l.Command() != path || len(l.Words) > 0 {
			t.Errorf("commands.txt has a text for %s, and there is no such command", path)
		}
	}
}

func leaves(prefix string, cs []*cli.Command) map[string]*cli.Command {
	found := map[string]*cli.Command{}
	for _, c := range cs {
		path := prefix + " " + c.Name
		if len(c.Subcommands) == 0 {
			found[path] = c
		}
		for p, s := range leaves(path, c.Subcommands) {
			found[p] = s
		}
	}
	return found
}

func TestTakeApart(t *testing.T) {
	app := newApp(&terminal{})
	for line, want := range map[string]string{
		"skillet run text a=b --json":                    "skillet run --json -- text a=b",
		"skillet --json run text a=b":                    "skillet run --json -- text a=b",
		"skillet --home h list":                          "skillet list --home h",
		"skillet list --home h":                          "skillet list --home h",
		"skillet run text --input {} --timeout 1s":       "skillet run --input {} --timeout 1s -- text",
		"skillet run text --input=- x":                   "skillet run --input=- -- text x",
		"skillet permission grant files kv --uses 1":     "skillet permission grant --uses 1 -- files kv",
		"skillet permission --uses 1 grant files kv":     "skillet permission grant --uses 1 -- files kv",
		"skillet audit --limit 3 list":                   "skillet audit list --limit 3",
		"skillet approvals show abcd":                    "skillet approvals show -- abcd",
		"skillet run text -- --json":                     "skillet run -- text --json",
		"skillet run text - --json":                      "skillet run --json -- text -",
		"skillet run text --no-such-flag x":              "skillet run --no-such-flag -- text x",
		"skillet run list list":                          "skillet run -- list list",
		"skillet":                                        "skillet",
		"skillet install a b --yes --workspace w --json": "skillet install --yes --workspace w --json -- a b",
	} {
		got := strings.Join(takeApart(app, strings.Fields(line)).Args(), " ")
		if got != want {
			t.Errorf("%s\n got %s\nwant %s", line, got, want)
		}
	}
	if l := takeApart(app, []string{"skillet", "run", "text", "--input"}); l.Missing != "--input" {
		t.Errorf("a flag without its value was not seen: %+v", l)
	}
}

// A line that is taken apart and put together has the words it had, and is
// then taken apart into the same.
func FuzzTakeApart(f *testing.F) {
	f.Add("run text --json")
	f.Add("permission grant -- x --uses")
	f.Add("--home h permission --uses 1 grant files kv")
	app := newApp(&terminal{})
	f.Fuzz(func(t *testing.T, line string) {
		in := append([]string{"skillet"}, strings.Fields(line)...)
		l := takeApart(app, in)
		out := l.Args()
		want := wordsOf(in)
		if l.Missing != "" {
			want = slices.DeleteFunc(want, func(s string) bool { return s == l.Missing })
			out = slices.DeleteFunc(out, func(s string) bool { return s == l.Missing })
		}
		if !slices.Equal(wordsOf(out), want) && !meansTheSame(want, wordsOf(out)) {
			t.Errorf("%q lost or gained words: %q", in, out)
		}
		if again := takeApart(app, out).Args(); l.Missing == "" && !slices.Equal(again, out) {
			t.Errorf("%q became %q, and then %q", in, out, again)
		}
	})
}

// wordsOf are the words of a line in any order, without the "--" among them.
// meansTheSame reports whether the words are the same when one that other programs use for a
// command is in our words: grant is permission grant.
func meansTheSame(words, ours []string) bool {
	for i, w := range words {
		if meaning := cmdline.Synonym(w); meaning != nil && slices.Equal(wordsOf(slices.Concat(words[:i], meaning, words[i+1:])), ours) {
			return true
		}
	}
	return false
}

func wordsOf(line []string) []string {
	words := slices.DeleteFunc(slices.Clone(line), func(s string) bool { return s == "--" })
	slices.Sort(words)
	return words
}

// What the scripts make of a line, in the shells that are here.
func TestShellCompletion(t *testing.T) {
	p := newPerson(t)
	two := wasmtest.New()
	two.ExportFunc("echo", two.Func(wasmtest.Signature{}, ""))
	two.ExportFunc("again", two.Func(wasmtest.Signature{}, ""))
	p.write("echo/main.wasm", two.Bytes())
	p.write("echo/skill.json", []byte(`{"name":"echo","version":"1.0.0","description":"d","type":"code_inline","command":"main.wasm",
		"tools":[{"name":"echo","description":"e","input_schema":{"type":"object","properties":{"text":{"type":"string"}}}},
		{"name":"again","description":"e"}]}`))
	p.must(0, "install", "./echo")
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skipf("no bash here: %v", err)
	}
	p.write("bash.sh", []byte(`source <("$1" completion bash)
COMP_LINE=$2 COMP_POINT=${#2} COMP_WORDS=("${@:3}")
COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
_skillet
printf '%s\n' "${COMPREPLY[@]}"
`))
	for _, c := range []struct{ line, words, want string }{ // words as bash splits them
		{"%s per", "%s|per", "permission"},
		{"%s permission g", "%s|permission|g", "grant"},
		{"%s run ec", "%s|run|ec", "echo:again echo:echo"},
		{"%s run echo:", "%s|run|echo|:", "again echo"},
		{"%s run echo:a", "%s|run|echo|:|a", "again"},
		{"%s run echo:echo ", "%s|run|echo|:|echo|", "text="},
		{"%s run --allow fs", "%s|run|--allow|fs", "fs.read: fs.write:"},
		{"%s list --j", "%s|list|--j", "--json"},
		{"%s run --input ", "%s|run|--input|", ""},
	} {
		args := []string{filepath.Join(p.work, "bash.sh"), p.program, fmt.Sprintf(c.line, p.program)}
		cmd := p.command(t.Context(), append(args, strings.Split(fmt.Sprintf(c.words, p.program), "|")...)...)
		cmd.Path = bash
		cmd.Args = append([]string{"bash"}, cmd.Args[1:]...)
		out, err := cmd.CombinedOutput()
		words := strings.Fields(string(out))
		slices.Sort(words)
		if got := strings.Join(words, " "); err != nil || got != c.want {
			t.Errorf("%q: bash completes %q, want %q, %v", c.line, got, c.want, err)
		}
	}
}
