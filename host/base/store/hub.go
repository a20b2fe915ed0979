package store

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"
)

// hub tells the calls that wait for changes which keys changed.
type hub struct {
	done chan struct{} // closed with the store

	mu        sync.Mutex
	listeners map[*listener]struct{}
	running   sync.WaitGroup // goroutines behind Watch and Follow
}

func newHub() *hub {
	return &hub{done: make(chan struct{}), listeners: map[*listener]struct{}{}}
}

// listener collects the changed keys under a prefix until they are taken.
type listener struct {
	prefix string
	wake   chan struct{} // holds a token when there is something to take
	dirty  map[string]struct{}
	seen   uint64 // number of the last change looked at, when others write too
}

func (h *hub) isClosed() bool {
	select {
	case <-h.done:
		return true
	default:
		return false
	}
}

// close ends all waiting and waits until the goroutines are gone.
func (h *hub) close() {
	h.mu.Lock()
	close(h.done)
	h.mu.Unlock()
	h.running.Wait()
}

// spawn runs fn in a goroutine that close waits for.
func (h *hub) spawn(fn func()) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.isClosed() {
		return ErrClosed
	}
	h.running.Go(fn)
	return nil
}

func (h *hub) publish(keys []string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for l := range h.listeners {
		for _, k := range keys {
			if strings.HasPrefix(k, l.prefix) {
				l.dirty[k] = struct{}{}
			}
		}
		if len(l.dirty) > 0 {
			l.poke()
		}
	}
}

func (l *listener) poke() {
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

// take returns the changed keys, sorted, and forgets them.
func (h *hub) take(l *listener) []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	keys := slices.Sorted(maps.Keys(l.dirty))
	clear(l.dirty)
	return keys
}

func (h *hub) drop(l *listener) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.listeners, l)
}

// listen begins to collect changes under prefix. What is read afterwards has
// everything that was not collected.
func (s *layered) listen(prefix string) (*listener, error) {
	l := &listener{prefix: prefix, wake: make(chan struct{}, 1), dirty: map[string]struct{}{}}
	if s.settings.Changes != nil {
		n, err := s.settings.Changes()
		if err != nil {
			return nil, err
		}
		l.seen = n
	}
	s.hub.mu.Lock()
	defer s.hub.mu.Unlock()
	s.hub.listeners[l] = struct{}{}
	return l, nil
}

// errTimeout ends a wait at its deadline.
var errTimeout = errors.New("nothing changed")

// wait returns when keys under the listener's prefix changed: the keys, or
// all when another process may have changed any. A zero until means no end.
func (s *layered) wait(ctx context.Context, l *listener, until time.Time) (keys []string, all bool, err error) {
	deadline, stop := timer(until)
	defer stop()
	poll, stopPoll := s.ticker()
	defer stopPoll()
	for {
		select {
		case <-l.wake:
			return s.hub.take(l), false, nil
		case <-poll:
			n, err := s.settings.Changes()
			if err != nil || n != l.seen {
				l.seen = n
				return nil, true, err
			}
		case <-deadline:
			return nil, false, errTimeout
		case <-ctx.Done():
			return nil, false, ctx.Err()
		case <-s.hub.done:
			return nil, false, ErrClosed
		}
	}
}

func timer(until time.Time) (<-chan time.Time, func()) {
	if until.IsZero() {
		return nil, func() {}
	}
	t := time.NewTimer(time.Until(until))
	return t.C, func() { t.Stop() }
}

func (s *layered) ticker() (<-chan time.Time, func()) {
	if s.settings.Changes == nil {
		return nil, func() {}
	}
	t := time.NewTicker(s.settings.Poll)
	return t.C, t.Stop
}

// send gives v to out unless ctx or the store ends first.
func send[T any](ctx context.Context, h *hub, out chan<- T, v T) bool {
	select {
	case out <- v:
		return true
	case <-ctx.Done():
		return false
	case <-h.done:
		return false
	}
}
