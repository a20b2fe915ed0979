package memory

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/skillet-run/skillet/host/agents/event"
	"github.com/skillet-run/skillet/host/agents/memory/hashing"
	"github.com/skillet-run/skillet/host/base/store"
)

func consolidate(t testing.TB, m *Memory) Outcome {
	t.Helper()
	o, err := m.Consolidate(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return o
}

const week = 7 * 24 * time.Hour

// What says the same in one area and type becomes one record with everything that was
// in them; what only looks alike stays.
func TestRepeatedIsMerged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := open(t, newStore(t), hashing.New(0), Settings{})
		all := add(t, m,
			Draft{Text: "The build needs Go 1.26.", Tags: []string{"go"}, Metadata: map[string]string{"from": "a"}},
			Draft{Text: "the build needs GO 1.26", Tags: []string{"build"}, Metadata: map[string]string{"from": "b", "n": "1"}},
			Draft{Text: "the build needs GO 1.26", Type: FailurePattern, Failed: true},
			Draft{Text: "the build needs go 1.26", Pinned: true},
			Draft{Text: "Lisbon is mild in winter"})
		search(t, m, Query{Text: "build", Filter: Filter{Tags: []string{"go"}}})
		o := consolidate(t, m)
		if o.Merged != 2 || o.Made != 1 || o.Forgotten != 0 || o.Records != 4 || o.Unfinished {
			t.Fatalf("%+v", o)
		}
		found, err := m.List(t.Context(), Filter{Tags: []string{"go", "build"}}, 0)
		if err != nil || len(found) != 1 {
			t.Fatal(found, err)
		}
		f := found[0]
		if f.Text != "The build needs Go 1.26." || f.Metadata["n"] != "1" || len(f.Sources) != 2 || f.Retrievals != 1 || f.Area != Fragments || !f.Created.Equal(all[0].Created) {
			t.Errorf("%+v", f)
		}
		if o := consolidate(t, m); o.Merged+o.Made+o.Swept != 0 {
			t.Errorf("and again: %+v", o)
		}
	})
}

// What an agent said comes behind the same of a person, also when it is later; merged with
// it, it stays known as the agent's.
func TestSaidByAnAgent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := open(t, newStore(t), hashing.New(0), Settings{})
		all := add(t, m, Draft{Text: "The deploy port is 8443."})
		time.Sleep(time.Hour)
		add(t, m, Draft{Text: "The deploy port is 6666.", Area: Main, Metadata: map[string]string{By: "agent:evil"}, Task: "t-1"})
		if found := search(t, m, Query{Text: "deploy port", Quiet: true}); len(found) != 2 || found[0].ID != all[0].ID || found[1].Origin() != "agent:evil" {
			t.Errorf("%+v", found)
		}
		add(t, m, Draft{Text: "the deploy port is 6666", Area: Main}, Draft{Text: "THE DEPLOY PORT IS 6666", Area: Main, Metadata: map[string]string{By: "host"}})
		if o := consolidate(t, m); o.Merged != 3 {
			t.Fatalf("%+v", o)
		}
		found, err := m.List(t.Context(), Filter{Areas: []Area{Main}}, 0)
		if err != nil || len(found) != 1 || !found[0].SaidByAgent() {
			t.Errorf("%+v, %v", found, err)
		}
	})
}

// Old fragments that belong together become a solution; young ones, and what has
// nothing to do with it, stay.
func TestFragmentsAreMerged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := open(t, newStore(t), hashing.New(0), Settings{Consolidation: Consolidation{Related: 0.3}})
		add(t, m,
			Draft{Text: "The invoice parser reads PDF invoices."},
			Draft{Text: "The invoice parser fails on scanned PDF invoices.", Type: TaskExecution},
			Draft{Text: "Cats sleep all day."})
		time.Sleep(week + time.Hour)
		add(t, m, Draft{Text: "The invoice parser reads PDF invoices from mail."})
		if o := consolidate(t, m); o.Merged != 2 || o.Made != 1 {
			t.Fatalf("%+v", o)
		}
		got, err := m.List(t.Context(), Filter{Areas: []Area{Solutions}}, 0)
		if err != nil || len(got) != 1 || got[0].Text != "The invoice parser reads PDF invoices.\nThe invoice parser fails on scanned PDF invoices." || got[0].Type != Knowledge {
			t.Errorf("%+v, %v", got, err)
		}
		if got := texts(t, m, Filter{Areas: []Area{Fragments}}); len(got) != 2 {
			t.Errorf("%q", got)
		}
	})
}

// Forgotten is what is unimportant for long, and the least important of too much;
// never what is pinned.
func TestForgetting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := open(t, newStore(t), hashing.New(0), Settings{Consolidation: Consolidation{Records: 4}})
		add(t, m,
			Draft{Text: "old failure", Type: FailurePattern, Failed: true},
			Draft{Text: "pinned failure", Type: FailurePattern, Failed: true, Pinned: true},
			Draft{Text: "useful failure", Type: FailurePattern, Failed: true, Area: Instruments},
			Draft{Text: "ancient success", Type: SuccessStrategy})
		for range 5 {
			search(t, m, Query{Text: "useful failure", Limit: 1, Filter: Filter{Areas: []Area{Instruments}}})
		}
		time.Sleep(40 * 24 * time.Hour)
		if o := consolidate(t, m); o.Forgotten != 1 {
			t.Errorf("%+v", o)
		}
		if got := texts(t, m, Filter{}); !slices.Equal(got, []string{"ancient success", "pinned failure", "useful failure"}) {
			t.Errorf("%q", got)
		}
		add(t, m, Draft{Text: "young apple"}, Draft{Text: "young river"}, Draft{Text: "young stone", Failed: true})
		if why, err := m.Due(t.Context()); why == "" || err != nil {
			t.Error("six records of four are not too many", err)
		}
		if o := consolidate(t, m); o.Forgotten != 2 || o.Records != 4 {
			t.Errorf("%+v", o)
		}
		// 0.30 for the success, 0.09 + 0.05 for the failure that is found, 0.34 for
		// the young failure, 0.55 for what is young.
		if got := texts(t, m, Filter{}); !slices.Equal(got, []string{"pinned failure", "young apple", "young river", "young stone"}) {
			t.Errorf("%q", got)
		}
	})
}

func TestDue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := open(t, newStore(t), hashing.New(0), Settings{Consolidation: Consolidation{Bytes: 70, Merges: 1}})
		due := func(want bool) {
			t.Helper()
			if why, err := m.Due(t.Context()); err != nil || (why != "") != want {
				t.Errorf("%q, %v", why, err)
			}
		}
		due(false)
		add(t, m, Draft{Text: "something"})
		due(true) // never done
		consolidate(t, m)
		due(false)
		time.Sleep(24 * time.Hour)
		due(true)
		consolidate(t, m)
		add(t, m, Draft{Text: strings.Repeat("long ", 12)}, Draft{Text: "and more"})
		due(true)
		consolidate(t, m)
		due(false)
		if err := m.Delete(t.Context(), longest(t, m)); err != nil {
			t.Fatal(err)
		}
		add(t, m, Draft{Text: "a a"}, Draft{Text: "A a"}, Draft{Text: "b b"}, Draft{Text: "B b"})
		if o := consolidate(t, m); !o.Unfinished || o.Made != 1 {
			t.Errorf("%+v", o)
		}
		due(true)
		if o := consolidate(t, m); o.Made != 1 {
			t.Errorf("%+v", o)
		}
	})
}

func longest(t *testing.T, m *Memory) string {
	all, err := m.List(t.Context(), Filter{}, 0)
	if err != nil {
		t.Fatal(err)
	}
	return slices.MaxFunc(all, func(a, b Record) int { return len(a.Text) - len(b.Text) }).ID
}

func TestConsolidationIsToldAndAlone(t *testing.T) {
	s := newStore(t)
	bus := event.NewBus(hclog.NewNullLogger(), s)
	defer bus.Close()
	m := open(t, s, hashing.New(0), Settings{})
	add(t, m, Draft{Text: "x"}, Draft{Text: "X"})
	lock, err := s.Locks().Acquire(t.Context(), consolidateLock, "other", time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := m.Consolidate(t.Context()); !errors.Is(err, store.ErrHeld) {
		t.Error(err)
	}
	if err := lock.Release(t.Context()); err != nil {
		t.Fatal(err)
	}
	consolidate(t, m)
	told, err := bus.Read(t.Context(), "memory.*", 0, 0)
	if err != nil || len(told) != 1 || !strings.Contains(string(told[0].Data), `"merged":2`) {
		t.Errorf("%+v, %v", told, err)
	}
	if st, err := m.Stats(t.Context()); err != nil || st.Consolidated.IsZero() || st.Merged != 1 {
		t.Errorf("%+v, %v", st, err)
	}
}

// summarizer is one that answers what it is told to.
type summarizer struct {
	answer string
	err    error
}

func (s summarizer) Summarize(context.Context, []string, int) (string, error) { return s.answer, s.err }

// A summarizer is asked, and not believed.
func TestSummarizer(t *testing.T) {
	for name, c := range map[string]struct {
		summarizer
		want string
	}{
		"answers":  {summarizer{answer: "in short"}, "in short"},
		"fails":    {summarizer{err: errors.New("no")}, "Same text."},
		"nothing":  {summarizer{answer: " "}, "Same text."},
		"too much": {summarizer{answer: strings.Repeat("x", MaxText+1)}, "Same text."},
		"no UTF-8": {summarizer{answer: "\xff"}, "Same text."},
	} {
		m := open(t, newStore(t), hashing.New(0), Settings{Summarizer: c.summarizer})
		add(t, m, Draft{Text: "Same text."}, Draft{Text: "same text"})
		consolidate(t, m)
		if got := texts(t, m, Filter{}); len(got) != 1 || got[0] != c.want {
			t.Errorf("%s: %q", name, got)
		}
	}
}

func TestExtractive(t *testing.T) {
	in := []string{"Go is fast. Go compiles to one file.", "go compiles to one file! Is it? Version 1.26 is out", "- a list\n- of two"}
	for _, c := range []struct {
		max  int
		want string
	}{
		{1000, "Go is fast.\nGo compiles to one file.\nIs it?\nVersion 1.26 is out\n- a list\n- of two"},
		{30, "Go compiles to one file."},
		{3, "Go "},
		{0, ""},
	} {
		if got, err := (Extractive{}).Summarize(t.Context(), in, c.max); got != c.want || err != nil {
			t.Errorf("%d: %q, %v", c.max, got, err)
		}
	}
	if got := extract([]string{"東京タワー"}, 4); got != "東" {
		t.Errorf("%q", got)
	}
}

// dying is an engine that stops writing after a number of writes, as a process that
// is killed does.
type dying struct {
	store.Engine
	left *int
}

var errDead = errors.New("killed")

func (d dying) Update(ctx context.Context, fn func(store.Tx) error) error {
	if *d.left--; *d.left < 0 {
		return errDead
	}
	return d.Engine.Update(ctx, fn)
}

// Killed after any of its writes, a consolidation has lost nothing that was not
// forgotten, and the next one finishes it: nothing is there twice, and nothing is left
// behind.
func TestKilledAtEveryWrite(t *testing.T) {
	for writes := 0; ; writes++ {
		finished := false
		synctest.Test(t, func(t *testing.T) { finished = killedAfter(t, writes) })
		if t.Failed() {
			t.Fatalf("killed after write %d", writes)
		}
		if finished {
			if writes < 15 {
				t.Errorf("there were only %d writes", writes)
			}
			return
		}
	}
}

// facts are in the texts of killedAfter; those that are merged have one of them each.
func facts() (all []string) {
	for i := range 9 {
		all = append(all, fmt.Sprintf("fact%d", i))
	}
	return all
}

func killedAfter(t *testing.T, writes int) (finished bool) {
	engine := store.MemoryEngine()
	on := func(e store.Engine) (store.Store, *Memory) {
		blobs, err := store.DirBlobs(t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		s := store.New(e, blobs, store.Settings{})
		return s, open(t, s, hashing.New(0), Settings{Consolidation: Consolidation{Related: 0.4}})
	}
	s, m := on(shared{engine})
	for i, f := range facts() {
		if i == 6 {
			time.Sleep(week + time.Minute)
		}
		add(t, m, Draft{Text: fmt.Sprintf("A long common sentence about topic%d that is shared. And %s.", i/3, f)})
	}
	add(t, m, Draft{Text: "the same again"}, Draft{Text: "The same, again"})
	m.Close()
	s.Close()

	left := 1 << 30
	s, m = on(dying{shared{engine}, &left})
	left = writes
	_, err := m.Consolidate(t.Context())
	finished = err == nil
	m.Close()
	s.Close()

	time.Sleep(2*m.settings.Consolidation.Budget + 2*time.Minute) // until the lock of the dead runs out
	s, m = on(shared{engine})
	defer s.Close()
	check := func(when string) {
		all := strings.Join(texts(t, m, Filter{}), "\n")
		for _, f := range append(facts(), "same") {
			if !strings.Contains(all, f) {
				t.Errorf("%s: %s is lost", when, f)
			}
		}
	}
	check("after the kill")
	consolidate(t, m)
	check("after the next")
	consolidate(t, m)
	for _, f := range facts()[:6] {
		if all := strings.Join(texts(t, m, Filter{}), "\n"); strings.Count(all, f) != 1 {
			t.Errorf("%s is there %d times", f, strings.Count(all, f))
		}
	}
	embeddings, _ := m.kv.List(t.Context(), embeddingKey)
	if n := m.catalog.len(); len(embeddings) != n {
		t.Errorf("%d embeddings of %d records", len(embeddings), n)
	}
	m.Close()
	return finished
}

// Records that change while they are merged stay as they were changed to.
func TestChangedWhileMerged(t *testing.T) {
	s := newStore(t)
	m := open(t, s, hashing.New(0), Settings{})
	all := add(t, m, Draft{Text: "one two three"}, Draft{Text: "One two three"})
	m.settings.Summarizer = changing{m, all[0].ID}
	if o := consolidate(t, m); o.Made != 1 || o.Merged != 1 {
		t.Errorf("%+v", o)
	}
	for range 2 {
		if got := texts(t, m, Filter{}); !slices.Equal(got, []string{"changed", "one two three"}) {
			t.Errorf("%q", got)
		}
		consolidate(t, m)
	}
}

// changing is a summarizer during which somebody changes a record.
type changing struct {
	m  *Memory
	id string
}

func (c changing) Summarize(ctx context.Context, texts []string, _ int) (string, error) {
	_, err := c.m.Replace(ctx, c.id, Draft{Text: "changed"})
	return texts[0], err
}
