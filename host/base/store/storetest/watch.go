package storetest

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/skillet-run/skillet/host/base/store"
)

var watchTests = []test{
	{"Watch/current entries, then changes", watchChanges},
	{"Watch/only its prefix", watchPrefix},
	{"Watch/ends with the context", watchEnds},
	{"Watch/a slow reader gets the last state", watchSlowly},
	{"Watch/revisions of a key rise", watchOrder},
}

func watchChanges(t *testing.T, s store.Store) {
	put(t, s, "a/2", "two", store.AnyRevision)
	put(t, s, "a/1", "one", store.AnyRevision)
	w := must(s.KV().Watch(t.Context(), "a/"))(t)
	for _, want := range []string{"a/1 one", "a/2 two"} {
		if e := next(t, w); e.Key+" "+string(e.Value) != want {
			t.Fatalf("current entry %+v, want %s", e, want)
		}
	}
	quiet(t, w)
	rev := put(t, s, "a/3", "three", store.AnyRevision)
	if e := next(t, w); e.Key != "a/3" || string(e.Value) != "three" || e.Revision != rev {
		t.Fatalf("new entry came as %+v", e)
	}
	put(t, s, "a/1", "", store.AnyRevision)
	if e := next(t, w); e.Key != "a/1" || e.Value == nil {
		t.Fatalf("emptied entry came as %+v", e)
	}
	ok(t, s.KV().Delete(t.Context(), "a/2", store.AnyRevision))
	if e := next(t, w); e.Key != "a/2" || e.Value != nil {
		t.Fatalf("deleted entry came as %+v", e)
	}
	put(t, s, "a/2", "again", store.MustNotExist)
	if e := next(t, w); e.Key != "a/2" || string(e.Value) != "again" {
		t.Fatalf("entry that is back came as %+v", e)
	}
	quiet(t, w)
}

func watchPrefix(t *testing.T, s store.Store) {
	w := must(s.KV().Watch(t.Context(), "a/"))(t)
	all := must(s.KV().Watch(t.Context(), ""))(t)
	put(t, s, "b/1", "x", store.AnyRevision)
	put(t, s, "a", "x", store.AnyRevision)
	ok(t, second(s.Log("a/").Append(t.Context(), "a/", nil)))
	quiet(t, w)
	put(t, s, "a/1", "x", store.AnyRevision)
	if e := next(t, w); e.Key != "a/1" {
		t.Errorf("got %+v", e)
	}
	for range 3 {
		next(t, all)
	}
	quiet(t, all)
}

func watchEnds(t *testing.T, s store.Store) {
	ctx, cancel := context.WithCancel(t.Context())
	w := must(s.KV().Watch(ctx, ""))(t)
	for i := range 40 { // more than a channel may hold
		put(t, s, fmt.Sprint(i), "x", store.AnyRevision)
	}
	cancel()
	drained(t, w)
}

func watchSlowly(t *testing.T, s store.Store) {
	w := must(s.KV().Watch(t.Context(), ""))(t)
	for i := range 60 {
		put(t, s, "a", fmt.Sprint(i), store.AnyRevision)
	}
	put(t, s, "gone", "x", store.AnyRevision)
	ok(t, s.KV().Delete(t.Context(), "gone", store.AnyRevision))
	put(t, s, "end", "x", store.AnyRevision)
	last := map[string]string{}
	for last["a"] != "59" || last["end"] != "x" || last["gone"] != "" {
		e := next(t, w)
		last[e.Key] = string(e.Value)
	}
}

func watchOrder(t *testing.T, s store.Store) {
	w := must(s.KV().Watch(t.Context(), ""))(t)
	var writers sync.WaitGroup
	for i := range 3 {
		writers.Go(func() {
			for n := range 10 {
				key := fmt.Sprint("k", i%2)
				if _, err := s.KV().Put(t.Context(), key, []byte{byte(n)}, store.AnyRevision); err != nil {
					t.Error(err)
				}
			}
		})
	}
	writers.Wait()
	put(t, s, "z", "end", store.AnyRevision)
	seen := map[string]uint64{}
	for seen["z"] == 0 || seen["k0"] == 0 || seen["k1"] == 0 {
		e := next(t, w)
		if e.Revision < seen[e.Key] {
			t.Fatalf("%s went from revision %d to %d", e.Key, seen[e.Key], e.Revision)
		}
		seen[e.Key] = e.Revision
	}
}
