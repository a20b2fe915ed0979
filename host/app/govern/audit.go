package govern

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/skillet-run/skillet/host/record/approval"
	"github.com/skillet-run/skillet/host/record/checkpoint"
	"github.com/skillet-run/skillet/host/record/journal"
	"github.com/skillet-run/skillet/host/record/ledger"
	"github.com/skillet-run/skillet/host/run/runner"
	"github.com/skillet-run/skillet/policies/capability"
)

// Audit shows what was decided and what was run, proves that nobody changed the record of
// it, and hands it on. Its queries do not need the store, which may be damaged.
type Audit struct{ p *Parts }

// An Event is one entry of the audit log: a decision, a run, or a request that was refused.
type Event struct {
	Time     time.Time      `json:"time"`
	Kind     string         `json:"kind"`
	Actor    string         `json:"actor"`
	Subject  string         `json:"subject"`
	Decision *ledger.Record `json:"decision,omitempty"`
	// Granted are the grants that a decision gave.
	Granted []approval.Grant `json:"granted,omitempty"`
	// Revoked are the grants that a decision ended. It is filled in where a capability is asked
	// about: only then is the log read from its beginning, where grants stand.
	Revoked []approval.Grant `json:"revoked,omitempty"`
	Run     *runner.Record   `json:"run,omitempty"`
	// Refused is a request of the service that was refused because of who asked.
	Refused *Refusal `json:"refused,omitempty"`
}

// An EventsRequest says which entries are wanted.
type EventsRequest struct {
	// Limit is how many are returned, the last ones; 0 means [DefaultEvents].
	Limit int
	// Skill leaves out what is not about it: NAME or NAME@VERSION. Denied leaves out all
	// but runs in which something was refused, and requests that were.
	Skill  string
	Denied bool
	// Kind and Actor leave out those of other kinds, and by others: "install,grant", "human:ada".
	Kind, Actor string
	// Capability leaves out all but decisions that granted or revoked, and runs that used or were refused,
	// an action such as "fs.write", or what overlaps a capability.
	Capability string
	// Since and Until leave out what was before, and what was then or later.
	Since, Until time.Time

	about func(capability.Capability) bool // Capability as it was read; nil for any
}

// checked is a request with what it leaves out filled in. It fails with a [fault.KindUsage]
// error for a capability that is none.
func (r EventsRequest) checked() (EventsRequest, error) {
	if r.Limit <= 0 {
		r.Limit = DefaultEvents
	}
	if r.Capability == "" {
		return r, nil
	}
	var err error
	r.about, err = grantFilter(r.Capability)
	return r, err
}

// DefaultEvents is how many entries are returned when no limit is named.
const DefaultEvents = 100

// Events returns the last entries that fit, decisions and runs merged by time, oldest
// first. It keeps no more of them than it needs, however long the log is.
func (a *Audit) Events(ctx context.Context, by approval.Principal, req EventsRequest) ([]Event, error) {
	if err := approval.CheckPrincipal(by); err != nil {
		return nil, err
	}
	req, err := req.checked()
	if err != nil {
		return nil, err
	}
	decisions, err := a.decisions(ctx, req)
	if err != nil {
		return nil, err
	}
	runs, err := a.runs(ctx, req)
	events := append(decisions, runs...)
	slices.SortStableFunc(events, func(a, b Event) int { return a.Time.Compare(b.Time) })
	return events[max(0, len(events)-req.Limit):], err
}

func (a *Audit) decisions(ctx context.Context, req EventsRequest) ([]Event, error) {
	last := tail{limit: req.Limit}
	after, err := req.begin(a.p.Decisions)
	if err != nil {
		return nil, err
	}
	known := grantsGiven{}
	err = a.p.Ledger.History(ctx, after, func(r ledger.Record) error {
		e, err := known.event(r, req)
		last.take(e, req)
		return err
	})
	return last.list(), err
}

// grantsGiven are the grants that were given so far, by ID.
type grantsGiven map[string]approval.Grant

// event reads a decision. Decisions that end a grant name only its ID.
func (known grantsGiven) event(r ledger.Record, req EventsRequest) (Event, error) {
	given, err := approval.Given(r.Changes)
	e := Event{Time: r.Time, Kind: r.Kind, Actor: r.Actor, Subject: r.Subject, Decision: &r, Granted: given}
	if err != nil || req.about == nil {
		return e, err
	}
	ids, err := approval.Ended(r.Changes)
	for _, id := range ids {
		if g, ok := known[id]; ok {
			e.Revoked = append(e.Revoked, g)
		}
	}
	for _, g := range given {
		known[g.ID] = g
	}
	return e, err
}

// runs are the last ones that fit. The log is read from its end, and no further than it takes.
func (a *Audit) runs(ctx context.Context, req EventsRequest) ([]Event, error) {
	all := []Event{}
	err := a.p.Calls.Back(ctx, func(e journal.Entry) (bool, error) {
		if wayBefore(e.Time, req.Since) {
			return false, nil
		}
		found, err := callEvent(e)
		if err == nil && req.fits(found) {
			all = append(all, found)
		}
		return len(all) < req.Limit, err
	})
	slices.Reverse(all)
	return all, err
}

// clockSlack is by how much the times in a log may be out of order, as when a clock was set.
const clockSlack = time.Hour

// wayBefore reports whether what stands before an entry of a log is from before a time.
func wayBefore(at, since time.Time) bool {
	return !since.IsZero() && at.Before(since.Add(-clockSlack))
}

// callEvent reads an entry of the record of runs, which has refused requests, too.
func callEvent(e journal.Entry) (Event, error) {
	if e.Kind == KindRefused {
		return refusedEvent(e)
	}
	r, err := runRecord(e)
	return Event{Time: e.Time, Kind: e.Kind, Actor: e.Actor, Subject: r.Skill, Run: &r}, err
}

// followEach is how often the log is looked at for what was added.
const followEach = 200 * time.Millisecond

// Follow tells the last entries that fit, and then those that are added, by this process or
// another, until ctx ends, whose error is returned then. An error of each ends it, too.
func (a *Audit) Follow(ctx context.Context, by approval.Principal, req EventsRequest, each func(Event) error) error {
	if err := approval.CheckPrincipal(by); err != nil {
		return err
	}
	req, err := req.checked()
	if err != nil {
		return err
	}
	decisions, err := req.begin(a.p.Decisions)
	if err != nil {
		return err
	}
	runs, err := req.begin(a.p.Calls)
	known := grantsGiven{}
	look := time.NewTicker(followEach)
	defer look.Stop()
	for first := true; err == nil; first = false {
		var found []Event
		if found, err = a.added(ctx, req, known, &decisions, &runs); err != nil {
			break
		}
		if first {
			found = found[max(0, len(found)-req.Limit):]
		}
		for _, e := range found {
			if err := each(e); err != nil {
				return err
			}
		}
		select {
		case <-look.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return err
}

// added are the events that fit behind some entries, by time, which are then the last ones.
func (a *Audit) added(ctx context.Context, req EventsRequest, known grantsGiven, decisions, runs *uint64) (found []Event, err error) {
	take := func(e Event) {
		if req.fits(e) {
			found = append(found, e)
		}
	}
	err = a.p.Ledger.History(ctx, *decisions, func(r ledger.Record) error {
		e, err := known.event(r, req)
		*decisions = r.Seq
		take(e)
		return err
	})
	if err != nil {
		return nil, err
	}
	err = a.p.Calls.Replay(ctx, *runs, func(e journal.Entry) error {
		event, err := callEvent(e)
		*runs = e.Seq
		take(event)
		return err
	})
	slices.SortStableFunc(found, func(a, b Event) int { return a.Time.Compare(b.Time) })
	return found, err
}

// runRecord reads an entry of the record of runs.
func runRecord(e journal.Entry) (r runner.Record, err error) {
	if err := json.Unmarshal(e.Data, &r); err != nil {
		return r, fmt.Errorf("read run %d of the audit log: %w", e.Seq, err)
	}
	return r, nil
}

// begin is the entry after which a journal is read: where all entries fit, the last ones
// are enough.
func (r EventsRequest) begin(j *journal.Journal) (after uint64, err error) {
	if r.Skill != "" || r.Denied || r.Kind != "" || r.Actor != "" || r.about != nil || !r.Since.IsZero() || !r.Until.IsZero() {
		return 0, nil
	}
	last, _, err := j.Head()
	return last - min(last, uint64(r.Limit)), err
}

// fits reports whether an event is asked for.
func (r EventsRequest) fits(e Event) bool {
	name, _, _ := strings.Cut(e.Subject, "@")
	if r.Skill != "" && (e.Refused != nil || r.Skill != e.Subject && r.Skill != name) {
		return false
	}
	switch {
	case r.Kind != "" && !slices.Contains(strings.Split(r.Kind, ","), e.Kind),
		r.about != nil && !slices.ContainsFunc(e.capabilities(), r.about),
		r.Actor != "" && r.Actor != e.Actor,
		e.Time.Before(r.Since),
		!r.Until.IsZero() && !e.Time.Before(r.Until):
		return false
	}
	return !r.Denied || e.Refused != nil || e.Run != nil && len(e.Run.Denials) > 0
}

// capabilities are what a decision granted or revoked, and what a run used or was refused.
func (e Event) capabilities() (all []capability.Capability) {
	for _, g := range slices.Concat(e.Granted, e.Revoked) {
		all = append(all, g.Capability)
	}
	if e.Run == nil {
		return all
	}
	var texts []string
	for _, u := range e.Run.Used {
		texts = append(texts, cmp.Or(u.Request, u.Capability))
	}
	for _, d := range e.Run.Denials {
		texts = append(texts, cmp.Or(d.Capability, d.Request))
	}
	for _, text := range texts {
		if c, err := capability.Parse(text); err == nil {
			all = append(all, c)
		}
	}
	return all
}

// A tail keeps the last events it is given, up to a limit of at least 1.
type tail struct {
	limit int
	ring  []Event
	next  int // where the next one goes, when the ring is full: the oldest is there
}

// take keeps an event that fits.
func (r *tail) take(e Event, req EventsRequest) {
	switch {
	case !req.fits(e):
	case len(r.ring) < r.limit:
		r.ring = append(r.ring, e)
	default:
		r.ring[r.next] = e
		r.next = (r.next + 1) % r.limit
	}
}

// list is what was kept, oldest first.
func (r *tail) list() []Event {
	return append(append([]Event{}, r.ring[r.next:]...), r.ring[:r.next]...)
}

// AuditKeys are the public keys that the audit log is signed with.
type AuditKeys struct {
	Home string            `json:"home"`
	Key  checkpoint.Public `json:"key"`
	PEM  string            `json:"pem"`
	// Keys are all keys the home had, the first one first.
	Keys []checkpoint.Entry `json:"keys"`
}

// Key returns the keys that vouch for the audit log, and makes the first one when there is
// none.
func (a *Audit) Key(ctx context.Context, by approval.Principal) (AuditKeys, error) {
	if err := approval.CheckPrincipal(by); err != nil {
		return AuditKeys{}, err
	}
	ring, err := a.p.AuditKeys.Make(ctx)
	if err != nil {
		return AuditKeys{}, err
	}
	return auditKeys(ring)
}

func auditKeys(ring *checkpoint.Keyring) (AuditKeys, error) {
	pem, err := ring.Current().PEM()
	return AuditKeys{ring.Name(), ring.Current(), string(pem), ring.Keys}, err
}

// RotateKey makes a new key for the audit log, signs both parts of it with that, records
// who wanted it, and retires the key so far.
func (a *Audit) RotateKey(ctx context.Context, by approval.Human) (AuditKeys, error) {
	if err := a.p.begin(ctx, by); err != nil {
		return AuditKeys{}, err
	}
	ring, err := a.p.AuditKeys.Rotate(ctx, func(ctx context.Context) error {
		ring, err := a.p.AuditKeys.Keyring(ctx)
		if err != nil {
			return err
		}
		if err := a.p.Calls.Sign(ctx); err != nil {
			return err
		}
		return a.p.Ledger.Commit(ctx, func(context.Context) (ledger.Decision, error) {
			return ledger.Decision{Kind: "rotate", Actor: by.Actor(), Subject: "audit key", Note: "from now on " + ring.Current().String()}, nil
		})
	})
	if err != nil {
		return AuditKeys{}, err
	}
	return auditKeys(ring)
}
