package histogram_test

import (
	"math"
	"testing"

	"github.com/skillet-run/skillet/internal/histogram"
)

func TestHistogram(t *testing.T) {
	h := histogram.New(0, 1) // 1 2 5 10 20 50
	for _, v := range []float64{0, 1, 1.5, 50, 51} {
		h.Add(v)
	}
	c := h.Clone()
	h.Add(1)
	for i, want := range []uint64{2, 1, 0, 0, 0, 1, 1} {
		if c.Counts[i] != want {
			t.Errorf("bucket %d has %d, want %d", i, c.Counts[i], want)
		}
	}
	if c.Sum != 103.5 || c.Count() != 5 || h.Count() != 6 {
		t.Errorf("sum %g of %d, and %d", c.Sum, c.Count(), h.Count())
	}
}

func TestQuantile(t *testing.T) {
	before := histogram.New(0, 1) // 1 2 5 10 20 50
	before.Add(50)
	h := before.Clone()
	for range 98 {
		h.Add(2)
	}
	h.Add(9)
	h.Add(51)
	h = h.Minus(before)
	for part, want := range map[float64]float64{0: 2, 0.5: 2, 0.98: 2, 0.99: 10, 1: math.Inf(1)} {
		if got := h.Quantile(part); got != want {
			t.Errorf("%g: %g, want %g", part, got, want)
		}
	}
	if both := (histogram.Histogram{}).Plus(h).Plus(before); both.Count() != 101 || both.Sum != 2*98+9+51+50 {
		t.Errorf("%d, %g", both.Count(), both.Sum)
	}
	if got := (histogram.Histogram{}).Quantile(0.5); got != 0 {
		t.Errorf("of nothing: %g", got)
	}
}
