package hostfn

import (
	"context"
	"errors"
	"reflect"
	"testing"
	"testing/synctest"
	"time"

	"github.com/skillet-run/skillet/host/base/store"
)

// keeping is a migration that puts aside what was there.
func keeping(t *testing.T, s Settings, to int) Migration {
	m := migration(s, to, upper(t, s))
	m.Keep = true
	return m
}

func TestStateIsTakenBack(t *testing.T) {
	t.Parallel()
	s := kvSettings(t, memory(t))
	put(t, open(t, s), "a", "one", "")
	must(t, keeping(t, s, 2).Run(t.Context(), s.KV))
	if got := contents(t, s, 2); got["b"] != "ONE" {
		t.Fatalf("got %v", got)
	}
	all, err := FormerSchemas(t.Context(), s.KV, s.Principal)
	must(t, err)
	if !reflect.DeepEqual(all, []int{1}) {
		t.Errorf("aside: %v", all)
	}
	must(t, TakeBackState(t.Context(), s.KV, s.Principal, 1))
	must(t, TakeBackState(t.Context(), s.KV, s.Principal, 1)) // again: nothing to do
	if got := contents(t, s, 1); !reflect.DeepEqual(got, map[string]string{"a": "one"}) {
		t.Errorf("taken back: %v", got)
	}
	if err := TakeBackState(t.Context(), s.KV, s.Principal, 7); !errors.Is(err, ErrNoFormerState) {
		t.Errorf("to a version that never was: %v", err)
	}
	must(t, DeleteState(t.Context(), s.KV, s.Principal))
	if left := keys(t, s.KV); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

// Going forward again: what was there comes back while nothing was written in between, and is made anew of
// what was written otherwise.
func TestStateGoesForwardAgain(t *testing.T) {
	t.Parallel()
	for what, c := range map[string]struct {
		between func(e *Env)
		want    map[string]string
	}{
		"nothing written": {func(*Env) {}, map[string]string{"b": "ONE", "new": "x", "later": "v2"}},
		"written":         {func(e *Env) { put(t, e, "a", "two", "") }, map[string]string{"b": "TWO", "new": "x"}},
	} {
		s := kvSettings(t, memory(t))
		put(t, open(t, s), "a", "one", "")
		must(t, keeping(t, s, 2).Run(t.Context(), s.KV))
		second := s
		second.KVSchema = 2
		put(t, open(t, second), "later", "v2", "")
		must(t, TakeBackState(t.Context(), s.KV, s.Principal, 1))
		c.between(open(t, s))
		must(t, keeping(t, s, 2).Run(t.Context(), s.KV))
		if got := contents(t, s, 2); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: got %v, want %v", what, got, c.want)
		}
		must(t, TakeBackState(t.Context(), s.KV, s.Principal, 1))
		if got := contents(t, s, 1); len(got) != 1 {
			t.Errorf("%s: back again: %v", what, got)
		}
		balanced(t, s.KV)
	}
}

// Only so much is put aside, one of each schema version, and the rest is deleted.
func TestAsideIsBounded(t *testing.T) {
	t.Parallel()
	s := kvSettings(t, memory(t))
	put(t, open(t, s), "a", "one", "")
	for to := 2; to <= 8; to++ {
		m := migration(s, to, func(context.Context, int, store.KV) error { return nil })
		m.Keep = true
		must(t, m.Run(t.Context(), s.KV))
	}
	all, err := FormerSchemas(t.Context(), s.KV, s.Principal)
	must(t, err)
	if !reflect.DeepEqual(all, []int{7, 6, 5}) {
		t.Errorf("aside: %v", all)
	}
	if n := len(keys(t, s.KV)); n != 1+1+maxFormer {
		t.Errorf("in the store: %v", keys(t, s.KV))
	}
	if err := TakeBackState(t.Context(), s.KV, s.Principal, 2); !errors.Is(err, ErrNoFormerState) {
		t.Errorf("what was dropped is there: %v", err)
	}
}

func TestNothingIsTakenBackDuringAMigration(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := kvSettings(t, memory(t))
		put(t, open(t, s), "a", "one", "")
		must(t, keeping(t, s, 2).Run(t.Context(), s.KV))
		m := migration(s, 3, func(ctx context.Context, _ int, _ store.KV) error {
			if err := TakeBackState(ctx, s.KV, s.Principal, 1); !errors.Is(err, ErrMoving) {
				t.Errorf("got %v", err)
			}
			return errors.New("given up")
		})
		if m.Run(t.Context(), s.KV) == nil {
			t.Fatal("it was not given up")
		}
		time.Sleep(time.Hour)
		must(t, TakeBackState(t.Context(), s.KV, s.Principal, 1))
	})
}
