package host

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/skillet-run/skillet/host/approval"
	"github.com/skillet-run/skillet/host/audit"
	"github.com/skillet-run/skillet/host/checkpoint"
	"github.com/skillet-run/skillet/host/journal"
	"github.com/skillet-run/skillet/host/ledger"
	"github.com/skillet-run/skillet/host/registry"
	"github.com/skillet-run/skillet/host/secret"
	"github.com/skillet-run/skillet/host/store"
	"github.com/skillet-run/skillet/host/trust"
)

// An AuditRepair is what became of a damaged audit log.
type AuditRepair struct {
	// Key is nil when the log is signed with the key that this home is known by.
	Key *KeyRepair `json:"key,omitempty"`
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

// A KeyRepair is what became of a key that was missing, or was another than the
// home is known by.
type KeyRepair struct {
	// What is wrong with it.
	What string `json:"what"`
	// Vouched is whether the decisions are signed with the key the home is known
	// by. If they are not, nobody knows whose they are, and all that they gave ends.
	Vouched bool `json:"vouched"`
	// New is the public key that signs from now on; empty for a plan. Aside are
	// the files that were in its place.
	New   string   `json:"new,omitempty"`
	Aside []string `json:"aside,omitempty"`
}

// PlanAuditRepair says what [Host.RepairAudit] would do.
func (h *Host) PlanAuditRepair(ctx context.Context) (AuditRepair, error) {
	r := AuditRepair{Ended: []string{}, Gone: []string{}}
	var err error
	if r.Key, err = h.keyRepair(ctx); err != nil {
		return r, err
	}
	runs, decisions, err := h.damagedJournals(ctx, r.Key)
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
	vouched := h.vouched(ctx, r.Key)
	if len(plan.Lost) == 0 && vouched {
		return r, nil
	}
	now, err := replica.held(ctx)
	if err != nil {
		return r, err
	}
	var known *holdings
	if vouched {
		known = h.remembered(ctx)
	}
	_, err = now.reconcile(&r, known)
	return r, err
}

// keyRepair says what is wrong with the key of the audit log; nil when nothing
// is.
func (h *Host) keyRepair(ctx context.Context) (*KeyRepair, error) {
	_, err := h.AuditKeys.Ring(ctx)
	if err == nil || !errors.Is(err, audit.ErrNoKey) || errors.Is(err, secret.ErrLocked) || errors.Is(err, secret.ErrExposed) {
		return nil, err
	}
	return &KeyRepair{What: err.Error(), Vouched: h.signedAsKnown(ctx)}, nil
}

// signedAsKnown reports whether the decisions are signed with the key the home
// is known by.
func (h *Host) signedAsKnown(ctx context.Context) bool {
	known, err := h.SecretKey.Anchors().Load(ctx)
	if err != nil {
		return false
	}
	var keys []checkpoint.Public
	for _, a := range known.Anchors {
		var k checkpoint.Public
		if k.UnmarshalText([]byte(a.AuditKey)) != nil {
			return false
		}
		keys = append(keys, k)
	}
	return h.Decisions.SignedBy(keys...)
}

// vouched reports whether the decisions are the home's, as far as anything can be
// known: what says otherwise is a signature that is not there, or is another's.
func (h *Host) vouched(ctx context.Context, k *KeyRepair) bool {
	if k != nil {
		return k.Vouched
	}
	_, err := h.Decisions.Verify(ctx)
	if !errors.Is(err, journal.ErrSignature) {
		return true
	}
	ring, err := h.AuditKeys.Ring(ctx)
	if err != nil || ring == nil {
		return false
	}
	return slices.ContainsFunc(ring.Valid(), func(p checkpoint.Public) bool { return h.Decisions.SignedBy(p) })
}

// RepairAudit makes the damaged parts of the audit log again, of what is whole
// in them; what they were is kept aside. A key that is missing, or is another than
// the home is known by, is replaced by a new one. A decision that is lost may have
// been one that took something away, so nothing that decisions gave stays in force
// unless the store knew it too; and nothing at all when nobody vouches for the
// decisions. Nothing else should use the home meanwhile.
func (h *Host) RepairAudit(ctx context.Context, by approval.Human) (AuditRepair, error) {
	r := AuditRepair{Ended: []string{}, Gone: []string{}}
	if err := by.Check(); err != nil {
		return r, err
	}
	key, err := h.keyRepair(ctx)
	if err != nil {
		return r, err
	}
	runs, decisions, err := h.damagedJournals(ctx, key)
	if err != nil || key == nil && !runs && !decisions {
		return r, err
	}
	vouched := h.vouched(ctx, key)
	if err := h.renewKey(ctx, key); err != nil {
		return r, err
	}
	r.Key = key
	if runs {
		if r.Runs, err = h.repairJournal(ctx, "calls", logRuns, nil); err != nil {
			return r, err
		}
	}
	var known *holdings
	if decisions {
		if vouched {
			known = h.remembered(ctx)
		}
		replica := h.replica()
		defer replica.close()
		if r.Decisions, err = h.repairJournal(ctx, "decisions", logDecisions, replica.take(ctx)); err != nil {
			return r, err
		}
		renewal, err := h.Rebuild(ctx)
		if r.Store = &renewal; err != nil {
			return r, err
		}
	}
	return r, h.recordRepair(ctx, by, &r, known, vouched)
}

// renewKey makes a new key when something is wrong with the one there is.
func (h *Host) renewKey(ctx context.Context, k *KeyRepair) error {
	if k == nil {
		return nil
	}
	ring, aside, err := h.AuditKeys.Renew(ctx)
	k.Aside = aside
	if err != nil {
		return err
	}
	k.New = ring.Current().String()
	return nil
}

// repairJournal makes one part of the log again, and has the home be known by
// what it is now.
func (h *Host) repairJournal(ctx context.Context, dir, log string, usable func(journal.Entry) error) (*journal.Repair, error) {
	done, err := journal.RepairDir(ctx, h.path("journal", dir), usable, h.journalOptions(log))
	if err == nil {
		err = h.AuditKeys.Remember(ctx, log, 0)
	}
	return &done, err
}

// recordRepair writes into the audit log that it was repaired, and ends what has
// to end.
func (h *Host) recordRepair(ctx context.Context, by approval.Human, r *AuditRepair, known *holdings, vouched bool) error {
	return h.Ledger.Commit(ctx, func(ctx context.Context) (ledger.Decision, error) {
		d := ledger.Decision{Kind: "repair", Actor: by.Actor(), Subject: "audit log", Note: r.note()}
		if r.Decisions == nil || len(r.Decisions.Lost) == 0 && vouched {
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
	if r.Key != nil {
		parts = append(parts, r.Key.note())
	}
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

func (k *KeyRepair) note() string {
	whose := "the decisions were signed with the key this home is known by"
	if !k.Vouched {
		whose = "nobody vouches for the decisions there were, so what they gave ended"
	}
	return fmt.Sprintf("%s; a new key signs from now on, %s; %s", k.What, k.New, whose)
}

// maxNoted is how many losses the audit log lists.
const maxNoted = 20

// damagedJournals reports which of the two journals are damaged. With a new key
// both have to be signed anew.
func (h *Host) damagedJournals(ctx context.Context, k *KeyRepair) (runs, decisions bool, err error) {
	if k != nil {
		return true, true, nil
	}
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
