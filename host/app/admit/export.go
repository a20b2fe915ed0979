package admit

import (
	"cmp"
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/skillet-run/skillet/host/base/fault"
	"github.com/skillet-run/skillet/host/base/outfile"
	"github.com/skillet-run/skillet/host/base/store"
	"github.com/skillet-run/skillet/host/fetch/skillset"
	"github.com/skillet-run/skillet/host/record/approval"
	"github.com/skillet-run/skillet/host/record/registry"
	"github.com/skillet-run/skillet/manifests"
	"github.com/skillet-run/skillet/manifests/bundle"
	"github.com/skillet-run/skillet/manifests/signature"
)

// An ExportRequest says what is written to a set, and where.
type ExportRequest struct {
	// Path is the file. Overwrite allows that one that is there is replaced.
	Path      string
	Overwrite bool
	// To is written to instead, when it is not nil.
	To io.Writer
	// Skills are versions or whole skills; empty for everything that is installed.
	Skills []manifests.Ref
	// DryRun only says what would be in the set, and writes nothing.
	DryRun bool
}

// Exported says what is in a set.
type Exported struct {
	Path string `json:"path"`
	// Bytes is the size of the file; 0 when none was written.
	Bytes  int64            `json:"bytes"`
	Skills []skillset.Entry `json:"skills"`
}

// Export writes installed skills, with what they need, to a file for another machine. The
// same skills make the same bytes.
func (s *Service) Export(ctx context.Context, by approval.Principal, r ExportRequest) (Exported, error) {
	if err := writes(by); err != nil {
		return Exported{}, err
	}
	if err := s.ready(ctx, by); err != nil {
		return Exported{}, err
	}
	if r.Path == "" && r.To == nil && !r.DryRun {
		return Exported{}, fault.Errorf(fault.KindUsage, "export takes the file to write")
	}
	err := s.notSkill(ctx, r)
	if err != nil {
		return Exported{}, err
	}
	e := Exported{Path: r.Path}
	if e.Skills, err = s.toExport(ctx, r.Skills); err != nil || r.DryRun {
		return e, err
	}
	write := func(w io.Writer) error {
		return skillset.Write(w, e.Skills, func(e skillset.Entry) (*bundle.Package, error) { return s.parts.Registry.Package(ctx, e.Digest) })
	}
	if r.To != nil {
		return e, write(r.To)
	}
	e.Bytes, err = outfile.Write(r.Path, outfile.Options{Mode: 0o644, Over: r.Overwrite}, write)
	return e, err
}

// notSkill refuses a request whose file is called as a skill that is installed, or with a
// version: whoever wrote it meant that skill.
func (s *Service) notSkill(ctx context.Context, r ExportRequest) error {
	name, _, version := strings.Cut(r.Path, "@")
	ref, err := manifests.ParseRef(name)
	if err != nil || r.To != nil {
		return nil
	}
	why := "it is written as a version of a skill"
	if !version {
		if _, err := s.parts.Registry.Lookup(ctx, ref); errors.Is(err, registry.ErrNotFound) {
			return nil
		} else if err != nil {
			return err
		}
		why = "it is a skill that is installed"
	}
	return fault.Errorf(fault.KindUsage, "export takes the file to write before the skills, and %s is not one: %s", r.Path, why).
		WithHint("put a file before it, such as %s.set; a file of that name is ./%s", ref.Name, r.Path)
}

// toExport lists what is exported, with what it needs: what is needed before what
// needs it, and of each skill the active version last.
func (s *Service) toExport(ctx context.Context, refs []manifests.Ref) ([]skillset.Entry, error) {
	all, err := s.parts.Registry.List(ctx)
	skills := all
	if len(refs) > 0 && err == nil {
		skills, err = s.versions(ctx, refs)
	}
	if err != nil {
		return nil, err
	}
	skills = registry.Reachable(all, skills)
	order := installOrder(skills)
	slices.SortFunc(skills, func(a, b Skill) int {
		return cmp.Or(order[a.Name]-order[b.Name], rank(a)-rank(b), manifests.CompareVersions(a.Version, b.Version))
	})
	entries := []skillset.Entry{}
	for _, v := range skills {
		e, err := s.entry(ctx, v)
		if err != nil {
			return nil, err
		}
		entries = append(entries, e)
	}
	return entries, nil
}

// entry is an installed version as a set has it.
func (s *Service) entry(ctx context.Context, v Skill) (skillset.Entry, error) {
	gs, err := s.parts.Approvals.Grants(ctx, v.Digest)
	if err != nil {
		return skillset.Entry{}, err
	}
	e := skillset.Entry{Name: v.Name, Version: v.Version, Digest: v.Digest, Active: v.Active, Needed: v.Needed, Source: v.Source, Grants: lasting(gs)}
	noteStanding(&e, v)
	e.Signatures, err = s.signaturesOf(ctx, v.Digest)
	return e, err
}

// noteStanding notes in an entry what was decided about a version beyond that it is
// installed.
func noteStanding(e *skillset.Entry, s Skill) {
	if s.Active && s.Pinned != nil {
		e.Pinned, e.Reason = true, s.Pinned.Reason
	}
	if s.Avoided != nil {
		e.Avoided = s.Avoided.Version
	}
	switch d := s.Disabled; {
	case d == nil || d.All && !s.Active:
	case d.Quarantined:
		e.Stopped = &skillset.Stop{Reason: "in quarantine where it comes from: " + d.Reason}
	default:
		e.Stopped = &skillset.Stop{All: d.All, Reason: d.Reason}
	}
}

// installOrder numbers names so that what is needed comes before what needs it, and
// otherwise in alphabetical order. Versions of two skills may need each other; then
// one of them comes first.
func installOrder(skills []Skill) map[string]int {
	needs := map[string][]string{}
	for _, s := range skills {
		needs[s.Name] = append(needs[s.Name], "")
		for _, d := range s.Dependencies {
			needs[s.Name] = append(needs[s.Name], d.Chosen())
		}
	}
	return visited(needs)
}

// signaturesOf are the signatures of an installed version that name it by its
// digest: those of the artifact alone say nothing about it in another form.
func (s *Service) signaturesOf(ctx context.Context, d manifests.Digest) ([][]byte, error) {
	p, err := s.parts.Trust.Package(ctx, d)
	if errors.Is(err, store.ErrNotFound) {
		return nil, nil
	}
	var named [][]byte
	for _, b := range p.Bundles {
		if _, err := signature.Verify(b, d, signature.Keyring{}); !errors.Is(err, signature.ErrMismatch) {
			named = append(named, b)
		}
	}
	return named, err
}

func rank(s Skill) int {
	if s.Active {
		return 1
	}
	return 0
}

// lasting are grants without an end, in the order of their texts, so that the same
// skills make the same set.
func lasting(gs []Grant) []skillset.Grant {
	var all []skillset.Grant
	for _, g := range gs {
		if g.Unconditional(time.Now()) && g.ExpiresAt.IsZero() {
			all = append(all, skillset.Grant{Capability: g.Capability, Reason: g.Reason})
		}
	}
	slices.SortFunc(all, func(a, b skillset.Grant) int { return strings.Compare(a.Capability.String(), b.Capability.String()) })
	return slices.Compact(all)
}
