package runner_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/skillet-run/skillet/host/base/fault"

	"github.com/hashicorp/go-hclog"

	"github.com/skillet-run/skillet/host/engine/sandbox"
	"github.com/skillet-run/skillet/host/engine/sandbox/worker"
	"github.com/skillet-run/skillet/host/record/registry"
	"github.com/skillet-run/skillet/host/run/hostfn"
	"github.com/skillet-run/skillet/host/run/runner"
	"github.com/skillet-run/skillet/host/run/session"
	"github.com/skillet-run/skillet/manifests"
)

// TestFirstCallsAtOnce begins the first calls of a process side by side, of the
// same and of different skills, nested and in sessions, with nothing compiled yet
// and again with all of it kept.
func TestFirstCallsAtOnce(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	calls, want := []runner.Call{}, []string{}
	m := newMachine(t)
	for i := range 4 {
		name := fmt.Sprintf("skill-%d", i)
		g := newGuest()
		g.tool("run", g.answer(name))
		calls = append(calls, m.lend(on(skill(t, name, g, runTool, ""), "run")))
		want = append(want, name)
		caller := newGuest().relay("run", fmt.Sprintf(`{"skill":%q}`, name), "")
		calls = append(calls, on(skill(t, "caller-"+name, caller, runTool, ""), "run", "skill:"+name))
		want = append(want, "{}"+name)
	}
	counter := newGuest().tally("run")
	for i := range 2 {
		c := on(ofType(t, manifests.KindCodeSession, "counter", counter, runTool, ""), "run")
		c.Session = fmt.Sprintf("s%d", i)
		calls, want = append(calls, c), append(want, "")
	}
	for round := range 4 {
		cache := filepath.Join(dir, fmt.Sprint("cache", round/2))
		p := m.processWith(sandbox.Options{Functions: hostfn.Functions(), CacheDir: cache, CacheKey: []byte("key")}, keeping(t.TempDir(), session.Settings{}))
		var all sync.WaitGroup
		begin := make(chan struct{})
		for i := range 64 {
			all.Go(func() {
				<-begin
				r := p.Run(t.Context(), calls[i%len(calls)])
				if text := want[i%len(calls)]; !r.OK || text != "" && string(r.Raw) != text {
					t.Errorf("round %d, %s: %q, %+v", round, r.Skill, r.Raw, r.Error)
				}
			})
		}
		close(begin)
		all.Wait()
	}
}

// faulty are the host functions with one that panics.
func faulty() []sandbox.HostFunc {
	all := hostfn.Functions()
	for i := range all {
		if all[i].Name == "kv_get" {
			all[i].Call = func(context.Context, *sandbox.Guest, []uint64) error { panic("not today") }
		}
	}
	return all
}

// TestFaultOfTheHost has a host function panic under a call, a call within a call,
// one in a session and one in a process of its own: each of them fails and says
// whose fault it was, and what comes after it works.
func TestFaultOfTheHost(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	pool, err := worker.NewPool(hclog.NewNullLogger(), worker.Settings{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { pool.Close() })
	apart := func(s *runner.Settings) {
		rt, err := sandbox.New(t.Context(), hclog.NewNullLogger(), sandbox.Options{Functions: faulty()})
		if err != nil {
			t.Fatal(err)
		}
		s.Workers = worker.NewRuntime(hclog.NewNullLogger(), pool, rt, faulty(), 0)
		t.Cleanup(func() { s.Workers.Close(context.Background()); rt.Close(context.Background()) })
	}
	p := m.processWith(sandbox.Options{Functions: faulty()}, keeping(t.TempDir(), session.Settings{}), apart)
	reads := func(key string) *guest { // a module of its own, and so instances
		g := newGuest()
		g.tool("run", g.ask("kv_get", fmt.Sprintf(`{"key":%q}`, key), ""), wasmDrop, g.answer("read"))
		return g.tool("fine", g.answer("fine"))
	}
	tools := runTool + `,{"name":"fine","description":"works"}`
	direct := m.lend(on(skill(t, "direct", reads("a"), tools, ""), "run", "kv"))
	inSession := on(ofType(t, manifests.KindCodeSession, "kept", reads("b"), tools, ""), "run", "kv")
	inSession.Session = "s"
	path := direct
	path.Target.Origin = registry.OriginPath
	for name, c := range map[string]runner.Call{"direct": direct, "session": inSession, "apart": path} {
		for range 3 {
			r := p.Run(t.Context(), c)
			if r.OK || r.Error.Kind != fault.KindInternal || !errors.Is(r.Error, sandbox.ErrPanic) || errors.Is(r.Error, sandbox.ErrTrap) ||
				!strings.Contains(r.Error.Message, "fault of the host, not of the module: panic: not today") || !strings.Contains(r.Error.Way().String(), "fault of skillet") {
				t.Fatalf("%s: %+v", name, r.Error)
			}
			if r.Figures.Pooled {
				t.Errorf("%s: the instance was used again", name)
			}
		}
		c.Tool = "fine"
		if r := p.Run(t.Context(), c); !r.OK || string(r.Raw) != "fine" {
			t.Errorf("%s, after that: %+v", name, r.Error)
		}
	}
	caller := on(skill(t, "caller", newGuest().relay("run", `{"skill":"direct","tool":"run"}`, ""), runTool, ""), "run", "skill:direct")
	if r := p.Run(t.Context(), caller); told(r) != "failed the skill could not be run" || len(r.Calls) != 1 || r.Calls[0].Error.Kind != fault.KindInternal {
		t.Errorf("nested: %q, %+v", told(r), r.Calls)
	}
}
