package source

import (
	"context"
	"fmt"

	"github.com/skillet-run/skillet/host/fetch/source/oci"
	"github.com/skillet-run/skillet/manifests"
)

// Claims are what a place says of a version before it was fetched. Fetching it
// compares them with the package.
type Claims struct {
	Name, Version string
	// Digest is that of the content, and Artifact that of the OCI manifest.
	Digest, Artifact manifests.Digest
	Dependencies     map[string]manifests.Dependency
	Provides         map[string]string
}

// Claims asks a registry, a layout, the catalog or what a short name stands for what a version
// is and needs, without fetching it; of a short name, the version that it means
// now. Other kinds of places say nothing before they are fetched: then the error
// wraps [ErrRef].
func (f *Fetcher) Claims(ctx context.Context, r Ref, o Options) (Claims, error) {
	ctx, cancel := f.bounded(ctx)
	defer cancel()
	c, err := f.claims(ctx, r, o)
	if err != nil {
		return Claims{}, f.explain("look at "+r.String(), r, err)
	}
	return c, nil
}

func (f *Fetcher) claims(ctx context.Context, r Ref, o Options) (Claims, error) {
	var s site
	name := ""
	r, err := f.meant(ctx, r, o)
	if err != nil {
		return Claims{}, err
	}
	switch r.Kind {
	case KindBuiltin:
		got, err := f.fetchBuiltin(r)
		if err != nil {
			return Claims{}, err
		}
		m := got.Package.Manifest()
		return Claims{m.Name, m.Version, got.Package.Digest(), got.Artifact, m.Dependencies, m.Provides}, nil
	case KindLayout:
		l := oci.OpenLayout(r.Path)
		reference, err := f.reference(ctx, r, l.Tags)
		if err != nil {
			return Claims{}, err
		}
		return claimsAt(ctx, l, reference, name)
	case KindRegistry:
		s = f.site(r, o)
	case KindName:
		named, v, err := f.resolve(ctx, r, o)
		if err != nil {
			return Claims{}, err
		}
		s, name = named, r.Name
		r = Ref{Kind: KindRegistry, Host: s.host, Repository: s.repository, Tag: v.Tag}
	default:
		return Claims{}, fmt.Errorf("%w: a %s says nothing before it is fetched", ErrRef, r.Kind)
	}
	reference, err := f.reference(ctx, r, func(ctx context.Context) ([]string, error) { return f.tags(ctx, s) })
	if err != nil {
		return Claims{}, err
	}
	var c Claims
	_, err = f.each(ctx, s, func(repo *oci.Remote) (err error) {
		c, err = claimsAt(ctx, repo, reference, name)
		return err
	})
	return c, err
}

// claimsAt reads the claims of an artifact, and demands that a tag that is a
// version, and a short name, are its own.
func claimsAt(ctx context.Context, s oci.Store, reference, name string) (Claims, error) {
	artifact, c, err := oci.Claims(ctx, s, reference)
	if err != nil {
		return Claims{}, err
	}
	v, ok := versionOf(reference)
	if ok && v.Version != c.Version || name != "" && name != c.Name {
		return Claims{}, fmt.Errorf("%w: it is %s@%s, and should be %s@%s", ErrMismatch, c.Name, c.Version, name, v.Version)
	}
	return Claims{c.Name, c.Version, c.Digest, artifact, c.Dependencies, c.Provides}, nil
}
