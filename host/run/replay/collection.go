package replay

import (
	"context"

	"github.com/skillet-run/skillet/host/record/registry"
	"github.com/skillet-run/skillet/host/run/recording"
	"github.com/skillet-run/skillet/host/run/runner"
	"github.com/skillet-run/skillet/manifests"
	"github.com/skillet-run/skillet/manifests/bundle"
)

// A Collection is the recordings of a home, on which packages can be tried.
type Collection struct {
	replays   *Replayer
	kept      *recording.Archive
	installed *registry.Registry
}

// NewCollection makes a Collection of the recordings that are kept, and of those that
// installed packages bring.
func NewCollection(r *Replayer, kept *recording.Archive, installed *registry.Registry) *Collection {
	return &Collection{r, kept, installed}
}

// Samples are the recordings that a package can be tried on: those of recent calls
// of the skill, those that its active version brings, and those it brings itself.
func (c *Collection) Samples(ctx context.Context, p *bundle.Package) ([]Sample, error) {
	samples, err := FromArchive(c.kept, p.Manifest().Name)
	if err != nil {
		return nil, err
	}
	before, err := c.before(ctx, p)
	if err != nil {
		return nil, err
	}
	for _, s := range FromPackage(p) {
		s.Own = true
		before = append(before, s)
	}
	return append(samples, before...), nil
}

// before are the recordings that the active version of a package's skill brings.
func (c *Collection) before(ctx context.Context, p *bundle.Package) ([]Sample, error) {
	name := p.Manifest().Name
	active, err := c.installed.Lookup(ctx, manifests.Ref{Name: name})
	if err != nil || active.Name != name || active.Digest == p.Digest() {
		return nil, nil // nothing else is active
	}
	before, err := c.installed.Package(ctx, active.Digest)
	if err != nil {
		return nil, err
	}
	samples := FromPackage(before)
	for i := range samples {
		samples[i].Name += " of " + active.Version
	}
	return samples, nil
}

// Shadow tries a package on recordings of calls, with nothing done for real. It is
// nil when there are none.
func (c *Collection) Shadow(ctx context.Context, p *bundle.Package) (*Shadow, error) {
	if m := p.Manifest(); !m.Type.IsCode() && !m.Type.IsMCP() {
		return nil, nil
	}
	samples, err := c.Samples(ctx, p)
	if err != nil || len(samples) == 0 {
		return nil, err
	}
	m := p.Manifest()
	s := c.replays.Shadow(ctx, runner.Target{Label: m.Name + "@" + m.Version, Package: p, Origin: registry.OriginPath}, samples)
	return &s, nil
}
