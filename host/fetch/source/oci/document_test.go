package oci_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/skillet-run/skillet/host/fetch/source/oci"
	"github.com/skillet-run/skillet/host/fetch/source/transfer"
	"github.com/skillet-run/skillet/manifests"
)

func letters() oci.DocumentType {
	return oci.DocumentType{MediaType: "application/vnd.example.letter.v1+json", MaxBytes: 100}
}

// letter is a document, and its manifest as it is published.
func letter(t testing.TB) (*oci.Layout, *oci.Artifact, []byte) {
	t.Helper()
	a, err := oci.PackDocument(letters(), "letter.json", []byte(`{"dear":"ada"}`))
	if err != nil {
		t.Fatal(err)
	}
	manifest, _, m := stored(t, a)
	if m.ArtifactType != letters().MediaType || m.Config.MediaType != m.ArtifactType || m.Config.Size != 2 || len(m.Layers) != 1 ||
		m.Layers[0].MediaType != m.ArtifactType || m.Layers[0].Annotations[ocispec.AnnotationTitle] != "letter.json" {
		t.Fatalf("%s", manifest)
	}
	l := oci.OpenLayout(t.TempDir())
	if err := oci.Push(t.Context(), l, a, nil, []string{"1", "latest"}, false, nil); err != nil {
		t.Fatal(err)
	}
	return l, a, manifest
}

func TestDocument(t *testing.T) {
	t.Parallel()
	l, a, _ := letter(t)
	for _, reference := range []string{"1", "latest", string(a.Digest)} {
		b, digest, err := oci.PullDocument(t.Context(), l, reference, letters())
		if err != nil || digest != a.Digest || string(b) != `{"dear":"ada"}` {
			t.Errorf("%s: %q, %s, %v", reference, b, digest, err)
		}
	}
	if _, err := oci.Pull(t.Context(), l, "1", nil); !errors.Is(err, oci.ErrNotSkill) {
		t.Errorf("a document was taken for a skill: %v", err)
	}
	if _, err := oci.PackDocument(letters(), "x", bytes.Repeat([]byte("x"), 101)); !errors.Is(err, transfer.ErrTooLarge) {
		t.Errorf("a document that nobody would accept: %v", err)
	}
}

func TestParseDocumentRefuses(t *testing.T) {
	t.Parallel()
	_, _, good := letter(t)
	for name, c := range map[string]struct {
		change func(m *ocispec.Manifest)
		is     error
	}{
		"another type":   {func(m *ocispec.Manifest) { m.ArtifactType = oci.ConfigType }, oci.ErrOtherType},
		"no type":        {func(m *ocispec.Manifest) { m.ArtifactType, m.Config.MediaType = "", "a/b" }, oci.ErrOtherType},
		"an index":       {func(m *ocispec.Manifest) { m.MediaType = ocispec.MediaTypeImageIndex }, oci.ErrOtherType},
		"another config": {func(m *ocispec.Manifest) { m.Config.MediaType = "a/b" }, oci.ErrNotDocument},
		"a referrer":     {func(m *ocispec.Manifest) { m.Subject = &m.Config }, oci.ErrNotDocument},
		"version 1":      {func(m *ocispec.Manifest) { m.SchemaVersion = 1 }, oci.ErrNotDocument},
		"no layer":       {func(m *ocispec.Manifest) { m.Layers = nil }, oci.ErrNotDocument},
		"two layers":     {func(m *ocispec.Manifest) { m.Layers = append(m.Layers, m.Layers[0]) }, oci.ErrNotDocument},
		"another layer":  {func(m *ocispec.Manifest) { m.Layers[0].MediaType = oci.FileType }, oci.ErrNotDocument},
		"no digest":      {func(m *ocispec.Manifest) { m.Layers[0].Digest = "sha512:00" }, oci.ErrNotDocument},
		"less than none": {func(m *ocispec.Manifest) { m.Layers[0].Size = -1 }, oci.ErrNotDocument},
		"too large":      {func(m *ocispec.Manifest) { m.Layers[0].Size = 101 }, transfer.ErrTooLarge},
	} {
		var m ocispec.Manifest
		if err := json.Unmarshal(good, &m); err != nil {
			t.Fatal(err)
		}
		c.change(&m)
		b, err := json.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := oci.ParseDocument(b, letters()); !errors.Is(err, c.is) {
			t.Errorf("%s: %v, want %v", name, err, c.is)
		}
	}
	if _, err := oci.ParseDocument([]byte("{"), letters()); !errors.Is(err, oci.ErrOtherType) {
		t.Error(err)
	}
}

func FuzzParseDocument(f *testing.F) {
	_, _, good := letter(f)
	f.Add(good)
	f.Add([]byte(strings.Replace(string(good), `"size":2`, `"size":-2`, 1)))
	f.Add([]byte(`{"schemaVersion":2,"artifactType":"application/vnd.example.letter.v1+json"}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		l, err := oci.ParseDocument(b, letters())
		if err != nil {
			return
		}
		if _, err := manifests.ParseDigest(string(l.Digest)); err != nil || l.Size < 0 || l.Size > letters().MaxBytes {
			t.Errorf("%q: %+v, %v", b, l, err)
		}
	})
}
