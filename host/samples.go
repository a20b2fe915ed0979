package host

import (
	"context"

	"github.com/skillet-run/skillet/host/app/upkeep"
	"github.com/skillet-run/skillet/host/base/config"
	"github.com/skillet-run/skillet/host/record/registry"
	"github.com/skillet-run/skillet/host/run/recording"
	"github.com/skillet-run/skillet/host/run/replay"
	"github.com/skillet-run/skillet/host/run/runner"
	"github.com/skillet-run/skillet/manifests"
	"github.com/skillet-run/skillet/manifests/bundle"
)

func (h *Host) wireRecordings(s config.Settings) {
	h.Recordings = recording.NewShelf(h.path(upkeep.RecordingsDir), recording.Bounds{
		Calls: s.RecordCalls, Bytes: int64(s.RecordCallsMB) << 20, Age: days(s.RecordCallsDays),
	})
	h.Replays = replay.New(h.Runner)
}

// Samples are the recordings that a package can be tried on: those of recent calls
// of the skill, those that its active version brings, and those it brings itself.
func (h *Host) Samples(ctx context.Context, p *bundle.Package) ([]replay.Sample, error) {
	m := p.Manifest()
	samples, err := replay.FromShelf(h.Recordings, m.Name)
	if err != nil {
		return nil, err
	}
	active, err := h.Registry.Lookup(ctx, manifests.Ref{Name: m.Name})
	if err == nil && active.Name == m.Name && active.Digest != p.Digest() {
		before, err := h.Registry.Package(ctx, active.Digest)
		if err != nil {
			return nil, err
		}
		for _, s := range replay.FromPackage(before) {
			s.Name += " of " + active.Version
			samples = append(samples, s)
		}
	}
	for _, s := range replay.FromPackage(p) {
		s.Own = true
		samples = append(samples, s)
	}
	return samples, nil
}

// Shadow tries a package on recordings of calls, with nothing done for real. It is
// nil when there are none.
func (h *Host) Shadow(ctx context.Context, p *bundle.Package) (*replay.Shadow, error) {
	if !p.Manifest().Type.IsCode() {
		return nil, nil
	}
	samples, err := h.Samples(ctx, p)
	if err != nil || len(samples) == 0 {
		return nil, err
	}
	m := p.Manifest()
	s := h.Replays.Shadow(ctx, runner.Target{Label: m.Name + "@" + m.Version, Package: p, Origin: registry.OriginPath}, samples)
	return &s, nil
}
