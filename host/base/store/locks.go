package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// locks is the Locks of a layered store.
type locks struct{ s *layered }

// lockRecord is a lock as it is stored. The deadline is part of the value: the
// expiry an engine may offer is too coarse for it.
type lockRecord struct {
	Owner string    `json:"owner"`
	Fence uint64    `json:"fence"`
	Until time.Time `json:"until"`
}

func lockKey(name string) string { return join("x", name) }

func getLock(r Reader, name string) (rec lockRecord, err error) {
	b, err := r.Get(lockKey(name))
	if err != nil {
		return rec, err
	}
	if err := json.Unmarshal(b, &rec); err != nil {
		return rec, fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	return rec, nil
}

func setLock(tx Tx, name string, rec lockRecord) error {
	b, err := json.Marshal(rec)
	if err != nil {
		return err
	}
	return tx.Set(lockKey(name), b)
}

func (l locks) Acquire(ctx context.Context, name, owner string, ttl time.Duration) (Lock, error) {
	err := errors.Join(checkName("lock", name), checkName("owner", owner))
	if err == nil && ttl <= 0 {
		err = fmt.Errorf("%w time to live %v", ErrInvalid, ttl)
	}
	if err != nil {
		return nil, fmt.Errorf("acquire lock %q: %w", name, err)
	}
	held := &lock{s: l.s, name: name, ttl: ttl}
	err = l.s.update(ctx, func(tx Tx) error {
		rec, err := getLock(tx, name)
		if err != nil && !errors.Is(err, ErrNotFound) {
			return err
		}
		if err == nil && time.Now().Before(rec.Until) {
			return fmt.Errorf("%w: %s, until %s", ErrHeld, rec.Owner, rec.Until.Format(time.RFC3339))
		}
		if held.fence, err = tx.Number(); err != nil {
			return err
		}
		return setLock(tx, name, lockRecord{Owner: owner, Fence: held.fence, Until: time.Now().Add(ttl)})
	})
	if err != nil {
		return nil, fmt.Errorf("acquire lock %q: %w", name, err)
	}
	return held, nil
}

// lock is a Lock of a layered store.
type lock struct {
	s     *layered
	name  string
	fence uint64
	ttl   time.Duration
}

func (l *lock) Fence() uint64 { return l.fence }

func (l *lock) Renew(ctx context.Context) error {
	return l.change(ctx, "renew", func(tx Tx, rec lockRecord) error {
		rec.Until = time.Now().Add(l.ttl)
		return setLock(tx, l.name, rec)
	})
}

func (l *lock) Release(ctx context.Context) error {
	return l.change(ctx, "release", func(tx Tx, _ lockRecord) error { return tx.Delete(lockKey(l.name)) })
}

// change calls fn when the lock is still this holder's.
func (l *lock) change(ctx context.Context, op string, fn func(Tx, lockRecord) error) error {
	err := l.s.update(ctx, func(tx Tx) error {
		rec, err := getLock(tx, l.name)
		if errors.Is(err, ErrNotFound) || err == nil && rec.Fence != l.fence {
			return ErrStale
		}
		if err != nil {
			return err
		}
		return fn(tx, rec)
	})
	if err != nil {
		return fmt.Errorf("%s lock %q: %w", op, l.name, err)
	}
	return nil
}
