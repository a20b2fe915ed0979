package upkeep

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/skillet-run/skillet/host/base/fault"
	"github.com/skillet-run/skillet/internal/duration"

	"github.com/skillet-run/skillet/host/base/store"
	"github.com/skillet-run/skillet/host/base/store/atomicfile"
	"github.com/skillet-run/skillet/host/base/store/filelock"
)

// How a store takes the place of another, so that a process which dies at any moment
// leaves one of both, whole: the new one is made beside the old, and synced. Then a
// mark is written, which says where the old one goes. Then both are renamed, and the
// mark is deleted. Whoever finds the mark does the rest. Without the mark what is
// beside the store is not complete, and is deleted by the next that makes one.
const (
	freshStore = "store.new"
	storeMark  = "store.replacing"
	storeTurn  = "store.turn" // locked by who makes a store
)

// replacement is what the mark says.
type replacement struct {
	Backup string `json:"aside"` // the name that the old store gets
}

// replaceStore has make look at the store, which nobody uses meanwhile, and make
// another beside it; when make says that it did, that takes its place.
func (s *Service) replaceStore(ctx context.Context, r *RebuildReport, make func(salvaged) (bool, error)) (err error) {
	if err := alone(ctx, s.Home); err != nil {
		return err
	}
	turn, err := s.slot().takeTurn(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, turn.Release()) }()
	if err := errors.Join(s.slot().putInPlace(), os.RemoveAll(s.path(freshStore))); err != nil {
		return err
	}
	was, release, err := s.salvage(ctx, r)
	if err != nil {
		return errors.Join(err, s.reopenAsItWas(ctx))
	}
	made, err := make(was)
	if err == nil && made {
		r.Backup, err = s.slot().announce()
	}
	if err != nil || !made {
		return errors.Join(err, os.RemoveAll(s.path(freshStore)), release(), s.reopenAsItWas(ctx))
	}
	return errors.Join(s.slot().putInPlace(), release(), s.reopen(ctx))
}

// slot is where the store of a home is.
type slot struct {
	home string
	wait time.Duration // for others that make a store
}

func (p slot) path(name string) string { return filepath.Join(p.home, name) }

func (s *Service) slot() slot {
	return slot{s.Home, duration.OfSeconds(s.Config.Settings().LockWaitSeconds)}
}

func (p slot) takeTurn(ctx context.Context) (*filelock.Lock, error) {
	return filelock.Acquire(ctx, p.path(storeTurn), p.wait)
}

// announce writes the mark, and returns where the old store will be.
func (p slot) announce() (string, error) {
	aside := backupName()
	if _, err := os.Lstat(p.path("store")); errors.Is(err, fs.ErrNotExist) {
		aside = ""
	}
	b, err := json.Marshal(replacement{aside})
	if err == nil {
		err = atomicfile.SyncDir(p.home)
	}
	if err == nil {
		err = atomicfile.Write(p.path(storeMark), append(b, '\n'))
	}
	if err != nil || aside == "" {
		return "", err
	}
	return p.path(aside), nil
}

// finish does the rest of what a process that died began.
func (p slot) finish(ctx context.Context) error {
	if _, err := os.Lstat(p.path(storeMark)); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	turn, err := p.takeTurn(ctx)
	if err != nil {
		return err
	}
	return errors.Join(p.putInPlace(), turn.Release())
}

// putInPlace does what the mark says, as far as it was not done. The turn is held.
func (p slot) putInPlace() error {
	b, err := os.ReadFile(p.path(storeMark))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	var to replacement
	if err == nil {
		err = json.Unmarshal(b, &to)
	}
	if err == nil && to.Backup != "" && (filepath.Base(to.Backup) != to.Backup || !strings.HasPrefix(to.Backup, backupPrefix)) {
		err = fmt.Errorf("%q is not a name for a store that was", to.Backup)
	}
	if err != nil {
		return fault.Errorf(fault.KindVerification, "read %s: %w", p.path(storeMark), err).
			WithHint("a new store was complete and is in %s, the one as it was in %s or beside it: move one of them to %s, and delete the file", p.path(freshStore), p.path("store"), p.path("store"))
	}
	if err := p.rename(to.Backup); err != nil {
		return fmt.Errorf("put the new store in its place: %w", err)
	}
	return errors.Join(atomicfile.SyncDir(p.home), os.Remove(p.path(storeMark)), atomicfile.SyncDir(p.home))
}

// rename gives both stores their names, unless they have them already.
func (p slot) rename(aside string) error {
	if _, err := os.Lstat(p.path(freshStore)); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if _, err := os.Lstat(p.path(aside)); aside == "" || err == nil {
		// What is there now came between: a command that began before the mark was
		// written made an empty one.
		aside = backupName()
	}
	if err := os.Rename(p.path("store"), p.path(aside)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return os.Rename(p.path(freshStore), p.path("store"))
}

// backupName is a new name for the store that is replaced.
func backupName() string {
	return backupPrefix + strings.ReplaceAll(time.Now().UTC().Format("20060102-150405.000000"), ".", "-")
}

const backupPrefix = "store.aside-"

// reopen opens the store of the home again, and uses that from now on.
func (s *Service) reopen(ctx context.Context) error {
	parts, err := s.Reopen(ctx)
	if parts.Store != nil {
		s.Parts = parts
	}
	return err
}

// reopenAsItWas is reopen for a store that nothing was done to. It returns nil for one that
// is damaged, as it was before.
func (s *Service) reopenAsItWas(ctx context.Context) error {
	if err := s.reopen(ctx); !errors.Is(err, store.ErrDamaged) {
		return err
	}
	return nil
}
