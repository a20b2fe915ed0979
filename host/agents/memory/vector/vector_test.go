package vector

import (
	"errors"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/viterin/vek/vek32"
)

// A cloud makes vectors like those of sentences: around centres, with fewer degrees
// of freedom than dimensions. latent of zero means as many as dimensions.
type cloud struct {
	r          *rand.Rand
	dimensions int
	centres    [][]float32
	spread     [][]float32
}

func newCloud(seed uint64, dimensions, centres, latent int) *cloud {
	c := &cloud{r: rand.New(rand.NewPCG(seed, 1)), dimensions: dimensions}
	if latent > 0 {
		c.spread = c.noise(latent, dimensions, 1)
	} else {
		latent = dimensions
	}
	c.centres = c.noise(centres, latent, 1)
	return c
}

func (c *cloud) noise(n, d int, scale float64) [][]float32 {
	all := make([][]float32, n)
	for i := range all {
		all[i] = make([]float32, d)
		for j := range all[i] {
			all[i][j] = float32(scale * c.r.NormFloat64())
		}
	}
	return all
}

func (c *cloud) next() []float32 {
	centre := c.centres[c.r.IntN(len(c.centres))]
	z := c.noise(1, len(centre), 0.65)[0]
	for i := range z {
		z[i] += centre[i]
	}
	if c.spread == nil {
		return z
	}
	v := c.noise(1, c.dimensions, 0.3*math.Sqrt(float64(len(z))))[0]
	for i, f := range z {
		for j, w := range c.spread[i] {
			v[j] += f * w
		}
	}
	return v
}

func name(i int) string { return "v" + strconv.Itoa(i) }

func filled(t testing.TB, s Settings, c *cloud, n int) *Index {
	t.Helper()
	x, err := New(s)
	if err != nil {
		t.Fatal(err)
	}
	for i := range n {
		if err := x.Put(name(i), c.next()); err != nil {
			t.Fatal(err)
		}
	}
	return x
}

// brute is what a search should find, written in another way.
func brute(t *testing.T, all map[string][]float32, query []float32, k int, keep func(string) bool) []Hit {
	t.Helper()
	unit := func(v []float32) []float64 {
		var sum float64
		u := make([]float64, len(v))
		for _, c := range v {
			sum += float64(c) * float64(c)
		}
		for i, c := range v {
			u[i] = float64(c) / math.Sqrt(sum)
		}
		return u
	}
	q := unit(query)
	var hits []Hit
	for id, v := range all {
		if keep != nil && !keep(id) {
			continue
		}
		var dot float64
		for i, c := range unit(v) {
			dot += c * q[i]
		}
		hits = append(hits, Hit{id, float32(dot)})
	}
	slices.SortFunc(hits, func(a, b Hit) int {
		if a.Score != b.Score {
			return int(math.Copysign(1, float64(b.Score-a.Score)))
		}
		return strings.Compare(a.ID, b.ID)
	})
	return hits[:min(k, len(hits))]
}

func same(a, b []Hit) error {
	if len(a) != len(b) {
		return fmt.Errorf("%d hits, want %d", len(a), len(b))
	}
	for i := range a {
		if math.Abs(float64(a[i].Score-b[i].Score)) > 1e-5 {
			return fmt.Errorf("hit %d is %v, want %v", i, a[i], b[i])
		}
	}
	return nil
}

// Whatever was added, replaced and deleted, a search finds what comparing all finds.
func TestAgainstBruteForce(t *testing.T) {
	for _, exact := range []int{0, 300} {
		t.Run(fmt.Sprint(exact), func(t *testing.T) {
			c := newCloud(7, 20, 4, 0)
			x, _ := New(Settings{Dimensions: 20, Exact: exact})
			all := map[string][]float32{}
			for step := range 6000 {
				id := name(c.r.IntN(1200))
				if c.r.IntN(3) == 0 {
					_, was := all[id]
					if delete(all, id); x.Delete(id) != was {
						t.Fatalf("delete %s: it was there: %v", id, was)
					}
				} else {
					all[id] = c.next()
					if err := x.Put(id, all[id]); err != nil {
						t.Fatal(err)
					}
				}
				if step%200 != 0 {
					continue
				}
				q, keep := c.next(), func(id string) bool { return strings.HasSuffix(id, "7") }
				for _, keep := range []func(string) bool{nil, keep} {
					got, err := x.SearchExact(q, 10, keep)
					if err != nil {
						t.Fatal(err)
					}
					if err := same(got, brute(t, all, q, 10, keep)); err != nil {
						t.Fatalf("step %d: %v", step, err)
					}
					for _, h := range got {
						if s, ok := x.Score(h.ID, q); !ok || s != h.Score {
							t.Fatalf("%s scores %v, and then %v", h.ID, h.Score, s)
						}
					}
				}
				if x.Len() != len(all) {
					t.Fatalf("%d vectors, want %d", x.Len(), len(all))
				}
			}
		})
	}
}

func recall(t testing.TB, x *Index, queries [][]float32, keep func(string) bool) float64 {
	t.Helper()
	found, want := 0, 0
	for _, q := range queries {
		exact, err := x.SearchExact(q, 10, keep)
		if err != nil {
			t.Fatal(err)
		}
		got, err := x.Search(q, 10, keep)
		if err != nil {
			t.Fatal(err)
		}
		want += len(exact)
		for _, h := range exact {
			if slices.Contains(got, h) {
				found++
			}
		}
	}
	return float64(found) / float64(want)
}

// By codes, at least 99 of 100 are found on any data: where that takes too many
// vectors, the index searches exactly. Filters take nothing away from that.
func TestRecall(t *testing.T) {
	if testing.Short() {
		t.Skip("it is long, and nothing in it is concurrent")
	}
	for _, c := range []struct {
		name                        string
		dimensions, centres, latent int
		codes                       bool
	}{
		{"sentences", 384, 40, 24, true},
		{"one topic", 384, 1, 24, true},
		{"three topics, other dimensions", 100, 3, 12, true},
		{"long", 768, 40, 24, true},
		{"no structure at all", 128, 1, 0, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			data := newCloud(3, c.dimensions, c.centres, c.latent)
			x := filled(t, Settings{Dimensions: c.dimensions, Exact: 2000}, data, 6000)
			queries := make([][]float32, 60)
			for i := range queries {
				queries[i] = data.next()
			}
			if r := recall(t, x, queries, nil); r < 0.99 {
				t.Errorf("recall %.3f, %+v", r, x.Stats())
			}
			few := func(id string) bool { return strings.HasSuffix(id, "77") }
			if r := recall(t, x, queries[:20], few); r < 0.99 {
				t.Errorf("recall %.3f with a filter, %+v", r, x.Stats())
			}
			if s := x.Stats(); s.Width > 0 != c.codes || c.codes && s.Checks == 0 {
				t.Errorf("%+v", s)
			}
		})
	}
}

// An index whose queries are not like its vectors finds out by itself that it
// misses some.
func TestWidens(t *testing.T) {
	data := newCloud(5, 64, 20, 6)
	x := filled(t, Settings{Dimensions: 64, Exact: 2000}, data, 8000)
	other := newCloud(6, 64, 1, 0)
	for range 2000 {
		if _, err := x.Search(other.next(), 10, nil); err != nil {
			t.Fatal(err)
		}
	}
	if s := x.Stats(); s.Widened == 0 {
		t.Errorf("%+v", s)
	}
	queries := make([][]float32, 60)
	for i := range queries {
		queries[i] = other.next()
	}
	if r := recall(t, x, queries, nil); r < 0.98 {
		t.Errorf("recall %.3f, %+v", r, x.Stats())
	}
}

// Equal vectors come by ID, in whatever order they were added.
func TestTies(t *testing.T) {
	for _, exact := range []int{0, 10} {
		for seed := range uint64(3) {
			x, _ := New(Settings{Dimensions: 4, Exact: exact})
			for _, i := range rand.New(rand.NewPCG(seed, 0)).Perm(2000) {
				if err := x.Put(fmt.Sprintf("%04d", i), []float32{1, 2, float32(i % 2), 0}); err != nil {
					t.Fatal(err)
				}
			}
			for i := range 500 {
				x.Delete(fmt.Sprintf("%04d", i))
			}
			got, _ := x.Search([]float32{1, 2, 0, 0}, 5, nil)
			for i, h := range got {
				if want := fmt.Sprintf("%04d", 500+2*i); h.ID != want {
					t.Errorf("exact %d: hit %d is %s, want %s", exact, i, h.ID, want)
				}
			}
		}
	}
}

func TestRefused(t *testing.T) {
	for _, d := range []int{0, -1, MaxDimensions + 1} {
		if _, err := New(Settings{Dimensions: d}); err == nil {
			t.Errorf("%d dimensions", d)
		}
	}
	x, _ := New(Settings{Dimensions: 2, Max: 1})
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	for _, v := range [][]float32{nil, {1}, {1, 2, 3}, {0, 0}, {nan, 1}, {inf, 1}} {
		if err := x.Put("a", v); !errors.Is(err, ErrVector) {
			t.Errorf("%v: %v", v, err)
		}
		if _, err := x.Search(v, 1, nil); !errors.Is(err, ErrVector) {
			t.Errorf("search %v: %v", v, err)
		}
		if _, ok := x.Score("a", v); ok {
			t.Errorf("%v has a score", v)
		}
	}
	if err := errors.Join(x.Put("a", []float32{1, 0}), x.Put("a", []float32{0, 3})); err != nil {
		t.Error(err)
	}
	if err := x.Put("b", []float32{1, 0}); !errors.Is(err, ErrFull) {
		t.Error(err)
	}
	if v := x.Vector("a"); !slices.Equal(v, []float32{0, 1}) || x.Vector("b") != nil {
		t.Error(v)
	}
	if got, err := x.Search([]float32{1, 1}, 0, nil); len(got) != 0 || err != nil {
		t.Error(got, err)
	}
}

// Memory follows what is in the index, both ways.
func TestBytes(t *testing.T) {
	c := newCloud(1, 16, 2, 0)
	x := filled(t, Settings{Dimensions: 16, Exact: 1000}, c, 5000)
	full := x.Bytes()
	if least := int64(5000 * 16 * 4); full < least || full > 3*least {
		t.Errorf("%d bytes for %d of vectors", full, least)
	}
	for i := range 5000 {
		x.Delete(name(i))
	}
	if empty := x.Bytes(); empty > full/10 || x.Len() != 0 {
		t.Errorf("%d bytes when empty, %d when full", empty, full)
	}
}

func TestConcurrent(t *testing.T) {
	x := filled(t, Settings{Dimensions: 32, Exact: 500}, newCloud(1, 32, 5, 8), 1000)
	var all sync.WaitGroup
	for w := range 6 {
		all.Go(func() {
			c := newCloud(uint64(w), 32, 5, 8)
			for i := range 300 {
				switch id := name(c.r.IntN(2000)); {
				case w > 2:
					if _, err := x.Search(c.next(), 10, func(id string) bool { return len(id) > 2 }); err != nil {
						t.Error(err)
					}
				case i%3 == 0:
					x.Delete(id)
				default:
					if err := x.Put(id, c.next()); err != nil {
						t.Error(err)
					}
				}
				x.Stats()
			}
		})
	}
	all.Wait()
}

// unrolled is the dot product without vek, for comparison.
func unrolled(a, b []float32) float32 {
	var s0, s1, s2, s3 float32
	for len(a) >= 4 && len(b) >= 4 {
		s0 += a[0] * b[0]
		s1 += a[1] * b[1]
		s2 += a[2] * b[2]
		s3 += a[3] * b[3]
		a, b = a[4:], b[4:]
	}
	for i := range a {
		s0 += a[i] * b[i]
	}
	return s0 + s1 + s2 + s3
}

func BenchmarkDot(b *testing.B) {
	c := newCloud(1, 384, 1, 0)
	all := c.noise(10_000, 384, 1)
	for _, f := range []struct {
		name string
		dot  func(a, b []float32) float32
	}{{"vek", vek32.Dot}, {"unrolled", unrolled}} {
		b.Run(f.name, func(b *testing.B) {
			var sum float32
			for i := range b.N {
				sum += f.dot(all[0], all[i%len(all)])
			}
			b.SetBytes(384 * 4)
			_ = sum
		})
	}
}

// most is how many vectors benchmarks have; few when they only run to see that they
// work.
func most() int {
	if flag.Lookup("test.benchtime").Value.String() == "1x" {
		return 20_000
	}
	return 100_000
}

// The distribution of BenchmarkSearch is nearest to that of sentences; see
// docs/memory.md for others.
func BenchmarkSearch(b *testing.B) {
	for _, n := range []int{1_000, 10_000, most()} {
		data := newCloud(1, 384, 100, 48)
		x := filled(b, Settings{Dimensions: 384}, data, n)
		queries := make([][]float32, 200)
		for i := range queries {
			queries[i] = data.next()
		}
		r := recall(b, x, queries, nil)
		for _, how := range []struct {
			name   string
			search func([]float32, int, func(string) bool) ([]Hit, error)
			recall float64
		}{{"index", x.Search, r}, {"brute", x.SearchExact, 1}} {
			b.Run(fmt.Sprintf("%d/%s", n, how.name), func(b *testing.B) {
				took := make([]float64, 0, b.N)
				for i := range b.N {
					before := b.Elapsed()
					if _, err := how.search(queries[i%len(queries)], 10, nil); err != nil {
						b.Fatal(err)
					}
					took = append(took, float64(b.Elapsed()-before)/1e6)
				}
				slices.Sort(took)
				b.ReportMetric(took[len(took)/2], "ms-p50")
				b.ReportMetric(took[len(took)*99/100], "ms-p99")
				b.ReportMetric(how.recall, "recall@10")
				b.ReportMetric(float64(x.Stats().Width), "rescored")
				b.ReportMetric(float64(x.Bytes())/(1<<20), "MiB")
			})
		}
	}
}

// BenchmarkData is a search among 100,000 vectors of other distributions.
func BenchmarkData(b *testing.B) {
	for _, d := range []struct {
		name            string
		centres, latent int
	}{{"1000-topics", 1000, 48}, {"one-topic", 1, 48}, {"no-structure", 1, 0}} {
		data := newCloud(1, 384, d.centres, d.latent)
		x := filled(b, Settings{Dimensions: 384}, data, most())
		queries := make([][]float32, 100)
		for i := range queries {
			queries[i] = data.next()
		}
		r := recall(b, x, queries, nil)
		b.Run(d.name, func(b *testing.B) {
			for i := range b.N {
				if _, err := x.Search(queries[i%len(queries)], 10, nil); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(r, "recall@10")
			b.ReportMetric(float64(x.Stats().Width), "rescored")
		})
	}
}

func BenchmarkPut(b *testing.B) {
	data := newCloud(1, 384, 100, 48)
	all := make([][]float32, 1000)
	for i := range all {
		all[i] = data.next()
	}
	x := filled(b, Settings{Dimensions: 384}, data, 60_000)
	b.ResetTimer()
	for i := range b.N {
		if err := x.Put(name(i%60_000), all[i%len(all)]); err != nil {
			b.Fatal(err)
		}
	}
}
