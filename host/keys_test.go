package host

import (
	"context"
	"sync"
	"testing"

	"github.com/skillet-run/skillet/host/config"
)

// TestOneCacheKey asks for the key of a fresh home from several sides at once: with
// two, each would discard what the other keeps.
func TestOneCacheKey(t *testing.T) {
	t.Parallel()
	for range 20 {
		dir := t.TempDir()
		c, err := config.Load(context.Background(), dir, config.Layers{})
		if err != nil {
			t.Fatal(err)
		}
		h := &Host{Home: dir, Config: c}
		var all sync.WaitGroup
		keys := make([]string, 8)
		for i := range keys {
			all.Go(func() {
				key, err := h.cacheKey(t.Context())
				if keys[i] = string(key); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		for _, k := range keys {
			if k != keys[0] || len(k) != keyBytes {
				t.Fatalf("keys %x and %x", k, keys[0])
			}
		}
	}
}
