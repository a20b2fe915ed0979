package storetest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/skillet-run/skillet/host/base/store"
)

var lockTests = []test{
	{"Locks/one holder", oneHolder},
	{"Locks/renewed", lockRenewed},
	{"Locks/taken over, with a higher fence", lockTakenOver},
	{"Locks/racing owners", racingOwners},
	{"Locks/limits", lockLimits},
}

var storeTests = []test{
	{"Store/closed", closed},
	{"Store/close ends what waits", closeEnds},
	{"Store/context", contexts},
}

func oneHolder(t *testing.T, s store.Store) {
	a := must(s.Locks().Acquire(t.Context(), "l", "a", time.Hour))(t)
	for _, owner := range []string{"a", "b"} {
		if _, err := s.Locks().Acquire(t.Context(), "l", owner, time.Hour); !errors.Is(err, store.ErrHeld) {
			t.Errorf("Acquire by %s = %v, want ErrHeld", owner, err)
		}
	}
	must(s.Locks().Acquire(t.Context(), "l2", "b", time.Hour))(t)
	ok(t, a.Release(t.Context()))
	b := must(s.Locks().Acquire(t.Context(), "l", "b", time.Hour))(t)
	if b.Fence() <= a.Fence() {
		t.Errorf("fence %d after %d", b.Fence(), a.Fence())
	}
	for name, err := range map[string]error{"Renew": a.Renew(t.Context()), "Release": a.Release(t.Context())} {
		if !errors.Is(err, store.ErrStale) {
			t.Errorf("%s after release = %v, want ErrStale", name, err)
		}
	}
	ok(t, b.Renew(t.Context()))
}

func lockRenewed(t *testing.T, s store.Store) {
	inTime(t, func(name string) (extended time.Time, err error) {
		extended = time.Now()
		a := must(s.Locks().Acquire(t.Context(), name, "a", lease))(t)
		for range 4 {
			time.Sleep(lease * 4 / 10)
			now := time.Now()
			if err := a.Renew(t.Context()); err != nil {
				return extended, err
			}
			extended = now
		}
		if _, err := s.Locks().Acquire(t.Context(), name, "b", lease); !errors.Is(err, store.ErrHeld) {
			return extended, fmt.Errorf("acquire = %v, want ErrHeld", err)
		}
		return extended, nil
	})
}

func lockTakenOver(t *testing.T, s store.Store) {
	begin := time.Now()
	a := must(s.Locks().Acquire(t.Context(), "l", "a", lease))(t)
	var b store.Lock
	eventually(t, func() bool {
		var err error
		b, err = s.Locks().Acquire(t.Context(), "l", "b", time.Hour)
		if err != nil && !errors.Is(err, store.ErrHeld) {
			t.Fatal(err)
		}
		return err == nil
	})
	if took := time.Since(begin); took < lease || b.Fence() <= a.Fence() {
		t.Errorf("taken over after %v with fence %d after %d", took, b.Fence(), a.Fence())
	}
	for name, err := range map[string]error{"Renew": a.Renew(t.Context()), "Release": a.Release(t.Context())} {
		if !errors.Is(err, store.ErrStale) {
			t.Errorf("%s of the former holder = %v, want ErrStale", name, err)
		}
	}
	ok(t, b.Release(t.Context()))
}

func racingOwners(t *testing.T, s store.Store) {
	var won atomic.Int32
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			_, err := s.Locks().Acquire(t.Context(), "l", "x", time.Hour)
			if err == nil {
				won.Add(1)
			} else if !errors.Is(err, store.ErrHeld) {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if won.Load() != 1 {
		t.Errorf("%d owners", won.Load())
	}
}

func lockLimits(t *testing.T, s store.Store) {
	for _, tc := range []struct {
		name, owner string
		ttl         time.Duration
	}{{"", "a", 1}, {"l", "", 1}, {"l\x00", "a", 1}, {"l", "a", 0}, {"l", "a", -1}} {
		if _, err := s.Locks().Acquire(t.Context(), tc.name, tc.owner, tc.ttl); !errors.Is(err, store.ErrInvalid) {
			t.Errorf("%+v: %v, want ErrInvalid", tc, err)
		}
	}
}

func closed(t *testing.T, s store.Store) {
	put(t, s, "a", "1", store.AnyRevision)
	push(t, s, store.Job{ID: "a"})
	c := pull(t, s, 0)
	ok(t, s.Close())
	ok(t, s.Close())
	ctx := t.Context()
	for name, err := range map[string]error{
		"Get":     second(s.KV().Get(ctx, "a")),
		"Put":     second(s.KV().Put(ctx, "a", nil, store.AnyRevision)),
		"Delete":  s.KV().Delete(ctx, "a", store.AnyRevision),
		"List":    second(s.KV().List(ctx, "")),
		"Watch":   second(s.KV().Watch(ctx, "")),
		"Push":    s.Queue("q").Push(ctx, store.Job{ID: "b"}),
		"Pull":    second(s.Queue("q").Pull(ctx, time.Hour)),
		"Done":    c.Done(ctx),
		"Append":  second(s.Log("l").Append(ctx, "s", nil)),
		"Follow":  second(s.Log("l").Follow(ctx, "", 0)),
		"Acquire": second(s.Locks().Acquire(ctx, "l", "o", time.Hour)),
	} {
		if !errors.Is(err, store.ErrClosed) {
			t.Errorf("%s = %v, want ErrClosed", name, err)
		}
	}
}

func closeEnds(t *testing.T, s store.Store) {
	w := must(s.KV().Watch(t.Context(), ""))(t)
	f := must(s.Log("l").Follow(t.Context(), "", 0))(t)
	pulled := make(chan error, 1)
	go func() {
		_, err := s.Queue("q").Pull(t.Context(), time.Hour)
		pulled <- err
	}()
	time.Sleep(moment)
	ok(t, s.Close())
	drained(t, w)
	drained(t, f)
	if err := next(t, pulled); !errors.Is(err, store.ErrClosed) {
		t.Errorf("Pull = %v, want ErrClosed", err)
	}
}

func contexts(t *testing.T, s store.Store) {
	ctx := cancelled(t)
	for name, err := range map[string]error{
		"Get":   second(s.KV().Get(ctx, "a")),
		"Put":   second(s.KV().Put(ctx, "a", nil, store.AnyRevision)),
		"Push":  s.Queue("q").Push(ctx, store.Job{ID: "b"}),
		"Pull":  second(s.Queue("q").Pull(ctx, time.Hour)),
		"Blob":  s.Blobs().Put(ctx, digest(nil), nil),
		"Watch": second(s.KV().Watch(ctx, "")),
	} {
		if !errors.Is(err, context.Canceled) {
			t.Errorf("%s = %v, want the context's error", name, err)
		}
	}
	if entries := must(s.KV().List(t.Context(), ""))(t); len(entries) != 0 {
		t.Errorf("a cancelled Put wrote %v", entries)
	}
}
