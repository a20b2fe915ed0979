package runner

import (
	"context"
	"time"

	"golang.org/x/time/rate"

	"github.com/skillet-run/skillet/host/task"
	"github.com/skillet-run/skillet/manifests"
)

// paced refuses calls that come more often than the manifest allows.
func (r *Runner) paced(a *run, next work) work {
	limit := a.manifest.Performance.RateLimit
	if limit == nil {
		return next
	}
	tokens := cell[bucket]{r.kv, rateKey(a.call.Target)}
	return func(ctx context.Context) error {
		var wait time.Duration
		err := tokens.update(ctx, func(b bucket) bucket {
			b, wait = b.take(time.Now(), *limit)
			return b
		})
		if err != nil {
			return err
		}
		if wait > 0 {
			return task.Errorf(task.KindLimit, "%s is %w: %s in %s", a.call.Target.Label, ErrRate, count(limit.MaxCalls, "call"), seconds(limit.PerSeconds)).
				WithHint("try again in %s; performance.rate_limit in its manifest says how often", ceil(wait)).
				WithRetryAfter(wait)
		}
		return next(ctx)
	}
}

// A bucket is a token bucket in the store. The zero value is full.
type bucket struct {
	// EmptyAt is when it held no token, in Unix microseconds: all there is to
	// know of a bucket that fills evenly.
	EmptyAt int64 `json:"empty_at"`
}

// take takes a token, or says how long it takes until there is one.
func (b bucket) take(now time.Time, limit manifests.RateLimit) (bucket, time.Duration) {
	perSecond := rate.Limit(float64(limit.MaxCalls) / limit.PerSeconds)
	l := rate.NewLimiter(perSecond, limit.MaxCalls)
	if b != (bucket{}) {
		l.AllowN(time.UnixMicro(b.EmptyAt), limit.MaxCalls)
	}
	r := l.ReserveN(now, 1)
	if wait := r.DelayFrom(now); wait > 0 {
		return b, wait
	}
	filling := time.Duration(l.TokensAt(now) / float64(perSecond) * float64(time.Second))
	return bucket{EmptyAt: now.Add(-filling).UnixMicro()}, 0
}
