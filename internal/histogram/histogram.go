// Package histogram counts values by size.
package histogram

import (
	"math"
	"slices"
)

// A Histogram counts values by size. It is not safe for concurrent use.
type Histogram struct {
	// Bounds are the upper bounds of the buckets, inclusive and rising.
	Bounds []float64 `json:"bounds"`
	// Counts has a bucket for each bound, and one for what is above all. They are
	// not cumulative.
	Counts []uint64 `json:"counts"`
	Sum    float64  `json:"sum"`
}

// New makes an empty histogram with bounds at 1, 2 and 5 times each power of ten from 10^low
// to 10^high.
func New(low, high int) Histogram {
	var bounds []float64
	for e := low; e <= high; e++ {
		for _, digit := range []float64{1, 2, 5} {
			bounds = append(bounds, digit*math.Pow10(e))
		}
	}
	return Histogram{Bounds: bounds, Counts: make([]uint64, len(bounds)+1)}
}

// Add counts a value.
func (h *Histogram) Add(v float64) {
	i, _ := slices.BinarySearch(h.Bounds, v)
	h.Counts[i]++
	h.Sum += v
}

// Clone is a copy that shares nothing.
func (h Histogram) Clone() Histogram {
	h.Bounds, h.Counts = slices.Clone(h.Bounds), slices.Clone(h.Counts)
	return h
}

// Count is how many values there are.
func (h Histogram) Count() (n uint64) {
	for _, c := range h.Counts {
		n += c
	}
	return n
}

// Plus is the histogram of the values of both, which have the same bounds. One that is empty
// adds nothing.
func (h Histogram) Plus(o Histogram) Histogram {
	return h.with(o, func(a, b uint64) uint64 { return a + b }, o.Sum)
}

// Minus is the histogram of the values that came to o, of which h has all.
func (h Histogram) Minus(o Histogram) Histogram {
	return h.with(o, func(a, b uint64) uint64 { return a - min(a, b) }, -o.Sum)
}

func (h Histogram) with(o Histogram, counts func(a, b uint64) uint64, sum float64) Histogram {
	if len(h.Counts) == 0 {
		h = Histogram{Bounds: o.Bounds, Counts: make([]uint64, len(o.Counts))}
	}
	h = h.Clone()
	h.Sum += sum
	for i := range min(len(h.Counts), len(o.Counts)) {
		h.Counts[i] = counts(h.Counts[i], o.Counts[i])
	}
	return h
}

// Quantile is a bound that a part of the values, of 0 to 1, do not exceed: that of a bucket. It is
// 0 without values, and infinite when it is beyond the last bound.
func (h Histogram) Quantile(part float64) float64 {
	rank := max(1, uint64(math.Ceil(part*float64(h.Count()))))
	seen := uint64(0)
	for i, c := range h.Counts {
		if seen += c; c > 0 && seen >= rank {
			if i == len(h.Bounds) {
				return math.Inf(1)
			}
			return h.Bounds[i]
		}
	}
	return 0
}
