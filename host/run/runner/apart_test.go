package runner_test

import (
	"context"
	"os"
	"strings"
	"testing"

	"github.com/hashicorp/go-hclog"

	"github.com/skillet-run/skillet/host/base/store"
	"github.com/skillet-run/skillet/host/engine/sandbox"
	"github.com/skillet-run/skillet/host/engine/sandbox/worker"
	"github.com/skillet-run/skillet/host/record/journal"
	"github.com/skillet-run/skillet/host/record/registry"
	"github.com/skillet-run/skillet/host/run/hostfn"
	"github.com/skillet-run/skillet/host/run/runner"
	"github.com/skillet-run/skillet/internal/reexec"
	"github.com/skillet-run/skillet/policies"
)

// TestMain runs the tests, or is one of their workers.
func TestMain(m *testing.M) {
	if reexec.Worker.Is(os.Args) {
		os.Exit(worker.Main())
	}
	os.Exit(m.Run())
}

// TestApart runs in a worker process what was never installed, and nothing
// else: without workers to be had only that fails.
func TestApart(t *testing.T) {
	t.Parallel()
	log := hclog.NewNullLogger()
	calls, err := journal.Open(t.TempDir(), journal.Options{})
	if err != nil {
		t.Fatal(err)
	}
	s := store.Memory()
	defer s.Close()
	pool, err := worker.NewPool(log, worker.Settings{})
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	rt, err := sandbox.New(t.Context(), log, sandbox.Options{Functions: hostfn.Functions()})
	if err != nil {
		t.Fatal(err)
	}
	defer rt.Close(context.Background())
	ps, err := policies.Default()
	if err != nil {
		t.Fatal(err)
	}
	apart := worker.NewRuntime(log, pool, rt, hostfn.Functions(), 0)
	r := runner.New(log, s.KV(), rt, ps, nil, nil, calls, runner.Settings{Home: "/home/x/.skillet", Workers: apart})
	p := pack(t, answers(`"hello"`), "")
	for _, origin := range []registry.Origin{registry.OriginPath, registry.OriginUser} {
		c := call(p)
		c.Target.Origin = origin
		if res := r.Run(t.Context(), c); !res.OK || string(res.Data) != `"hello"` {
			t.Errorf("%s: %+v", origin, res)
		}
	}
	if err := apart.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	for origin, ok := range map[registry.Origin]bool{registry.OriginPath: false, registry.OriginUser: true, registry.OriginGenerated: true} {
		c := call(p)
		c.Target.Origin = origin
		res := r.Run(t.Context(), c)
		if res.OK != ok || !ok && !strings.Contains(res.Error.Message, "closed") {
			t.Errorf("%s without workers: %+v", origin, res.Error)
		}
	}
	if err := r.Check(t.Context(), pack(t, answers(`"other"`), "")); err == nil {
		t.Error("a package was looked at in this process")
	}
}
