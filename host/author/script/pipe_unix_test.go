//go:build unix

package script_test

import (
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// namedPipe is a pipe with a path, to which nobody writes.
func namedPipe(t *testing.T) string {
	t.Helper()
	at := filepath.Join(t.TempDir(), "pipe")
	if err := unix.Mkfifo(at, 0o600); err != nil {
		t.Fatal(err)
	}
	return at
}
