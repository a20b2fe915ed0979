package resolve_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/skillet-run/skillet/host/fetch/resolve"
	"github.com/skillet-run/skillet/manifests/semver"
)

func TestAsksLazily(t *testing.T) {
	t.Parallel()
	w := newWorld()
	for _, line := range []string{"csv 1.0.0: text ^1", "csv 2.0.0: text ^1", "text 1.0.0", "text 1.1.0: provides rows 1.0.0", "html 1.0.0: text ^1"} {
		publishLine(w, line)
	}
	if _, err := resolve.Resolve(t.Context(), w, resolve.Request{Roots: dependencies("csv ^2")}); err != nil {
		t.Fatal(err)
	}
	want := map[string]int{"versions of csv": 1, "package csv 2.0.0": 1, "versions of text": 1, "package text 1.1.0": 1}
	if !reflect.DeepEqual(w.asked, want) {
		t.Errorf("asked %v, want %v", w.asked, want)
	}
}

// A stumbling source fails at the nth question.
type stumbling struct {
	*world
	questions, n int
	err          error
}

func (s *stumbling) stumble() error {
	if s.questions++; s.questions == s.n {
		return s.err
	}
	return nil
}

func (s *stumbling) Versions(ctx context.Context, name string) ([]semver.Version, error) {
	if err := s.stumble(); err != nil {
		return nil, err
	}
	return s.world.Versions(ctx, name)
}

func (s *stumbling) Package(ctx context.Context, name string, v semver.Version) (resolve.Package, error) {
	if err := s.stumble(); err != nil {
		return resolve.Package{}, err
	}
	return s.world.Package(ctx, name, v)
}

func (s *stumbling) Offers(ctx context.Context, name string) ([]resolve.Offer, error) {
	if err := s.stumble(); err != nil {
		return nil, err
	}
	return s.world.Offers(ctx, name)
}

func TestSourceFails(t *testing.T) {
	t.Parallel()
	down := errors.New("registry is down")
	for n, want := range []string{"versions of csv", "dependencies of csv 1.0.0", "versions of rows", "providers of rows", "versions of table", "dependencies of table 1.0.0"} {
		w := newWorld()
		publishLine(w, "csv 1.0.0: rows *")
		publishLine(w, "table 1.0.0: provides rows 1.0.0")
		_, err := resolve.Resolve(t.Context(), &stumbling{world: w, n: n + 1, err: down}, resolve.Request{Roots: dependencies("csv *")})
		if !errors.Is(err, down) || !strings.Contains(err.Error(), "resolve dependencies: "+want+": ") {
			t.Errorf("question %d: %v, want %q in it", n+1, err, want)
		}
	}
}

func TestCancelled(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	w := newWorld()
	publishLine(w, "csv 1.0.0")
	if _, err := resolve.Resolve(ctx, w, resolve.Request{Roots: dependencies("csv *")}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// An endless source has a skill for every name, which needs the next.
type endless struct{ world }

func (*endless) Versions(context.Context, string) ([]semver.Version, error) {
	return []semver.Version{{}}, nil
}

func (*endless) Package(_ context.Context, name string, _ semver.Version) (resolve.Package, error) {
	return resolve.Package{Dependencies: dependencies(name + "x *")}, nil
}

func TestGivesUp(t *testing.T) {
	t.Parallel()
	_, err := resolve.Resolve(t.Context(), &endless{}, resolve.Request{Roots: dependencies("a *"), MaxSteps: 500})
	if !errors.Is(err, resolve.ErrTooHard) || errors.Is(err, resolve.ErrConflict) || !strings.Contains(err.Error(), "gave up after 500 steps") {
		t.Error(err)
	}
}

// A flood publishes too much: versions of one name, or offers of all others.
type flood struct{ world }

func (*flood) Versions(_ context.Context, name string) ([]semver.Version, error) {
	if name != "versions" {
		return nil, nil
	}
	return make([]semver.Version, resolve.MaxPublished+1), nil
}

func (*flood) Offers(context.Context, string) ([]resolve.Offer, error) {
	return make([]resolve.Offer, resolve.MaxPublished+1), nil
}

func TestTooMuchPublished(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{"versions": "versions of versions: gave up: there are 20001", "other": "providers of other: gave up: there are 20001"} {
		_, err := resolve.Resolve(t.Context(), &flood{}, resolve.Request{Roots: dependencies(name + " *")})
		if !errors.Is(err, resolve.ErrTooHard) || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q in it", err, want)
		}
	}
}

// pigeons need one hole each, and every hole takes one: a puzzle that is hard for
// whatever learns from conflicts. There is one pigeon too many.
func pigeons(holes int) (w *world, roots []resolve.Dependency) {
	w = newWorld()
	for p := range holes + 1 {
		for h := range holes {
			w.publish(fmt.Sprintf("pigeon%d %d.0.0", p, h), fmt.Sprintf("hole%d %d.0.0", h, p))
			w.publish(fmt.Sprintf("hole%d %d.0.0", h, p))
		}
		roots = append(roots, dependency(fmt.Sprintf("pigeon%d *", p)))
	}
	return w, roots
}

func TestPigeons(t *testing.T) {
	t.Parallel()
	w, roots := pigeons(5)
	_, err := resolve.Resolve(t.Context(), w, resolve.Request{Roots: roots})
	var conflict *resolve.Conflict
	if !errors.As(err, &conflict) || len(conflict.Lines) < 60 {
		t.Fatal(err)
	}
	if text := err.Error(); strings.Count(text, "\n") > 62 || !strings.Contains(text, "steps are left out") {
		t.Errorf("the text is not cut:\n%s", text)
	}
	if _, err := resolve.Resolve(t.Context(), w, resolve.Request{Roots: roots, MaxSteps: 50}); !errors.Is(err, resolve.ErrTooHard) {
		t.Error(err)
	}
}

// TestSameAnswer demands that an answer does not depend on the order of anything.
func TestSameAnswer(t *testing.T) {
	t.Parallel()
	for seed := range uint64(50) {
		var first string
		for range 4 { // maps have another order each time
			r := rand.New(rand.NewPCG(seed, 9))
			size := shape{8, 2, 4, 3}
			w := randomWorld(r, size)
			req := randomRequest(r, w, size)
			req.Prefer = nil
			g, err := resolve.Resolve(t.Context(), w, req)
			got := fmt.Sprint(err)
			if err == nil {
				got = fmt.Sprint(nodes(g), g.Roots, g.Omitted)
			}
			if first == "" {
				first = got
			}
			if got != first {
				t.Fatalf("seed %d:\n%s\n%s", seed, first, got)
			}
		}
	}
}

func TestPreferences(t *testing.T) {
	t.Parallel()
	w := newWorld()
	for _, line := range []string{
		"csv 1.0.0: text ^1, rows *", "csv 1.1.0: text ^1, rows *", "text 1.0.0", "text 1.1.0",
		"array 1.0.0: provides rows 1.0.0", "list 1.0.0: provides rows 1.0.0", "list 1.1.0: provides rows 1.0.0",
	} {
		publishLine(w, line)
	}
	before := ask(t, w, resolve.Request{Roots: dependencies("csv 1.0.0", "text 1.0.0", "list 1.0.0")})
	for _, c := range []struct {
		req  resolve.Request
		want string
	}{
		{resolve.Request{}, "array 1.0.0, csv 1.1.0, text 1.1.0"},
		{resolve.Request{Prefer: before}, "csv 1.0.0, list 1.0.0, text 1.0.0"},
		{resolve.Request{Prefer: before, Renew: []string{"csv"}}, "csv 1.1.0, list 1.0.0, text 1.0.0"},
		{resolve.Request{Prefer: before, Renew: []string{"text", "list"}}, "array 1.0.0, csv 1.0.0, text 1.1.0"},
		{resolve.Request{Prefer: before, RenewAll: true}, "array 1.0.0, csv 1.1.0, text 1.1.0"},
	} {
		c.req.Roots = dependencies("csv *")
		got := strings.ReplaceAll(strings.Join(nodes(ask(t, w, c.req)), ", "), "/", "")
		if got != c.want {
			t.Errorf("renewing %v: got %s, want %s", c.req.Renew, got, c.want)
		}
	}
}

func ask(t *testing.T, w *world, req resolve.Request) *resolve.Graph {
	t.Helper()
	g, err := resolve.Resolve(t.Context(), w, req)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func TestWhy(t *testing.T) {
	t.Parallel()
	w := newWorld()
	for _, line := range []string{
		"app 1.0.0: csv *, html *, isolated text ^1", "csv 1.0.0: text ^2", "html 1.0.0: text *, rows *", "text 1.0.0", "text 2.0.0",
		"list 1.0.0: text *, provides rows 1.0.0",
	} {
		publishLine(w, line)
	}
	g := ask(t, w, resolve.Request{Roots: dependencies("app *", "text *")})
	for name, want := range map[string][]string{
		"text": {"text 2.0.0", "app 1.0.0 > text 1.0.0 alone", "app 1.0.0 > csv 1.0.0 > text 2.0.0", "app 1.0.0 > html 1.0.0 > text 2.0.0", "app 1.0.0 > html 1.0.0 > list 1.0.0 as rows > text 2.0.0"},
		"rows": {"app 1.0.0 > html 1.0.0 > list 1.0.0 as rows"},
		"list": {"app 1.0.0 > html 1.0.0 > list 1.0.0 as rows"},
		"app":  {"app 1.0.0"},
		"none": nil,
	} {
		if got := pathTexts(g.Why(name)); !slices.Equal(got, want) {
			t.Errorf("%s:\n got %q\nwant %q", name, got, want)
		}
	}
}

func pathTexts(paths []resolve.Path) (all []string) {
	for _, p := range paths {
		var steps []string
		for _, s := range p {
			text := s.Node.Name + " " + s.Node.Version.String()
			if s.Interface != nil {
				text += " as " + s.Name
			}
			if s.Isolated {
				text += " alone"
			}
			steps = append(steps, text)
		}
		all = append(all, strings.Join(steps, " > "))
	}
	return all
}

func TestOutdated(t *testing.T) {
	t.Parallel()
	w := newWorld()
	for _, line := range []string{
		"csv 1.0.0: text ^1, extra *", "csv 1.1.0: text ^1", "text 1.0.0", "text 1.2.0", "text 2.0.0", "text 3.0.0-rc.1", "extra 1.0.0",
		"pre 1.0.0-alpha", "pre 1.0.0-beta", "pre 0.9.0", "fine 1.0.0",
	} {
		publishLine(w, line)
	}
	roots := dependencies("csv *", "pre >=1.0.0-0", "fine *")
	before := ask(t, w, resolve.Request{Roots: append(dependencies("csv 1.0.0", "text 1.0.0", "pre 1.0.0-alpha"), roots...)})
	fresh := ask(t, w, resolve.Request{Roots: roots, Prefer: before, RenewAll: true})
	published := map[string][]semver.Version{}
	for name := range w.skills {
		published[name], _ = w.Versions(t.Context(), name)
	}
	var got []string
	for _, u := range resolve.Outdated(before, fresh, published) {
		got = append(got, fmt.Sprintf("%s %v %v %v %v", u.Name, u.Current, u.Wanted, u.Latest, u.Gone))
	}
	want := []string{
		"csv 1.0.0 1.1.0 1.1.0 false", "extra 1.0.0 1.0.0 1.0.0 true", "pre 1.0.0-alpha 1.0.0-beta 1.0.0-beta false",
		"text 1.0.0 1.2.0 2.0.0 false",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// bigWorld has 500 skills with ten versions each. The newer half of their
// versions need newer versions of others, so that the newest often do not go
// together.
func bigWorld(conflicts bool) *world {
	r := rand.New(rand.NewPCG(1, 2))
	w := newWorld()
	const names = 500
	for n := range names {
		for v := range 10 {
			var needs []string
			for k := range 4 {
				other := n + 1 + (k*k*17+n%7)%60
				if other >= names {
					continue
				}
				constraint := fmt.Sprintf("^%d.0.0", v/5)
				if conflicts && r.IntN(12) == 0 {
					constraint = fmt.Sprintf("%d.%d.x", v/5, r.IntN(5))
				}
				needs = append(needs, fmt.Sprintf("p%d %s", other, constraint))
			}
			w.publish(fmt.Sprintf("p%d %d.%d.0", n, v/5, v%5), needs...)
		}
	}
	return w
}

func benchmark(b *testing.B, w *world, roots ...string) {
	req := resolve.Request{Roots: dependencies(roots...)}
	g, err := resolve.Resolve(b.Context(), w, req)
	for b.Loop() {
		_, _ = resolve.Resolve(b.Context(), w, req)
	}
	if err != nil {
		b.ReportMetric(float64(strings.Count(err.Error(), "\n")), "lines")
		return
	}
	b.ReportMetric(float64(len(g.Nodes)), "skills")
}

func BenchmarkResolve500(b *testing.B) { benchmark(b, bigWorld(false), "p0 *", "p1 *", "p2 *") }

func BenchmarkResolve500Conflicts(b *testing.B) {
	benchmark(b, bigWorld(true), "p0 *", "p1 *", "p2 *")
}

func BenchmarkResolve500All(b *testing.B) {
	var roots []string
	for n := range 500 {
		roots = append(roots, fmt.Sprintf("p%d *", n))
	}
	benchmark(b, bigWorld(false), roots...)
}
