package main

import (
	"sync"

	"github.com/skillet-run/skillet/cmd/skillet/internal/screen"
)

// Text of others as it may be shown: see package screen.
var (
	plain        = screen.Plain
	plainLines   = screen.PlainLines
	visible      = screen.Visible
	short        = screen.Short
	writeEscaped = screen.WriteEscaped
)

// downloads are what a person is waiting for: packages that are fetched, with
// how much of each came.
type downloads struct {
	t     *terminal
	names []string

	mu    sync.Mutex
	bytes []struct{ done, total int64 }
}

// downloading watches fetches by their names.
func (t *terminal) downloading(names []string) *downloads {
	return &downloads{t: t, names: names, bytes: make([]struct{ done, total int64 }, len(names))}
}

// of is told how much of one of them came.
func (d *downloads) of(i int) func(done, total int64) {
	return func(done, total int64) {
		d.mu.Lock()
		defer d.mu.Unlock()
		d.bytes[i].done, d.bytes[i].total = done, total
	}
}

func (d *downloads) came(i int) (done, total int64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.bytes[i].done, d.bytes[i].total
}

// show draws one of them on a terminal, after a moment, until done is called.
func (d *downloads) show(i int) (done func()) {
	if !d.t.errTTY || d.t.json {
		return func() {}
	}
	name := plain(short(d.names[i], 60))
	return d.t.err.Watching(func() (string, int64, int64) {
		n, of := d.came(i)
		return "fetching " + name, n, of
	})
}
