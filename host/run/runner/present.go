package runner

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/skillet-run/skillet/host/base/fault"

	"github.com/skillet-run/skillet/host/record/approval"
	"github.com/skillet-run/skillet/host/run/hostfn"
	"github.com/skillet-run/skillet/policies"
	"github.com/skillet-run/skillet/policies/capability"
)

// Rights say what people and policies decide at present, in all processes that have
// the home open. It is safe for concurrent use.
type Rights interface {
	// Epoch is another number soon after anything changed that decides about calls. It
	// is asked at each host call, so it must be quick.
	Epoch() uint64
	// Policies are those in force.
	Policies() (*policies.Set, error)
	// CurrentGrants returns the grants of a target that are still valid. It fails
	// with a [fault.KindDenied] error when its package is not run any more.
	CurrentGrants(ctx context.Context, t Target) (approval.Granted, error)
}

// askAgain is when it is tried again to find out what decides, after that failed.
const askAgain = 50 * time.Millisecond

// present is what decides about a run, kept up with what people decide while it goes
// on. Rights only end in a run: what is granted meanwhile is for the next one, because
// an answer that is kept was given with what was granted when its call began.
type present struct {
	mu  sync.Mutex
	now atomic.Pointer[decided]
}

// decided is what was found to decide at some time.
type decided struct {
	hostfn.Authority
	epoch uint64    // of Rights
	until time.Time // when a grant ends; zero for never
}

func (d *decided) good(epoch uint64) bool {
	return d.epoch == epoch && (d.until.IsZero() || time.Now().Before(d.until))
}

// force finds the policies that decide about a run, and from when on changes count.
func (r *Runner) force(a *run) {
	a.policies = r.policies
	if r.settings.Rights == nil || a.imagined() {
		return
	}
	t := a.call.Target
	a.epoch = r.settings.Rights.Epoch()
	for _, earlier := range []uint64{t.Epoch, t.Granted.Epoch()} {
		if earlier > 0 {
			a.epoch = min(a.epoch, earlier)
		}
	}
	set, err := r.settings.Rights.Policies()
	if a.policies = set; err != nil && a.refused == nil {
		a.refused = err
	}
}

// imagined reports whether nothing of a run is real, or it is the host's own and ends
// soon: what people decide meanwhile does not affect it.
func (a *run) imagined() bool {
	return a.call.Stage != nil || a.call.play != nil || a.call.scratch != nil
}

// standing is what decides about a run now: the same pointer as long as that is the
// same.
func (r *Runner) standing(ctx context.Context, a *run) *hostfn.Authority {
	return &r.decided(ctx, a).Authority
}

// presentOf is standing for the host functions of a run; nil when nothing changes.
func (r *Runner) presentOf(ctx context.Context, a *run) func() *hostfn.Authority {
	if a.epoch == 0 {
		return nil
	}
	return func() *hostfn.Authority { return r.standing(ctx, a) }
}

func (r *Runner) decided(ctx context.Context, a *run) *decided {
	var epoch uint64
	if a.epoch > 0 {
		epoch = r.settings.Rights.Epoch()
	}
	if d := a.present.now.Load(); d != nil && d.good(epoch) {
		return d
	}
	a.present.mu.Lock()
	defer a.present.mu.Unlock()
	d := a.present.now.Load()
	if d == nil {
		d = &decided{Authority: hostfn.Authority{Granted: a.granted, Policies: a.policies}, epoch: a.epoch}
		if a.epoch > 0 {
			d.until = a.call.Target.Granted.Until()
		}
	}
	if !d.good(epoch) {
		d = r.decideAgain(ctx, a, d, epoch)
	}
	a.present.now.Store(d)
	return d
}

// decideAgain finds out what decides about a run since something changed.
func (r *Runner) decideAgain(ctx context.Context, a *run, before *decided, epoch uint64) *decided {
	d := &decided{Authority: hostfn.Authority{Policies: before.Policies, Epoch: before.Epoch + 1}, epoch: epoch}
	set, err := r.settings.Rights.Policies()
	var still approval.Granted
	if err == nil {
		d.Policies = set
		still, err = r.settings.Rights.CurrentGrants(ctx, a.call.Target)
	}
	if err == nil {
		d.Granted, d.until = a.bounded(still.Set()), still.Until()
		err = r.stillCalled(ctx, a, d)
	}
	if err == nil {
		return d
	}
	e := fault.AsError(err)
	d.Granted, d.Ended, d.until = capability.Set{}, e.Message, time.Time{}
	if e.Kind != fault.KindDenied {
		d.Ended, d.until = "what is granted and forbidden now could not be found out: "+e.Message, time.Now().Add(askAgain)
	}
	return d
}

// stillCalled fails when the run is a part of another one that nothing is allowed to
// any more, or that may not have this skill run.
func (r *Runner) stillCalled(ctx context.Context, a *run, d *decided) error {
	if a.from == nil {
		return nil
	}
	up := r.decided(ctx, a.from)
	if !up.until.IsZero() && (d.until.IsZero() || up.until.Before(d.until)) {
		d.until = up.until
	}
	switch {
	case up.Ended != "":
		return fault.Errorf(fault.KindDenied, "it works for a call in which nothing is allowed any more: %s", up.Ended)
	case a.call.as == "":
		return nil
	}
	if _, say, granted := r.judgeCall(a.from, &up.Authority, a.call.as); !granted || say.Effect == policies.Deny {
		return fault.Errorf(fault.KindDenied, "%s, which called it, may not do that any more", a.from.call.Target.Label)
	}
	return nil
}

// bounded is what a run may do of what was granted to it.
func (a *run) bounded(granted capability.Set) capability.Set {
	set := a.call.Bounds.cut(granted.Union(a.call.Allow.Set()).Union(a.call.lent))
	if a.call.Bounds != nil && a.tool.ReadOnly {
		set = readOnly(set)
	}
	return set
}

// judgeCall asks what decides about a run whether it may have another skill run. Where it
// was not granted that, d says whether policies would allow it with a grant.
func (r *Runner) judgeCall(a *run, now *hostfn.Authority, name string) (by capability.Capability, d policies.Decision, granted bool) {
	q := capability.Request{Action: capability.Skill, Resource: name}
	by, granted = now.Granted.Allows(q)
	grant := by.String()
	if !granted {
		grant = q.String()
	}
	_, approved := a.approved().Allows(q)
	return by, now.Policies.Decide(policies.Query{
		Phase: policies.PhaseCall, Principal: a.principal(), Request: q, Granted: true, GrantedBy: grant,
		Approved: approved, Home: r.settings.Home, Call: &a.about,
	}), granted
}
