package install

import (
	"context"

	"github.com/skillet-run/skillet/host/base/fault"
	"github.com/skillet-run/skillet/host/record/registry"
	"github.com/skillet-run/skillet/host/record/trust"
)

// Stopped is why an installed version is not run, as [registry.Skill.CheckEnabled] says it, with all
// that helps: taking back what was revoked here, if nothing else revokes it, and going back
// to an earlier version, if there is one. It is nil for a version that is run.
func Stopped(ctx context.Context, r *registry.Registry, b *trust.Store, s registry.Skill) error {
	why := s.CheckEnabled()
	if why == nil || !s.Disabled.Quarantined {
		return why
	}
	e := fault.AsError(why)
	way := e.Way()
	if former, ok, err := r.Former(ctx, s.Name); err == nil && ok && s.Active {
		way = fault.Hintf("%s; %s goes back to %s", way, fault.RollBack(s.Name), former.Version)
	}
	if undo, ok := undoing(ctx, b, s); ok {
		way = fault.Hintf("it was revoked here: %s takes that back; otherwise %s", undo, way)
	}
	return e.Hinted(way)
}

// undoing takes back what was revoked here, if an installed version is not run because of
// that alone.
func undoing(ctx context.Context, b *trust.Store, s registry.Skill) (fault.Remedy, bool) {
	t, err := b.TargetOf(ctx, s.Name, s.Digest, s.Artifact)
	if err != nil { // then nothing is known of it
		return fault.Remedy{}, false
	}
	e, ok, err := b.Undoing(ctx, t)
	switch {
	case err != nil || !ok:
		return fault.Remedy{}, false
	case e.Signer != "":
		return fault.UnrevokeSigner(string(e.Signer)), true
	case e.Artifact != "":
		return fault.Unrevoke(e.Target()), true
	}
	return fault.Unrevoke(s.Ref()), true
}
