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
	"strings"
	"sync"
	"time"

	"github.com/skillet-run/skillet/host/base/secret"
	"github.com/skillet-run/skillet/host/base/store/filelock"
	"github.com/skillet-run/skillet/host/record/checkpoint"
	"github.com/skillet-run/skillet/host/record/journal"
	"github.com/skillet-run/skillet/internal/absent"
)

// ErrNoKey means that there is a key, and it cannot be had: the identity that
// seals it is missing, or its file is damaged.
var ErrNoKey = errors.New("the key of the audit log cannot be had")

const (
	keyName  = "audit"
	lockName = "audit.lock"
	lockWait = 10 * time.Second
)

// A Keystore keeps the audit keys of one home, sealed by the identity that seals
// its secrets. It is safe for concurrent use, also by several processes. Use
// [NewKeystore].
type Keystore struct {
	dir     string
	key     *secret.Key
	vault   *secret.Vault
	secrets *secret.Vault

	mu     sync.Mutex
	ring   *checkpoint.Keyring
	known  secret.Known
	loaded fs.FileInfo // of the file the ring was read from
}

var _ journal.Keys = (*Keystore)(nil)

// NewKeystore makes a Keystore that has its file in dir. secrets is what the same
// identity has sealed already: while one of those cannot be opened no key is
// made, because making it would make another identity.
func NewKeystore(dir string, identity *secret.Key, secrets *secret.Vault) *Keystore {
	return &Keystore{dir: dir, key: identity, vault: secret.Open(dir, identity), secrets: secrets}
}

// path is the file of the sealed keys.
func (k *Keystore) path() string { return filepath.Join(k.dir, keyName+".age") }

// Keyring returns the keys as they are now; nil when none was made yet. errors.Is
// finds [ErrNoKey] when there are some that cannot be had.
func (k *Keystore) Keyring(ctx context.Context) (*checkpoint.Keyring, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.read(ctx)
}

// read returns the keys, from the file when that has changed, and checks that
// the home is known by them.
func (k *Keystore) read(ctx context.Context) (*checkpoint.Keyring, error) {
	info, err := os.Stat(k.path())
	if absent.Is(err, k.path()) {
		return nil, k.missing(ctx)
	}
	if err != nil {
		return nil, fmt.Errorf("read the audit keys: %w", err)
	}
	if k.loaded == nil || !os.SameFile(info, k.loaded) || !info.ModTime().Equal(k.loaded.ModTime()) {
		k.loaded = nil
		if k.ring, err = k.open(ctx); err != nil {
			return nil, err
		}
	} else if !k.key.Anchors().Changed() {
		return k.ring, nil
	}
	known, err := k.key.Anchors().Load(ctx)
	if err == nil {
		err = follows(k.ring, known)
	}
	if err != nil {
		k.loaded = nil
		return nil, fmt.Errorf("%w: %w", ErrNoKey, err)
	}
	k.known, k.loaded = known, info
	return k.ring, nil
}

// open reads the keys from the file.
func (k *Keystore) open(ctx context.Context) (*checkpoint.Keyring, error) {
	b, err := k.vault.Get(ctx, keyName)
	if errors.Is(err, secret.ErrDamaged) {
		return nil, fmt.Errorf("%w: %s is damaged, or sealed by another identity", ErrNoKey, k.path())
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNoKey, err)
	}
	ring, err := checkpoint.ReadKeyring(b)
	if err != nil {
		return nil, fmt.Errorf("%w: %s: %w", ErrNoKey, k.path(), err)
	}
	return ring, nil
}

// missing is asked when there is no file with keys, which is right only for a
// home that never had one.
func (k *Keystore) missing(ctx context.Context) error {
	known, err := k.key.Anchors().Load(ctx)
	if err == nil && len(known.Anchors) > 0 {
		name, _, _ := strings.Cut(known.Anchors[0].AuditKey, "+")
		err = fmt.Errorf("%w: %s is missing, and %s says that the home signs with a key of %s", secret.ErrReplaced, k.path(), known.Locations[0], name)
	}
	if err != nil {
		return fmt.Errorf("%w: %w", ErrNoKey, err)
	}
	return nil
}

// follows checks that the keys are those the home is known by, or follow from
// them.
func follows(ring *checkpoint.Keyring, known secret.Known) error {
	for i, a := range known.Anchors {
		pinned, err := checkpoint.ReadPublic([]byte(a.AuditKey), ring.Name())
		if err == nil {
			_, err = checkpoint.Succession(ring.Keys, pinned)
		}
		if err != nil {
			return fmt.Errorf("%w: the audit log would be signed with %s, and %s says %s: %w", secret.ErrReplaced, ring.Current(), known.Locations[i], a.AuditKey, err)
		}
	}
	return nil
}

// pin records that the home is known by its keys. found says that the key was
// there before.
func (k *Keystore) pin(ctx context.Context, ring *checkpoint.Keyring, log string, signed uint64, found bool) error {
	if err := k.key.Pin(ctx, ring.Current().String(), log, signed, found); err != nil {
		return fmt.Errorf("%w: %w", ErrNoKey, err)
	}
	return nil
}

// Signed is the number of an entry up to which a part of the log is known to be
// signed; 0 when that is not known.
func (k *Keystore) Signed(ctx context.Context, log string) (uint64, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if _, err := k.read(ctx); err != nil {
		return 0, err
	}
	return k.known.Signed(log), nil
}

// Remember records that the home is known by a part of its log that is signed up to entry
// n; 0 forgets about that part.
func (k *Keystore) Remember(ctx context.Context, log string, n uint64) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	ring, err := k.read(ctx)
	if err != nil || ring == nil {
		return err
	}
	return k.pin(ctx, ring, log, n, true)
}

// Known is what the home is known by. It fails when its keys are others.
func (k *Keystore) Known(ctx context.Context) (secret.Known, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	_, err := k.read(ctx)
	return k.known, err
}

// Make returns the keys, and makes the first one when there is none.
func (k *Keystore) Make(ctx context.Context) (*checkpoint.Keyring, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if r, err := k.read(ctx); err != nil {
		return nil, err
	} else if r != nil {
		return r, k.confirm(ctx, r)
	}
	return k.change(ctx, func(r *checkpoint.Keyring) (*checkpoint.Keyring, error) {
		if r != nil {
			return r, nil // another process was first
		}
		if err := k.checkIdentity(ctx); err != nil {
			return nil, err
		}
		return checkpoint.NewKeyring(time.Now())
	})
}

// confirm writes down what the home is known by, where that is not written, or
// says something older.
func (k *Keystore) confirm(ctx context.Context, ring *checkpoint.Keyring) error {
	confirmed, err := k.key.Pinned(ctx, ring.Current().String())
	if err != nil || confirmed {
		return err
	}
	return k.alone(ctx, func() error {
		ring, err := k.read(ctx)
		if err != nil {
			return err
		}
		return k.pin(ctx, ring, "", 0, true)
	})
}

// checkIdentity refuses to make a key while the identity that sealed the secrets
// is out of reach.
func (k *Keystore) checkIdentity(ctx context.Context) error {
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
func (k *Keystore) Rotate(ctx context.Context, resign func(context.Context) error) (*checkpoint.Keyring, error) {
	if _, err := k.Make(ctx); err != nil {
		return nil, err
	}
	if _, err := k.locked(ctx, func(r *checkpoint.Keyring) (*checkpoint.Keyring, error) { return r.Rotated(time.Now()) }); err != nil {
		return nil, err
	}
	if err := resign(ctx); err != nil {
		return nil, fmt.Errorf("sign with the new audit key: %w", err)
	}
	return k.locked(ctx, func(r *checkpoint.Keyring) (*checkpoint.Keyring, error) { return r.RetireOld(), nil })
}

func (k *Keystore) locked(ctx context.Context, fn func(*checkpoint.Keyring) (*checkpoint.Keyring, error)) (*checkpoint.Keyring, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.change(ctx, fn)
}

// alone does what no other process may do at the same time.
func (k *Keystore) alone(ctx context.Context, do func() error) error {
	if err := os.MkdirAll(k.dir, 0o700); err != nil {
		return fmt.Errorf("make an audit key: %w", err)
	}
	lock, err := filelock.Acquire(ctx, filepath.Join(k.dir, lockName), lockWait)
	if err != nil {
		return fmt.Errorf("make an audit key: %w", err)
	}
	return errors.Join(do(), lock.Release())
}

// change replaces the keys by what fn makes of them, while no other process
// does.
func (k *Keystore) change(ctx context.Context, fn func(*checkpoint.Keyring) (*checkpoint.Keyring, error)) (ring *checkpoint.Keyring, err error) {
	err = k.alone(ctx, func() error {
		old, err := k.read(ctx)
		if err != nil {
			return err
		}
		if ring, err = fn(old); err != nil || ring == old {
			return err
		}
		ring, err = k.write(ctx, ring, old != nil)
		return err
	})
	if err != nil {
		return nil, err
	}
	return ring, nil
}

// write keeps new keys, and records that the home is known by them.
func (k *Keystore) write(ctx context.Context, ring *checkpoint.Keyring, found bool) (*checkpoint.Keyring, error) {
	b, err := json.Marshal(ring)
	if err != nil {
		return nil, fmt.Errorf("make an audit key: %w", err)
	}
	if err := k.vault.Set(ctx, keyName, b); err != nil {
		return nil, fmt.Errorf("make an audit key: %w", err)
	}
	if err := k.pin(ctx, ring, "", 0, found); err != nil {
		return nil, err
	}
	return k.read(ctx)
}

// Renew makes a new key in place of one that is missing, or is another than the
// home is known by, because a person decided that. What lay in its place is set
// aside, under the names that are returned. What the home is known by about its
// log is forgotten: the log has to be signed anew. It fails while there are
// secrets that cannot be opened.
func (k *Keystore) Renew(ctx context.Context) (ring *checkpoint.Keyring, aside []string, err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	err = k.alone(ctx, func() error {
		if ring, aside, err = k.renew(ctx); err != nil {
			return fmt.Errorf("make a new audit key: %w", err)
		}
		return nil
	})
	return ring, aside, err
}

func (k *Keystore) renew(ctx context.Context) (*checkpoint.Keyring, []string, error) {
	var aside []string
	name, err := k.key.SetAside(ctx)
	if name != "" {
		aside = append(aside, name)
	}
	if err == nil {
		err = k.checkSealed(ctx)
	}
	if err != nil {
		return nil, aside, err
	}
	name = k.path() + ".aside-" + time.Now().UTC().Format("20060102-150405.000000")
	if err := os.Rename(k.path(), name); err == nil {
		aside = append(aside, name)
	} else if !errors.Is(err, fs.ErrNotExist) {
		return nil, aside, err
	}
	k.loaded = nil
	ring, err := checkpoint.NewKeyring(time.Now())
	if err == nil {
		ring, err = k.write(ctx, ring, false)
	}
	return ring, aside, err
}

// checkSealed refuses to make another identity in place of one that is lost
// while there is something else that it sealed.
func (k *Keystore) checkSealed(ctx context.Context) error {
	for _, v := range []*secret.Vault{k.secrets, k.vault} {
		infos, err := v.List(ctx)
		if err != nil {
			return err
		}
		for _, s := range infos {
			if _, err := v.Texts(ctx, s.Name); err != nil && (v != k.vault || s.Name != keyName) {
				return fmt.Errorf("%s cannot be opened: bring back the identity that sealed it, or delete it: %w", v.File(s.Name), err)
			}
		}
	}
	return nil
}
