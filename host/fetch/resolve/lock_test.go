package resolve_test

import (
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/skillet-run/skillet/host/fetch/resolve"
	"github.com/skillet-run/skillet/manifests"
	"github.com/skillet-run/skillet/manifests/lockfile"
	"github.com/skillet-run/skillet/manifests/semver"
)

func artifact(name string, v semver.Version) lockfile.Artifact {
	return lockfile.Artifact{Digest: manifests.DigestOf([]byte(name + v.String())), Source: "registry.example/" + name}
}

// TestLocked demands that an answer can be locked, that the lock reads back as
// the answer, and that preferring it gives it again.
func TestLocked(t *testing.T) {
	t.Parallel()
	locked := 0
	for seed := range uint64(400) {
		r := rand.New(rand.NewPCG(seed, 6))
		size := shape{8, 2, 4, 3}
		w := randomWorld(r, size)
		req := randomRequest(r, w, size)
		g, err := resolve.Resolve(t.Context(), w, req)
		if err != nil {
			continue
		}
		b, err := g.Lock(artifact).Encode()
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		l, err := lockfile.Parse(b)
		if err != nil {
			t.Fatalf("seed %d: %v\n%s", seed, err, b)
		}
		again, err := resolve.FromLock(l)
		if err != nil {
			t.Fatalf("seed %d: %v\n%s", seed, err, b)
		}
		if !slices.Equal(nodes(again), nodes(g)) || !reflect.DeepEqual(outline(again.Tree()), outline(g.Tree())) {
			t.Fatalf("seed %d: %v reads back as %v", seed, nodes(g), nodes(again))
		}
		req.Prefer = again
		if kept := ask(t, w, req); !slices.Equal(nodes(kept), nodes(g)) {
			t.Fatalf("seed %d: %v was not kept: %v", seed, nodes(g), nodes(kept))
		}
		locked++
	}
	if locked < 50 {
		t.Errorf("only %d answers", locked)
	}
}

// outline is a tree in sorted lines, none of them twice.
func outline(branches []resolve.Branch) (all []string) {
	for _, b := range branches {
		line := b.Name + " " + b.Range.String() + " " + b.Node.Name + " " + b.Node.Version.String()
		all = append(all, line)
		for _, below := range outline(b.Branches) {
			all = append(all, line+" > "+below)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

func TestFromLockRefuses(t *testing.T) {
	t.Parallel()
	w := newWorld()
	publishLine(w, "csv 1.0.0: isolated text ^1")
	publishLine(w, "text 1.0.0")
	l := ask(t, w, resolve.Request{Roots: dependencies("csv *")}).Lock(artifact)
	l.Packages[0].Dependencies[0].Closure = "text@^9.0.0"
	if _, err := resolve.FromLock(l); err == nil || !strings.Contains(err.Error(), "the closure of text ^1 is text@^1.0.0, and the lock says text@^9.0.0") {
		t.Error(err)
	}
}

func TestPackageOf(t *testing.T) {
	t.Parallel()
	p, err := resolve.PackageOf(&manifests.Manifest{Dependencies: map[string]manifests.Dependency{"text": {Version: "^1", Optional: true, Isolated: true}}})
	if err != nil || !reflect.DeepEqual(p.Dependencies, dependencies("optional isolated text ^1")) {
		t.Error(p, err)
	}
	if _, err := resolve.PackageOf(&manifests.Manifest{Dependencies: map[string]manifests.Dependency{"text": {Version: "new"}}}); err == nil {
		t.Error("a constraint that is none was taken")
	}
}
