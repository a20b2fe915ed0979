package ledger

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/skillet-run/skillet/host/base/store"
)

// An Apply brings the store to the state after a change of one kind, as
// [Projection.Apply] says. [On] makes one.
type Apply func(ctx context.Context, kv store.KV, at Stamp, data json.RawMessage) error

// A Table is a [Projection] that says of each kind of change what it does.
type Table struct {
	// Name is what the part of the state is called in errors.
	Name string
	// State is what the keys of the state begin with.
	State []string
	// Kinds are the kinds of change that are the table's.
	Kinds map[string]Apply
}

// On is what is applied to the data of a change, which has the form of a T.
func On[T any](apply func(ctx context.Context, kv store.KV, at Stamp, v T) error) Apply {
	return func(ctx context.Context, kv store.KV, at Stamp, data json.RawMessage) error {
		var v T
		if err := json.Unmarshal(data, &v); err != nil {
			return err
		}
		return apply(ctx, kv, at, v)
	}
}

// Owns implements [Projection].
func (t Table) Owns(kind string) bool { return t.Kinds[kind] != nil }

// Keys implements [Projection].
func (t Table) Keys() []string { return t.State }

// Apply implements [Projection].
func (t Table) Apply(ctx context.Context, kv store.KV, at Stamp, c Change) error {
	apply := t.Kinds[c.Kind]
	if apply == nil {
		return fmt.Errorf("%s does not know changes of kind %q", t.Name, c.Kind)
	}
	return apply(ctx, kv, at, c.Data)
}

// Drop deletes a key that may be gone.
func Drop(ctx context.Context, kv store.KV, key string) error {
	err := kv.Delete(ctx, key, store.AnyRevision)
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	return err
}
