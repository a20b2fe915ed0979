//go:build unix

package main

import (
	"fmt"
	"strings"
	"testing"
)

// TestLimitsOfAProcess: a process that may open too few files says that, whatever it could
// not open, and never that the home is damaged.
func TestLimitsOfAProcess(t *testing.T) {
	p := newPerson(t)
	p.pack("echo", "echo", "1.0.0", "")
	p.must(0, "install", "./echo", "--yes")
	for files := 8; files <= 40; files += 4 {
		for _, line := range []string{"list", "run echo --input x", "permission grant echo clock", "audit verify"} {
			code, out, errs := p.shell(fmt.Sprintf("ulimit -n %d; skillet %s", files, line))
			limited := code == 4 && strings.Contains(errs, "too many open files") && strings.Contains(errs, "ulimit -n")
			if code != 0 && !limited || strings.Contains(errs, "damaged") {
				t.Errorf("%d files, %s: exit code %d: %s%s", files, line, code, out, errs)
			}
		}
	}
	p.must(0, "store", "verify")
	p.must(0, "audit", "verify")
}
