// Package space watches how much of a disk is free, for backends of the store: on a full
// disk some of them would die, and all of them fail half way.
package space

import (
	"errors"
	"fmt"
	"syscall"

	"github.com/hashicorp/go-hclog"

	"github.com/skillet-run/skillet/host/base/store"
)

// A Watch looks at the disk that Dir is on.
type Watch struct {
	Log hclog.Logger
	Dir string
	// FreeBytes and WarnBytes are as in [store.Options], with their defaults filled in.
	FreeBytes, WarnBytes int64
	// Free is the free space of the file system that dir is on; nil means [Free].
	Free func(dir string) (int64, error)
}

func (w Watch) free() (int64, error) {
	if w.Free != nil {
		return w.Free(w.Dir)
	}
	return Free(w.Dir)
}

// Room returns [store.ErrReadOnly] when the disk is nearly full, or read-only.
func (w Watch) Room() error {
	free, err := w.free()
	if w.FreeBytes < 0 && !errors.Is(err, syscall.EROFS) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("store %s cannot be written to: %w", w.Dir, err)
	}
	if free < w.FreeBytes {
		return fmt.Errorf("store %s is %w: %d MiB are free on its disk, writing needs %d MiB: make room and try again", w.Dir, store.ErrReadOnly, free>>20, w.FreeBytes>>20)
	}
	return nil
}

// Warn logs that the disk is getting full, and reports whether it did.
func (w Watch) Warn() bool {
	if w.FreeBytes < 0 {
		return false
	}
	free, err := w.free()
	if err != nil || free >= w.WarnBytes {
		return false
	}
	w.Log.Warn("store: the disk is getting full", "dir", w.Dir, "free_mib", free>>20, "read_only_below_mib", w.FreeBytes>>20)
	return true
}
