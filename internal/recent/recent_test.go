package recent_test

import (
	"testing"

	"github.com/skillet-run/skillet/internal/recent"
)

// A value is found in its epoch alone, and one of another epoch ends all others.
func TestCache(t *testing.T) {
	var c recent.Cache[string, int]
	c.Add(1, "a", 10)
	if v, ok := c.Get(1, "a"); !ok || v != 10 {
		t.Errorf("a in its epoch is %d %v, want 10", v, ok)
	}
	if v, ok := c.Get(2, "a"); ok {
		t.Errorf("a in the next epoch is %d, want none", v)
	}
	c.Add(2, "b", 20)
	if v, ok := c.Get(1, "a"); ok {
		t.Errorf("a is still there after the epoch ended: %d", v)
	}
}
