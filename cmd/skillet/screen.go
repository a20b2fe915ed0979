package main

import (
	"strings"
	"sync"

	"github.com/skillet-run/skillet/host/edge/lines"
	"github.com/skillet-run/skillet/internal/text"
)

// Small texts, and text of others as it may be shown: see package text.
var (
	plain        = text.Plain
	plainLines   = text.PlainLines
	visible      = text.Visible
	short        = text.Short
	writeEscaped = text.WriteEscaped
	count        = text.Count
	when         = text.When
	millis       = text.Millis
	shortID      = lines.ShortID
)

// A printer prints one line, of an answer or for people.
type printer func(format string, args ...any)

// printAll prints lines that are safe to show.
func printAll(print printer, all []string) {
	for _, line := range all {
		print("%s", line)
	}
}

// printLines is [answered] for what people are shown as lines.
func printLines[T any](t *terminal, v T, err error, in func(T) []string) error {
	return t.answered(v, err, func() { printAll(t.say, in(v)) })
}

// because is a reason behind a sentence; nothing for none.
func because(reason string) string {
	if reason == "" {
		return ""
	}
	return " (" + reason + ")"
}

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
	verb, name := "fetching", plain(short(d.names[i], 60))
	if strings.HasPrefix(name, "engine:") { // its parts are fetched, and a package is made of them
		verb = "making"
	}
	return d.t.err.Watching(func() (string, int64, int64) {
		n, of := d.came(i)
		return verb + " " + name, n, of
	})
}
