package runner

import (
	"bytes"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/skillet-run/skillet/host/base/store"
	"github.com/skillet-run/skillet/manifests"
	"github.com/skillet-run/skillet/manifests/bundle"
	"github.com/skillet-run/skillet/policies/capability"
)

func testCache(t *testing.T) cache {
	s := store.Memory()
	t.Cleanup(func() { s.Close() })
	return (&Runner{kv: s.KV()}).cache("skill/tester", &manifests.Caching{ResultCacheTTL: 60, MaxCacheSizeMB: 1})
}

func has(t *testing.T, c cache, key string) bool {
	t.Helper()
	_, ok, err := c.get(t.Context(), key)
	if err != nil {
		t.Fatal(err)
	}
	return ok
}

func TestCacheForgetsInTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := testCache(t)
		if has(t, c, "k") {
			t.Error("something is there from the start")
		}
		if err := c.put(t.Context(), "k", []byte("answer")); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute - time.Millisecond)
		if out, ok, _ := c.get(t.Context(), "k"); !ok || string(out) != "answer" {
			t.Errorf("got %q, %v", out, ok)
		}
		time.Sleep(time.Millisecond)
		if has(t, c, "k") {
			t.Error("still there")
		}
	})
}

// TestCacheIsBounded: the store never holds more than the quota, and what goes
// first is the oldest.
func TestCacheIsBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := testCache(t)
		answer := bytes.Repeat([]byte("x"), 100<<10)
		for i := range 30 {
			time.Sleep(time.Millisecond)
			if err := c.put(t.Context(), fmt.Sprint(i), answer); err != nil {
				t.Fatal(err)
			}
			entries, err := c.kv.List(t.Context(), c.prefix)
			if err != nil {
				t.Fatal(err)
			}
			total := 0
			for _, x := range entries {
				total += len(x.Value)
			}
			if total > 1<<20 {
				t.Fatalf("%d bytes after %d answers", total, i+1)
			}
			if a, _, _ := c.account.read(t.Context()); a.Bytes != int64(total) {
				t.Fatalf("counted %d bytes, there are %d", a.Bytes, total)
			}
		}
		for i := range 30 {
			if has(t, c, fmt.Sprint(i)) != (i >= 23) && i > 27 {
				t.Errorf("answer %d: %v", i, has(t, c, fmt.Sprint(i)))
			}
		}
		if has(t, c, "0") || !has(t, c, "29") {
			t.Error("not the oldest went")
		}
		if err := c.put(t.Context(), "long", make([]byte, MaxCached+1)); err != nil || has(t, c, "long") {
			t.Errorf("too long an answer is kept: %v", err)
		}
	})
}

func TestCacheSurvivesDamage(t *testing.T) {
	t.Parallel()
	c := testCache(t)
	for _, b := range []string{"", "\x01", "\x02" + string(make([]byte, 20)), string(make([]byte, 17))} {
		if _, err := c.kv.Put(t.Context(), c.prefix+"k", []byte(b), store.AnyRevision); err != nil {
			t.Fatal(err)
		}
		if has(t, c, "k") {
			t.Errorf("%q is an answer", b)
		}
		if err := c.makeRoom(t.Context(), 5); err != nil {
			t.Fatal(err)
		}
		if _, err := c.kv.Get(t.Context(), c.prefix+"k"); err == nil {
			t.Errorf("%q stays", b)
		}
	}
	if _, err := c.kv.Put(t.Context(), c.account.key, []byte("?"), store.AnyRevision); err != nil {
		t.Fatal(err)
	}
	if err := c.put(t.Context(), "k", []byte("answer")); err != nil || !has(t, c, "k") {
		t.Errorf("got %v", err)
	}
}

// TestCacheKeyHasAllThatMatters ranges over everything an answer depends on.
func TestCacheKeyHasAllThatMatters(t *testing.T) {
	t.Parallel()
	seen := map[string]string{}
	for name, change := range map[string]func(a *run, policies, code *manifests.Digest){
		"nothing":     func(_ *run, _, _ *manifests.Digest) {},
		"policies":    func(_ *run, p, _ *manifests.Digest) { *p = "sha256:other" },
		"interpreter": func(_ *run, _, c *manifests.Digest) { *c = "sha256:other" },
		"tool":        func(a *run, _, _ *manifests.Digest) { a.tool.Name = "other" },
		"input":       func(a *run, _, _ *manifests.Digest) { a.call.Input = []byte(`{"a":2}`) },
		"grants":      func(a *run, _, _ *manifests.Digest) { a.granted = capability.NewSet(capability.MustParse("clock")) },
		"config":      func(a *run, _, _ *manifests.Digest) { a.call.Config = map[string]string{"k": "v"} },
		"workspace":   func(a *run, _, _ *manifests.Digest) { a.call.Workspace = "/other" },
		"package":     func(a *run, _, _ *manifests.Digest) { a.call.Target.Package = emptyPackage(t, "1.0.1") },
	} {
		p, c := manifests.Digest("sha256:one"), manifests.Digest("")
		a := &run{call: Call{Target: Target{Package: emptyPackage(t, "1.0.0")}, Input: []byte(`{"a":1}`), Workspace: "/w"}, tool: manifests.Tool{Name: "run"}}
		change(a, &p, &c)
		key := a.cacheKey(p, c)
		if other, ok := seen[key]; ok {
			t.Errorf("%s makes no difference to %s", name, other)
		}
		seen[key] = name
	}
}

func emptyPackage(t *testing.T, version string) *bundle.Package {
	t.Helper()
	p, err := bundle.FromFiles(map[string][]byte{
		"skill.json": fmt.Appendf(nil, `{"name":"tester","version":%q,"description":"d","type":"code_inline","command":"m.wasm","tools":[{"name":"run"}]}`, version),
		"m.wasm":     []byte("\x00asm\x01\x00\x00\x00"),
	})
	if err != nil {
		t.Fatal(err)
	}
	return p
}
