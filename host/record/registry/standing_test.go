package registry_test

import (
	"errors"
	"testing"

	"github.com/skillet-run/skillet/host/base/store"
	"github.com/skillet-run/skillet/host/record/registry"
	"github.com/skillet-run/skillet/manifests"
)

// Whose data it is: the same signer's, or, of what is not signed, what has the
// same bytes or comes from the same place.
func TestLeftoverFits(t *testing.T) {
	t.Parallel()
	const d, other = manifests.Digest("sha256:aa"), manifests.Digest("sha256:bb")
	for _, c := range []struct {
		name                           string
		signer, newSigner, source, new string
		digest                         manifests.Digest
		want                           bool
	}{
		{"the same bytes from elsewhere", "", "", "/a", "/b", d, true},
		{"the same directory", "", "", "/a", "/a", other, true},
		{"another directory", "", "", "/a", "/b", other, false},
		{"two files of one directory", "", "", "/a/x-1.0.0.skill", "/a/x-1.1.0.skill", other, true},
		{"files of two directories", "", "", "/a/x-1.0.0.skill", "/b/x-1.1.0.skill", other, false},
		{"two versions of one repository", "", "", "oci://h:5000/s/x:1.0.0@sha256:11", "oci://h:5000/s/x:1.1.0@sha256:22", other, true},
		{"two repositories", "", "", "oci://h/s/x:1.0.0", "oci://h/evil/x:1.0.0", other, false},
		{"two hosts", "", "", "oci://h:5000/s/x", "oci://h:5001/s/x", other, false},
		{"two commits", "", "", "git+https://h/r#aaa:skills/x", "git+https://h/r#bbb:skills/x", other, true},
		{"two directories of a repository", "", "", "git+https://h/r#aaa:skills/x", "git+https://h/r#aaa:skills/y", other, false},
		{"two files of an address", "", "", "https://h/d/x-1.0.0.skill#sha256:11", "https://h/d/x-1.1.0.skill", other, true},
		{"the same signer elsewhere", "k", "k", "/a", "/b", other, true},
		{"another signer, the same place", "k", "l", "/a", "/a", other, false},
		{"no signer any more", "k", "", "/a", "/a", d, false},
		{"a signer now", "", "k", "/a", "/a", d, false},
	} {
		l := registry.Leftover{Name: "x", Signer: c.signer, Source: c.source, Digest: d}
		if got := l.FitsFor(c.newSigner, c.new, c.digest); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
}

// A home of an earlier skillet has pointers and records without what was added
// since.
func TestStateOfEarlierSkilletsIsRead(t *testing.T) {
	t.Parallel()
	s := newShelf(t)
	d := manifests.DigestOf([]byte("x"))
	for key, value := range map[string]string{
		"skill/text/" + d.Hex(): `{"v":1,"name":"text","version":"1.0.0","digest":"` + string(d) + `","kind":"code_inline","source":"/s","origin":"user"}`,
		"active/text":           `{"digest":"` + string(d) + `"}`,
	} {
		if _, err := s.store.KV().Put(t.Context(), key, []byte(value), store.AnyRevision); err != nil {
			t.Fatal(err)
		}
	}
	v, err := s.Lookup(t.Context(), manifests.Ref{Name: "text"})
	if err != nil || !v.Active || v.CheckEnabled() != nil || v.Pinned != nil || v.Signer != "" {
		t.Fatalf("got %+v, %v", v, err)
	}
	s.apply(registry.PinnedAt("text", "r"))
	s.apply(registry.Disabled("text", "", "r"))
	if v, err = s.Lookup(t.Context(), manifests.Ref{Name: "text"}); err != nil || !v.Active || v.Pinned == nil || !errors.Is(v.CheckEnabled(), registry.ErrDisabled) {
		t.Errorf("got %+v, %v", v, err)
	}
	if _, ok, err := s.Former(t.Context(), "text"); ok || err != nil {
		t.Errorf("there is one before: %v, %v", ok, err)
	}
}

// What is known of former versions is bounded, and has each of them once.
func TestHistoryIsBounded(t *testing.T) {
	t.Parallel()
	s := newShelf(t)
	one, two := pack(t, "text", "1.0.0"), pack(t, "text", "2.0.0")
	for range 50 {
		s.install(one)
		s.install(two)
	}
	h, err := s.History(t.Context(), "text")
	if err != nil || len(h) != 1 || h[0].Version != "1.0.0" {
		t.Errorf("got %+v, %v", h, err)
	}
}
