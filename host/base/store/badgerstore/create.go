package badgerstore

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/hashicorp/go-hclog"

	"github.com/skillet-run/skillet/host/base/store"
	"github.com/skillet-run/skillet/host/base/store/atomicfile"
)

// Create makes a store of items, by the keys of the engine, in a directory that must
// not be there: fs.ErrExist. number is not below any that the items show to have been
// given out. When it returns nil the store is closed, and on the disk.
func Create(ctx context.Context, log hclog.Logger, dir string, o Options, items []store.Item, number uint64) error {
	if _, err := os.Lstat(dir); !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("create store %s: %w", dir, errors.Join(err, fs.ErrExist))
	}
	s, err := Open(log, dir, o)
	if err != nil {
		return err
	}
	to := &restorer{ctx: ctx, store: s}
	for _, it := range items {
		if err = errors.Join(ctx.Err(), to.Item(it.Key, it.Value)); err != nil {
			break
		}
	}
	if err == nil {
		err = to.flush(number)
	}
	if err = errors.Join(err, s.Close()); err == nil {
		err = atomicfile.SyncTree(dir)
	}
	if err != nil {
		return fmt.Errorf("create store %s: %w", dir, err)
	}
	return nil
}

// Items returns everything in the store, by the keys of the engine, in their order.
func (s *Store) Items(ctx context.Context) (all []store.Item, err error) {
	err = s.engine.View(ctx, func(r store.Reader) error {
		for it, err := range r.Scan("", "") {
			if err := errors.Join(ctx.Err(), err); err != nil {
				return err
			}
			all = append(all, it)
		}
		return nil
	})
	return all, err
}
