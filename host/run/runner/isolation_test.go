package runner_test

import (
	"context"
	"flag"
	"os"
	"os/exec"
	"testing"

	"github.com/hashicorp/go-hclog"

	"github.com/skillet-run/skillet/host/engine/sandbox"
	"github.com/skillet-run/skillet/host/engine/sandbox/worker"
	"github.com/skillet-run/skillet/host/run/runner"
)

var isolated = flag.Bool("isolated", false, "run the skills of all tests in worker processes")

// everySkill is the setting by which all skills run in processes of their own.
var everySkill = []runner.Isolated{{Setting: "isolation", Skills: []string{"*"}}}

// isolate has a runner run all skills in worker processes, with -isolated.
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
