package startworker

import (
	"testing"

	"github.com/hashicorp/go-hclog"

	"github.com/skillet-run/skillet/host/engine/sandbox/worker"
)

// The program of this test has no main that knows of workers, so whatever a worker
// answers comes from importing the package.
func TestImportingIsEnough(t *testing.T) {
	pool, err := worker.NewPool(hclog.NewNullLogger(), worker.Settings{})
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	walls, err := pool.Walls()
	if err != nil || len(walls) == 0 {
		t.Fatalf("walls %v, %v", walls, err)
	}
}
