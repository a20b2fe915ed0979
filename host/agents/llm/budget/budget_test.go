package budget_test

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/skillet-run/skillet/host/base/fault"

	"github.com/hashicorp/go-hclog"

	"github.com/skillet-run/skillet/host/agents/event"
	"github.com/skillet-run/skillet/host/agents/llm/budget"
	"github.com/skillet-run/skillet/host/base/store"
	"github.com/skillet-run/skillet/host/base/store/badgerstore"
)

func tokens(n int64) budget.Amount { return budget.Amount{Tokens: n} }

// ledgers are two over one store, as in two processes.
func ledgers(t testing.TB, s budget.Settings) (one, two *budget.Ledger, bus *event.Bus) {
	t.Helper()
	st := store.Memory()
	t.Cleanup(func() { st.Close() })
	log := hclog.NewNullLogger()
	bus = event.NewBus(log, st)
	return budget.Open(log, st.KV(), bus, s), budget.Open(log, st.KV(), bus, s), bus
}

func must[T any](t testing.TB) func(v T, err error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func reserve(t testing.TB, l *budget.Lease, a budget.Amount) *budget.Reservation {
	t.Helper()
	return must[*budget.Reservation](t)(l.Reserve(t.Context(), a))
}

func TestReserveAndSettle(t *testing.T) {
	t.Parallel()
	one, two, _ := ledgers(t, budget.Settings{Day: budget.Amount{Tokens: 1000, MicroUSD: 5000}, Task: tokens(500)})
	lease := must[*budget.Lease](t)(one.Task(t.Context(), "T1", budget.Amount{}))
	r := reserve(t, lease, budget.Amount{Tokens: 300, MicroUSD: 900})
	if left := must[budget.Amount](t)(lease.Left(t.Context())); left != (budget.Amount{Tokens: 200, MicroUSD: 4100}) {
		t.Errorf("left while it is reserved: %+v", left)
	}
	if err := r.Settle(t.Context(), budget.Amount{Tokens: 120, MicroUSD: 400}); err != nil {
		t.Fatal(err)
	}
	for _, again := range []error{r.Settle(t.Context(), tokens(1)), r.Release(t.Context())} {
		if !errors.Is(again, budget.ErrSettled) {
			t.Errorf("settled twice: %v", again)
		}
	}
	same := must[*budget.Lease](t)(two.Task(t.Context(), "T1", tokens(7))) // it keeps what it was made with
	all := must[[]budget.Status](t)(same.Statuses(t.Context()))
	want := []budget.Status{
		{Budget: "task T1", Limit: tokens(500), Used: budget.Amount{Tokens: 120, MicroUSD: 400}, Left: budget.Amount{Tokens: 380, MicroUSD: budget.Unlimited}},
		{Budget: "day", Limit: budget.Amount{Tokens: 1000, MicroUSD: 5000}, Used: budget.Amount{Tokens: 120, MicroUSD: 400}, Left: budget.Amount{Tokens: 880, MicroUSD: 4600}},
		{Budget: "month", Used: budget.Amount{Tokens: 120, MicroUSD: 400}, Left: budget.Amount{Tokens: budget.Unlimited, MicroUSD: budget.Unlimited}},
	}
	for i := range all {
		all[i].Resets = time.Time{}
	}
	if !slices.Equal(all, want) {
		t.Errorf("got %+v", all)
	}
	if err := reserve(t, same, tokens(380)).Release(t.Context()); err != nil {
		t.Fatal(err)
	}
	if used := must[budget.Amount](t)(lease.Used(t.Context())); used.Tokens != 120 {
		t.Errorf("a released reservation counts: %+v", used)
	}
}

// TestRefusal: what a refusal says, for each level at which it can happen.
func TestRefusal(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx := context.Background()
		one, _, _ := ledgers(t, budget.Settings{Day: budget.Amount{Tokens: 100_000, MicroUSD: 2_000_000}, Month: tokens(200_000)})
		lease := must[*budget.Lease](t)(one.Task(ctx, "T1", tokens(5000)))
		sub := must[*budget.Lease](t)(lease.Sub(ctx, "research", tokens(1000)))
		inner := must[*budget.Lease](t)(sub.Sub(ctx, "fetch", budget.Amount{}))
		reserve(t, inner, tokens(400))
		for _, row := range []struct {
			lease  *budget.Lease
			amount budget.Amount
			want   budget.Refusal
			says   []string
		}{
			{inner, tokens(700), budget.Refusal{Budget: "research of task T1", Part: "research", Unit: "tokens", Limit: 1000, Held: 400, Asked: 700, Left: 600, Setting: "budget.task.tokens"},
				[]string{"600 tokens of 1000 tokens left", "400 tokens reserved", "700 tokens may be needed"}},
			{lease, tokens(4601), budget.Refusal{Budget: "task T1", Unit: "tokens", Limit: 5000, Held: 400, Asked: 4601, Left: 4600, Setting: "budget.task.tokens"}, nil},
			{one.Host(), tokens(99_601), budget.Refusal{Budget: "day", Unit: "tokens", Limit: 100_000, Held: 400, Asked: 99_601, Left: 99_600,
				Resets: time.Date(2000, 1, 2, 0, 0, 0, 0, time.UTC), Setting: "budget.day.tokens"}, nil},
			{one.Host(), budget.Amount{MicroUSD: 2_500_000}, budget.Refusal{Budget: "day", Unit: "usd", Limit: 2_000_000, Asked: 2_500_000, Left: 2_000_000,
				Resets: time.Date(2000, 1, 2, 0, 0, 0, 0, time.UTC), Setting: "budget.day.usd"}, []string{"$2 of $2 left", "$2.5 may"}},
		} {
			_, err := row.lease.Reserve(ctx, row.amount)
			var got *budget.Refusal
			if !errors.Is(err, budget.ErrExhausted) || !errors.As(err, &got) || *got != row.want {
				t.Errorf("%s: got %v, %+v", row.amount, err, got)
				continue
			}
			e := fault.AsError(err)
			if e.Kind != fault.KindLimit || !strings.Contains(e.Way().String(), "[set_setting "+row.want.Setting) {
				t.Errorf("%s: kind %s, hint %q", row.amount, e.Kind, e.Way().String())
			}
			if !row.want.Resets.IsZero() && e.RetryAfterMS != time.Until(row.want.Resets).Milliseconds() {
				t.Errorf("%s: try again in %d ms", row.amount, e.RetryAfterMS)
			}
			for _, part := range row.says {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("%q does not say %q", err, part)
				}
			}
		}
		// A refusal of the day leaves nothing reserved in the task.
		if _, err := lease.Reserve(ctx, budget.Amount{Tokens: 1, MicroUSD: 3_000_000}); !errors.Is(err, budget.ErrExhausted) {
			t.Errorf("got %v", err)
		}
		if left := must[budget.Amount](t)(lease.Left(ctx)); left.Tokens != 4600 {
			t.Errorf("left %+v", left)
		}
	})
}

// TestNeverOverdrawn: many callers in two processes never get more than there is.
func TestNeverOverdrawn(t *testing.T) {
	t.Parallel()
	for name, open := range map[string]func(t *testing.T) (a, b store.Store){
		"memory": func(t *testing.T) (a, b store.Store) {
			s := store.Memory()
			t.Cleanup(func() { s.Close() })
			return s, s
		},
		"badger, two openings": func(t *testing.T) (a, b store.Store) {
			dir := t.TempDir()
			open := func() store.Store {
				s := must[*badgerstore.Store](t)(badgerstore.OpenShared(hclog.NewNullLogger(), dir, badgerstore.Options{}))
				t.Cleanup(func() { s.Close() })
				return s
			}
			return open(), open()
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a, b := open(t)
			s := budget.Settings{Day: tokens(1000), Month: tokens(100_000)}
			var got, held, most, refused atomic.Int64
			var callers sync.WaitGroup
			for i := range 8 {
				st := a
				if i%2 == 1 {
					st = b
				}
				callers.Go(func() {
					l := budget.Open(hclog.NewNullLogger(), st.KV(), nil, s)
					lease, err := l.Task(t.Context(), "T", tokens(900))
					for range 10 {
						var r *budget.Reservation
						if err == nil {
							r, err = lease.Reserve(t.Context(), tokens(50))
						}
						if errors.Is(err, budget.ErrExhausted) {
							refused.Add(1)
							err = nil
							continue
						}
						if err != nil {
							t.Error(err)
							return
						}
						for n := held.Add(50); ; {
							if m := most.Load(); n <= m || most.CompareAndSwap(m, n) {
								break
							}
						}
						held.Add(-25)
						got.Add(25)
						err = r.Settle(t.Context(), tokens(25))
					}
				})
			}
			callers.Wait()
			lease := must[*budget.Lease](t)(budget.Open(hclog.NewNullLogger(), a.KV(), nil, s).Task(t.Context(), "T", budget.Amount{}))
			all := must[[]budget.Status](t)(lease.Statuses(t.Context()))
			for _, st := range all {
				if st.Used.Tokens != got.Load() || st.Held.Tokens != 0 {
					t.Errorf("%s: %+v, but %d were used", st.Budget, st, got.Load())
				}
			}
			if most.Load() > 900 || got.Load() > 900 || got.Load() < 800 || refused.Load() == 0 {
				t.Errorf("at most %d at once, %d in all, %d refused", most.Load(), got.Load(), refused.Load())
			}
		})
	}
}

// TestTheDeadGiveBack: a reservation that nobody settles ends with its lease, and
// one that is settled after that counts.
func TestTheDeadGiveBack(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx := context.Background()
		one, two, _ := ledgers(t, budget.Settings{Day: tokens(100), Lease: time.Minute})
		lost := reserve(t, one.Host(), tokens(80))
		time.Sleep(59 * time.Second)
		if _, err := two.Host().Reserve(ctx, tokens(21)); !errors.Is(err, budget.ErrExhausted) {
			t.Errorf("given back too early: %v", err)
		}
		time.Sleep(time.Second)
		if err := reserve(t, two.Host(), tokens(100)).Release(ctx); err != nil {
			t.Fatal(err)
		}
		if err := lost.Settle(ctx, tokens(70)); err != nil {
			t.Fatal(err)
		}
		if used := must[budget.Amount](t)(two.Host().Used(ctx)); used.Tokens != 70 {
			t.Errorf("used %+v", used)
		}
	})
}

// TestDebt: what cost more than was reserved is counted, and nothing more is given.
func TestDebt(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	one, _, _ := ledgers(t, budget.Settings{})
	lease := must[*budget.Lease](t)(one.Task(ctx, "T", budget.Amount{Tokens: 100, MicroUSD: 50}))
	if err := reserve(t, lease, budget.Amount{Tokens: 10, MicroUSD: 40}).Settle(ctx, budget.Amount{Tokens: 30, MicroUSD: 60}); err != nil {
		t.Fatal(err)
	}
	st := must[[]budget.Status](t)(lease.Statuses(ctx))[0]
	if st.Debt != (budget.Amount{MicroUSD: 10}) || st.Overrun != (budget.Amount{Tokens: 20, MicroUSD: 20}) || st.Left != tokens(70) {
		t.Errorf("got %+v", st)
	}
	if _, err := lease.Reserve(ctx, budget.Amount{Tokens: 1, MicroUSD: 1}); !errors.Is(err, budget.ErrExhausted) || !strings.Contains(err.Error(), "a debt of $1e-05") {
		t.Errorf("got %v", err)
	}
	reserve(t, lease, tokens(70)) // what is free needs no money
	if err := lease.Raise(ctx, budget.Amount{MicroUSD: 11}); err != nil {
		t.Fatal(err)
	}
	reserve(t, lease, budget.Amount{MicroUSD: 1})
	if _, err := lease.Reserve(ctx, budget.Amount{MicroUSD: 1}); !errors.Is(err, budget.ErrExhausted) {
		t.Errorf("more than the raised limit: %v", err)
	}
}

// TestPeriodsRollOver: days and months of UTC.
func TestPeriodsRollOver(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) { // begins on 2000-01-01
		ctx := context.Background()
		one, two, bus := ledgers(t, budget.Settings{Day: tokens(100), Month: tokens(250), Lease: 48 * time.Hour})
		spend := func(n int64) {
			t.Helper()
			if err := reserve(t, one.Host(), tokens(n)).Settle(ctx, tokens(n)); err != nil {
				t.Fatal(err)
			}
		}
		spend(100)
		across := time.Until(time.Date(2000, 1, 2, 0, 0, 0, 0, time.UTC))
		time.Sleep(across - time.Millisecond)
		if _, err := two.Host().Reserve(ctx, tokens(1)); !errors.Is(err, budget.ErrExhausted) {
			t.Errorf("before midnight: %v", err)
		}
		time.Sleep(time.Millisecond)
		spend(100)
		time.Sleep(24 * time.Hour)
		_, err := two.Host().Reserve(ctx, tokens(51))
		var r *budget.Refusal
		if !errors.As(err, &r) || r.Budget != "month" || !r.Resets.Equal(time.Date(2000, 2, 1, 0, 0, 0, 0, time.UTC)) {
			t.Errorf("got %v, %+v", err, r)
		}
		over := reserve(t, one.Host(), tokens(50))
		time.Sleep(30 * 24 * time.Hour)
		spend(100)
		if err := over.Settle(ctx, tokens(0)); err != nil { // reserved in another month
			t.Fatal(err)
		}
		st := must[[]budget.Status](t)(one.Host().Statuses(ctx))
		if st[0].Used.Tokens != 100 || st[1].Used.Tokens != 100 || st[1].Left.Tokens != 150 {
			t.Errorf("got %+v", st)
		}
		// Three days with an alert each, one month with another; each day used up, told once.
		alerts := must[[]event.Event](t)(bus.Read(ctx, "budget.alert", 0, 0))
		var told []string
		for _, e := range alerts {
			var st budget.Status
			if err := json.Unmarshal(e.Data, &st); err != nil {
				t.Fatal(err)
			}
			told = append(told, st.Budget)
		}
		if want := []string{"day", "day", "month", "day"}; !slices.Equal(told, want) {
			t.Errorf("alerts of %v, want %v", told, want)
		}
		out := must[[]event.Event](t)(bus.Read(ctx, "budget.exhausted", 0, 0))
		if len(out) != 2 || !strings.Contains(out[0].Text, "the budget of day: 100 tokens of 100 tokens used") {
			t.Errorf("got %+v", out)
		}
	})
}

func TestAlertOfATask(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	one, two, bus := ledgers(t, budget.Settings{Alert: 0.5})
	lease := must[*budget.Lease](t)(one.Task(ctx, "T7", tokens(100)))
	other := must[*budget.Lease](t)(two.Task(ctx, "T7", budget.Amount{}))
	for range 3 {
		for _, l := range []*budget.Lease{lease, other} {
			if err := reserve(t, l, tokens(10)).Settle(ctx, tokens(10)); err != nil {
				t.Fatal(err)
			}
		}
	}
	alerts := must[[]event.Event](t)(bus.Read(ctx, "budget.*", 0, 0))
	if len(alerts) != 1 || alerts[0].Task != "T7" || !strings.Contains(alerts[0].Text, "task T7: 50 tokens of 100 tokens") {
		t.Errorf("got %+v", alerts)
	}
}

func TestSubLeases(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	one, _, _ := ledgers(t, budget.Settings{})
	lease := must[*budget.Lease](t)(one.Task(ctx, "T", tokens(100)))
	a := must[*budget.Lease](t)(lease.Sub(ctx, "a", tokens(80)))
	b := must[*budget.Lease](t)(lease.Sub(ctx, "b", tokens(80)))
	if err := reserve(t, a, tokens(60)).Settle(ctx, tokens(60)); err != nil {
		t.Fatal(err)
	}
	reserve(t, b, tokens(40))
	if _, err := b.Reserve(ctx, tokens(1)); !errors.Is(err, budget.ErrExhausted) || !strings.Contains(err.Error(), "task T ") {
		t.Errorf("agents together have more than their task: %v", err)
	}
	if used := must[budget.Amount](t)(b.Used(ctx)); used.Tokens != 0 {
		t.Errorf("b used %+v", used)
	}
	if left := must[budget.Amount](t)(a.Left(ctx)); left.Tokens != 0 {
		t.Errorf("left for a: %+v", left)
	}
	if a.Name() != "a of task T" || a.TaskID() != "T" || one.Host().Name() != "" {
		t.Errorf("names %q %q", a.Name(), one.Host().Name())
	}
	c := must[*budget.Lease](t)(a.Sub(ctx, "c", tokens(5)))
	if err := c.Raise(ctx, tokens(95)); err != nil {
		t.Fatal(err)
	}
	if left := must[[]budget.Status](t)(c.Statuses(ctx)); left[0].Budget != "a/c of task T" || left[0].Left.Tokens != 100 {
		t.Errorf("got %+v", left)
	}
}

func TestInvalid(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	one, _, _ := ledgers(t, budget.Settings{})
	lease := must[*budget.Lease](t)(one.Task(ctx, "T", budget.Amount{}))
	calls := map[string]func() error{
		"empty task":   func() error { _, err := one.Task(ctx, "", budget.Amount{}); return err },
		"slash":        func() error { _, err := one.Task(ctx, "a/b", budget.Amount{}); return err },
		"long":         func() error { _, err := one.Task(ctx, strings.Repeat("x", 129), budget.Amount{}); return err },
		"negative":     func() error { _, err := one.Task(ctx, "N", tokens(-1)); return err },
		"agent":        func() error { _, err := lease.Sub(ctx, "\n", budget.Amount{}); return err },
		"sub of host":  func() error { _, err := one.Host().Sub(ctx, "a", budget.Amount{}); return err },
		"raise host":   func() error { return one.Host().Raise(ctx, tokens(1)) },
		"raise less":   func() error { return lease.Raise(ctx, tokens(-1)) },
		"reserve less": func() error { _, err := lease.Reserve(ctx, tokens(-1)); return err },
		"reserve huge": func() error { _, err := lease.Reserve(ctx, tokens(math.MaxInt64)); return err },
		"settle less":  func() error { return reserve(t, lease, tokens(1)).Settle(ctx, tokens(-1)) },
	}
	for name, call := range calls {
		if err := call(); !errors.Is(err, budget.ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestTasksAndPrune(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx := context.Background()
		one, _, _ := ledgers(t, budget.Settings{Lease: time.Hour})
		leases := map[string]*budget.Lease{}
		for _, id := range []string{"old", "held", "recent"} {
			leases[id] = must[*budget.Lease](t)(one.Task(ctx, id, tokens(10)))
			time.Sleep(time.Minute)
		}
		held := reserve(t, leases["held"], tokens(5))
		time.Sleep(30 * time.Minute)
		if err := reserve(t, leases["recent"], tokens(5)).Settle(ctx, tokens(4)); err != nil {
			t.Fatal(err)
		}
		all := must[[]budget.TaskUse](t)(one.Tasks(ctx))
		if len(all) != 3 || all[0].Task != "recent" || all[0].Used != tokens(4) || all[2].Task != "old" {
			t.Errorf("got %+v", all)
		}
		if n := must[int](t)(one.Prune(ctx, time.Now().Add(-time.Minute))); n != 1 {
			t.Errorf("%d removed", n)
		}
		if _, err := leases["old"].Left(ctx); !errors.Is(err, budget.ErrNotFound) {
			t.Errorf("got %v", err)
		}
		if _, err := leases["old"].Reserve(ctx, tokens(1)); !errors.Is(err, budget.ErrNotFound) {
			t.Errorf("got %v", err)
		}
		time.Sleep(time.Hour)
		if n := must[int](t)(one.Prune(ctx, time.Now())); n != 2 {
			t.Errorf("%d removed", n)
		}
		if err := held.Settle(ctx, tokens(3)); err != nil {
			t.Fatal(err)
		}
		if all := must[[]budget.TaskUse](t)(one.Tasks(ctx)); len(all) != 0 {
			t.Errorf("settling brought back %+v", all)
		}
		if used := must[budget.Amount](t)(one.Host().Used(ctx)); used != tokens(7) {
			t.Errorf("the day has %+v", used)
		}
	})
}

func TestMicroUSD(t *testing.T) {
	t.Parallel()
	for usd, want := range map[float64]int64{0: 0, -1: 0, math.NaN(): 0, 1: 1_000_000, 0.0000001: 1, 1.5e-5: 15, math.Inf(1): 1 << 53} {
		if got := budget.MicroUSD(usd); got != want {
			t.Errorf("%v: %d, want %d", usd, got, want)
		}
	}
}

func TestDamaged(t *testing.T) {
	t.Parallel()
	s := store.Memory()
	t.Cleanup(func() { s.Close() })
	if _, err := s.KV().Put(t.Context(), "budget/period", []byte("{"), store.AnyRevision); err != nil {
		t.Fatal(err)
	}
	l := budget.Open(hclog.NewNullLogger(), s.KV(), nil, budget.Settings{})
	if _, err := l.Host().Reserve(t.Context(), tokens(1)); !errors.Is(err, store.ErrDamaged) {
		t.Errorf("a budget that cannot be read lets calls through: %v", err)
	}
}

func BenchmarkReserveAndSettle(b *testing.B) {
	for name, open := range map[string]func() store.Store{
		"memory": func() store.Store { return store.Memory() },
		"badger": func() store.Store {
			return must[*badgerstore.Store](b)(badgerstore.Open(hclog.NewNullLogger(), b.TempDir(), badgerstore.Options{}))
		},
	} {
		b.Run(name, func(b *testing.B) {
			s := open()
			defer s.Close()
			l := budget.Open(hclog.NewNullLogger(), s.KV(), nil, budget.Settings{Day: tokens(1 << 40)})
			lease := must[*budget.Lease](b)(l.Task(b.Context(), "T", tokens(1<<40)))
			sub := must[*budget.Lease](b)(lease.Sub(b.Context(), "a", tokens(1<<40)))
			for b.Loop() {
				if err := reserve(b, sub, tokens(100)).Settle(b.Context(), tokens(50)); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
