package admit

import (
	"context"

	"github.com/skillet-run/skillet/host/base/fault"
	"github.com/skillet-run/skillet/host/install"
	"github.com/skillet-run/skillet/host/record/approval"
	"github.com/skillet-run/skillet/internal/text"
	"github.com/skillet-run/skillet/manifests"
)

// Verified says whether an installed version is what was installed.
type Verified = install.Verified

// A VerifyRequest says what is verified.
type VerifyRequest struct {
	// Skills are versions, or whole skills. All is everything that is installed, and
	// goes without Skills.
	Skills []manifests.Ref
	All    bool
	// Begins and Ends are called for each version, before and after it is checked; nil
	// for nobody. n is its number, from 1, of so many.
	Begins func(s Skill, n, of int)
	Ends   func(Skill, Verified)
}

// Verify reads every byte of installed versions, compiles their modules and looks whether
// their grants are their own. It fails with a [fault.KindVerification] error when one of
// them is not what was installed; what it found of all is returned then, too.
func (s *Service) Verify(ctx context.Context, by approval.Principal, r VerifyRequest) ([]Verified, error) {
	if err := s.ready(ctx, by); err != nil {
		return nil, err
	}
	skills, err := s.toVerify(ctx, r)
	if err != nil {
		return nil, err
	}
	all, bad := []Verified{}, 0
	for i, skill := range skills {
		if r.Begins != nil {
			r.Begins(skill, i+1, len(skills))
		}
		v, err := s.verify(ctx, r, skill)
		if err != nil {
			return nil, err
		}
		if all = append(all, v); !v.OK {
			bad++
		}
	}
	if bad > 0 {
		return all, fault.Errorf(fault.KindVerification, "%d of %s: not what was installed", bad, text.Count(len(all), "version")).
			WithHint("remove what is damaged, and install it again from its source")
	}
	return all, nil
}

func (s *Service) toVerify(ctx context.Context, r VerifyRequest) ([]Skill, error) {
	switch {
	case r.All == (len(r.Skills) > 0):
		return nil, fault.Errorf(fault.KindUsage, "verify takes names of skills, or all").WithHint("%s shows what is installed", fault.List(fault.Versions))
	case r.All:
		return s.parts.Registry.List(ctx)
	}
	return s.versions(ctx, r.Skills)
}

func (s *Service) verify(ctx context.Context, r VerifyRequest, skill Skill) (Verified, error) {
	v, err := s.parts.Installer.Verify(ctx, skill)
	if r.Ends != nil {
		r.Ends(skill, v)
	}
	return v, err
}
