package runner

import (
	"context"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/cenkalti/backoff/v5"

	"github.com/skillet-run/skillet/internal/duration"
	"github.com/skillet-run/skillet/manifests"
	"github.com/skillet-run/skillet/policies/capability"
)

// retried tries again what failed, as the manifest says and where that can do
// no harm.
func (r *Runner) retried(a *run, next work) work {
	policy := a.manifest.Retries()
	if policy.MaxAttempts == 1 {
		return next
	}
	return func(ctx context.Context) error {
		return retry{
			attempts: policy.MaxAttempts,
			pauses:   &pauses{policy: policy, draw: rand.Int64N},
			left:     a.left(),
			again:    func(err error) bool { return retryable(policy, err) && a.repeatable() },
			waits:    func(d time.Duration) { a.pause = d },
		}.do(ctx, next)
	}
}

// retryable reports whether the manifest wants another attempt after err.
func retryable(policy manifests.RetryConfig, err error) bool {
	return slices.Contains(policy.RetryOn, manifests.Reason(Judge(err).Reason))
}

// repeatable reports whether making the call twice can do no more than making it
// once: the tool promises it, or the call may not change anything that outlives
// it.
func (a *run) repeatable() bool {
	if a.tool.Idempotent || a.tool.ReadOnly {
		return true
	}
	return a.manifest.Type == manifests.KindCodeInline && !slices.ContainsFunc(a.granted.All(), capability.Capability.Changes)
}

// A retry makes attempts until one succeeds, fails for good, or there is no time
// left.
type retry struct {
	attempts int
	pauses   backoff.BackOff
	left     time.Duration // for all of it; 0 is without end
	again    func(error) bool
	waits    func(time.Duration) // told of each pause before it
}

// do makes the attempts. A pause that would not end in time is not begun: the
// error is then the last attempt's. When ctx ends during a pause, it is ctx's.
func (r retry) do(ctx context.Context, attempt work) error {
	operation := func() (struct{}, error) {
		err := attempt(ctx)
		if err != nil && !r.again(err) {
			err = backoff.Permanent(err)
		}
		return struct{}{}, err
	}
	_, err := backoff.Retry(ctx, operation,
		backoff.WithBackOff(r.pauses), backoff.WithMaxTries(uint(r.attempts)), backoff.WithMaxElapsedTime(r.left),
		backoff.WithNotify(func(_ error, d time.Duration) { r.waits(d) }))
	return unmarked(err)
}

// unmarked is err without the mark that kept it from being tried again: the last
// attempt's error comes back with it.
func unmarked(err error) error {
	if p, ok := err.(*backoff.PermanentError); ok {
		return p.Unwrap()
	}
	return err
}

// pauses are the pauses between the attempts at one call. Each is a random part
// of its longest ("full jitter"), so that calls that failed together do not come
// back together.
type pauses struct {
	policy manifests.RetryConfig
	draw   func(n int64) int64 // a random number below n
	made   int
}

// Reset begins anew.
func (p *pauses) Reset() { p.made = 0 }

// NextBackOff is the next pause.
func (p *pauses) NextBackOff() time.Duration {
	p.made++
	return time.Duration(p.draw(int64(p.longest(p.made)) + 1))
}

// longest is the longest that the nth pause can be.
func (p *pauses) longest(n int) time.Duration {
	factor := 1.0
	switch p.policy.BackoffStrategy {
	case manifests.BackoffLinear:
		factor = float64(n)
	case manifests.BackoffExponential:
		factor = float64(uint64(1) << min(n-1, 62))
	}
	return duration.OfSeconds(min(p.policy.BaseDelay*factor, p.policy.MaxDelay))
}
