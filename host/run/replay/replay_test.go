package replay

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/skillet-run/skillet/host/base/fault"
	"github.com/skillet-run/skillet/host/record/approval"
	"github.com/skillet-run/skillet/host/record/approval/approvaltest"
	"github.com/skillet-run/skillet/internal/reexec"

	"github.com/hashicorp/go-hclog"

	"github.com/skillet-run/skillet/host/base/secret"
	"github.com/skillet-run/skillet/host/base/store"
	"github.com/skillet-run/skillet/host/base/task"
	"github.com/skillet-run/skillet/host/engine/sandbox"
	"github.com/skillet-run/skillet/host/engine/sandbox/worker"
	"github.com/skillet-run/skillet/host/record/journal"
	"github.com/skillet-run/skillet/host/record/registry"
	"github.com/skillet-run/skillet/host/run/hostfn"
	"github.com/skillet-run/skillet/host/run/recording"
	"github.com/skillet-run/skillet/host/run/runner"
	"github.com/skillet-run/skillet/manifests/bundle"
	"github.com/skillet-run/skillet/policies"
	"github.com/skillet-run/skillet/policies/capability"
	"github.com/skillet-run/skillet/policies/limit"
)

// TestMain runs the tests, or is one of their workers.
func TestMain(m *testing.M) {
	if reexec.Worker.Is(os.Args) {
		os.Exit(worker.Main())
	}
	code := m.Run()
	os.RemoveAll(built().dir)
	os.Exit(code)
}

// made are the guests, and the directory they are in.
type made struct {
	dir  string
	wasm [2][]byte // of the versions 1 and 2
	err  error
}

var built = sync.OnceValue(func() (m made) {
	if m.dir, m.err = os.MkdirTemp("", "replay"); m.err != nil {
		return m
	}
	for i := range m.wasm {
		out := filepath.Join(m.dir, fmt.Sprintf("%d.wasm", i))
		cmd := exec.Command("go", "build", "-trimpath", "-buildmode=c-shared", fmt.Sprintf("-ldflags=-s -w -X main.version=%d", i+1), "-o", out, "./testdata/everything")
		cmd.Env = append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm")
		if text, err := cmd.CombinedOutput(); err != nil {
			m.err = fmt.Errorf("%w: %s", err, text)
			return m
		}
		if m.wasm[i], m.err = os.ReadFile(out); m.err != nil {
			return m
		}
	}
	return m
})

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// world is a real one: a store, a server, files, secrets and somebody to notify.
type world struct {
	runner  *runner.Runner
	calls   *journal.Journal
	server  *httptest.Server
	hits    atomic.Int64
	told    atomic.Int64
	dir     string
	granted capability.Set
	kv      store.KV
}

// Notify counts.
func (w *world) Notify(context.Context, hostfn.Notification) error {
	w.told.Add(1)
	return nil
}

const token = "tok-3f9a77c1e2"

func newWorld(t testing.TB) *world {
	t.Helper()
	w := &world{dir: t.TempDir()}
	w.server = httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		n := w.hits.Add(1)
		fmt.Fprintf(rw, "hit %d, and you are %s\xff", n, r.Header.Get("Authorization"))
	}))
	t.Cleanup(w.server.Close)
	must(t, os.WriteFile(filepath.Join(w.dir, "in.txt"), bytes.Repeat([]byte("some text\n"), 100), 0o600))
	var err error
	w.granted, err = capability.ParseSet("fs.read:"+w.dir+"/**", "fs.write:"+w.dir+"/**", "kv", "notify", "clock", "random", "secret:token",
		"http:* "+w.server.URL+"/*")
	must(t, err)
	log := hclog.NewNullLogger()
	w.calls, err = journal.Open(t.TempDir(), journal.Options{})
	must(t, err)
	s := store.Memory()
	t.Cleanup(func() { s.Close() })
	w.kv = s.KV()
	vault := secret.Open(t.TempDir(), secret.NewKey(secret.KeyOptions{Home: t.TempDir(), Location: secret.LocationFile}))
	must(t, vault.Set(t.Context(), "token", []byte(token)))
	pool, err := worker.NewPool(log, worker.Settings{})
	must(t, err)
	t.Cleanup(func() { pool.Close() })
	rt := sandboxOf(t)
	apart := worker.NewRuntime(log, pool, rt, hostfn.Functions(), 0)
	t.Cleanup(func() { apart.Close(context.Background()) })
	ps, err := policies.Default()
	must(t, err)
	w.runner = runner.New(log, w.kv, rt, ps, vault, w, w.calls, runner.Settings{Home: "/nowhere/.skillet", Workers: apart})
	return w
}

// pack makes a package of one of the versions of the guest.
func (w *world) pack(t testing.TB, version int) *bundle.Package {
	t.Helper()
	must(t, built().err)
	p, err := bundle.FromFiles(map[string][]byte{
		"skill.json": fmt.Appendf(nil, `{"name":"everything","version":"%d.0.0","description":"does everything","type":"code_inline","command":"main.wasm",
			"tools":[{"name":"everything"},{"name":"ask"},{"name":"spin"}],
			"security":{"permissions":{"kv":{},"notify":"to tell","clock":"to know","random":"to draw","file_read":["%[2]s/**"],"file_write":["%[2]s/**"],
			"network_access":true,"network":[{"url":"%[3]s/*","methods":["*"]}],
			"secrets":[{"name":"token","inject":{"url":"%[3]s/*","header":"Authorization","prefix":"Bearer "}}]}}}`, version, w.dir, w.server.URL),
		"main.wasm": built().wasm[version-1],
	})
	must(t, err)
	return p
}

// record makes a call and returns its recording. Installed skills run in this
// process, those of a path in a worker.
func (w *world) record(t testing.TB, p *bundle.Package, tool string, seed uint64, origin registry.Origin) (*recording.Recording, task.Result) {
	t.Helper()
	in, _ := json.Marshal(map[string]any{"seed": seed, "steps": 25, "dir": w.dir, "url": w.server.URL})
	rec := recording.NewRecorder()
	res := w.runner.Run(t.Context(), runner.Call{
		Target: runner.Target{Label: "everything@1.0.0", Package: p, Origin: origin, Granted: approvaltest.Granted(approval.NewHuman("ada"), p.Digest(), w.granted)},
		Tool:   tool, Input: in, Caller: "human:test", Config: map[string]string{"setting": "value"}, Recorder: rec, NoCache: true,
	})
	r, err := rec.Recording()
	must(t, err)
	return r, res
}

func target(p *bundle.Package) runner.Target {
	return runner.Target{Label: "everything", Package: p, Origin: registry.OriginPath}
}

// again is a recording as it is read from its file.
func again(t testing.TB, r *recording.Recording) *recording.Recording {
	t.Helper()
	b, err := r.Encode()
	must(t, err)
	back, err := recording.Parse(b)
	if err != nil {
		t.Fatalf("%v\n%.2000s", err, b)
	}
	return back
}

// TestReplayIsExact records a guest that does everything, in this process and in
// another, and replays each recording in this process and in another, on new and
// on used instances.
func TestReplayIsExact(t *testing.T) {
	w := newWorld(t)
	p := w.pack(t, 1)
	seeds := uint64(8)
	if os.Getenv("SKILLET_PROVE") != "" {
		seeds = 1000
	}
	inProcess := func() *runner.Runner {
		return runner.New(hclog.NewNullLogger(), w.kv, sandboxOf(t), nil, nil, nil, w.calls, runner.Settings{Home: "/nowhere/.skillet"})
	}
	one := inProcess()
	runners := map[string]func() *runner.Runner{
		"in a worker":       func() *runner.Runner { return w.runner },
		"in this process":   func() *runner.Runner { return one },
		"on a new instance": inProcess,
	}
	for seed := range seeds {
		for _, origin := range []registry.Origin{registry.OriginUser, registry.OriginPath} {
			r, res := w.record(t, p, "everything", seed, origin)
			if !res.OK && !strings.Contains(res.Error.Message, "it ends badly") && res.Error.Kind != fault.KindDenied {
				t.Fatalf("seed %d: %v", seed, res.Error)
			}
			r = again(t, r)
			for where, run := range runners {
				if where == "on a new instance" && seed > 1 && os.Getenv("SKILLET_PROVE") == "" {
					continue // it takes a while to make a runtime
				}
				rep := New(run()).Exact(t.Context(), r, target(p), 0)
				if !rep.Equal || rep.Error != nil {
					t.Fatalf("seed %d, recorded as %s, replayed %s: %v\n%s", seed, origin, where, rep.Error, strings.Join(rep.Words(), "\n"))
				}
			}
		}
	}
}

func sandboxOf(t testing.TB) *sandbox.Runtime {
	t.Helper()
	rt, err := sandbox.New(t.Context(), hclog.NewNullLogger(), sandbox.Options{
		Functions: hostfn.Functions(), CacheDir: filepath.Join(cmp.Or(os.Getenv("TEST_CODE_CACHE"), built().dir), "replay"), CacheKey: bytes.Repeat([]byte{7}, 32),
	})
	must(t, err)
	t.Cleanup(func() { rt.Close(context.Background()) })
	return rt
}

// TestReplayDoesNothing looks whether anything real is touched.
func TestReplayDoesNothing(t *testing.T) {
	w := newWorld(t)
	p := w.pack(t, 1)
	var all []*recording.Recording
	for seed := range uint64(6) {
		r, _ := w.record(t, p, "everything", seed, registry.OriginUser)
		all = append(all, r)
	}
	must(t, os.WriteFile(filepath.Join(w.dir, "in.txt"), []byte("changed since"), 0o600))
	hits, told, files, kept, entries := w.hits.Load(), w.told.Load(), w.files(t), w.kept(t), w.entries(t)
	if hits == 0 || told == 0 || len(kept) == 0 || len(files) < 2 {
		t.Fatalf("the recorded calls did too little: %d requests, %d notifications, %d keys, %d files", hits, told, len(kept), len(files))
	}
	replays := New(w.runner)
	for _, r := range all {
		if rep := replays.Exact(t.Context(), r, target(p), 0); !rep.Equal {
			t.Errorf("not exact: %s", strings.Join(rep.Words(), "\n"))
		}
		if rep := replays.Try(t.Context(), r, target(p), 0); !rep.Equal {
			t.Errorf("the same version is different in a trial: %s", strings.Join(rep.Words(), "\n"))
		}
	}
	if w.hits.Load() != hits || w.told.Load() != told {
		t.Errorf("%d requests and %d notifications were made in replays", w.hits.Load()-hits, w.told.Load()-told)
	}
	if now := w.files(t); fmt.Sprint(now) != fmt.Sprint(files) {
		t.Errorf("files changed: %v, before %v", now, files)
	}
	if now := w.kept(t); fmt.Sprint(now) != fmt.Sprint(kept) {
		t.Errorf("the store changed: %v, before %v", now, kept)
	}
	more := w.entries(t)[len(entries):]
	if len(more) != 2*len(all) {
		t.Errorf("%d entries of the audit log for %d replays", len(more), 2*len(all))
	}
	for _, e := range more {
		if e.Part != "replay" || len(e.Used) > 0 {
			t.Errorf("the entry of a replay is %+v", e)
		}
	}
}

// files are the files there are, with their contents.
func (w *world) files(t testing.TB) (all []string) {
	t.Helper()
	must(t, filepath.WalkDir(w.dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		all = append(all, path+"="+string(b))
		return err
	}))
	return all
}

// kept is what is in the store.
func (w *world) kept(t testing.TB) (all []string) {
	t.Helper()
	entries, err := w.kv.List(t.Context(), "")
	must(t, err)
	for _, e := range entries {
		all = append(all, fmt.Sprintf("%s=%x@%d", e.Key, e.Value, e.Revision))
	}
	return all
}

func (w *world) entries(t testing.TB) (all []runner.Record) {
	t.Helper()
	must(t, w.calls.Replay(t.Context(), 0, func(e journal.Entry) error {
		var r runner.Record
		err := json.Unmarshal(e.Data, &r)
		all = append(all, r)
		return err
	}))
	return all
}

// TestInjectedSecretsAreNotRecorded looks for the value in all that is written.
func TestInjectedSecretsAreNotRecorded(t *testing.T) {
	w := newWorld(t)
	p := w.pack(t, 1)
	for seed := range uint64(6) {
		r, _ := w.record(t, p, "everything", seed, registry.OriginUser)
		b, err := r.Encode()
		must(t, err)
		if bytes.Contains(b, []byte(token)) {
			t.Fatalf("seed %d: the recording holds the secret", seed)
		}
	}
}

// TestFirstDivergence changes one thing in a recording at a time.
func TestFirstDivergence(t *testing.T) {
	w := newWorld(t)
	p := w.pack(t, 1)
	r, res := w.record(t, p, "ask", 1, registry.OriginUser)
	if !res.OK {
		t.Fatal(res.Error)
	}
	for name, c := range map[string]struct {
		change func(r *recording.Recording)
		what   string
		event  int
	}{
		"another request": {func(r *recording.Recording) {
			r.Events[0].Call.Request = recording.Meta(`{"key":"other"}`)
		}, "something else", 1},
		"another answer": {func(r *recording.Recording) {
			r.Events[0].Call.Answer, r.Events[0].Call.AnswerBody = recording.Meta(`{"found":true,"revision":3}`), recording.Bytes("you")
		}, "the answer is different", 0},
		"one call less": {func(r *recording.Recording) { r.Events = nil }, "asks for more", 1},
		"one call more": {func(r *recording.Recording) {
			r.Events = append(r.Events, recording.Event{Clock: &recording.Clock{ID: "realtime"}})
		}, "ended before", 2},
		"other fuel": {func(r *recording.Recording) { r.Outcome.Fuel++ }, "the fuel is different", 0},
		"other log": {func(r *recording.Recording) {
			r.Outcome.Logs = append(r.Outcome.Logs, task.LogLine{Level: "info", Message: "x"})
		}, "the log is different", 0},
	} {
		copied := again(t, r)
		c.change(copied)
		rep := New(w.runner).Exact(t.Context(), copied, target(p), 0)
		if rep.Equal || rep.Divergence == nil || !strings.Contains(rep.Divergence.What, c.what) || rep.Divergence.Event != c.event {
			t.Errorf("%s: %+v, %v", name, rep.Divergence, rep.Error)
		}
	}
}

// TestForgedRecordingsAreRefused claims of recordings what is not so.
func TestForgedRecordingsAreRefused(t *testing.T) {
	w := newWorld(t)
	p := w.pack(t, 1)
	r, _ := w.record(t, p, "ask", 1, registry.OriginUser)
	other := "sha256:" + strings.Repeat("0", 64)
	for name, change := range map[string]func(r *recording.Recording){
		"another package": func(r *recording.Recording) { r.Digest = r.Digest[:len(r.Digest)-4] + "0000" },
		"another module":  func(r *recording.Recording) { r.Module = r.Module[:7] + r.Module[len(other)-57:] + "0" },
		"another skill":   func(r *recording.Recording) { r.Skill = "other" },
		"another version": func(r *recording.Recording) { r.Version = "9.9.9" },
		"another export":  func(r *recording.Recording) { r.Export = "spin" },
		"other arguments": func(r *recording.Recording) { r.Args = []string{"main.js"} },
	} {
		copied := again(t, r)
		change(copied)
		rep := New(w.runner).Exact(t.Context(), copied, target(p), 0)
		if rep.Error == nil || rep.Error.Kind != fault.KindVerification {
			t.Errorf("%s: %+v", name, rep.Error)
		}
	}
}

// TestTrialOfAnotherVersion says what it asks for that was not asked before.
func TestTrialOfAnotherVersion(t *testing.T) {
	w := newWorld(t)
	r, _ := w.record(t, w.pack(t, 1), "ask", 1, registry.OriginUser)
	rep := New(w.runner).Try(t.Context(), r, target(w.pack(t, 2)), 0)
	words := strings.Join(rep.Words(), "\n")
	if rep.Equal || rep.Error != nil || !strings.Contains(words, `asks for what was not asked before: kv_get {"key":"farewell"}`) || !strings.Contains(words, "not_recorded") {
		t.Errorf("%v\n%s", rep.Error, words)
	}
	s := New(w.runner).Shadow(t.Context(), target(w.pack(t, 2)), []Sample{{Name: "one", Recording: r}, {Name: "two", Load: func(context.Context) (*recording.Recording, error) {
		return nil, errors.New("gone")
	}}})
	if s.Replayed != 1 || s.Different != 1 || s.Skipped != 1 || s.FuelRatio < 1 {
		t.Errorf("%+v", s)
	}
	if s = New(w.runner).Shadow(t.Context(), target(w.pack(t, 1)), []Sample{{Name: "one", Recording: r}}); s.Equal != 1 {
		t.Errorf("the same version: %+v", s)
	}
}

// TestClockEndsTheCall replays a call that took too long: it is compared as far
// as it got.
func TestClockEndsTheCall(t *testing.T) {
	w := newWorld(t)
	p := w.pack(t, 1)
	rec := recording.NewRecorder()
	w.runner.Run(t.Context(), runner.Call{
		Target: runner.Target{Label: "everything", Package: p, Origin: registry.OriginUser}, Tool: "spin", Input: []byte("{}"),
		Caller: "human:test", Recorder: rec, Limits: limit.Set{Seconds: 0.3},
	})
	r, err := rec.Recording()
	must(t, err)
	if !r.Outcome.Ending.Clock || r.Inexact == "" {
		t.Errorf("%+v, %q", r.Outcome.Ending, r.Inexact)
	}
	if rep := New(w.runner).Exact(t.Context(), again(t, r), target(p), 300*time.Millisecond); !rep.Equal {
		t.Errorf("%v\n%s", rep.Error, strings.Join(rep.Words(), "\n"))
	}
}

// BenchmarkRecording is the cost of recording beside not recording.
func BenchmarkRecording(b *testing.B) {
	w := newWorld(b)
	p := w.pack(b, 1)
	for name, c := range map[string]struct {
		tool   string
		origin registry.Origin
	}{"one call/here": {"ask", registry.OriginUser}, "one call/worker": {"ask", registry.OriginPath}, "all/here": {"everything", registry.OriginUser}, "all/worker": {"everything", registry.OriginPath}} {
		in, _ := json.Marshal(map[string]any{"seed": 3, "steps": 25, "dir": w.dir, "url": w.server.URL})
		call := runner.Call{
			Target: runner.Target{Label: "everything", Package: p, Origin: c.origin, Granted: approvaltest.Granted(approval.NewHuman("ada"), p.Digest(), w.granted)}, Tool: c.tool, Input: in,
			Caller: "human:test", NoCache: true,
		}
		w.runner.Run(b.Context(), call) // the second call takes the snapshot
		w.runner.Run(b.Context(), call)
		b.Run(name+"/plain", func(b *testing.B) {
			for b.Loop() {
				w.runner.Run(b.Context(), call)
			}
		})
		b.Run(name+"/recorded", func(b *testing.B) {
			for b.Loop() {
				recorded := call
				recorded.Recorder = recording.NewRecorder()
				w.runner.Run(b.Context(), recorded)
			}
		})
	}
}

// TestOwnRecordingsCountApart: a package that brings recordings may have made them up.
func TestOwnRecordingsCountApart(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.pack(t, 1)
	rec, _ := w.record(t, p, "ask", 1, registry.OriginUser)
	s := New(w.runner).Shadow(t.Context(), target(p), []Sample{{Name: "call", Recording: rec}, {Name: "tests/a.recording.json", Own: true, Recording: rec}})
	if s.Replayed != 2 || s.Own != 1 || !s.Results[1].Own || !strings.Contains(s.Summary(), "1 of them the package brings itself") {
		t.Errorf("%+v: %s", s, s.Summary())
	}
}
