package event

import (
	"context"
	"fmt"
	"runtime/debug"
	"sync"
)

// A Handler does something about an event. Its context ends with the
// subscription. An error is counted and written to the log; the next event comes
// all the same.
type Handler func(ctx context.Context, e Event) error

// A Subscription hands events to a handler, one after the other and in order.
type Subscription struct {
	bus     *Bus
	name    string
	pattern Pattern
	handle  Handler
	cancel  context.CancelFunc
	done    chan struct{}

	mu    sync.Mutex
	stats SubscriptionStats
}

// SubscriptionStats are figures of one subscription.
type SubscriptionStats struct {
	Name    string  `json:"name"`
	Pattern Pattern `json:"pattern"`
	// Handled counts the events that were handed over, Failed those of them whose
	// handler returned an error, and Panicked those where it panicked.
	Handled  uint64 `json:"handled"`
	Failed   uint64 `json:"failed"`
	Panicked uint64 `json:"panicked"`
	// Last is the number of the last event that was handed over: where to go on
	// from after a restart.
	Last uint64 `json:"last_seq"`
}

// Subscribe hands every event that p selects with a number above after to handle,
// those of the past first, until ctx ends or the subscription is closed. name is
// for figures and the log.
func (b *Bus) Subscribe(ctx context.Context, name string, p Pattern, after uint64, handle Handler) (*Subscription, error) {
	if err := p.Check(); err != nil {
		return nil, fmt.Errorf("subscribe %s: %w", name, err)
	}
	ctx, cancel := context.WithCancel(ctx)
	records, err := b.events.Follow(ctx, p.prefix(), after)
	if err != nil {
		cancel()
		return nil, fmt.Errorf("subscribe %s: %w", name, err)
	}
	s := &Subscription{bus: b, name: name, pattern: p, handle: handle, cancel: cancel, done: make(chan struct{})}
	s.stats = SubscriptionStats{Name: name, Pattern: p, Last: after}
	b.mu.Lock()
	b.subs[s] = struct{}{}
	b.mu.Unlock()
	b.running.Go(func() {
		defer s.end()
		for r := range records {
			if e, ok := b.event(r); ok && p.Matches(e.Type) {
				s.deliver(ctx, e)
			}
		}
	})
	return s, nil
}

// end takes the subscription out of the bus.
func (s *Subscription) end() {
	s.cancel()
	s.bus.mu.Lock()
	delete(s.bus.subs, s)
	s.bus.mu.Unlock()
	close(s.done)
}

// deliver hands one event over, and counts how that went.
func (s *Subscription) deliver(ctx context.Context, e Event) {
	if ctx.Err() != nil {
		return
	}
	err, panicked := s.call(ctx, e)
	s.mu.Lock()
	s.stats.Handled++
	s.stats.Last = e.Seq
	if err != nil {
		s.stats.Failed++
	}
	if panicked {
		s.stats.Panicked++
	}
	s.mu.Unlock()
	if err != nil {
		s.bus.log.Warn("an event was not handled", "subscription", s.name, "type", e.Type, "seq", e.Seq, "err", err)
	}
}

// call runs the handler; a panic is an error.
func (s *Subscription) call(ctx context.Context, e Event) (err error, panicked bool) {
	defer func() {
		if r := recover(); r != nil {
			err, panicked = fmt.Errorf("panic: %v\n%s", r, debug.Stack()), true
		}
	}()
	return s.handle(ctx, e), false
}

// Stats returns the figures.
func (s *Subscription) Stats() SubscriptionStats {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.stats
}

// Close ends the subscription and waits for its handler. A handler that closes
// its own would wait for itself: it ends its context instead, by returning.
func (s *Subscription) Close() {
	s.cancel()
	<-s.done
}
