// Package screen is what a person at a terminal sees: text of others made safe to show, lines,
// and below them what is being waited for.
package screen

import (
	"io"
	"sync"
	"time"

	"github.com/schollz/progressbar/v3"
)

// Answers is the stream that answers go to. It remembers that a write failed,
// so that a full disk behind `skillet list > file` does not look like success.
type Answers struct {
	w io.Writer
	// Failed is the first error of a write; nil for none.
	Failed error
}

// NewAnswers makes the stream that writes to w.
func NewAnswers(w io.Writer) *Answers { return &Answers{w: w} }

// Write implements [io.Writer].
func (a *Answers) Write(b []byte) (int, error) {
	n, err := a.w.Write(b)
	if err != nil && a.Failed == nil {
		a.Failed = err
	}
	return n, err
}

// A Screen is the stream for people: lines, and below them, on a terminal,
// what they are waiting for.
type Screen struct {
	w  io.Writer
	mu sync.Mutex // guards bar, and that a line is written in one piece
	// bar is drawn while somebody waits; nil otherwise. total is what it goes to, and 0
	// or less when nobody knows.
	bar   *progressbar.ProgressBar
	total int64
}

// New makes the screen that writes to w.
func New(w io.Writer) *Screen { return &Screen{w: w} }

// Write erases the bar before it writes; the next turn draws it below.
func (s *Screen) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.bar != nil {
		if err := s.bar.Clear(); err != nil {
			return 0, err
		}
	}
	return s.w.Write(b)
}

// Patience is how long something may take before a terminal shows that it is
// being waited for; Turn is how often that moves.
const (
	Patience = 100 * time.Millisecond
	Turn     = 100 * time.Millisecond
)

// Waiting shows, after a moment, what is being waited for, until done is
// called. The bar is the screen's alone: it moves only under the lock.
func (s *Screen) Waiting(what string) (done func()) {
	return s.Watching(func() (string, int64, int64) { return what, 0, 0 })
}

// Watching is [Screen.Waiting] for what moves towards an end: look says what it
// is, and how many bytes of how many are done, when that is known.
func (s *Screen) Watching(look func() (what string, done, total int64)) (done func()) {
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		tick := time.NewTicker(Turn)
		defer tick.Stop()
		for started := time.Now(); ; {
			select {
			case <-stop:
				s.Erase()
				return
			case <-tick.C:
				if time.Since(started) >= Patience {
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

func (s *Screen) move(what string, done, total int64) {
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

// Count draws that the n-th of some things, counted from 0, begins, until Erase is called.
func (s *Screen) Count(n, of int, what string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.bar == nil {
		s.bar = progressbar.NewOptions(of, progressbar.OptionSetWriter(s.w), progressbar.OptionSetWidth(20),
			progressbar.OptionShowCount(), progressbar.OptionSetPredictTime(false), progressbar.OptionClearOnFinish())
	}
	s.bar.Describe(what)
	// A terminal that cannot show progress must not stop the work.
	_ = s.bar.Set(n)
}

// Erase takes away what is drawn.
func (s *Screen) Erase() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.bar != nil {
		_ = s.bar.Clear()
		s.bar = nil
	}
}
