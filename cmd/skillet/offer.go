package main

import (
	"context"
	"time"

	"github.com/skillet-run/skillet/host"
	"github.com/skillet-run/skillet/host/app/govern"
	"github.com/skillet-run/skillet/host/app/invoke"
	"github.com/skillet-run/skillet/host/base/fault"
	"github.com/skillet-run/skillet/manifests"
	"github.com/skillet-run/skillet/policies/capability"
)

// An asker asks a person what a call that failed may be allowed, each thing once.
type asker struct {
	t     *terminal
	h     *host.Host
	asked map[invoke.Offer]bool
}

// allows reports whether a person allowed all that a call was refused, so that it can be made
// again. What was allowed and is refused all the same is not asked about again.
func (k *asker) allows(ctx context.Context, in *invoke.Invocation, a invoke.Answer) (bool, error) {
	if e := a.Error; e != nil && e.Kind == fault.KindApproval && k.t.canAsk() && !k.t.offered {
		if ids := waitingFor(e); len(ids) > 0 {
			k.t.note("%s", plain(e.Message))
			return k.t.reviewNow(ctx, k.h, ids)
		}
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
		if yes, err := k.allowsOne(ctx, in, o); err != nil || !yes {
			return false, err
		}
	}
	return true, nil
}

// allowsOne asks about one thing. What holds for longer than a call is granted to the version
// of the skill that is installed while the question is put.
func (k *asker) allowsOne(ctx context.Context, in *invoke.Invocation, o invoke.Offer) (bool, error) {
	if o.Skill == "" {
		word, err := k.t.prompt(plain("It wants to " + o.Words + ". Allow it once, or not? [o/N] "))
		return err == nil && k.allowedOnce(word, in, o), err
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
	if in.Run != "" {
		choices = "once, for the run, for 24 hours, always, or not? [o/r/h/a/N] "
	}
	word, err := k.t.prompt(plain(plan.Skill + " wants to " + o.Words + ". Allow it " + choices))
	if err != nil || k.allowedOnce(word, in, o) {
		return err == nil, err
	}
	switch {
	case word == "r" && in.Run != "":
		plan.Terms = govern.Terms{Scope: govern.ScopeRun, ID: in.Run}
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
func (k *asker) allowedOnce(word string, in *invoke.Invocation, o invoke.Offer) bool {
	if word != "o" {
		return false
	}
	in.Allow = k.t.person().Allow(in.Allow.Set().Union(capability.NewSet(o.Capability)))
	return true
}
