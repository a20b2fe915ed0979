package main

import (
	"context"
	"errors"
	"io"
)

// The bounds of one call. They are counted and not timed, so the same file
// gives the same answer on every machine, and a hostile file costs no more than
// a large honest one.
const (
	// maxWork is some 20 seconds of interpreting with fuel on one core: one
	// unit is a byte of a decoded stream, and operators, glyphs and character
	// maps are charged on top. It is enough for books of 3,000 pages.
	maxWork = 1 << 27
	// maxStream is the greatest decoded size of one stream in bytes. What is
	// longer is cut off and reported.
	maxStream = 32 << 20
	// maxReads bounds how often the parser may visit an object while opening.
	maxReads = 8 << 20
	// readFactor and readBase bound the bytes the parser may read while
	// opening: readFactor times the file, plus readBase. An honest file with
	// many small objects needs about 30 times its size.
	readFactor = 128
	readBase   = 16 << 20
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

// counted is a context that ends after a number of looks at it. The parser asks
// once per object, so it bounds opening a file without a clock.
type counted struct {
	context.Context
	left int
}

// Err returns errWork when the looks are used up.
func (c *counted) Err() error {
	c.left--
	if c.left < 0 {
		return errWork
	}
	return nil
}

// metered is a reader that fails after a number of bytes: a file that makes the
// parser scan the same bytes over and over ends in an error.
type metered struct {
	io.ReadSeeker
	left int64
}

// Read implements io.Reader; it returns errWork when the bytes are used up.
func (m *metered) Read(p []byte) (int, error) {
	if m.left <= 0 {
		return 0, errWork
	}
	n, err := m.ReadSeeker.Read(p)
	m.left -= int64(n)
	return n, err
}
