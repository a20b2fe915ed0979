package host_test

import (
	"os"
	"testing"

	"github.com/skillet-run/skillet/host"
)

// TestMain runs the tests, or is one of their workers.
func TestMain(m *testing.M) {
	if code, ok := host.Roles().Run(os.Args); ok {
		os.Exit(code)
	}
	os.Exit(m.Run())
}
