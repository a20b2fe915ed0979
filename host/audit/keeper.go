// Package audit is the audit log as others see it: the keys by which a home
// vouches for it, and the export that somebody without the home can verify.
//
// It refuses to know what decisions and runs mean; to it they are lines of a
// log. How a log is stored and signed is for package journal.
package audit

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/skillet-run/skillet/host/checkpoint"
	"github.com/skillet-run/skillet/host/journal"
	"github.com/skillet-run/skillet/host/secret"
	"github.com/skillet-run/skillet/host/store/filelock"
)

// ErrNoKey means that there is a key, and it cannot be had: the identity that
// seals it is missing, or its file is damaged.
var ErrNoKey = errors.New("the key of the audit log cannot be had")

const (
	keyName  = "audit"
	lockName = "audit.lock"
	lockWait = 10 * time.Second
)

// A Keeper keeps the audit keys of one home, sealed by the identity that seals
// its secrets. It is safe for concurrent use, also by several processes. Use
// [NewKeeper].
type Keeper struct {
	dir     string
	vault   *secret.Vault
	secrets *secret.Vault

	mu     sync.Mutex
	ring   *checkpoint.Ring
	loaded fs.FileInfo // of the file the ring was read from
}

var _ journal.Keys = (*Keeper)(nil)

// NewKeeper makes a Keeper that has its file in dir. secrets is what the same
// identity has sealed already: while one of those cannot be opened no key is
// made, because making it would make another identity.
func NewKeeper(dir string, identity *secret.Key, secrets *secret.Vault) *Keeper {
	return &Keeper{dir: dir, vault: secret.Open(dir, identity), secrets: secrets}
}

// path is the file of the sealed keys.
func (k *Keeper) path() string { return filepath.Join(k.dir, keyName+".age") }

// Ring returns the keys as they are now; nil when none was made yet. errors.Is
// finds [ErrNoKey] when there are some that cannot be had.
func (k *Keeper) Ring(ctx context.Context) (*checkpoint.Ring, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.read(ctx)
}

// read returns the keys, from the file when that has changed.
func (k *Keeper) read(ctx context.Context) (*checkpoint.Ring, error) {
	info, err := os.Stat(k.path())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the audit keys: %w", err)
	}
	if k.loaded != nil && os.SameFile(info, k.loaded) && info.ModTime().Equal(k.loaded.ModTime()) {
		return k.ring, nil
	}
	b, err := k.vault.Get(ctx, keyName)
	if errors.Is(err, secret.ErrDamaged) {
		return nil, fmt.Errorf("%w: %s is damaged, or sealed by another identity", ErrNoKey, k.path())
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNoKey, err)
	}
	ring, err := checkpoint.ReadRing(b)
	if err != nil {
		return nil, fmt.Errorf("%w: %s: %w", ErrNoKey, k.path(), err)
	}
	k.ring, k.loaded = ring, info
	return ring, nil
}

// Make returns the keys, and makes the first one when there is none.
func (k *Keeper) Make(ctx context.Context) (*checkpoint.Ring, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if r, err := k.read(ctx); r != nil || err != nil {
		return r, err
	}
	return k.change(ctx, func(r *checkpoint.Ring) (*checkpoint.Ring, error) {
		if r != nil {
			return r, nil // another process was first
		}
		if err := k.checkIdentity(ctx); err != nil {
			return nil, err
		}
		return checkpoint.NewRing(time.Now())
	})
}

// checkIdentity refuses to make a key while the identity that sealed the secrets
// is out of reach.
func (k *Keeper) checkIdentity(ctx context.Context) error {
	infos, err := k.secrets.List(ctx)
	if err != nil || len(infos) == 0 {
		return err
	}
	if _, err := k.secrets.Get(ctx, infos[0].Name); errors.Is(err, secret.ErrNoKey) || errors.Is(err, secret.ErrExposed) {
		return fmt.Errorf("%w: %w", ErrNoKey, err)
	}
	return nil
}

// Rotate makes a new key, which the one so far names, and has resign sign
// everything with it. Then the old one is retired. After an interruption the new
// key holds, and the old one too until the next Rotate.
func (k *Keeper) Rotate(ctx context.Context, resign func(context.Context) error) (*checkpoint.Ring, error) {
	if _, err := k.Make(ctx); err != nil {
		return nil, err
	}
	if _, err := k.locked(ctx, func(r *checkpoint.Ring) (*checkpoint.Ring, error) { return r.Rotated(time.Now()) }); err != nil {
		return nil, err
	}
	if err := resign(ctx); err != nil {
		return nil, fmt.Errorf("sign with the new audit key: %w", err)
	}
	return k.locked(ctx, func(r *checkpoint.Ring) (*checkpoint.Ring, error) { return r.RetireOld(), nil })
}

func (k *Keeper) locked(ctx context.Context, fn func(*checkpoint.Ring) (*checkpoint.Ring, error)) (*checkpoint.Ring, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.change(ctx, fn)
}

// change replaces the keys by what fn makes of them, while no other process
// does.
func (k *Keeper) change(ctx context.Context, fn func(*checkpoint.Ring) (*checkpoint.Ring, error)) (made *checkpoint.Ring, err error) {
	if err := os.MkdirAll(k.dir, 0o700); err != nil {
		return nil, fmt.Errorf("make an audit key: %w", err)
	}
	lock, err := filelock.Acquire(ctx, filepath.Join(k.dir, lockName), lockWait)
	if err != nil {
		return nil, fmt.Errorf("make an audit key: %w", err)
	}
	defer func() { err = errors.Join(err, lock.Release()) }()
	old, err := k.read(ctx)
	if err != nil {
		return nil, err
	}
	ring, err := fn(old)
	if err != nil || ring == old {
		return ring, err
	}
	b, err := json.Marshal(ring)
	if err != nil {
		return nil, fmt.Errorf("make an audit key: %w", err)
	}
	if err := k.vault.Set(ctx, keyName, b); err != nil {
		return nil, fmt.Errorf("make an audit key: %w", err)
	}
	return k.read(ctx)
}
