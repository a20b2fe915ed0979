package badgerstore

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"sync"
	"sync/atomic"

	"github.com/dgraph-io/badger/v4"

	"github.com/skillet-run/skillet/host/base/store"
)

// Badger's keys; see the package comment.
const (
	tallyKey   = "m"
	dataPrefix = "d"
)

// session is the database, opened and checked, while the lock is held.
type session struct {
	storeDir *storeDir
	db       *badger.DB
	mode     mode

	spoiled atomic.Bool // damage was met: what is there must not be sealed

	mu     sync.Mutex // held by the transaction that writes
	tally  tally
	head   *os.File // HEAD, open for writing; nil unless readWrite
	warned bool     // whether little free space was logged
}

// begin makes a session of an opened database and compares the tally with
// what was acknowledged.
func (p *storeDir) begin(db *badger.DB, m mode, h head) (*session, error) {
	s := &session{storeDir: p, db: db, mode: m}
	err := s.view(func(r reader) error {
		t, err := r.tally()
		s.tally = t
		return err
	})
	if errors.Is(err, store.ErrNotFound) {
		s.tally, err = tally{format: uint16(p.format())}, nil
	}
	if err != nil {
		return nil, err
	}
	if s.tally.commits < h.Commits {
		return nil, p.damage(nil, "%s: %d transactions were acknowledged, the last one that is there is number %d", dbName, h.Commits, s.tally.commits)
	}
	if m != readWrite {
		return s, nil
	}
	s.head, err = os.OpenFile(p.path(headName), os.O_WRONLY, 0)
	return s, err
}

// end closes the database and seals it.
func (s *session) end() error {
	err := closeBadger(s.db)
	if errors.Is(err, errUnflushed) {
		s.storeDir.log.Warn("store: the disk is full; nothing is lost: the store is brought in order when it is opened and there is room", "dir", s.storeDir.dir)
		return s.head.Close() // without a seal, as after a crash
	}
	if err != nil {
		err = s.storeDir.damage(err, "%s could not be closed: %v", dbName, err)
	}
	if s.mode == readOnly {
		return err
	}
	if err == nil && !s.spoiled.Load() {
		err = s.storeDir.writeSeal(s.tally.commits)
	}
	return errors.Join(err, s.head.Close())
}

// damage is that of the place, and spoils the session.
func (s *session) damage(cause error, format string, args ...any) error {
	s.spoiled.Store(true)
	return s.storeDir.damage(cause, format, args...)
}

func (s *session) view(fn func(reader) error) error {
	txn, err := s.transaction(false)
	if err != nil {
		return err
	}
	defer s.discard(txn)
	return fn(reader{s, txn})
}

func (s *session) transaction(write bool) (txn *badger.Txn, err error) {
	err = guard(func() error { txn = s.db.NewTransaction(write); return nil })
	return txn, s.engineError(err)
}

func (s *session) discard(txn *badger.Txn) {
	if err := guard(func() error { txn.Discard(); return nil }); err != nil {
		s.storeDir.log.Debug("discard a transaction", "error", err)
	}
}

// engineError makes the store's errors of Badger's.
func (s *session) engineError(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, badger.ErrKeyNotFound):
		return store.ErrNotFound
	case errors.Is(err, badger.ErrTxnTooBig):
		return fmt.Errorf("%w for one transaction", store.ErrTooLarge)
	case errors.Is(err, badger.ErrDBClosed), errors.Is(err, badger.ErrBlockedWrites):
		return store.ErrClosed
	}
	return s.damage(err, "%s: %v", dbName, err)
}

// update runs a transaction that writes.
func (s *session) update(ctx context.Context, fn func(store.Tx) error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := errors.Join(ctx.Err(), s.writable()); err != nil {
		return err
	}
	txn, err := s.transaction(true)
	if err != nil {
		return err
	}
	defer s.discard(txn)
	t := &tx{reader: reader{s, txn}, tally: s.tally}
	if err := fn(t); err != nil || !t.wrote {
		return err
	}
	t.tally.commits++
	return s.commit(t)
}

// commit makes a transaction durable and acknowledges it in HEAD. After an
// error of Badger nobody knows whether it took effect, so the tally is read
// again.
func (s *session) commit(t *tx) error {
	if err := t.put([]byte(tallyKey), t.tally.encode()); err != nil {
		return err
	}
	if err := guard(t.txn.Commit); err != nil {
		known := s.view(func(r reader) (err error) {
			now, err := r.tally()
			if err == nil {
				s.tally = now
			}
			return err
		})
		return errors.Join(s.engineError(err), known)
	}
	s.tally = t.tally
	return s.acknowledge()
}

func (s *session) acknowledge() error {
	h := s.storeDir.firstHead()
	h.Commits = s.tally.commits
	b, err := h.encode()
	if err == nil {
		_, err = s.head.WriteAt(b, 0)
	}
	if err != nil {
		// The transaction is durable. HEAD only serves to find damage later.
		s.storeDir.log.Warn("store: HEAD cannot be written", "dir", s.storeDir.dir, "error", err)
	}
	return nil
}

// writable checks that writing is possible and safe.
func (s *session) writable() error {
	err := s.storeDir.space.Room()
	if err == nil && s.mode == readOnly {
		return fmt.Errorf("store %s is %w: its disk was nearly full when it was opened: open it again", s.storeDir.dir, store.ErrReadOnly)
	}
	if err == nil && !s.warned {
		s.warned = s.storeDir.space.Warn()
	}
	return err
}

// reader is a store.Reader.
type reader struct {
	s   *session
	txn *badger.Txn
}

// raw returns the envelope of a key of Badger.
func (r reader) raw(key []byte) (b []byte, err error) {
	err = guard(func() error {
		it, err := r.txn.Get(key)
		if err == nil {
			b, err = it.ValueCopy(nil)
		}
		return err
	})
	return b, r.s.engineError(err)
}

func (r reader) open(key, envelope []byte) ([]byte, error) {
	v, err := unwrap(key, envelope)
	if err != nil {
		return nil, r.s.damage(err, "entry %q: %v", key, err)
	}
	return v, nil
}

func (r reader) tally() (tally, error) {
	b, err := r.raw([]byte(tallyKey))
	if err != nil {
		return tally{}, err
	}
	v, err := r.open([]byte(tallyKey), b)
	if err != nil {
		return tally{}, err
	}
	t, err := decodeTally(v)
	if err != nil {
		return t, r.s.damage(err, "%v", err)
	}
	return t, nil
}

// Get implements store.Reader.
func (r reader) Get(key string) ([]byte, error) {
	k := []byte(dataPrefix + key)
	b, err := r.raw(k)
	if err != nil {
		return nil, err
	}
	return r.open(k, b)
}

// Scan implements store.Reader.
func (r reader) Scan(prefix, from string) iter.Seq2[store.Item, error] {
	return func(yield func(store.Item, error) bool) {
		for e, err := range r.entries(dataPrefix+prefix, dataPrefix+max(prefix, from)) {
			if err != nil {
				yield(store.Item{}, err)
				return
			}
			v, err := r.open(e.key, e.envelope)
			if !yield(store.Item{Key: string(e.key[len(dataPrefix):]), Value: v}, err) || err != nil {
				return
			}
		}
	}
}

// entry is a key of Badger with its envelope.
type entry struct{ key, envelope []byte }

// entries gives what is in Badger under prefix, from from on. Each step into
// Badger is guarded, and none of it runs in another goroutine.
func (r reader) entries(prefix, from string) iter.Seq2[entry, error] {
	return func(yield func(entry, error) bool) {
		var it *badger.Iterator
		err := guard(func() error {
			o := badger.DefaultIteratorOptions
			o.PrefetchValues, o.Prefix = false, []byte(prefix)
			it = r.txn.NewIterator(o)
			it.Seek([]byte(from))
			return nil
		})
		if it != nil {
			defer func() {
				if err := guard(func() error { it.Close(); return nil }); err != nil {
					r.s.storeDir.log.Debug("close an iterator", "error", err)
				}
			}()
		}
		for err == nil {
			e, ok, failed := r.step(it)
			if err = failed; err != nil || !ok || !yield(e, nil) {
				break
			}
			err = guard(func() error { it.Next(); return nil })
		}
		if err != nil {
			yield(entry{}, r.s.engineError(err))
		}
	}
}

// step reads the entry the iterator stands on.
func (r reader) step(it *badger.Iterator) (e entry, ok bool, err error) {
	err = guard(func() error {
		if ok = it.Valid(); !ok {
			return nil
		}
		e.key = it.Item().KeyCopy(nil)
		e.envelope, err = it.Item().ValueCopy(nil)
		return err
	})
	return e, ok, err
}

// tx is a store.Tx. It keeps the tally of what it writes.
type tx struct {
	reader
	tally tally
	wrote bool
}

// Change implements store.Numbered.
func (t *tx) Change() uint64 { return t.tally.commits + 1 }

func (t *tx) put(key, value []byte) error {
	return t.s.engineError(guard(func() error { return t.txn.Set(key, wrap(key, value)) }))
}

// countOut takes what is there under key out of the tally.
func (t *tx) countOut(key []byte) (was bool, err error) {
	old, err := t.raw(key)
	if errors.Is(err, store.ErrNotFound) {
		return false, nil
	}
	if err == nil {
		_, err = t.open(key, old)
	}
	if err != nil {
		return false, err
	}
	t.tally.remove(key, old)
	return true, nil
}

// Set implements store.Tx.
func (t *tx) Set(key string, value []byte) error {
	k := []byte(dataPrefix + key)
	if _, err := t.countOut(k); err != nil {
		return err
	}
	t.wrote = true
	t.tally.add(k, wrap(k, value))
	return t.put(k, value)
}

// Delete implements store.Tx.
func (t *tx) Delete(key string) error {
	k := []byte(dataPrefix + key)
	was, err := t.countOut(k)
	if err != nil || !was {
		return err
	}
	t.wrote = true
	return t.s.engineError(guard(func() error { return t.txn.Delete(k) }))
}

// Number implements store.Tx.
func (t *tx) Number() (uint64, error) {
	t.wrote = true
	t.tally.number++
	return t.tally.number, nil
}
