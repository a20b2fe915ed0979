package queue

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/skillet-run/skillet/host/agents/event"
	"github.com/skillet-run/skillet/host/base/store"
)

// bench is a queue with its store and events, for one test in artificial time.
type bench struct {
	*Queue
	t     *testing.T
	store store.Store
	bus   *event.Bus
}

const lease = 30 * time.Second

func inBubble(t *testing.T, s Settings, test func(t *testing.T, b *bench)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		st := store.Memory(store.Delivery{Lease: lease, MaxAttempts: 4})
		bus := event.NewBus(hclog.NewNullLogger(), st)
		s.Heartbeat, s.Attempts = lease/3, 4
		b := &bench{New(hclog.NewNullLogger(), st, bus, s), t, st, bus}
		test(t, b)
		bus.Close()
		st.Close()
	})
}

func (b *bench) push(items ...Item) {
	b.t.Helper()
	for _, i := range items {
		if _, err := b.Push(b.t.Context(), i); err != nil {
			b.t.Fatal(err)
		}
	}
}

// run runs work in the background; stop ends it.
func (b *bench) run(work Work) (stop func() error) {
	ctx, cancel := context.WithCancel(b.t.Context())
	result := make(chan error, 1)
	go func() { result <- b.Run(ctx, work) }()
	return func() error {
		cancel()
		return <-result
	}
}

func (b *bench) stats() Stats {
	b.t.Helper()
	s, err := b.Stats(b.t.Context())
	if err != nil {
		b.t.Fatal(err)
	}
	return s
}

func (b *bench) dead() []DeadLetter {
	b.t.Helper()
	all, err := b.Dead(b.t.Context())
	if err != nil {
		b.t.Fatal(err)
	}
	return all
}

func (b *bench) told(p event.Pattern) (texts []string) {
	b.t.Helper()
	all, err := b.bus.Read(b.t.Context(), p, 0, 0)
	if err != nil {
		b.t.Fatal(err)
	}
	for _, e := range all {
		texts = append(texts, e.Text)
	}
	return texts
}

// A record of who was worked on, in order.
type record struct {
	mu    sync.Mutex
	lines []string
}

func (r *record) add(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lines = append(r.lines, fmt.Sprintf(format, args...))
}

func (r *record) String() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return strings.Join(r.lines, ", ")
}

func TestOrderAndDelay(t *testing.T) {
	inBubble(t, Settings{Concurrency: 1}, func(t *testing.T, b *bench) {
		b.push(Item{ID: "low", Priority: store.Low}, Item{ID: "normal", Priority: store.Normal, Meta: map[string]string{"k": "v"}, Body: []byte("two\nlines")},
			Item{ID: "late", After: time.Minute}, Item{ID: "high"})
		b.push(Item{ID: "high", Body: []byte("known already")})
		if s := b.stats(); s.Waiting != 3 || s.Delayed != 1 || s.Priorities["high"] != 2 || s.Totals.Pushed != 4 {
			t.Errorf("%+v", s)
		}
		var r record
		begin := time.Now()
		stop := b.run(func(_ context.Context, d Delivery) error {
			r.add("%s%s%s %d %v", d.ID, d.Meta["k"], d.Body, d.Attempt, time.Since(begin))
			return nil
		})
		time.Sleep(2 * time.Minute)
		if err := stop(); err != nil {
			t.Error(err)
		}
		if want := "high 1 0s, normalvtwo\nlines 1 0s, low 1 0s, late 1 1m0s"; r.String() != want {
			t.Errorf("got  %s\nwant %s", r.String(), want)
		}
		if s := b.stats(); s.Waiting+s.Delayed+s.Running+s.DeadLetters != 0 || s.Totals.Done != 4 || s.Totals.WaitMS != 0 {
			t.Errorf("%+v", s)
		}
	})
}

// What fails is tried again when that is harmless, later each time, and then it is a
// dead letter.
func TestFailure(t *testing.T) {
	broken := errors.New("broken\nin two lines")
	for _, c := range []struct {
		name string
		item Item
		fail func(attempt int) error
		want string // attempts, whether it is dead
	}{
		{"never", Item{}, func(int) error { return broken }, "1 dead"},
		{"only taken over", Item{Again: TakeOver}, func(int) error { return broken }, "1 dead"},
		{"idempotent", Item{Again: Always}, func(int) error { return broken }, "4 dead"},
		{"as often as it says", Item{Again: Always, Attempts: 2}, func(int) error { return broken }, "2 dead"},
		{"at most as often as the queue", Item{Again: Always, Attempts: 9}, func(int) error { return broken }, "4 dead"},
		{"until it works", Item{Again: Always}, func(n int) error {
			if n < 3 {
				return broken
			}
			return nil
		}, "3 done"},
		{"for good", Item{Again: Always}, func(int) error { return Permanent(broken) }, "1 dead"},
		{"nothing happened", Item{}, func(n int) error {
			if n < 2 {
				return fmt.Errorf("wrapped: %w", Later(broken, time.Hour))
			}
			return nil
		}, "2 done"},
		{"a panic", Item{}, func(int) error { panic(broken) }, "1 dead"},
		{"a panic of what is idempotent", Item{Again: Always}, func(int) error { panic(broken) }, "4 dead"},
	} {
		t.Run(c.name, func(t *testing.T) {
			inBubble(t, Settings{Backoff: time.Minute, MaxBackoff: 3 * time.Minute}, func(t *testing.T, b *bench) {
				c.item.ID = "a"
				b.push(c.item)
				var begun []time.Time
				stop := b.run(func(_ context.Context, d Delivery) error {
					begun = append(begun, time.Now())
					if d.Attempt != len(begun) || d.TakenOver {
						t.Errorf("%+v is attempt %d", d, len(begun))
					}
					return c.fail(d.Attempt)
				})
				time.Sleep(2 * time.Hour)
				stop()
				dead, totals := b.dead(), b.stats().Totals
				got := fmt.Sprintf("%d done", len(begun))
				if len(dead) == 1 {
					got = fmt.Sprintf("%d dead", dead[0].Attempts)
				}
				if got != c.want || totals.Begun != uint64(len(begun)) || totals.Dead != uint64(len(dead)) {
					t.Errorf("got %s, want %s; %+v", got, c.want, totals)
				}
				if len(dead) == 1 && (dead[0].ID != "a" || !strings.Contains(dead[0].Why, "broken") || len(b.told("queue.dead")) != 1) {
					t.Errorf("%+v", dead)
				}
				if c.item.Again == Always {
					checkBackoff(t, begun)
				}
			})
		})
	}
}

func checkBackoff(t *testing.T, begun []time.Time) {
	t.Helper()
	for i := range len(begun) - 1 {
		most := []time.Duration{time.Minute, 2 * time.Minute, 3 * time.Minute}[i]
		if waited := begun[i+1].Sub(begun[i]); waited < most/2 || waited > most {
			t.Errorf("attempt %d came after %v", i+2, waited)
		}
	}
}

func TestDeadLetters(t *testing.T) {
	inBubble(t, Settings{}, func(t *testing.T, b *bench) {
		b.push(Item{ID: "a", Owner: "ada", Body: []byte("body")}, Item{ID: "b"})
		works := false
		stop := b.run(func(context.Context, Delivery) error {
			if !works {
				return errors.New("no")
			}
			return nil
		})
		synctest.Wait()
		if dead := b.dead(); len(dead) != 2 || dead[0].Owner != "ada" || string(dead[0].Body) != "body" || dead[0].Why != "no" || dead[0].At.IsZero() {
			t.Errorf("%+v", dead)
		}
		works = true
		ctx := t.Context()
		if err := errors.Join(b.Requeue(ctx, "a"), b.Drop(ctx, "b")); err != nil {
			t.Error(err)
		}
		for _, err := range []error{b.Requeue(ctx, "b"), b.Drop(ctx, "b"), b.Cancel(ctx, "b")} {
			if !errors.Is(err, ErrNotFound) {
				t.Error(err)
			}
		}
		time.Sleep(time.Second)
		stop()
		if s := b.stats(); s.DeadLetters+s.Waiting != 0 || s.Totals.Done != 1 {
			t.Errorf("%+v", s)
		}
	})
}

// Less urgent items are turned away first, with an answer that says when to come again.
func TestBackpressure(t *testing.T) {
	inBubble(t, Settings{Limit: 10}, func(t *testing.T, b *bench) {
		fill := func(p store.Priority) (n int, full *FullError) {
			for {
				if _, err := b.Push(t.Context(), Item{Priority: p}); errors.As(err, &full) {
					if !errors.Is(err, ErrFull) {
						t.Error(err)
					}
					return n, full
				}
				n++
			}
		}
		for _, c := range []struct {
			priority store.Priority
			accepted int
			length   int
			want     string
		}{
			{store.Low, 5, 5, "5 wait, and one of low priority is accepted while fewer than 5 do; try again in 15s"},
			{store.Normal, 4, 9, "9 wait, and one of normal priority is accepted while fewer than 9 do; try again in 15s"},
			{store.High, 1, 10, "10 wait, and one of high priority is accepted while fewer than 10 do; try again in 15s"},
			{store.Low, 0, 10, "10 wait, and one of low priority is accepted while fewer than 5 do; try again in 1m30s"},
		} {
			n, full := fill(c.priority)
			if n != c.accepted || full.Length != c.length || !strings.Contains(full.Error(), c.want) {
				t.Errorf("%d accepted, %v", n, full)
			}
		}
		if got := b.told("queue.shed"); len(got) != 4 {
			t.Errorf("told %q", got)
		}
		// What is there already is no second item; what is worked on does not wait.
		all, err := b.List(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		b.push(Item{ID: all[0].ID, Priority: store.Low})
		if err := b.Admit(t.Context(), Item{ID: all[0].ID}); err != nil {
			t.Error(err)
		}
		if err := b.Admit(t.Context(), Item{Priority: store.High}); !errors.Is(err, ErrFull) {
			t.Error(err)
		}
		stop := b.run(func(ctx context.Context, _ Delivery) error {
			time.Sleep(2 * time.Second)
			return nil
		})
		time.Sleep(time.Second)
		b.push(Item{}, Item{})
		time.Sleep(20 * time.Second)
		stop()
		if s := b.stats(); s.Totals.Done != 12 || s.Totals.Shed != 5 || s.Totals.WorkMS != 24_000 || s.Totals.WaitMS == 0 {
			t.Errorf("%+v", s)
		}
		fill(store.High)
		if _, full := fill(store.High); full.RetryAfter != time.Second {
			t.Errorf("with 2 s an item and 2 at a time: %v", full)
		}
	})
}

// At most so many at once, of all and of one owner; others are not held up by an
// owner who has reached that.
func TestLimits(t *testing.T) {
	inBubble(t, Settings{Concurrency: 3, PerOwner: 2}, func(t *testing.T, b *bench) {
		for i := range 4 {
			b.push(Item{ID: fmt.Sprintf("a%d", i), Owner: "ada"})
		}
		b.push(Item{ID: "b0", Owner: "bob", Priority: store.Low}, Item{ID: "n0", Priority: store.Low})
		var r record
		running, most := map[string]int{}, map[string]int{}
		var mu sync.Mutex
		note := func(owner string, n int) {
			mu.Lock()
			defer mu.Unlock()
			for _, who := range []string{owner, "all"} {
				running[who] += n
				most[who] = max(most[who], running[who])
			}
		}
		work := func(_ context.Context, d Delivery) error {
			r.add("%s", d.ID[:1])
			note(d.Owner, 1)
			time.Sleep(time.Minute)
			note(d.Owner, -1)
			return nil
		}
		stop, other := b.run(work), b.run(work) // as two processes would
		time.Sleep(time.Hour)
		stop()
		other()
		if most["all"] != 3 || most["ada"] != 2 {
			t.Errorf("%v at once", most)
		}
		lines := strings.Split(r.String(), ", ")
		slices.Sort(lines[:3])
		if got := strings.Join(lines[:3], ""); got != "aab" || len(lines) != 6 {
			t.Errorf("begun %s", r.String())
		}
	})
}

// A worker that lives keeps its item however long it takes.
func TestHeartbeat(t *testing.T) {
	inBubble(t, Settings{}, func(t *testing.T, b *bench) {
		b.push(Item{ID: "a", Again: Always})
		n := 0
		stop := b.run(func(context.Context, Delivery) error {
			n++
			time.Sleep(10 * lease)
			return nil
		})
		time.Sleep(5 * lease)
		if s := b.stats(); s.Running != 1 || s.Waiting != 0 {
			t.Errorf("%+v", s)
		}
		time.Sleep(20 * lease)
		stop()
		if s := b.stats(); n != 1 || s.Totals.Done != 1 || s.Totals.TakenOver != 0 {
			t.Errorf("begun %d times, %+v", n, s)
		}
	})
}

// What a lost worker had goes to another when it says so, and is a dead letter
// otherwise.
func TestTakeOver(t *testing.T) {
	for again, want := range map[Again]string{Always: "2 true", TakeOver: "2 true", Never: ""} {
		inBubble(t, Settings{}, func(t *testing.T, b *bench) {
			b.push(Item{ID: "a", Again: again})
			if _, err := b.jobs.Pull(t.Context(), 0); err != nil { // and never comes back
				t.Fatal(err)
			}
			var r record
			stop := b.run(func(_ context.Context, d Delivery) error { r.add("%d %v", d.Attempt, d.TakenOver); return nil })
			time.Sleep(lease - time.Second)
			if r.String() != "" {
				t.Errorf("taken over early: %s", r.String())
			}
			time.Sleep(2 * time.Second)
			stop()
			if dead := b.dead(); r.String() != want || (len(dead) == 1) != (again == Never) {
				t.Errorf("%q: worked on %q; dead %+v", again, r.String(), dead)
			}
			if s := b.stats(); s.Totals.TakenOver != 1 {
				t.Errorf("%+v", s)
			}
		})
	}
}

// An item that loses each of its workers is a dead letter, too.
func TestLostAgainAndAgain(t *testing.T) {
	inBubble(t, Settings{}, func(t *testing.T, b *bench) {
		b.push(Item{ID: "a", Again: Always})
		for range 4 {
			if _, err := b.jobs.Pull(t.Context(), time.Hour); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(lease + time.Second)
		stop := b.run(func(context.Context, Delivery) error { t.Error("begun again"); return nil })
		time.Sleep(time.Second)
		stop()
		if dead := b.dead(); len(dead) != 1 || dead[0].Why != lost || dead[0].Attempts != 4 {
			t.Errorf("%+v", dead)
		}
	})
}

// Work that lost its item, because it was cancelled, is told to end, and what it
// returns does not count.
func TestCancel(t *testing.T) {
	inBubble(t, Settings{}, func(t *testing.T, b *bench) {
		b.push(Item{ID: "a", Again: Always})
		var cause error
		stop := b.run(func(ctx context.Context, _ Delivery) error {
			<-ctx.Done()
			cause = context.Cause(ctx)
			return nil
		})
		time.Sleep(time.Second)
		if err := b.Cancel(t.Context(), "a"); err != nil {
			t.Error(err)
		}
		time.Sleep(lease)
		stop()
		if s := b.stats(); !errors.Is(cause, ErrLost) || s.Totals.Done != 0 || s.Totals.Cancelled != 1 || s.Waiting+s.Running+s.DeadLetters != 0 {
			t.Errorf("%v, %+v", cause, s)
		}
	})
}

// A queue that shuts down begins nothing more, lets work end, and gives back what
// does not, with all its attempts.
func TestDrain(t *testing.T) {
	inBubble(t, Settings{Concurrency: 4, Drain: time.Minute}, func(t *testing.T, b *bench) {
		for _, i := range []Item{{ID: "quick"}, {ID: "slow", Again: Always}, {ID: "resumes", Again: TakeOver}, {ID: "never"}} {
			b.push(i)
		}
		stop := b.run(func(ctx context.Context, d Delivery) error {
			if d.ID == "quick" {
				time.Sleep(30 * time.Second)
				return nil
			}
			<-ctx.Done()
			return context.Cause(ctx)
		})
		time.Sleep(time.Second)
		b.push(Item{ID: "next"})
		begin := time.Now()
		if err := stop(); err != nil || time.Since(begin) != time.Minute {
			t.Errorf("%v after %v", err, time.Since(begin))
		}
		var got []string
		all, err := b.List(t.Context())
		for _, w := range all {
			got = append(got, fmt.Sprint(w.ID, w.Begun, w.Running))
		}
		slices.Sort(got)
		if want := "next0 false, resumes0 false, slow0 false"; err != nil || strings.Join(got, ", ") != want {
			t.Errorf("got %q, %v", got, err)
		}
		if dead := b.dead(); len(dead) != 1 || dead[0].ID != "never" || dead[0].Why != ErrDraining.Error() {
			t.Errorf("%+v", dead)
		}
		if on, off := b.told("system.worker_online"), b.told("system.worker_offline"); len(on) != 1 || len(off) != 1 {
			t.Errorf("%q, %q", on, off)
		}
	})
}

// Work that does not listen holds nothing up for ever.
func TestUndrained(t *testing.T) {
	inBubble(t, Settings{Drain: time.Minute}, func(t *testing.T, b *bench) {
		b.push(Item{ID: "deaf"})
		stop := b.run(func(context.Context, Delivery) error { time.Sleep(time.Hour); return nil })
		time.Sleep(time.Second)
		if err := stop(); !errors.Is(err, ErrUndrained) || !strings.Contains(err.Error(), "deaf") {
			t.Error(err)
		}
		time.Sleep(2 * time.Hour)
	})
}

func TestRefused(t *testing.T) {
	inBubble(t, Settings{}, func(t *testing.T, b *bench) {
		long := strings.Repeat("x", MaxLabel+1)
		many := map[string]string{}
		for i := range MaxMeta + 1 {
			many[fmt.Sprint(i)] = ""
		}
		for _, i := range []Item{
			{ID: long}, {ID: "a\nb"}, {Owner: long}, {Owner: "\xff"}, {Priority: store.Low + 1}, {After: -1}, {Attempts: -1}, {Again: "sometimes"},
			{Meta: many}, {Meta: map[string]string{"": "x"}}, {Meta: map[string]string{"k": long}}, {Body: make([]byte, MaxBody+1)},
		} {
			if _, err := b.Push(t.Context(), i); !errors.Is(err, ErrInvalid) {
				t.Errorf("%.60v: %v", i, err)
			}
		}
		b.push(Item{Body: make([]byte, MaxBody), Owner: strings.Repeat("x", MaxLabel)})
	})
}

// What cannot be read is a dead letter, and does not stop the others.
func TestUnreadable(t *testing.T) {
	inBubble(t, Settings{}, func(t *testing.T, b *bench) {
		for id, body := range map[string]string{"none": "", "broken": "{\n", "wrong": "{\"again\":\"sometimes\"}\n"} {
			if err := b.jobs.Push(t.Context(), store.Job{ID: id, Body: []byte(body)}); err != nil {
				t.Fatal(err)
			}
		}
		b.push(Item{ID: "whole"})
		if all, err := b.List(t.Context()); err != nil || len(all) != 4 {
			t.Errorf("%v, %v", all, err)
		}
		stop := b.run(func(context.Context, Delivery) error { return nil })
		time.Sleep(time.Second)
		stop()
		if dead := b.dead(); len(dead) != 3 || dead[0].ID != "broken" || dead[0].Why == "" || b.stats().Totals.Done != 1 {
			t.Errorf("%+v", dead)
		}
	})
}

func FuzzItem(f *testing.F) {
	f.Add([]byte(`{"owner":"ada","again":"always","meta":{"k":"v"},"pushed":"2026-01-01T00:00:00Z"}` + "\nbody"))
	f.Add([]byte("{}\n"))
	f.Add([]byte("\n\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		i, _, err := itemOf(store.Job{ID: "a", Body: b})
		if err != nil {
			return
		}
		job, err := i.job(time.Now())
		if err != nil {
			t.Fatal(err)
		}
		again, _, err := itemOf(job)
		if err != nil || fmt.Sprint(again) != fmt.Sprint(i) {
			t.Errorf("%+v became %+v, %v", i, again, err)
		}
	})
}
