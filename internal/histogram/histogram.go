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
