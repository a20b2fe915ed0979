package runner

import (
	"context"
	"errors"
	"time"

	"github.com/skillet-run/skillet/host/base/fault"
	"github.com/skillet-run/skillet/internal/duration"

	"github.com/skillet-run/skillet/manifests"
)

// guarded leaves a skill alone that failed repeatedly.
func (r *Runner) guarded(a *run, next work) work {
	policy, ok := a.manifest.Breaker()
	if !ok {
		return next
	}
	b := r.breaker(a.call.Target, policy, a.longest())
	return func(ctx context.Context) error {
		t, err := b.enter(ctx)
		if errors.Is(err, ErrOpen) {
			return err
		}
		if err != nil { // it is there to help, and must not be what fails
			r.log.Warn("circuit breaker", "skill", a.call.Target.Label, "err", err)
			return next(ctx)
		}
		shown := Failing
		if err = r.probe(ctx, a, t); err == nil {
			err = next(ctx)
			shown = Judge(err).Skill
		}
		if shown == Failing && a.endedByCaller(ctx, err) {
			shown = Unknown
		}
		if kept := b.leave(context.WithoutCancel(ctx), t, shown, err); kept != nil {
			r.log.Warn("circuit breaker", "skill", a.call.Target.Label, "err", kept)
		}
		return err
	}
}

// endedByCaller reports whether a call failed because its caller went away, or left
// it less than the manifest asks for. That does not count as a failure of the skill:
// no caller may open the circuit for others.
func (a *run) endedByCaller(ctx context.Context, err error) bool {
	return ctx.Err() != nil || a.lowered(err)
}

// probe asks the skill's health check, if it has one, before a call is let
// through that could fail as all before it.
func (r *Runner) probe(ctx context.Context, a *run, t ticket) error {
	if _, _, ok := a.manifest.HealthTool(); !ok || t != probing {
		return nil
	}
	if err := r.examine(ctx, a.call.Target).Error; err != nil {
		return fault.Errorf(fault.KindLimit, "%s is not called: %w: its health check failed: %s", a.call.Target.Label, ErrOpen, err.Message).
			WithHint("%s checks it again", fault.CheckHome())
	}
	return nil
}

// A breaker counts the failures of one version of a skill, in the store, where
// every process that calls the skill finds them.
type breaker struct {
	cell   cell[circuit]
	label  string
	policy manifests.CircuitBreaker
	// lease is how long a probe may take. A process that dies while probing
	// leaves the next one to others after that.
	lease time.Duration
}

func (r *Runner) breaker(t Target, policy manifests.CircuitBreaker, lease time.Duration) breaker {
	return breaker{cell: cell[circuit]{r.kv, breakerKey(t)}, label: t.Label, policy: policy, lease: lease}
}

// A circuit is what a breaker remembers. The zero value lets everything through.
type circuit struct {
	// Failures are those in a row.
	Failures int `json:"failures,omitempty"`
	// OpenUntil is until when nothing is let through, in Unix milliseconds; 0
	// while the circuit is closed. After it the circuit is half open.
	OpenUntil int64 `json:"open_until,omitempty"`
	// Probes are the successes still missing, and Probing is until when one is
	// being tried, in Unix milliseconds; 0 when none is.
	Probes  int   `json:"probes,omitempty"`
	Probing int64 `json:"probing,omitempty"`
	// Last is the last failure.
	Last string `json:"last,omitempty"`
}

// A ticket says as what a call was let through.
type ticket int

const (
	passing ticket = iota // the circuit was closed
	probing               // it is half open
)

// enter lets a call through or refuses it with an error that is [ErrOpen]. Any
// other error is the store's.
func (b breaker) enter(ctx context.Context) (t ticket, err error) {
	var wait time.Duration
	var last circuit
	err = b.cell.update(ctx, func(c circuit) circuit {
		last = c
		c, t, wait = c.enter(time.Now(), b.lease)
		return c
	})
	if err == nil && wait > 0 {
		err = b.refusal(last, wait)
	}
	return t, err
}

func (b breaker) refusal(c circuit, wait time.Duration) error {
	at := time.Now().Add(wait).UTC().Format(time.RFC3339)
	return fault.Errorf(fault.KindLimit, "%s is not called: %w: it failed %s in a row, the last time with: %s", b.label, ErrOpen, times(c.Failures), c.Last).
		WithHint("it is tried again in %s, at %s; %s says whether it works", ceil(wait), at, fault.CheckHome()).
		WithRetryAfter(wait)
}

// enter is the transition of a call that wants to be let through. It is when
// wait is 0.
func (c circuit) enter(now time.Time, lease time.Duration) (next circuit, t ticket, wait time.Duration) {
	ms := now.UnixMilli()
	switch {
	case c.OpenUntil == 0:
		return c, passing, 0
	case ms < c.OpenUntil:
		return c, passing, time.Duration(c.OpenUntil-ms) * time.Millisecond
	case ms < c.Probing:
		return c, passing, time.Duration(c.Probing-ms) * time.Millisecond
	}
	c.Probing = now.Add(lease).UnixMilli()
	return c, probing, 0
}

// leave counts what the end of a call that was let through shows; err is how it
// ended.
func (b breaker) leave(ctx context.Context, t ticket, shown Condition, err error) error {
	return b.cell.update(ctx, func(c circuit) circuit {
		if shown == Failing {
			c.Last = clip(line(err.Error()), maxRequest)
		}
		return c.leave(time.Now(), t, shown, b.policy)
	})
}

// leave is the transition of a call that was let through.
func (c circuit) leave(now time.Time, t ticket, skill Condition, p manifests.CircuitBreaker) circuit {
	switch {
	case t == passing && c.OpenUntil != 0: // it began before the circuit opened
		return c
	case t == probing:
		return c.probed(now, skill, p)
	case skill == Working:
		return circuit{}
	case skill == Failing:
		c.Failures++
	}
	if c.Failures >= p.FailureThreshold {
		return c.open(now, p)
	}
	return c
}

func (c circuit) probed(now time.Time, skill Condition, p manifests.CircuitBreaker) circuit {
	c.Probing = 0
	switch skill {
	case Failing:
		c.Failures++
		return c.open(now, p)
	case Working:
		if c.Probes--; c.Probes <= 0 {
			return circuit{}
		}
	}
	return c
}

func (c circuit) open(now time.Time, p manifests.CircuitBreaker) circuit {
	c.OpenUntil, c.Probes = now.Add(duration.OfSeconds(p.RecoveryTimeout)).UnixMilli(), p.HalfOpenProbes
	return c
}

// A CircuitState is what a circuit breaker does with the next call.
type CircuitState string

// The states.
const (
	CircuitClosed   CircuitState = "closed"    // lets it through
	CircuitOpen     CircuitState = "open"      // refuses it
	CircuitHalfOpen CircuitState = "half_open" // lets it through as a probe
)

// A Circuit is the state of a skill's circuit breaker.
type Circuit struct {
	State CircuitState `json:"state"`
	// Failures are those in a row.
	Failures int `json:"failures"`
	// RetryAt is when the next call is let through; the zero time when one is
	// now.
	RetryAt time.Time `json:"retry_at,omitzero"`
	// Last is the last failure of those counted; empty when there is none.
	Last string `json:"last,omitempty"`
}

// circuit reads the state of a target's breaker.
func (r *Runner) circuit(ctx context.Context, t Target) (Circuit, error) {
	c, _, err := cell[circuit]{r.kv, breakerKey(t)}.read(ctx)
	if err != nil {
		return Circuit{}, err
	}
	return c.say(time.Now()), nil
}

func (c circuit) say(now time.Time) Circuit {
	s := Circuit{State: CircuitClosed, Failures: c.Failures, Last: c.Last}
	if c.OpenUntil == 0 {
		return s
	}
	s.State = CircuitHalfOpen
	until := max(c.OpenUntil, c.Probing)
	if now.UnixMilli() < until {
		s.State, s.RetryAt = CircuitOpen, time.UnixMilli(until).UTC()
	}
	return s
}
