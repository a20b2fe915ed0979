package cmdline

import (
	"testing"
	"time"
)

func TestSpan(t *testing.T) {
	const day = 24 * time.Hour
	for text, want := range map[string]time.Duration{
		"90s": 90 * time.Second, "1h30m": 90 * time.Minute, "7d": 7 * day, "2w": 14 * day, "2 weeks": 14 * day,
		"1 day": day, "3 Days": 3 * day, "1 day 12 hours": 36 * time.Hour, "1 week and 1 day": 8 * day, "5 min": 5 * time.Minute, "-1h": -time.Hour,
	} {
		if got, err := Span(text); err != nil || got != want {
			t.Errorf("%q is %v, %v; want %v", text, got, err, want)
		}
	}
	for _, text := range []string{"", "d", "7", "7 x", "7d x", "1.5d", "month", "3 months", "-7d", "99999999d"} {
		if got, err := Span(text); err == nil {
			t.Errorf("%q is %v", text, got)
		}
	}
}
