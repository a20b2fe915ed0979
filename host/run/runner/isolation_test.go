package runner_test

import (
	"context"
	"errors"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/skillet-run/skillet/host/base/fault"
	"github.com/skillet-run/skillet/host/engine/sandbox"
	"github.com/skillet-run/skillet/host/engine/sandbox/worker"
	"github.com/skillet-run/skillet/host/record/approval"
	"github.com/skillet-run/skillet/host/record/registry"
	"github.com/skillet-run/skillet/host/run/hostfn"
	"github.com/skillet-run/skillet/host/run/runner"
	"github.com/skillet-run/skillet/host/run/session"
	"github.com/skillet-run/skillet/policies"
)

var isolated = flag.Bool("isolated", false, "run the skills of all tests in worker processes")

// everySkill is the setting by which all skills run in processes of their own.
var everySkill = []runner.Isolated{{Setting: "isolation", Skills: []string{"*"}}}

// isolate makes a runner run all skills in worker processes if the flag -isolated is set.
func isolate(t testing.TB, rt *sandbox.Runtime, functions []sandbox.HostFunc, s *runner.Settings) {
	t.Helper()
	if *isolated {
		s.Workers, s.Isolated = workers(t, rt, functions), everySkill
	}
}

// workers is a runtime in worker processes.
func workers(t testing.TB, rt *sandbox.Runtime, functions []sandbox.HostFunc) *worker.Runtime {
	t.Helper()
	log := hclog.NewNullLogger()
	pool, err := worker.NewPool(log, worker.Settings{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { pool.Close() })
	w := worker.NewRuntime(log, pool, rt, functions, 0)
	t.Cleanup(func() { w.Close(context.Background()) })
	return w
}

// TestIsolated runs the tests of this package once more with every skill in processes of
// its own: to callers it is the same.
func TestIsolated(t *testing.T) {
	if *isolated || testing.Short() {
		t.Skip("they run in processes already, or there is not the time")
	}
	t.Parallel()
	out, err := exec.CommandContext(t.Context(), os.Args[0], "-isolated", "-test.count=1").CombinedOutput()
	if err != nil {
		t.Errorf("with -isolated: %v\n%s", err, out)
	}
}

// apart is a runner that runs all skills in worker processes, and those processes.
func apart(t *testing.T, m *machine, change ...func(*runner.Settings)) (parts, *worker.Runtime) {
	t.Helper()
	rt, err := sandbox.New(t.Context(), hclog.NewNullLogger(), sandbox.Options{Functions: hostfn.Functions()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { rt.Close(context.Background()) })
	w := workers(t, rt, hostfn.Functions())
	all := append([]func(*runner.Settings){func(s *runner.Settings) { s.Workers, s.Isolated = w, everySkill }}, change...)
	return m.process(all...), w
}

// process is the one that has run a call last, of a runtime with no other.
func process(t *testing.T, w *worker.Runtime) worker.Status {
	t.Helper()
	all := w.Processes()
	if len(all) != 1 {
		t.Fatalf("the processes are %+v, want one", all)
	}
	return all[0]
}

// answering is a guest whose tool run gives an answer.
func answering(text string) *guest {
	g := newGuest()
	return g.tool("run", g.answer(text))
}

// TestOnePackageAProcess: a process runs the calls of one package and no other, also when
// its module is the same, such as that of another version or of a skill of somebody else.
func TestOnePackageAProcess(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	p, w := apart(t, m)
	call := func(c runner.Call) int {
		t.Helper()
		known := map[int]bool{}
		for _, s := range w.Processes() {
			known[s.PID] = true
		}
		if r := p.Run(t.Context(), c); !r.OK {
			t.Fatalf("%+v", r.Error)
		}
		for _, s := range w.Processes() {
			if !known[s.PID] {
				return s.PID
			}
		}
		return 0
	}
	old := on(skill(t, "same", answering("x"), runTool, `,"license":"MIT"`), "run")
	update := on(skill(t, "same", answering("x"), runTool, `,"license":"BSD-3-Clause"`), "run")
	other := on(skill(t, "other", answering("x"), runTool, ""), "run")
	signed := old
	signed.Target.Signer = "key:somebody"
	path := old
	path.Target.Origin = registry.OriginPath
	for name, c := range map[string]runner.Call{"old": old, "update": update, "other": other, "signed": signed, "path": path} {
		if call(c) == 0 {
			t.Errorf("%s ran in the process of another", name)
		}
	}
	for name, c := range map[string]runner.Call{"old": old, "update": update, "other": other, "signed": signed, "path": path} {
		if call(c) != 0 {
			t.Errorf("%s did not run in the process that it has", name)
		}
	}
}

// TestKilledInACall has the process of a call killed in the middle of it: that call fails,
// as one whose skill crashed does, and the next has a new process.
func TestKilledInACall(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	p, w := apart(t, m)
	pkg := skill(t, "fragile", answering("fine").tool("spin", spin()), runTool+`,{"name":"spin"}`, "")
	if r := p.Run(t.Context(), on(pkg, "run")); !r.OK {
		t.Fatalf("%+v", r.Error)
	}
	first := process(t, w)
	var calls sync.WaitGroup
	calls.Go(func() {
		r := p.Run(t.Context(), on(pkg, "spin"))
		if r.OK || r.Error.Kind != fault.KindSkill || !errors.Is(r.Error, worker.ErrDied) {
			t.Errorf("killed in its call: %+v", r.Error)
		}
	})
	for !process(t, w).Busy {
		time.Sleep(time.Millisecond)
	}
	victim, err := os.FindProcess(first.PID)
	if err != nil {
		t.Fatal(err)
	}
	if err := victim.Kill(); err != nil {
		t.Fatal(err)
	}
	calls.Wait()
	if r := p.Run(t.Context(), on(pkg, "run")); !r.OK {
		t.Errorf("after that: %+v", r.Error)
	}
	if next := process(t, w); next.PID == first.PID {
		t.Error("the process that was killed has run a call")
	}
}

// TestPolicyIsolates: what a policy forbids to share a process runs in its own, or not at
// all, whatever the settings say; and without worker processes it is refused.
func TestPolicyIsolates(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	dir := t.TempDir()
	err := os.WriteFile(filepath.Join(dir, "mine.cedar"), []byte(`@id("unsigned-apart")
@reason("nobody signed it")
forbid (principal, action == Action::"share-process", resource) when { principal.signer == "" };`), 0o600)
	if err != nil {
		t.Fatal(err)
	}
	set, err := policies.Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	inForce := func(s *runner.Settings) { s.Rights = fixed{set}; s.Isolated = nil }
	pkg := skill(t, "mine", answering("fine"), runTool, "")
	unsigned, signed := on(pkg, "run"), on(pkg, "run")
	signed.Target.Signer = "key:sha256:somebody"
	p, w := apart(t, m, inForce)
	for range 2 {
		for _, c := range []runner.Call{unsigned, signed} {
			if r := p.Run(t.Context(), c); !r.OK {
				t.Fatalf("%+v", r.Error)
			}
		}
	}
	process(t, w)
	i, err := p.IsolationOf(policies.Principal{Skill: "mine", Origin: policies.OriginUser})
	if err != nil || i.Mode != runner.IsolationProcess || i.Reason != "nobody signed it" || !slices.Equal(i.Policies, []string{"unsigned-apart"}) {
		t.Errorf("%+v, %v", i, err)
	}
	none, _ := apart(t, m, inForce, func(s *runner.Settings) { s.Workers = nil })
	if r := none.Run(t.Context(), unsigned); r.OK || r.Error.Kind != fault.KindInternal || !strings.Contains(r.Error.Message, "process of its own") {
		t.Errorf("without worker processes: %+v", r.Error)
	}
	if r := none.Run(t.Context(), signed); !r.OK {
		t.Errorf("%+v", r.Error)
	}
}

// fixed are rights that never change.
type fixed struct{ set *policies.Set }

func (f fixed) Epoch() uint64                    { return 1 }
func (f fixed) Policies() (*policies.Set, error) { return f.set, nil }
func (f fixed) CurrentGrants(_ context.Context, t runner.Target) (approval.Granted, error) {
	return t.Granted, nil
}

// TestSettingIsolates: a setting means all skills, or those whose names fit.
func TestSettingIsolates(t *testing.T) {
	t.Parallel()
	p, _ := apart(t, newMachine(t), func(s *runner.Settings) {
		s.Isolated = []runner.Isolated{{Setting: "isolated_skills", Skills: []string{"csv", "acme-*"}}}
	})
	for name, want := range map[string]runner.Isolation{
		"csv":      {Mode: runner.IsolationProcess, Setting: "isolated_skills"},
		"acme-pdf": {Mode: runner.IsolationProcess, Setting: "isolated_skills"},
		"acme":     {Mode: runner.IsolationShared},
	} {
		if got, err := p.IsolationOf(policies.Principal{Skill: name}); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
}

// TestSessionMovesBetweenProcesses: a session goes on where it was when its skill is kept
// apart from then on, and when it is not any more.
func TestSessionMovesBetweenProcesses(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	var isolation []runner.Isolated
	p, w := apart(t, m, keeping(t.TempDir(), session.Settings{}), func(s *runner.Settings) {
		isolation = []runner.Isolated{{Setting: "isolated_skills", Skills: []string{"nobody"}}}
		s.Isolated = isolation
	})
	c := in(notebook(t, ""), "s", "next")
	for i, want := range []string{"a", "b", "c", "d", "e", "f", "g", "h"} {
		isolation[0].Skills[0] = map[bool]string{false: "nobody", true: "notebook"}[i/2%2 == 1]
		if got := answered(p.Run(t.Context(), c)); got != want {
			t.Errorf("call %d: %q, want %q", i, got, want)
		}
	}
	process(t, w)
}

// TestManyIsolatedAtOnce calls two skills from many goroutines, with each limit reached by
// some of the calls.
func TestManyIsolatedAtOnce(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	p, _ := apart(t, m)
	var all []runner.Call
	for _, name := range []string{"one", "two"} {
		g := answering(name).tool("spin", spin())
		g.tool("keeps", g.ask("kv_get", `{"key":"k"}`, ""), wasmDrop, g.answer(name))
		pkg := skill(t, name, g, runTool+`,{"name":"spin"},{"name":"keeps"}`, "")
		hurried := on(pkg, "spin")
		hurried.Limits.Fuel = 100_000
		all = append(all, on(pkg, "run"), hurried, m.lend(on(pkg, "keeps", "kv")))
	}
	var calls sync.WaitGroup
	for i := range 64 {
		calls.Go(func() {
			for n := range 6 {
				c := all[(i+n)%len(all)]
				r := p.Run(t.Context(), c)
				name := c.Target.Package.Manifest().Name
				if c.Tool == "spin" && (r.OK || r.Error.Kind != fault.KindLimit || !errors.Is(r.Error, sandbox.ErrFuel)) || c.Tool != "spin" && string(r.Raw) != name {
					t.Errorf("%s:%s: %q, %+v", name, c.Tool, r.Raw, r.Error)
				}
			}
		})
	}
	calls.Wait()
}
