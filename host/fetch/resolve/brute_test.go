package resolve_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/skillet-run/skillet/host/fetch/resolve"
	"github.com/skillet-run/skillet/manifests/semver"
)

// A brute tries everything in the order the package comment of resolve
// describes, and learns nothing from it.
type brute struct {
	w      *world
	prefer *resolve.Graph
	picks  []pick
	tries  int
}

type place struct{ closure, name string }

// A pick is what was chosen for a place: a version of the skill, or a version of
// the interface and its provider.
type pick struct {
	place
	version  semver.Version
	provider string
}

var errTooLarge = errors.New("too much to try")

const maxTries = 300_000

func (b *brute) at(p place) (pick, bool) {
	i := slices.IndexFunc(b.picks, func(q pick) bool { return q.place == p })
	if i < 0 {
		return pick{}, false
	}
	return b.picks[i], true
}

// target is where a dependency of something in a closure points.
func target(closure string, d resolve.Dependency) place {
	if d.Isolated {
		closure = resolve.ClosureOf(d)
	}
	return place{closure, d.Name}
}

// candidates are all that may be picked for a place, the first first.
func (b *brute) candidates(p place) (all []pick) {
	versions := b.w.skills[p.name]
	for v := range versions {
		all = append(all, pick{place: p, version: v})
	}
	if len(versions) == 0 {
		offers, _ := b.w.Offers(context.Background(), p.name)
		for _, o := range offers {
			c := pick{p, o.Interface, o.Skill}
			if !slices.Contains(all, c) {
				all = append(all, c)
			}
		}
	}
	slices.SortFunc(all, func(c, d pick) int {
		return cmp.Or(b.rank(c)-b.rank(d), d.version.CompareBuild(c.version), cmp.Compare(c.provider, d.provider))
	})
	if len(versions) == 0 {
		return all
	}
	// Of versions that differ in build metadata only, the last counts.
	return slices.DeleteFunc(all, func(c pick) bool {
		return slices.ContainsFunc(all, func(d pick) bool { return d.version.Compare(c.version) == 0 && d.version.CompareBuild(c.version) > 0 })
	})
}

func (b *brute) rank(c pick) int {
	if b.prefer != nil && c.provider == "" {
		for _, n := range b.prefer.Nodes {
			if n.Closure == c.closure && n.Name == c.name && n.Version == c.version {
				return 0
			}
		}
	}
	if _, ok := b.at(place{c.closure, c.provider}); ok && c.provider != "" {
		return 1
	}
	return 2
}

// needs are the dependencies of what was picked. An interface needs one of the
// versions of its provider that offer it, which no constraint can say.
func (b *brute) needs(p pick) []resolve.Dependency {
	needs := slices.Clone(b.w.skills[p.name][p.version].needs)
	if p.provider != "" {
		needs = []resolve.Dependency{{Name: p.provider}}
	}
	slices.SortStableFunc(needs, func(c, d resolve.Dependency) int { return strings.Compare(c.Name, d.Name) })
	return needs
}

// meets reports whether what was picked is what by needs.
func (b *brute) meets(by pick, d resolve.Dependency, got pick) bool {
	if by.provider == "" {
		return d.Range.Allows(got.version)
	}
	offered, ok := b.w.skills[got.name][got.version].provides[by.name]
	return ok && offered == by.version
}

// fits reports whether all that was picked goes together.
func (b *brute) fits(roots []resolve.Dependency) bool {
	ok := func(by pick, d resolve.Dependency) bool {
		got, picked := b.at(target(by.closure, d))
		return !picked || b.meets(by, d, got)
	}
	for _, d := range roots {
		if !ok(pick{}, d) {
			return false
		}
	}
	for _, p := range b.picks {
		for _, d := range b.needs(p) {
			if !ok(p, d) {
				return false
			}
		}
	}
	return true
}

// wanted are the places that are needed, in order.
func (b *brute) wanted(roots []resolve.Dependency, more []place) (all []place) {
	for _, d := range sorted(roots) {
		if !d.Optional {
			all = append(all, target("", d))
		}
	}
	all = append(all, more...)
	for _, p := range b.picks {
		for _, d := range b.needs(p) {
			if !d.Optional {
				all = append(all, target(p.closure, d))
			}
		}
	}
	return all
}

func sorted(all []resolve.Dependency) []resolve.Dependency {
	all = slices.Clone(all)
	slices.SortStableFunc(all, func(c, d resolve.Dependency) int { return strings.Compare(c.Name, d.Name) })
	return all
}

// search picks for everything that is wanted, if that can be.
func (b *brute) search(roots []resolve.Dependency, more []place) (bool, error) {
	if b.tries++; b.tries > maxTries {
		return false, errTooLarge
	}
	for _, p := range b.wanted(roots, more) {
		if _, ok := b.at(p); ok {
			continue
		}
		for _, c := range b.candidates(p) {
			b.picks = append(b.picks, c)
			if b.fits(roots) {
				if found, err := b.search(roots, more); found || err != nil {
					return found, err
				}
			}
			b.picks = b.picks[:len(b.picks)-1]
		}
		return false, nil
	}
	return true, nil
}

// solve answers a request.
func (b *brute) solve(req resolve.Request) (bool, error) {
	found, err := b.search(req.Roots, nil)
	if !found || err != nil || req.OmitOptional {
		return found, err
	}
	var more []place
	wish := func(by pick, d resolve.Dependency) error {
		p := target(by.closure, d)
		if _, ok := b.at(p); ok || !d.Optional {
			return nil
		}
		for _, c := range b.candidates(p) {
			b.picks = append(b.picks, c)
			if b.meets(by, d, c) && b.fits(req.Roots) {
				if found, err := b.search(req.Roots, append(slices.Clone(more), p)); found || err != nil {
					more = append(more, p)
					return err
				}
			}
			b.picks = b.picks[:len(b.picks)-1]
		}
		return nil
	}
	for _, d := range sorted(req.Roots) {
		if err := wish(pick{}, d); err != nil {
			return false, err
		}
	}
	for i := 0; i < len(b.picks); i++ {
		for _, d := range b.needs(b.picks[i]) {
			if err := wish(b.picks[i], d); err != nil {
				return false, err
			}
		}
	}
	return true, nil
}

// skills are the picks that are skills, as text.
func (b *brute) skills() (all []string) {
	for _, p := range b.picks {
		if p.provider == "" {
			all = append(all, fmt.Sprintf("%s/%s %v", p.closure, p.name, p.version))
		}
	}
	slices.Sort(all)
	return all
}

func nodes(g *resolve.Graph) (all []string) {
	for _, n := range g.Nodes {
		all = append(all, fmt.Sprintf("%s/%s %v", n.Closure, n.Name, n.Version))
	}
	slices.Sort(all)
	return all
}

// A tally counts what the worlds were like.
type tally struct{ solved, impossible, skipped, omitted, interfaces, isolated int }

func (c *tally) add(g *resolve.Graph) {
	c.solved++
	c.omitted += len(g.Omitted)
	c.isolated += len(g.Closures()) - 1
	for _, n := range g.Nodes {
		for _, e := range n.Edges {
			if e.Interface != nil {
				c.interfaces++
			}
		}
	}
}

// TestAgreesWithBruteForce demands the answer that trying everything finds first:
// the same versions, or none when there are none. SKILLET_PROVE makes it 20,000
// worlds.
func TestAgreesWithBruteForce(t *testing.T) {
	t.Parallel()
	worlds := 1000
	if os.Getenv("SKILLET_PROVE") != "" {
		worlds = 20_000
	}
	var c tally
	for seed := 0; c.solved+c.impossible < worlds; seed++ {
		agree(t, seed, &c)
	}
	t.Logf("proof: %d worlds solved like brute force, %d impossible, %d too large for it; in the answers %d interfaces, %d isolated closures, %d omitted",
		c.solved, c.impossible, c.skipped, c.interfaces, c.isolated, c.omitted)
	if min(c.solved, c.impossible) < worlds/10 || min(c.interfaces, c.isolated, c.omitted) < worlds/20 {
		t.Error("the worlds are too much alike")
	}
}

// agree compares the answers about one world.
func agree(t *testing.T, seed int, c *tally) {
	t.Helper()
	r := rand.New(rand.NewPCG(uint64(seed), 4))
	size := shape{names: 3 + r.IntN(8), interfaces: 1 + r.IntN(3), versions: 1 + r.IntN(6), needs: 3}
	w := randomWorld(r, size)
	req := randomRequest(r, w, size)
	b := &brute{w: w, prefer: req.Prefer}
	found, err := b.solve(req)
	if err != nil {
		c.skipped++
		return
	}
	g, err := resolve.Resolve(t.Context(), w, req)
	if !found {
		c.impossible++
		if !errors.Is(err, resolve.ErrConflict) {
			t.Fatalf("world %d: nothing fits, and got %v, error %v", seed, g, err)
		}
		return
	}
	if err != nil {
		t.Fatalf("world %d: %v\nbrute force found %v", seed, err, b.skills())
	}
	if got, want := nodes(g), b.skills(); !slices.Equal(got, want) {
		t.Fatalf("world %d: got %v, want %v", seed, got, want)
	}
	checkGraph(t, g)
	c.add(g)
}

// checkGraph demands that every edge of a graph is what it says.
func checkGraph(t *testing.T, g *resolve.Graph) {
	t.Helper()
	check := func(closure string, e resolve.Edge) {
		if e.To < 0 {
			if !e.Optional {
				t.Errorf("%s in %q leads nowhere", e.Name, closure)
			}
			return
		}
		to := g.Nodes[e.To]
		if e.Isolated {
			closure = resolve.ClosureOf(e.Dependency)
		}
		version := to.Version
		if e.Interface != nil {
			version = *e.Interface
		}
		if to.Closure != closure || e.Interface == nil && to.Name != e.Name || !e.Range.Allows(version) {
			t.Errorf("%s %v in %q is satisfied by %s %v in %q", e.Name, e.Range, closure, to.Name, version, to.Closure)
		}
	}
	for _, e := range g.Roots {
		check("", e)
	}
	for _, n := range g.Nodes {
		for _, e := range n.Edges {
			check(n.Closure, e)
		}
	}
}
