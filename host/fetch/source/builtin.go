package source

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/skillet-run/skillet/host/base/fault"
	"github.com/skillet-run/skillet/host/fetch/catalog"
	"github.com/skillet-run/skillet/host/fetch/source/transfer"
	"github.com/skillet-run/skillet/internal/openfile"
	"github.com/skillet-run/skillet/manifests/bundle"
	"github.com/skillet-run/skillet/manifests/signature"
)

// fetchBuiltin reads a package that comes with this program.
func (f *Fetcher) fetchBuiltin(r Ref) (*Fetched, error) {
	p, ok := f.settings.Catalog.Find(r.Name)
	if !ok {
		return nil, fmt.Errorf("%w: %s", catalog.ErrNotListed, r.Name)
	}
	if _, err := newest([]Version{{Version: p.Version, Tag: tagOf(p.Version)}}, r.Constraint); err != nil {
		return nil, fmt.Errorf("this program comes with %s@%s: %w", p.Name, p.Version, err)
	}
	return f.builtin(p)
}

// builtin reads the file of a listed package, which has to be the one that is listed.
func (f *Fetcher) builtin(p catalog.Package) (*Fetched, error) {
	path, err := f.settings.Catalog.Path(p)
	if err != nil {
		return nil, unusable(p, err)
	}
	archive, err := openfile.ReadRegular(path, bundle.MaxArchiveBytes)
	if err != nil {
		return nil, unusable(p, fmt.Errorf("%w: %w", catalog.ErrOtherBytes, err))
	}
	if err := f.settings.Catalog.Verify(p, path, archive); err != nil {
		return nil, unusable(p, err)
	}
	place := Ref{Kind: KindBuiltin, Name: p.Name}
	version := place
	version.Constraint = p.Version
	got, err := ofArchive(archive, KindBuiltin, version.String())
	if err != nil {
		return nil, err
	}
	got.Location = place.String()
	if beside, err := openfile.ReadRegular(path+signature.Extension, signature.MaxBytes); err == nil && !f.settings.Catalog.Key().IsZero() {
		got.Signatures = [][]byte{beside}
	}
	return got, wanted(got.Package, p.Name, p.Version)
}

// unusable says how to get a file that a listed package is really in.
func unusable(p catalog.Package, err error) error {
	kind := fault.KindVerification
	if errors.Is(err, catalog.ErrNoFile) {
		kind = fault.KindNotFound
	}
	return fault.Wrap(kind, err).WithHint("unpack the release of this program again, with the folder skills beside the program; in a clone run `make skills`, and `make engines` for interpreters (%s is listed)", p.Digest)
}

// meant says which place a short name means: the catalog of this program, or a registry.
// A registry whose settings have that very name serves it, because a person wrote that
// down. Any other registry that would serve a listed name is asked whether it has one, too: if so,
// or if it does not say, the name means neither. Other references mean what they say.
func (f *Fetcher) meant(ctx context.Context, r Ref, o Options) (Ref, error) {
	if _, listed := f.settings.Catalog.Find(r.Name); !listed || r.Kind != KindName {
		return r, nil
	}
	builtin := r
	builtin.Kind = KindBuiltin
	reg, served := f.registryFor(r.Name)
	switch {
	case !served:
		return builtin, nil
	case slices.Contains(reg.Names, r.Name):
		return r, nil
	}
	s, err := f.named(r.Name, o)
	if err != nil {
		return r, err
	}
	tags, err := f.tags(ctx, s)
	published := Ref{Kind: KindRegistry, Host: s.host, Repository: s.repository}
	switch {
	case errors.Is(err, transfer.ErrNotFound), err == nil && len(versions(tags)) == 0:
		return builtin, nil
	case err != nil:
		return r, fault.Wrap(fault.AsError(transfer.Explain("ask the registry "+reg.Name, err)).Kind, fmt.Errorf("%s comes with this program, and the registry %s may have one, too: %w", r.Name, reg.Name, err)).
			WithHint("%s installs the one of this program", fault.Install(builtin.String()))
	}
	return r, fault.Errorf(fault.KindConflict, "%s comes with this program, and is in the registry %s, too", r.Name, reg.Name).
		WithHint("say which: %s, or %s; with %s under the names of that registry in config.yaml the name means its own", fault.Install(builtin.String()), fault.Install(published.String()), r.Name)
}

// explained is [Fetcher.explain] for what may be no error.
func (f *Fetcher) explained(what string, r Ref, err error) error {
	if err == nil {
		return nil
	}
	return f.explain(what, r, err)
}

// noRegistry is the way out for a short name that nobody serves.
func (f *Fetcher) noRegistry(name string) fault.Hint {
	if len(f.settings.Catalog.Packages()) == 0 {
		return fault.Hintf("list one under registries in config.yaml in the home, or write the address: oci://HOST/%s; a path begins with ./. This program has no catalog of its own: `make skills` builds one into it, and releases have one", name)
	}
	return fault.Hintf("%s lists what comes with this program; list a registry under registries in config.yaml in the home, or write the address: oci://HOST/%s; a path begins with ./", fault.Search(""), name)
}

// searchBuiltin finds listed packages whose name or description has a text in it, which
// is in lower case.
func (f *Fetcher) searchBuiltin(text string) []Found {
	var found []Found
	for _, p := range f.settings.Catalog.Packages() {
		if !strings.Contains(p.Name, text) && !strings.Contains(strings.ToLower(p.Description), text) {
			continue
		}
		found = append(found, Found{
			Name: p.Name, Registry: string(KindBuiltin), Builtin: true, Version: p.Version, Description: p.Description,
			Ref: Ref{Kind: KindBuiltin, Name: p.Name, Constraint: p.Version}.String(), Versions: []string{p.Version},
		})
	}
	return found
}
