package storetest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/skillet-run/skillet/host/base/store"
)

var logTests = []test{
	{"Log/append and read", appendAndRead},
	{"Log/follow", follow},
	{"Log/follow from a number", followFrom},
	{"Log/follow ends with the context", followEnds},
	{"Log/followers see each event once, in order", followOrder},
	{"Log/trim", trim},
	{"Log/logs are apart", logsApart},
	{"Log/limits", logLimits},
}

func add(t *testing.T, s store.Store, subjects ...string) (seqs []uint64) {
	t.Helper()
	for _, sub := range subjects {
		seqs = append(seqs, must(s.Log("l").Append(t.Context(), sub, []byte("data of "+sub)))(t))
	}
	return seqs
}

func subjects(events []store.Event) (all []string) {
	for _, e := range events {
		all = append(all, e.Subject)
	}
	return all
}

func appendAndRead(t *testing.T, s store.Store) {
	begin := time.Now().Add(-time.Millisecond)
	seqs := add(t, s, "a/1", "b/1", "a/2", "a/3")
	if !slices.IsSorted(seqs) || seqs[0] == 0 || len(slices.Compact(slices.Clone(seqs))) != 4 {
		t.Errorf("numbers %v do not rise", seqs)
	}
	for _, tc := range []struct {
		prefix string
		after  uint64
		limit  int
		want   []string
	}{
		{"", 0, 0, []string{"a/1", "b/1", "a/2", "a/3"}},
		{"a/", 0, 0, []string{"a/1", "a/2", "a/3"}},
		{"a/", 0, 2, []string{"a/1", "a/2"}},
		{"a/", seqs[0], 0, []string{"a/2", "a/3"}},
		{"", seqs[3], 0, nil},
		{"c", 0, 0, nil},
		{"", store.AnyRevision, 0, nil},
	} {
		got := must(s.Log("l").Read(t.Context(), tc.prefix, tc.after, tc.limit))(t)
		if !slices.Equal(subjects(got), tc.want) {
			t.Errorf("Read(%q, %d, %d) = %v, want %v", tc.prefix, tc.after, tc.limit, subjects(got), tc.want)
		}
	}
	e := must(s.Log("l").Read(t.Context(), "b/", 0, 0))(t)[0]
	if e.Seq != seqs[1] || string(e.Data) != "data of b/1" || e.Time.Before(begin) || e.Time.After(time.Now()) || e.Time.Location() != time.UTC {
		t.Errorf("event %+v", e)
	}
}

func follow(t *testing.T, s store.Store) {
	add(t, s, "a/1", "b/1")
	f := must(s.Log("l").Follow(t.Context(), "a/", 0))(t)
	if e := next(t, f); e.Subject != "a/1" {
		t.Errorf("first %+v", e)
	}
	quiet(t, f)
	seqs := add(t, s, "b/2", "a/2")
	if e := next(t, f); e.Subject != "a/2" || e.Seq != seqs[1] || string(e.Data) != "data of a/2" {
		t.Errorf("then %+v", e)
	}
	quiet(t, f)
}

func followFrom(t *testing.T, s store.Store) {
	seqs := add(t, s, "1", "2", "3", "4")
	f := must(s.Log("l").Follow(t.Context(), "", seqs[1]))(t)
	for _, want := range seqs[2:] {
		if e := next(t, f); e.Seq != want {
			t.Errorf("got %d, want %d", e.Seq, want)
		}
	}
	seqs = add(t, s, "5")
	if e := next(t, f); e.Seq != seqs[0] {
		t.Errorf("got %d, want %d", e.Seq, seqs[0])
	}
}

func followEnds(t *testing.T, s store.Store) {
	ctx, cancel := context.WithCancel(t.Context())
	f := must(s.Log("l").Follow(ctx, "", 0))(t)
	for i := range 40 {
		add(t, s, fmt.Sprint(i))
	}
	cancel()
	drained(t, f)
}

func followOrder(t *testing.T, s store.Store) {
	const writers, each = 3, 12
	var followers []<-chan store.Event
	for range 2 {
		followers = append(followers, must(s.Log("l").Follow(t.Context(), "", 0))(t))
	}
	var all sync.WaitGroup
	for w := range writers {
		all.Go(func() {
			for i := range each {
				if _, err := s.Log("l").Append(t.Context(), fmt.Sprint(w, "/", i), nil); err != nil {
					t.Error(err)
				}
			}
		})
	}
	for _, f := range followers {
		var last uint64
		for range writers * each {
			e := next(t, f)
			if e.Seq <= last {
				t.Fatalf("event %d after %d", e.Seq, last)
			}
			last = e.Seq
		}
		quiet(t, f)
	}
	all.Wait()
}

func trim(t *testing.T, s store.Store) {
	seqs := add(t, s, "1", "2", "3", "4")
	l := s.Log("l")
	ok(t, l.Trim(t.Context(), 0))
	ok(t, l.Trim(t.Context(), seqs[1]))
	if got := subjects(must(l.Read(t.Context(), "", 0, 0))(t)); !slices.Equal(got, []string{"3", "4"}) {
		t.Errorf("left: %v", got)
	}
	ok(t, l.Trim(t.Context(), store.AnyRevision))
	if got := must(l.Read(t.Context(), "", 0, 0))(t); len(got) != 0 {
		t.Errorf("left: %v", got)
	}
	if again := add(t, s, "5"); again[0] <= seqs[3] {
		t.Errorf("number %d was used before", again[0])
	}
}

func logsApart(t *testing.T, s store.Store) {
	add(t, s, "1")
	for _, name := range []string{"m", "l2", "ll"} {
		if got := must(s.Log(name).Read(t.Context(), "", 0, 0))(t); len(got) != 0 {
			t.Errorf("log %s has %v", name, got)
		}
	}
	ok(t, s.Log("l2").Trim(t.Context(), store.AnyRevision))
	if got := must(s.Log("l").Read(t.Context(), "", 0, 0))(t); len(got) != 1 {
		t.Errorf("log l has %v", got)
	}
}

func logLimits(t *testing.T, s store.Store) {
	for _, tc := range []struct {
		log, subject string
		data         []byte
		want         error
	}{
		{"", "a", nil, store.ErrInvalid},
		{"l", "", nil, store.ErrInvalid},
		{"l", "a\x00b", nil, store.ErrInvalid},
		{"l\x00", "a", nil, store.ErrInvalid},
		{"l", "a", make([]byte, store.MaxValue+1), store.ErrTooLarge},
		{"l", "a", make([]byte, store.MaxValue), nil},
	} {
		if _, err := s.Log(tc.log).Append(t.Context(), tc.subject, tc.data); !errors.Is(err, tc.want) {
			t.Errorf("log %q subject %q: %v, want %v", tc.log, tc.subject, err, tc.want)
		}
	}
	if _, err := s.Log("").Follow(t.Context(), "", 0); !errors.Is(err, store.ErrInvalid) {
		t.Errorf("Follow of a log without a name: %v", err)
	}
}
