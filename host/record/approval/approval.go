// Package approval keeps what people decided: proposals that wait for a
// decision, the grants that follow from one, and the approvals of single calls. All
// are bound to digests, so that a changed byte voids them.
//
// A decision needs a [Human]. Nothing that runs on behalf of a model can make
// one, so a model cannot approve or grant, by type and not by convention. The
// package calls nobody back: whoever proposed looks at the outcome. It does not
// carry out what was approved, and does not look inside of packages.
//
// # Keys in the store
//
//	proposal/ID            -> record
//	grant/DIGEST-HEX/ID    -> record
//	lease/CALL-DIGEST-HEX  -> record
//	lease/loop/SCRIPT-AND-TOOL-DIGEST-HEX/ID -> {}: the proposal of that id has a loop
package approval

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/skillet-run/skillet/host/base/fault"
	"github.com/skillet-run/skillet/internal/recent"

	"github.com/skillet-run/skillet/host/base/store"
	"github.com/skillet-run/skillet/host/record/ledger"
	"github.com/skillet-run/skillet/manifests"
	"github.com/skillet-run/skillet/policies"
	"github.com/skillet-run/skillet/policies/capability"
)

// ErrNotFound means that no proposal or grant has that id. Errors that wrap it
// are [fault.Error]s of [fault.KindNotFound].
var ErrNotFound = errors.New("not found")

// A WaitsError is the cause of errors that end in a proposal: nothing goes on before a
// person has decided about it.
type WaitsError struct {
	// Proposal is its ID.
	Proposal string
}

// Error implements error.
func (e *WaitsError) Error() string { return "proposal " + e.Proposal }

// A Principal is who asks for something: a [Human], an [Agent] or a [Program]. Only this package has
// such types, so that nobody can be taken for another.
type Principal interface {
	// Actor is the name under which what it does is recorded.
	Actor() string
	// Check refuses the zero value, with a [fault.KindDenied] error.
	Check() error

	principal()
}

// CheckPrincipal refuses nobody, which is nil or the zero value of a principal, with a
// [fault.KindDenied] error.
func CheckPrincipal(p Principal) error {
	if p == nil {
		return fault.Errorf(fault.KindDenied, "nobody asks")
	}
	return p.Check()
}

// An Agent is a plugin that works on a task. It makes calls, and decides nothing.
type Agent struct{ name string }

// NewAgent makes an Agent.
func NewAgent(name string) Agent { return Agent{name} }

// Actor implements [Principal]: "agent:general".
func (a Agent) Actor() string { return agentPrefix + a.name }

// Check implements [Principal].
func (a Agent) Check() error {
	if a.name == "" {
		return fault.Errorf(fault.KindDenied, "an agent has a name")
	}
	return nil
}

const agentPrefix = "agent:"

// ParseAgent reads what [Agent.Actor] writes; ok is false for who is not an agent.
func ParseAgent(actor string) (a Agent, ok bool) {
	name, ok := strings.CutPrefix(actor, agentPrefix)
	return Agent{name}, ok && name != ""
}

// Name is that of the agent.
func (a Agent) Name() string { return a.name }

// A Program is whatever a token lets in that is neither a person nor an agent: a script, a
// dashboard, another service. It makes calls and asks for changes, and decides nothing.
type Program struct {
	name    string
	seesAll bool
}

// NewProgram makes a Program. With seesAll it may see what others asked for, such as their tasks.
func NewProgram(name string, seesAll bool) Program { return Program{name, seesAll} }

// Actor implements [Principal]: "program:nightly".
func (p Program) Actor() string { return "program:" + p.name }

// Check implements [Principal].
func (p Program) Check() error {
	if p.name == "" {
		return fault.Errorf(fault.KindDenied, "a program has a name")
	}
	return nil
}

// SeesAll reports whether it sees what others asked for.
func (p Program) SeesAll() bool { return p.seesAll }

func (Agent) principal()   {}
func (Human) principal()   {}
func (Program) principal() {}

// A Human is a person who decides. Only entry points where a person is present
// make one; a test lists them. The zero value decides nothing.
type Human struct{ name string }

// NewHuman makes a Human. Call it only where a person is at the other end: a
// terminal, or a request that was authenticated as a person's.
func NewHuman(name string) Human { return Human{name} }

// Actor is the name under which decisions are recorded: "human:ada".
func (h Human) Actor() string { return "human:" + h.name }

// Check refuses the zero value, with a [fault.KindDenied] error.
func (h Human) Check() error {
	if h.name == "" {
		return fault.Errorf(fault.KindDenied, "only a person can decide")
	}
	return nil
}

// An EphemeralGrant is what a person allowed for a single run, in addition to the grants.
// The zero value allows nothing.
type EphemeralGrant struct {
	set capability.Set
	by  string
}

// Allow makes an EphemeralGrant of the person's.
func (h Human) Allow(set capability.Set) EphemeralGrant { return EphemeralGrant{set, h.Actor()} }

// Only is the part of it that keep keeps: nobody can be allowed more by it.
func (o EphemeralGrant) Only(keep func(capability.Capability) bool) EphemeralGrant {
	var kept []capability.Capability
	for _, c := range o.set.All() {
		if keep(c) {
			kept = append(kept, c)
		}
	}
	return EphemeralGrant{capability.NewSet(kept...), o.by}
}

// Set is what is allowed.
func (o EphemeralGrant) Set() capability.Set { return o.set }

// Actor is who allowed it; empty for the zero value.
func (o EphemeralGrant) Actor() string { return o.by }

// Granted is what people granted to one package, by its digest. Only a [Store] makes
// one that is good for anything; the zero value grants nothing.
type Granted struct {
	digest manifests.Digest
	set    capability.Set
	use    Use      // that it was granted for
	ids    []string // of the grants that held
	until  time.Time
	epoch  uint64
}

// Set is what is granted, for showing; see [Granted.To].
func (g Granted) Set() capability.Set { return g.set }

// Until is when the first of the grants ends; zero for never.
func (g Granted) Until() time.Time { return g.until }

// Epoch is that of [Settings] from before the grants were read.
func (g Granted) Epoch() uint64 { return g.epoch }

// Bound reports whether it is of some package, even if nothing is granted to that.
func (g Granted) Bound() bool { return g.digest != "" }

// To is what is granted to a package. It fails with a [fault.KindDenied] error when
// it was granted to another one.
func (g Granted) To(d manifests.Digest) (capability.Set, error) {
	if g.digest == "" || g.digest == d {
		return g.set, nil
	}
	return capability.Set{}, fault.Errorf(fault.KindDenied, "what was granted is for the package %s, and not for %s", g.digest.Short(), d.Short()).
		WithHint("%s shows what was granted to which version", fault.ShowGrants(""))
}

// Settings are those of a [Store].
type Settings struct {
	// Home is the home directory, which policies may speak of.
	Home string
	// Expiry is how long a proposal waits before it expires; 0 means
	// [DefaultExpiry].
	Expiry time.Duration
	// Epoch is another number once any decision was made since; nil for nobody who
	// asks, and nothing is kept in memory.
	Epoch func() uint64
}

func (s Settings) epoch() uint64 {
	if s.Epoch == nil {
		return 0
	}
	return s.Epoch()
}

// DefaultExpiry is how long a proposal waits.
const DefaultExpiry = 30 * 24 * time.Hour

// A Store has the proposals and grants of a home, and commits decisions about them.
type Store struct {
	ledger   *ledger.Ledger
	kv       store.KV
	policies func() (*policies.Set, error)
	settings Settings
	live     recent.Cache[manifests.Digest, []Grant]
	approved recent.Cache[string, map[string]bool]
}

// NewStore makes a Store. p returns the policies in force; it may be nil for one that grants
// nothing.
func NewStore(l *ledger.Ledger, kv store.KV, p func() (*policies.Set, error), s Settings) *Store {
	if s.Expiry == 0 {
		s.Expiry = DefaultExpiry
	}
	return &Store{ledger: l, kv: kv, policies: p, settings: s}
}

// Proposals returns all proposals, oldest first.
func (d *Store) Proposals(ctx context.Context) ([]Proposal, error) {
	ps, err := list[Proposal](ctx, d.kv, "proposal/")
	if err != nil {
		return nil, fmt.Errorf("list proposals: %w", err)
	}
	slices.SortFunc(ps, func(a, b Proposal) int {
		return cmp.Or(a.CreatedAt.Compare(b.CreatedAt), strings.Compare(a.ID, b.ID))
	})
	return ps, nil
}

// Proposal finds a proposal by its id or an unambiguous beginning of it of at
// least four characters. It fails with [ErrNotFound].
func (d *Store) Proposal(ctx context.Context, id string) (Proposal, error) {
	ps, err := d.Proposals(ctx)
	if err != nil {
		return Proposal{}, err
	}
	var found []Proposal
	for _, p := range ps {
		if p.ID == id {
			return p, nil
		}
		if len(id) >= 4 && strings.HasPrefix(p.ID, id) {
			found = append(found, p)
		}
	}
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		return Proposal{}, fault.Errorf(fault.KindNotFound, "proposal %s: %w", id, ErrNotFound).
			WithHint("%s shows every proposal", fault.List(fault.AllProposals))
	}
	return Proposal{}, fault.Errorf(fault.KindUsage, "proposal %s: %d proposals begin with that", id, len(found)).
		WithHint("give more of its id")
}

// Bounds on what may wait at a time: each package that is proposed is kept, and
// what a skill asks for at its calls must not crowd out the rest.
const (
	maxPending      = 100
	maxPendingCalls = 10 // of one skill
)

// Pending finds a proposal that still waits and proposes the same as p: the
// same bytes from the same origin, asking for the same in place of the same
// version. ok is false when there is none; then it fails with a
// [fault.KindLimit] error when too many wait already.
func (d *Store) Pending(ctx context.Context, p Proposal) (found Proposal, ok bool, err error) {
	ps, err := d.Proposals(ctx)
	if err != nil {
		return Proposal{}, false, err
	}
	waiting, calls := 0, 0
	for _, o := range ps {
		if o.Status != StatusPending || o.Overdue(time.Now()) {
			continue
		}
		if o.same(p) {
			return o, true, nil
		}
		waiting++
		if o.Type == TypeCall && o.Skill == p.Skill {
			calls++
		}
	}
	if p.Type == TypeCall && calls >= maxPendingCalls {
		return Proposal{}, false, fault.Errorf(fault.KindLimit, "%d calls of %s wait for a person already", calls, p.Skill).
			WithHint("decide some of them first: %s", fault.List(fault.Proposals))
	}
	if waiting >= maxPending {
		return Proposal{}, false, fault.Errorf(fault.KindLimit, "%d proposals wait already", waiting).
			WithHint("decide some of them first: %s", fault.List(fault.Proposals))
	}
	return Proposal{}, false, nil
}

func (p Proposal) same(o Proposal) bool {
	return p.Type == o.Type && p.Digest == o.Digest && p.Origin == o.Origin && p.Replaces == o.Replaces &&
		p.Capabilities().Equal(o.Capabilities())
}

// Grants returns the grants of a package, also those that ended, oldest first.
func (d *Store) Grants(ctx context.Context, digest manifests.Digest) ([]Grant, error) {
	gs, err := list[Grant](ctx, d.kv, "grant/"+digest.Hex()+"/")
	if err != nil {
		return nil, fmt.Errorf("list grants: %w", err)
	}
	slices.SortFunc(gs, earlier)
	return gs, nil
}

// current are the grants of a package after all that was decided before epoch.
func (d *Store) current(ctx context.Context, epoch uint64, digest manifests.Digest) ([]Grant, error) {
	if d.settings.Epoch == nil {
		return d.Grants(ctx, digest)
	}
	if gs, ok := d.live.Get(epoch, digest); ok {
		return gs, nil
	}
	if err := d.ledger.CatchUp(ctx); err != nil {
		return nil, err
	}
	gs, err := d.Grants(ctx, digest)
	if err == nil {
		d.live.Add(epoch, digest, gs)
	}
	return gs, err
}

// earlier orders grants by when they were given.
func earlier(a, b Grant) int { return cmp.Or(a.At.Compare(b.At), strings.Compare(a.ID, b.ID)) }

// AllGrants are the grants of all packages, as [Store.Grants] has those of one: it looks
// into the store once.
func (d *Store) AllGrants(ctx context.Context) (map[manifests.Digest][]Grant, error) {
	gs, err := list[Grant](ctx, d.kv, "grant/")
	if err != nil {
		return nil, fmt.Errorf("list grants: %w", err)
	}
	slices.SortFunc(gs, earlier)
	all := map[manifests.Digest][]Grant{}
	for _, g := range gs {
		all[g.Digest] = append(all[g.Digest], g)
	}
	return all, nil
}

// Granted is the set of what a package may do at the given time, whatever the
// call: grants for some calls alone are left out.
func (d *Store) Granted(ctx context.Context, digest manifests.Digest, now time.Time) (Granted, error) {
	epoch := d.settings.epoch()
	gs, err := d.Grants(ctx, digest)
	if err != nil {
		return Granted{}, err
	}
	return newGranted(digest, gs, func(g Grant) bool { return g.Live(now) && !g.Conditional() }, Use{}, epoch), nil
}
