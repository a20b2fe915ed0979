package govern

import (
	"context"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/skillet-run/skillet/host/base/fault"

	"github.com/skillet-run/skillet/host/app/seen"
	"github.com/skillet-run/skillet/host/fetch/adopt"
	"github.com/skillet-run/skillet/host/record/approval"
	"github.com/skillet-run/skillet/host/record/registry"
	"github.com/skillet-run/skillet/host/review/review"
	"github.com/skillet-run/skillet/manifests"
	"github.com/skillet-run/skillet/policies/capability"
)

// Grants are what installed skills may do: each is of one version of a skill, byte for
// byte.
type Grants struct{ p *Parts }

// Permissions are the grants of one version of a skill.
type Permissions struct {
	Skill  string           `json:"skill"`
	Digest manifests.Digest `json:"digest"`
	Grants []Grant          `json:"grants"`
	// Asks is what the manifest asks for and no live grant covers.
	Asks []Ask `json:"asks"`
}

// Version is that of which grants there are, of which bytes.
func (p Permissions) Version() seen.Version { return versionOf(p.Digest, p.Grants) }

func versionOf(d manifests.Digest, gs []Grant) seen.Version {
	return seen.Of(struct {
		Digest manifests.Digest
		Grants []Grant
	}{d, append([]Grant{}, gs...)})
}

// held is a context with which something is decided only if the grants of a skill are those
// that were shown.
func (g *Grants) held(ctx context.Context, ref manifests.Ref, as seen.Versions) (context.Context, error) {
	return as.Hold(ctx, "the grants of "+ref.String(), func(ctx context.Context) (seen.Version, error) {
		s, err := g.p.installed(ctx, ref)
		if err != nil {
			return "", err
		}
		gs, err := g.p.Approvals.Grants(ctx, s.Digest)
		return versionOf(s.Digest, gs), err
	})
}

// An Ask is what a manifest asks for, with its reason.
type Ask struct {
	Capability capability.Capability `json:"capability"`
	Words      string                `json:"words"`
	Reason     string                `json:"reason,omitempty"`
}

// asksOf are what is requested in a manifest, as people read it.
func asksOf(requests []manifests.RequestedCapability) []Ask {
	asks := []Ask{}
	for _, r := range requests {
		asks = append(asks, Ask{r.Capability, r.Capability.Words(), r.Reason})
	}
	return asks
}

// Show returns what a skill was granted, and what else its manifest asks for. workspace is
// the absolute directory that relative paths of the manifest mean.
func (g *Grants) Show(ctx context.Context, by approval.Principal, skill manifests.Ref, workspace string) (Permissions, error) {
	if err := g.p.begin(ctx, by); err != nil {
		return Permissions{}, err
	}
	s, err := g.p.installed(ctx, skill)
	if err != nil {
		return Permissions{}, err
	}
	return g.of(ctx, s, workspace)
}

func (g *Grants) of(ctx context.Context, s registry.Skill, workspace string) (Permissions, error) {
	gs, err := g.p.Approvals.Grants(ctx, s.Digest)
	if err != nil {
		return Permissions{}, err
	}
	pkg, err := g.p.Registry.Package(ctx, s.Digest)
	if err != nil {
		return Permissions{}, err
	}
	requests, err := pkg.Manifest().Requests(workspace)
	if err != nil {
		return Permissions{}, err
	}
	open := slices.DeleteFunc(requests, func(r manifests.RequestedCapability) bool { return standing(gs).Covers(r.Capability) })
	return Permissions{s.Ref(), s.Digest, append([]Grant{}, gs...), asksOf(open)}, nil
}

// standing is what grants give that hold for all calls.
func standing(gs []Grant) capability.Set {
	var live []capability.Capability
	for _, g := range gs {
		if g.Live(time.Now()) && !g.Conditional() {
			live = append(live, g.Capability)
		}
	}
	return capability.NewSet(live...)
}

// installed is the version that a reference means.
func (p *Parts) installed(ctx context.Context, ref manifests.Ref) (registry.Skill, error) {
	if ref.Tool != "" {
		return registry.Skill{}, fault.Errorf(fault.KindUsage, "%s names a tool", ref).WithHint("name the skill alone: %s", ref.Name)
	}
	return p.Registry.Lookup(ctx, ref)
}

// again is the version that a plan is about, if that is still what its name means.
func (p *Parts) again(ctx context.Context, name string, d manifests.Digest) (registry.Skill, error) {
	ref, err := manifests.ParseRef(name)
	if err != nil {
		return registry.Skill{}, fault.Wrap(fault.KindUsage, err)
	}
	s, err := p.installed(ctx, ref)
	if err == nil && s.Digest != d {
		err = fault.Errorf(fault.KindConflict, "%s is another package now", name).WithHint("look at it again")
	}
	return s, err
}

// CheckCapability refuses capabilities that nothing could use, with a [fault.KindUsage]
// error: a grant of one would look as if it meant something.
func CheckCapability(c capability.Capability) error {
	name, pattern := strings.CutSuffix(c.Resource(), "*")
	if c.Action() != capability.Secret || pattern && name == "" {
		return nil
	}
	if err := CheckSecretName(name); err != nil {
		return fault.AsError(err).WithHint("%s shows the secrets there are", fault.List(fault.Secrets))
	}
	return nil
}

// A GrantRequest asks for a skill to be given capabilities.
type GrantRequest struct {
	Skill        manifests.Ref
	Capabilities []capability.Capability
	Terms        Terms
	// Seen is what was shown of the grants of the skill: see [Permissions.Version]. If there
	// are others by now, nothing is planned or granted, with [seen.ErrMoved].
	Seen seen.Versions
}

// A GrantPlan is what would be granted, and what a person should know before.
type GrantPlan struct {
	// Skill is NAME@VERSION, and Digest the bytes that the grants would hold for.
	Skill        string
	Digest       manifests.Digest
	Capabilities []capability.Capability
	Terms        Terms
	// Unbounded are those that have no bound, such as every file: granting them needs
	// consent of its own. Useless are those that the skill has no code for.
	Unbounded []capability.Capability
	Useless   []capability.Capability

	named manifests.Ref
	seen  seen.Versions
}

// Plan says what granting would do. It grants nothing.
func (g *Grants) Plan(ctx context.Context, by approval.Principal, req GrantRequest) (GrantPlan, error) {
	if err := g.p.begin(ctx, by); err != nil {
		return GrantPlan{}, err
	}
	s, err := g.p.installed(ctx, req.Skill)
	if err != nil {
		return GrantPlan{}, err
	}
	plan := GrantPlan{Skill: s.Ref(), Digest: s.Digest, Capabilities: req.Capabilities, Terms: req.Terms, named: req.Skill, seen: req.Seen}
	if _, err := g.held(ctx, plan.named, plan.seen); err != nil {
		return plan, err
	}
	if err := plan.check(); err != nil {
		return plan, err
	}
	pkg, err := g.p.Registry.Package(ctx, s.Digest)
	if err != nil {
		return plan, err
	}
	plan.Unbounded = unbounded(req.Capabilities)
	plan.Useless, err = review.Useless(pkg, req.Capabilities)
	return plan, err
}

func (p GrantPlan) check() error {
	if len(p.Capabilities) == 0 {
		return fault.Errorf(fault.KindUsage, "no capability is named to grant")
	}
	for _, c := range p.Capabilities {
		if err := CheckCapability(c); err != nil {
			return err
		}
	}
	_, err := p.Terms.read(time.Now())
	return err
}

func unbounded(cs []capability.Capability) []capability.Capability {
	return slices.DeleteFunc(slices.Clone(cs), func(c capability.Capability) bool { return !c.Unbounded() })
}

// A GrantConsent is what a person says to a plan of grants. The zero value agrees to what
// is bounded.
type GrantConsent struct {
	// Unbounded agrees to capabilities without a bound. Without it they are refused, with a
	// [fault.KindApproval] error.
	Unbounded bool
}

// Grant gives a skill what was planned, in one decision. A policy that forbids it outright
// refuses. It fails with a [fault.KindConflict] error when the skill is another one now.
func (g *Grants) Grant(ctx context.Context, by approval.Human, plan GrantPlan, yes GrantConsent) error {
	if err := g.p.begin(ctx, by); err != nil {
		return err
	}
	if err := plan.check(); err != nil {
		return err
	}
	if wide := unbounded(plan.Capabilities); len(wide) > 0 && !yes.Unbounded {
		return fault.Errorf(fault.KindApproval, "%s could then %s: that has no bound, and nobody agreed to it", plan.Skill, words(wide))
	}
	terms, err := plan.Terms.read(time.Now())
	if err != nil {
		return err
	}
	s, err := g.p.again(ctx, plan.Skill, plan.Digest)
	if err != nil {
		return err
	}
	if ctx, err = g.held(ctx, plan.named, plan.seen); err != nil {
		return err
	}
	return g.p.Approvals.Grant(ctx, by, s, plan.Capabilities, terms)
}

func words(cs []capability.Capability) string {
	var all []string
	for _, c := range cs {
		all = append(all, c.Words())
	}
	return strings.Join(all, ", and ")
}

// A RevokeRequest asks for grants to be taken back: those that the capabilities cover.
type RevokeRequest struct {
	Skill        manifests.Ref
	Capabilities []capability.Capability
	// All takes back every grant; without it capabilities have to be named. Exact leaves
	// grants that are narrower than those.
	All   bool
	Exact bool
	// Seen is as in a [GrantRequest].
	Seen seen.Versions
}

// A RevokePlan is what would be taken back.
type RevokePlan struct {
	// Skill is NAME@VERSION, and Digest the bytes that the grants are of.
	Skill        string
	Digest       manifests.Digest
	Capabilities []capability.Capability
	All, Exact   bool
	// Grants would end, and Narrower are those of them that no capability names.
	Grants   []Grant
	Narrower []Grant

	named manifests.Ref
	seen  seen.Versions
}

// PlanRevoke says what revoking would take back. It takes back nothing.
func (g *Grants) PlanRevoke(ctx context.Context, by approval.Principal, req RevokeRequest) (RevokePlan, error) {
	if err := g.p.begin(ctx, by); err != nil {
		return RevokePlan{}, err
	}
	s, err := g.p.installed(ctx, req.Skill)
	if err != nil {
		return RevokePlan{}, err
	}
	plan := RevokePlan{Skill: s.Ref(), Digest: s.Digest, Capabilities: req.Capabilities, All: req.All, Exact: req.Exact, named: req.Skill, seen: req.Seen}
	if _, err := g.held(ctx, plan.named, plan.seen); err != nil {
		return plan, err
	}
	if err := plan.check(); err != nil {
		return plan, err
	}
	gs, err := g.p.Approvals.Grants(ctx, s.Digest)
	meant, named := plan.meant(), approval.Exactly(plan.Capabilities)
	for _, one := range gs {
		if meant(one) {
			plan.Grants = append(plan.Grants, one)
		}
		if meant(one) && !req.All && !named(one) {
			plan.Narrower = append(plan.Narrower, one)
		}
	}
	return plan, err
}

func (p RevokePlan) check() error {
	if p.All != (len(p.Capabilities) == 0) {
		return fault.Errorf(fault.KindUsage, "either capabilities are taken back that are named, or all")
	}
	return nil
}

// meant reports whether a grant is to end.
func (p RevokePlan) meant() func(Grant) bool {
	if p.Exact {
		return approval.Exactly(p.Capabilities)
	}
	return approval.Covered(p.Capabilities)
}

// Revoke takes back what was planned, in one decision, and returns what ended. It fails
// with a [fault.KindConflict] error when other grants would end than the plan says, and
// with one of [fault.KindNotFound] when none would.
func (g *Grants) Revoke(ctx context.Context, by approval.Human, plan RevokePlan) (Permissions, error) {
	if err := g.p.begin(ctx, by); err != nil {
		return Permissions{}, err
	}
	if err := plan.check(); err != nil {
		return Permissions{}, err
	}
	s, err := g.p.again(ctx, plan.Skill, plan.Digest)
	if err != nil {
		return Permissions{}, err
	}
	if ctx, err = g.held(ctx, plan.named, plan.seen); err != nil {
		return Permissions{}, err
	}
	ended, err := g.p.Approvals.RevokePlanned(ctx, by, s, plan.meant(), plan.Grants)
	return plan.view(ended), err
}

// View is the plan as the grants that would end.
func (p RevokePlan) View() Permissions { return p.view(p.Grants) }

func (p RevokePlan) view(gs []Grant) Permissions {
	return Permissions{p.Skill, p.Digest, append([]Grant{}, gs...), []Ask{}}
}

// Texts are the capabilities of grants, each once.
func Texts(gs []Grant) []string { return approval.Texts(gs) }

// An ImportRequest asks what a policy of Wassette allows a skill.
type ImportRequest struct {
	// File is the policy.yaml, and Workspace the absolute directory that relative addresses
	// in it mean.
	File      string
	Skill     manifests.Ref
	Workspace string
	Terms     Terms
}

// An Allowance is what a policy of Wassette allows a skill, as grants of this host.
type Allowance struct {
	Skill   string           `json:"skill"`
	Digest  manifests.Digest `json:"digest"`
	Permits []adopt.Permit   `json:"permits"`
	Refused []RefusedLine    `json:"refused"`
	// Granted is whether the permits were granted.
	Granted bool `json:"granted"`
	// Terms are those of the grants.
	Terms Terms `json:"-"`
}

// A RefusedLine is one line of a policy that cannot be granted.
type RefusedLine struct {
	Line   int    `json:"line"`
	Field  string `json:"field"`
	Reason string `json:"reason"`
	Hint   string `json:"hint,omitempty"`
}

// PlanImport reads a policy. It grants nothing.
func (g *Grants) PlanImport(ctx context.Context, by approval.Principal, req ImportRequest) (Allowance, error) {
	if err := g.p.begin(ctx, by); err != nil {
		return Allowance{}, err
	}
	s, err := g.p.installed(ctx, req.Skill)
	if err != nil {
		return Allowance{}, err
	}
	p, err := adopt.Wassette(req.File, req.Workspace)
	if err != nil {
		return Allowance{}, err
	}
	if req.Terms.Reason == "" {
		req.Terms.Reason = "allowed by " + filepath.Base(req.File)
	}
	a := Allowance{Skill: s.Ref(), Digest: s.Digest, Permits: p.Permits, Refused: []RefusedLine{}, Terms: req.Terms}
	for _, r := range p.Refused {
		a.Refused = append(a.Refused, RefusedLine{r.Line, r.Path, r.Message, r.Suggestion})
	}
	return a, nil
}

// Import grants what a policy allows: see [Grants.Grant].
func (g *Grants) Import(ctx context.Context, by approval.Human, a Allowance, yes GrantConsent) (Allowance, error) {
	plan := GrantPlan{Skill: a.Skill, Digest: a.Digest, Terms: a.Terms}
	for _, p := range a.Permits {
		plan.Capabilities = append(plan.Capabilities, p.Capability)
	}
	err := g.Grant(ctx, by, plan, yes)
	a.Granted = err == nil
	return a, err
}
