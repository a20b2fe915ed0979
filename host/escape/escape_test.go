package escape

import (
	"testing"

	"github.com/hashicorp/go-hclog"
)

// TestContained makes every attempt.
func TestContained(t *testing.T) {
	found, err := Run(t.Context(), hclog.NewNullLogger(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range found {
		t.Logf("%-22s %8.1f ms  %s", f.ID, f.DurationMS, f.Stopped)
		if !f.Contained {
			t.Errorf("%s: %s", f.ID, f.Breach)
		}
	}
}
