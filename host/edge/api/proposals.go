package api

import (
	"context"
	"net/http"
	"time"

	"github.com/skillet-run/skillet/host/app/govern"
	"github.com/skillet-run/skillet/manifests"
	"github.com/skillet-run/skillet/policies/capability"
)

type listApprovals struct {
	Window
	All    bool   `query:"all" doc:"Those that are decided, too."`
	Status string `query:"status" maxLength:"40" doc:"Those that stand so, only."`
	Skill  string `query:"skill" maxLength:"200" doc:"Those about that skill, NAME or NAME@VERSION, only."`
	Kind   string `query:"kind" maxLength:"40" doc:"Those of that type, only."`
}

// ProposalID names a proposal.
type ProposalID struct {
	ID string `path:"proposal" maxLength:"64" doc:"The id of a proposal, or the beginning of one."`
}

// GrantTerms say for which calls grants hold, and for how long.
type GrantTerms struct {
	Scope  string    `json:"scope,omitempty" enum:"always,once,run,session,until" doc:"Without it, and without another bound, the next run alone."`
	ID     string    `json:"scope_id,omitempty" maxLength:"200" doc:"The run or the session that the scope names."`
	Until  time.Time `json:"until,omitzero" doc:"When they end."`
	Uses   int       `json:"uses,omitempty" minimum:"1" doc:"How many runs they are good for."`
	Reason string    `json:"reason,omitempty" maxLength:"500" doc:"Shown wherever the grants are."`
	For    []Fit     `json:"for,omitempty" nullable:"false" maxItems:"16" doc:"What the input of a call must fit, all of it."`
}

// A Fit says what one value of an input must be.
type Fit struct {
	Path string `json:"path" minLength:"1" maxLength:"500" doc:"Leads to the value: names of members and numbers of items, with dots between them. . is the whole input."`
	Glob string `json:"glob" maxLength:"500" doc:"What the value must be as text: * stands for any text, ? for any one character."`
}

func (t GrantTerms) terms() (govern.Terms, error) {
	terms := govern.Terms{Scope: govern.Scope(t.Scope), ID: t.ID, Until: t.Until, Uses: t.Uses, Reason: t.Reason}
	for _, f := range t.For {
		p, err := govern.ParsePattern(f.Path + "=" + f.Glob)
		if err != nil {
			return terms, err
		}
		terms.For = append(terms.For, p)
	}
	return terms, nil
}

// An ApprovalBody is what a person says to a proposal that they agree to.
type ApprovalBody struct {
	Digest  manifests.Digest `json:"digest" minLength:"8" doc:"The digest that they were shown, or at least its first eight digits."`
	Notes   string           `json:"notes,omitempty" maxLength:"2000"`
	Despite []string         `json:"despite,omitempty" nullable:"false" maxItems:"100" doc:"Rules whose findings keep it in quarantine, and that they looked at."`
	GrantTerms
}

// A Verdict is what a person says to a proposal that they turn down or take back.
type Verdict struct {
	Notes string `json:"notes,omitempty" maxLength:"2000"`
}

type decide struct {
	ProposalID
	Body Verdict
}

func proposals(a *API) {
	const tag = "approvals"
	add(a, route{method: http.MethodGet, path: "/v1/approvals", id: "list-approvals", tagged: true, tag: tag, summary: "Lists proposals, the oldest first", rights: needs(govern.RightRead)},
		func(ctx context.Context, p govern.Pass, in *listApprovals) (Page[govern.Proposal], error) {
			all, err := a.s.Govern.Proposals.List(ctx, p.By(), govern.ListProposals{All: in.All, Status: govern.Status(in.Status), Skill: in.Skill, Kind: govern.ProposalKind(in.Kind)})
			return page(in.Window, all, err)
		})
	add(a, route{method: http.MethodGet, path: "/v1/approvals/{proposal}", id: "show-approval", tagged: true, tag: tag, summary: "Shows a proposal with what is known about it", rights: needs(govern.RightRead)},
		func(ctx context.Context, p govern.Pass, in *struct {
			ProposalID
			Full    bool `query:"full" doc:"All of what is different, however long it is."`
			NoTests bool `query:"no_tests" doc:"Leaves out the tests of the package, and what it does on recorded calls."`
		}) (govern.Proposed, error) {
			return a.s.Govern.Proposals.Show(ctx, p.By(), govern.ShowProposal{ID: in.ID, Full: in.Full, NoTests: in.NoTests})
		})
	add(a, route{method: http.MethodPost, path: "/v1/approvals/{proposal}/approve", id: "approve", matches: "the proposal", class: urgent, tag: tag, summary: "Approves a proposal, and carries it out", rights: needs(govern.RightDecide)},
		func(ctx context.Context, p govern.Pass, in *struct {
			ProposalID
			Body ApprovalBody
		}) (govern.Outcome, error) {
			w := in.Body
			terms, err := w.terms()
			if err != nil {
				return govern.Outcome{}, err
			}
			return a.s.Govern.Proposals.Approve(ctx, p.Person(), govern.Approval{ID: in.ID, Digest: string(w.Digest), Notes: w.Notes, Despite: w.Despite, Terms: terms, Seen: seenBy(ctx)})
		})
	add(a, route{method: http.MethodPost, path: "/v1/approvals/{proposal}/reject", id: "reject", matches: "the proposal", class: urgent, tag: tag, summary: "Turns a proposal down", rights: needs(govern.RightDecide)},
		func(ctx context.Context, p govern.Pass, in *decide) (govern.Proposal, error) {
			return a.s.Govern.Proposals.Reject(ctx, p.Person(), govern.Decision{ID: in.ID, Notes: in.Body.Notes, Seen: seenBy(ctx)})
		})
	add(a, route{method: http.MethodPost, path: "/v1/approvals/{proposal}/revert", id: "revert", matches: "the proposal", class: urgent, tag: tag, summary: "Puts back what an applied proposal changed", rights: needs(govern.RightDecide)},
		func(ctx context.Context, p govern.Pass, in *decide) (govern.Proposal, error) {
			return a.s.Govern.Proposals.Revert(ctx, p.Person(), govern.Decision{ID: in.ID, Notes: in.Body.Notes, Seen: seenBy(ctx)})
		})
}

// A GrantBody gives a skill capabilities.
type GrantBody struct {
	Capabilities []capability.Capability `json:"capabilities" minItems:"1" maxItems:"100" nullable:"false" example:"[\"clock\"]"`
	Unbounded    bool                    `json:"unbounded,omitempty" doc:"Agrees to capabilities without a bound, such as every file."`
	GrantTerms
}

// A RevocationBody takes grants back.
type RevocationBody struct {
	Capabilities []capability.Capability `json:"capabilities,omitempty" maxItems:"100" nullable:"false"`
	All          bool                    `json:"all,omitempty" doc:"Takes back every grant."`
	Exact        bool                    `json:"exact,omitempty" doc:"Leaves grants that are narrower than those named."`
}

func grants(a *API) {
	const tag = "grants"
	show := func(ctx context.Context, p govern.Pass, in *showSkill) (govern.Permissions, error) {
		ref, err := in.ref()
		if err != nil {
			return govern.Permissions{}, err
		}
		return a.s.Govern.Grants.Show(ctx, p.By(), ref, in.Workspace)
	}
	list := func(ctx context.Context, p govern.Pass, in *struct {
		Capability string `query:"capability" minLength:"1" doc:"Only grants of an action, such as fs.write, or those that overlap a capability."`
		Ended      bool   `query:"ended" doc:"Includes grants that do not hold any more."`
	}) ([]govern.ListedGrant, error) {
		return a.s.Govern.Grants.List(ctx, p.By(), govern.ListGrants{Capability: in.Capability, Ended: in.Ended})
	}
	add(a, route{method: http.MethodGet, path: "/v1/grants", id: "list-grants", tag: tag, summary: "Lists the grants of all skills, and whether they are used", rights: needs(govern.RightRead)}, list)
	add(a, route{method: http.MethodGet, path: "/v1/skills/{skill}/grants", id: "show-grants", tagged: true, tag: tag, summary: "Shows what a skill was granted, and what else it asks for", rights: needs(govern.RightRead)}, show)
	add(a, route{method: http.MethodPost, path: "/v1/skills/{skill}/grants", id: "grant", matches: "the grants of the skill", class: urgent, tag: tag, summary: "Grants capabilities to a skill", rights: needs(govern.RightDecide)}, a.grant)
	add(a, route{method: http.MethodPost, path: "/v1/skills/{skill}/grants/revoke", id: "revoke-grants", matches: "the grants of the skill", class: urgent, tag: tag, summary: "Takes grants back, and shows those that ended", rights: needs(govern.RightDecide)}, a.revoke)
}

func (a *API) grant(ctx context.Context, p govern.Pass, in *struct {
	Named
	Body GrantBody
}) (govern.Permissions, error) {
	ref, err := in.ref()
	if err != nil {
		return govern.Permissions{}, err
	}
	terms, err := in.Body.terms()
	if err != nil {
		return govern.Permissions{}, err
	}
	g := a.s.Govern.Grants
	plan, err := g.Plan(ctx, p.By(), govern.GrantRequest{Skill: ref, Capabilities: in.Body.Capabilities, Terms: terms, Seen: seenBy(ctx)})
	if err == nil {
		err = g.Grant(ctx, p.Person(), plan, govern.GrantConsent{Unbounded: in.Body.Unbounded})
	}
	if err != nil {
		return govern.Permissions{}, err
	}
	return g.Show(ctx, p.By(), ref, "/")
}

func (a *API) revoke(ctx context.Context, p govern.Pass, in *struct {
	Named
	Body RevocationBody
}) (govern.Permissions, error) {
	ref, err := in.ref()
	if err != nil {
		return govern.Permissions{}, err
	}
	w := in.Body
	plan, err := a.s.Govern.Grants.PlanRevoke(ctx, p.By(), govern.RevokeRequest{Skill: ref, Capabilities: w.Capabilities, All: w.All, Exact: w.Exact, Seen: seenBy(ctx)})
	if err != nil {
		return govern.Permissions{}, err
	}
	return a.s.Govern.Grants.Revoke(ctx, p.Person(), plan)
}
