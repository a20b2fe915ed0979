package main

import "errors"

// The bounds of one call. They are counted and not timed, so the same file
// gives the same answer on every machine, and a hostile file costs no more than
// a large honest one.
const (
	// maxWork is 6 to 20 seconds of interpreting with fuel on one core: one
	// unit is a byte of a decoded stream, and operators, glyphs and character
	// maps are charged on top. It is enough for books of 3,000 pages.
	maxWork = 1 << 27
	// maxStream is the greatest decoded size of one stream in bytes. What is
	// longer is cut off and reported.
	maxStream = 32 << 20
)

// errWork says that a file asked for more work than one call may do.
var errWork = errors.New("the file asks for more work than one call may do")

// work is what is left of the budget of a call. The zero value has nothing left.
type work struct {
	left int64
}

// spend takes n units and reports whether the budget held.
func (w *work) spend(n int) bool {
	w.left -= int64(n)
	return w.left > 0
}
