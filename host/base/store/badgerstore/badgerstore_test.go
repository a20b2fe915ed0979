package badgerstore

import (
	"os"
	"testing"

	"github.com/hashicorp/go-hclog"

	"github.com/skillet-run/skillet/host/base/store/storetest"
)

// testOptions are the settings of most tests: no watch of the free space, so
// that they pass on any disk.
func testOptions() Options { return Options{Delivery: storetest.Delivery(), FreeBytes: -1} }

func testLog(t testing.TB) hclog.Logger {
	if os.Getenv("SKILLET_TEST_LOG") == "" {
		return hclog.NewNullLogger()
	}
	return hclog.New(&hclog.LoggerOptions{Level: hclog.Trace, Output: t.Output()})
}

// hooked is a place with at most one set of hooks.
func hooked(t testing.TB, dir string, o Options, h []hooks) *storeDir {
	return append(h, hooks{})[0].storeDir(testLog(t), dir, o)
}

func mustOpen(t testing.TB, dir string, o Options, h ...hooks) *Store {
	t.Helper()
	s, err := hooked(t, dir, o, h).open()
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func mustShare(t testing.TB, dir string, o Options, h ...hooks) *Store {
	t.Helper()
	s, err := hooked(t, dir, o, h).openShared()
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestBackend(t *testing.T) {
	t.Parallel()
	storetest.RunBackend(t, Backend())
}

func testKey() []byte { return []byte("0123456789abcdef0123456789abcdef") }
