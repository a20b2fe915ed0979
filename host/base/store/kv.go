package store

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
)

const kvPrefix = "k" + sep

// keyValues is the KV of a layered store.
type keyValues struct{ s *layered }

func readEntry(key string, value []byte) (Entry, error) {
	if len(value) < 8 {
		return Entry{}, fmt.Errorf("%w: the value has no revision", ErrDamaged)
	}
	rev, err := parseNumber(string(value[:8]))
	return Entry{Key: key, Value: append([]byte{}, value[8:]...), Revision: rev}, err
}

func getEntry(r Reader, key string) (Entry, error) {
	v, err := r.Get(kvPrefix + key)
	if err != nil {
		return Entry{}, err
	}
	return readEntry(key, v)
}

func (k keyValues) Get(ctx context.Context, key string) (e Entry, err error) {
	if err = checkName("key", key); err == nil {
		err = k.s.view(ctx, func(r Reader) error { e, err = getEntry(r, key); return err })
	}
	if err != nil {
		return Entry{}, fmt.Errorf("get %q: %w", key, err)
	}
	return e, nil
}

// expect checks that the revision of key is prev.
func expect(r Reader, key string, prev uint64) error {
	e, err := getEntry(r, key)
	if err != nil && !errors.Is(err, ErrNotFound) {
		return err
	}
	if prev != AnyRevision && e.Revision != prev {
		return ErrConflict
	}
	return nil
}

func (k keyValues) Put(ctx context.Context, key string, value []byte, prev uint64) (rev uint64, err error) {
	if err := errors.Join(checkName("key", key), checkSize("value", value)); err != nil {
		return 0, fmt.Errorf("put %q: %w", key, err)
	}
	err = k.s.update(ctx, func(tx Tx) error {
		if err := expect(tx, key, prev); err != nil {
			return err
		}
		if rev, err = tx.Number(); err != nil {
			return err
		}
		return tx.Set(kvPrefix+key, append([]byte(number(rev)), value...))
	})
	if err != nil {
		return 0, fmt.Errorf("put %q: %w", key, err)
	}
	return rev, nil
}

func (k keyValues) Delete(ctx context.Context, key string, prev uint64) error {
	err := checkName("key", key)
	if err == nil {
		err = k.s.update(ctx, func(tx Tx) error {
			e, err := getEntry(tx, key)
			if err != nil {
				return err
			}
			if prev != AnyRevision && e.Revision != prev {
				return ErrConflict
			}
			return tx.Delete(kvPrefix + key)
		})
	}
	if err != nil {
		return fmt.Errorf("delete %q: %w", key, err)
	}
	return nil
}

func (k keyValues) List(ctx context.Context, prefix string) (all []Entry, err error) {
	err = k.s.view(ctx, func(r Reader) error {
		all = nil
		for it, err := range r.Scan(kvPrefix+prefix, "") {
			if err != nil {
				return err
			}
			e, err := readEntry(strings.TrimPrefix(it.Key, kvPrefix), it.Value)
			if err != nil {
				return fmt.Errorf("%q: %w", it.Key, err)
			}
			all = append(all, e)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("list %q: %w", prefix, err)
	}
	return all, nil
}

func (k keyValues) Watch(ctx context.Context, prefix string) (<-chan Entry, error) {
	w := &watcher{keyValues: k, prefix: prefix, out: make(chan Entry, 16), sent: map[string]uint64{}}
	current, err := w.begin(ctx)
	if err == nil {
		err = k.s.hub.spawn(func() { w.run(ctx, current) })
	}
	if err != nil {
		return nil, fmt.Errorf("watch %q: %w", prefix, err)
	}
	return w.out, nil
}

// watcher sends what changed since it last looked.
type watcher struct {
	keyValues
	prefix string
	out    chan Entry
	on     *listener
	sent   map[string]uint64 // revision of each key as it was sent
}

func (w *watcher) begin(ctx context.Context) (current []Entry, err error) {
	if w.on, err = w.s.hub.listen(kvPrefix + w.prefix); err != nil {
		return nil, err
	}
	if current, err = w.List(ctx, w.prefix); err != nil {
		w.s.hub.drop(w.on)
	}
	return current, err
}

func (w *watcher) run(ctx context.Context, current []Entry) {
	defer close(w.out)
	defer w.s.hub.drop(w.on)
	for ok := w.sendNew(ctx, current); ok; {
		keys, all, err := w.s.hub.wait(ctx, w.on, time.Time{})
		switch {
		case err != nil:
			return
		case all:
			ok = w.lookAtAll(ctx)
		default:
			ok = w.lookAt(ctx, keys)
		}
	}
}

func (w *watcher) sendNew(ctx context.Context, entries []Entry) bool {
	for _, e := range entries {
		if w.sent[e.Key] == e.Revision {
			continue
		}
		if !send(ctx, w.s.hub, w.out, e) {
			return false
		}
		w.sent[e.Key] = e.Revision
	}
	return true
}

func (w *watcher) sendGone(ctx context.Context, key string) bool {
	if _, was := w.sent[key]; !was {
		return true
	}
	delete(w.sent, key)
	return send(ctx, w.s.hub, w.out, Entry{Key: key})
}

func (w *watcher) lookAtAll(ctx context.Context) bool {
	now, err := w.List(ctx, w.prefix)
	if err != nil {
		return false
	}
	there := make(map[string]bool, len(now))
	for _, e := range now {
		there[e.Key] = true
	}
	for key := range w.sent {
		if !there[key] && !w.sendGone(ctx, key) {
			return false
		}
	}
	return w.sendNew(ctx, now)
}

func (w *watcher) lookAt(ctx context.Context, keys []string) bool {
	for _, k := range keys {
		key := strings.TrimPrefix(k, kvPrefix)
		e, err := w.Get(ctx, key)
		ok := false
		switch {
		case err == nil:
			ok = w.sendNew(ctx, []Entry{e})
		case errors.Is(err, ErrNotFound):
			ok = w.sendGone(ctx, key)
		}
		if !ok {
			return false
		}
	}
	return true
}
