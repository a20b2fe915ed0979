// Package oci keeps skill packages as OCI artifacts, in registries and in
// layout folders, with their signatures as referrers.
//
// An artifact is an image manifest (OCI image specification 1.1, manifest.md)
// whose artifactType and config media type are [ConfigType]; the config is a
// [Config], and each file of the package is a layer of its own, named by the
// annotation org.opencontainers.image.title. So the digest of a layer is that
// of its file, and what two versions share is stored and fetched once.
//
// The package believes nothing that it reads: counts and sizes are bounded
// before anything is fetched, and every byte is checked against a digest. It
// does not judge signatures, and does not know who may publish what.
package oci

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/opencontainers/go-digest"
	"github.com/opencontainers/image-spec/specs-go"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/skillet-run/skillet/manifests"
	"github.com/skillet-run/skillet/manifests/bundle"
	"github.com/skillet-run/skillet/manifests/signature"
)

// The media types of an artifact and its parts.
const (
	// ConfigType is that of the config, and the artifact's type.
	ConfigType = "application/vnd.skillet.skill.v1+json"
	// ModuleType is that of WebAssembly modules.
	ModuleType = "application/wasm"
	// FileType is that of all other files.
	FileType = "application/vnd.skillet.file.v1"
	// BundleType is that of signatures: Sigstore bundles of version 0.3.
	BundleType = signature.MediaType
	// DigestAnnotation names the content digest of the package.
	DigestAnnotation = "run.skillet.digest"
)

// Bounds on what is read. Files and their sizes are bounded as [bundle] does.
const (
	MaxManifestBytes = 4 << 20   // of a manifest
	MaxConfigBytes   = 64 << 10  // of a config
	MaxBundleBytes   = 512 << 10 // of a signature
	MaxBundles       = 64        // signatures of one artifact
	MaxTags          = 10_000    // tags of one repository
	// maxListBytes bounds one page of a list of tags, repositories or referrers.
	maxListBytes = 4 << 20
	maxPages     = 100
)

var (
	// ErrNotSkill: an artifact of another kind, such as a container image.
	ErrNotSkill = errors.New("not a skill artifact")
	// ErrMalformed: an artifact that says it is a skill, and cannot be one.
	ErrMalformed = errors.New("malformed skill artifact")
)

// A Config is what the config of an artifact says.
type Config struct {
	Name    string           `json:"name"`
	Version string           `json:"version"`
	Digest  manifests.Digest `json:"digest"` // of the package's content
	// Dependencies and Provides are those of the manifest of the skill, so that
	// versions can be chosen before any package is fetched.
	Dependencies map[string]manifests.Dependency `json:"dependencies,omitempty"`
	Provides     map[string]string               `json:"provides,omitempty"`
}

// configOf is the config of a package.
func configOf(p *bundle.Package) Config {
	m := p.Manifest()
	return Config{m.Name, m.Version, p.Digest(), m.Dependencies, m.Provides}
}

// An Artifact is a package, or a document, in the form that is published. The
// same content always gives the same bytes. It is immutable; the zero value is
// none.
type Artifact struct {
	// Digest is the digest of the manifest, which signatures of packages are
	// about.
	Digest manifests.Digest
	// Config says which package it is; zero for a document.
	Config Config

	kind     string          // its artifactType
	pkg      *bundle.Package // nil for a document
	document []byte          // nil for a package
	manifest []byte
	config   []byte
	parsed   Manifest
}

// Pack makes the artifact of a package.
func Pack(p *bundle.Package) (*Artifact, error) {
	m := p.Manifest()
	a := &Artifact{kind: ConfigType, pkg: p, Config: configOf(p)}
	var err error
	if a.config, err = json.Marshal(a.Config); err != nil {
		return nil, fmt.Errorf("pack %s: %w", m.Name, err)
	}
	om := ocispec.Manifest{
		Versioned: specs.Versioned{SchemaVersion: 2}, MediaType: ocispec.MediaTypeImageManifest, ArtifactType: ConfigType,
		Config: ocispec.Descriptor{MediaType: ConfigType, Digest: digest.FromBytes(a.config), Size: int64(len(a.config))},
		Annotations: map[string]string{
			ocispec.AnnotationVersion: m.Version, ocispec.AnnotationTitle: m.Name,
			ocispec.AnnotationDescription: m.Description, DigestAnnotation: string(a.Config.Digest),
		},
	}
	if m.License != "" {
		om.Annotations[ocispec.AnnotationLicenses] = m.License
	}
	for _, f := range p.Files() {
		om.Layers = append(om.Layers, layerOf(f, p))
	}
	if a.manifest, err = json.Marshal(om); err != nil {
		return nil, fmt.Errorf("pack %s: %w", m.Name, err)
	}
	if a.parsed, err = ParseManifest(a.manifest); err != nil {
		return nil, fmt.Errorf("pack %s: %w", m.Name, err)
	}
	a.Digest = manifests.DigestOf(a.manifest)
	return a, nil
}

func layerOf(f bundle.File, p *bundle.Package) ocispec.Descriptor {
	d := ocispec.Descriptor{
		MediaType: FileType, Digest: digest.Digest(f.Digest), Size: f.Size,
		Annotations: map[string]string{ocispec.AnnotationTitle: f.Path},
	}
	if module, _, err := p.Module(); err == nil && module == f.Path {
		d.MediaType = ModuleType
	}
	return d
}

// descriptor is the artifact as others refer to it.
func (a *Artifact) descriptor() ocispec.Descriptor {
	return ocispec.Descriptor{
		MediaType: ocispec.MediaTypeImageManifest, ArtifactType: a.kind,
		Digest: digest.Digest(a.Digest), Size: int64(len(a.manifest)),
	}
}

// A Manifest is what the manifest of an artifact says, as far as it was
// checked.
type Manifest struct {
	Config      Layer
	Layers      []Layer
	Annotations map[string]string
}

// A Layer is one blob of an artifact.
type Layer struct {
	Path   string // of the file in the package; empty for the config
	Digest manifests.Digest
	Size   int64 // bytes
}

// Total is how many bytes the files have together.
func (m Manifest) Total() int64 {
	var n int64
	for _, l := range m.Layers {
		n += l.Size
	}
	return n
}

// imageManifest reads the manifest of one artifact, and says of what type that is.
// The error wraps other.
func imageManifest(b []byte, other error) (m ocispec.Manifest, kind string, err error) {
	if err := json.Unmarshal(b, &m); err != nil {
		return m, "", fmt.Errorf("%w: its manifest is not JSON of that form", other)
	}
	if m.MediaType == ocispec.MediaTypeImageIndex {
		return m, "", fmt.Errorf("%w: it is an index of several artifacts", other)
	}
	return m, cmp.Or(m.ArtifactType, m.Config.MediaType), nil
}

// plainImage reports whether a manifest is of the form in which artifacts of ours
// are published, with a config of that type.
func plainImage(m ocispec.Manifest, config string) bool {
	return m.MediaType == ocispec.MediaTypeImageManifest && m.SchemaVersion == 2 && m.Config.MediaType == config && m.Subject == nil
}

// ParseManifest reads the manifest of an artifact and checks that all it
// promises is within the bounds. The error wraps [ErrNotSkill],
// [ErrMalformed] or [bundle.ErrTooLarge].
func ParseManifest(b []byte) (Manifest, error) {
	om, kind, err := imageManifest(b, ErrNotSkill)
	switch {
	case err != nil:
		return Manifest{}, err
	case kind != ConfigType:
		return Manifest{}, fmt.Errorf("%w: its type is %q", ErrNotSkill, kind)
	case !plainImage(om, ConfigType):
		return Manifest{}, fmt.Errorf("%w: its manifest is not an image manifest of version 2 with a config of that type", ErrMalformed)
	}
	m := Manifest{Annotations: om.Annotations}
	if m.Config, err = checked(om.Config, MaxConfigBytes); err != nil {
		return Manifest{}, fmt.Errorf("config: %w", err)
	}
	m.Layers, err = layers(om.Layers)
	return m, err
}

func layers(ds []ocispec.Descriptor) ([]Layer, error) {
	if len(ds) > bundle.MaxFiles {
		return nil, fmt.Errorf("%w: %d files, at most %d are accepted", bundle.ErrTooLarge, len(ds), bundle.MaxFiles)
	}
	seen := make(map[string]bool, len(ds))
	var all []Layer
	var total int64
	for i, d := range ds {
		l, err := checked(d, bundle.MaxFileBytes)
		if err != nil {
			return nil, fmt.Errorf("layer %d: %w", i, err)
		}
		l.Path = d.Annotations[ocispec.AnnotationTitle]
		switch {
		case l.Path == "":
			return nil, fmt.Errorf("%w: layer %d has no title, which names the file", ErrMalformed, i)
		case seen[l.Path]:
			return nil, fmt.Errorf("%w: two layers are the file %q", ErrMalformed, l.Path)
		case d.MediaType != ModuleType && d.MediaType != FileType:
			return nil, fmt.Errorf("%w: the file %q has the media type %q", ErrMalformed, l.Path, d.MediaType)
		}
		if total += l.Size; total > bundle.MaxBytes {
			return nil, fmt.Errorf("%w: more than %d bytes", bundle.ErrTooLarge, bundle.MaxBytes)
		}
		seen[l.Path] = true
		all = append(all, l)
	}
	return all, nil
}

// checked is a descriptor with a digest of the one kind that is accepted and a
// size that is.
func checked(d ocispec.Descriptor, limit int64) (Layer, error) {
	dg, err := manifests.ParseDigest(string(d.Digest))
	if err != nil {
		return Layer{}, fmt.Errorf("%w: %w", ErrMalformed, err)
	}
	switch {
	case d.Size < 0:
		return Layer{}, fmt.Errorf("%w: its size is %d", ErrMalformed, d.Size)
	case d.Size > limit:
		return Layer{}, fmt.Errorf("%w: %d bytes, at most %d are accepted", bundle.ErrTooLarge, d.Size, limit)
	}
	return Layer{Digest: dg, Size: d.Size}, nil
}

// ParseConfig reads the config of an artifact. The error wraps
// [ErrMalformed].
func ParseConfig(b []byte) (Config, error) {
	var c Config
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	if err := d.Decode(&c); err != nil {
		return Config{}, fmt.Errorf("%w: its config: %w", ErrMalformed, err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return Config{}, fmt.Errorf("%w: something follows its config", ErrMalformed)
	}
	if _, err := manifests.ParseDigest(string(c.Digest)); err != nil || c.Name == "" || c.Version == "" {
		return Config{}, fmt.Errorf("%w: its config names no package", ErrMalformed)
	}
	return c, nil
}

// assemble makes the package of the files of a manifest, and demands that it is
// the one the config names. The error wraps [ErrMalformed], or is one of
// [bundle]'s.
func assemble(c Config, m Manifest, files map[string][]byte) (*bundle.Package, error) {
	p, err := bundle.FromFiles(files)
	if err != nil {
		return nil, err
	}
	pm := p.Manifest()
	switch {
	case p.Digest() != c.Digest:
		return nil, fmt.Errorf("%w: the content digest is %s, and the config says %s", ErrMalformed, p.Digest(), c.Digest)
	case pm.Name != c.Name || pm.Version != c.Version:
		return nil, fmt.Errorf("%w: the package is %s@%s, and the config says %s@%s", ErrMalformed, pm.Name, pm.Version, c.Name, c.Version)
	case !maps.Equal(pm.Dependencies, c.Dependencies):
		return nil, fmt.Errorf("%w: %s@%s needs %s, and the config says %s", ErrMalformed, pm.Name, pm.Version, needs(pm.Dependencies), needs(c.Dependencies))
	case !maps.Equal(pm.Provides, c.Provides):
		return nil, fmt.Errorf("%w: %s@%s provides %s, and the config says %s", ErrMalformed, pm.Name, pm.Version, list(pm.Provides), list(c.Provides))
	case m.Annotations[DigestAnnotation] != "" && m.Annotations[DigestAnnotation] != string(c.Digest):
		return nil, fmt.Errorf("%w: the annotation %s is not the content digest", ErrMalformed, DigestAnnotation)
	}
	return p, nil
}

// needs are dependencies as an error shows them.
func needs(all map[string]manifests.Dependency) string {
	texts := make(map[string]string, len(all))
	for name, d := range all {
		texts[name] = d.Version
		if d.Optional {
			texts[name] += " (optional)"
		}
		if d.Isolated {
			texts[name] += " (isolated)"
		}
	}
	return list(texts)
}

// list is names with their versions, in order; quoted, because it may be
// anything.
func list(all map[string]string) string {
	if len(all) == 0 {
		return "nothing"
	}
	var texts []string
	for _, name := range slices.Sorted(maps.Keys(all)) {
		texts = append(texts, fmt.Sprintf("%.200q", name+" "+all[name]))
	}
	return strings.Join(texts, ", ")
}

// ParseReferrer reads the manifest of a signature: the digest of what it is
// about, and its layers. The error wraps [ErrMalformed].
func ParseReferrer(b []byte) (about manifests.Digest, bundles []Layer, err error) {
	var om ocispec.Manifest
	if err := json.Unmarshal(b, &om); err != nil {
		return "", nil, fmt.Errorf("%w: the manifest of a signature is not JSON of that form", ErrMalformed)
	}
	if om.Subject == nil {
		return "", nil, fmt.Errorf("%w: the manifest of a signature has no subject", ErrMalformed)
	}
	if about, err = manifests.ParseDigest(string(om.Subject.Digest)); err != nil {
		return "", nil, fmt.Errorf("%w: the subject of a signature: %w", ErrMalformed, err)
	}
	for _, d := range om.Layers {
		if d.MediaType != BundleType {
			continue
		}
		l, err := checked(d, MaxBundleBytes)
		if err != nil {
			return "", nil, fmt.Errorf("signature: %w", err)
		}
		bundles = append(bundles, l)
	}
	if len(bundles) > MaxBundles {
		return "", nil, fmt.Errorf("%w: a signature of %d layers", ErrMalformed, len(bundles))
	}
	return about, bundles, nil
}

// referrer makes the manifest of a signature of an artifact.
func referrer(a *Artifact, signature []byte) ([]byte, error) {
	subject := a.descriptor()
	subject.ArtifactType = ""
	return json.Marshal(ocispec.Manifest{
		Versioned: specs.Versioned{SchemaVersion: 2}, MediaType: ocispec.MediaTypeImageManifest, ArtifactType: BundleType,
		Config: ocispec.DescriptorEmptyJSON, Subject: &subject,
		Layers: []ocispec.Descriptor{{MediaType: BundleType, Digest: digest.FromBytes(signature), Size: int64(len(signature))}},
	})
}
