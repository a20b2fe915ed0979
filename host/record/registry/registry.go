// Package registry knows which skills are installed: several versions of a
// name side by side, one of them active. Switching the active version is
// switching one pointer, which is all that an upgrade, a rollback or a reload
// of a running host takes.
//
// It stores packages file by file under their digests and checks each byte
// when it reads them back. It does not decide who may install; that is package
// install.
//
// # Keys in the store
//
//	skill/NAME/DIGEST-HEX -> record    one installed version
//	active/NAME           -> standing  which of them is active, which were before, what is disabled, pinned or on trial
//	left/NAME             -> Leftover  whose data a removed skill left behind
//
// # Blobs
//
// The index of a package (its list of digests, sizes and paths) and each of
// its files, all by their own digest; the package's digest is its index's.
package registry

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/skillet-run/skillet/host/base/fault"
	"github.com/skillet-run/skillet/internal/nearest"

	"github.com/skillet-run/skillet/host/base/store"
	"github.com/skillet-run/skillet/manifests"
	"github.com/skillet-run/skillet/manifests/bundle"
)

// ErrNotFound means that no installed skill fits a reference. Errors that wrap
// it are [fault.Error]s of [fault.KindNotFound].
var ErrNotFound = errors.New("not installed")

// An Origin says how a package came to this host. It decides how much a policy
// trusts it.
type Origin string

// The origins of a package.
const (
	OriginUser        Origin = "user"        // a person named its path or reference
	OriginBundled     Origin = "bundled"     // it came with skillet
	OriginGenerated   Origin = "generated"   // a model wrote it
	OriginDevelopment Origin = "development" // its author is working on it
	OriginPath        Origin = "path"        // run once from a path, never installed
)

// A Skill is one installed version.
type Skill struct {
	Name        string           `json:"name"`
	Version     string           `json:"version"`
	Digest      manifests.Digest `json:"digest"`
	Kind        manifests.Kind   `json:"kind"`
	Description string           `json:"description"`
	Aliases     []string         `json:"aliases,omitempty"`
	Tools       []string         `json:"tools"`
	Source      string           `json:"source"`
	Origin      Origin           `json:"origin"`
	InstalledAt time.Time        `json:"installed_at"`
	InstalledBy string           `json:"installed_by"`
	// SourceKind, Signer, Artifact and Dependencies are as in [Provenance]; empty
	// for versions of which that is not known.
	SourceKind   string           `json:"source_kind,omitempty"`
	Signer       string           `json:"signer,omitempty"`
	Artifact     manifests.Digest `json:"artifact,omitempty"`
	Dependencies []Dependency     `json:"dependencies,omitempty"`
	// Needed is true for a skill that nobody asked for: others need it. Asked says
	// for which versions somebody did; nil for any.
	Needed bool   `json:"needed,omitempty"`
	Asked  *Asked `json:"asked,omitempty"`
	// Active is true for the version that a reference without a version means.
	Active bool `json:"active"`
	// KeepState is true for an active version that was to leave the skill's data
	// as it is, even if it cannot read it.
	KeepState bool `json:"keep_state,omitempty"`
	// Disabled says why the version is not run, and Pinned that the skill is held
	// at its active version; nil when it is not so.
	Disabled *Stop `json:"disabled,omitempty"`
	Pinned   *Pin  `json:"pinned,omitempty"`
	// Canary is the trial that the version is part of, and Trial, of the active
	// version, the last one that ended; nil for none.
	Canary *Canary `json:"canary,omitempty"`
	Trial  *Trial  `json:"trial,omitempty"`
	// Avoided is, of the active version, the one that somebody went back from; nil
	// for none.
	Avoided *Avoided `json:"avoided,omitempty"`
}

// Ref is name@version.
func (s Skill) Ref() string { return s.Name + "@" + s.Version }

// A Registry reads what is installed. Changes are made by committing the
// changes it makes to the ledger.
type Registry struct {
	kv    store.KV
	blobs store.Blobs

	skills parsed[Skill]
	stands parsed[standing]
}

// New makes a Registry.
func New(kv store.KV, blobs store.Blobs) *Registry { return &Registry{kv: kv, blobs: blobs} }

// List returns every installed version, by name and then newest first.
func (r *Registry) List(ctx context.Context) ([]Skill, error) {
	entries, err := r.kv.List(ctx, "skill/")
	if err != nil {
		return nil, fmt.Errorf("list skills: %w", err)
	}
	all, err := r.standings(ctx)
	if err != nil {
		return nil, err
	}
	return r.standing(entries, func(name string) standing { return all[name] })
}

// Versions returns the installed versions of name, newest first.
func (r *Registry) Versions(ctx context.Context, name string) ([]Skill, error) {
	entries, err := r.kv.List(ctx, "skill/"+name+"/")
	if err != nil {
		return nil, fmt.Errorf("list versions of %s: %w", name, err)
	}
	s, err := standingOf(ctx, r.kv, name)
	if err != nil {
		return nil, err
	}
	return r.standing(entries, func(string) standing { return s })
}

// standing are the skills that entries hold, as they stand.
func (r *Registry) standing(entries []store.Entry, of func(name string) standing) ([]Skill, error) {
	skills := make([]Skill, 0, len(entries))
	for _, e := range entries {
		s, err := r.skills.of(e, func(e store.Entry) (Skill, error) {
			rec, err := decodeRecord(e)
			return rec.skill(), err
		})
		if err != nil {
			return nil, err
		}
		of(s.Name).of(&s)
		skills = append(skills, s)
	}
	slices.SortFunc(skills, order)
	return skills, nil
}

// order sorts by name, then newest version, then last installed.
func order(a, b Skill) int {
	return cmp.Or(strings.Compare(a.Name, b.Name), -manifests.CompareVersions(a.Version, b.Version), b.InstalledAt.Compare(a.InstalledAt))
}

// Lookup finds the version a reference means: the active one, or the one it
// names. Aliases are names too, when no skill has that name. It fails with
// [ErrNotFound].
func (r *Registry) Lookup(ctx context.Context, ref manifests.Ref) (Skill, error) {
	named, err := r.Versions(ctx, ref.Name)
	if err != nil {
		return Skill{}, err
	}
	if len(named) == 0 {
		all, err := r.List(ctx)
		if err != nil {
			return Skill{}, err
		}
		if named = withAlias(all, ref.Name); len(named) == 0 {
			return Skill{}, notInstalled(ref, all)
		}
	}
	for _, s := range named {
		if ref.Version == "" && s.Active || ref.Version != "" && s.Version == ref.Version {
			return s, nil
		}
	}
	return Skill{}, noVersion(ref, named)
}

func withAlias(all []Skill, alias string) []Skill {
	return slices.DeleteFunc(slices.Clone(all), func(s Skill) bool { return !slices.Contains(s.Aliases, alias) })
}

func notInstalled(ref manifests.Ref, all []Skill) error {
	var names []string
	for _, s := range all {
		names = append(append(names, s.Name), s.Aliases...)
	}
	e := fault.Errorf(fault.KindNotFound, "skill %s is %w", ref.Name, ErrNotFound)
	if best, ok := nearest.Name(ref.Name, names); ok {
		return e.WithHint("did you mean %s? %s shows what is installed", fault.Choose(best), fault.List(fault.Skills))
	}
	return e.WithHint("%s shows what is installed; %s installs a package", fault.List(fault.Skills), fault.Install(""))
}

func noVersion(ref manifests.Ref, named []Skill) error {
	var versions []string
	for _, s := range named {
		versions = append(versions, s.Version)
	}
	if ref.Version == "" {
		return fault.Errorf(fault.KindNotFound, "no version of %s is active: %w", ref.Name, ErrNotFound).
			WithHint("name a version: %s", strings.Join(versions, ", "))
	}
	return fault.Errorf(fault.KindNotFound, "%s@%s is %w", ref.Name, ref.Version, ErrNotFound).
		WithHint("installed versions: %s", strings.Join(versions, ", "))
}

func (r *Registry) standings(ctx context.Context) (map[string]standing, error) {
	entries, err := r.kv.List(ctx, standingKey(""))
	if err != nil {
		return nil, fmt.Errorf("list active versions: %w", err)
	}
	m := make(map[string]standing, len(entries))
	for _, e := range entries {
		if m[strings.TrimPrefix(e.Key, standingKey(""))], err = r.stands.of(e, decodeStanding); err != nil {
			return nil, err
		}
	}
	return m, nil
}

// Keep stores the files of a package under their digests. It is safe to
// repeat, and changes nothing that a reference could find.
func (r *Registry) Keep(ctx context.Context, p *bundle.Package) error {
	for _, f := range p.Files() {
		b, err := p.Read(f.Path)
		if err != nil {
			return err
		}
		if err := r.blobs.Put(ctx, string(f.Digest), b); err != nil {
			return fmt.Errorf("store %s of %s: %w", f.Path, p.Manifest().Name, err)
		}
	}
	if err := r.blobs.Put(ctx, string(p.Digest()), p.Index()); err != nil {
		return fmt.Errorf("store the index of %s: %w", p.Manifest().Name, err)
	}
	return nil
}

// Package reads a kept package back and verifies every byte of it. Damage and
// tampering are [fault.Error]s of [fault.KindVerification].
func (r *Registry) Package(ctx context.Context, d manifests.Digest) (*bundle.Package, error) {
	index, err := r.blob(ctx, d, "package index")
	if err != nil {
		return nil, err
	}
	files, err := parseIndex(index)
	if err != nil {
		return nil, broken(err, d)
	}
	contents := make(map[string][]byte, len(files))
	for _, f := range files {
		if contents[f.Path], err = r.blob(ctx, f.Digest, f.Path); err != nil {
			return nil, err
		}
	}
	p, err := bundle.FromFiles(contents)
	if err != nil {
		return nil, broken(err, d)
	}
	if p.Digest() != d {
		return nil, broken(fmt.Errorf("the package's digest is %s", p.Digest()), d)
	}
	return p, nil
}

func (r *Registry) blob(ctx context.Context, d manifests.Digest, what string) ([]byte, error) {
	b, err := r.blobs.Get(ctx, string(d)) // which compares it with the digest
	if err != nil {
		return nil, broken(fmt.Errorf("read %s (%s): %w", what, d.Short(), err), d)
	}
	return b, nil
}

func broken(err error, d manifests.Digest) error {
	return fault.Errorf(fault.KindVerification, "package %s: %w", d.Short(), err).
		WithHint("the stored bytes are not the ones that were approved: remove the skill and install it again from its source")
}

// Manifest reads the manifest of a kept package, and that alone. Its error is as
// that of [Registry.Package].
func (r *Registry) Manifest(ctx context.Context, d manifests.Digest) (*manifests.Manifest, error) {
	index, err := r.blob(ctx, d, "package index")
	if err != nil {
		return nil, err
	}
	files, err := parseIndex(index)
	if err != nil {
		return nil, broken(err, d)
	}
	for _, name := range append(manifests.FileNames(), manifests.FileSkillMD) {
		i := slices.IndexFunc(files, func(f bundle.File) bool { return f.Path == name })
		if i < 0 {
			continue
		}
		b, err := r.blob(ctx, files[i].Digest, name)
		if err != nil {
			return nil, err
		}
		parse := manifests.Parse
		if name == manifests.FileSkillMD {
			parse = manifests.ParseSkillMD
		}
		m, err := parse(b, name)
		if err != nil {
			return nil, broken(err, d)
		}
		return m, nil
	}
	return nil, broken(bundle.ErrNoManifest, d)
}

func parseIndex(index []byte) ([]bundle.File, error) {
	var files []bundle.File
	for line := range strings.Lines(string(index)) {
		var f bundle.File
		digest, rest, ok1 := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		size, path, ok2 := strings.Cut(rest, " ")
		_, err := fmt.Sscanf(size, "%d", &f.Size)
		if !ok1 || !ok2 || err != nil {
			return nil, fmt.Errorf("package index: bad line %q", line)
		}
		if f.Digest, err = manifests.ParseDigest(digest); err != nil {
			return nil, fmt.Errorf("package index: %w", err)
		}
		f.Path = path
		files = append(files, f)
	}
	return files, nil
}

// Unused lists the blobs that no digest in keep reaches. keep holds digests of
// packages: installed ones are kept anyway.
func (r *Registry) Unused(ctx context.Context, keep []manifests.Digest) ([]manifests.Digest, error) {
	skills, err := r.List(ctx)
	if err != nil {
		return nil, err
	}
	for _, s := range skills {
		keep = append(keep, s.Digest)
	}
	used, err := r.reachable(ctx, keep)
	if err != nil {
		return nil, err
	}
	all, err := r.blobs.List(ctx)
	if err != nil {
		return nil, fmt.Errorf("list blobs: %w", err)
	}
	unused := []manifests.Digest{}
	for _, d := range all {
		if !used[d] {
			unused = append(unused, manifests.Digest(d))
		}
	}
	return unused, nil
}

// Sweep deletes the blobs that are [Registry.Unused].
func (r *Registry) Sweep(ctx context.Context, keep []manifests.Digest) (deleted int, err error) {
	unused, err := r.Unused(ctx, keep)
	if err != nil {
		return 0, err
	}
	for _, d := range unused {
		if err := r.blobs.Delete(ctx, string(d)); err != nil {
			return deleted, fmt.Errorf("delete blob %s: %w", d, err)
		}
		deleted++
	}
	return deleted, nil
}

func (r *Registry) reachable(ctx context.Context, packages []manifests.Digest) (map[string]bool, error) {
	used := map[string]bool{}
	for _, d := range packages {
		used[string(d)] = true
		index, err := r.blobs.Get(ctx, string(d))
		if errors.Is(err, store.ErrNotFound) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("read package index %s: %w", d.Short(), err)
		}
		files, err := parseIndex(index)
		if err != nil {
			return nil, err
		}
		for _, f := range files {
			used[string(f.Digest)] = true
		}
	}
	return used, nil
}

func decodeRecord(e store.Entry) (record, error) {
	var rec record
	if err := json.Unmarshal(e.Value, &rec); err != nil {
		return rec, fmt.Errorf("read %s: %w: %w", e.Key, store.ErrDamaged, err)
	}
	if rec.V != recordVersion {
		return rec, fmt.Errorf("read %s: it has format %d, this skillet knows %d: use the skillet that wrote it, or a newer one", e.Key, rec.V, recordVersion)
	}
	return rec, nil
}
