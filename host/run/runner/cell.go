package runner

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/skillet-run/skillet/host/base/store"
)

// A cell is one small value in the store that several processes change. The
// zero value of T is kept by keeping nothing.
type cell[T comparable] struct {
	kv  store.KV
	key string
}

// cellTries is how often a change is tried that others get in the way of.
const cellTries = 50

// read returns the value. One that cannot be read counts as the zero value: what
// is kept in cells can be found out again.
func (c cell[T]) read(ctx context.Context) (value T, revision uint64, err error) {
	x, err := c.kv.Get(ctx, c.key)
	if errors.Is(err, store.ErrNotFound) {
		return value, store.MustNotExist, nil
	}
	if err != nil {
		return value, 0, err
	}
	if json.Unmarshal(x.Value, &value) != nil {
		var zero T
		value = zero
	}
	return value, x.Revision, nil
}

// update changes the value. change may be called several times, with what others
// wrote meanwhile.
func (c cell[T]) update(ctx context.Context, change func(T) T) error {
	for range cellTries {
		old, revision, err := c.read(ctx)
		if err != nil {
			return err
		}
		value := change(old)
		if value == old {
			return nil
		}
		if err = c.write(ctx, value, revision); err == nil || !errors.Is(err, store.ErrConflict) {
			return err
		}
	}
	return fmt.Errorf("change %s: %w", c.key, store.ErrConflict)
}

func (c cell[T]) write(ctx context.Context, value T, revision uint64) error {
	var zero T
	if value == zero {
		if err := c.kv.Delete(ctx, c.key, revision); !errors.Is(err, store.ErrNotFound) {
			return err
		}
		return nil
	}
	b, err := json.Marshal(value)
	if err != nil {
		return err
	}
	_, err = c.kv.Put(ctx, c.key, b, revision)
	return err
}
