package providertest

import (
	"math"
	"testing"

	"github.com/skillet-run/skillet/plugins/provider"
)

// phrases are texts of all sorts.
func phrases() []string {
	return []string{"The cat sat on the mat.", "Paris is the capital of France.", "貓坐在墊子上。", "x", "func main() { println(1) }"}
}

func (c *caller) embedAll(t *testing.T, m provider.Model, texts ...string) [][]float32 {
	t.Helper()
	r, err := c.p.Embed(c.ctx, provider.EmbedRequest{Model: m.Name, Texts: texts})
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Vectors) != len(texts) {
		t.Fatalf("%d vectors for %d texts", len(r.Vectors), len(texts))
	}
	if r.Model == "" || r.Usage.InputTokens <= 0 {
		t.Errorf("model %q, usage %+v", r.Model, r.Usage)
	}
	return r.Vectors
}

// dot is the product of two vectors.
func dot(a, b []float32) float64 {
	sum := 0.0
	for i := range a {
		sum += float64(a[i]) * float64(b[i])
	}
	return sum
}

func (s *suite) embed(t *testing.T, c *caller) {
	m := c.vectors(t)
	for i, v := range c.embedAll(t, m, phrases()...) {
		if len(v) != m.Dimensions {
			t.Fatalf("vector %d has %d values, the model %d", i, len(v), m.Dimensions)
		}
		if length := math.Sqrt(dot(v, v)); math.Abs(length-1) > 1e-3 {
			t.Errorf("vector %d has the length %v", i, length)
		}
	}
}

// embedOrder has texts embedded together and one by one: the same text has the
// same vector.
func (s *suite) embedOrder(t *testing.T, c *caller) {
	m := c.vectors(t)
	together := c.embedAll(t, m, phrases()...)
	for i, text := range phrases() {
		alone := c.embedAll(t, m, text)[0]
		if d := dot(together[i], alone); math.Abs(d-1) > 1e-3 {
			t.Errorf("%q: together and alone are %v alike", text, d)
		}
	}
}

func (s *suite) embedAlike(t *testing.T, c *caller) {
	m := c.vectors(t)
	if s.Alike == ([3]string{}) {
		t.Skip("Options.Alike is empty")
	}
	v := c.embedAll(t, m, s.Alike[:]...)
	if near, far := dot(v[0], v[1]), dot(v[0], v[2]); near <= far {
		t.Errorf("%q and %q are %v alike, %q and %q are %v", s.Alike[0], s.Alike[1], near, s.Alike[0], s.Alike[2], far)
	}
}

// embedNothing has no text to embed: no vectors, or a request that is invalid.
func (s *suite) embedNothing(t *testing.T, c *caller) {
	r, err := c.p.Embed(c.ctx, provider.EmbedRequest{Model: c.vectors(t).Name})
	if err == nil && len(r.Vectors) == 0 {
		return
	}
	refused(t, "Embed", err, provider.ClassInvalid)
}
