package upkeep

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/skillet-run/skillet/host/base/fault"
	"github.com/skillet-run/skillet/host/base/secret"
	"github.com/skillet-run/skillet/host/base/store"
	"github.com/skillet-run/skillet/host/record/approval"
	"github.com/skillet-run/skillet/host/record/audit"
	"github.com/skillet-run/skillet/host/record/checkpoint"
	"github.com/skillet-run/skillet/host/record/journal"
	"github.com/skillet-run/skillet/host/record/ledger"
	"github.com/skillet-run/skillet/host/record/registry"
	"github.com/skillet-run/skillet/host/record/trust"
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
	Store *RebuildReport `json:"store,omitempty"`
}

// Whole reports whether there is nothing to repair.
func (r AuditRepair) Whole() bool { return r.Key == nil && r.Decisions == nil && r.Runs == nil }

// A DamagedPart is what became of one part of the log: decisions, or runs.
type DamagedPart struct {
	Name string
	*journal.Repair
}

// Damaged are the parts that are, or were, damaged.
func (r AuditRepair) Damaged() []DamagedPart {
	all := []DamagedPart{{"decisions", r.Decisions}, {"runs", r.Runs}}
	return slices.DeleteFunc(all, func(p DamagedPart) bool { return p.Repair == nil })
}

// A KeyRepair is what became of a key that was missing, or was another than the
// home is known by.
type KeyRepair struct {
	// What is wrong with it.
	What string `json:"what"`
	// Vouched is whether the decisions are signed with the key the home is known
	// by. If they are not, nobody knows whose they are, and all that they gave ends.
	Vouched bool `json:"vouched"`
	// New is the public key that signs from now on; empty for a plan. Backups are
	// the files that were in its place.
	New     string   `json:"new,omitempty"`
	Backups []string `json:"aside,omitempty"`
}

// PlanAuditRepair says what [Service.RepairAudit] would do.
func (s *Service) PlanAuditRepair(ctx context.Context, by approval.Principal) (AuditRepair, error) {
	r := AuditRepair{Ended: []string{}, Gone: []string{}}
	err := approval.CheckPrincipal(by)
	if err != nil {
		return r, err
	}
	if r.Key, err = s.keyRepair(ctx); err != nil {
		return r, err
	}
	runs, decisions, err := s.damagedJournals(ctx, r.Key)
	if err != nil {
		return r, err
	}
	vouched := s.vouched(ctx, r.Key)
	if runs {
		if err := s.planPart(ctx, damagedPart{"calls", audit.Runs, &r.Runs}); err != nil {
			return r, err
		}
	}
	begun, err := s.readRepair()
	if err != nil {
		return r, err
	}
	if begun != nil {
		begun.fill(&r)
		vouched = vouched && begun.Vouched
	}
	if !decisions && r.Decisions == nil {
		return r, nil
	}
	if err := s.planDecisions(ctx, &r, decisions, vouched); err != nil {
		return r, err
	}
	look, err := s.lookAtStore(ctx)
	look.Decisions, r.Store = r.Decisions.Kept, &look
	return r, err
}

// planDecisions says what becomes of what decisions gave. When the journal is whole its
// repair was begun, and the rest is to be done.
func (s *Service) planDecisions(ctx context.Context, r *AuditRepair, damaged, vouched bool) error {
	replica := s.replica()
	defer replica.close()
	if damaged {
		plan, err := journal.PlanRepair(s.path("journal", "decisions"), replica.take(ctx))
		if err != nil {
			return err
		}
		r.Decisions = &plan
	} else if err := s.Decisions.Replay(ctx, 0, replica.take(ctx)); err != nil {
		return err
	}
	if len(r.Decisions.Lost) == 0 && vouched {
		return nil
	}
	now, err := replica.held(ctx)
	if err == nil {
		_, err = now.reconcile(r, s.knownIf(ctx, vouched))
	}
	return err
}

// keyRepair says what is wrong with the key of the audit log; nil when nothing
// is.
func (s *Service) keyRepair(ctx context.Context) (*KeyRepair, error) {
	_, err := s.AuditKeys.Keyring(ctx)
	if err == nil || !errors.Is(err, audit.ErrNoKey) || errors.Is(err, secret.ErrLocked) || errors.Is(err, secret.ErrExposed) {
		return nil, err
	}
	return &KeyRepair{What: err.Error(), Vouched: s.signedAsKnown(ctx)}, nil
}

// signedAsKnown reports whether the decisions are signed with the key the home
// is known by.
func (s *Service) signedAsKnown(ctx context.Context) bool {
	known, err := s.SecretKey.Anchors().Load(ctx)
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
	return s.Decisions.SignedBy(keys...)
}

// vouched reports whether the decisions are the home's, as far as anything can be
// known: what says otherwise is a signature that is not there, or is another's.
func (s *Service) vouched(ctx context.Context, k *KeyRepair) bool {
	if k != nil {
		return k.Vouched
	}
	_, err := s.Decisions.Verify(ctx)
	if !errors.Is(err, journal.ErrSignature) {
		return true
	}
	ring, err := s.AuditKeys.Keyring(ctx)
	if err != nil || ring == nil {
		return false
	}
	return slices.ContainsFunc(ring.Valid(), func(p checkpoint.Public) bool { return s.Decisions.SignedBy(p) })
}

// renewKey makes a new key when something is wrong with the one there is.
func (s *Service) renewKey(ctx context.Context, k *KeyRepair) error {
	if k == nil {
		return nil
	}
	ring, aside, err := s.AuditKeys.Renew(ctx)
	k.Backups = aside
	if err != nil {
		return err
	}
	k.New = ring.Current().String()
	return nil
}

// knownIf is what the store knows, when the decisions are the home's; otherwise
// nothing is known.
func (s *Service) knownIf(ctx context.Context, vouched bool) *holdings {
	if !vouched {
		return nil
	}
	return s.remembered(ctx)
}

// A RepairRequest says how the audit log is repaired.
type RepairRequest struct {
	// Lossy goes on although not all of the store can be read.
	Lossy bool
}

// RepairAudit makes the damaged parts of the audit log again, of what is whole
// in them; what they were is kept aside. A key that is missing, or is another than
// the home is known by, is replaced by a new one. A decision that is lost may have
// been one that took something away, so nothing that decisions gave stays in force
// unless the store knew it too; and nothing at all when nobody vouches for the
// decisions. The store is made again as [Service.Rebuild] does it, and lossy as that
// says. A repair that was interrupted is finished by the next one, and until then the
// home is not used.
func (s *Service) RepairAudit(ctx context.Context, by approval.Human, q RepairRequest) (AuditRepair, error) {
	r := AuditRepair{Ended: []string{}, Gone: []string{}}
	if err := by.Check(); err != nil {
		return r, err
	}
	if err := alone(ctx, s.Home); err != nil {
		return r, err
	}
	key, err := s.keyRepair(ctx)
	if err != nil {
		return r, err
	}
	runs, decisions, err := s.damagedJournals(ctx, key)
	if err != nil {
		return r, err
	}
	begun, err := s.readRepair()
	if err != nil || key == nil && !runs && !decisions && begun == nil {
		return r, err
	}
	r.Key = key
	vouched := s.vouched(ctx, key)
	if begun != nil { // what it found before it changed something counts
		begun.fill(&r)
		vouched = vouched && begun.Vouched
	}
	if err := s.repairJournals(ctx, &r, key, runs, decisions, vouched, q.Lossy); err != nil {
		return r, err
	}
	if err := s.repairStore(ctx, by, &r, vouched); err != nil {
		return r, err
	}
	return r, s.endRepair()
}

// repairJournals makes the damaged journals again, when the store can be made again
// after that.
func (s *Service) repairJournals(ctx context.Context, r *AuditRepair, key *KeyRepair, runs, decisions, vouched, lossy bool) error {
	if decisions || r.Decisions != nil {
		if look, err := s.lookAtStore(ctx); err != nil {
			return err
		} else if !look.Whole && !lossy {
			return look.refused("audit repair", fault.RepairLog())
		}
	}
	var parts []damagedPart
	if runs {
		parts = append(parts, damagedPart{"calls", audit.Runs, &r.Runs})
	}
	if decisions {
		parts = append(parts, damagedPart{"decisions", audit.Decisions, &r.Decisions})
	}
	for _, p := range parts {
		if err := s.planPart(ctx, p); err != nil {
			return err
		}
	}
	if err := s.beginRepair(r, vouched); err != nil {
		return err
	}
	if err := s.renewKey(ctx, key); err != nil {
		return err
	}
	for _, p := range parts {
		if err := s.repairPart(ctx, p); err != nil {
			return err
		}
	}
	return nil
}

// A damagedPart is a journal that is repaired, and where what became of it goes.
type damagedPart struct {
	dir, log string
	repair   **journal.Repair
}

// usable is what [journal.RepairDir] asks about entries of a part.
func (s *Service) usable(ctx context.Context, p damagedPart) (ask func(journal.Entry) error, end func()) {
	if p.log != audit.Decisions {
		return nil, func() {}
	}
	replica := s.replica()
	return replica.take(ctx), replica.close
}

func (s *Service) planPart(ctx context.Context, p damagedPart) error {
	ask, end := s.usable(ctx, p)
	defer end()
	plan, err := journal.PlanRepair(s.path("journal", p.dir), ask)
	*p.repair = &plan
	return err
}

func (s *Service) repairPart(ctx context.Context, p damagedPart) error {
	ask, end := s.usable(ctx, p)
	defer end()
	done, err := journal.RepairDir(ctx, s.path("journal", p.dir), ask, s.JournalOptions(p.log))
	*p.repair = &done
	if err == nil { // the home is known by what the log is now
		err = s.AuditKeys.Remember(ctx, p.log, 0)
	}
	return err
}

// lookAtStore says what a repair would carry over of the store.
func (s *Service) lookAtStore(ctx context.Context) (RebuildReport, error) {
	r := RebuildReport{Kinds: []KindCount{}, Lost: []string{}}
	err := s.replaceStore(ctx, &r, func(was salvaged) (bool, error) {
		kept := s.unjournaled(was)
		r.count(kept, kept)
		return false, nil
	})
	return r, err
}

// repairStore makes the store again of the repaired journal, if that is the one of
// decisions. The repair is recorded, and ends what has to end, before the store that
// was is replaced: what it knew is needed for that.
func (s *Service) repairStore(ctx context.Context, by approval.Human, r *AuditRepair, vouched bool) error {
	if r.Decisions == nil {
		return s.recordRepair(ctx, by, r, vouched, s.Ledger, nil, nil)
	}
	known := s.knownIf(ctx, vouched)
	r.Store = &RebuildReport{Kinds: []KindCount{}, Lost: []string{}}
	return s.replaceStore(ctx, r.Store, func(was salvaged) (bool, error) {
		n, err := s.renew(ctx, was)
		if err == nil {
			err = s.recordRepair(ctx, by, r, vouched, n.ledger, n.store.KV(), known)
		}
		if err != nil {
			return false, err
		}
		return s.build(ctx, r.Store, was, n, func(RebuildReport) (bool, error) { return true, nil })
	})
}

// recordRepair writes into the audit log that it was repaired, and ends what has
// to end.
func (s *Service) recordRepair(ctx context.Context, by approval.Human, r *AuditRepair, vouched bool, l *ledger.Ledger, kv store.KV, known *holdings) error {
	return l.Commit(ctx, func(ctx context.Context) (ledger.Decision, error) {
		d := ledger.Decision{Kind: "repair", Actor: by.Actor(), Subject: "audit log", Note: r.note()}
		if r.Decisions == nil || len(r.Decisions.Lost) == 0 && vouched {
			return d, nil
		}
		now, err := s.heldIn(ctx, kv, l)
		if err == nil {
			d.Changes, err = now.reconcile(r, known)
		}
		return d, err
	})
}

// heldIn reads what a state has.
func (s *Service) heldIn(ctx context.Context, kv store.KV, l *ledger.Ledger) (*holdings, error) {
	approvals := approval.NewStore(l, kv, nil, approval.Settings{})
	return held(ctx, registry.New(kv, s.Store.Blobs()), approvals, trust.New(l, kv))
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
		parts = append(parts, text+"; as it was: "+j.repair.Backup)
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
func (s *Service) damagedJournals(ctx context.Context, k *KeyRepair) (runs, decisions bool, err error) {
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
	runs, decisions = damaged(s.Calls), damaged(s.Decisions)
	return runs, decisions, err
}

// holdings are what decisions led to.
type holdings struct {
	skills    []registry.Skill             // in the order of the registry
	grants    map[string]approval.Grant    // by id
	proposals map[string]approval.Proposal // those that wait, by id
	trust     trust.Snapshot
}

// held reads what a registry, grants and proposals, and trust have.
func held(ctx context.Context, r *registry.Registry, d *approval.Store, b *trust.Store) (*holdings, error) {
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
func (s *Service) remembered(ctx context.Context) *holdings {
	hs, err := held(ctx, s.Registry, s.Approvals, s.Trust)
	if err != nil {
		s.log.Warn("the store does not help to repair the audit log", "err", err)
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
	store   store.Store
	ledger  *ledger.Ledger
	service *Service
}

func (s *Service) replica() *replica {
	m := store.Memory()
	return &replica{m, ledger.New(nil, m.KV(), Projections()...), s}
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
	return r.service.heldIn(ctx, r.store.KV(), r.ledger)
}

func (r *replica) close() { r.store.Close() }
