package work

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/skillet-run/skillet/host/base/fault"

	"github.com/skillet-run/skillet/host/agents/event"
	"github.com/skillet-run/skillet/host/record/approval"
	"github.com/skillet-run/skillet/host/record/journal"
	"github.com/skillet-run/skillet/host/run/runner"
)

// SkillStats are figures of the runs of one skill.
type SkillStats struct {
	Skill string `json:"skill"`
	// Calls were asked for by a person or an agent; Parts were made for other runs, such as
	// calls by other skills, and are not among them.
	Calls int `json:"calls"`
	Parts int `json:"parts"`
	// Failures counts calls and parts that failed, by kind, and Denials what they
	// were refused.
	Failures map[fault.Kind]int `json:"failures"`
	Denials  int                `json:"denials"`
	// Cached were answered from the cache and did not run.
	Cached int `json:"cached"`
	// Fuel is what all of them used together, HostCalls how often they called the
	// host, and PeakMemoryBytes the most that one took.
	Fuel            uint64 `json:"fuel"`
	HostCalls       int    `json:"host_calls"`
	PeakMemoryBytes uint64 `json:"peak_memory_bytes"`
	// Latency is of those that ran.
	Latency Latency   `json:"latency"`
	Last    time.Time `json:"last"`

	took []float64
}

// Failed is how many calls and parts failed.
func (s SkillStats) Failed() (n int) {
	for _, c := range s.Failures {
		n += c
	}
	return n
}

// Latency says how long runs took, in milliseconds: half of them at most P50MS, and
// so on.
type Latency struct {
	P50MS float64 `json:"p50_ms"`
	P90MS float64 `json:"p90_ms"`
	P99MS float64 `json:"p99_ms"`
	MaxMS float64 `json:"max_ms"`
}

// latencyOf has the nearest rank of each part.
func latencyOf(took []float64) Latency {
	if len(took) == 0 {
		return Latency{}
	}
	slices.Sort(took)
	rank := func(p float64) float64 { return took[max(0, int(math.Ceil(p*float64(len(took))))-1)] }
	return Latency{rank(0.5), rank(0.9), rank(0.99), took[len(took)-1]}
}

// Figures are those of the home; a section that was not asked for is nil.
type Figures struct {
	Since  time.Time     `json:"since,omitzero"`
	Skills *[]SkillStats `json:"skills,omitempty"`
	Models *ModelStats   `json:"models,omitempty"`
	Memory *MemoryStats  `json:"memory,omitempty"`
	Events *EventStats   `json:"events,omitempty"`
	Queue  *QueueStats   `json:"queue,omitempty"`
}

// Sections are the names of the sections of [Figures], in their order.
func Sections() []string { return []string{"skills", "models", "memory", "events", "queue"} }

// A FiguresRequest says which figures are wanted. The zero value is for all of them.
type FiguresRequest struct {
	// Since leaves out what was before; figures of the memory and of the queue are always
	// those of now.
	Since time.Time
	// Sections are names of [Sections]; empty for all.
	Sections []string
}

// Figures returns the figures of what ran. The name of a section that does not exist is a
// [fault.KindUsage] error.
func (u *Usage) Figures(ctx context.Context, by approval.Principal, q FiguresRequest) (Figures, error) {
	f := Figures{Since: q.Since}
	if err := notAgent(by); err != nil {
		return f, err
	}
	if err := eachOneOf("section", q.Sections, Sections()); err != nil {
		return f, err
	}
	get := map[string]func() error{
		"skills": func() error { return into(&f.Skills)(u.Skills(ctx, by, q.Since)) },
		"models": func() error { return into(&f.Models)(u.Models(ctx, by, q.Since)) },
		"memory": func() error { return into(&f.Memory)((&Memories{u.s}).Stats(ctx, by)) },
		"events": func() error { return into(&f.Events)(u.Events(ctx, by, q.Since)) },
		"queue":  func() error { return into(&f.Queue)(u.Queue(ctx, by)) },
	}
	for _, name := range Sections() {
		if len(q.Sections) > 0 && !slices.Contains(q.Sections, name) {
			continue
		}
		if err := get[name](); err != nil {
			return f, fmt.Errorf("figures of %s: %w", name, err)
		}
	}
	return f, nil
}

// into keeps the result of a call.
func into[T any](at **T) func(T, error) error {
	return func(v T, err error) error {
		*at = &v
		return err
	}
}

// Usage has figures of what ran. Agents see none: what others did is not theirs to know.
type Usage struct{ s *Service }

// Skills returns the figures of the runs since a time, from the audit log; the
// skill that was called most comes first.
func (u *Usage) Skills(ctx context.Context, by approval.Principal, since time.Time) ([]SkillStats, error) {
	if err := notAgent(by); err != nil {
		return nil, err
	}
	bySkill := map[string]*SkillStats{}
	err := u.s.parts.Calls.Replay(ctx, 0, func(e journal.Entry) error {
		if e.Kind != runner.KindRun || e.Time.Before(since) {
			return nil
		}
		var r runner.Record
		if err := json.Unmarshal(e.Data, &r); err != nil {
			return fmt.Errorf("read run %d of the audit log: %w", e.Seq, err)
		}
		if e.Actor == u.s.parts.Doctor { // the module with which it checks the sandbox is not a skill
			return nil
		}
		name, _, _ := strings.Cut(r.Skill, "@")
		if bySkill[name] == nil {
			bySkill[name] = &SkillStats{Skill: name, Failures: map[fault.Kind]int{}}
		}
		bySkill[name].add(r, e.Time)
		return nil
	})
	all := []SkillStats{}
	for _, name := range slices.Sorted(maps.Keys(bySkill)) {
		s := *bySkill[name]
		s.Latency = latencyOf(s.took)
		all = append(all, s)
	}
	slices.SortStableFunc(all, func(a, b SkillStats) int { return cmp.Compare(b.Calls+b.Parts, a.Calls+a.Parts) })
	return all, err
}

func (s *SkillStats) add(r runner.Record, at time.Time) {
	if r.Part == "" {
		s.Calls++
	} else {
		s.Parts++
	}
	if !r.OK {
		kind := fault.KindInternal
		if r.Error != nil {
			kind = r.Error.Kind
		}
		s.Failures[kind]++
	}
	if r.Cached {
		s.Cached++
	} else {
		s.took = append(s.took, r.DurationMS)
	}
	s.Denials += len(r.Denials)
	s.Fuel += r.Fuel
	s.HostCalls += r.HostCalls
	s.PeakMemoryBytes = max(s.PeakMemoryBytes, r.PeakMemoryBytes)
	s.Last = at
}

// EventStats count events.
type EventStats struct {
	Events int                `json:"events"`
	Types  map[event.Type]int `json:"types"`
	First  time.Time          `json:"first,omitzero"`
	Last   time.Time          `json:"last,omitzero"`
}

// Events counts the events since a time.
func (u *Usage) Events(ctx context.Context, by approval.Principal, since time.Time) (EventStats, error) {
	s := EventStats{Types: map[event.Type]int{}}
	if err := notAgent(by); err != nil {
		return s, err
	}
	all, err := u.s.parts.Models.Events.Read(ctx, "*", 0, 0)
	for _, e := range all {
		if e.Time.Before(since) {
			continue
		}
		if s.Events == 0 {
			s.First = e.Time
		}
		s.Events++
		s.Types[e.Type]++
		s.Last = e.Time
	}
	return s, err
}

// A FollowRequest says which events are wanted.
type FollowRequest struct {
	// After leaves out events up to that number.
	After uint64
	// Follow goes on with what happens until the context ends, whose error is returned then.
	Follow bool
	// Each is told each event, one at a time and in order. An error of it ends the listing.
	Each func(Event) error
}

// Follow tells what happened in the home, to all tasks, models and providers, in order. It is
// for who sees what others do.
func (u *Usage) Follow(ctx context.Context, by approval.Principal, q FollowRequest) error {
	if err := notAgent(by); err != nil {
		return err
	}
	if ownOnly(by) {
		return fault.Errorf(fault.KindDenied, "%s sees the events of its own tasks alone", by.Actor())
	}
	if q.Each == nil {
		return nil
	}
	if !q.Follow {
		all, err := u.s.parts.Models.Events.Read(ctx, "*", q.After, 0)
		for _, e := range all {
			if err := q.Each(e); err != nil {
				return err
			}
		}
		return err
	}
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	s, err := u.s.parts.Models.Events.Subscribe(ctx, "edge", "*", q.After, func(_ context.Context, e Event) error {
		if err := q.Each(e); err != nil {
			stop(err)
		}
		return nil
	})
	if err != nil {
		return err
	}
	defer s.Close()
	<-ctx.Done()
	return context.Cause(ctx)
}

// Queue returns the figures of the queue that tasks wait in, as they are now.
func (u *Usage) Queue(ctx context.Context, by approval.Principal) (QueueStats, error) {
	if err := notAgent(by); err != nil {
		return QueueStats{}, err
	}
	return u.s.queue().Stats(ctx)
}
