package source

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/skillet-run/skillet/host/fetch/catalog"
	"github.com/skillet-run/skillet/host/fetch/source/oci"
	"github.com/skillet-run/skillet/host/fetch/source/transfer"
	"github.com/skillet-run/skillet/manifests"
	"github.com/skillet-run/skillet/manifests/semver"
)

var (
	// ErrNoRegistry means that no registry stands for a short name.
	ErrNoRegistry = errors.New("no registry is configured")
	// ErrNoVersion means that no version is published that a constraint allows.
	ErrNoVersion = errors.New("no such version is published")
)

// A Version is one that is published.
type Version struct {
	Version string `json:"version"`
	// Tag is what stands for it: a tag has no +, which begins build metadata, so
	// that _ stands for it.
	Tag string `json:"tag"`
}

// tagOf is the tag of a version.
func tagOf(version string) string { return strings.ReplaceAll(version, "+", "_") }

// versionOf is the version a tag stands for, if it stands for one. The tags
// under which registries keep signatures stand for none.
func versionOf(tag string) (Version, bool) {
	version := strings.Replace(tag, "_", "+", 1)
	if _, err := semver.ParseVersion(version); err != nil {
		return Version{}, false
	}
	return Version{version, tag}, true
}

// versions are those among tags, the newest first.
func versions(tags []string) []Version {
	var all []Version
	for _, t := range tags {
		if v, ok := versionOf(t); ok {
			all = append(all, v)
		}
	}
	slices.SortFunc(all, func(a, b Version) int { return manifests.CompareVersions(b.Version, a.Version) })
	return all
}

// Versions lists what is published at the place of a reference, the newest
// first. Only registries, layouts, the catalog and short names have such a list; for other
// kinds it is an error that wraps [ErrRef].
func (f *Fetcher) Versions(ctx context.Context, r Ref, o Options) ([]Version, error) {
	ctx, cancel := f.bounded(ctx)
	defer cancel()
	r, err := f.meant(ctx, r, o)
	var tags []string
	if err == nil {
		tags, err = f.allTags(ctx, r, o)
	}
	if err != nil {
		return nil, f.explain("list the versions of "+r.String(), r, err)
	}
	return versions(tags), nil
}

func (f *Fetcher) allTags(ctx context.Context, r Ref, o Options) ([]string, error) {
	switch r.Kind {
	case KindLayout:
		return oci.OpenLayout(r.Path).Tags(ctx)
	case KindRegistry:
		return f.tags(ctx, f.site(r, o))
	case KindBuiltin:
		p, ok := f.settings.Catalog.Find(r.Name)
		if !ok {
			return nil, fmt.Errorf("%w: %s", catalog.ErrNotListed, r.Name)
		}
		return []string{tagOf(p.Version)}, nil
	case KindName:
		s, err := f.named(r.Name, o)
		if err != nil {
			return nil, err
		}
		return f.tags(ctx, s)
	}
	return nil, fmt.Errorf("%w: a %s has no list of versions", ErrRef, r.Kind)
}

// tags are those of the first spot of a site that answers.
func (f *Fetcher) tags(ctx context.Context, s site) ([]string, error) {
	var tags []string
	_, err := f.each(ctx, s, func(repo *oci.Remote) (err error) {
		tags, err = repo.Tags(ctx)
		return err
	})
	return tags, err
}

// reference is the digest or tag that r names; without one, the tag of the
// newest release, or "latest" where no tag is a version.
func (f *Fetcher) reference(ctx context.Context, r Ref, list func(context.Context) ([]string, error)) (string, error) {
	switch {
	case r.Digest != "":
		return string(r.Digest), nil
	case r.Tag != "":
		return r.Tag, nil
	}
	tags, err := list(ctx)
	if err != nil {
		return "", err
	}
	v, err := newest(versions(tags), "")
	if err == nil {
		return v.Tag, nil
	}
	if slices.Contains(tags, latest) {
		return latest, nil
	}
	return "", err
}

// newest is the newest version that a constraint allows. The empty one, and
// "latest", allow every release.
func newest(all []Version, constraint string) (Version, error) {
	if constraint == latest {
		constraint = ""
	}
	allowed, err := semver.ParseRange(constraint)
	if err != nil {
		return Version{}, fmt.Errorf("%w: %w", ErrRef, err)
	}
	for _, v := range all { // the newest first
		if parsed, err := semver.ParseVersion(v.Version); err == nil && allowed.Allows(parsed) {
			return v, nil
		}
	}
	return Version{}, fmt.Errorf("%w: %s", ErrNoVersion, published(all, constraint))
}

// published says which versions there are instead.
func published(all []Version, constraint string) string {
	const shown = 10
	texts := make([]string, 0, shown)
	for _, v := range all[:min(len(all), shown)] {
		texts = append(texts, v.Version)
	}
	what := "no release"
	if constraint != "" {
		what = "none that " + constraint + " allows"
	}
	if len(texts) == 0 {
		return what + "; no version at all"
	}
	return what + "; there are " + strings.Join(texts, ", ") + after(" and more: ", more(len(all)-shown))
}

func more(n int) string {
	if n <= 0 {
		return ""
	}
	return fmt.Sprint(n)
}

// named is the site of a short name: that of the registry that names it, else
// that of the first registry that serves every name. Only one registry is ever
// asked, so that nobody can publish under a name that another one serves.
func (f *Fetcher) named(name string, o Options) (site, error) {
	reg, ok := f.registryFor(name)
	if !ok {
		return site{}, fmt.Errorf("%w for the name %s", ErrNoRegistry, name)
	}
	host, prefix := split(reg.URL)
	return site{registry: reg, host: host, repository: path.Join(prefix, name), plain: o.plainly(reg)}, nil
}

func (f *Fetcher) registryFor(name string) (Registry, bool) {
	matches := func(r Registry) bool {
		return slices.ContainsFunc(r.Names, func(pattern string) bool {
			ok, err := path.Match(pattern, name)
			return ok && err == nil
		})
	}
	if i := slices.IndexFunc(f.settings.Registries, matches); i >= 0 {
		return f.settings.Registries[i], true
	}
	i := slices.IndexFunc(f.settings.Registries, func(r Registry) bool { return len(r.Names) == 0 })
	if i < 0 {
		return Registry{}, false
	}
	return f.settings.Registries[i], true
}

// Resolve says which artifact of which registry, or which package of the catalog, a short
// name means now; other references mean what they say.
func (f *Fetcher) Resolve(ctx context.Context, r Ref, o Options) (Ref, error) {
	if r.Kind != KindName {
		return r, nil
	}
	ctx, cancel := f.bounded(ctx)
	defer cancel()
	meant, err := f.meant(ctx, r, o)
	if err != nil || meant.Kind != KindName {
		return meant, f.explained("find "+r.String(), r, err)
	}
	s, v, err := f.resolve(ctx, r, o)
	if err != nil {
		return Ref{}, f.explain("find "+r.String(), r, err)
	}
	return Ref{Kind: KindRegistry, Host: s.host, Repository: s.repository, Tag: v.Tag}, nil
}

func (f *Fetcher) resolve(ctx context.Context, r Ref, o Options) (site, Version, error) {
	s, err := f.named(r.Name, o)
	if err != nil {
		return site{}, Version{}, err
	}
	tags, err := f.tags(ctx, s)
	if err != nil {
		if errors.Is(err, transfer.ErrNotFound) {
			return site{}, Version{}, fmt.Errorf("registry %s at %s: %w", s.registry.Name, s.registry.URL, err)
		}
		return site{}, Version{}, err
	}
	v, err := newest(versions(tags), r.Constraint)
	return s, v, err
}

func (f *Fetcher) fetchName(ctx context.Context, r Ref, o Options) (*Fetched, error) {
	meant, err := f.meant(ctx, r, o)
	if err != nil {
		return nil, err
	}
	if meant.Kind == KindBuiltin {
		return f.fetchBuiltin(meant)
	}
	s, v, err := f.resolve(ctx, r, o)
	if err != nil {
		return nil, err
	}
	got, err := f.fetchRegistry(ctx, s, Ref{Kind: KindRegistry, Host: s.host, Repository: s.repository, Tag: v.Tag}, o)
	if err != nil {
		return nil, err
	}
	return got, wanted(got.Package, r.Name, v.Version)
}
