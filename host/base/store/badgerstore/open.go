package badgerstore

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/dgraph-io/badger/v4/options"

	"github.com/skillet-run/skillet/host/base/store"
)

// migration brings a store from one format to the next, in a transaction.
type migration func(store.Tx) error

// migrations lists the step from format 1 to 2, from 2 to 3, and so on.
func migrations() []migration { return nil }

// format is the format of the stores this version writes.
func (p *storeDir) format() int { return 1 + len(p.migrations) }

// openSession opens the store while its lock is held: exclusively, unless the
// mode is readOnly. It is examined first when it was not closed cleanly. all
// says to read all files, however large the store.
func (p *storeDir) openSession(ctx context.Context, m mode, all bool) (*session, error) {
	h, err := p.prepare(m)
	if err != nil {
		return nil, err
	}
	if err := p.checkHead(h); err != nil {
		return nil, err
	}
	small, err := p.ensureClean(ctx, m, h, all)
	if err != nil {
		return nil, err
	}
	s, err := p.openChecked(ctx, m, h, small)
	if err != nil {
		return nil, err
	}
	return s, p.migrate(ctx, s)
}

// errNeedsWriter means that a store must be opened for writing before it can
// be read.
var errNeedsWriter = errors.New("the store must be opened for writing first")

// prepare brings the directory in order and returns HEAD.
func (p *storeDir) prepare(m mode) (head, error) {
	if m != readOnly {
		if err := p.finishSwap(); err != nil {
			return head{}, err
		}
	} else if p.swapping() && (!p.exists() || p.space.Room() == nil) {
		return head{}, errNeedsWriter // which a database on a disk that takes no more can do without
	}
	h, err := p.readHead()
	if !errors.Is(err, fs.ErrNotExist) {
		return h, err
	}
	if files, err := listFiles(p.path(dbName)); !errors.Is(err, fs.ErrNotExist) && (err != nil || len(files) > 0) {
		return head{}, errors.Join(err, p.damage(nil, "%s is missing", headName))
	}
	if err := p.strange(); err != nil {
		return head{}, err
	}
	if m == readOnly {
		return head{}, errNeedsWriter
	}
	return p.firstHead(), p.makeHead()
}

// strange refuses a directory in which something else is than this backend writes.
func (p *storeDir) strange() error {
	entries, err := os.ReadDir(p.dir)
	for _, f := range entries {
		switch f.Name() {
		case lockName, turnName, sealName, dbName, nextName, oldName, keysName, "blobs":
		default:
			return fmt.Errorf("%w: it has %s, and no %s", store.ErrOtherBackend, f.Name(), headName)
		}
	}
	return err
}

func (p *storeDir) checkHead(h head) error {
	if h.Format > p.format() {
		return fmt.Errorf("the store has format %d, this version of skillet knows %d: use a newer one", h.Format, p.format())
	}
	if h.Key != p.fingerprint() {
		return fmt.Errorf("%w: %s", store.ErrKey, keyHint(h.Key, p.fingerprint()))
	}
	return nil
}

func keyHint(made, given string) string {
	switch {
	case made == "":
		return "it was made without one"
	case given == "":
		return "it was made with one, and none was given"
	}
	return "it was made with another"
}

// ensureClean compares the files with the seal, and examines the store when
// they are not as sealed. small reports whether the store is small enough for
// reading all of it.
func (p *storeDir) ensureClean(ctx context.Context, m mode, h head, all bool) (small bool, err error) {
	sealed := p.readSeal()
	files, err := p.compare(sealed, false)
	if err != nil {
		return false, err
	}
	small = totalSize(files) <= p.options.CheckBytes
	all = all || small || p.merges(p.path(dbName), m)
	if all {
		if files, err = p.compare(sealed, true); err != nil {
			return false, err
		}
	}
	if isClean(sealed, files) && sealed.Commits >= h.Commits {
		if !all && len(files) > 0 {
			err = p.checkTables(options.NoVerification)
		}
		return small, err
	}
	if m == readOnly {
		return false, errNeedsWriter
	}
	if err := p.space.Room(); err != nil {
		return false, err
	}
	return small, p.examine(ctx, h, files)
}

// openChecked opens the database, whose files are as they were written.
func (p *storeDir) openChecked(ctx context.Context, m mode, h head, walk bool) (*session, error) {
	if m == readWrite {
		if err := p.space.Room(); errors.Is(err, store.ErrReadOnly) && p.exists() {
			p.log.Warn("store: opened for reading only", "dir", p.dir, "reason", err)
			m = readOnly
		} else if err != nil {
			return nil, err
		}
	}
	db, err := p.openBadger(p.path(dbName), m)
	if cause := ofSystem(err); cause != nil {
		return nil, fmt.Errorf("%s cannot be opened: %w", dbName, cause)
	}
	if err != nil {
		return nil, p.damage(err, "%s cannot be opened: %v", dbName, err)
	}
	s, err := p.begin(db, m, h)
	if err == nil && walk {
		_, err = s.walk(ctx)
	}
	if err != nil {
		return nil, errors.Join(err, closeBadger(db))
	}
	return s, nil
}

func (p *storeDir) exists() bool {
	files, err := listFiles(p.path(dbName))
	return err == nil && len(files) > 0
}

// walk reads every entry and compares what it finds with the tally.
func (s *session) walk(ctx context.Context) (found tally, err error) {
	err = s.view(func(r reader) error {
		for e, err := range r.entries(dataPrefix, dataPrefix) {
			if err := errors.Join(ctx.Err(), err); err != nil {
				return err
			}
			if _, err := r.open(e.key, e.envelope); err != nil {
				return err
			}
			found.add(e.key, e.envelope)
		}
		if err := s.tally.compare(found); err != nil {
			return s.damage(err, "%s: %v", dbName, err)
		}
		return nil
	})
	found.commits = s.tally.commits
	return found, err
}

// migrate brings an older store to the format of this version.
func (p *storeDir) migrate(ctx context.Context, s *session) error {
	if int(s.tally.format) >= p.format() {
		return nil
	}
	if s.mode == readOnly {
		return errors.Join(errNeedsWriter, s.end())
	}
	for _, step := range p.migrations[s.tally.format-1:] {
		err := s.update(ctx, func(t store.Tx) error {
			own := t.(*tx)
			own.tally.format, own.wrote = own.tally.format+1, true
			return step(t)
		})
		if err != nil {
			return errors.Join(fmt.Errorf("bring the store to format %d: %w", s.tally.format+1, err), s.end())
		}
	}
	return nil
}

// exclusive is an engine that has the store for itself.
type exclusive struct {
	session *session
	release func() error
	calls   chan struct{} // holds as many tokens as calls may run at once
}

// maxCalls bounds the transactions at once; closing waits for all of them.
const maxCalls = 64

func openExclusive(p *storeDir) (*exclusive, error) {
	if err := p.make(); err != nil {
		return nil, err
	}
	p.lasting = true
	ctx := context.Background()
	l, err := p.lock(ctx, true)
	if err != nil {
		return nil, err
	}
	s, err := p.openSession(ctx, readWrite, true)
	if err != nil {
		return nil, errors.Join(err, l.Release())
	}
	e := &exclusive{session: s, release: l.Release, calls: make(chan struct{}, maxCalls)}
	for range maxCalls {
		e.calls <- struct{}{}
	}
	return e, nil
}

// call runs fn with the session, unless the store was closed.
func (e *exclusive) call(ctx context.Context, fn func(*session) error) error {
	select {
	case _, open := <-e.calls:
		if !open {
			return store.ErrClosed
		}
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { e.calls <- struct{}{} }()
	return fn(e.session)
}

// View implements store.Engine.
func (e *exclusive) View(ctx context.Context, fn func(store.Reader) error) error {
	return e.call(ctx, func(s *session) error {
		return s.view(func(r reader) error { return fn(r) })
	})
}

// Update implements store.Engine.
func (e *exclusive) Update(ctx context.Context, fn func(store.Tx) error) error {
	return e.call(ctx, func(s *session) error { return s.update(ctx, fn) })
}

func (e *exclusive) snapshot(ctx context.Context, fn func(snapshot) error) error {
	return e.call(ctx, func(s *session) error { return s.snapshot(fn) })
}

// Close implements store.Engine.
func (e *exclusive) Close() error {
	for range maxCalls {
		<-e.calls
	}
	close(e.calls)
	return errors.Join(e.session.end(), e.release())
}
