package approval

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/skillet-run/skillet/host/base/store"
)

// stored wraps a value with the version of its stored form.
//
// In form 1 a proposal had no end, no steps and no type but new_skill and
// modify_skill, and "approved" meant that it is in force; grants had no
// conditions.
type stored[T any] struct {
	V     int `json:"v"`
	Value T   `json:"value"`
}

const storedVersion = 2

func encode[T any](v T) ([]byte, error) { return json.Marshal(stored[T]{storedVersion, v}) }

func decode[T any](e store.Entry) (T, error) {
	var s stored[T]
	if err := json.Unmarshal(e.Value, &s); err != nil {
		return s.Value, fmt.Errorf("read %s: %w: %w", e.Key, store.ErrDamaged, err)
	}
	switch p := any(&s.Value).(type) {
	case *Proposal:
		if s.V == 1 {
			p.migrate()
		}
	}
	if s.V < 1 || s.V > storedVersion {
		return s.Value, fmt.Errorf("read %s: it has format %d, this skillet knows %d: use the skillet that wrote it, or a newer one", e.Key, s.V, storedVersion)
	}
	return s.Value, nil
}

// migrate brings a proposal of form 1 to the present one.
func (p *Proposal) migrate() {
	p.Status = formerly(p.Status)
	if p.ExpiresAt.IsZero() {
		p.ExpiresAt = p.CreatedAt.Add(DefaultExpiry)
	}
}

// formerly is what a status of form 1 means: approving and applying were one.
func formerly(s Status) Status {
	if s == StatusApproved {
		return StatusApplied
	}
	return s
}

func put[T any](ctx context.Context, kv store.KV, key string, v T) error {
	b, err := encode(v)
	if err != nil {
		return err
	}
	_, err = kv.Put(ctx, key, b, store.AnyRevision)
	return err
}

func get[T any](ctx context.Context, kv store.KV, key string) (T, error) {
	e, err := kv.Get(ctx, key)
	if err != nil {
		var zero T
		return zero, fmt.Errorf("read %s: %w", key, err)
	}
	return decode[T](e)
}

func list[T any](ctx context.Context, kv store.KV, prefix string) ([]T, error) {
	entries, err := kv.List(ctx, prefix)
	if err != nil {
		return nil, err
	}
	vs := make([]T, 0, len(entries))
	for _, e := range entries {
		v, err := decode[T](e)
		if err != nil {
			return nil, err
		}
		vs = append(vs, v)
	}
	return vs, nil
}
