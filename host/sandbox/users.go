package sandbox

import (
	"context"
	"sync"
	"sync/atomic"
)

// users counts who is using something, so that closing it can refuse the next
// and wait for the last.
type users struct {
	n     atomic.Int64 // and usersClosed
	mu    sync.Mutex
	freed bool
	idle  chan struct{} // made by close, closed when nobody is left
}

// usersClosed is added to their number once nobody may come any more.
const usersClosed = 1 << 62

// enter counts one more user, who must leave. The error is ErrClosed.
func (u *users) enter() error {
	if u.n.Add(1) > usersClosed {
		u.leave()
		return ErrClosed
	}
	return nil
}

func (u *users) leave() {
	if u.n.Add(-1) == usersClosed {
		u.left()
	}
}

// left tells close that nobody is left.
func (u *users) left() {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.idle != nil {
		close(u.idle)
		u.idle = nil
	}
}

// close refuses new users and waits for the present ones. first is true for
// the one caller that is to free what was used.
func (u *users) close(ctx context.Context) (first bool, err error) {
	if idle := u.refuse(); idle != nil {
		select {
		case <-idle:
		case <-ctx.Done():
			return false, context.Cause(ctx)
		}
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	first = !u.freed
	u.freed = true
	return first, nil
}

// refuse lets nobody in any more. It returns what is closed when those who are
// in have left, or nil when there are none.
func (u *users) refuse() <-chan struct{} {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.n.Or(usersClosed)|usersClosed == usersClosed {
		return nil
	}
	if u.idle == nil {
		u.idle = make(chan struct{})
	}
	return u.idle
}
