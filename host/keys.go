package host

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/skillet-run/skillet/host/store/atomicfile"
	"github.com/skillet-run/skillet/host/store/badgerstore"
	"github.com/skillet-run/skillet/host/store/filelock"
	"github.com/skillet-run/skillet/host/task"
)

// keyBytes is the length of the host's own keys.
const keyBytes = 32

// cacheKey is the key that binds compiled code to this home. It is made at its
// first use. A key that is lost or damaged is replaced: what is lost then is
// compiled code, which is compiled again, and the sessions of skills.
func (h *Host) cacheKey(ctx context.Context) ([]byte, error) {
	path := h.path("keys", "cache")
	if key, err := readCacheKey(path); key != nil || err != nil {
		return key, err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, fmt.Errorf("make a cache key: %w", err)
	}
	// One process makes it: with two keys, each would discard what the other keeps.
	lock, err := filelock.Acquire(ctx, path+".lock", seconds(h.Config.Settings().LockWaitSeconds))
	if err != nil {
		return nil, fmt.Errorf("make a cache key: %w", err)
	}
	key, err := readCacheKey(path)
	if key == nil && err == nil {
		key = make([]byte, keyBytes)
		_, _ = rand.Read(key) // which never fails
		if err = atomicfile.Write(path, key); err != nil {
			err = fmt.Errorf("make a cache key: %w", err)
		}
	}
	return key, errors.Join(err, lock.Release())
}

// readCacheKey returns nil when there is none, or one that is damaged.
func readCacheKey(path string) ([]byte, error) {
	key, err := os.ReadFile(path)
	switch {
	case errors.Is(err, fs.ErrNotExist), err == nil && len(key) != keyBytes:
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("read the cache key: %w", err)
	}
	return key, nil
}

// storeOptions are the store's options as configured.
func (h *Host) storeOptions() (badgerstore.Options, error) {
	s := h.Config.Settings()
	o := badgerstore.Options{LockWait: seconds(s.LockWaitSeconds), FreeBytes: int64(s.MinFreeMB) << 20, Blobs: h.path("blobs")}
	if s.MinFreeMB == 0 {
		o.FreeBytes = -1 // off
	}
	if s.StoreKeyFile == "" {
		return o, nil
	}
	b, err := os.ReadFile(s.StoreKeyFile)
	if err != nil {
		return o, task.Errorf(task.KindUsage, "read store_key_file: %w", err)
	}
	o.Key, err = hex.DecodeString(strings.TrimSpace(string(b)))
	if err != nil || len(o.Key) != keyBytes {
		return o, task.Errorf(task.KindUsage, "store_key_file %s: it must hold %d hexadecimal digits", s.StoreKeyFile, 2*keyBytes).
			WithHint("make one with: head -c 32 /dev/urandom | xxd -p -c 64 > FILE; chmod 600 FILE")
	}
	return o, nil
}
