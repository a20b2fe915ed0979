package api

import (
	"context"
	"net/http"
	"sync"
	"time"

	"github.com/skillet-run/skillet/host/app/admit"
	"github.com/skillet-run/skillet/host/app/govern"
	"github.com/skillet-run/skillet/host/base/fault"
)

// A Planned is a plan that can be committed by its ID, until it expires.
type Planned struct {
	ID      string    `json:"id" doc:"Commits this plan."`
	Expires time.Time `json:"expires"`
	*admit.Plan
}

// Acceptance is what a person accepts of packages that lack it.
type Acceptance struct {
	Workspace     string   `json:"workspace,omitempty" doc:"The absolute directory that relative paths in manifests mean."`
	AllowUnsigned bool     `json:"allow_unsigned,omitempty" doc:"Accepts a package that nobody signed."`
	TrustSigner   string   `json:"trust_signer,omitempty" maxLength:"500" doc:"The fingerprint of the signer that is accepted although another signed the skill before." example:"key:sha256:3f0c…"`
	AcceptSource  bool     `json:"accept_source,omitempty" doc:"Accepts another place than the skill came from before."`
	Despite       []string `json:"despite,omitempty" nullable:"false" maxItems:"100" doc:"Proposals of the same bytes that were turned down."`
}

func (t Acceptance) terms() admit.Terms {
	terms := admit.Terms{Workspace: t.Workspace, Despite: t.Despite}
	for _, f := range []struct {
		given bool
		flag  admit.Flag
	}{{t.AllowUnsigned, admit.AllowUnsigned}, {t.TrustSigner != "", admit.TrustSigner.Of(t.TrustSigner)}, {t.AcceptSource, admit.AcceptSource}} {
		if f.given {
			terms.Accepted = append(terms.Accepted, f.flag)
		}
	}
	return terms
}

// An InstallBody asks for a package to be installed.
type InstallBody struct {
	Package     string `json:"package" minLength:"1" maxLength:"2000" doc:"The name of a published skill, with or without a constraint, or the address of a package. A person may also name an absolute path on the machine of the service." example:"text@^1.2"`
	GeneratedBy string `json:"generated_by,omitempty" maxLength:"200" doc:"The model that wrote the package: it then waits for approval, whatever it asks for."`
	Rationale   string `json:"rationale,omitempty" maxLength:"2000" doc:"Why it should be installed."`
	Acceptance
}

// An UpdateBody asks for a skill to be updated.
type UpdateBody struct {
	Skill      string `json:"skill" minLength:"1" maxLength:"200"`
	To         string `json:"to,omitempty" maxLength:"200" doc:"The version; without it the newest."`
	Latest     bool   `json:"latest,omitempty" doc:"Goes to the newest version that is published, past the ranges that keep it from there: what needs it moves with it."`
	Promote    bool   `json:"promote,omitempty" doc:"Makes the version that is on trial the active one."`
	NothingNew bool   `json:"nothing_new,omitempty" doc:"Refuses a version that asks for more than the one before."`
	Acceptance
}

// A RollbackBody asks for an earlier version to be the active one again.
type RollbackBody struct {
	Skill     string `json:"skill" minLength:"1" maxLength:"200"`
	To        string `json:"to,omitempty" maxLength:"200" doc:"The version; without it the one that was active before."`
	KeepState bool   `json:"keep_state,omitempty" doc:"Leaves its data as it is, also when that version cannot read it."`
}

// A RemovalBody asks for skills to be removed.
type RemovalBody struct {
	Skills []string `json:"skills" minItems:"1" maxItems:"100" nullable:"false"`
	Purge  bool     `json:"purge,omitempty" doc:"Deletes also what they keep."`
	Prune  bool     `json:"prune,omitempty" doc:"Removes also what nobody needs any more."`
	Force  bool     `json:"force,omitempty" doc:"Removes also what others need."`
}

// A CommitBody carries out a plan.
type CommitBody struct {
	Consent string `json:"consent,omitempty" enum:"none,shown" default:"none" doc:"shown is a person's yes to the whole plan. Without it, what a person has to agree to waits as proposals."`
}

// A Committed is what became of a plan.
type Committed struct {
	admit.Result
	// Waits says why it was not carried out: a person has to agree first.
	Waits *fault.Error `json:"waits,omitempty" doc:"Set when a person has to agree first: what was planned was recorded as proposals."`
}

type body[T any] struct{ Body T }

// PlanID names a plan.
type PlanID struct {
	ID string `path:"plan" maxLength:"64" doc:"The id of a plan."`
}

func changes(a *API) {
	const tag = "changes"
	plan := func(kind, summary string) route {
		return route{method: http.MethodPost, path: "/v1/plans/" + kind, id: "plan-" + kind, tag: tag, status: http.StatusCreated, summary: summary, rights: needs(govern.RightPropose)}
	}
	add(a, plan("install", "Says what installing a package would do"),
		func(ctx context.Context, p govern.Pass, in *body[InstallBody]) (Planned, error) {
			w := in.Body
			return a.plan(ctx, p, admit.Install{Package: w.Package, Remote: true, GeneratedBy: w.GeneratedBy, Rationale: w.Rationale, Terms: w.terms()})
		})
	seeing := func(r route) route {
		r.matches = "the skill"
		return r
	}
	add(a, seeing(plan("update", "Says what updating a skill would do")),
		func(ctx context.Context, p govern.Pass, in *body[UpdateBody]) (Planned, error) {
			w := in.Body
			return a.plan(ctx, p, admit.Update{Skill: w.Skill, To: w.To, Latest: w.Latest, Promote: w.Promote, NothingNew: w.NothingNew, Terms: w.terms(), Seen: seenBy(ctx)})
		})
	add(a, seeing(plan("rollback", "Says what going back to an earlier version would do")),
		func(ctx context.Context, p govern.Pass, in *body[RollbackBody]) (Planned, error) {
			return a.plan(ctx, p, admit.Rollback{Skill: in.Body.Skill, To: in.Body.To, KeepState: in.Body.KeepState, Seen: seenBy(ctx)})
		})
	add(a, plan("remove", "Says what removing skills would do"),
		func(ctx context.Context, p govern.Pass, in *body[RemovalBody]) (Planned, error) {
			w := in.Body
			return a.plan(ctx, p, admit.Removal{Skills: w.Skills, Purge: w.Purge, Prune: w.Prune, Force: w.Force})
		})
	add(a, route{method: http.MethodPost, path: "/v1/plans/{plan}/commit", id: "commit-plan", planned: true, repeatable: true, tag: tag, summary: "Carries out a plan, once", rights: needs(govern.RightPropose)}, a.commit)
}

func (a *API) plan(ctx context.Context, p govern.Pass, c admit.Change) (Planned, error) {
	made, err := a.s.Admit.Plan(ctx, p.By(), c)
	if err != nil {
		return Planned{}, err
	}
	return a.plans.keep(p.By().Actor(), made, seenBy(ctx) != nil)
}

func (a *API) commit(ctx context.Context, p govern.Pass, in *struct {
	PlanID
	Body CommitBody
}) (Committed, error) {
	kept, err := a.plans.take(p.By().Actor(), in.ID)
	if err != nil {
		return Committed{}, err
	}
	consent := admit.NotAsked
	if in.Body.Consent == "shown" {
		consent = admit.Shown
	}
	r, err := a.s.Admit.Commit(ctx, p.By(), kept.plan, consent)
	if e := a.s.Explain(err); e != nil && e.Kind == fault.KindApproval && r.Proposal != nil {
		return Committed{r, e}, nil
	}
	if err != nil && kept.seen {
		err = unmet(a.problem(err), err, true)
	}
	return Committed{Result: r}, err
}

// plans keep plans between planning and committing. They are of this process: after a
// restart there are none, and who planned plans again.
type plans struct {
	life time.Duration
	mu   sync.Mutex
	all  map[string]keptPlan
}

type keptPlan struct {
	owner   string
	plan    *admit.Plan
	expires time.Time
	seen    bool // what it was made from is what its owner was shown
}

func newPlans(life time.Duration) *plans { return &plans{life: life, all: map[string]keptPlan{}} }

// maxPlans is how many plans of one owner are kept: each may hold a package.
const maxPlans = 20

// keep keeps a plan for its owner; seen says that it was made from what that was shown.
func (s *plans) keep(owner string, p *admit.Plan, seen bool) (Planned, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now, mine := time.Now(), 0
	for id, k := range s.all {
		switch {
		case now.After(k.expires):
			delete(s.all, id)
		case k.owner == owner:
			mine++
		}
	}
	if mine >= maxPlans {
		return Planned{}, fault.Errorf(fault.KindLimit, "%d plans of %s wait to be committed", mine, owner).
			WithHint("commit them, or wait until they expire").WithRetryAfter(s.life)
	}
	id, expires := newID(), now.Add(s.life).UTC()
	s.all[id] = keptPlan{owner, p, expires, seen}
	return Planned{id, expires, p}, nil
}

// take returns a plan of its owner's. It stays, so that whoever commits it twice is told so.
func (s *plans) take(owner, id string) (keptPlan, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	k, ok := s.all[id]
	if !ok || k.owner != owner || time.Now().After(k.expires) {
		return k, fault.Errorf(fault.KindNotFound, "no plan of %s has the id %q", owner, id).WithHint("plans are kept for %s: plan again", s.life)
	}
	return k, nil
}
