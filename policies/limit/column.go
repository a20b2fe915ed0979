package limit

import (
	"math"
	"math/bits"

	"github.com/skillet-run/skillet/internal/duration"
)

// A Column is where a struct has the value of a limit. The zero value is nowhere.
type Column[D any] struct {
	Get func(*D) int64
	Put func(*D, int64)
}

// ColumnOf is the column of a field that has whole numbers of a unit.
func ColumnOf[D any, N ~int | ~int64 | ~uint64](at func(*D) *N, unit int64) Column[D] {
	return Column[D]{
		Get: func(d *D) int64 {
			n := *at(d)
			if n < 0 {
				return -times(uint64(-n), unit)
			}
			return times(uint64(n), unit)
		},
		Put: func(d *D, value int64) { *at(d) = N(value / unit) },
	}
}

// seconds is a column of seconds; the values are nanoseconds.
func seconds[D any](at func(*D) *float64) Column[D] {
	return Column[D]{
		Get: func(d *D) int64 { return int64(duration.OfSeconds(*at(d))) },
		Put: func(d *D, value int64) { *at(d) = float64(value) / float64(second) },
	}
}

// times is n units, and the greatest number when that is too much.
func times(n uint64, unit int64) int64 {
	high, low := bits.Mul64(n, uint64(unit))
	if high > 0 || low > math.MaxInt64 {
		return math.MaxInt64
	}
	return int64(low)
}
