package host

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

	"github.com/skillet-run/skillet/host/fault"

	"github.com/skillet-run/skillet/host/store/atomicfile"
	"github.com/skillet-run/skillet/host/store/filelock"
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
	Aside string `json:"aside"` // the name that the old store gets
}

// replaceStore has make look at the store, which nobody uses meanwhile, and make
// another beside it; when make says that it did, that takes its place.
func (h *Host) replaceStore(ctx context.Context, r *Renewal, make func(salvaged) (bool, error)) (err error) {
	turn, err := h.takeTurn(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, turn.Release()) }()
	if err := errors.Join(h.putInPlace(), os.RemoveAll(h.path(freshStore))); err != nil {
		return err
	}
	was, release, err := h.salvage(ctx, r)
	if err != nil {
		return errors.Join(err, h.reopen(ctx))
	}
	made, err := make(was)
	if err == nil && made {
		r.Aside, err = h.announce()
	}
	if err != nil || !made {
		return errors.Join(err, os.RemoveAll(h.path(freshStore)), release(), h.reopen(ctx))
	}
	return errors.Join(h.putInPlace(), release(), h.reopen(ctx))
}

func (h *Host) takeTurn(ctx context.Context) (*filelock.Lock, error) {
	return filelock.Acquire(ctx, h.path(storeTurn), seconds(h.Config.Settings().LockWaitSeconds))
}

// announce writes the mark, and returns where the old store will be.
func (h *Host) announce() (string, error) {
	aside := asideName()
	if _, err := os.Lstat(h.path("store")); errors.Is(err, fs.ErrNotExist) {
		aside = ""
	}
	b, err := json.Marshal(replacement{aside})
	if err == nil {
		err = atomicfile.SyncDir(h.Home)
	}
	if err == nil {
		err = atomicfile.Write(h.path(storeMark), append(b, '\n'))
	}
	if err != nil || aside == "" {
		return "", err
	}
	return h.path(aside), nil
}

// finishReplacement does the rest of what a process that died began.
func (h *Host) finishReplacement(ctx context.Context) error {
	if _, err := os.Lstat(h.path(storeMark)); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	turn, err := h.takeTurn(ctx)
	if err != nil {
		return err
	}
	return errors.Join(h.putInPlace(), turn.Release())
}

// putInPlace does what the mark says, as far as it was not done. The turn is held.
func (h *Host) putInPlace() error {
	b, err := os.ReadFile(h.path(storeMark))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	var to replacement
	if err == nil {
		err = json.Unmarshal(b, &to)
	}
	if err == nil && to.Aside != "" && (filepath.Base(to.Aside) != to.Aside || !strings.HasPrefix(to.Aside, asidePrefix)) {
		err = fmt.Errorf("%q is no name for a store that was", to.Aside)
	}
	if err != nil {
		return fault.Errorf(fault.KindVerification, "read %s: %w", h.path(storeMark), err).
			WithHint("a new store was complete and is in %s, the one as it was in %s or beside it: move one of them to %s, and delete the file", h.path(freshStore), h.path("store"), h.path("store"))
	}
	if err := h.rename(to.Aside); err != nil {
		return fmt.Errorf("put the new store in its place: %w", err)
	}
	return errors.Join(atomicfile.SyncDir(h.Home), os.Remove(h.path(storeMark)), atomicfile.SyncDir(h.Home))
}

// rename gives both stores their names, unless they have them already.
func (h *Host) rename(aside string) error {
	if _, err := os.Lstat(h.path(freshStore)); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if _, err := os.Lstat(h.path(aside)); aside == "" || err == nil {
		// What is there now came between: a command that began before the mark was
		// written made an empty one.
		aside = asideName()
	}
	if err := os.Rename(h.path("store"), h.path(aside)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return os.Rename(h.path(freshStore), h.path("store"))
}

// asideName is what a store is called that is kept aside now.
func asideName() string {
	return asidePrefix + strings.ReplaceAll(time.Now().UTC().Format("20060102-150405.000000"), ".", "-")
}

const asidePrefix = "store.aside-"

// reopen opens the store anew and wires everything to it.
func (h *Host) reopen(ctx context.Context) error {
	if err := h.openStore(ctx); err != nil {
		return err
	}
	h.wire()
	return h.SecretKey.Anchors().Refill(ctx)
}
