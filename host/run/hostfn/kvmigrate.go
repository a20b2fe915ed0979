package hostfn

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/skillet-run/skillet/host/base/store"
	"github.com/skillet-run/skillet/policies"
)

// ErrMoving means that somebody else is bringing a skill's state to another schema version.
var ErrMoving = errors.New("the state is on the move")

// StateSchema returns the schema version of what a skill keeps. kept is false when it keeps nothing, which
// fits any version.
func StateSchema(ctx context.Context, kv store.KV, p policies.Principal) (version int, kept bool, err error) {
	s := &state{kv: kv, scope: scope(p)}
	if s.scope == "" {
		return 0, false, nil
	}
	a, revision, err := s.read(ctx)
	if err != nil || revision == store.MustNotExist {
		return 0, false, err
	}
	s.generation = a.Generation
	values, err := s.live(ctx)
	return a.Schema, len(values) > 0, err
}

// live returns the values that have not expired.
func (s *state) live(ctx context.Context) ([]store.Entry, error) {
	entries, err := s.kv.List(ctx, s.values())
	if err != nil {
		return nil, err
	}
	var all []store.Entry
	for _, x := range entries {
		if v, ok := unpack(x.Value); !ok || !v.expired() {
			all = append(all, x)
		}
	}
	return all, nil
}

// A Migration brings what a skill keeps from one schema version to another: all of it, or nothing.
type Migration struct {
	Principal policies.Principal
	// To is the schema version it is brought to.
	To int
	// QuotaBytes bounds what it may be afterwards.
	QuotaBytes int64
	// Lease is how long others wait for it. When it takes longer somebody else may begin again, and it
	// changes nothing.
	Lease time.Duration
	// Keep keeps the state that was there before, so that [TakeBackState] can restore it.
	Keep bool
	// Convert changes a copy of the state, which it finds in scratch as the state of Principal with version
	// To. When it fails, or the process dies, the state is what it was.
	Convert func(ctx context.Context, from int, scratch store.KV) error
}

// Run migrates. It does nothing when there is no state, or its version is To. Errors: [ErrMoving] while
// somebody else does it, that of Convert, and those of the store.
//
// While it runs, nothing can be written to the state. The new values are written beside the old ones, under
// a generation of their own, and one write of the account makes them the ones that count.
func (m Migration) Run(ctx context.Context, kv store.KV) error {
	s := &state{kv: kv, scope: scope(m.Principal), quota: m.QuotaBytes, schema: m.To}
	if s.scope == "" {
		return nil
	}
	before, mark, err := m.begin(ctx, s)
	if err != nil || mark == 0 {
		return err
	}
	if err := m.move(ctx, s, before, mark); err != nil {
		return m.giveUp(ctx, s, before, mark, err)
	}
	return nil
}

// move replaces the generation that counts, with the mark in hand.
func (m Migration) move(ctx context.Context, s *state, before account, mark uint64) error {
	s.generation = before.Generation
	again, err := s.unchangedSince(ctx, before, m.To)
	if err != nil {
		return err
	}
	if again != nil {
		return s.swap(ctx, before, mark, *again)
	}
	// What no account knows of is of migrations that were given up.
	if err := s.deleteAll(ctx, func(key string) bool { return !s.counts(before, key) }); err != nil {
		return err
	}
	after, err := m.copy(ctx, s, before, strconv.FormatUint(mark, 10))
	if err != nil {
		return err
	}
	if m.Keep {
		after.Former = before.keepFormer(m.To, "")
	}
	if _, err = s.write(ctx, after, mark); err != nil {
		return err
	}
	// Nobody reads the others any more; what stays is deleted by the next migration.
	_ = s.deleteAll(context.WithoutCancel(ctx), func(key string) bool { return s.counts(before, key) && !s.counts(after, key) })
	return nil
}

// unchangedSince returns what was put aside of that schema version, when the state was taken back from it and
// nothing was written since: nil when there is no such thing.
func (s *state) unchangedSince(ctx context.Context, a account, schema int) (*formerState, error) {
	o, ok := a.of(schema)
	if !ok || o.Unlike == "" {
		return nil, nil
	}
	now, err := s.digest(ctx, a.Generation)
	if err != nil || now != o.Unlike {
		return nil, err
	}
	return &o, nil
}

// giveUp leaves the state as it was. It works on after the call's end; when it fails, the lease ends by
// itself.
func (m Migration) giveUp(ctx context.Context, s *state, before account, mark uint64, err error) error {
	ctx = context.WithoutCancel(ctx)
	if _, lost := s.write(ctx, before, mark); errors.Is(lost, store.ErrConflict) {
		err = fmt.Errorf("%w: it took longer than %s, and somebody else has begun: %w", ErrMoving, m.Lease, err)
	}
	own := &state{scope: s.scope, generation: strconv.FormatUint(mark, 10)}
	_ = s.deleteAll(ctx, func(key string) bool { return strings.HasPrefix(key, own.values()) })
	return err
}

// begin marks the state as on the move; the mark is the revision of that, 0 when there is nothing to do.
func (m Migration) begin(ctx context.Context, s *state) (before account, mark uint64, err error) {
	err = retry(func() error {
		var revision uint64
		before, revision, err = s.read(ctx)
		if err != nil || revision == store.MustNotExist || before.Schema == m.To {
			return err
		}
		now := time.Now()
		if v := before.Moving; v != nil && now.UnixMilli() < v.Until {
			return fmt.Errorf("%w to schema version %d", ErrMoving, v.To)
		}
		before.Moving = nil
		marked := before
		marked.Moving = &moving{To: m.To, Until: now.Add(m.Lease).UnixMilli()}
		mark, err = s.write(ctx, marked, revision)
		return err
	})
	return before, mark, err
}

// copy writes the converted values as a generation of their own, and returns the account that makes them
// count.
func (m Migration) copy(ctx context.Context, s *state, before account, generation string) (account, error) {
	scratch := store.Memory()
	defer scratch.Close()
	temporary := &state{kv: scratch.KV(), scope: s.scope, quota: s.quota, schema: m.To}
	old, err := s.live(ctx)
	if err != nil {
		return account{}, err
	}
	if err := temporary.fill(ctx, old, len(s.values())); err != nil {
		return account{}, err
	}
	if len(old) > 0 {
		if err := m.Convert(ctx, before.Schema, scratch.KV()); err != nil {
			return account{}, err
		}
	}
	values, err := temporary.live(ctx)
	if err != nil {
		return account{}, err
	}
	fresh := &state{kv: s.kv, scope: s.scope, generation: generation}
	after := account{Schema: m.To, Generation: generation}
	for _, x := range values {
		key := fresh.values() + strings.TrimPrefix(x.Key, temporary.values())
		if _, err := s.kv.Put(ctx, key, x.Value, store.AnyRevision); err != nil {
			return account{}, err
		}
		after.Bytes += fresh.cost(key, x.Value)
	}
	return after, nil
}

// fill puts values into an empty state, as they are. cut is how long the beginnings of their keys are.
func (s *state) fill(ctx context.Context, values []store.Entry, cut int) error {
	a := account{Schema: s.schema}
	for _, x := range values {
		key := s.values() + x.Key[cut:]
		if _, err := s.kv.Put(ctx, key, x.Value, store.MustNotExist); err != nil {
			return err
		}
		a.Bytes += s.cost(key, x.Value)
	}
	_, err := s.write(ctx, a, store.MustNotExist)
	return err
}
