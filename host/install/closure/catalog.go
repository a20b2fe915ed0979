package closure

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/skillet-run/skillet/host/base/fault"

	"github.com/hashicorp/go-hclog"

	"github.com/skillet-run/skillet/host/fetch/resolve"
	"github.com/skillet-run/skillet/host/fetch/source"
	"github.com/skillet-run/skillet/host/record/registry"
	"github.com/skillet-run/skillet/manifests"
	"github.com/skillet-run/skillet/manifests/bundle"
	"github.com/skillet-run/skillet/manifests/semver"
)

// Settings of a [Catalog]. The zero value knows what is installed, and asks
// registries for everything else.
type Settings struct {
	// Hand are packages that are here already, such as those a person named
	// together.
	Hand []*source.Fetched
	// From are places to look at before registries are: a directory with .skill
	// files, and what is in front of the name of a skill in the addresses of
	// registries and layouts.
	From []source.Ref
	// Options of everything that is fetched.
	Options source.Options
	// Engines are interfaces that this program can make the provider of, which is
	// said when one of them is missing.
	Engines []string
}

// Bounds on what is looked at: names for one question, and for an interface names
// and the newest versions of each.
const (
	maxNames     = 2000
	maxProviders = 500
	maxOffering  = 5
)

// A Catalog is what versions can be chosen from. It is a [resolve.Source] that
// remembers what places told it. It is not safe for concurrent use.
type Catalog struct {
	log      hclog.Logger
	registry *registry.Registry
	fetcher  *source.Fetcher
	settings Settings

	skills []registry.Skill // what is installed
	// far means that sources are asked for all names, even of installed skills.
	far bool
	// wished are names that a person asks for now, whatever is pinned, and again those
	// that may go to a version again that they went back from.
	wished, again []string

	items   map[string][]*item
	offers  map[string][]resolve.Offer
	offered map[string][]*item // what was published, by name
}

// An item is one version that may be chosen.
type item struct {
	name    string
	version semver.Version
	// One of these is where it is.
	installed *registry.Skill
	got       *source.Fetched
	ref       source.Ref
	// claims are what it says it needs, and provides; nil until asked for.
	claims *source.Claims
}

// NewCatalog makes a Catalog of what is installed now.
func NewCatalog(ctx context.Context, log hclog.Logger, r *registry.Registry, f *source.Fetcher, s Settings) (*Catalog, error) {
	c := &Catalog{log: log, registry: r, fetcher: f, settings: s, offered: map[string][]*item{}}
	return c, c.Refresh(ctx)
}

// Refresh reads again what is installed. What places publish is remembered.
func (c *Catalog) Refresh(ctx context.Context) (err error) {
	c.skills, err = c.registry.List(ctx)
	return err
}

// reaching is the same catalog for another reach.
func (c *Catalog) reaching(far bool) *Catalog {
	return &Catalog{
		log: c.log, registry: c.registry, fetcher: c.fetcher, settings: c.settings, skills: c.skills, offered: c.offered,
		far: far, items: map[string][]*item{}, offers: map[string][]resolve.Offer{},
	}
}

// Versions returns the versions of a skill that may be chosen.
func (c *Catalog) Versions(ctx context.Context, name string) ([]semver.Version, error) {
	items, err := c.itemsOf(ctx, name)
	if err != nil {
		return nil, err
	}
	all := make([]semver.Version, len(items))
	for i, it := range items {
		all[i] = it.version
	}
	return all, nil
}

// Package returns what a version says it needs.
func (c *Catalog) Package(ctx context.Context, name string, v semver.Version) (resolve.Package, error) {
	it, err := c.item(ctx, name, v)
	if err != nil {
		return resolve.Package{}, err
	}
	claims, err := c.claimsOf(ctx, it)
	if err != nil {
		return resolve.Package{}, err
	}
	needs, err := needsOf(name, v.String(), claims.Dependencies)
	return resolve.Package{Dependencies: needs}, err
}

func (c *Catalog) item(ctx context.Context, name string, v semver.Version) (*item, error) {
	items, err := c.itemsOf(ctx, name)
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(items, func(it *item) bool { return it.version == v })
	if i < 0 {
		return nil, fmt.Errorf("%s@%s: %w", name, v, registry.ErrNotFound)
	}
	return items[i], nil
}

// itemsOf returns the versions of a name: the installed ones, the ones at hand,
// and when those are none, or are not enough, the published ones.
func (c *Catalog) itemsOf(ctx context.Context, name string) ([]*item, error) {
	if items, ok := c.items[name]; ok {
		return items, nil
	}
	items, err := c.local(name)
	if err != nil {
		return nil, err
	}
	if (len(items) == 0 || c.far) && !c.isPinned(name) {
		published, err := c.published(ctx, name)
		if err != nil {
			return nil, err
		}
		items = merge(items, slices.DeleteFunc(slices.Clone(published), func(it *item) bool { return c.barred(name, it.version) }))
	}
	c.items[name] = items
	return items, nil
}

func (c *Catalog) isPinned(name string) bool {
	return !slices.Contains(c.wished, name) && slices.ContainsFunc(c.skills, func(s registry.Skill) bool { return s.Name == name && s.Pinned != nil })
}

// held reports whether a version may be chosen of a skill that is pinned: the
// active one, and those that others were resolved to.
func (c *Catalog) held(s registry.Skill) bool {
	return s.Active || len(registry.Dependents(c.skills, s.Digest)) > 0
}

// inUse reports whether a version is active, or what an active one was resolved to.
func (c *Catalog) inUse(name, version string) bool {
	active := slices.DeleteFunc(slices.Clone(c.skills), func(s registry.Skill) bool { return !s.Active })
	return slices.ContainsFunc(registry.Reachable(c.skills, active), func(s registry.Skill) bool { return s.Name == name && s.Version == version })
}

// barred reports whether a version is not chosen unless a person names the skill:
// one that is installed and does not run, or that somebody went back from. What
// others were resolved to stays, if that was not gone back from as well.
func (c *Catalog) barred(name string, v semver.Version) bool {
	version, wished := v.String(), slices.Contains(c.wished, name)
	return slices.ContainsFunc(c.skills, func(s registry.Skill) bool {
		switch {
		case s.Name != name:
			return false
		case s.Version == version && s.Disabled != nil && s.Disabled.Quarantined:
			return true
		case wished:
			return false
		case s.Version == version:
			return s.Disabled != nil && !s.Disabled.All && !c.held(s)
		}
		return s.Active && s.Avoids(version) && !slices.Contains(c.again, name) && !c.inUse(name, version)
	})
}

// merge adds the items of versions that are not there yet.
func merge(items, more []*item) []*item {
	for _, it := range more {
		if !slices.ContainsFunc(items, func(o *item) bool { return o.version.Compare(it.version) == 0 }) {
			items = append(items, it)
		}
	}
	return items
}

// local are the versions that are installed or at hand. What is in quarantine is
// not chosen.
func (c *Catalog) local(name string) ([]*item, error) {
	var items []*item
	pinned := c.isPinned(name)
	for i, s := range c.skills {
		if s.Name != name || pinned && !c.held(s) {
			continue
		}
		v, err := semver.ParseVersion(s.Version)
		if err != nil || c.barred(name, v) {
			continue // of what an earlier skillet took for a version, nothing can be said
		}
		items = merge(items, []*item{{name: name, version: v, installed: &c.skills[i]}})
	}
	for _, got := range c.settings.Hand {
		if got.Package.Manifest().Name != name || pinned {
			continue
		}
		v, err := semver.ParseVersion(got.Version)
		if err != nil {
			return nil, fault.Wrap(fault.KindVerification, fmt.Errorf("%s: %w", got.Source, err))
		}
		items = merge(items, []*item{{name: name, version: v, got: got}})
	}
	return items, nil
}

// published are the versions at the place where a name is looked for: one of the
// places that a person named, if they have it; else where the installed skill of
// that name came from; else the registry that stands for the name. No other is
// asked, so that nobody can publish under a name that another one serves.
func (c *Catalog) published(ctx context.Context, name string) ([]*item, error) {
	if items, ok := c.offered[name]; ok {
		return items, nil
	}
	if len(c.offered) >= maxNames {
		return nil, fmt.Errorf("%w: more than %d skills are needed, or may be", resolve.ErrTooHard, maxNames)
	}
	items, err := c.publishedAt(ctx, name)
	if err == nil {
		c.offered[name] = items
	}
	return items, err
}

func (c *Catalog) publishedAt(ctx context.Context, name string) ([]*item, error) {
	for _, from := range c.settings.From {
		items, err := c.at(ctx, child(from, name), name)
		if err != nil || len(items) > 0 {
			return items, err
		}
	}
	i := slices.IndexFunc(c.skills, func(s registry.Skill) bool { return s.Name == name && s.Active })
	if i < 0 {
		return c.at(ctx, source.Ref{Kind: source.KindName, Name: name}, name)
	}
	ref, err := source.Parse(c.skills[i].Source)
	if err != nil { // it came from somewhere nothing can be fetched from
		return nil, nil
	}
	return c.at(ctx, ref, name)
}

// child is where a place has the skill of that name.
func child(place source.Ref, name string) source.Ref {
	switch place.Kind {
	case source.KindRegistry:
		place.Repository += "/" + name
	case source.KindLayout:
		place.Path = filepath.Join(place.Path, name)
	case source.KindDirectory:
		return source.Ref{Kind: source.KindFile, Path: filepath.Join(place.Path, name+"-*"+bundle.Extension)}
	}
	place.Tag, place.Digest = "", ""
	return place
}

// at lists what is at a place. Places that have no list have what they have now,
// as far as that can be told without fetching a repository.
func (c *Catalog) at(ctx context.Context, ref source.Ref, name string) ([]*item, error) {
	switch ref.Kind {
	case source.KindFile:
		return filesBeside(ref, name)
	case source.KindDirectory, source.KindEngine, source.KindMCP:
		ref.Constraint, ref.Digest = "", ""
		got, err := c.fetcher.Fetch(ctx, ref, c.settings.Options)
		if err != nil && ref.Kind == source.KindMCP && fault.AsError(err).Kind != fault.KindNotFound {
			return nil, err
		}
		if err != nil || got.Package.Manifest().Name != name {
			return nil, nil // it is being worked on, or is gone
		}
		v, err := semver.ParseVersion(got.Version)
		return []*item{{name: name, version: v, got: got}}, err
	case source.KindLayout:
		if _, err := os.Stat(ref.Path); errors.Is(err, os.ErrNotExist) {
			return nil, nil
		}
	case source.KindRegistry, source.KindName, source.KindBuiltin:
	default:
		return nil, nil
	}
	ref.Tag, ref.Digest, ref.Constraint = "", "", ""
	return c.list(ctx, ref, name)
}

// list asks a place with a list of versions. A place without that skill has none
// of it.
func (c *Catalog) list(ctx context.Context, ref source.Ref, name string) ([]*item, error) {
	all, err := c.fetcher.Versions(ctx, ref, c.settings.Options)
	if errors.Is(err, source.ErrNoRegistry) || err != nil && fault.AsError(err).Kind == fault.KindNotFound {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var items []*item
	for _, p := range all {
		v, err := semver.ParseVersion(p.Version)
		if err != nil {
			continue
		}
		at := ref
		if ref.Kind == source.KindName || ref.Kind == source.KindBuiltin {
			at.Constraint = "=" + p.Version
		} else {
			at.Tag = p.Tag
		}
		items = append(items, &item{name: name, version: v, ref: at})
	}
	return items, nil
}

// filesBeside are the .skill files of a skill in the directory of one of them.
func filesBeside(ref source.Ref, name string) ([]*item, error) {
	dir := filepath.Dir(ref.Path)
	entries, err := os.ReadDir(dir)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var items []*item
	for _, e := range entries {
		rest, ok1 := strings.CutPrefix(e.Name(), name+"-")
		version, ok2 := strings.CutSuffix(rest, bundle.Extension)
		v, err := semver.ParseVersion(version)
		if ok1 && ok2 && err == nil {
			items = append(items, &item{name: name, version: v, ref: source.Ref{Kind: source.KindFile, Path: filepath.Join(dir, e.Name())}})
		}
	}
	return items, nil
}

// claimsOf is what a version says it needs and provides.
func (c *Catalog) claimsOf(ctx context.Context, it *item) (source.Claims, error) {
	if it.claims != nil {
		return *it.claims, nil
	}
	claims, err := c.ask(ctx, it)
	if err != nil {
		return claims, err
	}
	if claims.Name != it.name || claims.Version != it.version.String() {
		return claims, lie(it.ref.String(), "it should be %s@%s, and is %s@%s", it.name, it.version, claims.Name, claims.Version)
	}
	it.claims = &claims
	return claims, nil
}

func (c *Catalog) ask(ctx context.Context, it *item) (source.Claims, error) {
	switch {
	case it.installed != nil:
		m, err := c.registry.Manifest(ctx, it.installed.Digest)
		if err != nil {
			return source.Claims{}, err
		}
		return claimsIn(m, it.installed.Digest), nil
	case it.got == nil && (it.ref.Kind == source.KindFile || it.ref.Kind == source.KindDirectory):
		got, err := c.fetcher.Fetch(ctx, it.ref, c.settings.Options)
		if err != nil {
			return source.Claims{}, err
		}
		return claimsIn(got.Package.Manifest(), got.Package.Digest()), nil
	case it.got != nil:
		return claimsIn(it.got.Package.Manifest(), it.got.Package.Digest()), nil
	}
	return c.fetcher.Claims(ctx, it.ref, c.settings.Options)
}

func claimsIn(m *manifests.Manifest, d manifests.Digest) source.Claims {
	return source.Claims{Name: m.Name, Version: m.Version, Digest: d, Dependencies: m.Dependencies, Provides: m.Provides}
}

// fetch gets a version that was chosen, and compares it with what its place said.
func (c *Catalog) fetch(ctx context.Context, it *item) (*source.Fetched, error) {
	if it.got == nil {
		got, err := c.fetcher.Fetch(ctx, it.ref, c.settings.Options)
		if err != nil {
			return nil, err
		}
		it.got = got
	}
	said, err := c.claimsOf(ctx, it)
	if err != nil {
		return nil, err
	}
	return it.got, truthful(it, said)
}

// truthful compares a package with the claims by which it was chosen.
func truthful(it *item, said source.Claims) error {
	m, where := it.got.Package.Manifest(), it.got.Source
	switch {
	case m.Name != it.name || m.Version != it.version.String():
		return lie(where, "it should be %s@%s, and is %s@%s", it.name, it.version, m.Name, m.Version)
	case !maps.Equal(said.Dependencies, m.Dependencies):
		return lie(where, "%s@%s needs %s according to its source, and %s according to its manifest", m.Name, m.Version, needing(said.Dependencies), needing(m.Dependencies))
	case !maps.Equal(said.Provides, m.Provides):
		return lie(where, "%s@%s provides %d interfaces according to its source; its manifest has %d, or other versions of them", m.Name, m.Version, len(said.Provides), len(m.Provides))
	case said.Digest != it.got.Package.Digest():
		return lie(where, "%s@%s has the digest %s according to its source, and in fact %s", m.Name, m.Version, said.Digest, it.got.Package.Digest())
	case said.Artifact != "" && said.Artifact != it.got.Artifact:
		return lie(where, "%s@%s was the artifact %s a moment ago, and is %s", m.Name, m.Version, said.Artifact, it.got.Artifact)
	}
	return nil
}

func lie(where, format string, args ...any) error {
	return fault.Errorf(fault.KindVerification, "%s: %w: %s", where, ErrLie, fmt.Sprintf(format, args...)).
		WithHint("tell whoever runs that server, or use another source")
}

func needing(needs map[string]manifests.Dependency) string {
	if len(needs) == 0 {
		return "nothing"
	}
	var texts []string
	for _, name := range slices.Sorted(maps.Keys(needs)) {
		texts = append(texts, name+" "+needs[name].Version)
	}
	return strings.Join(texts, ", ")
}

// Offers returns who provides an interface: of what is installed and at hand, or
// else of what the configured registries list. Of those, the newest versions of
// each skill are asked, and a bounded number of skills.
func (c *Catalog) Offers(ctx context.Context, name string) ([]resolve.Offer, error) {
	if offers, ok := c.offers[name]; ok {
		return offers, nil
	}
	offers, err := c.localOffers(ctx, name)
	if err == nil && (len(offers) == 0 || c.far) {
		var more []resolve.Offer
		if more, err = c.publishedOffers(ctx, name); err == nil {
			offers = append(offers, more...)
		}
	}
	if err != nil {
		return nil, err
	}
	c.offers[name] = offers
	return offers, nil
}

func (c *Catalog) localOffers(ctx context.Context, name string) ([]resolve.Offer, error) {
	names := map[string]bool{}
	for _, s := range c.skills {
		names[s.Name] = true
	}
	for _, got := range c.settings.Hand {
		names[got.Package.Manifest().Name] = true
	}
	var offers []resolve.Offer
	for _, skill := range slices.Sorted(maps.Keys(names)) {
		items, err := c.local(skill)
		if err != nil {
			return nil, err
		}
		more, err := c.offering(ctx, name, items)
		if err != nil {
			return nil, err
		}
		offers = append(offers, more...)
	}
	return offers, nil
}

// offering are the items that provide an interface.
func (c *Catalog) offering(ctx context.Context, name string, items []*item) ([]resolve.Offer, error) {
	var offers []resolve.Offer
	for _, it := range items {
		claims, err := c.claimsOf(ctx, it)
		if err != nil {
			return nil, err
		}
		if text, ok := claims.Provides[name]; ok {
			v, err := semver.ParseVersion(text)
			if err != nil {
				return nil, lie(it.name+"@"+it.version.String(), "it provides %s %q: %v", name, text, err)
			}
			offers = append(offers, resolve.Offer{Skill: it.name, Version: it.version, Interface: v})
		}
	}
	return offers, nil
}

// publishedOffers looks through the places a person named, and then through the
// registries. A registry that does not answer is an error only when nobody else
// has an offer: it may be the one that has.
func (c *Catalog) publishedOffers(ctx context.Context, name string) ([]resolve.Offer, error) {
	names := map[string]bool{}
	for _, from := range c.settings.From {
		more, err := namesIn(from)
		if err != nil {
			return nil, err
		}
		for _, n := range more {
			names[n] = true
		}
	}
	found, absent, err := c.fetcher.Search(ctx, "", c.settings.Options)
	if err != nil && !errors.Is(err, source.ErrNoRegistry) {
		return nil, err
	}
	for _, f := range found {
		names[f.Name] = true
	}
	var offers []resolve.Offer
	for i, skill := range slices.Sorted(maps.Keys(names)) {
		if i == maxProviders {
			c.log.Warn("not all skills were searched for one that provides an interface", "interface", name, "looked at", maxProviders, "of", len(names))
			break
		}
		items, err := c.itemsOf(ctx, skill)
		if err != nil {
			return nil, err
		}
		more, err := c.offering(ctx, name, newest(items, maxOffering))
		if err != nil {
			return nil, err
		}
		offers = append(offers, more...)
	}
	if len(offers) == 0 && len(absent) > 0 {
		return nil, fault.Errorf(fault.KindNotFound, "look for who provides %s: registry %s: %s", name, absent[0].Registry, absent[0].Reason).
			WithHint("%s shows what the registries have; name a skill that provides it together with the one that needs it", fault.Search(""))
	}
	return offers, nil
}

// newest are the newest n of items.
func newest(items []*item, n int) []*item {
	items = slices.SortedFunc(slices.Values(items), func(a, b *item) int { return b.version.Compare(a.version) })
	return items[:min(n, len(items))]
}

// namesIn are the names of the skills that a directory, or a directory of layouts,
// seems to have.
func namesIn(place source.Ref) ([]string, error) {
	if place.Kind != source.KindDirectory && place.Kind != source.KindLayout {
		return nil, nil
	}
	entries, err := os.ReadDir(place.Path)
	if err != nil {
		return nil, cmp.Or(err, errors.New("it cannot be listed"))
	}
	names := map[string]bool{}
	for _, e := range entries {
		name, isFile := strings.CutSuffix(e.Name(), bundle.Extension)
		if place.Kind == source.KindLayout {
			isFile, name = e.IsDir(), e.Name()
		} else if i := strings.LastIndex(name, "-"); isFile && i > 0 {
			name = nameBefore(name)
		}
		if r, err := manifests.ParseRef(name); isFile && err == nil && r.Name == name {
			names[name] = true
		}
	}
	return slices.Collect(maps.Keys(names)), nil
}

// nameBefore is the name in front of the version in the name of a file.
func nameBefore(file string) string {
	for i, r := range file {
		if r != '-' {
			continue
		}
		if _, err := semver.ParseVersion(file[i+1:]); err == nil {
			return file[:i]
		}
	}
	return ""
}
