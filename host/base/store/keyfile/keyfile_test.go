package keyfile_test

import (
	"bytes"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/skillet-run/skillet/host/base/store/keyfile"
)

// Whoever asks at once gets the same key, and a damaged one is replaced.
func TestEnsure(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "keys", "cache")
	keys := make([][]byte, 8)
	var all sync.WaitGroup
	for i := range keys {
		all.Go(func() {
			key, err := keyfile.Ensure(t.Context(), path, time.Minute)
			if err != nil || len(key) != keyfile.Bytes {
				t.Errorf("%d bytes, %v", len(key), err)
			}
			keys[i] = key
		})
	}
	all.Wait()
	for _, k := range keys {
		if !bytes.Equal(k, keys[0]) {
			t.Error("two keys")
		}
	}
	if err := os.WriteFile(path, keys[0][1:], 0o600); err != nil {
		t.Fatal(err)
	}
	again, err := keyfile.Ensure(t.Context(), path, time.Minute)
	if err != nil || len(again) != keyfile.Bytes || bytes.Equal(again, keys[0]) {
		t.Errorf("%d bytes, %v", len(again), err)
	}
}
