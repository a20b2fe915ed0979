package skillset_test

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"
	"testing"

	"github.com/skillet-run/skillet/host/engine/sandbox/wasmbin/wasmtest"
	"github.com/skillet-run/skillet/host/fetch/skillset"
	"github.com/skillet-run/skillet/manifests/bundle"
	"github.com/skillet-run/skillet/policies/capability"
)

func pack(t testing.TB, name, version string) *bundle.Package {
	t.Helper()
	m := wasmtest.New()
	m.ExportFunc("go", m.Func(wasmtest.Signature{}, ""))
	p, err := bundle.FromFiles(map[string][]byte{
		"skill.json": fmt.Appendf(nil, `{"name":%q,"version":%q,"description":"d","type":"code_inline","command":"main.wasm","tools":[{"name":"go","description":"d"}]}`, name, version),
		"main.wasm":  m.Bytes(),
	})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// made is a set of two versions of one skill and one of another.
func made(t testing.TB) ([]skillset.Entry, []byte) {
	t.Helper()
	packages := map[string]*bundle.Package{}
	var entries []skillset.Entry
	for _, v := range [][2]string{{"csv", "1.0.0"}, {"csv", "1.1.0"}, {"text", "0.1.0"}} {
		p := pack(t, v[0], v[1])
		e := skillset.Entry{Name: v[0], Version: v[1], Digest: p.Digest(), Active: v[1] != "1.0.0", Source: "/somewhere"}
		if e.Active {
			e.Pinned, e.Reason = true, "because"
			e.Grants = []skillset.Grant{{Capability: capability.MustParse("kv"), Reason: "to remember"}}
		}
		packages[e.File()], entries = p, append(entries, e)
	}
	var b bytes.Buffer
	if err := skillset.Write(&b, entries, func(e skillset.Entry) (*bundle.Package, error) { return packages[e.File()], nil }); err != nil {
		t.Fatal(err)
	}
	return entries, b.Bytes()
}

// read reads all of a set.
func read(b []byte) ([]skillset.Content, error) {
	r, err := skillset.NewReader(bytes.NewReader(b))
	if err != nil {
		return nil, err
	}
	var all []skillset.Content
	for c, err := range r.All() {
		if err != nil {
			return all, err
		}
		all = append(all, c)
	}
	return all, nil
}

func TestSetIsReadAsItWasWritten(t *testing.T) {
	t.Parallel()
	entries, b := made(t)
	_, again := made(t)
	if !bytes.Equal(b, again) {
		t.Error("the same skills make other bytes")
	}
	all, err := read(b)
	if err != nil {
		t.Fatal(err)
	}
	var got []skillset.Entry
	for _, c := range all {
		got = append(got, c.Entry)
		if c.Package.Digest() != c.Digest {
			t.Errorf("%s: another package", c.File())
		}
	}
	if !reflect.DeepEqual(got, entries) {
		t.Errorf("got %+v, want %+v", got, entries)
	}
}

// One flipped bit anywhere is found, unless it changes nothing that is read.
func TestFlippedSet(t *testing.T) {
	t.Parallel()
	entries, b := made(t)
	for at := 0; at < len(b); at += 13 {
		flipped := bytes.Clone(b)
		flipped[at] ^= 4
		all, err := read(flipped)
		if err != nil {
			continue
		}
		if len(all) != len(entries) {
			t.Errorf("byte %d: %d packages were read", at, len(all))
		}
		for i, c := range all {
			if c.Digest != entries[i].Digest || c.Package.Digest() != entries[i].Digest {
				t.Errorf("byte %d: another package was read", at)
			}
		}
	}
	for n := 0; n < len(b); n += 509 { // at the end there are only zeros
		if all, err := read(b[:n]); err == nil && len(all) != len(entries) {
			t.Errorf("cut after %d bytes: %d packages were read", n, len(all))
		}
	}
}

func TestMalformedSets(t *testing.T) {
	t.Parallel()
	p := pack(t, "csv", "1.0.0")
	var skill bytes.Buffer
	if err := p.WriteArchive(&skill); err != nil {
		t.Fatal(err)
	}
	entry := func(name, version, digest string) string {
		return fmt.Sprintf(`{"name":%q,"version":%q,"digest":%q,"active":true}`, name, version, digest)
	}
	good := entry("csv", "1.0.0", string(p.Digest()))
	type file struct{ name, content string }
	for what, files := range map[string][]file{
		"nothing":             nil,
		"no list":             {{"skills/csv-1.0.0.skill", skill.String()}},
		"a list of nothing":   {{"set.json", ``}},
		"another format":      {{"set.json", `{"v":2,"skills":[]}`}},
		"an unknown field":    {{"set.json", `{"v":1,"skills":[],"run":"x"}`}},
		"a name that climbs":  {{"set.json", `{"v":1,"skills":[` + entry("../x", "1.0.0", string(p.Digest())) + `]}`}},
		"no version":          {{"set.json", `{"v":1,"skills":[` + entry("csv", "", string(p.Digest())) + `]}`}},
		"no digest":           {{"set.json", `{"v":1,"skills":[` + entry("csv", "1.0.0", "") + `]}`}},
		"a grant of nothing":  {{"set.json", `{"v":1,"skills":[{"name":"csv","version":"1.0.0","digest":"` + string(p.Digest()) + `","active":true,"grants":[{"capability":"all"}]}]}`}},
		"twice":               {{"set.json", `{"v":1,"skills":[` + good + `,` + good + `]}`}},
		"two active":          {{"set.json", `{"v":1,"skills":[` + good + `,` + entry("csv", "1.1.0", string(p.Digest())) + `]}`}},
		"avoids no version":   {{"set.json", `{"v":1,"skills":[` + strings.Replace(good, "{", `{"avoided":"../x",`, 1) + `]}`}},
		"a package that lies": {{"set.json", `{"v":1,"skills":[` + entry("text", "1.0.0", string(p.Digest())) + `]}`}, {"skills/text-1.0.0.skill", skill.String()}},
		"another digest":      {{"set.json", `{"v":1,"skills":[` + entry("csv", "1.0.0", "sha256:"+strings.Repeat("0", 64)) + `]}`}, {"skills/csv-1.0.0.skill", skill.String()}},
		"not listed":          {{"set.json", `{"v":1,"skills":[]}`}, {"skills/csv-1.0.0.skill", skill.String()}},
		"missing":             {{"set.json", `{"v":1,"skills":[` + good + `]}`}},
		"no package":          {{"set.json", `{"v":1,"skills":[` + good + `]}`}, {"skills/csv-1.0.0.skill", "x"}},
	} {
		var b bytes.Buffer
		w := tar.NewWriter(&b)
		for _, f := range files {
			if err := w.WriteHeader(&tar.Header{Name: f.name, Mode: 0o644, Size: int64(len(f.content))}); err != nil {
				t.Fatal(err)
			}
			if _, err := io.WriteString(w, f.content); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		if _, err := read(b.Bytes()); !errors.Is(err, skillset.ErrMalformed) && !errors.Is(err, bundle.ErrDamaged) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if _, err := read([]byte("no archive at all")); !errors.Is(err, skillset.ErrMalformed) {
		t.Errorf("no archive: %v", err)
	}
	var link bytes.Buffer
	w := tar.NewWriter(&link)
	if err := errors.Join(w.WriteHeader(&tar.Header{Name: "set.json", Typeflag: tar.TypeSymlink, Linkname: "/etc/passwd"}), w.Close()); err != nil {
		t.Fatal(err)
	}
	if _, err := read(link.Bytes()); !errors.Is(err, skillset.ErrMalformed) {
		t.Errorf("a link: %v", err)
	}
}

func FuzzRead(f *testing.F) {
	_, b := made(f)
	f.Add(b)
	f.Add(b[:1000])
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, b []byte) {
		all, err := read(b)
		if err != nil {
			return
		}
		for _, c := range all {
			if c.Package.Digest() != c.Digest {
				t.Errorf("%s is another package", c.File())
			}
		}
	})
}

// What stands behind the packages, or behind the archive, is found before the first package is given.
func TestNothingFollowsASet(t *testing.T) {
	t.Parallel()
	_, whole := made(t)
	body := whole[:len(whole)-1024]
	member := func(h tar.Header) []byte {
		var b bytes.Buffer
		w := tar.NewWriter(&b)
		if err := w.WriteHeader(&h); err != nil {
			t.Fatal(err)
		}
		return append(bytes.Clone(body), append(b.Bytes(), make([]byte, 1024)...)...)
	}
	for name, b := range map[string][]byte{
		"a path that climbs": member(tar.Header{Typeflag: tar.TypeReg, Name: "../../out/x"}),
		"a link":             member(tar.Header{Typeflag: tar.TypeSymlink, Name: "l", Linkname: "/etc/passwd"}),
		"a device":           member(tar.Header{Typeflag: tar.TypeChar, Name: "zero", Devmajor: 1, Devminor: 5}),
		"a directory":        member(tar.Header{Typeflag: tar.TypeDir, Name: "d/"}),
		"bytes":              append(bytes.Clone(whole), 'x'),
		"bytes after zeros":  append(append(bytes.Clone(whole), make([]byte, 9000)...), 'x'),
		"zeros without end":  append(bytes.Clone(whole), make([]byte, 1<<20)...),
		"another set":        append(bytes.Clone(whole), whole...),
		"cut":                whole[:len(whole)-3000],
	} {
		if _, err := skillset.NewReader(bytes.NewReader(b)); !errors.Is(err, skillset.ErrMalformed) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if all, err := read(append(bytes.Clone(whole), make([]byte, 8192)...)); err != nil || len(all) != 3 {
		t.Errorf("padded as tar does: %d, %v", len(all), err)
	}
}
