package install

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/skillet-run/skillet/host/base/fault"

	"github.com/skillet-run/skillet/host/record/approval"
	"github.com/skillet-run/skillet/host/record/registry"
	"github.com/skillet-run/skillet/manifests"
	"github.com/skillet-run/skillet/manifests/bundle"
	"github.com/skillet-run/skillet/policies"
	"github.com/skillet-run/skillet/policies/capability"
)

// former is the version that is active before an installation. The zero value
// is none.
type former struct {
	digest manifests.Digest
	// pkg is nil when it is damaged, and signer empty when it is not signed.
	pkg    *bundle.Package
	signer string
	// granted is what a person gave it for good, and grants are the single grants
	// of that: a grant for a number of runs was for runs of that version.
	granted capability.Set
	grants  []approval.Grant
	// sent is where the secrets it asks for go, by name.
	sent map[string][]manifests.Injection
}

// covers reports whether what is asked for was given to the former version. A
// secret that would go to another place is another thing to ask for.
func (f former) covers(a manifests.RequestedCapability) bool {
	if !f.granted.Covers(a.Capability) {
		return false
	}
	return a.Inject == nil || slices.Contains(f.sent[a.Capability.Resource()], *a.Inject)
}

// compare looks at what is installed, says in p what would be replaced, and
// returns it.
func (i *Installer) compare(ctx context.Context, p *Plan, aliases []string) (former, error) {
	all, err := i.registry.List(ctx)
	if err != nil {
		return former{}, err
	}
	var f former
	for _, v := range all {
		if v.Name != p.Skill {
			if err := unambiguous(p.Skill, aliases, v); err != nil {
				return f, err
			}
			continue
		}
		if v.Active {
			p.Type, p.Replaces, p.Installed = approval.TypeModifySkill, v.Version, v.Digest == p.Digest
			if f, err = i.former(ctx, v); err != nil {
				return f, err
			}
		}
		if v.Version == p.Version && v.Digest != p.Digest && p.Origin != registry.OriginDevelopment {
			return f, fault.Errorf(fault.KindConflict, "%s is installed with other bytes (%s, this package is %s)", v.Ref(), v.Digest.Short(), p.Digest.Short()).
				WithHint("a version never changes: give the package a new version, or %s first", fault.Remove(v.Ref()))
		}
	}
	return f, nil
}

// unambiguous refuses names and aliases by which two skills would answer: a
// skill could otherwise be called, or granted something, in place of another.
func unambiguous(name string, aliases []string, other registry.Skill) error {
	e := fault.Errorf(fault.KindConflict, "%s is an alias of %s, which is installed", name, other.Ref())
	if slices.Contains(other.Aliases, name) {
		return e.WithHint("%s first, or give the package another name", fault.Remove(other.Name))
	}
	for _, a := range aliases {
		if a == other.Name || slices.Contains(other.Aliases, a) {
			return fault.Errorf(fault.KindConflict, "%s has the alias %s, by which %s is called", name, a, other.Ref()).
				WithHint("remove the alias from the manifest, or %s first", fault.Remove(other.Name))
		}
	}
	return nil
}

func (i *Installer) former(ctx context.Context, v registry.Skill) (former, error) {
	f := former{digest: v.Digest, signer: v.Signer, sent: map[string][]manifests.Injection{}}
	gs, err := i.approvals.Grants(ctx, v.Digest)
	if err != nil {
		return f, err
	}
	f.granted, f.grants = lasting(gs)
	if f.pkg, err = i.registry.Package(ctx, v.Digest); err != nil { // damaged: then nothing is known of its secrets, and they are asked about
		f.pkg = nil
		return f, ctx.Err()
	}
	for _, s := range f.pkg.Manifest().Security.Permissions.Secrets {
		if s.Inject != nil {
			f.sent[s.Name] = append(f.sent[s.Name], *s.Inject)
		}
	}
	return f, nil
}

// lasting is what gs grant now, for any call and any number of runs.
func lasting(gs []approval.Grant) (capability.Set, []approval.Grant) {
	var cs []capability.Capability
	gs = slices.DeleteFunc(slices.Clone(gs), func(g approval.Grant) bool { return !g.Unconditional(time.Now()) })
	for _, g := range gs {
		cs = append(cs, g.Capability)
	}
	return capability.NewSet(cs...), gs
}

// maxAsks bounds what a package asks for as it is recorded, in bytes of JSON:
// more than that nobody reads, and no store keeps.
const maxAsks = 256 << 10

// judge puts each ask to the policies and sums up.
func (i *Installer) judge(_ context.Context, p *Plan) error {
	asks, err := p.request.Package.Manifest().Requests(p.request.Workspace)
	if err != nil {
		return fault.Wrap(fault.KindUsage, fmt.Errorf("%s: %w", p.Skill, err))
	}
	rules, err := i.policies()
	if err != nil {
		return err
	}
	total := i.decide(rules, p.who(), capability.Capability{})
	p.whole = total.Effect
	for _, a := range asks {
		d := i.decide(rules, p.who(), a.Capability)
		p.Asks = append(p.Asks, p.ask(a, d))
		if d.Effect == policies.Deny {
			return fault.Errorf(fault.KindDenied, "%s@%s may not ask for %s: %s", p.Skill, p.Version, a.Capability, d.Reason).
				WithHint("decided by policy %s; remove %s from the manifest, or change the policy", strings.Join(d.Policies, ", "), a.Field)
		}
		if d.Effect < total.Effect {
			total = d
		}
	}
	if total.Effect == policies.Deny {
		return forbidden(p.who(), total)
	}
	p.Effect, p.Reason, p.Policies = total.Effect.String(), total.Reason, total.Policies
	p.Carried = p.carries()
	return p.checkSize()
}

func (p *Plan) checkSize() error {
	b, err := json.Marshal(p.Asks)
	if err != nil {
		return err
	}
	if len(b) > maxAsks {
		return fault.Errorf(fault.KindLimit, "%s@%s asks for too much: the list is %d bytes long, and at most %d are accepted", p.Skill, p.Version, len(b), maxAsks).
			WithHint("ask for fewer things, by wider patterns, with shorter reasons")
	}
	return nil
}

func (p *Plan) who() policies.Principal {
	return policies.Principal{Skill: p.Skill, Version: p.Version, Digest: string(p.Digest), Signer: p.Signer, Origin: string(p.Origin)}
}

// decide asks the policies about a package that wants c; the zero capability
// asks whether the package may be installed at all.
func (i *Installer) decide(rules *policies.Set, who policies.Principal, c capability.Capability) policies.Decision {
	return rules.Decide(policies.Query{Phase: policies.PhaseInstall, Principal: who, Capability: c, Home: i.home})
}

func forbidden(who policies.Principal, d policies.Decision) error {
	return fault.Errorf(fault.KindDenied, "%s@%s may not be installed: %s", who.Skill, who.Version, d.Reason).
		WithHint("decided by policy %s", strings.Join(d.Policies, ", "))
}

func (p *Plan) ask(a manifests.RequestedCapability, d policies.Decision) approval.Ask {
	words := a.Capability.Words()
	if a.Inject != nil {
		words += ", " + a.Inject.Words()
	}
	return approval.Ask{
		Capability: a.Capability, Words: words, Reason: a.Reason,
		New: !p.former.covers(a), Effect: d.Effect.String(), Policies: d.Policies,
	}
}

// unmoved refuses a plan that somebody else overtook.
func (i *Installer) unmoved(ctx context.Context, p Plan) error {
	if err := i.unchanged(ctx, p.request.Since, []string{p.Skill}, p.Digest); err != nil {
		return err
	}
	now := Plan{Skill: p.Skill, Version: p.Version, Digest: p.Digest, Origin: p.Origin}
	f, err := i.compare(ctx, &now, p.request.Package.Manifest().Aliases)
	if err == nil && f.digest != p.former.digest { // it was still there when the plan looked at what is installed
		err = moved(p.Skill)
	}
	return err
}
