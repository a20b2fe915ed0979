package host_test

import (
	"os"
	"testing"

	"github.com/skillet-run/skillet/host"
	"github.com/skillet-run/skillet/host/sandbox/worker"
	"github.com/skillet-run/skillet/host/script"
)

// TestMain runs the tests, or is one of their workers.
func TestMain(m *testing.M) {
	if worker.IsWorker(os.Args) {
		os.Exit(worker.Main())
	}
	if script.IsApart(os.Args) {
		os.Exit(script.Apart())
	}
	if host.IsPlugin(os.Args) {
		os.Exit(host.ServePlugin(os.Args[3]))
	}
	os.Exit(m.Run())
}
