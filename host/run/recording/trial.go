package recording

import (
	"bytes"
	"context"
	"encoding/json"
	"math/rand/v2"
	"strconv"
	"sync"

	"github.com/skillet-run/skillet/host/engine/jail"
	"github.com/skillet-run/skillet/host/engine/sandbox/wasi"
	"github.com/skillet-run/skillet/host/run/hostfn"
)

// A Trial shows another version of a guest what the recorded call saw: give it to
// a call as both its tapes. It has nothing real behind it. What was asked before
// is answered as before, in whatever order it is asked; request data counts as
// the same when it is the same JSON. Anything else is answered with an error of
// its own ([hostfn.KindNotRecorded], [wasi.NotRecorded]) and noted. Readings of
// the clock beyond the recorded ones go on from the last, a millisecond each, and
// randomness beyond it comes from a fixed seed. Files are what the recorded call
// saw of them; what is written to them is seen by nobody else.
//
// It is safe for concurrent use, and good for one call.
type Trial struct {
	r *Recording

	mu     sync.Mutex
	calls  map[string][]int // events that nobody has asked for yet, by what they ask
	used   map[int]bool
	asked  []*Call // that were not recorded
	looks  [2]int  // beyond what was recorded: clocks, random
	clocks [2]struct {
		next []int64
		last int64
	}
	random []Bytes
	rng    *rand.ChaCha8
	disk   *disk
}

var (
	_ hostfn.Tape = (*Trial)(nil)
	_ wasi.Tape   = (*Trial)(nil)
)

// Try makes a Trial.
func Try(r *Recording) *Trial {
	t := &Trial{r: r, calls: map[string][]int{}, used: map[int]bool{}, rng: rand.NewChaCha8([32]byte{})}
	for i, e := range r.Events {
		switch {
		case e.Call != nil:
			key := e.Call.key()
			t.calls[key] = append(t.calls[key], i)
		case e.Clock != nil:
			c := &t.clocks[clockNumber(e.Clock.ID)]
			c.next = append(c.next, e.Clock.Now)
		case e.Random != nil:
			t.random = append(t.random, *e.Random)
		}
	}
	t.disk = newDisk(r)
	return t
}

// key is the same for calls that ask for the same.
func (c *Call) key() string {
	return c.Name + "\x00" + canonical(c.Request) + "\x00" + string(c.Body)
}

// canonical is the same for data that is the same JSON.
func canonical(m Meta) string {
	d := json.NewDecoder(bytes.NewReader(m))
	d.UseNumber()
	var v any
	if d.Decode(&v) != nil || d.More() {
		return string(m)
	}
	b, err := json.Marshal(v)
	if err != nil {
		return string(m)
	}
	return string(b)
}

// HostCall answers what was asked before.
func (t *Trial) HostCall(ctx context.Context, c hostfn.HostCall, act func(context.Context) hostfn.Answer) (hostfn.Answer, error) {
	if c.Own {
		return act(ctx), nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	ask := &Call{Name: c.Name, Request: bytes.Clone(c.Meta), Body: bytes.Clone(c.Body)}
	waiting := t.calls[ask.key()]
	if len(waiting) == 0 {
		if len(t.asked) < maxList {
			t.asked = append(t.asked, ask)
		}
		return hostfn.Refused(hostfn.KindNotRecorded, "this is a replay, and the recorded call did not ask for this"), nil
	}
	t.calls[ask.key()], t.used[waiting[0]] = waiting[1:], true
	answer := t.r.Events[waiting[0]].Call
	return hostfn.Answer{Meta: []byte(answer.Answer), Body: answer.AnswerBody}, nil
}

// clockStep is how far a clock moves with each reading that was not recorded, in
// nanoseconds.
const clockStep = 1e6

// Clock returns the recorded reading of a clock.
func (t *Trial) Clock(id uint32, _ func() int64) (int64, wasi.Errno) {
	t.mu.Lock()
	defer t.mu.Unlock()
	c := &t.clocks[id]
	if len(c.next) == 0 {
		c.last += clockStep
		t.looks[0]++
		return c.last, wasi.Success
	}
	c.last, c.next = c.next[0], c.next[1:]
	return c.last, wasi.Success
}

// Random gives what was drawn.
func (t *Trial) Random(b []byte, _ func([]byte)) wasi.Errno {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.random) > 0 && len(t.random[0]) == len(b) {
		copy(b, t.random[0])
		t.random = t.random[1:]
		return wasi.Success
	}
	t.looks[1]++
	_, _ = t.rng.Read(b) // which never fails
	return wasi.Success
}

// Waits reports false: nothing is waited for.
func (t *Trial) Waits() bool { return false }

// Files shows the recorded file tree.
func (t *Trial) Files(_ func(func(*jail.QuotaError)) wasi.FS, _ func(*jail.QuotaError)) wasi.FS {
	if t.r.Files == nil {
		return nil
	}
	return &tree{d: t.disk}
}

// A Change is something a guest asks for that the recorded call did not, or no
// more, or in another way.
type Change struct {
	// Kind is "added", "missing" or "changed".
	Kind string `json:"kind"`
	// What is in words what is asked, and Was what was asked in its place; empty
	// unless changed.
	What string `json:"what"`
	Was  string `json:"was,omitempty"`
	// Count is how often; at least 1.
	Count int `json:"count"`
}

// The kinds of a Change.
const (
	Added   = "added"
	Missing = "missing"
	Changed = "changed"
)

// Changes are what the guest asked for otherwise than the recorded call did, when
// the call is over: calls of host functions that were not recorded, each beside
// the recorded one of the same function that it may stand for; recorded ones that
// were not made; files; looks at the clock and at randomness beyond the recorded.
func (t *Trial) Changes() []Change {
	t.mu.Lock()
	defer t.mu.Unlock()
	var all []Change
	left := t.unused()
	for _, ask := range t.asked {
		if i := t.counterpart(left, ask.Name); i >= 0 {
			all = count(all, Change{Kind: Changed, What: ask.String(), Was: t.r.Events[left[i]].Call.String()})
			left = append(left[:i:i], left[i+1:]...)
			continue
		}
		all = count(all, Change{Kind: Added, What: ask.String()})
	}
	for _, i := range left {
		all = count(all, Change{Kind: Missing, What: t.r.Events[i].Call.String()})
	}
	all = append(all, t.disk.changes()...)
	for i, what := range []string{"read the clock", "draw randomness"} {
		if n := t.looks[i]; n > 0 {
			all = append(all, Change{Kind: Added, What: what + " beyond what was recorded", Count: n})
		}
	}
	return all
}

// unused are the events of calls that were not made.
func (t *Trial) unused() (left []int) {
	for i, e := range t.r.Events {
		if e.Call != nil && !t.used[i] {
			left = append(left, i)
		}
	}
	return left
}

// counterpart finds among events the first call of a function, -1 for none.
func (t *Trial) counterpart(events []int, name string) int {
	for at, i := range events {
		if t.r.Events[i].Call.Name == name {
			return at
		}
	}
	return -1
}

// count adds a change, or counts one that is there.
func count(all []Change, c Change) []Change {
	for i := range all {
		if all[i].Kind == c.Kind && all[i].What == c.What && all[i].Was == c.Was {
			all[i].Count++
			return all
		}
	}
	c.Count = 1
	return append(all, c)
}

// String says in words what is otherwise.
func (c Change) String() string {
	times := ""
	if c.Count > 1 {
		times = ", " + strconv.Itoa(c.Count) + " times"
	}
	switch c.Kind {
	case Added:
		return "asks for what was not asked before: " + c.What + times
	case Missing:
		return "does not ask any more: " + c.What + times
	}
	return "asks " + c.What + times + " (before: " + c.Was + ")"
}
