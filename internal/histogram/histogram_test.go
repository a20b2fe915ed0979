package histogram_test

import (
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
