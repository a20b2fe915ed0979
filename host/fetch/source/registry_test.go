package source_test

import (
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/skillet-run/skillet/host/base/fault"

	"github.com/skillet-run/skillet/host/fetch/source"
	"github.com/skillet-run/skillet/host/fetch/source/oci"
	"github.com/skillet-run/skillet/host/fetch/source/transfer"
)

func errorIs(err, target error) bool { return target == nil || errors.Is(err, target) }

// Each registry is used in the same way: one with the referrers API, one
// without, and a real one as a process of its own.
func TestRegistries(t *testing.T) {
	t.Parallel()
	for name, start := range map[string]func(t *testing.T) *lab{
		"with the referrers API": func(t *testing.T) *lab { return newLab(t, true, nil) },
		"with the tag fallback":  func(t *testing.T) *lab { return newLab(t, false, nil) },
		"distribution":           func(t *testing.T) *lab { return labAt(t, distribution(t)) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			testRegistry(t, start(t))
		})
	}
}

func testRegistry(t *testing.T, l *lab) {
	one := pack(t, "csv", "1.0.0", map[string][]byte{"assets/table": large(t, 3<<20)})
	two := pack(t, "csv", "1.2.0", nil)
	next := pack(t, "csv", "2.0.0-rc.1+build.7", nil)
	at := l.push(one, "oci://HOST/skills/csv")
	l.push(two, "oci://HOST/skills/csv")
	l.push(next, "oci://HOST/skills/csv")

	byTag := l.get("oci://HOST/skills/csv:1.0.0", one)
	l.signed(byTag)
	if byTag.Source != at.Source || byTag.Artifact != at.Artifact || byTag.Kind != source.KindRegistry || byTag.Location != "oci://"+l.host+"/skills/csv" || byTag.From != "" {
		t.Errorf("%+v\n%+v", byTag, at)
	}
	l.signed(l.get(byTag.Source, one))
	l.signed(l.get("oci://HOST/skills/csv", two)) // the newest release
	l.signed(l.get("oci://HOST/skills/csv:2.0.0-rc.1_build.7", next))

	vs, err := l.fetch.Versions(t.Context(), l.ref("oci://HOST/skills/csv"), source.Options{})
	var texts []string
	for _, v := range vs {
		texts = append(texts, v.Version)
	}
	if err != nil || !slices.Equal(texts, []string{"2.0.0-rc.1+build.7", "1.2.0", "1.0.0"}) {
		t.Errorf("versions %v, %v", vs, err)
	}

	if again := l.push(one, "oci://HOST/skills/csv"); again.Artifact != at.Artifact {
		t.Error("published again, it is something else")
	}
	other := pack(t, "csv", "1.0.0", map[string][]byte{"assets/more": []byte("x")})
	_, err = l.tryPush(other, "oci://HOST/skills/csv", source.Pushing{})
	refused(t, err, fault.KindConflict, oci.ErrExists, "1.0.0", "[set_field replace]")
	l.get("oci://HOST/skills/csv:1.0.0", one)
	if _, err = l.tryPush(other, "oci://HOST/skills/csv", source.Pushing{Replace: true, Tags: []string{"stable"}}); err != nil {
		t.Fatal(err)
	}
	l.signed(l.get("oci://HOST/skills/csv:stable", other))
	l.signed(l.get(at.Source, one))

	_, err = l.fetch.Fetch(t.Context(), l.ref("oci://HOST/skills/csv:9.9.9"), source.Options{})
	refused(t, err, fault.KindNotFound, transfer.ErrNotFound, "oci://"+l.host+"/skills/csv:9.9.9")
	_, err = l.fetch.Fetch(t.Context(), l.ref("oci://HOST/skills/none"), source.Options{})
	refused(t, err, fault.KindNotFound, transfer.ErrNotFound, "oci://"+l.host+"/skills/none")
	_, err = l.tryPush(two, "oci://HOST/skills/csv:1.3.0", source.Pushing{})
	refused(t, err, fault.KindUsage, source.ErrMismatch, "1.3.0")
}

func TestShortNames(t *testing.T) {
	t.Parallel()
	l := newLab(t, true, nil)
	public := newLab(t, true, nil)
	set := l.set
	set.Registries = []source.Registry{
		{Name: "public", URL: "oci://" + public.host},
		{Name: "acme", URL: "oci://" + l.host + "/skills", Names: []string{"acme-*", "csv"}},
	}
	l.with(set)
	for _, v := range []string{"1.0.0", "1.1.0", "1.9.0", "2.0.0", "3.0.0-beta.1"} {
		l.push(pack(t, "csv", v, nil), "csv")
	}
	public.push(pack(t, "csv", "99.0.0", nil), "oci://HOST/csv")
	public.push(pack(t, "text", "1.0.0", nil), "oci://HOST/text")
	public.push(pack(t, "acme-tax", "1.0.0", nil), "oci://HOST/acme-tax")

	for text, want := range map[string]string{
		"csv": "2.0.0", "csv@latest": "2.0.0", "csv@^1.0": "1.9.0", "csv@~1.0": "1.0.0", "csv@1.1.0": "1.1.0", "csv@>=1 <1.9": "1.1.0",
		"csv@3.0.0-beta.1": "3.0.0-beta.1", "text": "1.0.0",
	} {
		got, err := l.fetch.Fetch(t.Context(), l.ref(text), source.Options{})
		if err != nil || got.Version != want || !strings.HasPrefix(got.Source, "oci://") || !strings.Contains(got.Source, "@sha256:") {
			t.Errorf("%s: %+v, %v; want %s", text, got, err, want)
		}
	}
	_, err := l.fetch.Fetch(t.Context(), l.ref("csv@^7"), source.Options{})
	refused(t, err, fault.KindNotFound, source.ErrNoVersion, "csv@^7", "3.0.0-beta.1, 2.0.0")
	// A name that a registry serves is looked for nowhere else.
	_, err = l.fetch.Fetch(t.Context(), l.ref("acme-tax"), source.Options{})
	refused(t, err, fault.KindNotFound, transfer.ErrNotFound, "registry acme at oci://"+l.host+"/skills")
	_, err = public.fetch.Fetch(t.Context(), l.ref("csv"), source.Options{})
	refused(t, err, fault.KindUsage, source.ErrNoRegistry, "config.yaml")
	_, err = l.tryPush(pack(t, "csv", "4.0.0", nil), "text", source.Pushing{})
	refused(t, err, fault.KindUsage, source.ErrMismatch)
}

// A registry that keeps another skill, or another version, under a name is
// refused.
func TestPlacesThatServeSomethingElse(t *testing.T) {
	t.Parallel()
	l := newLab(t, true, nil)
	set := l.set
	set.Registries = []source.Registry{{Name: "r", URL: "oci://" + l.host}}
	l.with(set)
	l.push(pack(t, "evil", "1.0.0", nil), "oci://HOST/csv")
	_, err := l.fetch.Fetch(t.Context(), l.ref("csv"), source.Options{})
	refused(t, err, fault.KindVerification, source.ErrMismatch, "evil@1.0.0", "csv@1.0.0")
	l.get("oci://HOST/csv:1.0.0", pack(t, "evil", "1.0.0", nil)) // by its address it is what it is
}

func TestLayouts(t *testing.T) {
	t.Parallel()
	l := newLab(t, true, nil)
	dir := filepath.Join(t.TempDir(), "air gap@home")
	one, two := pack(t, "csv", "1.0.0", nil), pack(t, "csv", "1.1.0", map[string][]byte{"assets/x": []byte("x")})
	at := l.push(one, "oci-layout:"+dir)
	l.push(two, "oci-layout:"+dir)
	l.push(two, "oci-layout:"+dir)
	got := l.get("oci-layout:"+dir+":1.0.0", one)
	l.signed(got)
	if got.Source != at.Source || got.Kind != source.KindLayout || got.Location != "oci-layout:"+dir {
		t.Errorf("%+v\n%+v", got, at)
	}
	l.signed(l.get(got.Source, one))
	l.signed(l.get("oci-layout:"+dir, two))
	vs, err := l.fetch.Versions(t.Context(), l.ref("oci-layout:"+dir), source.Options{})
	if err != nil || len(vs) != 2 || vs[0].Version != "1.1.0" {
		t.Errorf("%v, %v", vs, err)
	}
	_, err = l.fetch.Fetch(t.Context(), l.ref("oci-layout:"+dir+":9.0.0"), source.Options{})
	refused(t, err, fault.KindNotFound, transfer.ErrNotFound)
	for _, place := range []string{dir + "/none", dir + "/index.json", os.DevNull} {
		_, err = l.fetch.Fetch(t.Context(), l.ref("oci-layout:"+place+":1.0.0"), source.Options{})
		refused(t, err, fault.KindNotFound, transfer.ErrNotFound)
	}

	// A registry and a folder have the same bytes.
	if remote := l.push(one, "oci://HOST/csv"); remote.Artifact != at.Artifact {
		t.Errorf("%s in a registry, %s in a folder", remote.Artifact, at.Artifact)
	}
	other := pack(t, "csv", "1.0.0", map[string][]byte{"assets/y": []byte("y")})
	_, err = l.tryPush(other, "oci-layout:"+dir, source.Pushing{})
	refused(t, err, fault.KindConflict, oci.ErrExists)

	// A link in the folder that leads out of it is not followed.
	blob := filepath.Join(dir, "blobs", "sha256", at.Artifact.Hex())
	elsewhere := filepath.Join(t.TempDir(), "blob")
	if err := errors.Join(os.Rename(blob, elsewhere), os.Symlink(elsewhere, blob)); err != nil {
		t.Fatal(err)
	}
	if _, err := l.fetch.Fetch(t.Context(), l.ref(at.Source), source.Options{}); err == nil {
		t.Error("a link out of the folder was followed")
	}
}

func TestMirrors(t *testing.T) {
	t.Parallel()
	l := newLab(t, true, nil)
	mirror := newLab(t, true, nil)
	mirror.key = l.key
	p, q := pack(t, "csv", "1.0.0", nil), pack(t, "csv", "1.1.0", nil)
	l.push(p, "oci://HOST/skills/csv")
	l.push(q, "oci://HOST/skills/csv")
	mirror.push(p, "oci://HOST/copy/csv")
	parcel, err := mirror.fetch.Parcel(q, mirror.ref("oci://HOST/copy/csv"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := mirror.fetch.Push(t.Context(), parcel, source.Pushing{}); err != nil { // without its signature
		t.Fatal(err)
	}
	set := l.set
	set.Registries = []source.Registry{{
		Name: "r", URL: "oci://" + l.host + "/skills", Mirrors: []string{"oci://" + closedPort(t) + "/x", "oci://" + mirror.host + "/copy"},
	}}
	l.with(set)
	for text, want := range map[string]string{"csv@1.0.0": "oci://" + mirror.host + "/copy/csv", "oci://HOST/skills/csv:1.1.0": "oci://" + mirror.host + "/copy/csv"} {
		got, err := l.fetch.Fetch(t.Context(), l.ref(text), source.Options{})
		if err != nil || got.From != want || !strings.HasPrefix(got.Source, "oci://"+l.host+"/skills/csv@") {
			t.Fatalf("%s: %+v, %v", text, got, err)
		}
		l.signed(got) // where the mirror has none, it comes from the registry
	}
	// What no mirror has comes from the registry itself.
	l.push(pack(t, "text", "1.0.0", nil), "oci://HOST/skills/text")
	got, err := l.fetch.Fetch(t.Context(), l.ref("text"), source.Options{})
	if err != nil || got.From != "" {
		t.Errorf("%+v, %v", got, err)
	}
	_, err = l.fetch.Fetch(t.Context(), l.ref("oci://HOST/skills/none:1.0.0"), source.Options{})
	refused(t, err, fault.KindNotFound, transfer.ErrNotFound, mirror.host, l.host)
}

func TestSearch(t *testing.T) {
	t.Parallel()
	l := newLab(t, true, nil)
	bare := newLab(t, true, func(h http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/v2/_catalog" {
				http.NotFound(w, r)
				return
			}
			h.ServeHTTP(w, r)
		})
	})
	set := l.set
	set.Registries = []source.Registry{
		{Name: "all", URL: "oci://" + l.host + "/skills"},
		{Name: "bare", URL: "oci://" + bare.host, Names: []string{"yaml", "yaml-*"}},
		{Name: "down", URL: "oci://" + closedPort(t), Names: []string{"xyz"}},
	}
	l.with(set)
	l.push(pack(t, "csv", "1.0.0", nil), "oci://HOST/skills/csv")
	l.push(pack(t, "csv", "1.1.0", nil), "oci://HOST/skills/csv")
	l.push(pack(t, "html", "1.0.0-rc.1", nil), "oci://HOST/skills/html")
	l.push(pack(t, "yaml", "9.0.0", nil), "oci://HOST/skills/yaml") // not this registry's to serve
	l.push(pack(t, "csv", "5.0.0", nil), "oci://HOST/other/csv")
	bare.push(pack(t, "yaml", "2.0.0", nil), "oci://HOST/yaml")
	for text, want := range map[string]string{
		"":       "csv@1.1.0 html@1.0.0-rc.1 yaml@2.0.0",
		"CS":     "csv@1.1.0",
		"counts": "csv@1.1.0 html@1.0.0-rc.1 yaml@2.0.0",
		"none":   "",
	} {
		found, missing, err := l.fetch.Search(t.Context(), text, source.Options{})
		var refs []string
		for _, f := range found {
			refs = append(refs, f.Name+"@"+f.Version)
		}
		if err != nil || strings.Join(refs, " ") != want || len(missing) != 1 || missing[0].Registry != "down" {
			t.Errorf("%q: %v, %+v, %v", text, refs, missing, err)
		}
	}
	_, _, err := bare.fetch.Search(t.Context(), "x", source.Options{})
	refused(t, err, fault.KindUsage, source.ErrNoRegistry)
}
