package sandbox

import (
	"context"
	"sync"
)

// users counts who is using something, so that closing it can refuse the next
// and wait for the last.
type users struct {
	mu     sync.Mutex
	n      int
	closed bool
	freed  bool
	idle   chan struct{} // made by close, closed when n reaches 0
}

// enter counts one more user, who must leave. The error is ErrClosed.
func (u *users) enter() error {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.closed {
		return ErrClosed
	}
	u.n++
	return nil
}

func (u *users) leave() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.n--
	if u.n == 0 && u.idle != nil {
		close(u.idle)
		u.idle = nil
	}
}

// close refuses new users and waits for the present ones. first is true for
// the one caller that is to free what was used.
func (u *users) close(ctx context.Context) (first bool, err error) {
	u.mu.Lock()
	u.closed = true
	if u.n > 0 && u.idle == nil {
		u.idle = make(chan struct{})
	}
	idle := u.idle
	u.mu.Unlock()
	if idle != nil {
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
