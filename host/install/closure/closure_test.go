package closure

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/skillet-run/skillet/host/base/fault"

	"github.com/hashicorp/go-hclog"

	"github.com/skillet-run/skillet/host/base/store"
	"github.com/skillet-run/skillet/host/fetch/resolve"
	"github.com/skillet-run/skillet/host/fetch/source"
	"github.com/skillet-run/skillet/host/record/ledger"
	"github.com/skillet-run/skillet/host/record/registry"
	"github.com/skillet-run/skillet/manifests"
	"github.com/skillet-run/skillet/manifests/bundle"
	"github.com/skillet-run/skillet/manifests/lockfile"
	"github.com/skillet-run/skillet/manifests/semver"
)

// needs are dependencies as the tests write them: "text ^1, cache ^1 optional".
func needs(text string) map[string]manifests.Dependency {
	all := map[string]manifests.Dependency{}
	for part := range strings.SplitSeq(text, ",") {
		words := strings.Fields(part)
		if len(words) == 0 {
			continue
		}
		d := manifests.Dependency{Version: words[1]}
		d.Optional, d.Isolated = slices.Contains(words, "optional"), slices.Contains(words, "isolated")
		all[words[0]] = d
	}
	return all
}

// pack makes a package; provides is written like "rows 1.0.0".
func pack(t testing.TB, name, version, dependencies, provides string) *bundle.Package {
	t.Helper()
	m := map[string]any{
		"name": name, "version": version, "description": "d", "type": "code_inline", "command": "main.wasm",
		"tools": []map[string]string{{"name": "run"}}, "dependencies": needs(dependencies),
	}
	if words := strings.Fields(provides); len(words) == 2 {
		m["provides"] = map[string]string{words[0]: words[1]}
	}
	b, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	p, err := bundle.FromFiles(map[string][]byte{"skill.json": b, "main.wasm": []byte("\x00asm\x01\x00\x00\x00")})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// A home is a registry that plans are carried out in.
type home struct {
	t        testing.TB
	kv       store.KV
	registry *registry.Registry
	fetcher  *source.Fetcher
	seq      uint64
}

func newHome(t testing.TB) *home {
	s := store.Memory()
	return &home{t: t, kv: s.KV(), registry: registry.New(s.KV(), s.Blobs()), fetcher: source.New(hclog.NewNullLogger(), nil, source.Settings{})}
}

func (h *home) apply(c ledger.Change, err error) {
	h.t.Helper()
	if err != nil {
		h.t.Fatal(err)
	}
	h.seq++
	if err := registry.Projection().Apply(h.t.Context(), h.kv, ledger.Stamp{Seq: h.seq, Time: time.Unix(int64(h.seq), 0), Actor: "human:ada"}, c); err != nil {
		h.t.Fatal(err)
	}
}

// carryOut does what a plan says.
func (h *home) carryOut(p *Plan) {
	h.t.Helper()
	for _, s := range p.Steps {
		if err := h.registry.Keep(h.t.Context(), s.Got.Package); err != nil {
			h.t.Fatal(err)
		}
		h.apply(registry.Provenance{
			Source: s.Got.Source, Origin: registry.OriginUser, Artifact: s.Got.Artifact,
			Dependencies: s.Dependencies, Needed: s.Needed, Asked: s.Asked, Beside: s.Beside,
		}.Installed(s.Got.Package))
	}
	for _, l := range p.Links {
		h.apply(registry.Linked(l))
	}
	for _, s := range p.Activate {
		h.apply(registry.Activated(s))
	}
	for _, a := range p.Asked {
		h.apply(registry.AskedFor(a.Skill, a.Asked))
	}
}

func (h *home) catalog(s Settings) *Catalog {
	h.t.Helper()
	c, err := NewCatalog(h.t.Context(), hclog.NewNullLogger(), h.registry, h.fetcher, s)
	if err != nil {
		h.t.Fatal(err)
	}
	return c
}

// lock is the home as a lock, and proves that it is one.
func (h *home) lock() (*lockfile.Lock, string) {
	h.t.Helper()
	now, err := h.catalog(Settings{}).Home(h.t.Context())
	if err != nil {
		h.t.Fatal(err)
	}
	l, err := now.Lock()
	if err != nil {
		h.t.Fatal(err)
	}
	return l, h.encode(l)
}

func (h *home) encode(l *lockfile.Lock) string {
	h.t.Helper()
	b, err := l.Encode()
	if err != nil {
		h.t.Fatal(err)
	}
	return string(b)
}

// hand has packages at hand.
func hand(all ...*bundle.Package) Settings {
	var s Settings
	for _, p := range all {
		s.Hand = append(s.Hand, &source.Fetched{Package: p, Kind: source.KindFile, Source: "/at/hand/" + p.FileName(), Version: p.Manifest().Version})
	}
	return s
}

func (h *home) ask(s Settings, q Question) (*Plan, error) {
	h.t.Helper()
	return h.catalog(s).Plan(h.t.Context(), q)
}

func (h *home) install(s Settings, w ...Requirement) *Plan {
	h.t.Helper()
	p, err := h.ask(s, Question{Requirements: w})
	if err != nil {
		h.t.Fatal(err)
	}
	h.carryOut(p)
	return p
}

// installed are the versions in the home, with a star for active ones and a plus
// for those that nobody asked for.
func (h *home) installed() string {
	h.t.Helper()
	all, err := h.registry.List(h.t.Context())
	if err != nil {
		h.t.Fatal(err)
	}
	var texts []string
	for _, s := range all {
		text := s.Ref()
		if s.Active {
			text += "*"
		}
		if s.Needed {
			text += "+"
		}
		texts = append(texts, text)
	}
	return strings.Join(texts, " ")
}

func (h *home) want(installed string) {
	h.t.Helper()
	if got := h.installed(); got != installed {
		h.t.Errorf("installed: %s\nwant:      %s", got, installed)
	}
}

// What is needed comes along, what is there is used again, and nothing moves
// without need; when it has to, who is there already follows.
func TestClosureGrows(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	all := hand(
		pack(t, "app", "1.0.0", "csv ^1, text >=1", ""), pack(t, "csv", "1.0.0", "text ^1.0", ""),
		pack(t, "text", "1.0.0", "", ""), pack(t, "text", "1.1.0", "", ""), pack(t, "text", "2.0.0", "", ""),
		pack(t, "late", "1.0.0", "text ^1.1", ""), pack(t, "early", "1.0.0", "text 1.0.0", ""),
	)
	h.install(hand(pack(t, "text", "1.0.0", "", ""), all.Hand[0].Package, all.Hand[1].Package), Requirement{Name: "app"})
	h.want("app@1.0.0* csv@1.0.0*+ text@1.0.0*+")

	p := h.install(all, Requirement{Name: "early"})
	if len(p.Steps) != 1 || len(p.Links) != 0 {
		t.Errorf("what fits is not left alone: %d steps, links %v", len(p.Steps), p.Links)
	}
	if _, err := h.ask(all, Question{Requirements: []Requirement{{Name: "late"}}}); !errors.Is(err, resolve.ErrConflict) || fault.AsError(err).Kind != fault.KindConflict {
		t.Errorf("early and late cannot be had together: %v", err)
	} else if !strings.Contains(err.Error(), "late") || !strings.Contains(err.Error(), "early") {
		t.Errorf("the derivation names not both: %v", err)
	}
	h.install(all, Requirement{Name: "late", Isolated: true})
	h.want("app@1.0.0* csv@1.0.0*+ early@1.0.0* late@1.0.0* text@1.1.0+ text@1.0.0*+")

	other := newHome(t)
	other.install(hand(pack(t, "text", "1.0.0", "", ""), all.Hand[0].Package, all.Hand[1].Package), Requirement{Name: "app"})
	p = other.install(all, Requirement{Name: "late"})
	if len(p.Links) != 2 || p.Links[0].Dependencies[0].Version != "1.1.0" && p.Links[1].Dependencies[0].Version != "1.1.0" {
		t.Errorf("app and csv do not follow: %v", p.Links)
	}
	other.want("app@1.0.0* csv@1.0.0*+ late@1.0.0* text@1.1.0*+ text@1.0.0+")
	other.lock()
}

// A call leads to the version of the caller's closure.
func TestTarget(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	all := hand(
		pack(t, "app", "1.0.0", "text ^1, table 1.0.0 isolated, rows ^1", ""), pack(t, "table", "1.0.0", "text ^2", ""),
		pack(t, "text", "1.0.0", "", ""), pack(t, "text", "2.0.0", "", ""), pack(t, "files", "3.0.0", "", "rows 1.2.0"),
	)
	h.install(all, Requirement{Name: "app"})
	h.want("app@1.0.0* files@3.0.0*+ table@1.0.0*+ text@2.0.0+ text@1.0.0*+")
	skills, err := h.registry.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	app, table := skills[0], skills[2]
	for _, c := range []struct {
		from     registry.Skill
		in, name string
		to, then string
	}{
		{app, "", "text", "text@1.0.0", ""},
		{app, "", "table", "table@1.0.0", "table@1.0.0"},
		{app, "", "rows", "files@3.0.0", ""},
		{table, "table@1.0.0", "text", "text@2.0.0", "table@1.0.0"},
	} {
		to, closure, ok := Target(c.from, c.in, c.name)
		if got := to.Chosen() + "@" + to.Version; !ok || got != c.to || closure != c.then {
			t.Errorf("%s reaches by %s %s in %q, %v; want %s in %q", c.from.Ref(), c.name, got, closure, ok, c.to, c.then)
		}
	}
	if _, _, ok := Target(app, "", "files"); ok {
		t.Error("a skill reaches by its closure what it does not need")
	}
	l, _ := h.lock()
	if changes, err := h.catalog(Settings{}).Check(t.Context(), l); err != nil || !changes.IsEmpty() {
		t.Errorf("the lock is not what its roots resolve to: %v\n%s", err, changes)
	}
}

// What is optional and cannot be had is left out, and remembered as that.
func TestOptional(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	all := hand(pack(t, "app", "1.0.0", "cache ^9 optional, text ^1", ""), pack(t, "text", "1.0.0", "", ""), pack(t, "cache", "1.0.0", "", ""))
	p := h.install(all, Requirement{Name: "app"})
	if len(p.Graph.Omitted) != 1 || !strings.Contains(p.Graph.Omitted[0].Reason, "cache") {
		t.Errorf("omitted: %v", p.Graph.Omitted)
	}
	h.want("app@1.0.0* text@1.0.0*+")
	skills, _ := h.registry.List(t.Context())
	if d, _, ok := Target(skills[0], "", "cache"); !ok || d.Digest != "" {
		t.Errorf("what was left out: %v, %v", d, ok)
	}
	h.lock()
}

// A place that serves something else than it says, or something else than a moment
// ago, is caught.
func TestLies(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write := func(name string, p *bundle.Package) {
		f, err := os.Create(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(p.WriteArchive(f), f.Close()); err != nil {
			t.Fatal(err)
		}
	}
	write("text-1.0.0.skill", pack(t, "csv", "1.0.0", "", ""))
	h := newHome(t)
	s := hand(pack(t, "app", "1.0.0", "text ^1", ""))
	s.From = []source.Ref{{Kind: source.KindDirectory, Path: dir}}
	_, err := h.ask(s, Question{Requirements: []Requirement{{Name: "app"}}})
	if !errors.Is(err, ErrLie) || fault.AsError(err).Kind != fault.KindVerification || !strings.Contains(err.Error(), "it should be text@1.0.0, and is csv@1.0.0") {
		t.Errorf("a file of another skill: %v", err)
	}

	write("text-1.0.0.skill", pack(t, "text", "1.0.0", "", ""))
	c := h.catalog(s).reaching(false)
	it, err := c.item(t.Context(), "text", semver.MustParseVersion("1.0.0"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.claimsOf(t.Context(), it); err != nil {
		t.Fatal(err)
	}
	write("text-1.0.0.skill", pack(t, "text", "1.0.0", "files ^1", ""))
	if _, err := c.fetch(t.Context(), it); !errors.Is(err, ErrLie) || !strings.Contains(err.Error(), "needs nothing according to its source, and files ^1 according to its manifest") {
		t.Errorf("a file that changed: %v", err)
	}
}

// An index that says of a version that it needs nothing is found out when the
// version is fetched, and both are named.
func TestLyingIndex(t *testing.T) {
	t.Parallel()
	dir, h := t.TempDir(), newHome(t)
	at := source.Ref{Kind: source.KindLayout, Path: filepath.Join(dir, "text")}
	parcel, err := h.fetcher.Parcel(pack(t, "text", "1.0.0", "secret ^9", ""), at)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := h.fetcher.Push(t.Context(), parcel, source.Pushing{}); err != nil {
		t.Fatal(err)
	}
	s := hand(pack(t, "app", "1.0.0", "text ^1", ""))
	s.From = []source.Ref{{Kind: source.KindLayout, Path: dir}}
	if _, err := h.ask(s, Question{Requirements: []Requirement{{Name: "app"}}}); !errors.Is(err, resolve.ErrConflict) {
		t.Fatalf("what it needs is not known: %v", err)
	}
	rewrite(t, at.Path, func(config map[string]any) { delete(config, "dependencies") })
	_, err = h.ask(s, Question{Requirements: []Requirement{{Name: "app"}}})
	if fault.AsError(err) == nil || fault.AsError(err).Kind != fault.KindVerification || !strings.Contains(err.Error(), `text@1.0.0 needs "secret ^9", and the config says nothing`) {
		t.Errorf("a lie: %v", err)
	}
	h.want("")
}

// rewrite changes the config of the only artifact of a layout, and all digests that
// follow from it.
func rewrite(t *testing.T, dir string, change func(config map[string]any)) {
	t.Helper()
	blob := func(d map[string]any) string {
		return filepath.Join(dir, "blobs", "sha256", strings.TrimPrefix(d["digest"].(string), "sha256:"))
	}
	read := func(path string) map[string]any {
		b, err := os.ReadFile(path)
		v := map[string]any{}
		if err := errors.Join(err, json.Unmarshal(b, &v)); err != nil {
			t.Fatal(err)
		}
		return v
	}
	write := func(to map[string]any, content map[string]any) {
		b, err := json.Marshal(content)
		to["digest"], to["size"] = string(manifests.DigestOf(b)), len(b)
		if err := errors.Join(err, os.WriteFile(blob(to), b, 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	index := read(filepath.Join(dir, "index.json"))
	first := index["manifests"].([]any)[0].(map[string]any)
	manifest := read(blob(first))
	config := manifest["config"].(map[string]any)
	content := read(blob(config))
	change(content)
	write(config, content)
	write(first, manifest)
	b, err := json.Marshal(index)
	if err := errors.Join(err, os.WriteFile(filepath.Join(dir, "index.json"), b, 0o644)); err != nil {
		t.Fatal(err)
	}
}

// The home is, after each plan, what the plan said that it would be, and its lock
// makes another home the same.
func TestRandomHomes(t *testing.T) {
	t.Parallel()
	rounds := 30
	if os.Getenv("SKILLET_PROVE") == "1" {
		rounds = 1000
	}
	installed, refused := 0, 0
	for seed := range rounds {
		r := rand.New(rand.NewPCG(uint64(seed), 4))
		h, all := newHome(t), universe(t, r)
		for range 6 {
			wished := all.Hand[r.IntN(len(all.Hand))].Package.Manifest()
			w := Requirement{Name: wished.Name, Isolated: r.IntN(6) == 0}
			if r.IntN(2) == 0 {
				w.Exactly = wished.Version
			}
			p, err := h.ask(all, Question{Requirements: []Requirement{w}})
			if errors.Is(err, resolve.ErrConflict) {
				refused++
				continue
			}
			if err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
			h.carryOut(p)
			installed++
			h.same(seed, p)
			h.another(seed, all)
		}
	}
	if installed < 2*rounds || refused == 0 {
		t.Errorf("%d plans were carried out and %d refused: that proves nothing", installed, refused)
	}
}

// universe has up to three versions of eight skills, that need what comes later.
func universe(t testing.TB, r *rand.Rand) Settings {
	var all []*bundle.Package
	for n := range 8 {
		for v := range 1 + r.IntN(3) {
			var deps []string
			for o := n + 1; o < 8; o++ {
				if r.IntN(3) > 0 {
					continue
				}
				d := fmt.Sprintf("s%d %s", o, []string{"*", "^1", "^2", "1.0.0", ">=1"}[r.IntN(5)])
				deps = append(deps, d+[]string{"", "", "", " optional", " isolated"}[r.IntN(5)])
			}
			all = append(all, pack(t, fmt.Sprintf("s%d", n), []string{"1.0.0", "1.1.0", "2.0.0"}[v], strings.Join(deps, ","), ""))
		}
	}
	return hand(all...)
}

// same demands that the home is the graph of a plan.
func (h *home) same(seed int, p *Plan) {
	h.t.Helper()
	l, got := h.lock()
	want := h.encode(p.Graph.Lock(func(name string, v semver.Version) lockfile.Artifact { return artifactOf(l, name, v.String()) }))
	if got != want {
		h.t.Fatalf("seed %d: the home is\n%s\nand was planned as\n%s", seed, got, want)
	}
}

// another makes another home from the lock.
func (h *home) another(seed int, all Settings) {
	h.t.Helper()
	l, want := h.lock()
	other := newHome(h.t)
	for range 2 { // the second time, there is nothing to do but what the first left
		s, err := other.catalog(all).Sync(h.t.Context(), l)
		if err != nil {
			h.t.Fatalf("seed %d: %v", seed, err)
		}
		p := &Plan{Links: s.Links, Activate: s.Activate, Asked: s.Asked}
		for _, m := range s.Missing {
			i := slices.IndexFunc(all.Hand, func(f *source.Fetched) bool { return f.Package.Digest() == m.Package.Digest })
			p.Steps = append(p.Steps, Step{Got: all.Hand[i], Dependencies: m.Dependencies, Needed: m.Needed, Asked: m.Asked, Beside: m.Beside})
		}
		other.carryOut(p)
		for _, name := range s.Needed {
			other.apply(registry.AskedFor(name, nil))
		}
	}
	if _, got := other.lock(); got != want {
		h.t.Fatalf("seed %d: synced:\n%s\nlocked:\n%s", seed, got, want)
	}
	s, err := other.catalog(all).Sync(h.t.Context(), l)
	if err != nil || !s.IsEmpty() || len(s.Extra) > 0 {
		h.t.Fatalf("seed %d: after a sync there is more to do: %+v, %v", seed, s, err)
	}
}

// What is pinned stays, whether somebody asked for it or not.
func TestPinned(t *testing.T) {
	t.Parallel()
	for _, asked := range []bool{true, false} {
		h := newHome(t)
		all := hand(pack(t, "app", "1.0.0", "text ^1", ""), pack(t, "text", "1.0.0", "", ""), pack(t, "text", "1.1.0", "", ""), pack(t, "late", "1.0.0", "text ^1.1", ""))
		if asked {
			h.install(all, Requirement{Name: "text", Exactly: "1.0.0"})
		}
		h.install(hand(all.Hand[0].Package, all.Hand[1].Package), Requirement{Name: "app"})
		h.apply(registry.PinnedAt("text", "it works"))
		_, err := h.ask(all, Question{Requirements: []Requirement{{Name: "late"}}})
		if !errors.Is(err, resolve.ErrConflict) || !strings.Contains(fault.AsError(err).Way().String(), "[unpin text]") {
			t.Errorf("asked for %v: %v", asked, err)
		}
		h.install(all, Requirement{Name: "late"}, Requirement{Name: "text", Exactly: "1.1.0"}) // unless somebody asks for another
		h.lock()
	}
}

// back makes a version the active one again.
func (h *home) back(name, version string) {
	h.t.Helper()
	s, err := h.registry.Lookup(h.t.Context(), manifests.Ref{Name: name, Version: version})
	if err != nil {
		h.t.Fatal(err)
	}
	h.apply(registry.RolledBack(s, false))
}

// What somebody went back from does not come again as what another skill needs, also
// when an old version of that was resolved to it; unless that is named.
func TestAgain(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	rep1, rep2 := pack(t, "rep", "1.0.0", "wc ^1", ""), pack(t, "rep", "2.0.0", "wc ^2", "")
	h.install(hand(rep1, pack(t, "wc", "1.0.0", "", "")), Requirement{Name: "rep"})
	h.install(hand(rep2, pack(t, "wc", "2.0.0", "", "")), Requirement{Name: "rep", Exactly: "2.0.0"})
	h.back("rep", "1.0.0")
	h.back("wc", "1.0.0")
	q := Question{Requirements: []Requirement{{Name: "rep", Exactly: "2.0.0"}}, Renew: []string{"rep"}}
	_, err := h.ask(Settings{}, q)
	if !errors.Is(err, resolve.ErrConflict) || !strings.Contains(fault.AsError(err).Way().String(), "[update rep to=2.0.0 again=wc]") {
		t.Errorf("got %v, %s", err, fault.AsError(err).Way().String())
	}
	q.Again = []string{"wc"}
	p, err := h.ask(Settings{}, q)
	if err != nil {
		t.Fatal(err)
	}
	h.carryOut(p)
	h.want("rep@2.0.0* rep@1.0.0 wc@2.0.0*+ wc@1.0.0+")
	for _, name := range []string{"wc", "none"} { // wc is not behind any more
		q.Again = []string{name}
		if _, err := h.ask(Settings{}, q); fault.AsError(err).Kind != fault.KindUsage {
			t.Errorf("%s again: %v", name, err)
		}
	}
}

// What a place publishes is remembered whole, also when some of it may not be chosen.
func TestPublishedIsKept(t *testing.T) {
	t.Parallel()
	h, dir := newHome(t), t.TempDir()
	one := pack(t, "text", "1.0.0", "", "")
	for _, p := range []*bundle.Package{one, pack(t, "text", "1.1.0", "", "")} {
		parcel, err := h.fetcher.Parcel(p, source.Ref{Kind: source.KindLayout, Path: filepath.Join(dir, "text")})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := h.fetcher.Push(t.Context(), parcel, source.Pushing{}); err != nil {
			t.Fatal(err)
		}
	}
	from := []source.Ref{{Kind: source.KindLayout, Path: dir}}
	h.install(Settings{From: from}, Requirement{Name: "text", Exactly: "1.0.0"})
	s, err := h.registry.Lookup(t.Context(), manifests.Ref{Name: "text"})
	if err != nil {
		t.Fatal(err)
	}
	h.apply(registry.Quarantined(s, "it leaks"))
	all := hand(pack(t, "app", "1.0.0", "text ^3", ""))
	all.From = from
	if _, err := h.ask(all, Question{Requirements: []Requirement{{Name: "app"}}}); !errors.Is(err, resolve.ErrConflict) {
		t.Errorf("got %v", err)
	}
}

// What is in quarantine is chosen neither where it is nor where it came from, however
// often that place is asked.
func TestQuarantinedIsNotChosen(t *testing.T) {
	t.Parallel()
	dir, h := t.TempDir(), newHome(t)
	text := pack(t, "text", "1.0.0", "", "")
	f, err := os.Create(filepath.Join(dir, text.FileName()))
	if err := errors.Join(err, text.WriteArchive(f), f.Close()); err != nil {
		t.Fatal(err)
	}
	h.install(hand(text), Requirement{Name: "text"})
	skills, err := h.registry.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	h.apply(registry.Quarantined(skills[0], "it leaks"))
	s := hand(pack(t, "app", "1.0.0", "text *", ""))
	s.From = []source.Ref{{Kind: source.KindDirectory, Path: dir}}
	if _, err := h.ask(s, Question{Requirements: []Requirement{{Name: "app"}}}); !errors.Is(err, resolve.ErrConflict) || !strings.Contains(fault.AsError(err).Way().String(), "text@1.0.0 is disabled: it is in quarantine: it leaks") {
		t.Errorf("%v", err)
	}
	later := pack(t, "text", "1.0.1", "", "")
	h.install(hand(s.Hand[0].Package, later), Requirement{Name: "app"})
	h.want("app@1.0.0* text@1.0.1* text@1.0.0")
}

// Dependents and leftovers are found over the whole closure.
func TestUnneeded(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	all := hand(pack(t, "app", "1.0.0", "csv ^1", ""), pack(t, "csv", "1.0.0", "text ^1", ""), pack(t, "text", "1.0.0", "", ""))
	h.install(all, Requirement{Name: "app"})
	skills, err := h.registry.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	names := func(all []registry.Skill) string {
		set := map[string]bool{}
		for _, s := range all {
			set[s.Name] = true
		}
		return strings.Join(slices.Sorted(maps.Keys(set)), " ")
	}
	if got := names(registry.Unneeded(skills)); got != "" {
		t.Errorf("unneeded: %s", got)
	}
	if got := names(registry.Unneeded(skills[1:])); got != "csv text" {
		t.Errorf("without app, unneeded: %s", got)
	}
	if got := names(registry.Dependents(skills, skills[2].Digest)); got != "csv" {
		t.Errorf("dependents of text: %s", got)
	}
}

// BenchmarkPlan plans an installation over 200 skills in layouts, of which most
// are needed.
func BenchmarkPlan(b *testing.B) {
	dir, h := b.TempDir(), newHome(b)
	const skills = 200
	for n := range skills {
		deps := ""
		for _, o := range []int{n + 1, n + 2, n + 7} {
			if o < skills {
				deps += fmt.Sprintf("s%d ^1,", o)
			}
		}
		p := pack(b, fmt.Sprintf("s%d", n), "1.0.0", deps, "")
		parcel, err := h.fetcher.Parcel(p, source.Ref{Kind: source.KindLayout, Path: filepath.Join(dir, p.Manifest().Name)})
		if err != nil {
			b.Fatal(err)
		}
		if _, err := h.fetcher.Push(b.Context(), parcel, source.Pushing{}); err != nil {
			b.Fatal(err)
		}
	}
	s := hand(pack(b, "app", "1.0.0", "s0 ^1", ""))
	s.From = []source.Ref{{Kind: source.KindLayout, Path: dir}}
	for b.Loop() {
		c := h.catalog(s)
		now, err := c.Home(b.Context())
		if err != nil {
			b.Fatal(err)
		}
		g, err := c.reaching(false).resolve(b.Context(), now, Question{Requirements: []Requirement{{Name: "app"}}})
		if err != nil || len(g.Nodes) != skills+1 {
			b.Fatal(err)
		}
	}
}
