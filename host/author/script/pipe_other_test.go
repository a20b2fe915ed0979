//go:build !unix

package script_test

import "testing"

// namedPipe is a path that leads nowhere: there are no pipes with a path.
func namedPipe(t *testing.T) string { return t.TempDir() + "/pipe" }
