package storetest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/skillet-run/skillet/host/base/store"
)

var queueTests = []test{
	{"Queue/order", queueOrder},
	{"Queue/empty", queueEmpty},
	{"Queue/an ID is one job", queueDedupe},
	{"Queue/a finished ID is forgotten", queueForgets},
	{"Queue/delay", queueDelay},
	{"Queue/waiting pull wakes up", queueWakes},
	{"Queue/queues are apart", queuesApart},
	{"Queue/limits", queueLimits},
	{"Queue/who takes only some", queueTakes},
	{"Queue/list and remove", queueLists},
	{"Queue/racing workers", racingWorkers},
}

var claimTests = []test{
	{"Claim/comes back after its lease", leaseEnds},
	{"Claim/extended", leaseExtended},
	{"Claim/stale is refused", staleClaim},
	{"Claim/retry", retryLater},
	{"Claim/dead by retries", deadByRetry},
	{"Claim/dead by lost leases", deadByLease},
	{"Claim/revived", revived},
	{"Claim/released", released},
	{"Claim/buried", buried},
	{"Claim/taken over", takenOver},
}

func push(t *testing.T, s store.Store, jobs ...store.Job) {
	t.Helper()
	for _, j := range jobs {
		ok(t, s.Queue("q").Push(t.Context(), j))
	}
}

func pull(t *testing.T, s store.Store, wait time.Duration) store.Claim {
	t.Helper()
	return must(s.Queue("q").Pull(t.Context(), wait))(t)
}

func nothing(t *testing.T, s store.Store) {
	t.Helper()
	if c, err := s.Queue("q").Pull(t.Context(), 0); !errors.Is(err, store.ErrEmpty) {
		t.Fatalf("Pull = %v, %v; want ErrEmpty", c, err)
	}
}

func queueOrder(t *testing.T, s store.Store) {
	for _, id := range []string{"low", "normal 2", "normal 1", "high"} {
		p := map[byte]store.Priority{'l': store.Low, 'n': store.Normal, 'h': store.High}[id[0]]
		push(t, s, store.Job{ID: id, Priority: p, Body: []byte("body of " + id)})
		time.Sleep(time.Millisecond) // the clock decides among equals
	}
	for _, want := range []string{"high", "normal 2", "normal 1", "low"} {
		c := pull(t, s, 0)
		if j := c.Job(); j.ID != want || string(j.Body) != "body of "+want || c.Attempt() != 1 {
			t.Errorf("got %+v at attempt %d, want %s", j, c.Attempt(), want)
		}
		ok(t, c.Done(t.Context()))
	}
	nothing(t, s)
}

func queueEmpty(t *testing.T, s store.Store) {
	nothing(t, s)
	begin := time.Now()
	if _, err := s.Queue("q").Pull(t.Context(), moment); !errors.Is(err, store.ErrEmpty) || time.Since(begin) < moment {
		t.Errorf("Pull = %v after %v", err, time.Since(begin))
	}
	ctx, cancel := context.WithTimeout(t.Context(), moment)
	defer cancel()
	if _, err := s.Queue("q").Pull(ctx, time.Hour); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Pull = %v, want the deadline", err)
	}
	if dead := must(s.Queue("q").Dead(t.Context()))(t); len(dead) != 0 {
		t.Errorf("dead: %v", dead)
	}
}

func queueDedupe(t *testing.T, s store.Store) {
	push(t, s, store.Job{ID: "a", Body: []byte("1")}, store.Job{ID: "a", Body: []byte("2")})
	c := pull(t, s, 0)
	push(t, s, store.Job{ID: "a"}) // while claimed
	nothing(t, s)
	if string(c.Job().Body) != "1" {
		t.Errorf("the second push replaced the body by %q", c.Job().Body)
	}
	ok(t, c.Done(t.Context()))
	push(t, s, store.Job{ID: "a"}) // finished a moment ago
	nothing(t, s)
}

func queueForgets(t *testing.T, s store.Store) {
	for i := range 10 {
		push(t, s, store.Job{ID: fmt.Sprint(i)})
		ok(t, pull(t, s, 0).Done(t.Context()))
	}
	time.Sleep(remember + moment)
	for i := range 10 {
		push(t, s, store.Job{ID: fmt.Sprint(i)})
		ok(t, pull(t, s, 0).Done(t.Context()))
	}
}

func queueDelay(t *testing.T, s store.Store) {
	const delay = 300 * time.Millisecond
	begin := time.Now()
	push(t, s, store.Job{ID: "late", Priority: store.High, After: delay})
	push(t, s, store.Job{ID: "now", Priority: store.Low})
	if c := pull(t, s, 10*time.Second); c.Job().ID != "now" {
		t.Errorf("got %s first", c.Job().ID)
	}
	c := pull(t, s, 10*time.Second)
	if took := time.Since(begin); c.Job().ID != "late" || took < delay {
		t.Errorf("got %s after %v", c.Job().ID, took)
	}
}

func queueWakes(t *testing.T, s store.Store) {
	got := make(chan string, 1)
	go func() {
		c, err := s.Queue("q").Pull(t.Context(), time.Minute)
		if err != nil {
			got <- err.Error()
			return
		}
		got <- c.Job().ID
	}()
	time.Sleep(moment)
	push(t, s, store.Job{ID: "a"})
	if id := next(t, got); id != "a" {
		t.Errorf("Pull gave %s", id)
	}
}

func queuesApart(t *testing.T, s store.Store) {
	push(t, s, store.Job{ID: "a"})
	for _, name := range []string{"r", "q2", "qq"} {
		if _, err := s.Queue(name).Pull(t.Context(), 0); !errors.Is(err, store.ErrEmpty) {
			t.Errorf("queue %s: %v", name, err)
		}
	}
	ok(t, s.Queue("q2").Push(t.Context(), store.Job{ID: "a"}))
	pull(t, s, 0)
	nothing(t, s)
}

func queueLimits(t *testing.T, s store.Store) {
	for name, j := range map[string]store.Job{
		"no ID":    {},
		"bad ID":   {ID: "a\x00"},
		"large":    {ID: "a", Body: make([]byte, store.MaxValue+1)},
		"priority": {ID: "a", Priority: store.Low + 1},
	} {
		err := s.Queue("q").Push(t.Context(), j)
		if !errors.Is(err, store.ErrInvalid) && !errors.Is(err, store.ErrTooLarge) {
			t.Errorf("%s: Push = %v", name, err)
		}
	}
	if err := s.Queue("").Push(t.Context(), store.Job{ID: "a"}); !errors.Is(err, store.ErrInvalid) {
		t.Errorf("queue without a name: %v", err)
	}
	nothing(t, s)
	push(t, s, store.Job{ID: "a", Body: make([]byte, store.MaxValue)})
	if c := pull(t, s, 0); len(c.Job().Body) != store.MaxValue {
		t.Errorf("the largest body came back with %d bytes", len(c.Job().Body))
	}
}

func racingWorkers(t *testing.T, s store.Store) {
	const jobs = 24
	for i := range jobs {
		push(t, s, store.Job{ID: fmt.Sprintf("%02d", i)})
	}
	var mu sync.Mutex
	var done []string
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for {
				c, err := s.Queue("q").Pull(t.Context(), 0)
				if errors.Is(err, store.ErrEmpty) {
					return
				}
				if err == nil {
					err = c.Done(t.Context())
				}
				if errors.Is(err, store.ErrStale) {
					continue // the machine was slower than the lease
				}
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				done = append(done, c.Job().ID)
				mu.Unlock()
			}
		})
	}
	all.Wait()
	slices.Sort(done)
	if len(slices.Compact(slices.Clone(done))) != len(done) {
		t.Errorf("a job was finished twice: %v", done)
	}
}

func leaseEnds(t *testing.T, s store.Store) {
	push(t, s, store.Job{ID: "a", Body: []byte("b")})
	begin := time.Now()
	pull(t, s, 0)
	c := pull(t, s, 20*time.Second)
	if took := time.Since(begin); took < lease || c.Attempt() != 2 || string(c.Job().Body) != "b" {
		t.Errorf("attempt %d after %v: %+v", c.Attempt(), took, c.Job())
	}
	ok(t, c.Done(t.Context()))
}

func leaseExtended(t *testing.T, s store.Store) {
	inTime(t, func(name string) (extended time.Time, err error) {
		q := s.Queue(name)
		ok(t, q.Push(t.Context(), store.Job{ID: "a"}))
		extended = time.Now()
		c := must(q.Pull(t.Context(), 0))(t)
		for range 4 {
			time.Sleep(lease * 4 / 10)
			now := time.Now()
			if err := c.Extend(t.Context()); err != nil {
				return extended, err
			}
			extended = now
		}
		if other, err := q.Pull(t.Context(), 0); !errors.Is(err, store.ErrEmpty) {
			return extended, fmt.Errorf("pull = %v, %v; want ErrEmpty", other, err)
		}
		return extended, c.Done(t.Context())
	})
}

func staleClaim(t *testing.T, s store.Store) {
	push(t, s, store.Job{ID: "a"})
	old := pull(t, s, 0)
	current := pull(t, s, 20*time.Second)
	refuse := func(when string, c store.Claim) {
		t.Helper()
		for name, err := range map[string]error{
			"Extend": c.Extend(t.Context()), "Done": c.Done(t.Context()), "Retry": c.Retry(t.Context(), 0),
			"Release": c.Release(t.Context(), 0), "Bury": c.Bury(t.Context(), "x"),
		} {
			if !errors.Is(err, store.ErrStale) {
				t.Errorf("%s: %s = %v, want ErrStale", when, name, err)
			}
		}
	}
	refuse("taken over", old)
	ok(t, current.Done(t.Context()))
	refuse("finished by another", old)
	refuse("finished", current)
	nothing(t, s)
}

func retryLater(t *testing.T, s store.Store) {
	push(t, s, store.Job{ID: "a"})
	c := pull(t, s, 0)
	begin := time.Now()
	ok(t, c.Retry(t.Context(), 200*time.Millisecond))
	if err := c.Done(t.Context()); !errors.Is(err, store.ErrStale) {
		t.Errorf("Done after Retry = %v, want ErrStale", err)
	}
	again := pull(t, s, 20*time.Second)
	if took := time.Since(begin); again.Attempt() != 2 || took < 200*time.Millisecond {
		t.Errorf("attempt %d after %v", again.Attempt(), took)
	}
}

// kill uses up the attempts of the only job.
func kill(t *testing.T, s store.Store) {
	t.Helper()
	for i := range attempts {
		c := pull(t, s, 20*time.Second)
		if c.Attempt() != i+1 {
			t.Fatalf("attempt %d, want %d", c.Attempt(), i+1)
		}
		ok(t, c.Retry(t.Context(), 0))
	}
}

func deadByRetry(t *testing.T, s store.Store) {
	push(t, s, store.Job{ID: "a", Priority: store.Low, Body: []byte("b")})
	kill(t, s)
	nothing(t, s)
	dead := must(s.Queue("q").Dead(t.Context()))(t)
	if len(dead) != 1 || dead[0].ID != "a" || string(dead[0].Body) != "b" || dead[0].Priority != store.Low {
		t.Errorf("dead: %+v", dead)
	}
	push(t, s, store.Job{ID: "a"}) // known
	nothing(t, s)
}

func deadByLease(t *testing.T, s store.Store) {
	push(t, s, store.Job{ID: "a"})
	var last store.Claim
	for range attempts {
		last = pull(t, s, 20*time.Second)
	}
	eventually(t, func() bool {
		nothing(t, s)
		return len(must(s.Queue("q").Dead(t.Context()))(t)) == 1
	})
	if err := last.Done(t.Context()); !errors.Is(err, store.ErrStale) {
		t.Errorf("Done of a dead job = %v, want ErrStale", err)
	}
}

func revived(t *testing.T, s store.Store) {
	if err := s.Queue("q").Revive(t.Context(), "a"); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("Revive of nothing = %v, want ErrNotFound", err)
	}
	push(t, s, store.Job{ID: "a", Body: []byte("b")})
	kill(t, s)
	ok(t, s.Queue("q").Revive(t.Context(), "a"))
	c := pull(t, s, 0)
	if c.Attempt() != 1 || string(c.Job().Body) != "b" {
		t.Errorf("revived: attempt %d, %+v", c.Attempt(), c.Job())
	}
	if dead := must(s.Queue("q").Dead(t.Context()))(t); len(dead) != 0 {
		t.Errorf("dead: %v", dead)
	}
}

// A job that is refused stays for others, in its place, and who refuses sees what is
// claimed.
func queueTakes(t *testing.T, s store.Store) {
	push(t, s, store.Job{ID: "a", Priority: store.High, Body: []byte("1")}, store.Job{ID: "b", Priority: store.Low}, store.Job{ID: "later", After: time.Hour})
	q := s.Queue("q")
	var asked []string
	only := func(id string) func(store.Job, []store.Job) bool {
		asked = nil
		return func(j store.Job, claimed []store.Job) bool {
			asked = append(asked, fmt.Sprintf("%s%s %d", j.ID, j.Body, len(claimed)))
			return j.ID == id
		}
	}
	b := must(q.PullIf(t.Context(), 0, only("b")))(t)
	if got := strings.Join(asked, ", "); b.Job().ID != "b" || got != "a1 0, b 0" {
		t.Errorf("got %s; was asked about %s", b.Job().ID, got)
	}
	if c, err := q.PullIf(t.Context(), moment, only("b")); !errors.Is(err, store.ErrEmpty) || asked[0] != "a1 1" {
		t.Errorf("PullIf = %v, %v; was asked about %s", c, err, asked)
	}
	if a := pull(t, s, 0); a.Job().ID != "a" {
		t.Errorf("got %s", a.Job().ID)
	}
}

func queueLists(t *testing.T, s store.Store) {
	q := s.Queue("q")
	push(t, s, store.Job{ID: "late", Priority: store.Normal, After: time.Hour}, store.Job{ID: "low", Priority: store.Low}, store.Job{ID: "high", Body: []byte("b")})
	pull(t, s, 0)
	var got []string
	for _, j := range must(q.List(t.Context()))(t) {
		got = append(got, fmt.Sprint(j.ID, j.Priority, string(j.Body), j.Attempt, j.Claimed, j.Ready.After(time.Now().Add(lease*2))))
	}
	if want := []string{"high0b1 true false", "late10 false true", "low20 false false"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	for _, id := range []string{"high", "late", "low"} {
		ok(t, q.Remove(t.Context(), id))
		if err := q.Remove(t.Context(), id); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("Remove of nothing = %v, want ErrNotFound", err)
		}
	}
	if all := must(q.List(t.Context()))(t); len(all) != 0 {
		t.Errorf("left: %v", all)
	}
	push(t, s, store.Job{ID: "high"}) // it is not known any more
	c := pull(t, s, 0)
	ok(t, q.Remove(t.Context(), "high"))
	if err := c.Done(t.Context()); !errors.Is(err, store.ErrStale) {
		t.Errorf("Done of a removed job = %v, want ErrStale", err)
	}
}

func released(t *testing.T, s store.Store) {
	push(t, s, store.Job{ID: "a", Body: []byte("b")})
	for range attempts + 2 {
		c := pull(t, s, 20*time.Second)
		if c.Attempt() != 1 || c.TakenOver() {
			t.Fatalf("attempt %d, taken over %v", c.Attempt(), c.TakenOver())
		}
		begin := time.Now()
		ok(t, c.Release(t.Context(), moment))
		again := pull(t, s, 20*time.Second)
		if took := time.Since(begin); took < moment {
			t.Errorf("handed out again after %v", took)
		}
		ok(t, again.Release(t.Context(), 0))
	}
}

func buried(t *testing.T, s store.Store) {
	q := s.Queue("q")
	push(t, s, store.Job{ID: "a", Priority: store.Low, Body: []byte("b")})
	ok(t, pull(t, s, 0).Bury(t.Context(), "no use"))
	nothing(t, s)
	dead := must(q.Dead(t.Context()))(t)
	if len(dead) != 1 || dead[0].ID != "a" || string(dead[0].Body) != "b" || dead[0].Note != "no use" || dead[0].Attempt != 1 || time.Since(dead[0].At) > time.Minute {
		t.Fatalf("dead: %+v", dead)
	}
	ok(t, q.Revive(t.Context(), "a"))
	c := pull(t, s, 0)
	if c.Attempt() != 1 || c.TakenOver() {
		t.Errorf("revived: attempt %d, taken over %v", c.Attempt(), c.TakenOver())
	}
	ok(t, c.Bury(t.Context(), strings.Repeat("é", store.MaxKey)))
	if n := len(must(q.Dead(t.Context()))(t)[0].Note); n < store.MaxKey-1 || n > store.MaxKey {
		t.Errorf("a note of %d bytes is kept", n)
	}
	ok(t, q.Remove(t.Context(), "a"))
	if dead := must(q.Dead(t.Context()))(t); len(dead) != 0 {
		t.Errorf("dead: %+v", dead)
	}
}

func takenOver(t *testing.T, s store.Store) {
	push(t, s, store.Job{ID: "a"})
	if c := pull(t, s, 0); c.TakenOver() {
		t.Error("the first claim took something over")
	}
	c := pull(t, s, 20*time.Second)
	if !c.TakenOver() || c.Attempt() != 2 {
		t.Errorf("attempt %d, taken over %v", c.Attempt(), c.TakenOver())
	}
	ok(t, c.Retry(t.Context(), 0))
	if c := pull(t, s, 20*time.Second); c.TakenOver() {
		t.Error("what was given back was not taken over")
	}
}
