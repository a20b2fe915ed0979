package sandbox

import (
	"context"
	"sync"
	"sync/atomic"
)

// users counts who is using something, so that closing it can refuse the next
// and wait for the last. Each counts where few others do: in one of several
// numbers, of which only the sum means something.
type users struct {
	counts []userCount
	closed atomic.Bool
	mu     sync.Mutex
	freed  bool
	idle   chan struct{} // made by refuse, closed when nobody is left
}

type userCount struct {
	n atomic.Int64
	_ [cacheLine - 8]byte
}

func newUsers(counts int) *users { return &users{counts: make([]userCount, counts)} }

// enter counts one more user, who must leave with the same count. The error is
// ErrClosed.
func (u *users) enter(count int) error {
	u.counts[count].n.Add(1)
	if u.closed.Load() {
		u.leave(count)
		return ErrClosed
	}
	return nil
}

// leave counts one user less and, once users is closed, looks whether it was the last: from then on
// nobody adds to a count for longer than it takes to see that it is closed.
func (u *users) leave(count int) {
	if u.counts[count].n.Add(-1) == 0 && u.closed.Load() {
		u.signalIdle()
	}
}

// signalIdle lets those who close go on when nobody is left.
func (u *users) signalIdle() {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.idle != nil && u.none() {
		close(u.idle)
		u.idle = nil
	}
}

func (u *users) none() bool {
	for i := range u.counts {
		if u.counts[i].n.Load() != 0 {
			return false
		}
	}
	return true
}

// close refuses new users and waits for the present ones. first is true for
// the one caller that is to free what was used.
func (u *users) close(ctx context.Context) (first bool, err error) {
	if err := u.wait(ctx); err != nil {
		return false, err
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	first = !u.freed
	u.freed = true
	return first, nil
}

// wait refuses new users and waits for the present ones.
func (u *users) wait(ctx context.Context) error {
	idle := u.refuse()
	if idle == nil {
		return nil
	}
	select {
	case <-idle:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// refuse lets nobody in any more. It returns what is closed when those who are
// in have left, or nil when there are none.
func (u *users) refuse() <-chan struct{} {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.closed.Store(true)
	if u.none() {
		return nil
	}
	if u.idle == nil {
		u.idle = make(chan struct{})
	}
	return u.idle
}
