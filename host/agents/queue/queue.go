// Package queue hands out work: items with priorities and delays, to so many
// workers at a time, over all processes that have the same store open. An item is
// leased while it is worked on, and the lease is extended by a heartbeat, so that
// the item of a worker that died goes to another. Only work that says so is begun
// again; what is not becomes a dead letter, which a person can put back or drop.
//
// A queue that is full turns away what is less urgent first, and says how long it
// is and when to try again. What was accepted is never thrown away.
//
// The package refuses to know what an item is: it has an ID, an owner, some
// metadata and bytes.
package queue

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/skillet-run/skillet/host/agents/event"
	"github.com/skillet-run/skillet/host/base/store"
)

// Settings bound a queue. The zero value is usable.
type Settings struct {
	// Name is the queue's in the store; empty means "work".
	Name string
	// Limit is how many items may wait. Those of normal priority are accepted up to
	// nine tenths of it, and those of low priority up to the half. Zero means 1000.
	Limit int
	// Concurrency is how many items are worked on at the same time, over all
	// processes, and PerOwner how many of one owner. Zero means 2, and no bound.
	Concurrency int
	PerOwner    int
	// Heartbeat is how often leases are extended: several times in
	// [store.Delivery].Lease. Zero means a third of the default lease.
	Heartbeat time.Duration
	// Attempts is how often an item is begun at most; at most as often as the store
	// lets it. Zero means as often as it does by default.
	Attempts int
	// Backoff is how long a failed item waits at least before it is begun again; it
	// doubles with each attempt, up to MaxBackoff. Zero means a second, and five
	// minutes.
	Backoff    time.Duration
	MaxBackoff time.Duration
	// Drain is how long work may go on when [Queue.Run] is to end, and again how
	// long it may take to notice that it shall end. Zero means ten seconds.
	Drain time.Duration
}

func (s Settings) withDefaults() Settings {
	for _, d := range []struct {
		value *time.Duration
		usual time.Duration
	}{
		{&s.Heartbeat, store.DefaultLease / 3}, {&s.Backoff, time.Second}, {&s.MaxBackoff, 5 * time.Minute}, {&s.Drain, 10 * time.Second},
	} {
		if *d.value <= 0 {
			*d.value = d.usual
		}
	}
	if s.Name == "" {
		s.Name = "work"
	}
	if s.Limit <= 0 {
		s.Limit = 1000
	}
	if s.Concurrency <= 0 {
		s.Concurrency = 2
	}
	if s.Attempts <= 0 {
		s.Attempts = store.DefaultMaxAttempts
	}
	return s
}

// attempts is how often an item is begun at most.
func (s Settings) attempts(i Item) int {
	if i.Attempts > 0 {
		return min(i.Attempts, s.Attempts)
	}
	return s.Attempts
}

// A Queue is a queue of a store. It is safe for concurrent use.
type Queue struct {
	log      hclog.Logger
	jobs     store.Queue
	kv       store.KV
	bus      *event.Bus
	settings Settings

	intake sync.Mutex // one push of this process at a time, so that it sees the others
}

// New makes a Queue on a store. bus is told of items that are turned away, taken
// over or given up.
func New(log hclog.Logger, s store.Store, bus *event.Bus, settings Settings) *Queue {
	settings = settings.withDefaults()
	return &Queue{log: log, jobs: s.Queue(settings.Name), kv: s.KV(), bus: bus, settings: settings}
}

// A FullError says that an item was turned away. It is an [ErrFull].
type FullError struct {
	Queue    string
	Priority store.Priority
	// Length is how many items wait, and Room how many may when one of that
	// priority is to be accepted.
	Length, Room int
	// RetryAfter is when there should be room, as fast as work went so far.
	RetryAfter time.Duration
}

// Error says all of it.
func (e *FullError) Error() string {
	return fmt.Sprintf("%s: %d wait, and one of %s priority is accepted while fewer than %d do; try again in %v",
		ErrFull, e.Length, priorityName(e.Priority), e.Room, e.RetryAfter)
}

// Is reports whether target is ErrFull.
func (e *FullError) Is(target error) bool { return target == ErrFull }

func priorityName(p store.Priority) string {
	return map[store.Priority]string{store.High: "high", store.Normal: "normal", store.Low: "low"}[p]
}

// room is how many items may wait when one of a priority is to be accepted.
func (s Settings) room(p store.Priority) int {
	part := map[store.Priority]float64{store.High: 1, store.Normal: 0.9, store.Low: 0.5}[p]
	return max(1, int(part*float64(s.Limit)))
}

// Push adds an item and returns its ID. An ID that is known already is not added
// again, and that is not an error. The error wraps [ErrInvalid], or is a [*FullError]
// when too many wait; several processes that push at the same moment may exceed
// the limit by one each.
func (q *Queue) Push(ctx context.Context, i Item) (id string, err error) {
	if i.ID == "" {
		i.ID = makeID()
	}
	if err := i.check(); err != nil {
		return "", fmt.Errorf("push to queue %s: %w", q.settings.Name, err)
	}
	q.intake.Lock()
	defer q.intake.Unlock()
	known, err := q.admit(ctx, &i)
	if err != nil {
		return "", fmt.Errorf("push to queue %s: %w", q.settings.Name, err)
	}
	if known {
		return i.ID, nil
	}
	job, err := i.job(time.Now())
	if err == nil {
		err = q.jobs.Push(ctx, job)
	}
	if err != nil {
		return "", fmt.Errorf("push to queue %s: %w", q.settings.Name, err)
	}
	q.count(ctx, func(t *Totals) { t.Pushed++ })
	return i.ID, nil
}

func makeID() string {
	var b [16]byte
	rand.Read(b[:])
	return hex.EncodeToString(b[:])
}

// Admit reports whether [Queue.Push] has room for an item now, for whoever has to do
// something else before. The error is a [*FullError] when it does not.
func (q *Queue) Admit(ctx context.Context, i Item) error {
	if _, err := q.admit(ctx, &i); err != nil {
		return fmt.Errorf("push to queue %s: %w", q.settings.Name, err)
	}
	return nil
}

// admit turns an item away for which there is no room, and reports whether it is there
// already.
func (q *Queue) admit(ctx context.Context, i *Item) (known bool, err error) {
	all, err := q.jobs.List(ctx)
	if err != nil {
		return false, err
	}
	waiting := 0
	for _, j := range all {
		if j.ID == i.ID {
			return true, nil
		}
		if !isRunning(j) {
			waiting++
		}
	}
	room := q.settings.room(i.Priority)
	if waiting < room {
		return false, nil
	}
	t := q.totals(ctx)
	full := &FullError{Queue: q.settings.Name, Priority: i.Priority, Length: waiting, Room: room, RetryAfter: q.settings.retryAfter(t, waiting-room+1)}
	q.count(ctx, func(t *Totals) { t.Shed++ })
	q.tell(ctx, event.QueueShed, i, full.Error())
	return false, full
}

// unknownWork is how long work is taken to last when none was done yet.
const unknownWork = 30 * time.Second

// retryAfter is how long it takes until so many items are begun.
func (s Settings) retryAfter(t Totals, items int) time.Duration {
	each := unknownWork
	if n := t.Done + t.Failed; n > 0 {
		each = time.Duration(t.WorkMS/n) * time.Millisecond
	}
	d := each * time.Duration(items) / time.Duration(s.Concurrency)
	return min(max(d, time.Second), time.Hour).Round(time.Second)
}

// isRunning reports whether somebody works on a job now.
func isRunning(j store.Queued) bool { return j.Claimed && j.Ready.After(time.Now()) }

// eventData is the data of an event.
type eventData struct {
	Queue    string `json:"queue"`
	ID       string `json:"id"`
	Owner    string `json:"owner,omitempty"`
	Priority string `json:"priority"`
}

func (q *Queue) tell(ctx context.Context, t event.Type, i *Item, text string) {
	data, err := json.Marshal(eventData{q.settings.Name, i.ID, i.Owner, priorityName(i.Priority)})
	if err != nil {
		data = nil
	}
	q.bus.Tell(ctx, event.Event{Type: t, Actor: i.Owner, Text: text, Data: data})
}

// A DeadLetter is an item that is not begun again.
type DeadLetter struct {
	Item
	// Attempts is how often it was begun, and At when it was given up.
	Attempts int       `json:"attempts"`
	At       time.Time `json:"at"`
	// Why says what happened.
	Why string `json:"why"`
}

// lost is why an item is dead that no worker gave up.
const lost = "each of its workers was lost"

// Dead lists the dead letters, by ID.
func (q *Queue) Dead(ctx context.Context) ([]DeadLetter, error) {
	jobs, err := q.jobs.Dead(ctx)
	if err != nil {
		return nil, fmt.Errorf("list dead letters: %w", err)
	}
	all := make([]DeadLetter, 0, len(jobs))
	for _, j := range jobs {
		i, _, err := itemOf(j.Job)
		d := DeadLetter{Item: i, Attempts: j.Attempt, At: j.At, Why: j.Note}
		switch {
		case err != nil:
			d.ID, d.Why = j.ID, err.Error()
		case d.Why == "":
			d.Why = lost
		}
		all = append(all, d)
	}
	return all, nil
}

// Requeue puts a dead letter back, with all its attempts. The error wraps
// [ErrNotFound] when there is none of that ID.
func (q *Queue) Requeue(ctx context.Context, id string) error {
	return q.found("requeue", id, q.jobs.Revive(ctx, id))
}

// Drop forgets a dead letter. The error wraps [ErrNotFound] when there is none of
// that ID.
func (q *Queue) Drop(ctx context.Context, id string) error {
	dead, err := q.jobs.Dead(ctx)
	if err != nil {
		return fmt.Errorf("drop item %q: %w", id, err)
	}
	for _, j := range dead {
		if j.ID == id {
			return q.found("drop", id, q.jobs.Remove(ctx, id))
		}
	}
	return q.found("drop", id, store.ErrNotFound)
}

// Cancel takes an item out of the queue, whether it waits or is worked on: then
// its work is told to end within a heartbeat. The error wraps [ErrNotFound] when
// there is none of that ID.
func (q *Queue) Cancel(ctx context.Context, id string) error {
	err := q.found("cancel", id, q.jobs.Remove(ctx, id))
	if err == nil {
		q.count(ctx, func(t *Totals) { t.Cancelled++ })
	}
	return err
}

func (q *Queue) found(op, id string, err error) error {
	switch {
	case errors.Is(err, store.ErrNotFound):
		return fmt.Errorf("%s item %q: %w", op, id, ErrNotFound)
	case err != nil:
		return fmt.Errorf("%s item %q: %w", op, id, err)
	}
	return nil
}

// Waiting is an item in the queue, and how it stands.
type Waiting struct {
	Item
	// Running says that it is worked on, Begun how often it was begun, and Ready
	// when it may be begun; of one that is worked on, when its lease ends.
	Running bool      `json:"running"`
	Begun   int       `json:"begun"`
	Ready   time.Time `json:"ready"`
	Pushed  time.Time `json:"pushed"`
}

// List returns the items that wait or are worked on, in the order in which they
// are begun.
func (q *Queue) List(ctx context.Context) ([]Waiting, error) {
	jobs, err := q.jobs.List(ctx)
	if err != nil {
		return nil, fmt.Errorf("list items: %w", err)
	}
	all := make([]Waiting, 0, len(jobs))
	for _, j := range jobs {
		i, e, err := itemOf(j.Job)
		if err != nil {
			q.log.Warn("an item cannot be read", "id", j.ID, "err", err)
			i.ID = j.ID
		}
		all = append(all, Waiting{Item: i, Running: isRunning(j), Begun: j.Attempt, Ready: j.Ready.UTC(), Pushed: e.Pushed})
	}
	return all, nil
}
