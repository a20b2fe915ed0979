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
	done    chan struct{} // closed with the store
	changes func() (uint64, error)
	poll    time.Duration

	mu        sync.Mutex
	listeners map[*listener]struct{}
	running   sync.WaitGroup // goroutines behind Watch and Follow, and those that look
	looking   bool           // whether a goroutine looks for changes of other processes
	seen      uint64         // number of the last change looked at
	own       map[uint64]struct{}
}

func newHub(s Settings) *hub {
	return &hub{done: make(chan struct{}), changes: s.Changes, poll: s.Poll, listeners: map[*listener]struct{}{}, own: map[uint64]struct{}{}}
}

// listener collects the changed keys under a prefix until they are taken.
type listener struct {
	prefix string
	wake   chan struct{} // holds a token when there is something to take
	dirty  map[string]struct{}
	all    bool  // another process may have changed any
	err    error // why it is not known what other processes changed
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

// publish tells what a transaction of this process wrote, and which change it was; 0 when
// that is not known.
func (h *hub) publish(keys []string, change uint64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(keys) > 0 && h.looking && change > h.seen { // without keys it changed nothing
		h.own[change] = struct{}{}
	}
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

// take returns the changed keys, sorted, and forgets them; or all when another process may
// have changed any.
func (h *hub) take(l *listener) (keys []string, all bool, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	keys, all, err = slices.Sorted(maps.Keys(l.dirty)), l.all, l.err
	clear(l.dirty)
	l.all, l.err = false, nil
	return keys, all, err
}

func (h *hub) drop(l *listener) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.listeners, l)
}

// listen begins to collect changes under prefix. What is read afterwards has
// everything that was not collected.
func (h *hub) listen(prefix string) (*listener, error) {
	l := &listener{prefix: prefix, wake: make(chan struct{}, 1), dirty: map[string]struct{}{}}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.changes != nil && !h.looking {
		if h.isClosed() {
			return nil, ErrClosed
		}
		n, err := h.changes()
		if err != nil {
			return nil, err
		}
		h.seen, h.looking = n, true
		h.running.Go(h.look)
	}
	h.listeners[l] = struct{}{}
	return l, nil
}

// look asks for changes of other processes for as long as somebody listens.
func (h *hub) look() {
	t := time.NewTicker(h.poll)
	defer t.Stop()
	for {
		select {
		case <-t.C:
		case <-h.done:
			return
		}
		n, err := h.changes()
		if !h.looked(n, err) {
			return
		}
	}
}

// looked tells the listeners that there were n changes, unless this process made those
// since it was looked last. It returns false when nobody listens any more.
func (h *hub) looked(n uint64, err error) (goOn bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.listeners) == 0 {
		h.looking = false
		clear(h.own)
		return false
	}
	ours := h.seen
	for ours < n {
		if _, ok := h.own[ours+1]; !ok {
			break
		}
		ours++
	}
	all := err == nil && ours != n
	if err == nil {
		h.seen = n
		maps.DeleteFunc(h.own, func(change uint64, _ struct{}) bool { return change <= n })
	}
	if all || err != nil {
		for l := range h.listeners {
			l.all, l.err = l.all || all, err
			l.poke()
		}
	}
	return true
}

// errTimeout ends a wait at its deadline.
var errTimeout = errors.New("nothing changed")

// wait returns when keys under the listener's prefix changed: the keys, or
// all when another process may have changed any. A zero until means no end.
func (h *hub) wait(ctx context.Context, l *listener, until time.Time) (keys []string, all bool, err error) {
	deadline, stop := timer(until)
	defer stop()
	select {
	case <-l.wake:
		return h.take(l)
	case <-deadline:
		return nil, false, errTimeout
	case <-ctx.Done():
		return nil, false, ctx.Err()
	case <-h.done:
		return nil, false, ErrClosed
	}
}

func timer(until time.Time) (<-chan time.Time, func()) {
	if until.IsZero() {
		return nil, func() {}
	}
	t := time.NewTimer(time.Until(until))
	return t.C, func() { t.Stop() }
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
