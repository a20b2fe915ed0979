package upkeep

import (
	"context"
	"encoding/hex"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/skillet-run/skillet/host/base/config"
	"github.com/skillet-run/skillet/host/base/fault"
	"github.com/skillet-run/skillet/host/base/secret"
	"github.com/skillet-run/skillet/host/base/store"
	"github.com/skillet-run/skillet/host/base/store/backends"
	"github.com/skillet-run/skillet/host/run/hostfn"
	"github.com/skillet-run/skillet/host/run/runner"
	"github.com/skillet-run/skillet/internal/duration"
	"github.com/skillet-run/skillet/manifests"
)

// storeDir is the directory of the store in a home.
const storeDir = "store"

// OpenStore opens the store of a home for several processes, with the backend that made
// it, or with that of the settings when there is none. A replacement of the store
// that was interrupted is finished first. A store that is damaged is an error of its
// calls, so that it can be checked and made again. linger is how long it stays open for the
// next call while nobody else wants it; 0 for a moment.
func OpenStore(ctx context.Context, log hclog.Logger, home string, s config.Settings, linger time.Duration) (store.Opened, error) {
	o, err := storeOptions(home, s)
	o.Linger = linger
	if err == nil {
		err = slot{home, duration.OfSeconds(s.LockWaitSeconds)}.finish(ctx)
	}
	if err != nil {
		return nil, err
	}
	dir := filepath.Join(home, storeDir)
	return backends.Of(dir, backends.Named(s.StoreBackend)).OpenShared(log, dir, o)
}

// AuditWindow is how long the record of a call may wait to be synced: zero unless the home
// is served or its configuration says so.
func AuditWindow(s config.Settings, serves bool) time.Duration {
	if s.AuditSync == config.SyncGroup || serves && s.AuditSync != config.SyncEach {
		return config.SyncWindow
	}
	return 0
}

// KeyOptions say where the identity of a home is, and what the home is known by. The
// keyring is asked whatever the home's own settings say: whoever can write the home's files
// may have written those.
func KeyOptions(home string, c *config.Config, k secret.Keyring) secret.KeyOptions {
	o := secret.KeyOptions{Home: home, Location: secret.Location(c.Settings().SecretKey), Keyring: k, Marker: filepath.Join(home, hostfn.HomeMarker)}
	if o.Keyring == nil {
		o.Keyring = secret.SystemKeyring()
	}
	v, err := c.Get("secret_key")
	if o.Location == secret.LocationFile && err == nil && !strings.HasPrefix(v.Source, home+string(filepath.Separator)) {
		o.Keyring = nil
	}
	return o
}

// Rates are how often skills may be called, as the runner takes them.
func Rates(s config.Settings) []runner.Rate {
	var all []runner.Rate
	for _, l := range s.RateLimits {
		all = append(all, runner.Rate{Skill: l.Skill, Tool: l.Tool, RateLimit: manifests.RateLimit{MaxCalls: l.MaxCalls, PerSeconds: l.PerSeconds}})
	}
	return all
}

// Isolated are the settings by which skills run in processes of their own, as the runner
// takes them.
func Isolated(s config.Settings) []runner.Isolated {
	all := []runner.Isolated{{Setting: "isolated_skills", Skills: s.Isolated()}}
	if s.Isolation == config.IsolationProcess {
		all = append(all, runner.Isolated{Setting: "isolation", Skills: []string{"*"}})
	}
	return all
}

// OwnFiles are the host's own files that may lie outside of the home.
func OwnFiles(s config.Settings) []string {
	path, err := filepath.Abs(s.StoreKeyFile)
	if s.StoreKeyFile == "" || err != nil {
		return nil
	}
	return []string{path}
}

// wanted is the backend that new stores are made with.
func (s *Service) wanted() store.Backend { return backends.Named(s.Config.Settings().StoreBackend) }

// backend is that of the store there is.
func (s *Service) backend() store.Backend { return backends.Of(s.path(storeDir), s.wanted()) }

func (s *Service) storeOptions() (store.Options, error) {
	return storeOptions(s.Home, s.Config.Settings())
}

// keyBytes is the length of the key that encrypts a store.
const keyBytes = 32

// storeOptions are the store's options as configured.
func storeOptions(home string, s config.Settings) (store.Options, error) {
	o := store.Options{LockWait: duration.OfSeconds(s.LockWaitSeconds), FreeBytes: int64(s.MinFreeMB) << 20, Blobs: filepath.Join(home, "blobs")}
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

// maxKeyFile is how many bytes of a key file are read. No key is as long.
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

// StoredAnchor is the copy in the store of what the home is known by.
type StoredAnchor struct{ KV store.KV }

const anchorKey = "host/anchor"

// Load returns nil when there is none.
func (a StoredAnchor) Load(ctx context.Context) ([]byte, error) {
	e, err := a.KV.Get(ctx, anchorKey)
	if errors.Is(err, store.ErrNotFound) {
		return nil, nil
	}
	return e.Value, err
}

// Save replaces it.
func (a StoredAnchor) Save(ctx context.Context, b []byte) error {
	_, err := a.KV.Put(ctx, anchorKey, b, store.AnyRevision)
	return err
}
