package resolve_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/skillet-run/skillet/host/fetch/resolve"
	"github.com/skillet-run/skillet/manifests/semver"
)

// A world is a source in memory.
type world struct {
	skills map[string]map[semver.Version]skill
	asked  map[string]int // how often each question was asked
}

type skill struct {
	needs    []resolve.Dependency
	provides map[string]semver.Version
}

func newWorld() *world {
	return &world{skills: map[string]map[semver.Version]skill{}, asked: map[string]int{}}
}

func (w *world) Versions(ctx context.Context, name string) (all []semver.Version, _ error) {
	w.asked["versions of "+name]++
	for v := range w.skills[name] {
		all = append(all, v)
	}
	return all, ctx.Err()
}

func (w *world) Package(_ context.Context, name string, v semver.Version) (resolve.Package, error) {
	w.asked[fmt.Sprintf("package %s %v", name, v)]++
	s, ok := w.skills[name][v]
	if !ok {
		return resolve.Package{}, fmt.Errorf("%s %v is not published", name, v)
	}
	return resolve.Package{Dependencies: s.needs}, nil
}

func (w *world) Offers(_ context.Context, name string) (all []resolve.Offer, _ error) {
	w.asked["offers of "+name]++
	for skill, versions := range w.skills {
		for v, s := range versions {
			if i, ok := s.provides[name]; ok {
				all = append(all, resolve.Offer{Skill: skill, Version: v, Interface: i})
			}
		}
	}
	return all, nil
}

// publish adds "name version" with its needs, each "name constraint" with
// perhaps "optional", "isolated" or "prereleases" in front, or "provides name
// version".
func (w *world) publish(what string, needs ...string) {
	name, version, _ := strings.Cut(what, " ")
	s := skill{provides: map[string]semver.Version{}}
	for _, n := range needs {
		if offer, ok := strings.CutPrefix(n, "provides "); ok {
			i, v, _ := strings.Cut(offer, " ")
			s.provides[i] = semver.MustParseVersion(v)
			continue
		}
		s.needs = append(s.needs, dependency(n))
	}
	if w.skills[name] == nil {
		w.skills[name] = map[semver.Version]skill{}
	}
	w.skills[name][semver.MustParseVersion(version)] = s
}

func dependency(text string) (d resolve.Dependency) {
	text, d.Optional = strings.CutPrefix(text, "optional ")
	text, d.Isolated = strings.CutPrefix(text, "isolated ")
	text, prereleases := strings.CutPrefix(text, "prereleases ")
	name, constraint, _ := strings.Cut(text, " ")
	d.Name, d.Range = name, semver.MustParseRange(constraint)
	if prereleases {
		d.Range = d.Range.WithPrereleases()
	}
	return d
}

func dependencies(texts ...string) (all []resolve.Dependency) {
	for _, t := range texts {
		all = append(all, dependency(t))
	}
	return all
}

// A shape says how large a random world is.
type shape struct{ names, interfaces, versions, needs int }

// randomWorld makes a world with skills p0, p1, … and interfaces i0, i1, … .
func randomWorld(r *rand.Rand, size shape) *world {
	w := newWorld()
	for n := range size.names {
		for range 1 + r.IntN(size.versions) {
			w.publish(fmt.Sprintf("p%d %s", n, randomVersion(r)), randomNeeds(r, size, n)...)
		}
	}
	return w
}

func randomVersion(r *rand.Rand) string {
	v := fmt.Sprintf("%d.%d.%d", r.IntN(3), r.IntN(3), r.IntN(2))
	if r.IntN(8) == 0 {
		v += []string{"-0", "-alpha", "-rc.1"}[r.IntN(3)]
	}
	if r.IntN(20) == 0 {
		v += []string{"+a", "+b"}[r.IntN(2)]
	}
	return v
}

func randomNeeds(r *rand.Rand, size shape, n int) (needs []string) {
	seen := map[string]bool{}
	for range r.IntN(size.needs + 1) {
		name := fmt.Sprintf("p%d", r.IntN(size.names))
		switch r.IntN(24) {
		case 0:
			name = "nobody"
		case 1, 2, 3, 4, 5:
			name = fmt.Sprintf("i%d", r.IntN(size.interfaces))
		}
		if seen[name] {
			continue
		}
		seen[name] = true
		needs = append(needs, randomKind(r)+name+" "+randomRange(r))
	}
	if r.IntN(3) == 0 {
		needs = append(needs, fmt.Sprintf("provides i%d %s", r.IntN(size.interfaces), randomVersion(r)))
	}
	return needs
}

func randomKind(r *rand.Rand) string {
	kind := ""
	if r.IntN(6) == 0 {
		kind += "optional "
	}
	if r.IntN(8) == 0 {
		kind += "isolated "
	}
	if r.IntN(12) == 0 {
		kind += "prereleases "
	}
	return kind
}

func randomRange(r *rand.Rand) string {
	v, w := randomVersion(r), randomVersion(r)
	if r.IntN(3) == 0 {
		return "*"
	}
	return []string{"*", "^" + v, "^" + v, "~" + v, ">=" + v, "<" + v, "<=" + v + " || " + w, ">=" + v + " || " + w, v[:1] + ".x", "<" + v + " || >" + v}[r.IntN(10)]
}

// randomRequest asks for one to three skills, now and then with something to
// prefer.
func randomRequest(r *rand.Rand, w *world, size shape) resolve.Request {
	var req resolve.Request
	for n := range 1 + r.IntN(3) {
		kind := ""
		if n > 0 {
			kind = randomKind(r)
		}
		req.Roots = append(req.Roots, dependency(fmt.Sprintf("%sp%d %s", kind, r.IntN(size.names), randomRange(r))))
	}
	if r.IntN(3) == 0 {
		req.Prefer = randomGraph(r, w)
	}
	req.OmitOptional = r.IntN(10) == 0
	return req
}

// randomGraph has some published version of each skill.
func randomGraph(r *rand.Rand, w *world) *resolve.Graph {
	g := &resolve.Graph{}
	for name, versions := range w.skills {
		var all []semver.Version
		for v := range versions {
			all = append(all, v)
		}
		slices.SortFunc(all, semver.Version.CompareBuild)
		g.Nodes = append(g.Nodes, resolve.Node{Name: name, Version: all[r.IntN(len(all))]})
	}
	return g
}
