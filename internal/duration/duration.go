// Package duration turns numbers of documents into durations, and back.
package duration

import (
	"math"
	"time"
)

// OfSeconds is a number of seconds as a duration, to the nearest nanosecond. A time that
// is greater than 0 never becomes 0, and one that does not fit becomes the longest.
func OfSeconds(s float64) time.Duration {
	ns := math.Round(s * float64(time.Second))
	switch {
	case math.IsNaN(ns):
		return 0
	case ns >= math.MaxInt64:
		return math.MaxInt64
	case ns <= math.MinInt64:
		return math.MinInt64
	case s > 0:
		return max(time.Duration(ns), 1)
	}
	return time.Duration(ns)
}

// Milliseconds is a duration in milliseconds, whole microseconds of it.
func Milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
