package api

import (
	"cmp"
	"crypto/sha256"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"golang.org/x/net/netutil"
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
	// Connections is how many connections there are at the same time at a listener of
	// [API.Limit]; it is not changed by [API.SetLimits].
	Connections int
}

// The usual limits.
const (
	usualPerToken = 2000
	usualAll      = 10_000
	usualInFlight = 256
	usualStreams  = 256

	usualConnections = 1024
)

// strangers is the share of the rate of all that those have who are not let in.
const strangers = 0.1

// tokenShare is the part of the places of each class that one token may have: the rest is for
// the others.
const tokenShare = 3. / 4

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
	rates    rates // replaced and not changed: a rate that is raised is not used up
	byToken  map[string]*rate.Limiter
	inFlight places
	streams  places
	// known are hashes of secrets that let somebody in when they were looked at last.
	known map[[sha256.Size]byte]bool
}

// places are those that requests have, in all and by the token of each.
type places struct {
	all     int
	byToken map[string]int
}

// take has another one, of most.
func (p *places) take(token string, most int) *refusal {
	share := max(1, int(tokenShare*float64(most)))
	switch {
	case p.all >= most:
		return refuse("busy", overloadWait, "the service is busy with %d others", p.all)
	case p.byToken[token] >= share:
		return refuse("token_busy", overloadWait, "the service is busy with %d others of the token %s", p.byToken[token], token)
	}
	p.all++
	p.byToken[token]++
	return nil
}

func (p *places) leave(token string) {
	p.all--
	if p.byToken[token]--; p.byToken[token] == 0 {
		delete(p.byToken, token)
	}
}

// A refusal is a request that is turned away because of a limit.
type refusal struct {
	err *fault.Error
	// limit is the one that was reached, as metrics have it.
	limit string
}

func refuse(limit string, wait time.Duration, format string, args ...any) *refusal {
	return &refusal{fault.Errorf(fault.KindLimit, format, args...).WithRetryAfter(wait), limit}
}

func newLimits(set Limits) *limits {
	set = set.orUsual()
	return &limits{
		set: set, rates: newRates(set.All),
		byToken: map[string]*rate.Limiter{}, known: map[[sha256.Size]byte]bool{},
		inFlight: places{byToken: map[string]int{}}, streams: places{byToken: map[string]int{}},
	}
}

func (s Limits) orUsual() Limits {
	return Limits{cmp.Or(s.PerToken, usualPerToken), cmp.Or(s.All, usualAll), cmp.Or(s.InFlight, usualInFlight), cmp.Or(s.Streams, usualStreams), cmp.Or(s.Connections, usualConnections)}
}

// change replaces the limits.
func (l *limits) change(set Limits) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.set = set.orUsual()
	l.rates = newRates(l.set.All)
	l.byToken = map[string]*rate.Limiter{}
}

// rates are those of all tokens together, of whoever is not let in, and of questions whether the
// service is ready.
type rates struct{ all, unknown, health *rate.Limiter }

func newRates(all float64) rates {
	return rates{limiter(all), limiter(all * strangers), limiter(all * strangers)}
}

// now are the rates that hold.
func (l *limits) now() rates {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.rates
}

func limiter(perSecond float64) *rate.Limiter {
	return rate.NewLimiter(rate.Limit(perSecond), burst(perSecond))
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

// pace refuses a request of a token that comes too soon.
func (l *limits) pace(token string) *refusal {
	if r := take(l.of(token), "token_rate", "requests of the token "+token); r != nil {
		return r
	}
	return take(l.now().all, "rate", "requests")
}

func (l *limits) paceHealth() *refusal {
	return take(l.now().health, "health_rate", "questions whether the service is ready")
}

func take(from *rate.Limiter, limit, what string) *refusal {
	r := from.Reserve()
	wait := r.Delay()
	if wait == 0 {
		return nil
	}
	r.Cancel()
	return tooSoon(from, limit, what, wait)
}

func tooSoon(from *rate.Limiter, limit, what string, wait time.Duration) *refusal {
	return refuse(limit, wait, "there are more than %g %s a second", float64(from.Limit()), what)
}

// maxKnown is how many secrets are known at the same time; more than that are not of tokens.
const maxKnown = 10_000

// paceStranger refuses a request whose secret let nobody in before, when too many came that let
// nobody in. It looks for no token: whoever guesses does not make the service work.
func (l *limits) paceStranger(secret [sha256.Size]byte) *refusal {
	l.mu.Lock()
	known, unknown := l.known[secret], l.rates.unknown
	l.mu.Unlock()
	short := 1 - unknown.Tokens()
	if known || short <= 0 {
		return nil
	}
	wait := time.Duration(min(short/float64(unknown.Limit()), maxWait.Seconds()) * float64(time.Second))
	return tooSoon(unknown, "stranger_rate", "requests without a known token", wait)
}

// maxWait is the longest that somebody is told to wait.
const maxWait = 24 * time.Hour

// settle notes whether a secret let somebody in. What did not counts for the rate of those, also
// when many come at once and are looked at before that.
func (l *limits) settle(secret [sha256.Size]byte, admitted bool) {
	if !admitted {
		l.now().unknown.Reserve()
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if !admitted {
		delete(l.known, secret)
		return
	}
	if len(l.known) >= maxKnown {
		clear(l.known)
	}
	l.known[secret] = true
}

// overloadWait is after how long somebody who was turned away should try again.
const overloadWait = time.Second

// begin takes a place for a request of a token, until end is called.
func (l *limits) begin(c class, token string) (end func(), r *refusal) {
	l.mu.Lock()
	defer l.mu.Unlock()
	in, most := &l.inFlight, max(1, int(shares[c]*float64(l.set.InFlight)))
	if c == stream {
		in, most = &l.streams, l.set.Streams
	}
	if r := in.take(token, most); r != nil {
		if c == stream {
			r.limit = strings.Replace(r.limit, "busy", "streams", 1)
		}
		return nil, r
	}
	return sync.OnceFunc(func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		in.leave(token)
	}), nil
}

// taken is how many requests run, and how many streams are open.
func (l *limits) taken() (inFlight, streams int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.inFlight.all, l.streams.all
}

// Limit bounds how many connections to a listener there are at the same time: others wait until
// one ends. It is for what the network reaches.
func (a *API) Limit(l net.Listener) net.Listener {
	return netutil.LimitListener(l, a.limits.set.Connections)
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
	if over := a.limits.pace(p.Name()); over != nil {
		a.turnAway(ctx, over)
		return
	}
	end, over := a.limits.begin(r.classOf(ctx.Header("Priority")), p.Name())
	if over != nil {
		a.turnAway(ctx, over)
		return
	}
	defer end()
	next(ctx)
}

// turnAway answers a request that is too much.
func (a *API) turnAway(ctx huma.Context, r *refusal) { writeTo(ctx, a.overLimit(r)) }

// overLimit counts a refusal, and makes a problem of it.
func (a *API) overLimit(r *refusal) *Problem {
	a.meter.refused.WithLabelValues(r.limit).Inc()
	return a.problem(r.err)
}

// paced bounds an operation that needs no token, apart from requests whose token is not known: who guesses tokens does not make the service look as if it were not ready.
func (a *API) paced(ctx huma.Context, next func(huma.Context)) {
	if over := a.limits.paceHealth(); over != nil {
		a.turnAway(ctx, over)
		return
	}
	next(ctx)
}
