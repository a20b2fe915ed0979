// Package startheap lets a process begin without collecting garbage, until its heap is
// worth it. A command mostly lives for some hundredths of a second, and the collector of
// Go begins at four megabytes: what was allocated so early is in use, and looking at it
// five times over is a tenth of such a command's time.
//
// Importing the package is all: it depends on next to nothing, so that Go initializes it
// before the packages that allocate. The compiler of Go does likewise
// (cmd/compile/internal/base.AdjustStartingHeap).
package startheap

import (
	"math"
	"os"
	"runtime"
	"runtime/debug"
)

// unswept is how much memory the process may have before the first collection, in bytes.
const unswept = 48 << 20

func init() { raise(os.Getenv) }

// raise puts the first collection off, unless somebody has set when to collect.
func raise(getenv func(string) string) bool {
	if getenv("GOGC") != "" || getenv("GOMEMLIMIT") != "" {
		return false
	}
	percent := debug.SetGCPercent(-1)
	debug.SetMemoryLimit(unswept)
	runtime.SetFinalizer(&sentinel{percent: percent}, (*sentinel).lower)
	return true
}

// A sentinel is garbage, and found by the first collection.
type sentinel struct {
	percent int
	_       [8]uintptr // too large to share a block with what lives on
}

// lower has garbage collected as ever. A limit that was set meanwhile stays.
func (s *sentinel) lower() {
	debug.SetGCPercent(s.percent)
	if debug.SetMemoryLimit(-1) == unswept {
		debug.SetMemoryLimit(math.MaxInt64)
	}
}
