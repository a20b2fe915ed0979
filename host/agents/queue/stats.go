package queue

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/skillet-run/skillet/host/base/store"
)

// Totals count what happened to a queue since it was made, in all processes.
type Totals struct {
	Pushed    uint64 `json:"pushed"`
	Shed      uint64 `json:"shed"`       // turned away
	Begun     uint64 `json:"begun"`      // attempts
	Done      uint64 `json:"done"`       // items
	Failed    uint64 `json:"failed"`     // attempts that failed
	Retried   uint64 `json:"retried"`    // of those, tried again
	Dead      uint64 `json:"dead"`       // given up
	TakenOver uint64 `json:"taken_over"` // of lost workers
	Cancelled uint64 `json:"cancelled"`
	// WaitMS is how long what was begun had waited in the queue, besides its own
	// delay, and WorkMS how long work took, in milliseconds, together.
	WaitMS uint64 `json:"wait_ms"`
	WorkMS uint64 `json:"work_ms"`
}

func (t Totals) addTo(sum *Totals) {
	sum.Pushed += t.Pushed
	sum.Shed += t.Shed
	sum.Begun += t.Begun
	sum.Done += t.Done
	sum.Failed += t.Failed
	sum.Retried += t.Retried
	sum.Dead += t.Dead
	sum.TakenOver += t.TakenOver
	sum.Cancelled += t.Cancelled
	sum.WaitMS += t.WaitMS
	sum.WorkMS += t.WorkMS
}

// Stats are figures of a queue.
type Stats struct {
	Name string `json:"name"`
	// Waiting items can be begun now, Delayed ones later; Running ones are worked on.
	Waiting int `json:"waiting"`
	Delayed int `json:"delayed"`
	Running int `json:"running"`
	// DeadLetters is how many there are now.
	DeadLetters int `json:"dead_letters"`
	// Priorities and Owners count what waits, is delayed or runs.
	Priorities map[string]int `json:"priorities"`
	Owners     map[string]int `json:"owners"`
	// OldestSeconds is how long the item has waited that has waited longest.
	OldestSeconds float64 `json:"oldest_seconds"`
	Limit         int     `json:"limit"`
	Concurrency   int     `json:"concurrency"`
	Totals        Totals  `json:"totals"`
}

// Stats returns the figures. The error is one of the store.
func (q *Queue) Stats(ctx context.Context) (Stats, error) {
	s := Stats{
		Name: q.settings.Name, Priorities: map[string]int{}, Owners: map[string]int{},
		Limit: q.settings.Limit, Concurrency: q.settings.Concurrency, Totals: q.totals(ctx),
	}
	all, err := q.List(ctx)
	if err != nil {
		return s, err
	}
	now := time.Now()
	for _, w := range all {
		s.Priorities[priorityName(w.Priority)]++
		if w.Owner != "" {
			s.Owners[w.Owner]++
		}
		switch {
		case w.Running:
			s.Running++
		case w.Ready.After(now):
			s.Delayed++
		default:
			s.Waiting++
			s.OldestSeconds = max(s.OldestSeconds, now.Sub(w.Ready).Seconds())
		}
	}
	dead, err := q.jobs.Dead(ctx)
	s.DeadLetters = len(dead)
	if err != nil {
		return s, fmt.Errorf("figures of queue %s: %w", q.settings.Name, err)
	}
	return s, nil
}

func (q *Queue) totalsKey() string { return "queue/totals/" + q.settings.Name }

// totals are read for figures and estimates: what cannot be read counts as nothing.
func (q *Queue) totals(ctx context.Context) Totals {
	t, _, err := q.readTotals(ctx)
	if err != nil {
		q.log.Warn("the figures of a queue cannot be read", "queue", q.settings.Name, "err", err)
	}
	return t
}

func (q *Queue) readTotals(ctx context.Context) (t Totals, revision uint64, err error) {
	e, err := q.kv.Get(ctx, q.totalsKey())
	if errors.Is(err, store.ErrNotFound) {
		return t, store.MustNotExist, nil
	}
	if err == nil {
		err = json.Unmarshal(e.Value, &t)
	}
	return t, e.Revision, err
}

// count changes the totals. Work does not fail because it could not be counted.
func (q *Queue) count(ctx context.Context, change func(*Totals)) {
	ctx = context.WithoutCancel(ctx)
	for {
		t, revision, err := q.readTotals(ctx)
		var value []byte
		if err == nil {
			change(&t)
			value, err = json.Marshal(t)
		}
		if err == nil {
			_, err = q.kv.Put(ctx, q.totalsKey(), value, revision)
		}
		switch {
		case errors.Is(err, store.ErrConflict):
			continue
		case err != nil:
			q.log.Warn("work is not counted", "queue", q.settings.Name, "err", err)
		}
		return
	}
}
