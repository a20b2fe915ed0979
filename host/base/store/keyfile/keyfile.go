// Package keyfile keeps random keys of a home that are only good for what can be made
// again, each in a file of its own.
package keyfile

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/skillet-run/skillet/host/base/store/atomicfile"
	"github.com/skillet-run/skillet/host/base/store/filelock"
)

// Bytes is the length of a key.
const Bytes = 32

// New makes a key that is kept nowhere.
func New() []byte {
	key := make([]byte, Bytes)
	_, _ = rand.Read(key) // which never fails
	return key
}

// Ensure returns the key in a file, and makes it at its first use. A key that is lost or
// damaged is replaced. It waits for another process that makes it, no longer than wait.
func Ensure(ctx context.Context, path string, wait time.Duration) ([]byte, error) {
	if key, err := read(path); key != nil || err != nil {
		return key, err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, fmt.Errorf("make the key %s: %w", filepath.Base(path), err)
	}
	// One process makes it: with two keys, each would discard what the other keeps.
	lock, err := filelock.Acquire(ctx, path+".lock", wait)
	if err != nil {
		return nil, fmt.Errorf("make the key %s: %w", filepath.Base(path), err)
	}
	key, err := read(path)
	if key == nil && err == nil {
		key = New()
		if err = atomicfile.Write(path, key); err != nil {
			err = fmt.Errorf("make the key %s: %w", filepath.Base(path), err)
		}
	}
	return key, errors.Join(err, lock.Release())
}

// read returns nil when there is none, or one that is damaged.
func read(path string) ([]byte, error) {
	key, err := os.ReadFile(path)
	switch {
	case errors.Is(err, fs.ErrNotExist), err == nil && len(key) != Bytes:
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("read the key %s: %w", filepath.Base(path), err)
	}
	return key, nil
}
