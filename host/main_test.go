package host_test

import (
	"os"
	"testing"

	"github.com/skillet-run/skillet/host"
	"github.com/skillet-run/skillet/host/sandbox/worker"
)

// TestMain runs the tests, or is one of their workers.
func TestMain(m *testing.M) {
	if worker.IsWorker(os.Args) {
		os.Exit(worker.Main())
	}
	if host.IsPlugin(os.Args) {
		os.Exit(host.ServePlugin(os.Args[3]))
	}
	os.Exit(m.Run())
}
