package install

import (
	"context"
	"fmt"

	"github.com/skillet-run/skillet/host/record/registry"
	"github.com/skillet-run/skillet/manifests"
	"github.com/skillet-run/skillet/manifests/bundle"
)

// A Verified is what was found out about an installed version.
type Verified struct {
	Skill   string           `json:"skill"`
	Version string           `json:"version"`
	Digest  manifests.Digest `json:"digest"`
	OK      bool             `json:"ok"`
	// Files and Bytes are how much was read and found to be what was installed,
	// Grants how many grants are bound to it.
	Files  int   `json:"files"`
	Bytes  int64 `json:"bytes"`
	Grants int   `json:"grants"`
	// Signer is who signed it; empty when nobody did.
	Signer string `json:"signer,omitempty"`
	// Problems say what is wrong, one line each; empty when nothing is.
	Problems []string `json:"problems"`
}

// Verify reads every byte of an installed version, compiles its module, and looks
// whether it still is what its manifest says, whether its signature holds and
// nobody revoked it, and whether its grants are its own.
// What is wrong is in the result; the error is that of a check that could not be
// made.
func (i *Installer) Verify(ctx context.Context, s registry.Skill) (Verified, error) {
	v := Verified{Skill: s.Name, Version: s.Version, Digest: s.Digest, Signer: s.Signer, Problems: []string{}}
	p, err := i.registry.Package(ctx, s.Digest)
	switch {
	case ctx.Err() != nil:
		return v, ctx.Err()
	case err != nil:
		v.Problems = append(v.Problems, err.Error())
	default:
		i.verifyPackage(ctx, &v, s, p)
		if err := i.verifyTrust(ctx, &v, s, p); err != nil {
			return v, err
		}
	}
	if err := i.verifyGrants(ctx, &v, s); err != nil {
		return v, err
	}
	v.OK = len(v.Problems) == 0
	return v, ctx.Err()
}

func (i *Installer) verifyPackage(ctx context.Context, v *Verified, s registry.Skill, p *bundle.Package) {
	for _, f := range p.Files() {
		v.Files, v.Bytes = v.Files+1, v.Bytes+f.Size
	}
	m := p.Manifest()
	if m.Name != s.Name || m.Version != s.Version {
		v.Problems = append(v.Problems, fmt.Sprintf("its manifest says that it is %s@%s", m.Name, m.Version))
	}
	if err := i.engine.Check(ctx, p); err != nil {
		v.Problems = append(v.Problems, err.Error())
	}
}

// verifyGrants looks for grants that were not given to these bytes under this
// name.
func (i *Installer) verifyGrants(ctx context.Context, v *Verified, s registry.Skill) error {
	gs, err := i.approvals.Grants(ctx, s.Digest)
	if err != nil {
		return err
	}
	for _, g := range gs {
		if g.Digest != s.Digest || g.Skill != s.Name {
			v.Problems = append(v.Problems, fmt.Sprintf("the grant %s of %s was given to something else", g.ID, g.Capability))
			continue
		}
		v.Grants++
	}
	return nil
}
