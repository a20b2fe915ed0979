package hostfn

import (
	"context"
	"errors"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/skillet-run/skillet/host/base/store"
	"github.com/skillet-run/skillet/policies"
)

// migration brings the state of the settings' skill to another version.
func migration(s Settings, to int, convert func(context.Context, int, store.KV) error) Migration {
	return Migration{Principal: s.Principal, To: to, QuotaBytes: 1 << 20, Lease: time.Minute, Convert: convert}
}

// upper is a conversion that works as a guest does: it writes every value in upper case, renames "a" to "b",
// and adds "new".
func upper(t *testing.T, s Settings) func(context.Context, int, store.KV) error {
	return func(_ context.Context, from int, scratch store.KV) error {
		if from != 1 {
			t.Errorf("from %d", from)
		}
		s.KV, s.KVSchema = scratch, 2
		e := open(t, s)
		r := call(t, e, "kv_get", `{"key":"a"}`, nil)
		put(t, e, "b", strings.ToUpper(string(r.Body)), "")
		call(t, e, "kv_delete", `{"key":"a"}`, nil)
		put(t, e, "new", "x", "")
		return nil
	}
}

// contents are the values of a skill's state, as its version of that schema reads them.
func contents(t *testing.T, s Settings, schema int) map[string]string {
	t.Helper()
	s.KVSchema = schema
	e := open(t, s)
	all := map[string]string{}
	for _, k := range get[[]string](t, call(t, e, "kv_list", `{}`, nil), "keys") {
		all[k] = string(call(t, e, "kv_get", field("key", k), nil).Body)
	}
	return all
}

func TestMigration(t *testing.T) {
	t.Parallel()
	s := kvSettings(t, memory(t))
	e := open(t, s)
	put(t, e, "a", "one", "")
	put(t, e, "rest", "two", "")
	must(t, migration(s, 2, upper(t, s)).Run(t.Context(), s.KV))
	if got := contents(t, s, 2); !reflect.DeepEqual(got, map[string]string{"b": "ONE", "rest": "two", "new": "x"}) {
		t.Errorf("got %v", got)
	}
	wantKind(t, "the old version", call(t, e, "kv_get", `{"key":"b"}`, nil), KindInvalid)
	if n := len(keys(t, s.KV)); n != 4 {
		t.Errorf("left in the store: %v", keys(t, s.KV))
	}
	infos, err := States(t.Context(), s.KV)
	must(t, err)
	if want := []StateInfo{{Skill: "tester", Schema: 2, Bytes: int64(len("bONErresttwonewx") - 1 + 3*valueHeader)}}; !reflect.DeepEqual(infos, want) {
		t.Errorf("got %+v, want %+v", infos, want)
	}
	must(t, migration(s, 2, nil).Run(t.Context(), s.KV)) // again: nothing to do
	s.KVSchema = 2
	wantKind(t, "writing on", put(t, open(t, s), "b", "more", ""), "")
}

// keys are all keys of the store.
func keys(t *testing.T, kv store.KV) []string {
	t.Helper()
	entries, err := kv.List(context.Background(), "")
	must(t, err)
	var all []string
	for _, x := range entries {
		all = append(all, x.Key)
	}
	return all
}

// TestMigrationFails: what a failed migration leaves is what was there before, byte for byte.
func TestMigrationFails(t *testing.T) {
	t.Parallel()
	s := kvSettings(t, memory(t))
	put(t, open(t, s), "a", "one", "")
	before := keys(t, s.KV)
	boom := errors.New("boom")
	half := func(ctx context.Context, from int, scratch store.KV) error {
		must(t, upper(t, s)(ctx, from, scratch))
		return boom
	}
	if err := migration(s, 2, half).Run(t.Context(), s.KV); !errors.Is(err, boom) {
		t.Errorf("got %v", err)
	}
	if after := keys(t, s.KV); !reflect.DeepEqual(after, before) {
		t.Errorf("left in the store: %v", after)
	}
	wantKind(t, "writing on", put(t, open(t, s), "a", "two", ""), "")
	if got := contents(t, s, 1); !reflect.DeepEqual(got, map[string]string{"a": "two"}) {
		t.Errorf("got %v", got)
	}
	balanced(t, s.KV)
}

// TestMigrationExcludes: while it runs nobody reads or writes, and nobody else begins.
func TestMigrationExcludes(t *testing.T) {
	t.Parallel()
	s := kvSettings(t, memory(t))
	e := open(t, s)
	put(t, e, "a", "one", "")
	tries := func(ctx context.Context, from int, scratch store.KV) error {
		for _, f := range kvFunctions() {
			r := call(t, e, f.name, f.example, nil)
			wantKind(t, f.name, r, KindConflict)
		}
		if err := migration(s, 2, nil).Run(ctx, s.KV); !errors.Is(err, ErrMoving) {
			t.Errorf("a second one: %v", err)
		}
		return upper(t, s)(ctx, from, scratch)
	}
	must(t, migration(s, 2, tries).Run(t.Context(), s.KV))
	if got := contents(t, s, 2); got["b"] != "ONE" {
		t.Errorf("got %v", got)
	}
}

// TestMigrationLosesItsLease: who takes too long changes nothing, and what others wrote meanwhile stays.
func TestMigrationLosesItsLease(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := kvSettings(t, memory(t))
		e := open(t, s)
		put(t, e, "a", "one", "")
		slow := func(ctx context.Context, from int, scratch store.KV) error {
			time.Sleep(time.Minute)
			wantKind(t, "after the lease", put(t, e, "a", "newer", ""), "")
			return upper(t, s)(ctx, from, scratch)
		}
		if err := migration(s, 2, slow).Run(t.Context(), s.KV); !errors.Is(err, ErrMoving) {
			t.Errorf("got %v", err)
		}
		if got := contents(t, s, 1); !reflect.DeepEqual(got, map[string]string{"a": "newer"}) {
			t.Errorf("got %v", got)
		}
		if n := len(keys(t, s.KV)); n != 2 {
			t.Errorf("left in the store: %v", keys(t, s.KV))
		}
	})
}

// TestMigrationAfterCrash: a process that died in the middle of writing leaves nothing that counts.
func TestMigrationAfterCrash(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := kvSettings(t, memory(t))
		put(t, open(t, s), "a", "one", "")
		st := &state{kv: s.KV, scope: scope(s.Principal), schema: 2}
		_, mark, err := migration(s, 2, nil).begin(t.Context(), st)
		must(t, err)
		_, err = migration(s, 2, upper(t, s)).copy(t.Context(), st, account{Schema: 1}, "99")
		must(t, err)
		time.Sleep(time.Minute)
		if got := contents(t, s, 1); mark == 0 || !reflect.DeepEqual(got, map[string]string{"a": "one"}) {
			t.Errorf("got %v", got)
		}
		must(t, migration(s, 2, upper(t, s)).Run(t.Context(), s.KV))
		if got := contents(t, s, 2); !reflect.DeepEqual(got, map[string]string{"b": "ONE", "new": "x"}) {
			t.Errorf("got %v", got)
		}
		if n := len(keys(t, s.KV)); n != 3 {
			t.Errorf("left in the store: %v", keys(t, s.KV))
		}
	})
}

// meddler is a store in which something else happens just before a value is written.
type meddler struct {
	store.KV
	before func()
}

func (m *meddler) Put(ctx context.Context, key string, value []byte, prev uint64) (uint64, error) {
	if before := m.before; before != nil && strings.Contains(key, "/value") {
		m.before = nil
		before()
	}
	return m.KV.Put(ctx, key, value, prev)
}

// TestMigrationBesideWriter: a write that comes between is not acknowledged, so none that is gets lost.
func TestMigrationBesideWriter(t *testing.T) {
	t.Parallel()
	s := kvSettings(t, memory(t))
	put(t, open(t, s), "a", "one", "")
	slow := s
	m := &meddler{KV: s.KV}
	slow.KV = m
	e := open(t, slow)
	m.before = func() { must(t, migration(s, 2, upper(t, s)).Run(t.Context(), s.KV)) }
	wantKind(t, "put", put(t, e, "late", "x", ""), KindInvalid)
	if got := contents(t, s, 2); !reflect.DeepEqual(got, map[string]string{"b": "ONE", "new": "x"}) {
		t.Errorf("got %v", got)
	}
	if n := len(keys(t, s.KV)); n != 3 {
		t.Errorf("left in the store: %v", keys(t, s.KV))
	}
	s.KVSchema, slow.KVSchema = 2, 2
	m.before = func() { must(t, DeleteState(t.Context(), s.KV, s.Principal)) }
	wantKind(t, "put", put(t, open(t, slow), "late", "x", ""), KindConflict)
	if left := keys(t, s.KV); len(left) > 0 {
		t.Errorf("left in the store: %v", left)
	}
}

func TestStateSchema(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := kvSettings(t, memory(t))
		check := func(what string, version int, kept bool) {
			t.Helper()
			v, ok, err := StateSchema(t.Context(), s.KV, s.Principal)
			if err != nil || v != version || ok != kept {
				t.Errorf("%s: %d, %v, %v", what, v, ok, err)
			}
		}
		check("none", 0, false)
		s.KVSchema = 7
		put(t, open(t, s), "a", "one", `,"ttl_seconds":5`)
		check("some", 7, true)
		time.Sleep(5 * time.Second)
		check("all expired", 7, false)
		must(t, migration(s, 9, nil).Run(t.Context(), s.KV)) // nothing to convert
		check("empty", 9, false)
		s.KVSchema = 9
		wantKind(t, "put", put(t, open(t, s), "a", "", ""), "")
		check("again", 9, true)
	})
}

// TestPathsKeepApart: two files of one name, run from paths, have nothing in common, and what they keep is
// listed and deleted by their digests.
func TestPathsKeepApart(t *testing.T) {
	t.Parallel()
	kv := memory(t)
	as := func(origin, digit string) Settings {
		s := kvSettings(t, kv)
		s.Principal = policies.Principal{Skill: "wasm-main", Origin: origin, Digest: "sha256:" + strings.Repeat(digit, 64)}
		return s
	}
	all := []Settings{as(policies.OriginPath, "1"), as(policies.OriginPath, "2"), as(policies.OriginUser, "3"), as(policies.OriginDevelopment, "4")}
	for _, s := range all {
		if r := call(t, open(t, s), "kv_get", `{"key":"k"}`, nil); get[bool](t, r, "found") {
			t.Errorf("%+v reads what another wrote", s.Principal)
		}
		put(t, open(t, s), "k", s.Principal.Digest, "")
	}
	infos, err := States(t.Context(), kv)
	must(t, err)
	if len(infos) != len(all) {
		t.Fatalf("listed %+v", infos)
	}
	for _, i := range infos {
		must(t, DeleteState(t.Context(), kv, i.Principal()))
	}
	if left := keys(t, kv); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
	nobody := as(policies.OriginPath, "1")
	nobody.Principal.Digest = ""
	wantKind(t, "a path without a digest", put(t, open(t, nobody), "k", "", ""), KindIO)
}
