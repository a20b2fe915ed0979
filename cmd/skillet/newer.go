package main

import (
	"cmp"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/skillet-run/skillet/host/fault"

	"github.com/skillet-run/skillet/host"
	"github.com/skillet-run/skillet/host/registry"
	sources "github.com/skillet-run/skillet/host/source"
	"github.com/skillet-run/skillet/manifests"
	"github.com/skillet-run/skillet/manifests/bundle"
)

// newer fetches the newest version of a skill from where it came from, or from
// another place; nil when it is not newer than the one that is active.
func newer(ctx context.Context, h *host.Host, s registry.Skill, from string) (*incoming, error) {
	ref, err := sources.ParseArgument(cmp.Or(from, s.Source))
	if err != nil {
		return nil, err
	}
	if ref, err = newest(ctx, h, ref, s); err != nil || ref == (sources.Ref{}) {
		return nil, err
	}
	got, err := h.Sources().Fetch(ctx, ref, sources.Options{})
	if err != nil {
		return nil, noSource(err, s)
	}
	m := got.Package.Manifest()
	switch {
	case m.Name != s.Name:
		return nil, fault.Errorf(fault.KindConflict, "at %s there is %s now, and not %s", ref, m.Name, s.Name).
			WithHint("to install it, name it: `skillet install %s`", ref)
	case isNewer(m.Version, s.Version):
		return &incoming{path: ref.String(), got: got}, nil
	case m.Version == s.Version && got.Package.Digest() != s.Digest:
		return nil, fault.Errorf(fault.KindConflict, "%s is at %s with other bytes (%s, installed is %s)", s.Ref(), ref, got.Package.Digest().Short(), s.Digest.Short()).
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
	return e.WithHint("%s came from there; name another place with --from PLACE", s.Ref())
}

// newest is the reference to the newest version at the place of one: for a place
// with a list of versions the newest of them, for a file the newest beside it, for
// everything else the same without a version. It is the zero value when the list
// has nothing newer.
func newest(ctx context.Context, h *host.Host, ref sources.Ref, s registry.Skill) (sources.Ref, error) {
	switch ref.Kind {
	case sources.KindFile:
		return newestFile(ref, s)
	case sources.KindRegistry, sources.KindLayout, sources.KindName:
		return newestPublished(ctx, h, ref, s)
	}
	ref.Digest, ref.Revision = "", ""
	if ref.Kind == sources.KindEngine {
		ref.Constraint = "" // this program makes one version
	}
	return ref, nil
}

func newestPublished(ctx context.Context, h *host.Host, ref sources.Ref, s registry.Skill) (sources.Ref, error) {
	ref.Tag, ref.Digest = "", ""
	all, err := h.Sources().Versions(ctx, ref, sources.Options{})
	if err != nil {
		return ref, err
	}
	i := slices.IndexFunc(all, func(v sources.Version) bool { return isNewer(v.Version, s.Version) })
	if i < 0 {
		return sources.Ref{}, nil
	}
	if ref.Kind == sources.KindName {
		ref.Constraint = all[i].Version
	} else {
		ref.Tag = all[i].Tag
	}
	return ref, nil
}

// newestFile looks through the .skill files beside one, which are named by skill
// and version. The file itself may have been replaced.
func newestFile(ref sources.Ref, s registry.Skill) (sources.Ref, error) {
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
