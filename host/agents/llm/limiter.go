package llm

import (
	"context"
	"fmt"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/skillet-run/skillet/plugins/provider"
)

// limiters keep requests within the limits of providers. They count in memory: each
// process has the whole limit.
type limiters struct {
	settings Settings

	mu  sync.Mutex
	all map[string]*limiter
}

// A limiter bounds the requests to one provider.
type limiter struct {
	slots            chan struct{} // taken by requests that are under way
	requests, tokens *rate.Limiter // of a minute; nil without a limit
}

func (p *limiters) of(name string) *limiter {
	p.mu.Lock()
	defer p.mu.Unlock()
	if x := p.all[name]; x != nil {
		return x
	}
	l := p.settings.limit(name)
	x := &limiter{make(chan struct{}, l.Concurrent), perMinute(l.RequestsPerMinute), perMinute(l.TokensPerMinute)}
	if p.all == nil {
		p.all = map[string]*limiter{}
	}
	p.all[name] = x
	return x
}

func perMinute(n int) *rate.Limiter {
	if n <= 0 {
		return nil
	}
	return rate.NewLimiter(rate.Limit(float64(n)/60), n)
}

func (p *limiters) underWay(name string) int { return len(p.of(name).slots) }

// enter waits for a turn to send a request of so many tokens, and for a provider that
// wants to rest, but not longer than the settings say. It is left by calling done
// with the tokens it was.
func (p *limiters) enter(ctx context.Context, name string, rest time.Duration, tokens int) (done func(real int), err error) {
	x := p.of(name)
	wait, give := x.reserve(tokens)
	wait = max(wait, rest)
	if wait > p.settings.MaxWait {
		give()
		return nil, &provider.Error{Class: provider.ClassRateLimited, RetryAfter: wait,
			Message: fmt.Sprintf("provider %s is not asked: its turn comes in %s", name, wait.Round(time.Second))}
	}
	if err := pause(ctx, wait); err != nil {
		give()
		return nil, err
	}
	if err := x.acquire(ctx, name, p.settings.MaxWait); err != nil {
		give()
		return nil, err
	}
	return func(real int) {
		<-x.slots
		if real > tokens && x.tokens != nil { // what it was more than was thought is owed
			x.tokens.ReserveN(time.Now(), min(real-tokens, x.tokens.Burst()))
		}
	}, nil
}

// reserve takes a request and tokens from the limits, and says how long to wait.
func (x *limiter) reserve(tokens int) (wait time.Duration, give func()) {
	now := time.Now()
	var all []*rate.Reservation
	if x.requests != nil {
		all = append(all, x.requests.ReserveN(now, 1))
	}
	if x.tokens != nil {
		all = append(all, x.tokens.ReserveN(now, min(tokens, x.tokens.Burst())))
	}
	for _, r := range all {
		wait = max(wait, r.DelayFrom(now))
	}
	return wait, func() {
		for _, r := range all {
			r.Cancel()
		}
	}
}

func (x *limiter) acquire(ctx context.Context, name string, most time.Duration) error {
	select {
	case x.slots <- struct{}{}:
		return nil
	default:
	}
	t := time.NewTimer(most)
	defer t.Stop()
	select {
	case x.slots <- struct{}{}:
		return nil
	case <-t.C:
		return &provider.Error{Class: provider.ClassRateLimited, RetryAfter: time.Second,
			Message: fmt.Sprintf("provider %s is not asked: it had %d requests under way for %s", name, cap(x.slots), most)}
	case <-ctx.Done():
		return ctx.Err()
	}
}

// pause waits, or returns the error of the context.
func pause(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
