package runner_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/skillet-run/skillet/host/base/fault"

	"github.com/hashicorp/go-hclog"

	"github.com/skillet-run/skillet/host/base/task"
	"github.com/skillet-run/skillet/host/engine/sandbox/wasmbin/wasmtest"
	"github.com/skillet-run/skillet/host/record/approval"
	"github.com/skillet-run/skillet/host/record/registry"
	"github.com/skillet-run/skillet/host/run/runner"
	"github.com/skillet-run/skillet/host/run/session"
	"github.com/skillet-run/skillet/manifests"
	"github.com/skillet-run/skillet/manifests/bundle"
	"github.com/skillet-run/skillet/policies/capability"
)

// keeping has a process keep sessions in a directory.
func keeping(dir string, s session.Settings) func(*runner.Settings) {
	return func(to *runner.Settings) { to.Sessions = session.Open(hclog.NewNullLogger(), dir, []byte("key"), s) }
}

const notebookTools = `{"name":"next"},{"name":"complain"},{"name":"crash"},{"name":"spin"}`

// notebook is a code_session skill that counts its calls.
func notebook(t testing.TB, members string) *bundle.Package {
	t.Helper()
	g := newGuest().tally("next")
	g.tally("complain", g.fail("oops", "all is well"))
	g.tally("crash", wasmtest.Unreachable())
	g.tally("spin", spin())
	return ofType(t, manifests.KindCodeSession, "notebook", g, notebookTools, members)
}

// in is a call in a session.
func in(p *bundle.Package, name, tool string) runner.Call {
	c := on(p, tool)
	c.Session = name
	return c
}

// answered is the answer of a call, or the kind of its error.
func answered(r task.Result) string {
	if r.OK {
		return string(r.Raw)
	}
	return string(r.Error.Kind)
}

func TestSessions(t *testing.T) {
	t.Parallel()
	m, dir := newMachine(t), t.TempDir()
	here, there := m.process(keeping(dir, session.Settings{})), m.process(keeping(dir, session.Settings{}))
	pkg := notebook(t, "")
	bob := in(pkg, "work", "next")
	bob.Caller = "human:bob"
	for i, step := range []struct {
		p    parts
		c    runner.Call
		want string
	}{
		{here, on(pkg, "next"), "a"}, {here, on(pkg, "next"), "a"}, // no session: fresh
		{here, in(pkg, "work", "next"), "a"}, {here, in(pkg, "work", "next"), "b"},
		{there, in(pkg, "work", "next"), "c"}, {here, in(pkg, "work", "next"), "d"},
		{here, in(pkg, "home", "next"), "a"}, {there, bob, "a"}, {here, on(pkg, "next"), "a"},
		{here, in(pkg, "work", "crash"), "skill"}, {here, in(pkg, "work", "next"), "e"}, // leaves nothing
		{here, in(pkg, "work", "complain"), "skill"}, {here, in(pkg, "work", "next"), "g"}, // is an answer
		{here, in(pkg, "Work", "next"), "usage"},
	} {
		if got := answered(step.p.Run(t.Context(), step.c)); got != step.want {
			t.Errorf("step %d: %q, want %q", i, got, step.want)
		}
	}
	r := there.Run(t.Context(), in(pkg, "work", "next"))
	if s := r.Session; s == nil || s.Name != "work" || s.Calls != 8 || s.After || s.ExpiresAt.Before(time.Now()) {
		t.Errorf("session %+v", s)
	}
	if rec := there.records(t); rec[len(rec)-1].Session != "work" || rec[0].Session != "" {
		t.Errorf("recorded %+v", rec[len(rec)-1])
	}
	if err := here.Purge(t.Context(), "notebook"); err != nil {
		t.Fatal(err)
	}
	if got := answered(there.Run(t.Context(), in(pkg, "work", "next"))); got != "a" {
		t.Errorf("after all was deleted: %q", got)
	}
}

func TestSessionRefusals(t *testing.T) {
	t.Parallel()
	m, dir := newMachine(t), t.TempDir()
	p := m.process(keeping(dir, session.Settings{Bytes: 4000}))
	pkg := notebook(t, `,"session_config":{"max_sessions":2}`)
	want := func(what string, r task.Result, kind fault.Kind, hint string) {
		t.Helper()
		if r.OK || r.Error.Kind != kind || !strings.Contains(r.Error.Way().String(), hint) {
			t.Errorf("%s: %q, %+v", what, r.Raw, r.Error)
		}
	}
	path := in(pkg, "work", "next")
	path.Target.Origin = registry.OriginPath
	want("run from a path", p.Run(t.Context(), path), fault.KindUsage, "install it")
	want("nowhere to keep them", m.process().Run(t.Context(), in(pkg, "work", "next")), fault.KindUsage, "install it")
	for _, name := range []string{"one", "two"} {
		if r := p.Run(t.Context(), in(pkg, name, "next")); !r.OK {
			t.Fatal(r.Error)
		}
	}
	want("a third", p.Run(t.Context(), in(pkg, "three", "next")), fault.KindLimit, "[close_session notebook/NAME]")
	other := notebook(t, `,"session_config":{"max_sessions":3}`)
	want("another package", p.Run(t.Context(), in(other, "one", "next")), fault.KindConflict, "[close_session notebook/one]")

	g := newGuest()
	var fill []byte
	for at := 8192; at < 12<<16; at += 512 { // what compresses badly enough
		fill = append(fill, slices.Concat(c(at), c(at*at), []byte{0x36, 0x02, 0x00})...)
	}
	g.tool("run", fill, g.answer("filled"))
	large := ofType(t, manifests.KindCodeSession, "large", g, runTool, "")
	r := p.Run(t.Context(), in(large, "big", "run"))
	want("too large", r, fault.KindLimit, "session_max_mb")
	if again := p.Run(t.Context(), in(large, "big", "run")); again.Session == nil || again.Session.Calls != 0 {
		t.Errorf("kept what was too large: %+v", again.Session)
	}
	inline := newGuest()
	inline.tally("run")
	plain := on(skill(t, "plain", inline, runTool, ""), "run")
	plain.Session = "Any Name"
	for range 2 { // a session is a word for grants there
		if got := answered(p.Run(t.Context(), plain)); got != "a" {
			t.Errorf("a skill without sessions: %q", got)
		}
	}
	looks := newGuest("fd_prestat_get") // its initialisation asks for its first directory
	looks.m.ExportFunc("_initialize", looks.m.Func(wasmtest.Sig("", ""), "", c(3), c(16), wasmtest.Call(looks.funcs["fd_prestat_get"]), wasmtest.Drop()))
	looks.tally("run")
	looker := ofType(t, manifests.KindCodeSession, "looker", looks, runTool, "")
	if got := answered(p.Run(t.Context(), in(looker, "one", "run"))); got != "a" {
		t.Fatal(got)
	}
	withDir := in(looker, "one", "run")
	withDir.Allow = approval.NewHuman("ada").Allow(capability.NewSet(capability.MustParse("fs.read:" + t.TempDir() + "/**")))
	want("other directories", p.Run(t.Context(), withDir), fault.KindConflict, "start again under another name")
	if got := answered(p.Run(t.Context(), in(looker, "one", "run"))); got != "b" {
		t.Errorf("with those it began with: %q", got)
	}
}

// A session's file that is not what was written is refused, whichever part of it.
func TestDamagedSessionIsRefused(t *testing.T) {
	t.Parallel()
	m, dir := newMachine(t), t.TempDir()
	pkg := notebook(t, "")
	if r := m.process(keeping(dir, session.Settings{})).Run(t.Context(), in(pkg, "work", "next")); !r.OK {
		t.Fatal(r.Error)
	}
	files, err := filepath.Glob(filepath.Join(dir, "*", "*", "*.session"))
	if err != nil || len(files) != 1 {
		t.Fatal(files, err)
	}
	whole, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	p := m.process(keeping(dir, session.Settings{}))
	for i := 0; i < len(whole); i += 37 {
		b := bytes.Clone(whole)
		b[i] ^= 0x10
		if err := os.WriteFile(files[0], b, 0o600); err != nil {
			t.Fatal(err)
		}
		r := p.Run(t.Context(), in(pkg, "work", "next"))
		if r.OK || r.Error.Kind != fault.KindVerification || !strings.Contains(r.Error.Way().String(), "[close_session notebook/work]") {
			t.Fatalf("byte %d of %d: %q, %+v", i, len(whole), r.Raw, r.Error)
		}
	}
}

// Calls of one session take turns, in all processes.
func TestSessionInTwoProcesses(t *testing.T) {
	t.Parallel()
	m, dir := newMachine(t), t.TempDir()
	pkg := notebook(t, "")
	both := []parts{m.process(keeping(dir, session.Settings{})), m.process(keeping(dir, session.Settings{}))}
	var mu sync.Mutex
	var got []string
	var wg sync.WaitGroup
	for i := range 20 {
		wg.Go(func() {
			a := answered(both[i%2].Run(t.Context(), in(pkg, "work", "next")))
			mu.Lock()
			defer mu.Unlock()
			got = append(got, a)
		})
	}
	wg.Wait()
	slices.Sort(got)
	if all := strings.Join(got, ""); all != "abcdefghijklmnopqrst" {
		t.Errorf("answers %s", all)
	}
}

// A session that is closed while a call goes on with it is gone.
func TestSessionIsClosedDuringACall(t *testing.T) {
	t.Parallel()
	m, dir := newMachine(t), t.TempDir()
	pkg := notebook(t, "")
	p := m.process(keeping(dir, session.Settings{}))
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan task.Result)
	go func() { done <- p.Run(ctx, in(pkg, "work", "spin")) }()
	others := session.Open(hclog.NewNullLogger(), dir, []byte("key"), session.Settings{})
	var all []session.Info
	for len(all) == 0 || !all[0].InUse {
		var err error
		if all, err = others.List(t.Context()); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Millisecond)
	}
	impatient := in(pkg, "work", "next")
	impatient.Limits.Seconds = 0.05
	if r := p.Run(t.Context(), impatient); answered(r) != "limit" || !errors.Is(r.Error, session.ErrBusy) {
		t.Errorf("while another call goes on: %q, %+v", r.Raw, r.Error)
	}
	if err := others.Close(t.Context(), all[0]); err != nil {
		t.Fatal(err)
	}
	cancel()
	if r := <-done; r.OK {
		t.Errorf("got %q", r.Raw)
	}
	if all, err := others.List(t.Context()); err != nil || len(all) > 0 {
		t.Errorf("left %+v, %v", all, err)
	}
	if got := answered(p.Run(t.Context(), in(pkg, "work", "next"))); got != "a" {
		t.Errorf("the next call: %q", got)
	}
}

// A skill goes on with a session of the person's when that was granted, and does not
// wait for it.
func TestSessionOfAPersonIsShared(t *testing.T) {
	t.Parallel()
	m, dir := newMachine(t), t.TempDir()
	p := m.process(keeping(dir, session.Settings{}))
	pkg := notebook(t, "")
	m.lend(on(pkg, ""))
	caller := skill(t, "caller", newGuest().relay("run", `{"skill":"notebook","tool":"next","session":"work"}`, ""), runTool, "")
	ask := func(granted ...string) task.Result { return p.Run(t.Context(), on(caller, "run", granted...)) }
	if r := ask("skill:notebook"); told(r) != "denied denied" || !strings.Contains(r.Denials[0].Way().String(), "session:notebook/work") {
		t.Errorf("not granted: %q, %+v", told(r), r.Denials)
	}
	if got := answered(p.Run(t.Context(), in(pkg, "work", "next"))); got != "a" {
		t.Fatalf("the person: %q", got)
	}
	if got := told(ask("skill:notebook", "session:notebook/work")); got != "ok b" {
		t.Errorf("granted: %q", got)
	}
	if got := answered(p.Run(t.Context(), in(pkg, "work", "next"))); got != "c" {
		t.Errorf("the person again: %q", got)
	}
	plain := skill(t, "caller", newGuest().relay("run", `{"skill":"notebook","tool":"next"}`, ""), runTool, "")
	if got := told(p.Run(t.Context(), on(plain, "run", "skill:notebook"))); got != "ok a" {
		t.Errorf("without a session: %q", got)
	}

	turn, err := session.Open(hclog.NewNullLogger(), dir, []byte("key"), session.Settings{}).Begin(t.Context(),
		session.Key{Namespace: "skill/notebook", Owner: "human:ada", Name: "work"},
		session.Terms{Version: "1.0.0", Digest: pkg.Digest(), Timeout: time.Hour, Max: 10, Persist: true}, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer turn.Done()
	if got := told(ask("skill:notebook", "session:notebook/work")); got != "limit the session is in use by another call" {
		t.Errorf("in use: %q", got)
	}
}

// Sessions end when nobody calls them, and live in memory where the manifest says so.
func TestSessionConfigIsEnforced(t *testing.T) {
	t.Parallel()
	m, dir := newMachine(t), t.TempDir()
	here, there := m.process(keeping(dir, session.Settings{})), m.process(keeping(dir, session.Settings{}))
	memory := notebook(t, `,"session_config":{"state_persistence":false}`)
	for i, step := range []struct {
		p    parts
		want string
	}{{here, "a"}, {here, "b"}, {there, "a"}, {here, "c"}} {
		if got := answered(step.p.Run(t.Context(), in(memory, "m", "next"))); got != step.want {
			t.Errorf("in memory, step %d: %q, want %q", i, got, step.want)
		}
	}
	short := notebook(t, `,"session_config":{"session_timeout":0.5}`)
	kept := notebook(t, `,"session_config":{"session_timeout":0.5,"cleanup_on_exit":false}`)
	for _, pkg := range []*bundle.Package{short, kept} {
		name := map[bool]string{true: "kept", false: "short"}[pkg == kept]
		if got := answered(here.Run(t.Context(), in(pkg, name, "next"))); got != "a" {
			t.Errorf("%s: %q", name, got)
		}
	}
	time.Sleep(550 * time.Millisecond)
	if r := here.Run(t.Context(), in(short, "short", "next")); answered(r) != "a" || !r.Session.After {
		t.Errorf("ended: %q, %+v", answered(r), r.Session)
	}
	if r := here.Run(t.Context(), in(kept, "kept", "next")); answered(r) != "conflict" || !strings.Contains(r.Error.Way().String(), "[resume_session notebook/kept]") {
		t.Errorf("ended and kept: %q, %+v", answered(r), r.Error)
	}
}

func BenchmarkSession(b *testing.B) {
	pkg := notebook(b, "")
	for name, c := range map[string]runner.Call{"plain": on(pkg, "next"), "session": in(pkg, "work", "next")} {
		b.Run(name, func(b *testing.B) {
			p := newMachine(b).process(keeping(b.TempDir(), session.Settings{}))
			for b.Loop() {
				if r := p.Run(b.Context(), c); !r.OK {
					b.Fatal(r.Error)
				}
			}
		})
	}
}
