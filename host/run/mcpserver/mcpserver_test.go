package mcpserver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/skillet-run/skillet/host/engine/confine"
	"github.com/skillet-run/skillet/host/run/mcpserver/mcptest"
	"github.com/skillet-run/skillet/manifests"
)

func TestMain(m *testing.M) {
	mcptest.Main()
	os.Exit(m.Run())
}

// program is this test as a server.
func program(t testing.TB, mode string) Program {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	d, err := Digest(self)
	if err != nil {
		t.Fatal(err)
	}
	return Program{Name: "test", Command: self, Digest: d, Env: []string{mcptest.Variable + "=" + mode}}
}

// fixture is a pool with one program.
type fixture struct {
	*Pool
	p     Program
	tools []manifests.Tool
}

func serve(t *testing.T, mode string) fixture {
	t.Helper()
	needConfinement(t)
	pool := NewPool(hclog.NewNullLogger(), time.Hour)
	t.Cleanup(pool.Close)
	p := program(t, mode)
	o, err := pool.Offer(t.Context(), program(t, ""))
	if err != nil {
		t.Fatal(err)
	}
	return fixture{pool, p, o.Tools}
}

func needConfinement(t *testing.T) {
	t.Helper()
	held := make(chan error)
	go func() { // on a thread that ends
		held <- errors.Join(confine.LockThread(), confine.OnlyFiles(nil))
	}()
	if err := <-held; errors.Is(err, confine.ErrNoWall) {
		t.Skip("this system cannot hold a process: ", err)
	}
}

func (f fixture) call(ctx context.Context, t *testing.T, tool, arguments string) (Result, error) {
	t.Helper()
	i := slices.IndexFunc(f.tools, func(x manifests.Tool) bool { return x.Name == tool })
	if i < 0 {
		t.Fatalf("no tool %s in %v", tool, f.tools)
	}
	return f.Call(ctx, "owner", Key(f.p), func() (Program, error) { return f.p, nil }, f.tools[i], []byte(arguments))
}

// TestCalls maps what tools answer, with one process for all calls.
func TestCalls(t *testing.T) {
	t.Parallel()
	f := serve(t, "")
	for _, c := range []struct {
		tool, args, want string
		failed           bool
	}{
		{"lines", `{}`, "one\ntwo", false},
		{"picture", `{}`, `{"content":[{"type":"image","mimeType":"image/png","data":"AQI="}]}`, false},
		{"fail", `{}`, "there is nothing like that here", true},
		{"refuse", `{}`, "no such thing", true},
		{"env", `{"text":"HOME"}`, "HOME=" + os.TempDir(), false},
		{"env", `{"text":"PATH"}`, "PATH=", false},
		{"sample", `{}`, "sampling", true},
		{"elicit", `{}`, "elicit", true},
		{"roots", `{}`, "roots", true},
	} {
		r, err := f.call(t.Context(), t, c.tool, c.args)
		if err != nil || r.Failed != c.failed || !strings.Contains(string(r.Output), c.want) {
			t.Errorf("%s: %q, %v, %v", c.tool, r.Output, r.Failed, err)
		}
	}
	var pids []int
	for range 2 {
		r, err := f.call(t.Context(), t, "echo_text", `{"text":"hi"}`)
		var said struct {
			Said string
			PID  int
		}
		if err != nil || json.Unmarshal(r.Output, &said) != nil || said.Said != "hi" {
			t.Fatalf("%s, %v", r.Output, err)
		}
		pids = append(pids, said.PID)
	}
	if pids[0] != pids[1] {
		t.Error("a second process was started")
	}
	if _, err := f.call(t.Context(), t, "input", `{}`); err == nil {
		t.Error("a server got input")
	}
}

// TestAtOnce makes calls at the same time.
func TestAtOnce(t *testing.T) {
	t.Parallel()
	f := serve(t, "")
	var wg sync.WaitGroup
	for i := range 20 {
		wg.Go(func() {
			text := fmt.Sprintf("n%d", i)
			r, err := f.call(t.Context(), t, "echo_text", `{"text":"`+text+`"}`)
			if err != nil || !strings.Contains(string(r.Output), `"`+text+`"`) {
				t.Errorf("%s, %v", r.Output, err)
			}
		})
	}
	wg.Wait()
	if r := f.Running(); len(r) != 1 {
		t.Errorf("%d servers run", len(r))
	}
}

// TestHeld: a server has no files and no network but what it was given.
func TestHeld(t *testing.T) {
	t.Parallel()
	f := serve(t, "")
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	inside, outside := filepath.Join(dir, "in", "a"), filepath.Join(dir, "b")
	for _, p := range []string{inside, outside} {
		os.MkdirAll(filepath.Dir(p), 0o700)
		os.WriteFile(p, []byte("content"), 0o600)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	f.p.Read = []string{filepath.Dir(inside)}
	check := func(tool, path, text string, works bool) {
		t.Helper()
		args, _ := json.Marshal(map[string]string{"path": path, "text": text})
		r, err := f.call(t.Context(), t, tool, string(args))
		if err != nil || r.Failed == works {
			t.Errorf("%s %s%s: %q, %v", tool, path, text, r.Output, err)
		}
	}
	check("read", inside, "", true)
	check("read", outside, "", false)
	check("read", "/etc/passwd", "", false)
	check("read", fmt.Sprintf("/proc/%d/environ", os.Getpid()), "", false)
	check("write", inside, "x", false)
	check("dial", "", l.Addr().String(), false)
	f.p.Read, f.p.Write = nil, []string{filepath.Dir(inside)}
	check("write", inside, "x", true)
	check("write", filepath.Join(dir, "in", "new"), "x", true)
	check("write", outside, "x", false)
	f.p.Write, f.p.Unconfined = nil, true
	check("read", outside, "", true)
	check("dial", "", l.Addr().String(), true)
}

// TestMisbehaviour: each is an error that says what happened, and the next call works.
func TestMisbehaviour(t *testing.T) {
	t.Parallel()
	f := serve(t, "")
	for tool, want := range map[string]string{
		"crash": `exit status 7: "panic: out of luck"`,
		"flood": "that nobody asked for",
		"huge":  "a message of more than 8.0 MiB",
	} {
		if _, err := f.call(t.Context(), t, tool, `{}`); !errors.Is(err, ErrServer) || !strings.Contains(fmt.Sprint(err), want) {
			t.Errorf("%s: %v, want %q", tool, err, want)
		}
		if r, err := f.call(t.Context(), t, "lines", `{}`); err != nil || r.Failed {
			t.Errorf("after %s: %s, %v", tool, r.Output, err)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	if _, err := f.call(ctx, t, "hang", `{}`); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a server that hangs: %v", err)
	}
	if r, err := f.call(t.Context(), t, "lines", `{}`); err != nil || r.Failed {
		t.Errorf("after hang: %s, %v", r.Output, err)
	}
}

// TestNeverBegins: servers that do not get as far as a list of tools; the third death in a
// row is the last for a while.
func TestNeverBegins(t *testing.T) {
	t.Parallel()
	for mode, want := range map[string]string{
		"garbage": "what is not a message: \"Welcome to my server!\"", "stillborn": "no configuration found", "many": "too many tools: more than 1000",
	} {
		f := serve(t, mode)
		for range MaxDeaths {
			if _, err := f.call(t.Context(), t, "lines", `{}`); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v, want %q", mode, err, want)
			}
		}
		if _, err := f.call(t.Context(), t, "lines", `{}`); err == nil || !strings.Contains(err.Error(), "3 times in a row") {
			t.Errorf("%s: %v", mode, err)
		}
	}
}

// TestOtherProgram: what has another digest is not started.
func TestOtherProgram(t *testing.T) {
	t.Parallel()
	f := serve(t, "")
	f.p.Digest = manifests.DigestOf([]byte("other"))
	if _, err := f.call(t.Context(), t, "lines", `{}`); !errors.Is(err, ErrNotPinned) {
		t.Error(err)
	}
	f = serve(t, "")
	dir := t.TempDir()
	os.WriteFile(filepath.Join(dir, "a.js"), []byte("1"), 0o600)
	d, err := Digest(dir)
	if err != nil {
		t.Fatal(err)
	}
	f.p.Pins = []manifests.Pin{{Path: dir, Digest: d}}
	if _, err := f.call(t.Context(), t, "lines", `{}`); err != nil {
		t.Error(err)
	}
	os.WriteFile(filepath.Join(dir, "b.js"), nil, 0o600)
	if err := Verify(f.p); !errors.Is(err, ErrNotPinned) {
		t.Error(err)
	}
}

// TestChanged: a tool that is not as it was approved is not called, others are.
func TestChanged(t *testing.T) {
	t.Parallel()
	for mode, want := range map[string]string{
		"changed": `its description was`, "gone": "echo_text is not offered any more", "hints": "its annotations was",
	} {
		f := serve(t, mode)
		if _, err := f.call(t.Context(), t, "echo_text", `{"text":"x"}`); !errors.Is(err, ErrChanged) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", mode, err)
		}
		if r, err := f.call(t.Context(), t, "lines", `{}`); err != nil || r.Failed {
			t.Errorf("%s: %s, %v", mode, r.Output, err)
		}
	}
}

// TestChangedWhileItRuns: a server that says that its tools changed is asked again.
func TestChangedWhileItRuns(t *testing.T) {
	t.Parallel()
	f := serve(t, "")
	if _, err := f.call(t.Context(), t, "lines", `{}`); err != nil {
		t.Fatal(err)
	}
	if _, err := f.call(t.Context(), t, "grow", `{}`); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(20 * time.Second); ; {
		_, err := f.call(t.Context(), t, "lines", `{}`)
		if errors.Is(err, ErrChanged) {
			return
		}
		if time.Now().After(deadline) {
			t.Fatal("the change was not seen: ", err)
		}
	}
}

// TestDrop ends a server with the calls under way, and another key the process before.
func TestDrop(t *testing.T) {
	t.Parallel()
	f := serve(t, "")
	began := filepath.Join(t.TempDir(), "began")
	f.p.Unconfined = true
	done := make(chan error, 1)
	go func() {
		_, err := f.call(t.Context(), t, "hang", `{"path":"`+began+`"}`)
		done <- err
	}()
	for _, err := os.Stat(began); err != nil; _, err = os.Stat(began) {
		time.Sleep(time.Millisecond)
	}
	f.Drop("owner")
	if err := <-done; !errors.Is(err, ErrServer) {
		t.Error(err)
	}
	if r := f.Running(); len(r) != 0 {
		t.Errorf("%v run", r)
	}
	for _, unconfined := range []bool{true, false, true} {
		f.p.Unconfined = unconfined
		if _, err := f.call(t.Context(), t, "lines", `{}`); err != nil {
			t.Error(err)
		}
		if r := f.Running(); len(r) != 1 {
			t.Errorf("%v run", r)
		}
	}
	f.Close()
	if _, err := f.call(t.Context(), t, "fail", `{}`); !errors.Is(err, ErrClosed) && err == nil {
		t.Error("a closed pool starts servers: ", err)
	}
}

// TestIdle ends a server that nobody calls.
func TestIdle(t *testing.T) {
	t.Parallel()
	f := serve(t, "")
	f.idle = time.Millisecond
	if _, err := f.call(t.Context(), t, "lines", `{}`); err != nil {
		t.Fatal(err)
	}
	for len(f.Running()) > 0 {
		time.Sleep(time.Millisecond)
	}
}

// TestRemote calls a server over HTTP, of both eras.
func TestRemote(t *testing.T) {
	t.Parallel()
	for _, stateless := range []bool{false, true} {
		s := httptest.NewServer(mcptest.Handler("", stateless))
		defer s.Close()
		r := Remote{s.URL, http.DefaultTransport}
		o, err := r.Offer(t.Context())
		if err != nil || o.Server != "mcptest 1.0.0" || len(o.Tools) < 10 || len(o.Odd) > 0 {
			t.Fatalf("%+v, %v", o, err)
		}
		tool := o.Tools[slices.IndexFunc(o.Tools, func(x manifests.Tool) bool { return x.Name == "echo_text" })]
		got, err := r.Call(t.Context(), tool, []byte(`{"text":"hi"}`))
		if err != nil || !strings.Contains(string(got.Output), `"said":"hi"`) {
			t.Errorf("%s, %v", got.Output, err)
		}
		input := o.Tools[slices.IndexFunc(o.Tools, func(x manifests.Tool) bool { return x.Name == "input" })]
		if got, err := r.Call(t.Context(), input, []byte(`{}`)); err == nil && !got.Failed {
			t.Errorf("a server got input: %s", got.Output)
		}
		tool.Description = "another"
		if _, err := r.Call(t.Context(), tool, nil); !errors.Is(err, ErrChanged) {
			t.Error(err)
		}
		for challenge, want := range map[string]string{
			"": "answers 401", "Bearer": "answers 401", `Bearer "`: "answers 401",
			`Bearer realm="x", resource_metadata="https://example.com/.well-known/oauth-protected-resource/mcp"`: "who gives tokens is at https://example.com/.well-known/oauth-protected-resource/mcp",
		} {
			guarded := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("WWW-Authenticate", challenge)
				http.Error(w, "who are you", http.StatusUnauthorized)
			}))
			_, err := Remote{guarded.URL, http.DefaultTransport}.Offer(t.Context())
			if guarded.Close(); !errors.Is(err, ErrUnknownCaller) || !strings.Contains(err.Error(), want) {
				t.Errorf("%q: %v, want %q", challenge, err, want)
			}
		}
		refused := errors.New("refused by its carrier")
		r.Carrier = carrier(func(*http.Request) (*http.Response, error) { return nil, refused })
		if _, err := r.Call(t.Context(), tool, nil); !errors.Is(err, refused) {
			t.Error(err)
		}
	}
}

type carrier func(*http.Request) (*http.Response, error)

func (c carrier) RoundTrip(r *http.Request) (*http.Response, error) { return c(r) }

// TestNames makes names of a package of those of a server.
func TestNames(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{"get-sum": "get_sum", "a.b/c": "a_b_c", "2x": "_2x", "": "_", strings.Repeat("x", 100): strings.Repeat("x", 64)} {
		if got := nameOf(name); got != want {
			t.Errorf("%q: %q, want %q", name, got, want)
		}
	}
	if a, b := around("same start, then this", "same start, then that"); !strings.HasSuffix(a, "this") || !strings.HasSuffix(b, "that") {
		t.Errorf("%q %q", a, b)
	}
}

// FuzzGuard: whatever a server writes, what is handed on are messages.
func FuzzGuard(f *testing.F) {
	for _, seed := range []string{
		"", "\n\n", "hello\n", `{"jsonrpc":"2.0","id":1,"result":{}}` + "\n", `[{"jsonrpc":"2.0"}]`, `{"jsonrpc":"1.0"}`, "{\"jsonrpc\":\"2.0\"}", "{\"jsonrpc\":\"2.0\"}{}\n", "\x00\xff\n",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		g := NewGuard(strings.NewReader(string(b)))
		got, err := io.ReadAll(g)
		if len(got) > len(b)+1 {
			t.Fatalf("%d bytes of %d", len(got), len(b))
		}
		for line := range strings.Lines(string(got)) {
			var head struct {
				JSONRPC string `json:"jsonrpc"`
			}
			if e := json.Unmarshal([]byte(line), &head); e != nil || head.JSONRPC != "2.0" {
				t.Fatalf("handed on %q: %v, %v", line, e, err)
			}
		}
		if (err != nil) != (g.Err() != nil) {
			t.Fatalf("%v, %v", err, g.Err())
		}
	})
}
