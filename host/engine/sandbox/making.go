package sandbox

import (
	"context"
	"sync"

	"github.com/skillet-run/skillet/host/engine/sandbox/codecache"
)

// makings is machine code that is being made, by the name of what it is made of:
// whoever asks for the same meanwhile gets the same.
type makings struct {
	mu  sync.Mutex
	now map[string]*making
}

// making is one of them. Read kept, err and givenUp when done is closed.
type making struct {
	done    chan struct{}
	kept    *codecache.Module
	err     error
	givenUp bool // by who made it, which says nothing of the module
}

// share calls produce, or waits for the one who does so for the same name. ctx ends
// the wait.
func (ms *makings) share(ctx context.Context, name string, produce func() (*codecache.Module, error)) (*codecache.Module, error) {
	for {
		m, mine := ms.enter(name)
		if mine {
			ms.lead(ctx, name, m, produce)
			return m.kept, m.err
		}
		select {
		case <-m.done:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
		if !m.givenUp {
			return m.kept, m.err
		}
	}
}

// enter returns what is being made, and whether the caller is the one to make it.
func (ms *makings) enter(name string) (m *making, mine bool) {
	ms.mu.Lock()
	defer ms.mu.Unlock()
	if m, ok := ms.now[name]; ok {
		return m, false
	}
	m = &making{done: make(chan struct{})}
	if ms.now == nil {
		ms.now = map[string]*making{}
	}
	ms.now[name] = m
	return m, true
}

// lead makes it. Those who wait hear of it whatever happens.
func (ms *makings) lead(ctx context.Context, name string, m *making, produce func() (*codecache.Module, error)) {
	m.err = contain(func() (err error) {
		m.kept, err = produce()
		return err
	})
	m.givenUp = m.err != nil && ctx.Err() != nil
	ms.mu.Lock()
	delete(ms.now, name)
	ms.mu.Unlock()
	close(m.done)
}
