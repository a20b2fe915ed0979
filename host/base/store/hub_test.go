package store

import (
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// Who waits is told of keys that this process wrote, and looks at all only after changes of
// other processes.
func TestOwnChangesMakeNobodyLookAtAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var changes atomic.Uint64
		var fails atomic.Bool
		failed := errors.New("the head cannot be read")
		h := newHub(Settings{Poll: time.Second, Changes: func() (uint64, error) {
			if fails.Load() {
				return 0, failed
			}
			return changes.Load(), nil
		}})
		defer h.close()
		l, err := h.listen("a/")
		if err != nil {
			t.Fatal(err)
		}
		defer h.drop(l)
		waits := func(what string, keys int, all bool, want error) {
			t.Helper()
			got, gotAll, err := h.wait(t.Context(), l, time.Now().Add(3*time.Second))
			if len(got) != keys || gotAll != all || !errors.Is(err, want) {
				t.Errorf("%s: %q, all %v, %v; want %d keys, all %v, %v", what, got, gotAll, err, keys, all, want)
			}
		}
		own := func(key string) {
			h.publish([]string{key}, changes.Add(1))
		}
		own("b/1")
		waits("a key of others was written here", 0, false, errTimeout)
		own("a/1")
		waits("its key was written here", 1, false, nil)
		waits("nothing", 0, false, errTimeout)
		changes.Add(1)
		waits("another process wrote", 0, true, nil)
		own("b/2")
		changes.Add(1)
		own("b/3")
		waits("another process wrote between two that were written here", 0, true, nil)
		changes.Add(1)
		h.publish([]string{"b/4"}, 0)
		waits("it is not known which change was written here", 0, true, nil)
		h.publish(nil, changes.Load()+1) // wrote nothing
		changes.Add(1)
		waits("another process made the change that was not made here", 0, true, nil)
		fails.Store(true)
		waits("the number cannot be read", 0, false, failed)
	})
}
