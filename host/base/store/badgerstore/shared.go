package badgerstore

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/skillet-run/skillet/host/base/store"
	"github.com/skillet-run/skillet/host/base/store/filelock"
)

// shared is an engine that opens the store for some calls and keeps it for a
// moment. Calls of one process share what is open.
type shared struct {
	storeDir *storeDir
	turn     chan struct{} // holds one token: the right to use what follows

	closed  bool
	session *session      // nil when the store is not open
	users   int           // calls that use the session
	ended   chan struct{} // closed when the last user of a session that no call may begin with any more ends; nil when calls may
	lock    *filelock.Lock
	opened  time.Time
	used    time.Time // end of the last call
	looked  time.Time // when it was last looked whether another process waits
	failed  error     // of closing the store in the background; for the next call
}

func newShared(p *storeDir) *shared {
	e := &shared{storeDir: p, turn: make(chan struct{}, 1)}
	e.turn <- struct{}{}
	return e
}

// When another process waits, a store in use is given up after fairShare and an idle one
// after lookAround, or lookSeldom where it has been idle for a while: looking costs a
// process that only waits for work more than the rest of it, and more than a short call,
// so that one in use looks every lookOften.
const (
	fairShare  = 50 * time.Millisecond
	lookOften  = time.Millisecond
	lookAround = 5 * time.Millisecond
	lookSeldom = 20 * time.Millisecond
)

// View implements store.Engine.
func (e *shared) View(ctx context.Context, fn func(store.Reader) error) error {
	return e.call(ctx, readOnly, func(s *session) error {
		return s.view(func(r reader) error { return fn(r) })
	})
}

// Update implements store.Engine.
func (e *shared) Update(ctx context.Context, fn func(store.Tx) error) error {
	return e.call(ctx, readWrite, func(s *session) error { return s.update(ctx, fn) })
}

func (e *shared) snapshot(ctx context.Context, fn func(snapshot) error) error {
	return e.call(ctx, readOnly, func(s *session) error { return s.snapshot(fn) })
}

// Close implements store.Engine.
func (e *shared) Close() error {
	<-e.turn
	e.closed = true
	if e.users > 0 {
		ended := e.ending()
		e.giveTurn()
		<-ended
		<-e.turn
	}
	defer e.giveTurn()
	return errors.Join(e.failed, e.give())
}

func (e *shared) giveTurn() { e.turn <- struct{}{} }

// ending lets no more calls begin with the session, and is closed when those that use it
// have ended.
func (e *shared) ending() <-chan struct{} {
	if e.ended == nil {
		e.ended = make(chan struct{})
	}
	return e.ended
}

// call runs fn with the store open.
func (e *shared) call(ctx context.Context, m mode, fn func(*session) error) error {
	s, err := e.begin(ctx, m)
	if err != nil {
		return err
	}
	return e.end(s, fn)
}

// begin opens the store, unless it is open in a way that does for m, and has another user
// of it.
func (e *shared) begin(ctx context.Context, m mode) (*session, error) {
	for {
		select {
		case <-e.turn:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		if e.users == 0 || e.ended == nil && e.session.mode >= m {
			break
		}
		ended := e.ending()
		e.giveTurn()
		select {
		case <-ended:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	defer e.giveTurn()
	if e.closed {
		return nil, store.ErrClosed
	}
	if err := e.take(ctx, m); err != nil {
		return nil, fmt.Errorf("open store %s: %w", e.storeDir.dir, err)
	}
	e.users++
	return e.session, nil
}

// end runs fn, for which begin was called. The last user of a session that is to end closes
// it.
func (e *shared) end(s *session, fn func(*session) error) (err error) {
	damaged := true // also when fn panics
	defer func() {
		<-e.turn
		defer e.giveTurn()
		e.used = time.Now()
		if damaged || e.wanted() {
			e.ending()
		}
		if e.users--; e.users == 0 && e.ended != nil {
			err = errors.Join(err, e.give())
			close(e.ended)
			e.ended = nil
		}
	}()
	err = fn(s)
	damaged = errors.Is(err, store.ErrDamaged)
	return err
}

// wanted reports whether another process waits for a store that was open for long enough.
func (e *shared) wanted() bool {
	if e.used.Sub(e.opened) <= fairShare || e.used.Sub(e.looked) < lookOften {
		return false
	}
	e.looked = e.used
	return e.storeDir.contended()
}

// take opens the store unless it is open in a way that does.
func (e *shared) take(ctx context.Context, m mode) error {
	if failed := e.failed; failed != nil {
		e.failed = nil
		return failed
	}
	if e.session != nil && e.session.mode >= m {
		return nil
	}
	if err := e.give(); err != nil {
		return err
	}
	err := e.open(ctx, m)
	if errors.Is(err, errNeedsWriter) {
		err = e.open(ctx, readWrite)
	}
	return err
}

func (e *shared) open(ctx context.Context, m mode) error {
	l, err := e.storeDir.lock(ctx, m != readOnly)
	if err != nil {
		return err
	}
	s, err := e.storeDir.openSession(ctx, m, false)
	if err != nil {
		return errors.Join(err, l.Release())
	}
	e.session, e.lock, e.opened, e.used = s, l, time.Now(), time.Now()
	go e.linger(s)
	return nil
}

// give closes the store, if it is open, and lets others in.
func (e *shared) give() error {
	if e.session == nil {
		return nil
	}
	err := errors.Join(e.session.end(), e.lock.Release())
	e.session, e.lock = nil, nil
	return err
}

// linger closes the store when it has been idle long enough. It ends with the
// session it was started for.
func (e *shared) linger(s *session) {
	for pause := lookAround; ; {
		time.Sleep(pause)
		<-e.turn
		if e.session != s {
			e.giveTurn()
			return
		}
		if e.users > 0 {
			e.giveTurn()
			continue
		}
		idle := time.Since(e.used)
		if pause = lookAround; idle > time.Second {
			pause = lookSeldom
		}
		if idle >= e.storeDir.options.Linger || idle >= lookAround && e.storeDir.contended() {
			e.failed = e.give()
		}
		e.giveTurn()
	}
}
