package install

import (
	"context"
	"slices"
	"time"

	"github.com/skillet-run/skillet/host/record/approval"
	"github.com/skillet-run/skillet/host/record/ledger"
	"github.com/skillet-run/skillet/host/record/registry"
	"github.com/skillet-run/skillet/manifests"
	"github.com/skillet-run/skillet/policies"
)

// sameSigner reports whether the version that is replaced has the same trusted
// signer. What is not signed has no signer in common with anything.
func (p Plan) sameSigner() bool { return p.Signer != "" && p.Signer == p.former.signer }

// carries reports whether nobody has to be asked, because the same signer's
// former version was granted everything that this one asks for.
func (p Plan) carries() bool {
	return len(p.Asks) > 0 && p.sameSigner() && len(p.New()) == 0 &&
		p.whole == policies.Allow && p.Origin != registry.OriginGenerated
}

// Waits reports whether a person has to be asked: about what is new in a version
// of the same trusted signer, and about everything in any other package. When it
// is false, [Installer.Accept] may be called for a person who asked for the
// installation and was shown nothing.
func (p Plan) Waits() bool {
	if p.Installed && len(p.New()) == 0 {
		return false
	}
	return p.Effect == policies.Ask.String() && !p.Carried
}

// HadGrants reports whether the version before was granted anything for good.
func (p Plan) HadGrants() bool { return len(p.former.grants) > 0 }

// grants are the changes that give the package what a person agreed to, unless it
// has that for good. What the former version of the same signer was granted is
// granted on the same terms.
func (i *Installer) grants(ctx context.Context, h approval.Human, p Plan, asks []approval.Ask) ([]ledger.Change, error) {
	if err := h.Check(); err != nil {
		return nil, err
	}
	has, err := i.approvals.Grants(ctx, p.Digest)
	if err != nil {
		return nil, err
	}
	var cs []ledger.Change
	for _, a := range asks {
		if slices.ContainsFunc(has, func(g approval.Grant) bool {
			return g.Capability == a.Capability && g.ExpiresAt.IsZero() && g.Unconditional(time.Now())
		}) {
			continue
		}
		c, err := h.Grant(p.Skill, p.Digest, a.Capability, p.terms(a))
		if err != nil {
			return nil, err
		}
		cs = append(cs, c)
	}
	return cs, nil
}

// terms are those of the grant that a is carried over from, the longest one, or
// those of a new grant, which has no end.
func (p Plan) terms(a approval.Ask) approval.Terms {
	t := approval.Terms{Reason: a.Reason}
	if !p.sameSigner() || a.New {
		return t
	}
	for _, g := range p.former.grants {
		switch {
		case !g.Capability.Covers(a.Capability):
		case g.ExpiresAt.IsZero():
			return approval.Terms{Reason: a.Reason}
		case g.ExpiresAt.After(t.ExpiresAt):
			t.ExpiresAt = g.ExpiresAt
		}
	}
	return t
}

func (p Plan) provenance() registry.Provenance {
	return registry.Provenance{
		Source: p.Source, SourceKind: p.request.SourceKind, Origin: p.Origin, Signer: p.Signer,
		Artifact: p.request.Artifact, Dependencies: p.request.Dependencies, Beside: p.keepsActive,
		Needed: p.request.Needed, Asked: p.request.Asked,
	}
}

// leftover looks at what a removed skill of this name kept. When that was
// another skill, it is deleted, and a person is asked about that.
func (i *Installer) leftover(ctx context.Context, p *Plan) error {
	left, strange, err := i.stranger(ctx, p.Skill, p.Signer, p.Source, p.Digest)
	if err != nil || !strange {
		return err
	}
	p.Forgets, p.Carried = &left, false
	if p.Effect == policies.Allow.String() {
		p.Effect, p.Reason = policies.Ask.String(), "what another skill of this name kept is deleted"
	}
	return nil
}

// stranger returns what another skill left under a name; false when nothing is
// there, or what is there is the skill's own.
func (i *Installer) stranger(ctx context.Context, skill, signer, source string, d manifests.Digest) (registry.Leftover, bool, error) {
	left, ok, err := i.registry.Left(ctx, skill)
	if err != nil || !ok || left.FitsFor(signer, source, d) {
		return left, false, err
	}
	keeps, err := i.engine.Keeps(ctx, skill)
	return left, keeps, err
}

// makeRoom deletes what is left of an earlier skill of the same name, before
// the first version of a new one, unless that is the same skill again: what one
// skill kept is not for another that took its name.
func (i *Installer) makeRoom(ctx context.Context, skill, signer, source string, d manifests.Digest) error {
	versions, err := i.registry.Versions(ctx, skill)
	if err != nil || len(versions) > 0 {
		return err
	}
	left, ok, err := i.registry.Left(ctx, skill)
	if err != nil || ok && left.FitsFor(signer, source, d) {
		return err
	}
	return i.engine.Forget(ctx, skill)
}
