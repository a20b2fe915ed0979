package govern

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/skillet-run/skillet/host/base/fault"

	"github.com/skillet-run/skillet/host/app/seen"
	"github.com/skillet-run/skillet/host/install"
	"github.com/skillet-run/skillet/host/record/approval"
	"github.com/skillet-run/skillet/host/record/document"
	"github.com/skillet-run/skillet/host/record/settings"
)

// Proposals are changes that wait for a person. Every method first ends those that wait in
// vain, and carries out what was approved and not applied.
type Proposals struct{ p *Parts }

// The words of proposals; see package approval.
type (
	// A Proposal is a change that waits for a person, or waited.
	Proposal = approval.Proposal
	// A Status is where a proposal stands.
	Status = approval.Status
	// A ProposalKind is what a proposal wants to change.
	ProposalKind = approval.Type
	// Versions are what was shown of what is decided.
	Versions = seen.Versions
	// A ScanCount is how much a scan found in what is proposed, by severity.
	ScanCount = approval.ScanCount
	// A ProposalAsk is one capability that a proposed package asks for.
	ProposalAsk = approval.Ask
	// An AgentChange is what a proposal changes about an agent, and a ConfigChange what one
	// changes about settings.
	AgentChange  = approval.AgentChange
	ConfigChange = approval.ConfigChange
)

// The statuses that edges tell apart.
const (
	StatusPending     = approval.StatusPending
	StatusApplied     = approval.StatusApplied
	StatusQuarantined = approval.StatusQuarantined
)

// Statuses are the names of all of them.
func Statuses() []string {
	var names []string
	for _, s := range approval.Statuses() {
		names = append(names, string(s))
	}
	return names
}

// ProposalKinds are the names of all of them.
func ProposalKinds() []string {
	var names []string
	for _, k := range approval.Types() {
		names = append(names, string(k))
	}
	return names
}

// Undecided reports whether a person can still approve a proposal.
func Undecided(p Proposal) bool { return p.Status.Waits() || p.Status == StatusQuarantined }

// Reconcile carries out what was approved and not applied, and ends what waits in vain.
func (s *Proposals) Reconcile(ctx context.Context, by approval.Principal) error {
	return s.settled(ctx, by)
}

// settled refuses nobody, and brings the proposals to where they stand.
func (s *Proposals) settled(ctx context.Context, by approval.Principal) error {
	if err := s.p.begin(ctx, by); err != nil {
		return err
	}
	return s.settle(ctx)
}

// settle applies what was approved and not applied, and ends what waits in vain.
func (s *Proposals) settle(ctx context.Context) error {
	var errs []error
	for _, k := range []*document.Files{s.p.Settings.Files, s.p.Agents.Files} {
		_, err := k.Finish(ctx)
		if e := fault.AsError(err); e != nil && e.Kind == fault.KindConflict { // it is stale now, and shown as that
			s.p.log.Warn("a change that was approved could not be applied", "err", err)
			err = nil
		}
		errs = append(errs, err)
	}
	_, err := s.p.Installer.ExpireProposals(ctx)
	return errors.Join(append(errs, err)...)
}

// A ListProposals says which proposals are wanted.
type ListProposals struct {
	// All has those that are decided, too. Status has only those that stand so.
	All    bool
	Status Status
	// Skill leaves out what is not about that skill, and Kind proposals of other types.
	Skill string
	Kind  approval.Type
}

func (r ListProposals) fits(p Proposal) bool {
	stands := r.Status == p.Status || r.Status == "" && (r.All || Undecided(p))
	return stands && (r.Skill == "" || r.Skill == p.Skill || r.Skill == p.Ref()) && (r.Kind == "" || r.Kind == p.Type)
}

// List returns proposals, oldest first: those that a person can decide, unless the request
// says otherwise.
func (s *Proposals) List(ctx context.Context, by approval.Principal, req ListProposals) ([]Proposal, error) {
	if err := s.settled(ctx, by); err != nil {
		return nil, err
	}
	if req.Status != "" && !slices.Contains(approval.Statuses(), req.Status) {
		return nil, fault.Errorf(fault.KindUsage, "unknown status %q", req.Status).WithHint("it is one of: %s", strings.Join(Statuses(), ", "))
	}
	if req.Kind != "" {
		if err := req.Kind.Check(); err != nil {
			return nil, err
		}
	}
	all, err := s.p.Approvals.Proposals(ctx)
	found := []Proposal{}
	for _, p := range all {
		if req.fits(p) {
			found = append(found, p)
		}
	}
	return found, err
}

// Loops returns the proposals whose scripts may make more calls now without being asked about.
func (s *Proposals) Loops(ctx context.Context, by approval.Principal) ([]Proposal, error) {
	all, err := s.List(ctx, by, ListProposals{Status: StatusApplied})
	now := time.Now()
	return slices.DeleteFunc(all, func(p Proposal) bool { return p.Loop == nil || !p.Loop.Live(now) }), err
}

// Find finds a proposal by its id, or a beginning of it of at least four characters that no
// other has. It fails with a [fault.KindNotFound] error.
func (s *Proposals) Find(ctx context.Context, by approval.Principal, id string) (Proposal, error) {
	if err := s.settled(ctx, by); err != nil {
		return Proposal{}, err
	}
	return s.p.Approvals.Proposal(ctx, id)
}

// Expire ends the proposals whose time is over, and those whose skill is at another version
// by now, and returns them as they are then.
func (s *Proposals) Expire(ctx context.Context, by approval.Principal) ([]Proposal, error) {
	if err := s.p.begin(ctx, by); err != nil {
		return nil, err
	}
	ended, err := s.p.Installer.ExpireProposals(ctx)
	return append([]Proposal{}, ended...), err
}

// An Approval is what a person says to a proposal that they agree to.
type Approval struct {
	ID string
	// Digest is the one they were shown, or at least its first eight digits. Without it
	// nothing is approved.
	Digest string
	// Notes are kept with the decision.
	Notes string
	// Despite names the rules whose findings keep it in quarantine, and that they looked at.
	Despite []string
	// Terms are those of the grants that a package gets. Of the call of a script, terms that
	// say something are for more calls like it: how many, of what inputs, until when.
	Terms Terms
	// Seen is what was shown of the proposal: see [Proposed.Version]. If it stands otherwise
	// by now, nothing is decided, with [seen.ErrMoved].
	Seen seen.Versions
}

// An Outcome is what an approval led to.
type Outcome = install.Outcome

// Approve approves a proposal, of whatever type, and carries it out. It fails with a
// [fault.KindConflict] error when somebody decided first, or what it would change is another
// by now.
func (s *Proposals) Approve(ctx context.Context, by approval.Human, req Approval) (Outcome, error) {
	ctx, p, err := s.held(ctx, by, req.ID, req.Seen)
	if err != nil {
		return Outcome{}, err
	}
	if req.Digest == "" {
		return Outcome{}, fault.Errorf(fault.KindUsage, "approve proposal %s: the digest that was shown is missing", p.ID).
			WithHint("it is in %s", fault.ShowProposal(p.ID))
	}
	if p.Type.Package() {
		return s.approvePackage(ctx, by, p, req)
	}
	if err := install.Shown(p, req.Digest); err != nil {
		return Outcome{}, err
	}
	switch {
	case p.Call != nil && len(req.Despite) == 0 && !req.Terms.bare():
		p, err = s.approveLoop(ctx, by, p, req)
	case !req.Terms.bare():
		err = fault.Errorf(fault.KindUsage, "approve proposal %s: it is a %s, which grants nothing", p.ID, p.Type).WithHint("leave out %s", fault.OmitField(fault.FieldScope).With(fault.FieldUntil).With(fault.FieldFor))
	case p.Type.Document():
		p, err = s.files(p.Type).Approve(ctx, by, p, req.Notes, req.Despite)
	case len(req.Despite) > 0:
		err = fault.Errorf(fault.KindUsage, "approve proposal %s: no call is ever in quarantine", p.ID).WithHint("leave out %s", fault.OmitField(fault.FieldDespite))
	default:
		p, err = s.p.Approvals.ApproveCall(ctx, by, p, req.Notes)
	}
	if err != nil {
		return Outcome{}, err
	}
	return Outcome{Proposal: &p}, nil
}

// approveLoop approves more calls of a script than one. It is the script that they see which
// makes them, so that it has to be there.
func (s *Proposals) approveLoop(ctx context.Context, by approval.Human, p Proposal, req Approval) (Proposal, error) {
	terms, err := req.Terms.read(time.Now())
	if err == nil && p.Call.Script != nil {
		_, err = s.scriptOf(ctx, by, p)
	}
	if err != nil {
		return p, err
	}
	return s.p.Approvals.ApproveLoop(ctx, by, p, terms, req.Notes)
}

// held is a proposal that is as it was shown, and is to be so when something is decided with
// the context that comes with it.
func (s *Proposals) held(ctx context.Context, by approval.Principal, id string, as seen.Versions) (context.Context, Proposal, error) {
	p, err := s.Find(ctx, by, id)
	if err != nil {
		return ctx, p, err
	}
	ctx, err = as.Hold(ctx, "proposal "+p.ID, func(ctx context.Context) (seen.Version, error) {
		now, err := s.p.Approvals.Proposal(ctx, p.ID)
		return proposalVersion(now), err
	})
	return ctx, p, err
}

func (s *Proposals) approvePackage(ctx context.Context, by approval.Human, p Proposal, req Approval) (Outcome, error) {
	terms, err := req.Terms.read(time.Now())
	if err != nil {
		return Outcome{}, err
	}
	return s.p.Installer.Approve(ctx, by, p.ID, install.Consent{Digest: req.Digest, Notes: req.Notes, Despite: req.Despite, Terms: terms})
}

// files is what carries out proposals that change a file of the home.
func (s *Proposals) files(t approval.Type) *document.Files {
	if t == approval.TypeConfigChange {
		return s.p.Settings.Files
	}
	return s.p.Agents.Files
}

// A Decision is what a person says to a proposal that they turn down or take back.
type Decision struct {
	ID string
	// Notes are kept with the decision.
	Notes string
	// Seen is as in an [Approval].
	Seen seen.Versions
}

// Reject ends a proposal without carrying it out. What is only kept for it is deleted.
func (s *Proposals) Reject(ctx context.Context, by approval.Human, req Decision) (Proposal, error) {
	ctx, p, err := s.held(ctx, by, req.ID, req.Seen)
	if err != nil {
		return Proposal{}, err
	}
	return s.p.Installer.Reject(ctx, by, p.ID, req.Notes)
}

// Revert puts back what a proposal that was applied changed.
func (s *Proposals) Revert(ctx context.Context, by approval.Human, req Decision) (Proposal, error) {
	ctx, p, err := s.held(ctx, by, req.ID, req.Seen)
	switch {
	case err != nil:
		return p, err
	case p.Type.Package():
		return s.p.Installer.Revert(ctx, by, p.ID, req.Notes)
	case p.Type.Document():
		return s.files(p.Type).Revert(ctx, by, p, req.Notes)
	}
	return s.p.Approvals.RevertCall(ctx, by, p, req.Notes)
}

// A Setting is a setting and the value it is to have, as text; with Unset, its default.
type Setting = settings.Setting

// A ChangeSettings asks for other settings.
type ChangeSettings struct {
	// Settings are changed together.
	Settings []Setting
	// Model is the name of the model that wants it; empty when the caller does. Rationale is
	// why.
	Model     string
	Rationale string
}

func (r ChangeSettings) wanted(by approval.Principal) settings.Request {
	return settings.Request{Settings: r.Settings, ProposedBy: wantedBy(by, r.Model), Rationale: r.Rationale}
}

// wantedBy is who wants something, in a record.
func wantedBy(by approval.Principal, model string) string {
	if model != "" {
		return "model:" + model
	}
	return by.Actor()
}

// PlanSettings says what a change of settings would do. Nothing of it is recorded.
func (s *Proposals) PlanSettings(ctx context.Context, by approval.Principal, req ChangeSettings) (Proposal, error) {
	if err := s.settled(ctx, by); err != nil {
		return Proposal{}, err
	}
	return s.p.Settings.Plan(req.wanted(by))
}

// ProposeSettings records that somebody wants other settings. The same change waits once.
func (s *Proposals) ProposeSettings(ctx context.Context, by approval.Principal, req ChangeSettings) (Proposal, error) {
	if err := s.settled(ctx, by); err != nil {
		return Proposal{}, err
	}
	return s.p.Settings.Propose(ctx, req.wanted(by))
}

// DecidedAtOnce reports whether the one who proposed a change of a file may decide about it
// at once: it is their own, and nothing was found in it.
func DecidedAtOnce(by approval.Human, p Proposal) bool {
	return p.Status == StatusPending && p.ProposedBy == by.Actor()
}

// Waiting is the error of a proposal of a change that nobody decides at once: of
// [fault.KindApproval], or [fault.KindDenied] when something was found in it.
func Waiting(p Proposal) error {
	if p.Status == StatusQuarantined {
		return approval.InQuarantine(p, p.Steps[len(p.Steps)-1].Notes)
	}
	return fault.Errorf(fault.KindApproval, "the change of %s waits for approval: proposal %s", p.File().Name, p.ID).
		WithHint("look at it with %s, then %s or `reject`", fault.ShowProposal(p.ID), fault.Approve(p.ID))
}
