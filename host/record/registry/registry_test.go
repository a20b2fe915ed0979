package registry_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/skillet-run/skillet/host/base/fault"

	"github.com/skillet-run/skillet/host/base/store"
	"github.com/skillet-run/skillet/host/engine/sandbox/wasmbin/wasmtest"
	"github.com/skillet-run/skillet/host/record/ledger"
	"github.com/skillet-run/skillet/host/record/registry"
	"github.com/skillet-run/skillet/manifests"
	"github.com/skillet-run/skillet/manifests/bundle"
)

// shelf is a registry over a store in memory.
type shelf struct {
	*registry.Registry
	t     *testing.T
	store store.Store
	seq   uint64
}

func newShelf(t *testing.T) *shelf {
	s := store.Memory()
	t.Cleanup(func() { s.Close() })
	return &shelf{Registry: registry.New(s.KV(), s.Blobs()), t: t, store: s}
}

func pack(t *testing.T, name, version string, aliases ...string) *bundle.Package {
	t.Helper()
	m := wasmtest.New()
	m.ExportFunc("go", m.Func(wasmtest.Signature{}, ""))
	list, err := json.Marshal(append([]string{}, aliases...))
	if err != nil {
		t.Fatal(err)
	}
	manifest := fmt.Sprintf(`{"name":%q,"version":%q,"description":"d","type":"code_inline","command":"main.wasm","aliases":%s,"tools":[{"name":"go","description":"d"}]}`, name, version, list)
	if len(aliases) == 0 {
		manifest = strings.Replace(manifest, `"aliases":[],`, "", 1)
	}
	p, err := bundle.FromFiles(map[string][]byte{"skill.json": []byte(manifest), "main.wasm": m.Bytes()})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func (s *shelf) apply(c ledger.Change, err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
	s.seq++
	at := ledger.Stamp{Seq: s.seq, Time: time.Unix(int64(s.seq), 0).UTC(), Actor: "human:ada"}
	if err := registry.Projection().Apply(s.t.Context(), s.store.KV(), at, c); err != nil {
		s.t.Fatal(err)
	}
}

func (s *shelf) install(p *bundle.Package) {
	s.t.Helper()
	if err := s.Keep(s.t.Context(), p); err != nil {
		s.t.Fatal(err)
	}
	s.apply(registry.Installed(p, "/src", registry.OriginUser))
}

func (s *shelf) refs() string {
	s.t.Helper()
	all, err := s.List(s.t.Context())
	if err != nil {
		s.t.Fatal(err)
	}
	var refs []string
	for _, k := range all {
		ref := k.Ref()
		if k.Active {
			ref += "*"
		}
		refs = append(refs, ref)
	}
	return strings.Join(refs, " ")
}

func TestVersionsSideBySide(t *testing.T) {
	s := newShelf(t)
	for _, v := range []string{"1.9.0", "1.10.0", "1.2.0"} {
		s.install(pack(t, "text", v))
	}
	s.install(pack(t, "csv", "0.1.0"))
	if got, want := s.refs(), "csv@0.1.0* text@1.10.0 text@1.9.0 text@1.2.0*"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	versions, err := s.Versions(t.Context(), "text")
	if err != nil {
		t.Fatal(err)
	}
	s.apply(registry.Removed(versions[2], versions[:2]))
	if got, want := s.refs(), "csv@0.1.0* text@1.10.0* text@1.9.0"; got != want {
		t.Errorf("after the active one went: got %s, want %s", got, want)
	}
	s.apply(registry.Removed(versions[1], versions[:1]))
	if got, want := s.refs(), "csv@0.1.0* text@1.10.0*"; got != want {
		t.Errorf("after another one went: got %s, want %s", got, want)
	}
}

func TestLookup(t *testing.T) {
	s := newShelf(t)
	s.install(pack(t, "markdown", "1.0.0", "md"))
	s.install(pack(t, "md-lint", "1.0.0"))
	for _, c := range []struct{ ref, want, hint string }{
		{"markdown", "markdown@1.0.0", ""},
		{"md", "markdown@1.0.0", ""},
		{"markdown@1.0.0", "markdown@1.0.0", ""},
		{"markdown@2.0.0", "", "installed versions: 1.0.0"},
		{"markdwon", "", "did you mean [choose markdown"},
		{"nothing-like-it", "", "[list_skills]"},
	} {
		ref, err := manifests.ParseRef(c.ref)
		if err != nil {
			t.Fatal(err)
		}
		got, err := s.Lookup(t.Context(), ref)
		if c.want != "" {
			if err != nil || got.Ref() != c.want {
				t.Errorf("%s: got %s, %v", c.ref, got.Ref(), err)
			}
			continue
		}
		if e := fault.AsError(err); !errors.Is(err, registry.ErrNotFound) || e.Kind != fault.KindNotFound || !strings.Contains(e.Way().String(), c.hint) {
			t.Errorf("%s: got %v, hint %q", c.ref, err, e.Way().String())
		}
	}
}

func TestPackageIsReadBackWhole(t *testing.T) {
	s := newShelf(t)
	p := pack(t, "text", "1.0.0")
	s.install(p)
	got, err := s.Package(t.Context(), p.Digest())
	if err != nil || got.Digest() != p.Digest() || got.Manifest().Name != "text" {
		t.Fatalf("got %v, %v", got, err)
	}
	for _, f := range p.Files() {
		if err := s.store.Blobs().Delete(t.Context(), string(f.Digest)); err != nil {
			t.Fatal(err)
		}
		_, err := s.Package(t.Context(), p.Digest())
		if e := fault.AsError(err); e == nil || e.Kind != fault.KindVerification || e.Way().String() == "" {
			t.Errorf("without %s: %v", f.Path, err)
		}
		if err := s.Keep(t.Context(), p); err != nil {
			t.Fatal(err)
		}
	}
}

func TestSweepKeepsWhatIsUsed(t *testing.T) {
	s := newShelf(t)
	kept, waiting, gone := pack(t, "kept", "1.0.0"), pack(t, "waiting", "1.0.0"), pack(t, "gone", "1.0.0")
	s.install(kept)
	for _, p := range []*bundle.Package{waiting, gone} {
		if err := s.Keep(t.Context(), p); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := s.Sweep(t.Context(), []manifests.Digest{waiting.Digest()}); err != nil {
		t.Fatal(err)
	}
	for p, want := range map[*bundle.Package]bool{kept: true, waiting: true, gone: false} {
		if _, err := s.Package(t.Context(), p.Digest()); (err == nil) != want {
			t.Errorf("%s: %v", p.Manifest().Name, err)
		}
	}
}

// A record of a newer version, or one that is damaged, is an error and not a
// guess.
func TestUnreadableRecord(t *testing.T) {
	for _, value := range []string{`{"v":2,"name":"text"}`, `{"v":1,"name":`, ``} {
		s := newShelf(t)
		if _, err := s.store.KV().Put(t.Context(), "skill/text/00", []byte(value), store.AnyRevision); err != nil {
			t.Fatal(err)
		}
		if _, err := s.List(t.Context()); err == nil {
			t.Errorf("%q was read", value)
		}
	}
}
