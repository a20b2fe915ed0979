package ledger_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/skillet-run/skillet/host/base/store"
	"github.com/skillet-run/skillet/host/record/journal"
	"github.com/skillet-run/skillet/host/record/ledger"
)

// marks is a projection that writes each mark under its name.
type marks struct{}

func (marks) Owns(kind string) bool { return kind == "mark" }

func (marks) Keys() []string { return []string{"mark/"} }

func (marks) Apply(ctx context.Context, kv store.KV, at ledger.Stamp, c ledger.Change) error {
	var name string
	if err := json.Unmarshal(c.Data, &name); err != nil {
		return err
	}
	_, err := kv.Put(ctx, "mark/"+name, fmt.Appendf(nil, "%d %s", at.Seq, at.Actor), store.AnyRevision)
	return err
}

// mortal is a store that takes so many writes and then no more, as for a
// process that dies.
type mortal struct {
	store.KV
	left *int
}

func (m mortal) Put(ctx context.Context, key string, value []byte, prev uint64) (uint64, error) {
	if *m.left == 0 {
		return 0, errDied
	}
	*m.left--
	return m.KV.Put(ctx, key, value, prev)
}

var errDied = errors.New("died")

func open(t *testing.T, dir string, kv store.KV, left *int) *ledger.Ledger {
	t.Helper()
	j, err := journal.Open(filepath.Join(dir, "journal"), journal.Options{Sync: true})
	if err != nil {
		t.Fatal(err)
	}
	if left != nil {
		kv = mortal{kv, left}
	}
	return ledger.New(j, kv, marks{})
}

func mark(names ...string) func(context.Context) (ledger.Decision, error) {
	return func(context.Context) (ledger.Decision, error) {
		d := ledger.Decision{Kind: "mark", Actor: "human:test", Subject: names[0], Note: "note"}
		for _, n := range names {
			c, err := ledger.NewChange("mark", n)
			if err != nil {
				return d, err
			}
			d.Changes = append(d.Changes, c)
		}
		return d, nil
	}
}

func marked(t *testing.T, kv store.KV) []string {
	t.Helper()
	entries, err := kv.List(t.Context(), "mark/")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Key[len("mark/"):]+"="+string(e.Value))
	}
	return names
}

func memory(t *testing.T) store.KV {
	t.Helper()
	s := store.Memory()
	t.Cleanup(func() { s.Close() })
	return s.KV()
}

func same(t *testing.T, got []string, want ...string) {
	t.Helper()
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestCommitAppliesAllChanges(t *testing.T) {
	kv := memory(t)
	l := open(t, t.TempDir(), kv, nil)
	if err := l.Commit(t.Context(), mark("a", "b")); err != nil {
		t.Fatal(err)
	}
	same(t, marked(t, kv), "a=1 human:test", "b=1 human:test")
}

func TestRefusedDecisionChangesNothing(t *testing.T) {
	kv := memory(t)
	l := open(t, t.TempDir(), kv, nil)
	no := errors.New("no")
	err := l.Commit(t.Context(), func(context.Context) (ledger.Decision, error) { return ledger.Decision{}, no })
	if !errors.Is(err, no) {
		t.Errorf("got %v", err)
	}
	n := 0
	if err := l.History(t.Context(), 0, func(ledger.Record) error { n++; return nil }); err != nil || n != 0 {
		t.Errorf("%d decisions, %v", n, err)
	}
}

// A process that dies between the journal and the store leaves a decision that
// the next one finds and applies, whole.
// What has to hold for a decision is looked at when nothing else can be decided, until one is
// made; what follows from that is decided without it.
func TestGiven(t *testing.T) {
	t.Parallel()
	kv := memory(t)
	l := open(t, t.TempDir(), kv, nil)
	errOther := errors.New("somebody was first")
	unless := func(name string) context.Context {
		return ledger.Given(t.Context(), func(ctx context.Context) error {
			if _, err := kv.Get(ctx, "mark/"+name); err == nil {
				return errOther
			}
			return nil
		})
	}
	a, b := unless("a"), unless("b")
	if err := errors.Join(l.Commit(a, mark("a")), l.Commit(a, mark("c"))); err != nil {
		t.Error(err)
	}
	fails := func(context.Context) (ledger.Decision, error) { return ledger.Decision{}, errDied }
	if err := l.Commit(b, fails); !errors.Is(err, errDied) {
		t.Error(err)
	}
	if err := l.Commit(t.Context(), mark("b")); err != nil {
		t.Error(err)
	}
	for range 2 {
		if err := l.Commit(b, mark("never")); !errors.Is(err, errOther) {
			t.Error(err)
		}
	}
	same(t, marked(t, kv), "a=1 human:test", "b=3 human:test", "c=2 human:test")
}

func TestCatchUpAfterDeathAtEveryChange(t *testing.T) {
	for survive := range 4 { // three marks, and the cursor
		t.Run(fmt.Sprint(survive), func(t *testing.T) {
			kv, dir := memory(t), t.TempDir()
			if err := open(t, dir, kv, nil).Commit(t.Context(), mark("first")); err != nil {
				t.Fatal(err)
			}
			left := survive
			if err := open(t, dir, kv, &left).Commit(t.Context(), mark("a", "b", "c")); !errors.Is(err, errDied) || !errors.Is(err, ledger.ErrPending) {
				t.Fatalf("got %v", err)
			}
			if err := open(t, dir, kv, nil).CatchUp(t.Context()); err != nil {
				t.Fatal(err)
			}
			same(t, marked(t, kv), "a=2 human:test", "b=2 human:test", "c=2 human:test", "first=1 human:test")
		})
	}
}

func TestCommitSeesWhatADeadProcessDecided(t *testing.T) {
	kv, dir := memory(t), t.TempDir()
	left := 0
	if err := open(t, dir, kv, &left).Commit(t.Context(), mark("a")); !errors.Is(err, errDied) {
		t.Fatalf("got %v", err)
	}
	err := open(t, dir, kv, nil).Commit(t.Context(), func(ctx context.Context) (ledger.Decision, error) {
		same(t, marked(t, kv), "a=1 human:test")
		return mark("b")(ctx)
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestRebuild(t *testing.T) {
	dir := t.TempDir()
	l := open(t, dir, memory(t), nil)
	for _, n := range []string{"a", "b"} {
		if err := l.Commit(t.Context(), mark(n)); err != nil {
			t.Fatal(err)
		}
	}
	kv := memory(t)
	n, err := open(t, dir, kv, nil).Rebuild(t.Context())
	if err != nil || n != 2 {
		t.Fatalf("rebuilt %d, %v", n, err)
	}
	same(t, marked(t, kv), "a=1 human:test", "b=2 human:test")
}

func TestReplacedJournalIsNoticed(t *testing.T) {
	kv, dir := memory(t), t.TempDir()
	if err := open(t, dir, kv, nil).Commit(t.Context(), mark("a")); err != nil {
		t.Fatal(err)
	}
	if err := open(t, t.TempDir(), kv, nil).CatchUp(t.Context()); !errors.Is(err, ledger.ErrBehind) {
		t.Errorf("empty journal: %v", err)
	}
	other := t.TempDir()
	if err := open(t, other, memory(t), nil).Commit(t.Context(), mark("x")); err != nil {
		t.Fatal(err)
	}
	if err := open(t, other, kv, nil).CatchUp(t.Context()); !errors.Is(err, ledger.ErrBehind) {
		t.Errorf("another journal of the same length: %v", err)
	}
}

func TestLongerForeignJournalIsNoticed(t *testing.T) {
	kv, other := memory(t), t.TempDir()
	if err := open(t, t.TempDir(), kv, nil).Commit(t.Context(), mark("a")); err != nil {
		t.Fatal(err)
	}
	foreign := open(t, other, memory(t), nil)
	for _, n := range []string{"x", "y", "z"} {
		if err := foreign.Commit(t.Context(), mark(n)); err != nil {
			t.Fatal(err)
		}
	}
	if err := open(t, other, kv, nil).CatchUp(t.Context()); !errors.Is(err, ledger.ErrBehind) {
		t.Errorf("got %v", err)
	}
	same(t, marked(t, kv), "a=1 human:test")
}

// One decision the store cannot take must not end all deciding.
func TestChangeThatCannotBeAppliedIsNotRecorded(t *testing.T) {
	kv, dir := memory(t), t.TempDir()
	l := open(t, dir, kv, nil)
	if err := l.Commit(t.Context(), mark("fine", strings.Repeat("x", store.MaxKey))); !errors.Is(err, store.ErrTooLarge) || errors.Is(err, ledger.ErrPending) {
		t.Fatalf("got %v", err)
	}
	same(t, marked(t, kv))
	if err := l.Commit(t.Context(), mark("next")); err != nil {
		t.Fatalf("the next decision: %v", err)
	}
	same(t, marked(t, kv), "next=1 human:test")
}

// A signal that arrives while a decision is written decides nothing by half:
// either there is an error and no decision, or there is a decision.
func TestInterruptedCommit(t *testing.T) {
	kv, dir := memory(t), t.TempDir()
	ctx, cancel := context.WithCancel(t.Context())
	err := open(t, dir, kv, nil).Commit(ctx, func(ctx context.Context) (ledger.Decision, error) {
		cancel()
		return mark("a")(ctx)
	})
	if !errors.Is(err, context.Canceled) {
		t.Fatalf("got %v", err)
	}
	if err := open(t, dir, kv, nil).CatchUp(t.Context()); err != nil {
		t.Fatal(err)
	}
	same(t, marked(t, kv))
	ctx, cancel = context.WithCancel(t.Context())
	if err := open(t, dir, late{kv, cancel}, nil).Commit(ctx, mark("a", "b")); err != nil {
		t.Fatal(err)
	}
	same(t, marked(t, kv), "a=1 human:test", "b=1 human:test")
}

// late is a store that is interrupted when the first change is applied.
type late struct {
	store.KV
	interrupt func()
}

func (l late) Put(ctx context.Context, key string, value []byte, prev uint64) (uint64, error) {
	l.interrupt()
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	return l.KV.Put(ctx, key, value, prev)
}

func TestUnknownChangeIsRefused(t *testing.T) {
	kv, dir := memory(t), t.TempDir()
	l := open(t, dir, kv, nil)
	c, err := ledger.NewChange("from.the.future", 1)
	if err != nil {
		t.Fatal(err)
	}
	err = l.Commit(t.Context(), func(context.Context) (ledger.Decision, error) {
		return ledger.Decision{Kind: "x", Actor: "y", Changes: []ledger.Change{c}}, nil
	})
	if err == nil {
		t.Error("a change nobody knows was accepted")
	}
	if err := open(t, dir, kv, nil).CatchUp(t.Context()); err != nil {
		t.Errorf("the refused change is in the journal: %v", err)
	}
}

func TestConcurrentCommits(t *testing.T) {
	kv, dir := memory(t), t.TempDir()
	var wg sync.WaitGroup
	for i := range 8 {
		l := open(t, dir, kv, nil)
		wg.Go(func() {
			for k := range 5 {
				if err := l.Commit(t.Context(), mark(fmt.Sprintf("%d-%d", i, k))); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if n := len(marked(t, kv)); n != 40 {
		t.Errorf("%d marks, want 40", n)
	}
	seen := 0
	err := open(t, dir, kv, nil).History(t.Context(), 0, func(r ledger.Record) error { seen++; return nil })
	if err != nil || seen != 40 {
		t.Errorf("%d decisions, %v", seen, err)
	}
}

// A store that knows nothing of several decisions is not the one that they were applied
// to: what else it had is gone, and that is said.
func TestLostStore(t *testing.T) {
	dir := t.TempDir()
	l := open(t, dir, store.Memory().KV(), nil)
	for _, name := range []string{"a", "b"} {
		if err := l.Commit(t.Context(), mark(name)); err != nil {
			t.Fatal(err)
		}
	}
	gone := open(t, dir, store.Memory().KV(), nil)
	if err := gone.CatchUp(t.Context()); !errors.Is(err, ledger.ErrLost) {
		t.Errorf("CatchUp = %v, want ErrLost", err)
	}
	err := gone.Commit(t.Context(), func(context.Context) (ledger.Decision, error) { return ledger.Decision{Kind: "mark"}, nil })
	if !errors.Is(err, ledger.ErrLost) {
		t.Errorf("Commit = %v, want ErrLost", err)
	}
	if err := gone.Follow(t.Context()); err != nil {
		t.Errorf("Follow = %v", err)
	}
}

// A projection that writes what it did not say is its own would have it lost when the
// store is made again.
func TestKeysOfOthersAreRefused(t *testing.T) {
	l := open(t, t.TempDir(), store.Memory().KV(), nil)
	for key, makes := range map[string]bool{"mark/a": true, "ledger/cursor": true, "memory/record/a": false} {
		if l.Makes(key) != makes {
			t.Errorf("Makes(%q) = %v", key, !makes)
		}
	}
	j, err := journal.Open(filepath.Join(t.TempDir(), "journal"), journal.Options{Sync: true})
	if err != nil {
		t.Fatal(err)
	}
	l = ledger.New(j, store.Memory().KV(), stray{})
	c, err := ledger.NewChange("mark", "x")
	if err != nil {
		t.Fatal(err)
	}
	err = l.Commit(t.Context(), func(context.Context) (ledger.Decision, error) {
		return ledger.Decision{Kind: "mark", Changes: []ledger.Change{c}}, nil
	})
	if err == nil || !strings.Contains(err.Error(), "not one of its projection's") {
		t.Errorf("Commit = %v", err)
	}
}

// stray is marks that claims other keys.
type stray struct{ marks }

func (stray) Keys() []string { return []string{"other/"} }

// full is a store that takes no writes.
type full struct{ store.KV }

func (full) Put(context.Context, string, []byte, uint64) (uint64, error) {
	return 0, store.ErrReadOnly
}

func (full) Delete(context.Context, string, uint64) error { return store.ErrReadOnly }

// What a full store could not take is not decided: nothing of it is in the journal.
func TestFullStoreDecidesNothing(t *testing.T) {
	s := store.Memory()
	defer s.Close()
	dir := t.TempDir()
	if err := open(t, dir, s.KV(), nil).Commit(t.Context(), mark("a")); err != nil {
		t.Fatal(err)
	}
	l := open(t, dir, full{s.KV()}, nil)
	if err := l.Commit(t.Context(), mark("b")); !errors.Is(err, store.ErrReadOnly) || errors.Is(err, ledger.ErrPending) {
		t.Errorf("Commit = %v", err)
	}
	if err := l.CatchUp(t.Context()); err != nil {
		t.Errorf("CatchUp = %v: something is in the journal", err)
	}
	if err := open(t, dir, s.KV(), nil).Commit(t.Context(), mark("c")); err != nil {
		t.Error(err)
	}
}
