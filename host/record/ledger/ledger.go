// Package ledger makes decisions durable: each is written to the append-only
// journal first and projected into the store second, so that the journal is
// the one truth about who decided what, and the store can be rebuilt from it.
//
// It knows neither skills nor grants: a [Projection] owns the kinds of change
// that make up its state and knows how to apply them.
//
// # Keys in the store
//
//	ledger/cursor -> {"seq":7,"hash":"sha256:..."}  the last entry that was projected
package ledger

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/skillet-run/skillet/host/base/store"
	"github.com/skillet-run/skillet/host/record/journal"
)

// ErrBehind means that the last decision the store knows is not in the journal:
// the journal was cut or replaced.
var ErrBehind = errors.New("the journal does not have the last decision the store knows")

// ErrLost means that the store knows no decision, though there were several: it is not
// the one that was here.
var ErrLost = errors.New("the store is gone, or was emptied: it has none of the decisions, and so nothing else of what it had")

// ErrPending means that a decision is in the journal, and so is made, but the
// store could not take it: it comes into force with the next command that finds
// the store working.
var ErrPending = errors.New("is made and recorded, and comes into force when the store can be written again")

// A Change is one change of state. Its kind says which projection applies it.
type Change struct {
	// Kind is noun and past participle: "skill.installed".
	Kind string `json:"kind"`
	// Data is the change in the form its projection defined.
	Data json.RawMessage `json:"data"`
}

// NewChange makes a Change of the given kind with data as JSON.
func NewChange(kind string, data any) (Change, error) {
	b, err := json.Marshal(data)
	if err != nil {
		return Change{}, fmt.Errorf("encode change %s: %w", kind, err)
	}
	return Change{Kind: kind, Data: b}, nil
}

// A Decision is what somebody decided, with all it changes. The changes are
// one journal entry: after a crash all of them hold, or none.
type Decision struct {
	// Kind is the verb: "install", "approve", "grant".
	Kind string
	// Actor is who decided: "human:ada", "policy:org".
	Actor string
	// Subject is what it was about: a skill, a proposal, a secret's name.
	Subject string
	// Note is the reason the actor gave; may be empty.
	Note string
	// Changes are applied in order; none makes a decision that only the audit
	// log remembers.
	Changes []Change
}

// entryData is the stored form of a Decision, in the data of a journal entry
// whose kind and actor are the decision's.
type entryData struct {
	Subject string   `json:"subject,omitempty"`
	Note    string   `json:"note,omitempty"`
	Changes []Change `json:"changes,omitempty"`
}

// A Stamp says when and by whom a change was decided.
type Stamp struct {
	Seq   uint64
	Time  time.Time
	Actor string
}

// A Projection keeps one part of the state.
type Projection interface {
	// Owns reports whether changes of this kind are the projection's.
	Owns(kind string) bool
	// Keys are what the keys of its state begin with. A change that would write
	// others is refused.
	Keys() []string
	// Apply brings the store to the state after the change. It must be
	// idempotent: after a crash the same change is applied again. It writes
	// with [store.AnyRevision] and touches nothing but kv: before a change is committed
	// it is tried on a copy.
	Apply(ctx context.Context, kv store.KV, at Stamp, c Change) error
}

// A Ledger couples one journal with one store. It is safe for concurrent use,
// also by several processes.
type Ledger struct {
	journal     *journal.Journal
	kv          store.KV
	projections []Projection
}

// New makes a Ledger. Call [Ledger.CatchUp] before reading state.
func New(j *journal.Journal, kv store.KV, projections ...Projection) *Ledger {
	return &Ledger{journal: j, kv: kv, projections: projections}
}

// Commit makes a decision durable. While decide runs, no other process can
// commit, so what it reads from the store stays true until its changes are
// applied. An error from decide changes nothing and is returned as it is.
// A change that cannot be applied is refused before it is written, and so is any
// while the store takes no writes. When Commit
// returns nil, the decision survives a power cut. errors.Is(err, [ErrPending])
// when it was made and is not in force yet; after every other error it was not
// made.
func (l *Ledger) Commit(ctx context.Context, decide func(context.Context) (Decision, error)) error {
	entries, err := l.journal.Commit(ctx, func() ([]journal.Record, error) {
		if err := l.lost(ctx); err != nil {
			return nil, err
		}
		if err := l.project(ctx); err != nil {
			return nil, err
		}
		if err := l.writable(ctx); err != nil { // before decide, which may change files
			return nil, err
		}
		d, err := given(ctx, decide)
		if err != nil {
			return nil, err
		}
		if err := l.rehearse(ctx, d); err != nil {
			return nil, err
		}
		// The last moment at which an interruption means that nothing happens.
		return []journal.Record{{Kind: d.Kind, Actor: d.Actor, Data: entryData{d.Subject, d.Note, d.Changes}}}, ctx.Err()
	}, func(entries []journal.Entry) error {
		return l.applyAll(context.WithoutCancel(ctx), entries)
	})
	if err != nil && len(entries) > 0 {
		return fmt.Errorf("decision %d %w: %w", entries[0].Seq, ErrPending, err)
	}
	return err
}

type givenKey struct{}

// A condition is what has to hold for one decision.
type condition struct {
	check func(context.Context) error
	met   atomic.Bool
}

// Given returns a context with which the next decision is made only if check returns nil: it
// is called when nothing else can be decided, and its error is that of [Ledger.Commit].
// Decisions after that one, which follow from it, are made without it.
func Given(ctx context.Context, check func(context.Context) error) context.Context {
	return context.WithValue(ctx, givenKey{}, &condition{check: check})
}

// given makes a decision under its condition, if it has one.
func given(ctx context.Context, decide func(context.Context) (Decision, error)) (Decision, error) {
	c, _ := ctx.Value(givenKey{}).(*condition)
	if c == nil || c.met.Load() {
		return decide(ctx)
	}
	if err := c.check(ctx); err != nil {
		return Decision{}, err
	}
	d, err := decide(ctx)
	c.met.Store(err == nil)
	return d, err
}

// writable returns why the store takes no writes, such as that its disk is full: a
// decision that it could not take is not made. To delete what is not there writes
// nothing, and is refused where writing is.
func (l *Ledger) writable(ctx context.Context) error {
	err := l.kv.Delete(ctx, cursorKey+"/none", store.AnyRevision)
	if err == nil || errors.Is(err, store.ErrNotFound) {
		return nil
	}
	return fmt.Errorf("nothing was decided: %w", cmp.Or(errors.Unwrap(err), err)) // without the key, which nobody knows
}

// CatchUp applies decisions that are in the journal and not yet in the store,
// which happens when a process died between the two. It returns [ErrBehind]
// when the journal is shorter than the store says, and [ErrLost] when the store
// knows none of several decisions.
func (l *Ledger) CatchUp(ctx context.Context) error {
	if err := l.lost(ctx); err != nil {
		return err
	}
	return l.Follow(ctx)
}

// lost returns ErrLost when the store is not the one that decisions were applied to.
// Before the second decision is committed the first is applied.
func (l *Ledger) lost(ctx context.Context) error {
	c, _, err := l.cursor(ctx)
	if err != nil || c.Seq > 0 {
		return err
	}
	if seq, _, err := l.journal.Head(); err != nil || seq <= 1 {
		return err
	}
	return ErrLost
}

// Follow is [Ledger.CatchUp] for a store that may know no decision: an earlier one of
// this journal's.
func (l *Ledger) Follow(ctx context.Context) error {
	behind, err := l.behind(ctx)
	if err != nil || !behind {
		return err
	}
	return l.Exclusive(ctx, l.project)
}

// errNothing ends a commit that only wanted the lock.
var errNothing = errors.New("nothing to commit")

// Exclusive runs fn while no decision can be committed, by this process or
// another.
func (l *Ledger) Exclusive(ctx context.Context, fn func(context.Context) error) error {
	_, err := l.journal.Commit(ctx, func() ([]journal.Record, error) {
		if err := fn(ctx); err != nil {
			return nil, err
		}
		return nil, errNothing
	}, func([]journal.Entry) error { return nil })
	if errors.Is(err, errNothing) {
		return nil
	}
	return err
}

// Rebuild applies every decision of the journal to the store again, whatever
// the cursor says. The store should be empty.
func (l *Ledger) Rebuild(ctx context.Context) (entries uint64, err error) {
	if err := l.kv.Delete(ctx, cursorKey, store.AnyRevision); err != nil && !errors.Is(err, store.ErrNotFound) {
		return 0, fmt.Errorf("rebuild: %w", err)
	}
	if err := l.Exclusive(ctx, l.project); err != nil {
		return 0, fmt.Errorf("rebuild: %w", err)
	}
	c, _, err := l.cursor(ctx)
	return c.Seq, err
}

// Apply applies one decision of a journal to the store, whatever the cursor
// says, or changes nothing when it does not fit what is there: a decision before
// it may be lost. It is for stores that are made to be looked at.
func (l *Ledger) Apply(ctx context.Context, e journal.Entry) error {
	d, err := decode(e)
	if err != nil {
		return err
	}
	if err := l.rehearse(ctx, Decision{Kind: e.Kind, Actor: e.Actor, Subject: d.Subject, Changes: d.Changes}); err != nil {
		return err
	}
	return l.apply(ctx, e)
}

const cursorKey = "ledger/cursor"

// Makes reports whether a key is one that the ledger writes, so that [Ledger.Rebuild]
// makes it again.
func (l *Ledger) Makes(key string) bool {
	return key == cursorKey || slices.ContainsFunc(l.projections, func(p Projection) bool { return holds(p, key) })
}

func holds(p Projection, key string) bool {
	return slices.ContainsFunc(p.Keys(), func(prefix string) bool { return strings.HasPrefix(key, prefix) })
}

type cursor struct {
	Seq  uint64 `json:"seq"`
	Hash string `json:"hash"`
}

func (l *Ledger) cursor(ctx context.Context) (cursor, uint64, error) {
	e, err := l.kv.Get(ctx, cursorKey)
	if errors.Is(err, store.ErrNotFound) {
		return cursor{}, store.MustNotExist, nil
	}
	if err != nil {
		return cursor{}, 0, fmt.Errorf("read the ledger's cursor: %w", err)
	}
	var c cursor
	if err := json.Unmarshal(e.Value, &c); err != nil {
		return cursor{}, 0, fmt.Errorf("read the ledger's cursor: %w: %w", store.ErrDamaged, err)
	}
	return c, e.Revision, nil
}

func (l *Ledger) behind(ctx context.Context) (bool, error) {
	c, _, err := l.cursor(ctx)
	if err != nil {
		return false, err
	}
	seq, hash, err := l.journal.Head()
	if err != nil {
		return false, err
	}
	// The cursor is read first and only ever trails the journal.
	if seq < c.Seq || seq == c.Seq && hash != c.Hash {
		return false, fmt.Errorf("%w (journal: %d, store: %d)", ErrBehind, seq, c.Seq)
	}
	return seq > c.Seq, nil
}

// project applies what the journal has after the cursor. The journal's lock
// must be held.
func (l *Ledger) project(ctx context.Context) error {
	behind, err := l.behind(ctx)
	if err != nil || !behind {
		return err
	}
	c, _, err := l.cursor(ctx)
	if err != nil {
		return err
	}
	return l.beyond(ctx, c, func(e journal.Entry) error { return l.applyAll(ctx, []journal.Entry{e}) })
}

// beyond calls fn for what the journal has behind a cursor. The last entry that was
// projected is read again: another journal may be longer and still not be the one that
// the store follows.
func (l *Ledger) beyond(ctx context.Context, c cursor, fn func(journal.Entry) error) error {
	return l.journal.Replay(ctx, max(c.Seq, 1)-1, func(e journal.Entry) error {
		switch {
		case e.Seq > c.Seq:
			return fn(e)
		case e.Hash != c.Hash:
			return fmt.Errorf("%w: it has another decision %d", ErrBehind, e.Seq)
		}
		return nil
	})
}

// Fits fails with [ErrBehind] when the store knows a decision that the journal does not
// have. It changes nothing.
func (l *Ledger) Fits(ctx context.Context) error {
	behind, err := l.behind(ctx)
	if err != nil || !behind {
		return err
	}
	c, _, err := l.cursor(ctx)
	if err != nil {
		return err
	}
	return l.beyond(ctx, c, func(journal.Entry) error { return nil })
}

func (l *Ledger) applyAll(ctx context.Context, entries []journal.Entry) error {
	for _, e := range entries {
		if err := l.apply(ctx, e); err != nil {
			return fmt.Errorf("apply decision %d (%s): %w", e.Seq, e.Kind, err)
		}
	}
	return nil
}

func (l *Ledger) apply(ctx context.Context, e journal.Entry) error {
	d, err := decode(e)
	if err != nil {
		return err
	}
	at := Stamp{Seq: e.Seq, Time: e.Time, Actor: e.Actor}
	for _, c := range d.Changes {
		p, err := l.owner(c.Kind)
		if err != nil {
			return err
		}
		if err := p.Apply(ctx, l.kv, at, c); err != nil {
			return fmt.Errorf("%s: %w", c.Kind, err)
		}
	}
	b, err := json.Marshal(cursor{e.Seq, e.Hash})
	if err != nil {
		return err
	}
	_, err = l.kv.Put(ctx, cursorKey, b, store.AnyRevision)
	return err
}

func (l *Ledger) owner(kind string) (Projection, error) {
	for _, p := range l.projections {
		if p.Owns(kind) {
			return p, nil
		}
	}
	return nil, fmt.Errorf("no part of this version of skillet knows changes of kind %q: was the home written by a newer one?", kind)
}

func decode(e journal.Entry) (entryData, error) {
	var d entryData
	if err := json.Unmarshal(e.Data, &d); err != nil {
		return d, fmt.Errorf("decode decision %d: %w", e.Seq, err)
	}
	return d, nil
}

// A Record is a decision as the audit log shows it.
type Record struct {
	Seq     uint64    `json:"seq"`
	Time    time.Time `json:"time"`
	Kind    string    `json:"kind"`
	Actor   string    `json:"actor"`
	Subject string    `json:"subject,omitempty"`
	Note    string    `json:"note,omitempty"`
	Changes []Change  `json:"changes,omitempty"`
	Hash    string    `json:"hash"`
}

// History calls fn for each decision after the given sequence number, in
// order, verifying the chain as it reads.
func (l *Ledger) History(ctx context.Context, after uint64, fn func(Record) error) error {
	return l.journal.Replay(ctx, after, func(e journal.Entry) error {
		d, err := decode(e)
		if err != nil {
			return err
		}
		return fn(Record{e.Seq, e.Time, e.Kind, e.Actor, d.Subject, d.Note, d.Changes, e.Hash})
	})
}
