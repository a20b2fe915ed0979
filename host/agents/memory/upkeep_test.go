package memory

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/skillet-run/skillet/host/agents/memory/hashing"
)

// A memory is tended when it is due, and left alone when it is not, or when somebody
// else is at it.
func TestTend(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := open(t, newStore(t), hashing.New(0), Settings{Consolidation: Consolidation{Records: 3}})
		tend := func(want bool) {
			t.Helper()
			if _, did, err := m.Tend(t.Context()); err != nil || did != want {
				t.Errorf("%v, %v; want %v", did, err, want)
			}
		}
		tend(false)
		add(t, m, Draft{Text: "one"})
		tend(true)
		tend(false)
		add(t, m, Draft{Text: "two"}, Draft{Text: "three"}, Draft{Text: "four"})
		held, err := m.locks.Acquire(t.Context(), consolidateLock, "another", time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		tend(false)
		if err := held.Release(t.Context()); err != nil {
			t.Fatal(err)
		}
		if tend(true); m.Len() != 3 {
			t.Errorf("%d records are left", m.Len())
		}
	})
}

func TestFind(t *testing.T) {
	m := open(t, newStore(t), hashing.New(0), Settings{})
	id := add(t, m, Draft{Text: "one"})[0].ID
	for _, prefix := range []string{id, id[:8], id[:MinPrefix]} {
		if got, err := m.Find(prefix); err != nil || got != id {
			t.Errorf("%s: %s, %v", prefix, got, err)
		}
	}
	twin := id[:MinPrefix] + "0123456789abcdef0123456789ab"
	m.catalog.put(twin, head{})
	if _, err := m.Find(id[:MinPrefix]); !errors.Is(err, ErrInvalid) {
		t.Errorf("two that begin alike: %v", err)
	}
	for prefix, want := range map[string]error{"": ErrInvalid, id[:MinPrefix-1]: ErrInvalid, "wxyz": ErrNotFound} {
		if _, err := m.Find(prefix); !errors.Is(err, want) {
			t.Errorf("%q: %v", prefix, err)
		}
	}
}
