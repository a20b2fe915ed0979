package runner

import (
	"context"
	"path"
	"slices"
	"time"

	"github.com/skillet-run/skillet/host/base/fault"
	"github.com/skillet-run/skillet/internal/duration"

	"golang.org/x/time/rate"

	"github.com/skillet-run/skillet/manifests"
)

// A Rate is how often a person lets skills be called, whatever their manifests
// say.
type Rate struct {
	// Skill and Tool are patterns of names, in which * stands for any characters.
	// Each skill that fits has a count of its own. With an empty Tool its tools
	// are counted together, otherwise each tool that fits apart.
	Skill, Tool string
	manifests.RateLimit
}

// A pace is one limit that holds for a call, and where it is counted.
type pace struct {
	tokens cell[bucket]
	limit  manifests.RateLimit
	what   string // is limited
	whose  string // the limit is
	by     string // who calls
}

// paces are the limits of a call: those of the person first.
func (r *Runner) paces(a *run) []pace {
	var all []pace
	t := a.call.Target
	for _, rate := range r.settings.Rates {
		if !fits(rate.Skill, a.manifest.Name) || rate.Tool != "" && !fits(rate.Tool, a.tool.Name) {
			continue
		}
		p := pace{cell[bucket]{r.kv, rateKey(t) + "/" + rate.Skill}, rate.RateLimit, t.Label, "the setting rate_limits", a.asker()}
		if rate.Tool != "" {
			p.tokens.key += "/" + rate.Tool + "/" + a.tool.Name
			p.what += ":" + a.tool.Name
		}
		all = append(all, p)
	}
	if limit := a.manifest.Performance.RateLimit; limit != nil {
		all = append(all, pace{cell[bucket]{r.kv, rateKey(t)}, *limit, t.Label, "performance.rate_limit in its manifest", a.asker()})
	}
	return all
}

// asker is who makes a call, for whoever finds that the calls are used up: the skill
// that made it, or the caller.
func (a *run) asker() string {
	if skill := a.onBehalfOf(); skill != "" {
		return "skill:" + skill
	}
	return a.call.Caller
}

// fits reports whether a name is one that a pattern means. The patterns were
// checked where they were read.
func fits(pattern, name string) bool {
	ok, err := path.Match(pattern, name)
	return ok && err == nil
}

// paced refuses calls that come more often than the manifest, or a person,
// allows. A call that one limit refuses is not counted by another.
func (r *Runner) paced(a *run, next work) work {
	paces := r.paces(a)
	if len(paces) == 0 {
		return next
	}
	return func(ctx context.Context) error {
		for _, p := range paces[:len(paces)-1] { // the last one is asked when it is counted
			b, _, err := p.tokens.read(ctx)
			if err != nil {
				return err
			}
			if _, wait := b.take(time.Now(), p.limit); wait > 0 {
				return p.refusal(b, wait)
			}
		}
		for _, p := range slices.Backward(paces) {
			if err := p.take(ctx); err != nil {
				return err
			}
		}
		return next(ctx)
	}
}

// take counts a call, or refuses it.
func (p pace) take(ctx context.Context) error {
	var wait time.Duration
	var left bucket
	err := p.tokens.update(ctx, func(b bucket) bucket {
		if b, wait = b.take(time.Now(), p.limit); wait == 0 {
			b.By = clip(p.by, maxRequest)
		}
		left = b
		return b
	})
	if err == nil && wait > 0 {
		return p.refusal(left, wait)
	}
	return err
}

func (p pace) refusal(b bucket, wait time.Duration) error {
	last := ""
	if b.By != "" && b.By != p.by {
		last = ", the last of them by " + b.By
	}
	return fault.Errorf(fault.KindLimit, "%s is %w: %s in %s%s", p.what, ErrRate, count(p.limit.MaxCalls, "call"), duration.OfSeconds(p.limit.PerSeconds), last).
		WithHint("try again in %s; %s says how often", ceil(wait), p.whose).
		WithRetryAfter(wait)
}

// A bucket is a token bucket in the store. The zero value is full.
type bucket struct {
	// EmptyAt is when it held no token, in Unix microseconds: all there is to
	// know of a bucket that fills evenly.
	EmptyAt int64 `json:"empty_at"`
	// By is who took the last token; empty when that is not known.
	By string `json:"by,omitempty"`
}

// take takes a token, or says how long it takes until there is one.
func (b bucket) take(now time.Time, limit manifests.RateLimit) (bucket, time.Duration) {
	perSecond := rate.Limit(float64(limit.MaxCalls) / limit.PerSeconds)
	l := rate.NewLimiter(perSecond, limit.MaxCalls)
	if b.EmptyAt != 0 {
		l.AllowN(time.UnixMicro(b.EmptyAt), limit.MaxCalls)
	}
	r := l.ReserveN(now, 1)
	if wait := r.DelayFrom(now); wait > 0 {
		return b, wait
	}
	filling := time.Duration(l.TokensAt(now) / float64(perSecond) * float64(time.Second))
	return bucket{EmptyAt: now.Add(-filling).UnixMicro()}, 0
}
