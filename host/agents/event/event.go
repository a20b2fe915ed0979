// Package event tells what happened: typed events on a log, in one order, which
// can be read again from any sequence number.
//
// A [Bus] publishes and hands out. Who publishes waits for nobody but the log;
// each subscriber reads the log at its own pace, so one that is slow, fails or
// panics is met by no other. Events of other processes that have the same store
// open arrive like those of this one. The package refuses to know what anybody
// does about an event, and no decision is made from one: they are told, not
// asked.
package event

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/skillet-run/skillet/host/base/store"
)

// LogName is the name of the log that events are on.
const LogName = "events"

// MaxData is how many bytes the data of one event may have.
const MaxData = 64 << 10

// Errors of Publish that a caller may test for.
var (
	// ErrType means that the type of an event is unknown.
	ErrType = errors.New("no such type of event")
	// ErrData means that the data of an event is not JSON, or too long.
	ErrData = errors.New("bad event data")
)

// An Event is one thing that happened.
type Event struct {
	// Seq and Time are set when it is published. Seq rises from event to event,
	// with gaps.
	Seq  uint64    `json:"seq"`
	Time time.Time `json:"time"`
	Type Type      `json:"type"`
	// Task and Skill are what it is about, Actor is who did it: "human:ada",
	// "agent:code". Each may be empty.
	Task  string `json:"task,omitempty"`
	Skill string `json:"skill,omitempty"`
	Actor string `json:"actor,omitempty"`
	// Text is one line for people; it may hold words of others.
	Text string `json:"text,omitempty"`
	// Data is a JSON value that depends on the type; nil for none.
	Data json.RawMessage `json:"data,omitempty"`
}

// A Bus publishes and hands out events. It is safe for concurrent use.
type Bus struct {
	log    hclog.Logger
	events store.Log

	mu        sync.Mutex
	published map[Type]uint64
	subs      map[*Subscription]struct{}
	running   sync.WaitGroup
}

// NewBus makes a Bus on a store.
func NewBus(log hclog.Logger, s store.Store) *Bus {
	return &Bus{log: log, events: s.Log(LogName), published: map[Type]uint64{}, subs: map[*Subscription]struct{}{}}
}

// Publish appends an event to the log and returns its number. Errors wrap
// [ErrType], [ErrData] or those of the store.
func (b *Bus) Publish(ctx context.Context, e Event) (seq uint64, err error) {
	switch {
	case !e.Type.Known():
		return 0, fmt.Errorf("publish event %q: %w", e.Type, ErrType)
	case len(e.Data) > MaxData:
		return 0, fmt.Errorf("publish event %s: %w: %d bytes; at most %d", e.Type, ErrData, len(e.Data), MaxData)
	case len(e.Data) > 0 && !json.Valid(e.Data):
		return 0, fmt.Errorf("publish event %s: %w: not JSON", e.Type, ErrData)
	}
	e.Seq, e.Time = 0, time.Time{}
	record, err := json.Marshal(e)
	if err == nil {
		seq, err = b.events.Append(ctx, string(e.Type), record)
	}
	if err != nil {
		return 0, fmt.Errorf("publish event %s: %w", e.Type, err)
	}
	b.mu.Lock()
	b.published[e.Type]++
	b.mu.Unlock()
	return seq, nil
}

// Tell is [Bus.Publish] for those who cannot do anything about an error: it is
// written to the log of the host.
func (b *Bus) Tell(ctx context.Context, e Event) {
	if _, err := b.Publish(context.WithoutCancel(ctx), e); err != nil {
		b.log.Warn("an event is lost", "type", e.Type, "err", err)
	}
}

// Read returns up to limit events that p selects with a number above after, in
// order. A limit of zero or less means no limit.
func (b *Bus) Read(ctx context.Context, p Pattern, after uint64, limit int) ([]Event, error) {
	var found []Event
	for {
		batch, err := b.events.Read(ctx, p.prefix(), after, readBatch)
		if err != nil {
			return nil, fmt.Errorf("read events: %w", err)
		}
		for _, r := range batch {
			after = r.Seq
			if e, ok := b.event(r); ok && p.Matches(e.Type) {
				found = append(found, e)
			}
			if limit > 0 && len(found) == limit {
				return found, nil
			}
		}
		if len(batch) < readBatch {
			return found, nil
		}
	}
}

// readBatch is how many records are read at once.
const readBatch = 512

// event decodes a record; one that cannot be is left out, and said.
func (b *Bus) event(r store.Event) (Event, bool) {
	var e Event
	if err := json.Unmarshal(r.Data, &e); err != nil {
		b.log.Warn("an event cannot be read", "seq", r.Seq, "subject", r.Subject, "err", err)
		return e, false
	}
	e.Seq, e.Time, e.Type = r.Seq, r.Time, Type(r.Subject)
	return e, true
}

// Trim forgets the events up to and including a number.
func (b *Bus) Trim(ctx context.Context, through uint64) error {
	if err := b.events.Trim(ctx, through); err != nil {
		return fmt.Errorf("trim events: %w", err)
	}
	return nil
}

// Stats are figures of this process.
type Stats struct {
	// Published counts what this process published, by type.
	Published map[Type]uint64 `json:"published"`
	// Subscriptions are those that are open, in no order.
	Subscriptions []SubscriptionStats `json:"subscriptions"`
}

// Stats returns the figures.
func (b *Bus) Stats() Stats {
	b.mu.Lock()
	defer b.mu.Unlock()
	s := Stats{Published: maps.Clone(b.published), Subscriptions: []SubscriptionStats{}}
	for sub := range b.subs {
		s.Subscriptions = append(s.Subscriptions, sub.Stats())
	}
	return s
}

// Close ends all subscriptions and waits for their handlers.
func (b *Bus) Close() {
	b.mu.Lock()
	for s := range b.subs {
		s.cancel()
	}
	b.mu.Unlock()
	b.running.Wait()
}
