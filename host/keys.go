package host

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/skillet-run/skillet/host/hostfn"
	"github.com/skillet-run/skillet/host/journal"
	"github.com/skillet-run/skillet/host/secret"
	"github.com/skillet-run/skillet/host/store/atomicfile"
	"github.com/skillet-run/skillet/host/store/filelock"
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
		key = newKey()
		if err = atomicfile.Write(path, key); err != nil {
			err = fmt.Errorf("make a cache key: %w", err)
		}
	}
	return key, errors.Join(err, lock.Release())
}

func newKey() []byte {
	key := make([]byte, keyBytes)
	_, _ = rand.Read(key) // which never fails
	return key
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

// keyOptions say where the identity of the home is, and what the home is known by.
// A setting that the home itself has is no reason not to ask the keyring: who can
// write the home's files wrote it, perhaps.
func (h *Host) keyOptions(k secret.Keyring) secret.KeyOptions {
	o := secret.KeyOptions{Home: h.Home, Place: secret.Place(h.Config.Settings().SecretKey), Keyring: k, Marker: h.path(hostfn.HomeMarker)}
	if o.Keyring == nil {
		o.Keyring = secret.SystemKeyring()
	}
	v, err := h.Config.Get("secret_key")
	if o.Place == secret.PlaceFile && err == nil && !strings.HasPrefix(v.Source, h.Home+string(filepath.Separator)) {
		o.Keyring = nil
	}
	return o
}

// ready says why no call may be made: the record of decisions, which says what was
// granted, or that of runs is not what this home signed.
func (h *Host) ready(ctx context.Context) error {
	for _, j := range []*journal.Journal{h.Decisions, h.Calls} {
		if err := j.Ready(ctx); err != nil {
			return Explain(err)
		}
	}
	return nil
}
