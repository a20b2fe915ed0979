package host

import (
	"context"

	"github.com/skillet-run/skillet/host/runner"
	"github.com/skillet-run/skillet/manifests"
)

// installed finds the skills that other skills name.
type installed struct{ h *Host }

// Target returns the skill that ref means, with what it was granted. A grant that
// is good for a number of runs counts one.
func (i installed) Target(ctx context.Context, ref manifests.Ref) (runner.Target, error) {
	if err := i.h.CatchUp(ctx); err != nil {
		return runner.Target{}, err
	}
	s, err := i.h.Registry.Lookup(ctx, ref)
	if err != nil {
		return runner.Target{}, err
	}
	p, err := i.h.Registry.Package(ctx, s.Digest)
	if err != nil {
		return runner.Target{}, err
	}
	granted, err := i.h.Desk.Spend(ctx, s)
	return runner.Target{Label: s.Ref(), Package: p, Origin: s.Origin, Granted: granted}, err
}
