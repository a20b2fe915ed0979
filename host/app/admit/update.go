package admit

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/skillet-run/skillet/host/app/seen"
	"github.com/skillet-run/skillet/host/base/fault"
	"github.com/skillet-run/skillet/host/fetch/source"
	"github.com/skillet-run/skillet/host/install"
	"github.com/skillet-run/skillet/host/install/closure"
	"github.com/skillet-run/skillet/host/record/approval"
	"github.com/skillet-run/skillet/host/record/registry"
	"github.com/skillet-run/skillet/host/review/review"
	"github.com/skillet-run/skillet/manifests"
)

// A Status says what became of a skill that was to be updated.
type Status string

// What can become of it.
const (
	StatusUpdated  Status = "updated"
	StatusTrial    Status = "on_trial"
	StatusPromoted Status = "promoted"
	StatusPreview  Status = "available" // there is a later version
	StatusCurrent  Status = "current"
	StatusPinned   Status = "pinned"
	StatusSkipped  Status = "skipped"
	StatusFailed   Status = "failed"
)

// done is the status of an update that was carried out.
func (s Status) done() Status {
	if s == StatusPreview {
		return StatusUpdated
	}
	return s
}

// Update is the wish to have an installed skill updated. All but the skill may be left
// out: it is updated to the newest version at the place it came from then.
type Update struct {
	Skill string
	// To is the later version to go to, also one that it went back from; From is the
	// place to take the new version from instead.
	To, From string
	// Latest goes to the newest version that is published, past the ranges that keep it from
	// there: what needs it, and what it needs, moves with it.
	Latest bool
	// Again are skills it needs that may go to a version again that they went back from.
	Again []string
	// EvenDisabled updates a skill that is disabled.
	EvenDisabled bool
	// Seen is as in a [Rollback].
	Seen seen.Versions
	// Share tries the new version with a share of the calls; the zero value does not.
	Share Share
	// Promote makes the version that is on trial the active one, and looks for no other.
	Promote bool
	// NothingNew refuses a version that asks for more than the one before, and
	// NothingDifferent one that does otherwise on recorded calls.
	NothingNew       bool
	NothingDifferent bool
	Terms
}

// A Share says how a new version is tried.
type Share = install.Share

// DefaultTrialCalls is how many calls a version on trial has to take.
const DefaultTrialCalls = install.DefaultCanaryCalls

func (c Update) plan(ctx context.Context, s *Service, p *Plan) error {
	p.Kind, p.terms, p.Status = "update", c.Terms, StatusPreview
	if err := s.seen(ctx, c.Skill, c.Seen); err != nil {
		return err
	}
	all, err := s.parts.Registry.List(ctx)
	if err != nil {
		return err
	}
	u := &update{s: s, p: p, c: c, all: all}
	i := slices.IndexFunc(all, func(o registry.Skill) bool { return o.Name == c.Skill && o.Active })
	if i < 0 {
		if _, err := s.parts.Registry.Lookup(ctx, manifests.Ref{Name: c.Skill}); err != nil {
			return err
		}
		return fault.Errorf(fault.KindConflict, "%s has no active version any more", c.Skill).WithHint("%s shows its versions", fault.List(fault.Versions))
	}
	u.now = all[i]
	p.Skill, p.From, p.Proposed = u.now.Name, u.now.Version, false
	if _, person := p.by.(approval.Human); !person {
		p.Proposed = true
	}
	return u.plan(ctx)
}

// An update is one on its way to be planned.
type update struct {
	s   *Service
	p   *Plan
	c   Update
	now registry.Skill   // the active version
	all []registry.Skill // what is installed
}

// leave makes the plan one that changes nothing, and says why.
func (u *update) leave(status Status, to string, why fault.Hint) error {
	u.p.Status, u.p.To, u.p.Why, u.p.Remedies, u.p.commit = status, to, why.Text, why.Remedies, nothing
	return nil
}

func (u *update) plan(ctx context.Context) error {
	s := u.now
	switch {
	case u.c.Promote:
		return u.promote()
	case s.Pinned != nil:
		return u.leave(StatusPinned, "", fault.Hintf("pinned by %s%s; %s lets it be updated", s.Pinned.By, because(s.Pinned.Reason), fault.Unpin(s.Name)))
	case s.Disabled != nil && !u.c.EvenDisabled:
		return u.leave(StatusSkipped, "", fault.Hintf("disabled; %s updates it all the same", fault.Update(s.Name)))
	case s.Canary != nil:
		return u.leave(StatusSkipped, s.Canary.Version, fault.Hintf("%s is on trial; %s shows how it stands", s.Canary.Version, fault.ShowSkill(s.Name)))
	}
	if u.c.To != "" || u.c.Latest || len(u.c.Again) > 0 || u.tied() {
		return u.together(ctx)
	}
	done := u.c.tell(StageNewer, s.Name)
	got, err := u.s.newer(ctx, s, u.c.From)
	done()
	switch {
	case err != nil:
		return err
	case got == nil:
		return u.leave(StatusCurrent, "", fault.Hint{})
	case len(got.Package.Manifest().Dependencies) > 0:
		return u.together(ctx)
	}
	if why := u.unwanted(got.Version); !why.IsZero() {
		return u.leave(StatusSkipped, got.Version, why)
	}
	return u.admit(ctx, alone(closure.Step{Got: got}), got.Version)
}

// promote plans to end the trial of a skill.
func (u *update) promote() error {
	if c := u.now.Canary; c != nil {
		u.p.To = c.Version
	}
	u.p.commit = func(ctx context.Context, s *Service, by approval.Principal, _ Consent) (Result, error) {
		person, _ := by.(approval.Human)
		_, err := s.parts.Installer.EndCanary(ctx, person, u.now.Name, registry.VerdictPromoted)
		return Result{Status: StatusPromoted}, err
	}
	return nil
}

// because is a reason in brackets.
func because(reason string) string {
	if reason == "" {
		return ""
	}
	return " (" + reason + ")"
}

// tied reports whether a skill cannot be updated by itself: it needs others, others
// need it, or a person asked for certain versions of it.
func (u *update) tied() bool {
	s := u.now
	asked := s.Asked != nil && (s.Asked.Constraint != "" || s.Asked.Closure != "")
	return asked || s.Needed || len(s.Dependencies) > 0 || slices.ContainsFunc(u.all, func(o registry.Skill) bool {
		return slices.ContainsFunc(o.Dependencies, func(d registry.Dependency) bool { return d.Chosen() == s.Name })
	})
}

// together plans an update so that everything still fits together: what the skill needs
// is updated with it where that is necessary, and it goes no further than what others
// need of it allows.
func (u *update) together(ctx context.Context) error {
	q, hand, err := u.question(ctx)
	if err != nil || u.p.Status == StatusCurrent {
		return err
	}
	done := u.c.tell(StageResolve, u.now.Name)
	defer done()
	catalog, err := u.s.catalog(ctx, closure.Settings{Hand: hand})
	if err != nil {
		return err
	}
	to, why, held := u.held()
	if u.c.Latest {
		latest, err := catalog.Latest(ctx, u.now)
		switch {
		case err != nil:
			return err
		case latest == nil && held:
			return u.leave(StatusSkipped, to, why)
		case latest == nil:
			return u.leave(StatusCurrent, "", fault.Hint{})
		}
		q, u.p.Broken, u.p.AskedOtherwise = latest.Question, latest.Broken, latest.Asked
	}
	plan, err := catalog.Plan(ctx, q)
	done()
	if err != nil && fault.AsError(err).Kind == fault.KindConflict && held && u.c.To == "" {
		return u.leave(StatusSkipped, to, why) // and it asks for nothing else
	}
	if err != nil {
		return err
	}
	next, ok := plan.Version(u.now.Name)
	if u.c.To == "" {
		switch {
		case (!ok || !isNewer(next, u.now.Version)) && held:
			return u.leave(StatusSkipped, to, why)
		case !ok || !isNewer(next, u.now.Version):
			return u.behind(ctx, catalog)
		}
		if why := u.unwanted(next); !why.IsZero() {
			return u.leave(StatusSkipped, next, why)
		}
	}
	return u.admit(ctx, plan, next)
}

// question is what is to become of the home, with what is at hand for it.
func (u *update) question(ctx context.Context) (closure.Question, []*source.Fetched, error) {
	q := closure.Question{Renew: []string{u.now.Name}}
	for _, name := range u.c.Again {
		other, err := u.s.lookup(ctx, name)
		if err != nil {
			return q, nil, err
		}
		if other.Name == u.now.Name {
			return q, nil, fault.Errorf(fault.KindUsage, "update %s: it may go again to a version only of what it needs, not of itself", u.now.Name).
				WithHint("%s goes to a version again", fault.Update(u.now.Name).With(fault.FieldTo, "VERSION"))
		}
		q.Again = append(q.Again, other.Name)
	}
	if u.c.To != "" {
		w, err := closure.Later(u.now, u.all, u.c.To)
		q.Requirements = []closure.Requirement{w}
		return q, nil, err
	}
	if u.c.From == "" {
		return q, nil, nil
	}
	got, err := u.s.newer(ctx, u.now, u.c.From)
	if err != nil {
		return q, nil, err
	}
	if got == nil {
		return q, nil, u.leave(StatusCurrent, "", fault.Hint{})
	}
	q.Requirements = []closure.Requirement{{Name: u.now.Name, Exactly: got.Version, Prereleases: strings.Contains(got.Version, "-"), Isolated: u.now.Asked != nil && u.now.Asked.Closure != ""}}
	return q, []*source.Fetched{got}, nil
}

// held says of a skill for which nothing later was chosen whether that is because
// somebody went back from it, or disabled it.
func (u *update) held() (version string, why fault.Hint, ok bool) {
	var later []string
	if u.now.Avoided != nil {
		later = append(later, u.now.Avoided.Version)
	}
	for _, o := range u.all {
		if o.Name == u.now.Name {
			later = append(later, o.Version)
		}
	}
	for _, version := range later {
		if why := u.unwanted(version); !why.IsZero() && isNewer(version, u.now.Version) {
			return version, why, true
		}
	}
	return "", fault.Hint{}, false
}

// unwanted says why an update does not go to a version by itself; empty when it does.
func (u *update) unwanted(version string) fault.Hint {
	s := u.now
	if u.c.To != "" {
		return fault.Hint{}
	}
	again := fault.Update(s.Name).With(fault.FieldTo, version)
	if tr := s.Trial; tr != nil && tr.Verdict == registry.VerdictRolledBack && tr.Version == version {
		return fault.Hintf("%s was on trial and rolled back: %s; %s goes to it all the same", version, tr.Reason, again)
	}
	if s.Avoids(version) {
		return fault.Hintf("it went back from %s, as %s decided, and no later version fits; %s goes to it all the same", s.Avoided.Version, s.Avoided.By, again)
	}
	for _, o := range u.all {
		if d := o.Disabled; o.Name == s.Name && o.Version == version && d != nil && !d.All {
			return fault.Hintf("%s is disabled by %s%s; %s allows it again", version, d.By, because(d.Reason), fault.Enable(o.Ref()))
		}
	}
	return fault.Hint{}
}

// behind says why nothing later than the active version was chosen: who holds it there, and
// what would move it.
func (u *update) behind(ctx context.Context, catalog *closure.Catalog) error {
	b, err := catalog.Behind(ctx, u.now)
	if err != nil || b == nil {
		return cmp.Or(err, u.leave(StatusCurrent, "", fault.Hint{}))
	}
	if err := u.s.revoked(ctx, b); err != nil {
		return err
	}
	u.p.Held = b.Holds
	why := fault.Hintf(" that %s; there is %s", Holds(u.now.Name, b.Holds), b.Latest)
	if !b.Way.IsZero() {
		why = fault.Hintf("%s, and %s goes to it%s", why, b.Way, Along(b.Moves))
	}
	return u.leave(StatusCurrent, "", why)
}

// Holds says what keeps a skill from a later version, as the end of a sentence about the version
// that it has: "rep@0.1.0 allows, which needs ^0.1".
func Holds(skill string, all []Hold) string {
	var said []string
	for _, h := range all {
		said = append(said, holdWords(skill, h))
	}
	if len(said) == 0 {
		return "fits together with the others"
	}
	return strings.Join(said, ", and that ")
}

func holdWords(skill string, h Hold) string {
	switch h.Kind {
	case closure.HeldByNeed:
		return fmt.Sprintf("%s@%s allows (it needs %s %s)", h.Skill, h.Version, skill, h.Constraint)
	case closure.HeldByWish:
		return fmt.Sprintf("you asked for (%s)", h.Constraint)
	case closure.HeldByPin:
		return fmt.Sprintf("is pinned by %s%s", h.By, because(h.Reason))
	case closure.HeldByReturn:
		return fmt.Sprintf("%s went back to", h.By)
	case closure.HeldByStop:
		return fmt.Sprintf("is not disabled (as %s did with the later one%s)", h.By, because(h.Reason))
	case closure.HeldByQuarantine:
		return fmt.Sprintf("is not in quarantine (%s)", h.Reason)
	case closure.HeldByRevocation:
		return fmt.Sprintf("is not revoked (%s)", h.Reason)
	}
	return "fits together with the others"
}

// Along says which skills go to another version, too: the end of a sentence, empty for none.
func Along(moves []closure.LatestMove) string {
	var all []string
	for _, m := range moves {
		all = append(all, m.Skill+" to "+m.To)
	}
	if len(all) == 0 {
		return ""
	}
	return ", and takes " + strings.Join(all, ", ") + " along"
}

// admit plans what an update comes to.
func (u *update) admit(ctx context.Context, c *closure.Plan, to string) error {
	p := u.p
	p.To = to
	if err := p.admit(ctx, u.s, c, nil); err != nil {
		return err
	}
	if err := u.tries(ctx); err != nil {
		return err
	}
	if err := p.look(ctx, u.s); err != nil {
		return err
	}
	if err := u.replays(ctx); err != nil {
		return err
	}
	if u.c.NothingNew && p.Refused == nil {
		for _, pkg := range p.Packages {
			if pkg.Upgrade != nil && pkg.Upgrade.Grows() || pkg.Replaces == "" && len(pkg.Asks) > 0 {
				p.Refused = grows(pkg.Plan)
				break
			}
		}
	}
	for _, v := range p.Activate {
		if err := u.examine(ctx, v); err != nil {
			return err
		}
	}
	return nil
}

// tries puts the version on trial with a share of the calls, if that is wanted.
func (u *update) tries(ctx context.Context) error {
	p := u.p
	switch {
	case u.c.Share.Percent == 0:
		return nil
	case len(p.Packages) == 1 && p.Packages[0].Skill == p.Skill && len(p.Links)+len(p.Activate) == 0:
		p.commit = u.tryNew
	case len(p.Packages)+len(p.Links) == 0 && len(p.Activate) == 1 && p.Activate[0].Name == p.Skill:
		p.commit = u.tryInstalled
	default:
		return fault.Errorf(fault.KindConflict, "try %s@%s: other skills would change with it, and those cannot be on trial together", p.Skill, p.To).
			WithHint("%s shows them; update without %s", fault.Update(p.Skill).With(fault.FieldDryRun), fault.OmitField(fault.FieldCanary))
	}
	return nil
}

// share is how the version is tried, with what it did on recorded calls.
func (u *update) share() Share {
	share := u.c.Share
	if share.Since = u.p.since; u.p.Replays != nil {
		share.Replays = u.p.Replays.Summary()
	}
	return share
}

func (u *update) tryNew(ctx context.Context, s *Service, by approval.Principal, c Consent) (Result, error) {
	person, ok := by.(approval.Human)
	plan := u.p.group.Plans[0]
	if !ok || u.p.Waits && c == NotAsked {
		return Result{}, fault.Errorf(fault.KindApproval, "%s@%s asks for something, and a canary cannot wait as a proposal", plan.Skill, plan.Version).
			WithHint("look at it with %s, then add %s", fault.SetField(fault.FieldDryRun), fault.SetField(fault.FieldYes))
	}
	if c == Shown && u.p.Packages[0].Looked {
		plan = plan.Despite()
	}
	out, err := s.parts.Installer.AcceptCanary(ctx, person, plan, u.share())
	return Result{Outcome: out, Status: StatusTrial, Became: []Became{{&u.p.Packages[0], out}}}, err
}

func (u *update) tryInstalled(ctx context.Context, s *Service, by approval.Principal, _ Consent) (Result, error) {
	person, ok := by.(approval.Human)
	if !ok {
		return Result{}, fault.Errorf(fault.KindDenied, "try %s@%s: only a person can decide that", u.p.Skill, u.p.To)
	}
	out, err := s.parts.Installer.TryInstalled(ctx, person, u.p.Activate[0], u.share())
	return Result{Outcome: out, Status: StatusTrial}, err
}

// replays tries the skill that is updated on recorded calls, unless that was done to
// look at it.
func (u *update) replays(ctx context.Context) (err error) {
	main := u.p.Main()
	switch {
	case main == nil:
		return nil
	case main.Looked:
		u.p.Replays = main.Replays
	default:
		if u.p.Replays, err = u.s.shadow(ctx, main.got.Package, u.c.Terms); err != nil {
			return err
		}
	}
	if u.c.NothingDifferent && u.p.Replays != nil && u.p.Replays.Different > 0 {
		u.p.Refused = differs(main.Skill, main.Version, u.p.Replays.Summary())
	}
	return nil
}

// examine compares an installed version with the active one whose place it takes: what
// it asks for, and of the skill that is updated, what it does on recorded calls.
func (u *update) examine(ctx context.Context, v registry.Skill) error {
	next, err := u.s.parts.Registry.Package(ctx, v.Digest)
	if err != nil {
		return err
	}
	plan := install.Plan{Skill: v.Name, Version: v.Version, Digest: v.Digest}
	if active, err := u.s.parts.Registry.Lookup(ctx, manifests.Ref{Name: v.Name}); err == nil {
		plan.Replaces = active.Version
		before, err := u.s.parts.Registry.Package(ctx, active.Digest)
		if err == nil { // one that is damaged cannot be compared
			plan.Upgrade, err = review.CompareSides(
				review.Side{Package: before, Signer: active.Signer, Workspace: u.c.Workspace},
				review.Side{Package: next, Signer: v.Signer, Workspace: u.c.Workspace})
			if err != nil {
				return err
			}
		}
	}
	u.p.Upgrades = append(u.p.Upgrades, plan.Upgrade)
	if v.Name == u.p.Skill {
		if u.p.Replays, err = u.s.shadow(ctx, next, u.c.Terms); err != nil {
			return err
		}
	}
	switch {
	case u.p.Refused != nil:
	case u.c.NothingDifferent && v.Name == u.p.Skill && u.p.Replays != nil && u.p.Replays.Different > 0:
		u.p.Refused = differs(v.Name, v.Version, u.p.Replays.Summary())
	case u.c.NothingNew && plan.Upgrade != nil && plan.Upgrade.Grows():
		u.p.Refused = grows(plan)
	}
	return ctx.Err()
}

// grows is the error of an update that asks for more.
func grows(p install.Plan) *fault.Error {
	hint := fault.Hintf("look at it with %s; without %s you are asked about it", fault.SetField(fault.FieldDryRun), fault.OmitField(fault.FieldFailOnNewCapabilities))
	var more []string
	if p.Upgrade == nil { // it is new, and comes with what is updated
		for _, a := range p.Asks {
			more = append(more, a.Words)
		}
		return fault.Errorf(fault.KindDenied, "%s@%s comes with it and wants: %s", p.Skill, p.Version, strings.Join(more, "; ")).Hinted(hint)
	}
	for _, c := range p.Upgrade.Capabilities {
		if c.Change == "added" || c.Change == "widened" {
			more = append(more, c.Words)
		}
	}
	return fault.Errorf(fault.KindDenied, "%s@%s wants more than %s: %s", p.Skill, p.Version, p.Replaces, strings.Join(more, "; ")).Hinted(hint)
}

// differs is the error of an update that does otherwise than before.
func differs(skill, version, summary string) *fault.Error {
	return fault.Errorf(fault.KindSkill, "%s@%s is not installed: %s", skill, version, summary).
		WithHint("look at it with %s; without %s it is installed all the same", fault.SetField(fault.FieldDryRun), fault.OmitField(fault.FieldFailOnDifference))
}

// isNewer reports whether a version is one to update to: later, and a release unless
// the one before was none.
func isNewer(version, than string) bool {
	return manifests.CompareVersions(version, than) > 0 && (!strings.Contains(version, "-") || strings.Contains(than, "-"))
}
