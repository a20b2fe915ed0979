package source

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/skillet-run/skillet/host/base/fault"

	"github.com/skillet-run/skillet/host/fetch/source/oci"
)

// Found is a skill that a registry has, or that comes with this program.
type Found struct {
	Name string `json:"name"`
	// Registry is the name of the registry in the settings; "builtin" with Builtin, which
	// says that the package is in the catalog of this program.
	Registry    string   `json:"registry"`
	Builtin     bool     `json:"builtin,omitempty"`
	Ref         string   `json:"ref"`     // of the newest version, by tag
	Version     string   `json:"version"` // the newest release, or prerelease if there is no other
	Description string   `json:"description,omitempty"`
	Versions    []string `json:"versions"` // the newest first
}

// An Absence is a registry that could not be searched, and why.
type Absence struct {
	Registry string `json:"registry"`
	Reason   string `json:"reason"`
}

// maxLooked is how many repositories of one registry are looked at.
const maxLooked = 500

// Search looks through the catalog of this program and the configured registries for skills whose name or
// description has text in it, whatever the case; the empty text is in all. Where
// a registry has no catalog, the names its settings list are looked for.
// Registries that do not answer are named beside what was found.
func (f *Fetcher) Search(ctx context.Context, text string, o Options) ([]Found, []Absence, error) {
	ctx, cancel := f.bounded(ctx)
	defer cancel()
	if !f.Searchable() {
		return nil, nil, fault.Errorf(fault.KindUsage, "search: %w", ErrNoRegistry).WithHint("list one under registries in config.yaml in the home: - {name: acme, url: oci://HOST/PREFIX}. This program has no catalog of its own: `make skills` builds one into it, and releases have one")
	}
	found, missing := append([]Found{}, f.searchBuiltin(strings.ToLower(text))...), []Absence{}
	for _, reg := range f.settings.Registries {
		some, err := f.searchIn(ctx, reg, strings.ToLower(text), o)
		if ctx.Err() != nil {
			return nil, nil, f.explain("search "+reg.URL, Ref{}, context.Cause(ctx))
		}
		if err != nil {
			missing = append(missing, Absence{reg.Name, err.Error()})
		}
		found = append(found, some...)
	}
	slices.SortFunc(found, func(a, b Found) int {
		return strings.Compare(a.Name+"\x00"+a.Registry, b.Name+"\x00"+b.Registry)
	})
	return found, missing, nil
}

// Searchable reports whether there is a place to search.
func (f *Fetcher) Searchable() bool {
	return len(f.settings.Registries)+len(f.settings.Catalog.Packages()) > 0
}

// Registries is how many registries a search looks through.
func (f *Fetcher) Registries() int { return len(f.settings.Registries) }

// searchIn looks through one registry, several repositories at once.
func (f *Fetcher) searchIn(ctx context.Context, reg Registry, text string, o Options) ([]Found, error) {
	names, err := f.namesIn(ctx, reg, o)
	if err != nil {
		return nil, err
	}
	var mu sync.Mutex
	var found []Found
	var failed []error
	queue := make(chan string)
	var workers sync.WaitGroup
	for range searchers {
		workers.Go(func() {
			for name := range queue {
				hit, ok, err := f.look(ctx, reg, name, text, o)
				mu.Lock()
				if ok {
					found = append(found, hit)
				}
				if err != nil {
					failed = append(failed, fmt.Errorf("%s: %w", name, err))
				}
				mu.Unlock()
			}
		})
	}
	for _, name := range names[:min(len(names), maxLooked)] {
		queue <- name
	}
	close(queue)
	workers.Wait()
	if len(names) > maxLooked {
		failed = append(failed, fmt.Errorf("it has %d repositories; the first %d were looked at", len(names), maxLooked))
	}
	if len(failed) > 0 { // one is enough to say that something is missing
		return found, failed[0]
	}
	return found, nil
}

// searchers is how many repositories are looked at at once.
const searchers = 4

// namesIn are the names of the skills a registry may have.
func (f *Fetcher) namesIn(ctx context.Context, reg Registry, o Options) ([]string, error) {
	host, prefix := split(reg.URL)
	all, err := f.connect(site{registry: reg, plain: o.plainly(reg)}, host).Repositories(ctx)
	var names []string
	for _, repo := range all {
		name, ok := strings.CutPrefix(repo, after(prefix, "/"))
		if prefix == "" {
			name, ok = repo, true
		}
		if r, err := Parse(name); ok && err == nil && r.Kind == KindName && r.Constraint == "" && f.serves(reg, name) {
			names = append(names, name)
		}
	}
	if err == nil {
		return names, nil
	}
	for _, n := range reg.Names {
		if !strings.ContainsAny(n, "*?[") {
			names = append(names, n)
		}
	}
	if len(names) == 0 {
		return nil, fmt.Errorf("it shows no catalog, and names in config.yaml lists no skill of it: %w", err)
	}
	return names, nil
}

// serves reports whether a short name means this registry.
func (f *Fetcher) serves(reg Registry, name string) bool {
	r, ok := f.registryFor(name)
	return ok && r.Name == reg.Name
}

// look looks at one skill: its description is asked for when its name does not
// have the text.
func (f *Fetcher) look(ctx context.Context, reg Registry, name, text string, o Options) (Found, bool, error) {
	host, prefix := split(reg.URL)
	s := site{registry: reg, host: host, repository: path.Join(prefix, name), plain: o.plainly(reg)}
	tags, err := f.tags(ctx, s)
	if err != nil {
		return Found{}, false, err
	}
	all := versions(tags)
	if len(all) == 0 {
		return Found{}, false, nil
	}
	v, err := newest(all, "")
	if err != nil {
		v = all[0]
	}
	var about oci.Summary
	_, err = f.each(ctx, s, func(repo *oci.Remote) (err error) {
		about, err = oci.Describe(ctx, repo, v.Tag)
		return err
	})
	if errors.Is(err, oci.ErrNotSkill) {
		return Found{}, false, nil
	}
	hit := Found{Name: name, Registry: reg.Name, Version: v.Version, Description: about.Description}
	hit.Ref = Ref{Kind: KindRegistry, Host: host, Repository: s.repository, Tag: v.Tag}.String()
	for _, v := range all {
		hit.Versions = append(hit.Versions, v.Version)
	}
	return hit, err == nil && (strings.Contains(name, text) || strings.Contains(strings.ToLower(about.Description), text)), err
}
