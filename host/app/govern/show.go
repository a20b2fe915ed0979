package govern

import (
	"context"
	"errors"
	"strings"

	"github.com/skillet-run/skillet/host/base/fault"
	"github.com/skillet-run/skillet/policies"
	"github.com/skillet-run/skillet/policies/capability"
	"github.com/skillet-run/skillet/policies/limit"

	"github.com/skillet-run/skillet/host/app/seen"
	"github.com/skillet-run/skillet/host/base/config"
	"github.com/skillet-run/skillet/host/install/evidence"
	"github.com/skillet-run/skillet/host/record/agents"
	"github.com/skillet-run/skillet/host/record/approval"
	"github.com/skillet-run/skillet/host/review/findings"
	"github.com/skillet-run/skillet/host/review/review"
	"github.com/skillet-run/skillet/host/run/casetest"
	"github.com/skillet-run/skillet/manifests"
)

// A ShowProposal says what is wanted of a proposal.
type ShowProposal struct {
	ID string
	// Full has all of what is different, however long it is.
	Full bool
	// NoTests leaves out the tests of the package, and what it does on recorded calls.
	NoTests bool
}

// The views of what is known about what is proposed.
type (
	// A Point is one line of a summary, and a Rule what a static scan looks for.
	Point    = evidence.Point
	Rule     = findings.Rule
	Severity = findings.Severity
	// A Page is a package as a person decides about it.
	Page = evidence.Page
	// CodeFindings are what a static scan found, and a CodeFinding is one of them.
	CodeFindings = findings.Report
	CodeFinding  = findings.Finding
	// A ScriptView is a script that waits, and a ScriptCall a call that it has made.
	ScriptView = approval.ScriptView
	ScriptCall = approval.ScriptCall
	// A Loop lets a script make a call more than once.
	Loop = approval.Loop
)

// Version is that of how the proposal stands.
func (p Proposed) Version() seen.Version { return proposalVersion(p.Proposal) }

// proposalVersion is that of how a proposal stands, whatever was used of it since.
func proposalVersion(p Proposal) seen.Version {
	if p.Loop != nil {
		l := *p.Loop
		l.Uses, l.Last = 0, ""
		p.Loop = &l
	}
	return seen.Of(p)
}

// Page is a package that waits as a person decides about it.
func (p Proposed) Page() Page {
	page := Page{
		Skill: p.Skill, Version: p.Proposal.Version, Digest: p.Digest, Kind: p.Kind, Source: p.Source, Origin: p.Origin, Signer: p.Signer,
		Effect: p.PoliciesSay.Effect, Reason: p.PoliciesSay.Reason, Policies: p.PoliciesSay.Policies,
		Replaces: p.With, Asks: p.Requested, Bounds: limit.Bounds{Limits: p.Limits, Cut: p.Cut}, Read: p.Read, Evidence: p.Evidence,
	}
	if len(p.Interprets) > 0 {
		page.Notes = []string{review.InterpreterWords(p.Interprets)}
	}
	return page
}

// TestPassed is the outcome of a test of a package that passed.
const TestPassed = casetest.Passed

// A Proposed is a proposal with what a person should know before deciding about it. The
// limits are those that hold on this host.
type Proposed struct {
	Proposal
	Limits limit.Set   `json:"limits"`
	Cut    []limit.Cut `json:"limits_cut"`
	evidence.Evidence
	// PoliciesSay is what policies say today of a package that waits, to the whole of what it
	// asks for; the zero value for anything else.
	PoliciesSay Verdict `json:"policies_say,omitzero"`
	// Summary is what should not be missed; empty for what is decided already, and for a
	// call.
	Summary []Point `json:"summary"`
	// Read is what models read of a new skill; nil if it is compared with an active
	// version, or is not a package.
	Read *review.ReadByModels `json:"read_by_models,omitempty"`
	// Script is the script that makes a call which waits; nil for another caller, and when it
	// is not kept any more. Lifts is what it could do without being asked about, if more calls
	// than this one are approved.
	Script *ScriptView     `json:"script,omitempty"`
	Lifts  *capability.Set `json:"lifts,omitempty"`
	// Kind is that of a package that waits.
	Kind manifests.Kind `json:"-"`
}

// A Verdict is what policies say: the strictest of what they say to each part.
type Verdict struct {
	Effect   string   `json:"effect"`
	Reason   string   `json:"reason,omitempty"`
	Policies []string `json:"policies,omitempty"`
}

// say asks the policies about a package that waits.
func (s *Proposals) say(p Proposal) (Verdict, error) {
	set, err := s.p.Policies()
	if err != nil {
		return Verdict{}, err
	}
	q := policies.Query{Phase: policies.PhaseInstall, Home: s.p.Home, Principal: policies.Principal{
		Skill: p.Skill, Version: p.Version, Digest: string(p.Digest), Signer: p.Signer, Origin: string(p.Origin),
	}}
	total := set.Decide(q)
	for _, a := range p.Requested {
		q.Capability = a.Capability
		if d := set.Decide(q); d.Effect < total.Effect {
			total = d
		}
	}
	return Verdict{total.Effect.String(), total.Reason, total.Policies}, nil
}

// Show gathers what a person should know before deciding about a proposal. Its tests run in
// processes of their own, with nothing real behind their grants.
func (s *Proposals) Show(ctx context.Context, by approval.Principal, req ShowProposal) (Proposed, error) {
	p, err := s.Find(ctx, by, req.ID)
	if err != nil {
		return Proposed{}, err
	}
	bounds := p.Limits.Within(s.p.Ceilings)
	v := Proposed{Proposal: p, Limits: bounds.Limits, Cut: bounds.Cut}
	v.Files, v.Similar, v.Findings.Findings, v.Summary = []review.File{}, []evidence.Similar{}, []findings.Finding{}, []Point{}
	if !Undecided(p) {
		return v, nil
	}
	if p.Type.Package() {
		if err := s.collect(ctx, req, &v); err != nil {
			return v, err
		}
	}
	if v.Call != nil && v.Call.Script != nil {
		if err := s.script(ctx, by, &v); err != nil {
			return v, err
		}
	}
	return v, s.summarize(ctx, by, &v)
}

// Whole is a proposal that was shown, with all of what is different, however long it is. Tests
// are not run again.
func (s *Proposals) Whole(ctx context.Context, by approval.Principal, v Proposed) (Proposed, error) {
	w, err := s.Show(ctx, by, ShowProposal{ID: v.ID, Full: true, NoTests: true})
	if err == nil && w.Version() == v.Version() {
		w.Tests, w.Replays, w.Summary = v.Tests, v.Replays, v.Summary
	}
	return w, err
}

// script fills in the script that makes a call which waits.
func (s *Proposals) script(ctx context.Context, by approval.Principal, v *Proposed) error {
	script, err := s.scriptOf(ctx, by, v.Proposal)
	if e := fault.AsError(err); e != nil && e.Kind == fault.KindNotFound {
		return nil
	}
	if err != nil {
		return err
	}
	lifts, err := s.p.Approvals.Lifts(ctx, v.Proposal)
	v.Script, v.Lifts = &script, &lifts
	return err
}

// scriptOf is the script that makes the call of a proposal.
func (s *Proposals) scriptOf(ctx context.Context, by approval.Principal, p Proposal) (ScriptView, error) {
	v, err := s.p.Script(ctx, by, p.Call.Script.Run)
	if err == nil && (v.Digest != p.Call.Script.Digest || v.Actor != p.Call.Script.Actor) {
		err = fault.Errorf(fault.KindConflict, "the run %s is of another script than the proposal %s", p.Call.Script.Run, p.ID)
	}
	return v, err
}

// collect gathers the evidence about a package that waits.
func (s *Proposals) collect(ctx context.Context, req ShowProposal, v *Proposed) error {
	pkg, err := s.p.Registry.Package(ctx, v.Digest)
	if err != nil {
		return err
	}
	v.Kind = pkg.Manifest().Type
	if v.PoliciesSay, err = s.say(v.Proposal); err != nil {
		return err
	}
	o := evidence.Options{Limits: review.Brief(), Tests: !req.NoTests, Signer: v.Signer, Workspace: v.Workspace}
	if req.Full {
		o.Limits = review.Limits{}
	}
	if !req.NoTests {
		o.Replay = s.p.Replay
	}
	if v.Evidence, err = s.p.Evidence.Collect(ctx, pkg, o); err == nil && v.With == "" {
		v.Read = review.Read(pkg.Manifest())
	}
	return err
}

// summarize fills in what should not be missed about what a proposal changes.
func (s *Proposals) summarize(ctx context.Context, by approval.Principal, v *Proposed) (err error) {
	switch {
	case v.Config != nil:
		v.Summary = SettingPoints(*v.Config)
	case v.Agent != nil:
		missing, missingErr := s.p.MissingTools(ctx, by, agents.Tools(*v.Agent))
		v.Findings, err = agents.Scan(ctx, v.Agent.Name, v.Agent.After)
		v.Summary, err = evidence.AgentPoints(*v.Agent, missing, v.Findings), errors.Join(err, missingErr)
	case v.Type.Package():
		v.Summary = v.Page().Summary()
	}
	return err
}

// SettingPoints say what settings were changed, without what they were before if that was no
// more than their default.
func SettingPoints(c ConfigChange) []Point { return evidence.SettingPoints(c, config.Default) }

// maxDefinitionLines is how much of the difference between two definitions is shown.
const maxDefinitionLines = 200

// CompareDefinitions compares the definitions of an agent before and after a change, line by
// line. Long ones are cut short.
func CompareDefinitions(c *AgentChange) review.File {
	before, after := c.Definitions()
	return review.Text(before, after, review.Limits{Lines: maxDefinitionLines, LineBytes: 400})
}

// Unaided is what a skill of a kind can do with nothing granted.
func Unaided(k manifests.Kind) string { return evidence.Unaided(k) }

// Rules are what static scans look for.
func Rules() []Rule { return findings.Rules() }

// RuleOf returns the rule with an id, in whatever case. It fails with a
// [fault.KindNotFound] error.
func RuleOf(id string) (Rule, error) {
	r, ok := findings.Lookup(strings.ToUpper(id))
	if !ok {
		return r, fault.Errorf(fault.KindNotFound, "rule %s not found", id)
	}
	return r, nil
}
