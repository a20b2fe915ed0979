package duration

import (
	"math"
	"testing"
	"time"
)

func TestOfSeconds(t *testing.T) {
	for s, want := range map[float64]time.Duration{
		0: 0, 1: time.Second, 0.29: 290 * time.Millisecond, 2.5: 2500 * time.Millisecond, -1: -time.Second,
		1e-12: 1, 1e300: math.MaxInt64, math.Inf(1): math.MaxInt64, -1e300: math.MinInt64,
	} {
		if got := OfSeconds(s); got != want {
			t.Errorf("%g seconds are %d, want %d", s, got, want)
		}
	}
	if got := OfSeconds(math.NaN()); got != 0 {
		t.Errorf("no number is %d", got)
	}
	if got := OfSeconds((3600*time.Second + 1).Seconds()); got != 3600*time.Second+1 {
		t.Errorf("there and back: %d", got)
	}
}

func TestMilliseconds(t *testing.T) {
	if got := Milliseconds(1234567 * time.Nanosecond); got != 1.234 {
		t.Errorf("%v, want 1.234", got)
	}
}
