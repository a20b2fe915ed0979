package host

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/skillet-run/skillet/host/approval"
	"github.com/skillet-run/skillet/host/journal"
	"github.com/skillet-run/skillet/host/ledger"
	"github.com/skillet-run/skillet/host/registry"
	"github.com/skillet-run/skillet/host/store"
	"github.com/skillet-run/skillet/host/trust"
)

// An AuditRepair is what became of a damaged audit log.
type AuditRepair struct {
	// Decisions and Runs are nil when that part was whole.
	Decisions *journal.Repair `json:"decisions,omitempty"`
	Runs      *journal.Repair `json:"runs,omitempty"`
	// Ended are the grants, proposals and versions that decisions which are whole
	// say are there, and that one which is lost may have ended: so they end.
	Ended []string `json:"ended"`
	// Gone are the grants and versions that were there before and of which no
	// decision is left: they are to be given, and installed, again.
	Gone []string `json:"gone"`
	// Store says how the store was made again; nil when that was not needed.
	Store *Renewal `json:"store,omitempty"`
}

// PlanAuditRepair says what [Host.RepairAudit] would do.
func (h *Host) PlanAuditRepair(ctx context.Context) (AuditRepair, error) {
	r := AuditRepair{Ended: []string{}, Gone: []string{}}
	runs, decisions, err := h.damagedJournals(ctx)
	if err != nil {
		return r, err
	}
	if runs {
		plan, err := journal.PlanRepair(h.path("journal", "calls"), nil)
		if err != nil {
			return r, err
		}
		r.Runs = &plan
	}
	if !decisions {
		return r, nil
	}
	replica := h.replica()
	defer replica.close()
	plan, err := journal.PlanRepair(h.path("journal", "decisions"), replica.take(ctx))
	if err != nil {
		return r, err
	}
	r.Decisions = &plan
	if len(plan.Lost) == 0 {
		return r, nil
	}
	now, err := replica.held(ctx)
	if err != nil {
		return r, err
	}
	_, err = now.reconcile(&r, h.remembered(ctx))
	return r, err
}

// RepairAudit makes the damaged parts of the audit log again, of what is whole
// in them; what they were is kept aside. A decision that is lost may have been
// one that took something away, so nothing that decisions gave stays in force
// unless the store knew it too. Nothing else should use the home meanwhile.
func (h *Host) RepairAudit(ctx context.Context, by approval.Human) (AuditRepair, error) {
	r := AuditRepair{Ended: []string{}, Gone: []string{}}
	runs, decisions, err := h.damagedJournals(ctx)
	if err != nil || !runs && !decisions {
		return r, err
	}
	if runs {
		done, err := journal.RepairDir(ctx, h.path("journal", "calls"), nil, h.journalOptions(logRuns))
		if r.Runs = &done; err != nil {
			return r, err
		}
	}
	var known *holdings
	if decisions {
		known = h.remembered(ctx)
		replica := h.replica()
		defer replica.close()
		done, err := journal.RepairDir(ctx, h.path("journal", "decisions"), replica.take(ctx), h.journalOptions(logDecisions))
		if r.Decisions = &done; err != nil {
			return r, err
		}
		renewal, err := h.Rebuild(ctx)
		if r.Store = &renewal; err != nil {
			return r, err
		}
	}
	return r, h.recordRepair(ctx, by, &r, known)
}

// recordRepair writes into the audit log that it was repaired, and ends what has
// to end.
func (h *Host) recordRepair(ctx context.Context, by approval.Human, r *AuditRepair, known *holdings) error {
	return h.Ledger.Commit(ctx, func(ctx context.Context) (ledger.Decision, error) {
		d := ledger.Decision{Kind: "repair", Actor: by.Actor(), Subject: "audit log", Note: r.note()}
		if r.Decisions == nil || len(r.Decisions.Lost) == 0 {
			return d, nil
		}
		now, err := held(ctx, h.Registry, h.Desk, h.Trust)
		if err == nil {
			d.Changes, err = now.reconcile(r, known)
		}
		return d, err
	})
}

func (r *AuditRepair) note() string {
	var parts []string
	for _, j := range []struct {
		name   string
		repair *journal.Repair
	}{{"decisions", r.Decisions}, {"runs", r.Runs}} {
		if j.repair == nil {
			continue
		}
		text := fmt.Sprintf("%d %s kept", j.repair.Kept, j.name)
		for _, l := range j.repair.Lost[:min(len(j.repair.Lost), maxNoted)] {
			text += "; lost " + l.String()
		}
		parts = append(parts, text+"; as it was: "+j.repair.Aside)
	}
	return strings.Join(parts, ". ")
}

// maxNoted is how many losses the audit log lists.
const maxNoted = 20

// damagedJournals reports which of the two journals are damaged.
func (h *Host) damagedJournals(ctx context.Context) (runs, decisions bool, err error) {
	damaged := func(j *journal.Journal) bool {
		_, verr := j.Verify(ctx)
		if verr != nil && !errors.Is(verr, journal.ErrDamaged) {
			err = verr
		}
		return errors.Is(verr, journal.ErrDamaged)
	}
	runs, decisions = damaged(h.Calls), damaged(h.Decisions)
	return runs, decisions, err
}

// holdings are what decisions led to.
type holdings struct {
	skills    []registry.Skill             // in the order of the registry
	grants    map[string]approval.Grant    // by id
	proposals map[string]approval.Proposal // those that wait, by id
	trust     trust.Snapshot
}

// held reads what a registry and a desk have.
func held(ctx context.Context, r *registry.Registry, d *approval.Desk, b *trust.Book) (*holdings, error) {
	hs := &holdings{grants: map[string]approval.Grant{}, proposals: map[string]approval.Proposal{}}
	var err error
	if hs.skills, err = r.List(ctx); err != nil {
		return nil, err
	}
	for _, s := range hs.skills {
		gs, err := d.Grants(ctx, s.Digest)
		if err != nil {
			return nil, err
		}
		for _, g := range gs {
			hs.grants[g.ID] = g
		}
	}
	ps, err := d.Proposals(ctx)
	for _, p := range ps {
		if p.Status == approval.StatusPending {
			hs.proposals[p.ID] = p
		}
	}
	if err == nil {
		hs.trust, err = b.Snapshot(ctx)
	}
	return hs, err
}

// remembered is what the store knows; nil when it cannot be read, or is gone.
func (h *Host) remembered(ctx context.Context) *holdings {
	hs, err := held(ctx, h.Registry, h.Desk, h.Trust)
	if err != nil {
		h.Log.Warn("the store does not help to repair the audit log", "err", err)
		return nil
	}
	if len(hs.skills)+len(hs.proposals) == 0 && hs.trust.Empty() {
		return nil
	}
	return hs
}

func (hs *holdings) has(s registry.Skill) bool {
	return slices.ContainsFunc(hs.skills, func(o registry.Skill) bool { return o.Name == s.Name && o.Digest == s.Digest })
}

// reconcile ends what hs has and known has not, and says so in r. With nothing
// known, every grant ends and everything that waits.
func (hs *holdings) reconcile(r *AuditRepair, known *holdings) ([]ledger.Change, error) {
	changes := slices.Concat(hs.endGrants(r, known), hs.endProposals(r, known), hs.endSkills(r, known), hs.stopSkills(r, known), hs.endTrust(r, known))
	if known == nil {
		return collected(changes)
	}
	for _, s := range known.skills {
		if !hs.has(s) {
			r.Gone = append(r.Gone, "skill "+s.Ref())
		}
	}
	for _, id := range slices.Sorted(maps.Keys(known.grants)) {
		if g := known.grants[id]; hs.grants[id].ID == "" {
			r.Gone = append(r.Gone, "grant "+g.Skill+" "+g.Capability.String())
		}
	}
	return collected(changes)
}

// A made is a change, or why there is none.
type made struct {
	change ledger.Change
	err    error
}

func newMade(c ledger.Change, err error) made { return made{c, err} }

func collected(all []made) ([]ledger.Change, error) {
	var cs []ledger.Change
	for _, m := range all {
		if m.err != nil {
			return nil, m.err
		}
		cs = append(cs, m.change)
	}
	return cs, nil
}

func (hs *holdings) endGrants(r *AuditRepair, known *holdings) []made {
	var all []made
	for _, id := range slices.Sorted(maps.Keys(hs.grants)) {
		g := hs.grants[id]
		if known != nil && known.grants[id].ID == id && known.grants[id].Uses == g.Uses {
			continue
		}
		r.Ended = append(r.Ended, "grant "+g.Skill+" "+g.Capability.String())
		all = append(all, newMade(approval.Revoked(g)))
	}
	return all
}

func (hs *holdings) endProposals(r *AuditRepair, known *holdings) []made {
	var all []made
	for _, id := range slices.Sorted(maps.Keys(hs.proposals)) {
		if known != nil && known.proposals[id].ID == id {
			continue
		}
		r.Ended = append(r.Ended, "proposal "+id+" "+hs.proposals[id].Title)
		all = append(all, newMade(approval.Superseded(hs.proposals[id], "the repair of the audit log")))
	}
	return all
}

// endSkills removes versions that the store did not have any more. Their grants
// ended with them.
func (hs *holdings) endSkills(r *AuditRepair, known *holdings) []made {
	if known == nil {
		return nil // without a grant they can do nothing but compute
	}
	var all []made
	for _, s := range hs.skills {
		if known.has(s) {
			continue
		}
		rest := slices.DeleteFunc(slices.Clone(hs.skills), func(o registry.Skill) bool { return o.Name != s.Name || !known.has(o) })
		r.Ended = append(r.Ended, "skill "+s.Ref())
		all = append(all, newMade(registry.Removed(s, rest)))
	}
	return all
}

// endTrust ends what is trusted and the store did not know any more, and gives
// back the revocations that it knew.
func (hs *holdings) endTrust(r *AuditRepair, known *holdings) []made {
	var before *trust.Snapshot
	if known != nil {
		before = &known.trust
	}
	changes, ended, err := hs.trust.Reconcile(before)
	if err != nil {
		return []made{{err: err}}
	}
	r.Ended = append(r.Ended, ended...)
	var all []made
	for _, c := range changes {
		all = append(all, made{change: c})
	}
	return all
}

// A replica is a state that is made of decisions one by one, apart from the
// home's.
type replica struct {
	store  store.Store
	ledger *ledger.Ledger
	host   *Host
}

func (h *Host) replica() *replica {
	s := store.Memory()
	return &replica{s, ledger.New(nil, s.KV(), registry.Projection{}, approval.Projection{}, trust.Projection{}), h}
}

// take is the function that applies one decision, or says why that cannot be.
func (r *replica) take(ctx context.Context) func(journal.Entry) error {
	return func(e journal.Entry) error {
		if err := r.ledger.Apply(ctx, e); err != nil {
			return fmt.Errorf("it speaks of what is lost: %w", err)
		}
		return nil
	}
}

func (r *replica) held(ctx context.Context) (*holdings, error) {
	kv := r.store.KV()
	return held(ctx, registry.New(kv, r.store.Blobs()), approval.NewDesk(r.ledger, kv, r.host.Policies, approval.Settings{Home: r.host.Home}), trust.New(r.ledger, kv))
}

func (r *replica) close() { r.store.Close() }
