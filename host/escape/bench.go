package escape

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/skillet-run/skillet/host/engine/sandbox"
	"github.com/skillet-run/skillet/host/engine/sandbox/worker"
	"github.com/skillet-run/skillet/host/run/hostfn"
	"github.com/skillet-run/skillet/policies"
)

// bench is what all attempts share: one sandbox, as in a host, and the rules.
type bench struct {
	log      hclog.Logger
	dir      string
	secret   string // in every file and header that must not come out
	slack    slack
	runtime  *sandbox.Runtime
	pool     *worker.Pool    // of worker processes; nil without
	workers  *worker.Runtime // runs guests in them; nil without
	policies *policies.Set
	innocent *sandbox.Module
}

// slack loosens the conditions that attempts are made under. The tests of this
// package use it to show that what then gets through is noticed. The zero value
// loosens nothing.
type slack struct {
	settings func(l *lab, s *hostfn.Settings) // what a call may do
	limits   func(*sandbox.Limits)
	call     func(*sandbox.Call)
	module   []byte // loaded instead of those that are to be refused
	together bool   // a guest looks for leftovers in the call that left them
	engine   engine // instead of the sandbox
}

// engine loads a guest.
type engine func(ctx context.Context, l *lab, wasm []byte) (module, error)

// module is a loaded guest.
type module interface {
	Call(ctx context.Context, c sandbox.Call) (sandbox.Result, error)
	Info() sandbox.Info
	Close(ctx context.Context) error
}

// compile loads a guest in the sandbox.
func (l *lab) compile(wasm []byte) (module, error) {
	switch b := l.bench; {
	case b.slack.engine != nil:
		return b.slack.engine(l.ctx, l, wasm)
	case b.workers != nil:
		return b.workers.Load(l.ctx, wasm)
	default:
		return b.runtime.Load(l.ctx, wasm)
	}
}

// openBench opens the sandbox as a host does, with a cache of compiled code.
// Modules are compiled in this process, behind the gate alone.
func openBench(ctx context.Context, log hclog.Logger, o Options, s slack) (*bench, error) {
	b := &bench{log: log, dir: o.Dir, slack: s, secret: os.Getenv(secretVariable)}
	if b.secret == "" {
		b.secret = newSecret()
	}
	if err := b.open(ctx, o.Workers); err != nil {
		b.close()
		return nil, err
	}
	return b, nil
}

func (b *bench) open(ctx context.Context, workers bool) (err error) {
	if b.policies, err = policies.Default(); err != nil {
		return err
	}
	functions := append(hostfn.Functions(), labFunctions()...)
	b.runtime, err = sandbox.New(ctx, b.log, sandbox.Options{
		CacheDir: filepath.Join(b.dir, "cache"), CacheKey: []byte(b.secret), Functions: functions,
	})
	if err != nil {
		return err
	}
	if workers {
		if b.pool, err = worker.NewPool(b.log, worker.Settings{}); err != nil {
			return err
		}
		b.workers = worker.NewRuntime(b.log, b.pool, b.runtime, functions, 0)
	}
	p := newReactor()
	at := p.keep([]byte("well"))
	b.innocent, err = b.runtime.Load(ctx, p.out(at, 4).tool())
	return err
}

// close frees the sandbox, and ends the workers.
func (b *bench) close() {
	ctx := context.Background()
	if b.workers != nil {
		_ = b.workers.Close(ctx)
	}
	if b.pool != nil {
		_ = b.pool.Close()
	}
	if b.runtime != nil {
		_ = b.runtime.Close(ctx)
	}
}

// secretVariable is an environment variable of the process that attempts run
// in, with the secret in it.
const secretVariable = "SKILLET_ESCAPE_SECRET"

// newSecret makes a text that stands nowhere else.
func newSecret() string { return "secret-" + rand.Text() }

// make makes one attempt and judges it.
func (b *bench) make(ctx context.Context, groupName string, a attempt) Finding {
	start := time.Now()
	ctx, cancel := context.WithTimeout(ctx, attemptTime)
	defer cancel()
	f := Finding{Attempt: Attempt{a.id, groupName, a.tries}}
	l, err := openLab(ctx, b, filepath.Join(b.dir, a.id))
	if err != nil {
		f.Breach = fmt.Sprintf("the attempt could not be made: %v", err)
		return f
	}
	defer l.close()
	l.attempt(a)
	tried := l.breaches
	l.breaches = nil
	l.inspect()
	l.breaches = append(l.breaches, tried...)
	f.Stopped, f.Breach = l.verdict()
	f.Contained = f.Breach == ""
	f.DurationMS = float64(time.Since(start).Microseconds()) / 1000
	return f
}

// attempt makes it. A panic that comes out of the parts is one of them giving
// way.
func (l *lab) attempt(a attempt) {
	defer func() {
		if p := recover(); p != nil {
			l.breach("panic: %v", p)
			l.log.Error("panic in an attempt", "attempt", a.id, "stack", string(debug.Stack()))
		}
	}()
	a.run(l)
}

// inspect looks at everything that no attempt may have changed.
func (l *lab) inspect() {
	if l.ctx.Err() != nil {
		l.breach("it took longer than %v", attemptTime)
	}
	now, err := snapshot(l.path("closed"))
	if err != nil || !slices.Equal(now, l.before) {
		l.breach("what lies outside the grant was changed: %v", difference(l.before, now))
	}
	for _, text := range l.heard {
		if strings.Contains(text, l.bench.secret) {
			l.breach("the secret came out")
			break
		}
	}
	if l.other != nil && !l.mayVisit && l.other.hits() > 0 {
		l.breach("the server that was not granted was asked: %s", strings.Join(l.other.lines(), ", "))
		for _, v := range l.other.visits() {
			if v.header.Get(keyHeader) != "" {
				l.breach("it was sent the guest's key")
			}
		}
	}
	r, err := l.bench.innocent.Call(l.ctx, sandbox.Call{Export: "run"})
	if err != nil || string(r.Output) != "well" {
		l.breach("an innocent guest no longer works: %q, %v", r.Output, err)
	}
}

// verdict is what stopped the attempt, and what got through; "" for nothing.
func (l *lab) verdict() (stopped, breach string) {
	stopped = l.words(strings.Join(firstFew(l.stops), "; "))
	if len(l.stops) == 0 && len(l.breaches) == 0 {
		l.breach("nothing stopped it")
	}
	return stopped, l.words(strings.Join(firstFew(l.breaches), "; "))
}

// firstFew are the first different texts of many.
func firstFew(all []string) (out []string) {
	const most = 4
	for _, s := range all {
		if !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	if len(out) > most {
		out = append(out[:most], fmt.Sprintf("and %d more", len(out)-most))
	}
	return out
}

// labFunctions are what a host might offer besides: a function that calls the
// guest back, and one that tells the lab that the guest has come so far.
func labFunctions() []sandbox.HostFunc {
	return []sandbox.HostFunc{
		{Module: own, Name: "again", Call: func(ctx context.Context, g *sandbox.Guest, _ []uint64) error {
			if n, ok := g.Env().(*again); ok {
				n.calls++
			}
			_, err := g.Call(ctx, "run")
			return err
		}},
		{Module: own, Name: "ready", Call: func(_ context.Context, g *sandbox.Guest, _ []uint64) error {
			if tell, ok := g.Env().(func()); ok {
				tell()
			}
			return nil
		}},
	}
}

// again counts how often the host called the guest back.
type again struct{ calls int }

// stopped notes what stood in the way.
func (l *lab) stopped(format string, args ...any) {
	l.stops = append(l.stops, fmt.Sprintf(format, args...))
}

// breach notes what got through.
func (l *lab) breach(format string, args ...any) {
	l.breaches = append(l.breaches, fmt.Sprintf(format, args...))
}

// cause says what ended a call or a loading, in the words of its typed error.
func cause(err error) string {
	var limit *sandbox.LimitError
	var denied *hostfn.DeniedError
	var failure *hostfn.Failure
	var trap *sandbox.TrapError
	switch {
	case err == nil:
		return "nothing"
	case errors.As(err, &limit):
		return limit.What + " limit of " + limit.Limit
	case errors.As(err, &denied):
		return "denied " + denied.Denial.Request + ": " + because(denied.Denial.Policies, denied.Denial.Reason)
	case errors.As(err, &failure):
		return "host function: " + failure.Error()
	case errors.As(err, &trap):
		return "trap: " + trap.Reason
	}
	return refusal(err)
}

// because names the policy that refused, or the reason where none did.
func because(by []string, reason string) string {
	if len(by) > 0 {
		return "policy " + strings.Join(by, ", ")
	}
	return reason
}
