package admit

import (
	"cmp"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/skillet-run/skillet/host/base/fault"
	"github.com/skillet-run/skillet/host/fetch/source"
	"github.com/skillet-run/skillet/host/record/registry"
	"github.com/skillet-run/skillet/manifests"
	"github.com/skillet-run/skillet/manifests/bundle"
)

// newer fetches the newest version of a skill from where it came from, or from
// another place; nil when it is not newer than the one that is active.
func (s *Service) newer(ctx context.Context, v registry.Skill, from string) (*source.Fetched, error) {
	ref, err := source.ParseArgument(cmp.Or(from, v.Source))
	if err != nil {
		return nil, err
	}
	if ref, err = s.newest(ctx, ref, v); err != nil || ref == (source.Ref{}) {
		return nil, err
	}
	got, err := s.parts.Sources.Fetch(ctx, ref, source.Options{})
	if err != nil {
		return nil, noSource(err, v)
	}
	m := got.Package.Manifest()
	switch {
	case m.Name != v.Name:
		return nil, fault.Errorf(fault.KindConflict, "at %s there is %s now, and not %s", ref, m.Name, v.Name).
			WithHint("to install it, name it: %s", fault.Install(ref.String()))
	case isNewer(m.Version, v.Version):
		return got, nil
	case m.Version == v.Version && got.Package.Digest() != v.Digest:
		return nil, fault.Errorf(fault.KindConflict, "%s is at %s with other bytes (%s, installed is %s)", v.Ref(), ref, got.Package.Digest().Short(), v.Digest.Short()).
			WithHint("a version never changes: give what changed a new version")
	}
	return nil, nil
}

// noSource says of a place that is gone what can be done about it.
func noSource(err error, s registry.Skill) error {
	e := fault.AsError(err)
	if e.Kind != fault.KindNotFound {
		return err
	}
	return e.WithHint("%s came from there; name another place with %s", s.Ref(), fault.SetField(fault.FieldFrom, "PLACE"))
}

// newest is the reference to the newest version at the place of one: for a place
// with a list of versions the newest of them, for a file the newest beside it, for
// everything else the same without a version. It is the zero value when the list
// has nothing newer.
func (s *Service) newest(ctx context.Context, ref source.Ref, v registry.Skill) (source.Ref, error) {
	switch ref.Kind {
	case source.KindFile:
		return newestFile(ref, v)
	case source.KindRegistry, source.KindLayout, source.KindName, source.KindBuiltin:
		return s.newestPublished(ctx, ref, v)
	}
	ref.Digest, ref.Revision = "", ""
	if ref.Kind == source.KindEngine {
		ref.Constraint = "" // this program makes one version
	}
	return ref, nil
}

func (s *Service) newestPublished(ctx context.Context, ref source.Ref, now registry.Skill) (source.Ref, error) {
	ref.Tag, ref.Digest = "", ""
	all, err := s.parts.Sources.Versions(ctx, ref, source.Options{})
	if err != nil {
		return ref, err
	}
	i := slices.IndexFunc(all, func(v source.Version) bool { return isNewer(v.Version, now.Version) })
	if i < 0 {
		return source.Ref{}, nil
	}
	if ref.Kind == source.KindName || ref.Kind == source.KindBuiltin {
		ref.Constraint = all[i].Version
	} else {
		ref.Tag = all[i].Tag
	}
	return ref, nil
}

// newestFile looks through the .skill files beside one, which are named by skill
// and version. The file itself may have been replaced.
func newestFile(ref source.Ref, s registry.Skill) (source.Ref, error) {
	entries, err := os.ReadDir(filepath.Dir(ref.Path))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return ref, err
	}
	best := s.Version
	for _, e := range entries {
		rest, ok1 := strings.CutPrefix(e.Name(), s.Name+"-")
		version, ok2 := strings.CutSuffix(rest, bundle.Extension)
		if _, err := manifests.ParseRef(s.Name + "@" + version); !ok1 || !ok2 || err != nil || !isNewer(version, best) {
			continue
		}
		best, ref.Path = version, filepath.Join(filepath.Dir(ref.Path), e.Name())
	}
	return ref, nil
}
