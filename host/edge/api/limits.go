package api

import (
	"cmp"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"golang.org/x/time/rate"

	"github.com/skillet-run/skillet/host/app/govern"
	"github.com/skillet-run/skillet/host/base/fault"
)

// Limits bound how much is asked of the service. A zero field has its usual value.
type Limits struct {
	// PerToken and All are how many requests a second each token may make, and all together;
	// of a second's worth they may come at once.
	PerToken, All float64
	// InFlight is how many requests run at the same time, and Streams how many streams of
	// events are open.
	InFlight, Streams int
}

// The usual limits.
const (
	usualPerToken = 2000
	usualAll      = 10_000
	usualInFlight = 256
	usualStreams  = 256
)

// strangers is the share of the rate of all that those have who are not let in.
const strangers = 0.1

// A class says who waits when more is asked for than can be done at once.
type class int

const (
	normal class = iota
	urgent       // decides, or stops something
	low          // looks at something, or says that it can wait
	stream       // stays open, and is counted apart
)

// shares are the parts of the requests in flight that a class may take up to: what is left
// is for those that are more urgent.
var shares = map[class]float64{urgent: 1, normal: 7. / 8, low: 1. / 2}

// limits keep what is asked for within bounds. They are safe for concurrent use.
type limits struct {
	mu       sync.Mutex
	set      Limits
	all      *rate.Limiter
	unknown  *rate.Limiter
	health   *rate.Limiter
	byToken  map[string]*rate.Limiter
	inFlight int
	streams  int
}

func newLimits(set Limits) *limits {
	set = set.orUsual()
	return &limits{
		set: set, all: limiter(set.All), unknown: limiter(set.All * strangers), health: limiter(set.All * strangers),
		byToken: map[string]*rate.Limiter{},
	}
}

func (s Limits) orUsual() Limits {
	return Limits{cmp.Or(s.PerToken, usualPerToken), cmp.Or(s.All, usualAll), cmp.Or(s.InFlight, usualInFlight), cmp.Or(s.Streams, usualStreams)}
}

// change replaces the limits.
func (l *limits) change(set Limits) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.set = set.orUsual()
	change(l.all, l.set.All)
	change(l.unknown, l.set.All*strangers)
	change(l.health, l.set.All*strangers)
	l.byToken = map[string]*rate.Limiter{}
}

func limiter(perSecond float64) *rate.Limiter {
	return rate.NewLimiter(rate.Limit(perSecond), burst(perSecond))
}

func change(l *rate.Limiter, perSecond float64) {
	l.SetLimit(rate.Limit(perSecond))
	l.SetBurst(burst(perSecond))
}

// burst is how many may come at once: a second's worth.
func burst(perSecond float64) int { return max(1, int(perSecond)) }

// SetLimits replaces the limits of a service that runs.
func (a *API) SetLimits(set Limits) { a.limits.change(set) }

// of returns the limiter of a token. There are as many as tokens, which are bounded, and
// those that were revoked are forgotten with the next change.
func (l *limits) of(token string) *rate.Limiter {
	l.mu.Lock()
	defer l.mu.Unlock()
	one := l.byToken[token]
	if one == nil {
		one = limiter(l.set.PerToken)
		l.byToken[token] = one
	}
	return one
}

// pace refuses a request of a token, or of nobody who is known for the empty one, that comes
// too soon.
func (l *limits) pace(token string) error {
	if token == "" {
		return take(l.unknown, "requests of nobody who is known")
	}
	if err := take(l.of(token), "requests of the token "+token); err != nil {
		return err
	}
	return take(l.all, "requests")
}

func (l *limits) paceHealth() error {
	return take(l.health, "questions whether the service is ready")
}

func take(from *rate.Limiter, what string) error {
	r := from.Reserve()
	wait := r.Delay()
	if wait == 0 {
		return nil
	}
	r.Cancel()
	return fault.Errorf(fault.KindLimit, "there are more than %g %s a second", float64(from.Limit()), what).WithRetryAfter(wait)
}

// overloadWait is after how long somebody who was turned away should try again.
const overloadWait = time.Second

// begin takes a place for a request, until end is called.
func (l *limits) begin(c class) (end func(), err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	count, most := &l.inFlight, max(1, int(shares[c]*float64(l.set.InFlight)))
	if c == stream {
		count, most = &l.streams, l.set.Streams
	}
	if *count >= most {
		return nil, fault.Errorf(fault.KindLimit, "the service is busy with %d others", *count).WithRetryAfter(overloadWait)
	}
	*count++
	return sync.OnceFunc(func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		*count--
	}), nil
}

// classOf is the class of a request: that of its route, and low for one that says by a header
// of RFC 9218 that it is less urgent than usual.
func (r route) classOf(priority string) class {
	c := r.class
	if c == normal && r.method == http.MethodGet {
		c = low
	}
	for field := range strings.SplitSeq(priority, ",") {
		if n, ok := strings.CutPrefix(strings.TrimSpace(field), "u="); ok && c == normal {
			if u, err := strconv.Atoi(n); err == nil && u > 3 {
				return low
			}
		}
	}
	return c
}

// bounded answers a request if the limits have room for it.
func (a *API) bounded(ctx huma.Context, r route, p govern.Pass, next func(huma.Context)) {
	err := a.limits.pace(p.Name())
	if err != nil {
		writeTo(ctx, a.problem(err))
		return
	}
	end, err := a.limits.begin(r.classOf(ctx.Header("Priority")))
	if err != nil {
		writeTo(ctx, a.problem(err))
		return
	}
	defer end()
	next(ctx)
}

// paced bounds an operation that needs no token, apart from requests whose token is not known: who guesses tokens does not make the service look as if it were not ready.
func (a *API) paced(ctx huma.Context, next func(huma.Context)) {
	if err := a.limits.paceHealth(); err != nil {
		writeTo(ctx, a.problem(err))
		return
	}
	next(ctx)
}
