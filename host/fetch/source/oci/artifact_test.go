package oci_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/skillet-run/skillet/host/fetch/source/oci"
	"github.com/skillet-run/skillet/manifests"
	"github.com/skillet-run/skillet/manifests/bundle"
)

func packed(t testing.TB) (*bundle.Package, *oci.Artifact) {
	t.Helper()
	p, err := bundle.FromFiles(map[string][]byte{
		"skill.json": []byte(`{"name":"csv","version":"1.0.0","description":"Reads tables.","license":"MIT","type":"code_inline",
			"command":"main.wasm","tools":[{"name":"run","description":"d"}]}`),
		"main.wasm": []byte("\x00asm\x01\x00\x00\x00"), "assets/a": []byte("same"), "assets/b": []byte("same"),
	})
	if err != nil {
		t.Fatal(err)
	}
	a, err := oci.Pack(p)
	if err != nil {
		t.Fatal(err)
	}
	return p, a
}

// stored are the bytes of an artifact's manifest and config.
func stored(t testing.TB, a *oci.Artifact) (manifest, config []byte, m ocispec.Manifest) {
	t.Helper()
	dir := t.TempDir()
	if err := oci.Push(t.Context(), oci.OpenLayout(dir), a, nil, []string{"1.0.0"}, false, nil); err != nil {
		t.Fatal(err)
	}
	read := func(d manifests.Digest) []byte {
		b, err := os.ReadFile(filepath.Join(dir, "blobs", "sha256", d.Hex()))
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	manifest = read(a.Digest)
	if err := json.Unmarshal(manifest, &m); err != nil {
		t.Fatal(err)
	}
	return manifest, read(manifests.Digest(m.Config.Digest)), m
}

// The form that others rely on.
func TestArtifact(t *testing.T) {
	t.Parallel()
	p, a := packed(t)
	if _, again := packed(t); again.Digest != a.Digest {
		t.Error("the same package gives another artifact")
	}
	_, config, m := stored(t, a)
	if m.SchemaVersion != 2 || m.MediaType != ocispec.MediaTypeImageManifest || m.ArtifactType != "application/vnd.skillet.skill.v1+json" || m.Config.MediaType != m.ArtifactType {
		t.Errorf("%+v", m)
	}
	for key, want := range map[string]string{
		"org.opencontainers.image.version": "1.0.0", "org.opencontainers.image.title": "csv", "org.opencontainers.image.licenses": "MIT",
		"org.opencontainers.image.description": "Reads tables.", "run.skillet.digest": string(p.Digest()),
	} {
		if m.Annotations[key] != want {
			t.Errorf("%s is %q, want %q", key, m.Annotations[key], want)
		}
	}
	types := map[string]string{"main.wasm": "application/wasm", "skill.json": oci.FileType, "assets/a": oci.FileType, "assets/b": oci.FileType}
	for _, l := range m.Layers {
		path := l.Annotations["org.opencontainers.image.title"]
		content, err := p.Read(path)
		if err != nil || l.MediaType != types[path] || manifests.Digest(l.Digest).Verify(content) != nil {
			t.Errorf("layer %+v, %v", l, err)
		}
		delete(types, path)
	}
	if len(types) > 0 {
		t.Errorf("no layers for %v", types)
	}
	c, err := oci.ParseConfig(config)
	if err != nil || !reflect.DeepEqual(c, oci.Config{Name: "csv", Version: "1.0.0", Digest: p.Digest()}) {
		t.Errorf("%+v, %v", c, err)
	}
}

func FuzzParseManifest(f *testing.F) {
	_, a := packed(f)
	good, config, _ := stored(f, a)
	f.Add(good)
	f.Add(config)
	f.Add([]byte(`{"schemaVersion":2,"artifactType":"application/vnd.skillet.skill.v1+json","layers":[{"size":-1}]}`))
	f.Add([]byte(`{"subject":{"digest":"sha256:00"},"layers":[{"mediaType":"application/vnd.dev.sigstore.bundle.v0.3+json"}]}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		m, err := oci.ParseManifest(b)
		switch {
		case err != nil && !errors.Is(err, oci.ErrNotSkill) && !errors.Is(err, oci.ErrMalformed) && !errors.Is(err, bundle.ErrTooLarge):
			t.Errorf("an error of no kind: %v", err)
		case err == nil && (m.Total() > bundle.MaxBytes || len(m.Layers) > bundle.MaxFiles || m.Config.Size > oci.MaxConfigBytes):
			t.Errorf("out of bounds: %+v", m)
		}
		for _, l := range m.Layers {
			if _, bad := manifests.ParseDigest(string(l.Digest)); err == nil && (bad != nil || l.Path == "" || l.Size < 0) {
				t.Errorf("%+v was accepted", l)
			}
		}
		if _, ls, err := oci.ParseReferrer(b); err == nil && len(ls) > oci.MaxBundles {
			t.Errorf("%d signatures were accepted", len(ls))
		}
		if c, err := oci.ParseConfig(b); err == nil {
			if again, err := json.Marshal(c); err != nil || !bytes.Contains(again, []byte(c.Digest)) {
				t.Errorf("%+v, %v", c, err)
			}
		}
	})
}

// What the config says a package needs and provides is what its manifest says.
func TestConfigNeeds(t *testing.T) {
	t.Parallel()
	p, err := bundle.FromFiles(map[string][]byte{
		"skill.json": []byte(`{"name":"csv","version":"1.0.0","description":"d","type":"code_inline","command":"main.wasm","tools":[{"name":"run"}],
			"dependencies":{"text":"^2.1.0","cache":{"version":"^1","optional":true}},"provides":{"rows":"1.0.0"}}`),
		"main.wasm": []byte("\x00asm\x01\x00\x00\x00"),
	})
	if err != nil {
		t.Fatal(err)
	}
	a, err := oci.Pack(p)
	if err != nil {
		t.Fatal(err)
	}
	l := oci.OpenLayout(t.TempDir())
	if err := oci.Push(t.Context(), l, a, nil, []string{"1.0.0"}, false, nil); err != nil {
		t.Fatal(err)
	}
	digest, c, err := oci.Claims(t.Context(), l, "1.0.0")
	if err != nil || digest != a.Digest || !reflect.DeepEqual(c, a.Config) {
		t.Errorf("claims are %v of %s, %v; want %v", c, digest, err, a.Config)
	}
	if c.Dependencies["text"].Version != "^2.1.0" || !c.Dependencies["cache"].Optional || c.Provides["rows"] != "1.0.0" {
		t.Errorf("the config says %v", c)
	}
}
