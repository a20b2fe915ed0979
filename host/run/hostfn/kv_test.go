package hostfn

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/skillet-run/skillet/host/base/store"
	"github.com/skillet-run/skillet/policies"
)

// kvSettings are settings with a store and the grant for it.
func kvSettings(t testing.TB, kv store.KV) Settings {
	s := settings(t, "kv")
	s.KV = kv
	return s
}

// memory is a store in memory.
func memory(t testing.TB) store.KV {
	m := store.Memory()
	t.Cleanup(func() { m.Close() })
	return m.KV()
}

func put(t testing.TB, e *Env, key, value, more string) reply {
	t.Helper()
	return call(t, e, "kv_put", fmt.Sprintf(`{"key":%q%s}`, key, more), []byte(value))
}

func TestKV(t *testing.T) {
	t.Parallel()
	e := open(t, kvSettings(t, memory(t)))
	r := call(t, e, "kv_get", `{"key":"a"}`, nil)
	if get[bool](t, r, "found") {
		t.Errorf("empty: %s", r.Meta)
	}
	first := get[uint64](t, put(t, e, "a", "one", ""), "revision")
	r = call(t, e, "kv_get", `{"key":"a"}`, nil)
	if string(r.Body) != "one" || get[uint64](t, r, "revision") != first {
		t.Errorf("get: %s %q", r.Meta, r.Body)
	}
	wantKind(t, "must not exist", put(t, e, "a", "x", `,"revision":0`), KindConflict)
	second := get[uint64](t, put(t, e, "a", "two", fmt.Sprintf(`,"revision":%d`, first)), "revision")
	wantKind(t, "stale", put(t, e, "a", "x", fmt.Sprintf(`,"revision":%d`, first)), KindConflict)
	if second <= first {
		t.Errorf("revisions %d, %d", first, second)
	}
	wantKind(t, "new by revision", put(t, e, "b/1", "", `,"revision":0`), "")
	put(t, e, "b/2", "x", "")
	keys := func(meta string) string {
		return strings.Join(get[[]string](t, call(t, e, "kv_list", meta, nil), "keys"), " ")
	}
	if got := keys(`{}`); got != "a b/1 b/2" {
		t.Errorf("keys %q", got)
	}
	if got := keys(`{"prefix":"b/"}`); got != "b/1 b/2" {
		t.Errorf("keys with a prefix %q", got)
	}
	if got := keys(`{"limit":1}`); got != "a" {
		t.Errorf("one key %q", got)
	}
	if !get[bool](t, call(t, e, "kv_delete", `{"key":"a"}`, nil), "deleted") ||
		get[bool](t, call(t, e, "kv_delete", `{"key":"a"}`, nil), "deleted") {
		t.Error("delete")
	}
}

func TestKVRefusesNonsense(t *testing.T) {
	t.Parallel()
	e := open(t, kvSettings(t, memory(t)))
	long := strings.Repeat("k", MaxKey+1)
	for _, c := range []struct {
		name, meta string
		body       int
		kind       Kind
	}{
		{"kv_get", `{"key":""}`, 0, KindInvalid},
		{"kv_get", `{"key":"a\u0000b"}`, 0, KindInvalid},
		{"kv_put", `{"key":"a\nb"}`, 0, KindInvalid},
		{"kv_put", field("key", long), 0, KindInvalid},
		{"kv_put", `{"key":"k","ttl_seconds":-1}`, 0, KindInvalid},
		{"kv_put", `{"key":"k","ttl_seconds":99999999999}`, 0, KindInvalid},
		{"kv_put", `{"key":"k"}`, MaxValue + 1, KindLimit},
		{"kv_put", `{"key":"k"}`, MaxValue, ""},
		{"kv_list", `{"limit":-1}`, 0, KindInvalid},
		{"kv_list", field("prefix", long), 0, KindInvalid},
		{"kv_delete", `{"key":""}`, 0, KindInvalid},
	} {
		wantKind(t, c.name+" "+c.meta[:min(len(c.meta), 40)], call(t, e, c.name, c.meta, make([]byte, c.body)), c.kind)
	}
	wantKind(t, "no store", put(t, open(t, kvSettings(t, nil)), "k", "", ""), KindIO)
}

// TestKVNamespaces: no skill sees another's state, also not by a name that leads there, and one that was
// not installed has none of the installed one of its name.
func TestKVNamespaces(t *testing.T) {
	t.Parallel()
	kv := memory(t)
	as := func(name, origin string) *Env {
		s := kvSettings(t, kv)
		s.Principal = policies.Principal{Skill: name, Origin: origin, Digest: "sha256:" + strings.Repeat("0", 64)}
		return open(t, s)
	}
	put(t, as("one", policies.OriginUser), "k", "secret", "")
	for _, e := range []*Env{
		as("two", policies.OriginUser), as("on", policies.OriginUser), as("one", policies.OriginPath),
		as("one", policies.OriginDevelopment), as("one/value", policies.OriginUser),
	} {
		for _, key := range []string{"k", "../one/value/k", "e/value/k", "value/k"} {
			if r := call(t, e, "kv_get", field("key", key), nil); get[bool](t, r, "found") {
				t.Errorf("%+v reads %q", e.s.Principal, key)
			}
		}
		if keys := get[[]string](t, call(t, e, "kv_list", `{}`, nil), "keys"); len(keys) > 0 {
			t.Errorf("%+v lists %v", e.s.Principal, keys)
		}
	}
	newer := as("one", policies.OriginBundled)
	if r := call(t, newer, "kv_get", `{"key":"k"}`, nil); string(r.Body) != "secret" {
		t.Error("state does not outlive a version")
	}
	must(t, DeleteState(context.Background(), kv, newer.s.Principal))
	if left, _ := kv.List(context.Background(), ""); len(left) > 0 {
		t.Errorf("left after DeleteState: %v", left)
	}
}

func TestKVQuota(t *testing.T) {
	t.Parallel()
	s := kvSettings(t, memory(t))
	s.KVQuotaBytes = 100
	e := open(t, s)
	ten := strings.Repeat("v", 10) // costs 10 + 1 for the key + 9 for the header
	for i := range 5 {
		wantKind(t, fmt.Sprint("put ", i), put(t, e, fmt.Sprint(i), ten, ""), "")
	}
	wantKind(t, "full", put(t, e, "5", "", ""), KindLimit)
	wantKind(t, "longer", put(t, e, "4", ten+"v", ""), KindLimit)
	wantKind(t, "shorter", put(t, e, "4", "v", ""), "")
	wantKind(t, "what that freed", put(t, e, "3", ten+"123456789", ""), "")
	wantKind(t, "full again", put(t, e, "3", ten+"1234567890", ""), KindLimit)
	call(t, e, "kv_delete", `{"key":"0"}`, nil)
	wantKind(t, "what deleting freed", put(t, e, "5", ten, ""), "")
	wantKind(t, "and no more", put(t, e, "6", "", ""), KindLimit)
	for range 3 {
		put(t, e, "1", ten, "")
		call(t, e, "kv_delete", `{"key":"1"}`, nil)
	}
	balanced(t, s.KV)
}

// balanced fails unless the account says what is there.
func balanced(t testing.TB, kv store.KV) {
	t.Helper()
	s := &state{kv: kv, scope: "skill/tester", schema: 1}
	counted, _, err := s.account(context.Background())
	must(t, err)
	actual, err := s.recount(context.Background())
	must(t, err)
	if counted.Bytes != actual {
		t.Errorf("counted %d bytes, there are %d", counted.Bytes, actual)
	}
}

// TestKVQuotaHeals: a count that a crash left too high is corrected before anything is refused for it.
func TestKVQuotaHeals(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	kv := memory(t)
	s := kvSettings(t, kv)
	s.KVQuotaBytes = 1000
	e := open(t, s)
	put(t, e, "k", "v", "")
	_, err := kv.Put(ctx, "kv/account/skill/tester", []byte(`{"schema":1,"bytes":999}`), store.AnyRevision)
	must(t, err)
	wantKind(t, "put", put(t, e, "l", "0123456789", ""), "")
	x, err := kv.Get(ctx, "kv/account/skill/tester")
	must(t, err)
	if string(x.Value) != `{"schema":1,"bytes":31}` {
		t.Errorf("account %s", x.Value)
	}
}

func TestKVExpiry(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := kvSettings(t, memory(t))
		s.KVQuotaBytes = 60
		e := open(t, s)
		wantKind(t, "put", put(t, e, "short", "0123456789", `,"ttl_seconds":10`), "")
		wantKind(t, "put", put(t, e, "long", "0123456789", `,"ttl_seconds":3600`), "")
		time.Sleep(9 * time.Second)
		if r := call(t, e, "kv_get", `{"key":"short"}`, nil); !get[bool](t, r, "found") {
			t.Error("gone too early")
		}
		wantKind(t, "full", put(t, e, "third", "0123456789", ""), KindLimit)
		time.Sleep(time.Second)
		if r := call(t, e, "kv_get", `{"key":"short"}`, nil); get[bool](t, r, "found") || len(r.Body) > 0 {
			t.Errorf("still there: %s", r.Meta)
		}
		if keys := get[[]string](t, call(t, e, "kv_list", `{}`, nil), "keys"); len(keys) != 1 {
			t.Errorf("keys %v", keys)
		}
		if r := call(t, e, "kv_delete", `{"key":"short"}`, nil); get[bool](t, r, "deleted") {
			t.Error("deleting what has expired says it was there")
		}
		put(t, e, "short", "x", `,"ttl_seconds":1`)
		time.Sleep(time.Second)
		wantKind(t, "must not exist", put(t, e, "short", "0123456789", `,"revision":0,"ttl_seconds":1`), "")
		time.Sleep(time.Second)
		wantKind(t, "what expired makes room", put(t, e, "third", "0123456789", ""), "")
	})
}

func TestKVSchema(t *testing.T) {
	t.Parallel()
	kv := memory(t)
	s := kvSettings(t, kv)
	s.KVSchema = 2
	put(t, open(t, s), "k", "v", "")
	s.KVSchema = 3
	for _, f := range kvFunctions() {
		r := call(t, open(t, s), f.name, f.example, nil)
		wantKind(t, f.name, r, KindInvalid)
		if !strings.Contains(r.Error.Message, "schema version 2 and this skill uses version 3") {
			t.Errorf("%s: %q", f.name, r.Error.Message)
		}
	}
	must(t, DeleteState(context.Background(), kv, s.Principal))
	wantKind(t, "after deleting", put(t, open(t, s), "k", "v", ""), "")
}

// TestKVConcurrent: counters by compare-and-set lose nothing, and the quota's account stays right.
func TestKVConcurrent(t *testing.T) {
	t.Parallel()
	kv := memory(t)
	s := kvSettings(t, kv)
	var wg sync.WaitGroup
	for w := range 4 {
		wg.Go(func() {
			e := open(t, s)
			for i := range 10 {
				for {
					r := call(t, e, "kv_get", `{"key":"n"}`, nil)
					rev := get[uint64](t, r, "revision")
					if put(t, e, "n", string(r.Body)+"x", fmt.Sprintf(`,"revision":%d`, rev)).Error.Kind == "" {
						break
					}
				}
				put(t, e, fmt.Sprint("own", w), strings.Repeat("y", i), "")
			}
		})
	}
	wg.Wait()
	r := call(t, open(t, s), "kv_get", `{"key":"n"}`, nil)
	if len(r.Body) != 40 {
		t.Errorf("%d of 40 increments", len(r.Body))
	}
	balanced(t, kv)
}

// TestKVDamage: bytes that are no value are an error and not a value.
func TestKVDamage(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	kv := memory(t)
	e := open(t, kvSettings(t, kv))
	put(t, e, "k", "v", "")
	_, err := kv.Put(ctx, "kv/skill/tester/value/k", []byte("?"), store.AnyRevision)
	must(t, err)
	wantKind(t, "value", call(t, e, "kv_get", `{"key":"k"}`, nil), KindIO)
	_, err = kv.Put(ctx, "kv/account/skill/tester", []byte("?"), store.AnyRevision)
	must(t, err)
	wantKind(t, "account", call(t, e, "kv_list", `{}`, nil), KindIO)
}
