package host

import (
	"context"
	"testing"
)

// A caller that goes away takes no provider from the others.
func TestProviderOutlivesItsCallers(t *testing.T) {
	h, err := Open(t.Context(), Options{Home: t.TempDir(), Environ: []string{"SKILLET_SECRET_KEY=file"}})
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close(t.Context())
	if _, err := h.models.Provider(t.Context(), "local"); err != nil {
		t.Fatal(err)
	}
	before := h.plugins.Supervisor().Status()
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := h.models.Provider(gone, "local"); err == nil {
		t.Fatal("a caller that is gone was given a provider")
	}
	after := h.plugins.Supervisor().Status()
	if len(before) != 1 || len(after) != 1 || after[0].PID != before[0].PID || after[0].PID == 0 {
		t.Errorf("before %+v, after %+v", before, after)
	}
}
