package ledger

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/skillet-run/skillet/host/base/store"
)

// rehearse applies the changes of a decision to a copy that is thrown away.
// What is in the journal has to be applicable: one change the store would not
// take, because it is too large or speaks of what is not there, would stand in
// the way of every later decision.
func (l *Ledger) rehearse(ctx context.Context, d Decision) error {
	scratch := store.Memory()
	defer scratch.Close()
	kv := &rehearsal{KV: scratch.KV(), beneath: l.kv, gone: map[string]bool{}}
	at := Stamp{Time: time.Now().UTC(), Actor: d.Actor}
	for _, c := range d.Changes {
		p, err := l.owner(c.Kind)
		if err != nil {
			return err
		}
		kv.owner = p
		if err := p.Apply(ctx, kv, at, c); err != nil {
			return fmt.Errorf("%s: %s: %w", d.Kind, c.Kind, err)
		}
	}
	return nil
}

// rehearsal is a KV that keeps what is written to it apart from the one
// beneath, and checks it as any store does.
type rehearsal struct {
	store.KV // what was written
	beneath  store.KV
	owner    Projection // of the change that is applied
	gone     map[string]bool
}

func (r *rehearsal) Get(ctx context.Context, key string) (store.Entry, error) {
	e, err := r.KV.Get(ctx, key)
	if !errors.Is(err, store.ErrNotFound) || r.gone[key] {
		return e, err
	}
	return r.beneath.Get(ctx, key)
}

// mine refuses a key that is not one of the projection's: [Ledger.Makes] would not
// know it.
func (r *rehearsal) mine(key string) error {
	if holds(r.owner, key) {
		return nil
	}
	return fmt.Errorf("the key %s is not one of its projection's", key)
}

func (r *rehearsal) Put(ctx context.Context, key string, value []byte, prev uint64) (uint64, error) {
	if err := r.mine(key); err != nil {
		return 0, err
	}
	delete(r.gone, key)
	return r.KV.Put(ctx, key, value, prev)
}

func (r *rehearsal) Delete(ctx context.Context, key string, prev uint64) error {
	if err := r.mine(key); err != nil {
		return err
	}
	if _, err := r.Get(ctx, key); err != nil {
		return err
	}
	r.gone[key] = true
	err := r.KV.Delete(ctx, key, prev)
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	return err
}

func (r *rehearsal) List(ctx context.Context, prefix string) ([]store.Entry, error) {
	all, err := r.KV.List(ctx, prefix)
	if err != nil {
		return nil, err
	}
	written := len(all)
	old, err := r.beneath.List(ctx, prefix)
	for _, e := range old {
		if !r.gone[e.Key] && !slices.ContainsFunc(all[:written], func(w store.Entry) bool { return w.Key == e.Key }) {
			all = append(all, e)
		}
	}
	slices.SortFunc(all, func(a, b store.Entry) int { return strings.Compare(a.Key, b.Key) })
	return all, err
}
