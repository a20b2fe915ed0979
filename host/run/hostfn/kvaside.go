package hostfn

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/skillet-run/skillet/host/base/store"
	"github.com/skillet-run/skillet/policies"
)

// ErrNoFormerState means that nothing of that schema version was put aside.
var ErrNoFormerState = errors.New("nothing of that schema version was put aside")

// A formerState is a generation of a skill's state that does not count now, and can count again: what was there
// before a migration, or before the state was taken back to that.
type formerState struct {
	Schema     int    `json:"schema"`
	Generation string `json:"generation,omitempty"`
	Bytes      int64  `json:"bytes"`
	// Unlike is the digest of what took its place, as it was at that time: while that is the same, nothing is
	// lost when this takes its place again.
	Unlike string `json:"unlike,omitempty"`
}

// maxFormer is how many generations are kept: each may be as large as the quota.
const maxFormer = 3

// valuesOf is what the keys of the values of a generation begin with.
func (s *state) valuesOf(generation string) string {
	other := state{scope: s.scope, generation: generation}
	return other.values()
}

// keepFormer returns what is aside once the generation that counts made room for one of schema version next:
// one generation of each schema version, the latest. unlike is the digest of what takes the place.
func (a account) keepFormer(next int, unlike string) []formerState {
	kept := []formerState{{a.Schema, a.Generation, a.Bytes, unlike}}
	for _, o := range a.Former {
		if o.Schema != a.Schema && o.Schema != next && len(kept) < maxFormer {
			kept = append(kept, o)
		}
	}
	return kept
}

// of returns the generation of a schema version that was put aside.
func (a account) of(schema int) (formerState, bool) {
	i := slices.IndexFunc(a.Former, func(o formerState) bool { return o.Schema == schema })
	if i < 0 {
		return formerState{}, false
	}
	return a.Former[i], true
}

// counts reports whether a key is of a generation that counts, or may count again.
func (s *state) counts(a account, key string) bool {
	if strings.HasPrefix(key, s.valuesOf(a.Generation)) {
		return true
	}
	return slices.ContainsFunc(a.Former, func(o formerState) bool { return strings.HasPrefix(key, s.valuesOf(o.Generation)) })
}

// digest is that of the values of a generation.
func (s *state) digest(ctx context.Context, generation string) (string, error) {
	prefix := s.valuesOf(generation)
	entries, err := s.kv.List(ctx, prefix)
	if err != nil {
		return "", err
	}
	h := sha256.New()
	for _, x := range entries {
		fmt.Fprintf(h, "%d %s %d ", len(x.Key)-len(prefix), x.Key[len(prefix):], len(x.Value))
		h.Write(x.Value)
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// swap makes a generation that was put aside the one that counts, by one write; the one that counted until
// then is put aside.
func (s *state) swap(ctx context.Context, a account, revision uint64, to formerState) error {
	unlike, err := s.digest(ctx, to.Generation)
	if err != nil {
		return err
	}
	next := account{Schema: to.Schema, Generation: to.Generation, Bytes: to.Bytes, Former: a.keepFormer(to.Schema, unlike)}
	_, err = s.write(ctx, next, revision)
	return err
}

// FormerSchemas returns the schema versions to which a skill's state can be taken back: those of the
// generations that migrations put aside.
func FormerSchemas(ctx context.Context, kv store.KV, p policies.Principal) ([]int, error) {
	s := &state{kv: kv, scope: scope(p)}
	if s.scope == "" {
		return nil, nil
	}
	a, _, err := s.read(ctx)
	if err != nil {
		return nil, err
	}
	var all []int
	for _, o := range a.Former {
		all = append(all, o.Schema)
	}
	return all, nil
}

// TakeBackState makes what a skill kept when its state had that schema version its state again. What it keeps
// now is put aside. It is one write: all of it, or nothing. It does nothing when that is the version of the
// state. Errors: [ErrNoFormerState], [ErrMoving] while somebody migrates, and those of the store.
func TakeBackState(ctx context.Context, kv store.KV, p policies.Principal, schema int) error {
	s := &state{kv: kv, scope: scope(p)}
	if s.scope == "" {
		return nil
	}
	return retry(func() error {
		a, revision, err := s.read(ctx)
		if err != nil || revision == store.MustNotExist || a.Schema == schema {
			return err
		}
		if v := a.Moving; v != nil && time.Now().UnixMilli() < v.Until {
			return fmt.Errorf("%w to schema version %d", ErrMoving, v.To)
		}
		to, ok := a.of(schema)
		if !ok {
			return fmt.Errorf("take the state back to schema version %d: %w", schema, ErrNoFormerState)
		}
		return s.swap(ctx, a, revision, to)
	})
}
