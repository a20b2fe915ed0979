package event_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/hashicorp/go-hclog"

	"github.com/skillet-run/skillet/host/agents/event"
	"github.com/skillet-run/skillet/host/base/store"
)

func newBus(t *testing.T) *event.Bus {
	t.Helper()
	s := store.Memory()
	b := event.NewBus(hclog.NewNullLogger(), s)
	t.Cleanup(func() { b.Close(); s.Close() })
	return b
}

func publish(t *testing.T, b *event.Bus, types ...event.Type) (last uint64) {
	t.Helper()
	for _, k := range types {
		seq, err := b.Publish(t.Context(), event.Event{Type: k, Task: "t1", Data: json.RawMessage(`{"n":1}`)})
		if err != nil || seq <= last {
			t.Fatalf("%s: %d after %d, %v", k, seq, last, err)
		}
		last = seq
	}
	return last
}

func typesOf(es []event.Event) []event.Type {
	var all []event.Type
	for _, e := range es {
		all = append(all, e.Type)
	}
	return all
}

func TestPattern(t *testing.T) {
	for _, c := range []struct {
		pattern event.Pattern
		yes, no string
	}{
		{"*", "task.created system.worker_online", ""},
		{"task.*", "task.created task.failed", "step.failed system.worker_online"},
		{"*.failed", "task.failed step.failed skill.failed", "task.created task.failed.twice"},
		{"task.failed", "task.failed", "task.fail task.failed.x task"},
	} {
		for _, k := range strings.Fields(c.yes) {
			if !c.pattern.Matches(event.Type(k)) {
				t.Errorf("%s does not select %s", c.pattern, k)
			}
		}
		for _, k := range strings.Fields(c.no) {
			if c.pattern.Matches(event.Type(k)) {
				t.Errorf("%s selects %s", c.pattern, k)
			}
		}
		if err := c.pattern.Check(); err != nil {
			t.Error(err)
		}
	}
	for _, p := range []event.Pattern{"", "tsk.*", "task.failed.*", "task", "*.*.*"} {
		if p.Check() == nil {
			t.Errorf("%q selects something", p)
		}
	}
}

func TestTypes(t *testing.T) {
	seen := map[event.Type]bool{}
	for _, d := range event.Types() {
		if seen[d.Type] || d.Doc == "" || strings.Count(string(d.Type), ".") != 1 || !d.Type.Known() {
			t.Errorf("%+v", d)
		}
		seen[d.Type] = true
	}
	if len(seen) < 20 {
		t.Errorf("%d types", len(seen))
	}
}

func TestReadAgain(t *testing.T) {
	b := newBus(t)
	first := publish(t, b, event.TaskCreated)
	publish(t, b, event.StepFailed, event.TaskFailed, event.WorkerOnline)
	all, err := b.Read(t.Context(), "*", 0, 0)
	if err != nil || len(all) != 4 || all[0].Task != "t1" || string(all[0].Data) != `{"n":1}` || all[0].Time.IsZero() {
		t.Fatalf("%+v, %v", all, err)
	}
	failed, err := b.Read(t.Context(), "*.failed", first, 1)
	if err != nil || !slices.Equal(typesOf(failed), []event.Type{event.StepFailed}) {
		t.Errorf("%+v, %v", failed, err)
	}
	if err := b.Trim(t.Context(), first); err != nil {
		t.Fatal(err)
	}
	if all, err = b.Read(t.Context(), "*", 0, 0); err != nil || len(all) != 3 {
		t.Errorf("%+v, %v", all, err)
	}
}

func TestRefused(t *testing.T) {
	b := newBus(t)
	for _, c := range []struct {
		event event.Event
		want  error
	}{
		{event.Event{Type: "task.forgotten"}, event.ErrType},
		{event.Event{Type: event.TaskCreated, Data: json.RawMessage("{")}, event.ErrData},
		{event.Event{Type: event.TaskCreated, Data: json.RawMessage(`"` + strings.Repeat("x", event.MaxData) + `"`)}, event.ErrData},
	} {
		if _, err := b.Publish(t.Context(), c.event); !errors.Is(err, c.want) {
			t.Errorf("%.40s: %v", c.event.Data, err)
		}
	}
	if _, err := b.Subscribe(t.Context(), "s", "nothing.*", 0, nil); err == nil {
		t.Error("a pattern that selects nothing is taken")
	}
}

// Each subscriber gets what it asked for, in order, whatever the others do: one
// that never returns, one that fails and one that panics.
func TestSubscribersAreApart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBus(t)
		before := publish(t, b, event.TaskCreated)
		var mu sync.Mutex
		var got []uint64
		subscribe := func(name string, p event.Pattern, after uint64, h event.Handler) *event.Subscription {
			s, err := b.Subscribe(t.Context(), name, p, after, h)
			if err != nil {
				t.Fatal(err)
			}
			return s
		}
		subscribe("stuck", "*", 0, func(ctx context.Context, _ event.Event) error { <-ctx.Done(); return ctx.Err() })
		panics := subscribe("panics", "*", before, func(context.Context, event.Event) error { panic("out of ideas") })
		fails := subscribe("fails", "task.*", before, func(context.Context, event.Event) error { return errors.New("no") })
		works := subscribe("works", "task.*", 0, func(_ context.Context, e event.Event) error {
			mu.Lock()
			defer mu.Unlock()
			got = append(got, e.Seq)
			return nil
		})
		const n = 200
		for range n {
			publish(t, b, event.StepStarted, event.TaskProgress)
		}
		synctest.Wait()
		if len(got) != n+1 || !slices.IsSorted(got) {
			t.Errorf("%d events, sorted %v", len(got), slices.IsSorted(got))
		}
		for s, want := range map[*event.Subscription]event.SubscriptionStats{
			panics: {Handled: 2 * n, Failed: 2 * n, Panicked: 2 * n},
			fails:  {Handled: n, Failed: n},
			works:  {Handled: n + 1},
		} {
			have := s.Stats()
			if have.Handled != want.Handled || have.Failed != want.Failed || have.Panicked != want.Panicked || have.Last == 0 {
				t.Errorf("%+v, want %+v", have, want)
			}
		}
		stats := b.Stats()
		if len(stats.Subscriptions) != 4 || stats.Published[event.TaskProgress] != n {
			t.Errorf("%+v", stats)
		}
		works.Close()
		works.Close()
		publish(t, b, event.TaskCompleted)
		synctest.Wait()
		if len(got) != n+1 || len(b.Stats().Subscriptions) != 3 {
			t.Errorf("a closed subscription got %d events", len(got))
		}
	})
}

// Who goes on from the number of the last event misses none and gets none twice.
func TestGoingOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBus(t)
		var got []uint64
		var last uint64
		for round := range 5 {
			publish(t, b, event.TaskProgress, event.TaskProgress)
			s, err := b.Subscribe(t.Context(), fmt.Sprint(round), "task.*", last, func(_ context.Context, e event.Event) error {
				got = append(got, e.Seq)
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
			publish(t, b, event.TaskProgress)
			synctest.Wait()
			s.Close()
			last = s.Stats().Last
		}
		if len(got) != 15 || !slices.IsSorted(got) || len(slices.Compact(got)) != 15 {
			t.Errorf("%v", got)
		}
	})
}

func BenchmarkPublish(b *testing.B) {
	s := store.Memory()
	defer s.Close()
	bus := event.NewBus(hclog.NewNullLogger(), s)
	defer bus.Close()
	for b.Loop() {
		if _, err := bus.Publish(b.Context(), event.Event{Type: event.TaskProgress, Task: "t"}); err != nil {
			b.Fatal(err)
		}
	}
}
