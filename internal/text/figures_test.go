package text

import (
	"testing"
	"time"
)

func TestFrom(t *testing.T) {
	now := time.Date(2026, 3, 4, 12, 0, 0, 0, time.Local)
	for want, d := range map[string]time.Duration{
		"now": 59 * time.Second, "5 min ago": -5*time.Minute - 10*time.Second, "in 5 min": 5 * time.Minute, "23 h ago": -23 * time.Hour, "1 day ago": -47 * time.Hour,
		"in 29 days": 29 * 24 * time.Hour, "2026-01-28": -35 * 24 * time.Hour,
	} {
		if got := From(now.Add(d), now); got != want {
			t.Errorf("%v from now is %q, want %q", d, got, want)
		}
	}
}
