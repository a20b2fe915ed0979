package host

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/skillet-run/skillet/host/fault"

	"github.com/skillet-run/skillet/host/hostfn"
	"github.com/skillet-run/skillet/host/journal"
	"github.com/skillet-run/skillet/host/secret"
	"github.com/skillet-run/skillet/host/store"
	"github.com/skillet-run/skillet/host/store/atomicfile"
	"github.com/skillet-run/skillet/host/store/badgerstore"
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

// anchorShelf is the copy in the store of what the home is known by.
type anchorShelf struct{ kv store.KV }

const anchorKey = "host/anchor"

// Load returns nil when there is none.
func (s anchorShelf) Load(ctx context.Context) ([]byte, error) {
	e, err := s.kv.Get(ctx, anchorKey)
	if errors.Is(err, store.ErrNotFound) {
		return nil, nil
	}
	return e.Value, err
}

// Save replaces it.
func (s anchorShelf) Save(ctx context.Context, b []byte) error {
	_, err := s.kv.Put(ctx, anchorKey, b, store.Any)
	return err
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
	b, err := readStart(s.StoreKeyFile)
	if err != nil {
		return o, fault.Errorf(fault.KindUsage, "read store_key_file: %w", err)
	}
	o.Key, err = hex.DecodeString(strings.TrimSpace(string(b)))
	if err != nil || len(o.Key) != keyBytes {
		return o, fault.Errorf(fault.KindUsage, "store_key_file %s: it must hold %d hexadecimal digits", s.StoreKeyFile, 2*keyBytes).
			WithHint("make one with: head -c 32 /dev/urandom | xxd -p -c 64 > FILE; chmod 600 FILE")
	}
	return o, nil
}

// maxKeyFile is how much of a key file is read; more is no key.
const maxKeyFile = 4 << 10

// readStart reads the beginning of a file.
func readStart(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, maxKeyFile))
}
