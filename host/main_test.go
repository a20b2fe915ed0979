package host_test

import (
	"os"
	"testing"

	"github.com/skillet-run/skillet/host/sandbox/worker"
	"github.com/skillet-run/skillet/host/script"
	"github.com/skillet-run/skillet/host/work"
)

// TestMain runs the tests, or is one of their workers.
func TestMain(m *testing.M) {
	if worker.IsWorker(os.Args) {
		os.Exit(worker.Main())
	}
	if script.IsApart(os.Args) {
		os.Exit(script.Apart())
	}
	if work.IsPlugin(os.Args) {
		os.Exit(work.ServePlugin(os.Args[3]))
	}
	os.Exit(m.Run())
}
