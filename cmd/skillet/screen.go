package main

import (
	"io"
	"sync"
	"time"

	"github.com/schollz/progressbar/v3"
)

// answers is the stream that answers go to. It remembers that a write failed,
// so that a full disk behind `skillet list > file` does not look like success.
type answers struct {
	w      io.Writer
	failed error
}

func (a *answers) Write(b []byte) (int, error) {
	n, err := a.w.Write(b)
	if err != nil && a.failed == nil {
		a.failed = err
	}
	return n, err
}

// A screen is the stream for people: lines, and below them, on a terminal,
// what they are waiting for.
type screen struct {
	w  io.Writer
	mu sync.Mutex // guards bar, and that a line is written in one piece
	// bar is drawn while somebody waits; nil otherwise. total is what it goes to, and 0
	// or less when nobody knows.
	bar   *progressbar.ProgressBar
	total int64
}

// Write erases the bar before it writes; the next turn draws it below.
func (s *screen) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.bar != nil {
		if err := s.bar.Clear(); err != nil {
			return 0, err
		}
	}
	return s.w.Write(b)
}

// patience is how long something may take before a terminal shows that it is
// being waited for; turn is how often that moves.
const (
	patience = 300 * time.Millisecond
	turn     = 100 * time.Millisecond
)

// waiting shows, after a moment, what is being waited for, until done is
// called. The bar is the screen's alone: it moves only under the lock.
func (s *screen) waiting(what string) (done func()) {
	return s.watching(func() (string, int64, int64) { return what, 0, 0 })
}

// watching is [screen.waiting] for what moves towards an end: look says what it
// is, and how many bytes of how many are done, when that is known.
func (s *screen) watching(look func() (what string, done, total int64)) (done func()) {
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		tick := time.NewTicker(turn)
		defer tick.Stop()
		for started := time.Now(); ; {
			select {
			case <-stop:
				s.erase()
				return
			case <-tick.C:
				if time.Since(started) >= patience {
					s.move(look())
				}
			}
		}
	}()
	return sync.OnceFunc(func() {
		close(stop)
		<-stopped
	})
}

func (s *screen) move(what string, done, total int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.bar != nil && s.total != total {
		_ = s.bar.Clear()
		s.bar = nil
	}
	if s.bar == nil {
		s.bar, s.total = newBar(s.w, what, total), total
	} else if total <= 0 {
		s.bar.Describe(what)
	}
	// A terminal that cannot show progress must not stop the work.
	if total > 0 {
		_ = s.bar.Set64(min(done, total-1)) // a bar that is full draws no more
		return
	}
	_ = s.bar.Add(1)
}

// barMax is the end of a bar; -1 when nobody knows it.
func barMax(total int64) int64 {
	if total <= 0 {
		return -1
	}
	return total
}

func newBar(w io.Writer, what string, total int64) *progressbar.ProgressBar {
	o := []progressbar.Option{
		progressbar.OptionSetWriter(w), progressbar.OptionSetDescription(what), progressbar.OptionClearOnFinish(),
	}
	if total > 0 {
		o = append(o, progressbar.OptionShowBytes(true), progressbar.OptionSetWidth(24))
	} else {
		o = append(o, progressbar.OptionSpinnerType(14), progressbar.OptionSetElapsedTime(true),
			progressbar.OptionSetPredictTime(false), progressbar.OptionSetSpinnerChangeInterval(0))
	}
	return progressbar.NewOptions64(barMax(total), o...)
}

func (s *screen) erase() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.bar != nil {
		_ = s.bar.Clear()
		s.bar = nil
	}
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
	name := plain(short(d.names[i], 60))
	return d.t.err.watching(func() (string, int64, int64) {
		n, of := d.came(i)
		return "fetching " + name, n, of
	})
}
