package storetest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/skillet-run/skillet/host/base/store"
)

var kvTests = []test{
	{"KV/put and get", putAndGet},
	{"KV/compare and set", compareAndSet},
	{"KV/delete", deleteEntry},
	{"KV/revisions are never used twice", revisions},
	{"KV/list", list},
	{"KV/limits", kvLimits},
	{"KV/values are copies", valuesAreCopies},
	{"KV/racing writers", racingWriters},
	{"KV/racing creators", racingCreators},
}

func put(t *testing.T, s store.Store, key, value string, prev uint64) uint64 {
	t.Helper()
	return must(s.KV().Put(t.Context(), key, []byte(value), prev))(t)
}

func putAndGet(t *testing.T, s store.Store) {
	kv := s.KV()
	if _, err := kv.Get(t.Context(), "a"); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("Get of nothing = %v, want ErrNotFound", err)
	}
	rev := put(t, s, "a/ä b", "one", store.AnyRevision)
	e := must(kv.Get(t.Context(), "a/ä b"))(t)
	if e.Key != "a/ä b" || string(e.Value) != "one" || e.Revision != rev || rev == 0 {
		t.Errorf("Get = %+v, want revision %d", e, rev)
	}
	ok(t, second(kv.Put(t.Context(), "empty", nil, store.AnyRevision)))
	if e := must(kv.Get(t.Context(), "empty"))(t); e.Value == nil || len(e.Value) != 0 {
		t.Errorf("a nil value came back as %#v, want an empty one", e.Value)
	}
}

func second[T any](_ T, err error) error { return err }

func compareAndSet(t *testing.T, s store.Store) {
	first := put(t, s, "a", "1", store.MustNotExist)
	for _, prev := range []uint64{store.MustNotExist, first + 1} {
		if _, err := s.KV().Put(t.Context(), "a", []byte("x"), prev); !errors.Is(err, store.ErrConflict) {
			t.Errorf("Put at %d = %v, want ErrConflict", prev, err)
		}
	}
	if _, err := s.KV().Put(t.Context(), "b", []byte("x"), first); !errors.Is(err, store.ErrConflict) {
		t.Errorf("Put of a missing key at a revision = %v, want ErrConflict", err)
	}
	next := put(t, s, "a", "2", first)
	if next <= first {
		t.Errorf("revision %d after %d", next, first)
	}
	if e := must(s.KV().Get(t.Context(), "a"))(t); string(e.Value) != "2" || e.Revision != next {
		t.Errorf("Get = %+v", e)
	}
	put(t, s, "a", "3", store.AnyRevision)
}

func deleteEntry(t *testing.T, s store.Store) {
	kv := s.KV()
	rev := put(t, s, "a", "1", store.AnyRevision)
	if err := kv.Delete(t.Context(), "a", rev+1); !errors.Is(err, store.ErrConflict) {
		t.Errorf("Delete at another revision = %v, want ErrConflict", err)
	}
	ok(t, kv.Delete(t.Context(), "a", rev))
	if _, err := kv.Get(t.Context(), "a"); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("Get = %v, want ErrNotFound", err)
	}
	for _, prev := range []uint64{rev, store.AnyRevision} {
		if err := kv.Delete(t.Context(), "a", prev); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("Delete of nothing at %d = %v, want ErrNotFound", prev, err)
		}
	}
	put(t, s, "a", "2", store.MustNotExist)
	ok(t, kv.Delete(t.Context(), "a", store.AnyRevision))
}

func revisions(t *testing.T, s store.Store) {
	var last uint64
	for i := range 5 {
		rev := put(t, s, "a", "x", store.MustNotExist)
		if rev <= last {
			t.Fatalf("round %d: revision %d after %d", i, rev, last)
		}
		last = rev
		ok(t, s.KV().Delete(t.Context(), "a", rev))
	}
}

func list(t *testing.T, s store.Store) {
	for _, k := range []string{"b/2", "a", "b/10", "b", "c/1", "b/é"} {
		put(t, s, k, "v"+k, store.AnyRevision)
	}
	for prefix, want := range map[string][]string{
		"b/": {"b/10", "b/2", "b/é"},
		"b":  {"b", "b/10", "b/2", "b/é"},
		"":   {"a", "b", "b/10", "b/2", "b/é", "c/1"},
		"z":  nil,
	} {
		var keys []string
		for _, e := range must(s.KV().List(t.Context(), prefix))(t) {
			keys = append(keys, e.Key)
			if string(e.Value) != "v"+e.Key || e.Revision == 0 {
				t.Errorf("entry %+v", e)
			}
		}
		if !slices.Equal(keys, want) {
			t.Errorf("List(%q) = %q, want %q", prefix, keys, want)
		}
	}
}

func kvLimits(t *testing.T, s store.Store) {
	kv := s.KV()
	for key, want := range map[string]error{
		"":                                   store.ErrInvalid,
		"a\x00b":                             store.ErrInvalid,
		"a\nb":                               store.ErrInvalid,
		"a\xff":                              store.ErrInvalid,
		strings.Repeat("k", store.MaxKey+1):  store.ErrTooLarge,
		strings.Repeat("k", store.MaxKey):    nil,
		"!badger!x":                          nil,
		"k/../../x\u2028 %00 \\ \"quotes\" ": nil,
	} {
		if _, err := kv.Put(t.Context(), key, nil, store.AnyRevision); !errors.Is(err, want) {
			t.Errorf("Put(%.20q) = %v, want %v", key, err, want)
		}
		if _, err := kv.Get(t.Context(), key); !errors.Is(err, want) {
			t.Errorf("Get(%.20q) = %v, want %v", key, err, want)
		}
	}
	if _, err := kv.Put(t.Context(), "large", make([]byte, store.MaxValue+1), store.AnyRevision); !errors.Is(err, store.ErrTooLarge) {
		t.Errorf("Put of a large value = %v, want ErrTooLarge", err)
	}
	ok(t, second(kv.Put(t.Context(), "large", make([]byte, store.MaxValue), store.AnyRevision)))
	if e := must(kv.Get(t.Context(), "large"))(t); len(e.Value) != store.MaxValue {
		t.Errorf("the largest value came back with %d bytes", len(e.Value))
	}
}

func valuesAreCopies(t *testing.T, s store.Store) {
	v := []byte("one")
	ok(t, second(s.KV().Put(t.Context(), "a", v, store.AnyRevision)))
	v[0] = 'X'
	must(s.KV().Get(t.Context(), "a"))(t).Value[1] = 'X'
	must(s.KV().List(t.Context(), "a"))(t)[0].Value[2] = 'X'
	if e := must(s.KV().Get(t.Context(), "a"))(t); string(e.Value) != "one" {
		t.Errorf("the value became %q", e.Value)
	}
}

// increment adds one to the counter by compare-and-set.
func increment(ctx context.Context, kv store.KV, key string) error {
	for {
		e, err := kv.Get(ctx, key)
		if err != nil {
			return err
		}
		n, err := strconv.Atoi(string(e.Value))
		if err != nil {
			return err
		}
		_, err = kv.Put(ctx, key, []byte(strconv.Itoa(n+1)), e.Revision)
		if !errors.Is(err, store.ErrConflict) {
			return err
		}
	}
}

func racingWriters(t *testing.T, s store.Store) {
	put(t, s, "n", "0", store.MustNotExist)
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 5 {
				if err := increment(t.Context(), s.KV(), "n"); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	if e := must(s.KV().Get(t.Context(), "n"))(t); string(e.Value) != "40" {
		t.Errorf("40 increments made %s", e.Value)
	}
}

func racingCreators(t *testing.T, s store.Store) {
	var all sync.WaitGroup
	won := make([]bool, 8)
	for i := range won {
		all.Go(func() {
			_, err := s.KV().Put(t.Context(), "once", []byte(fmt.Sprint(i)), store.MustNotExist)
			if won[i] = err == nil; err != nil && !errors.Is(err, store.ErrConflict) {
				t.Error(err)
			}
		})
	}
	all.Wait()
	winner := slices.Index(won, true)
	if winner < 0 || slices.Contains(won[winner+1:], true) {
		t.Fatalf("winners: %v, want exactly one", won)
	}
	if e := must(s.KV().Get(t.Context(), "once"))(t); string(e.Value) != fmt.Sprint(winner) {
		t.Errorf("%s is there, %d won", e.Value, winner)
	}
}
