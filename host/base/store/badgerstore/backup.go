package badgerstore

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/hashicorp/go-hclog"

	"github.com/skillet-run/skillet/host/base/store"
	"github.com/skillet-run/skillet/host/base/store/backup"
)

// snapshot is the whole state of a store at one point.
type snapshot struct {
	reader
	tally tally
}

func (s *session) snapshot(fn func(snapshot) error) error {
	return s.view(func(r reader) error {
		t, err := r.tally()
		if errors.Is(err, store.ErrNotFound) {
			t, err = tally{}, nil
		}
		if err != nil {
			return err
		}
		return fn(snapshot{r, t})
	})
}

// Backup implements [store.Opened].
func (s *Store) Backup(ctx context.Context, w io.Writer) (store.Totals, error) {
	t, err := backup.Write(ctx, w, s.storeDir.options.Key, func(write func(backup.State) error) error {
		return s.engine.snapshot(ctx, func(now snapshot) error {
			return write(backup.State{Items: now.Scan("", ""), Count: now.tally.count, Number: now.tally.number})
		})
	}, s.Blobs())
	if err != nil {
		return store.Totals{}, fmt.Errorf("back up store %s: %w", s.storeDir.dir, err)
	}
	return t, nil
}

// Restore makes a store in dir from a backup; see [store.Backend].
func Restore(ctx context.Context, log hclog.Logger, r io.Reader, dir string, o Options) (store.Totals, error) {
	return backup.Restore(dir, func(part string) (store.Totals, error) {
		s, err := Open(log, part, o)
		if err != nil {
			return store.Totals{}, err
		}
		to := &restorer{ctx: ctx, store: s}
		t, err := backup.Read(r, o.Key, to)
		if err == nil {
			err = to.flush(t.Number)
		}
		return t, errors.Join(err, s.Close())
	})
}

// restorer writes what it is given to a store, in transactions of some size.
type restorer struct {
	ctx   context.Context
	store *Store
	items []store.Item
	size  int
}

// Bounds of a transaction; Badger's are not much larger.
const (
	restoreItems = 1000
	restoreBytes = 512 << 10
)

// Item implements [backup.Sink].
func (w *restorer) Item(key string, value []byte) error {
	if err := backup.CheckItem(key, value); err != nil {
		return err
	}
	w.items = append(w.items, store.Item{Key: key, Value: value})
	w.size += len(key) + len(value)
	if len(w.items) < restoreItems && w.size < restoreBytes {
		return nil
	}
	return w.flush(0)
}

func (w *restorer) flush(number uint64) error {
	err := w.store.engine.Update(w.ctx, func(t store.Tx) error {
		for _, it := range w.items {
			if err := t.Set(it.Key, it.Value); err != nil {
				return err
			}
		}
		own := t.(*tx)
		own.tally.number, own.wrote = max(number, own.tally.number), true
		return nil
	})
	w.items, w.size = nil, 0
	return err
}

// Blob implements [backup.Sink].
func (w *restorer) Blob(digest string, content []byte) error {
	return w.store.Blobs().Put(w.ctx, digest, content)
}
