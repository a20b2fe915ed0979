package main

import (
	"context"
	"slices"
	"time"

	"github.com/skillet-run/skillet/host"
	"github.com/skillet-run/skillet/host/app/govern"
	"github.com/skillet-run/skillet/host/app/invoke"
	"github.com/skillet-run/skillet/host/app/principal"
	"github.com/skillet-run/skillet/host/base/fault"
	"github.com/skillet-run/skillet/manifests"
	"github.com/skillet-run/skillet/policies/capability"
)

// An asker asks a person what a call that failed may be allowed, each thing once.
type asker struct {
	t     *terminal
	h     *host.Host
	asked map[invoke.Offer]bool
	// reviewed are the proposals that the person was asked to look at, and forTask what the
	// calls of a task are allowed as long as it is worked on.
	reviewed map[string]bool
	forTask  principal.EphemeralGrant
}

func (t *terminal) asker(h *host.Host) *asker {
	return &asker{t: t, h: h, asked: map[invoke.Offer]bool{}, reviewed: map[string]bool{}}
}

// allows reports whether a person allowed all that a call was refused, so that it can be made
// again. What was allowed and is refused all the same is not asked about again.
func (k *asker) allows(ctx context.Context, r *invoke.Retry, a invoke.Answer) (bool, error) {
	if e := a.Error; e != nil && e.Kind == fault.KindApproval && k.t.canAsk() {
		return k.reviews(ctx, e)
	}
	offers := a.Offers()
	if len(offers) == 0 || !k.t.canAsk() {
		return false, nil
	}
	for _, o := range offers {
		if k.asked[o] {
			return false, nil
		}
		k.asked[o] = true
		if yes, err := k.allowsOne(ctx, r, o); err != nil || !yes {
			return false, err
		}
	}
	return true, nil
}

// reviews has the person look at what a call waits for, once, and reports whether they approved
// it.
func (k *asker) reviews(ctx context.Context, e *fault.Error) (bool, error) {
	ids := slices.DeleteFunc(waitingFor(e), func(id string) bool { return k.reviewed[id] })
	if len(ids) == 0 {
		return false, nil
	}
	for _, id := range ids {
		k.reviewed[id] = true
	}
	k.t.note("%s", plain(e.Message))
	return k.t.reviewNow(ctx, k.h, ids)
}

// allowsOne asks about one thing. What holds for longer than a call is granted to the version
// of the skill that is installed while the question is put.
func (k *asker) allowsOne(ctx context.Context, r *invoke.Retry, o invoke.Offer) (bool, error) {
	if o.Skill == "" {
		word, err := k.t.prompt(plain("It wants to " + o.Words + ". Allow it once, or not? [o/N] "))
		return err == nil && k.allowedOnce(word, r, o), err
	}
	skill, err := manifests.ParseRef(o.Skill)
	if err != nil {
		return false, err
	}
	req := govern.GrantRequest{Skill: skill, Capabilities: []capability.Capability{o.Capability}, Terms: govern.Terms{Scope: govern.ScopeAlways}}
	plan, err := k.h.Govern().Grants.Plan(ctx, k.t.person(), req)
	if err != nil {
		return false, err
	}
	choices := "once, for 24 hours, always, or not? [o/h/a/N] "
	switch {
	case r.Run != "":
		choices = "once, for the run, for 24 hours, always, or not? [o/r/h/a/N] "
	case r.Task != "":
		choices = "once, for this task, for 24 hours, always, or not? [o/t/h/a/N] "
	}
	word, err := k.t.prompt(plain(plan.Skill + " wants to " + o.Words + ". Allow it " + choices))
	if err != nil || k.allowedOnce(word, r, o) {
		return err == nil, err
	}
	switch {
	case word == "t" && r.Task != "":
		k.forTask = k.t.person().Allow(k.forTask.Set().Union(capability.NewSet(o.Capability)))
		r.ForTask, r.Allow = k.forTask, k.t.person().Allow(r.Allow.Set().Union(capability.NewSet(o.Capability)))
		return true, nil
	case word == "r" && r.Run != "":
		plan.Terms = govern.Terms{Scope: govern.ScopeRun, ID: r.Run}
	case word == "h":
		plan.Terms = govern.Terms{Until: time.Now().Add(24 * time.Hour).UTC()}
	case word != "a":
		return false, nil
	}
	if err := k.h.Govern().Grants.Grant(ctx, k.t.person(), plan, govern.GrantConsent{Unbounded: true}); err != nil {
		return false, err
	}
	k.t.noteCapabilities("granted", plan)
	return true, nil
}

// allowedOnce allows something for this call alone, if that is what the person said.
func (k *asker) allowedOnce(word string, r *invoke.Retry, o invoke.Offer) bool {
	if word != "o" {
		return false
	}
	r.Allow = k.t.person().Allow(r.Allow.Set().Union(capability.NewSet(o.Capability)))
	return true
}
