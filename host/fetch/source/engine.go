package source

import (
	"bytes"
	"context"
	"errors"

	"github.com/skillet-run/skillet/host/base/fault"
	"github.com/skillet-run/skillet/host/fetch/catalog"

	"github.com/skillet-run/skillet/manifests"
	"github.com/skillet-run/skillet/manifests/bundle"
)

// fetchEngine is the package of an interpreter: the one that comes with this program, or
// else one that is made now.
func (f *Fetcher) fetchEngine(ctx context.Context, r Ref) (*Fetched, error) {
	p, listed := f.settings.Catalog.Find(r.Name)
	if !listed || len(p.Provides) == 0 || r.Constraint != "" && r.Constraint != p.Version {
		return f.makeEngine(ctx, r)
	}
	got, err := f.builtin(p)
	if errors.Is(err, catalog.ErrNoFile) && f.settings.Engine != nil {
		return f.makeEngine(ctx, r)
	}
	if err != nil {
		return nil, err
	}
	place := Ref{Kind: KindEngine, Name: r.Name}
	got.Kind, got.Location = KindEngine, place.String()
	place.Constraint = p.Version
	got.Source = place.String()
	return got, nil
}

// makeEngine makes the package of an interpreter. The same version of this program
// makes the same bytes; it makes no other version.
func (f *Fetcher) makeEngine(ctx context.Context, r Ref) (*Fetched, error) {
	if f.settings.Engine == nil {
		return nil, fault.Errorf(fault.KindUsage, "no interpreters are made here")
	}
	files, err := f.settings.Engine(ctx, r.Name)
	if err != nil {
		return nil, err
	}
	p, err := bundle.FromFiles(files)
	if err != nil {
		return nil, err
	}
	m := p.Manifest()
	if r.Constraint != "" && r.Constraint != m.Version {
		return nil, fault.Errorf(fault.KindNotFound, "this program makes %s@%s, and not %s", m.Name, m.Version, r.Constraint).
			WithHint("%s installs that one; another version of this program makes the other", fault.InstallEngine(r.Name))
	}
	var archive bytes.Buffer
	if err := p.WriteArchive(&archive); err != nil {
		return nil, err
	}
	place := Ref{Kind: KindEngine, Name: r.Name}
	made := place
	made.Constraint = m.Version
	return &Fetched{
		Package: p, Kind: KindEngine, Source: made.String(), Location: place.String(), Version: m.Version,
		Artifact: manifests.DigestOf(archive.Bytes()), Archive: archive.Bytes(),
	}, nil
}
