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
	// bar is drawn while somebody waits; nil otherwise.
	bar *progressbar.ProgressBar
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
					s.move(what)
				}
			}
		}
	}()
	return sync.OnceFunc(func() {
		close(stop)
		<-stopped
	})
}

func (s *screen) move(what string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.bar == nil {
		s.bar = progressbar.NewOptions(-1,
			progressbar.OptionSetWriter(s.w), progressbar.OptionSetDescription(what),
			progressbar.OptionSpinnerType(14), progressbar.OptionSetElapsedTime(true),
			progressbar.OptionSetPredictTime(false),
			progressbar.OptionSetSpinnerChangeInterval(0), progressbar.OptionClearOnFinish())
	}
	// A terminal that cannot show progress must not stop the work.
	_ = s.bar.Add(1)
}

func (s *screen) erase() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.bar != nil {
		_ = s.bar.Clear()
		s.bar = nil
	}
}
