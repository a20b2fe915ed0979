package badgerstore

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/dgraph-io/badger/v4/options"
	"github.com/hashicorp/go-hclog"

	"github.com/skillet-run/skillet/host/base/store"
)

// Verify reads the whole store in dir, which no process may have open
// meanwhile ([Options.LockWait]), and changes nothing. The report is complete
// also when there is an error: errors.Is(err, [store.ErrDamaged]) when
// anything is damaged, fs.ErrNotExist when there is no store.
func Verify(ctx context.Context, log hclog.Logger, dir string, o Options) (store.Report, error) {
	p := newStoreDir(log, dir, o)
	if _, err := os.Stat(dir); err != nil {
		return store.Report{}, fmt.Errorf("verify store: %w", err)
	}
	l, err := p.lock(ctx, true)
	if err != nil {
		return store.Report{}, fmt.Errorf("verify store %s: %w", dir, err)
	}
	var rep store.Report
	err = errors.Join(p.verifyDB(ctx, &rep), rep.VerifyBlobs(ctx, p.options.Blobs), l.Release())
	if err != nil {
		err = fmt.Errorf("verify store %s: %w", dir, err)
	}
	return rep, err
}

func (p *storeDir) verifyDB(ctx context.Context, rep *store.Report) error {
	h, err := p.readHead()
	if errors.Is(err, fs.ErrNotExist) && !p.exists() {
		return fmt.Errorf("store not found: %w", fs.ErrNotExist)
	}
	if errors.Is(err, fs.ErrNotExist) {
		err = p.damage(err, "%s is missing", headName)
	}
	if err != nil {
		return rep.Note(err)
	}
	if err := p.checkHead(h); err != nil {
		return err
	}
	sealed := p.readSeal()
	if rep.Files, err = p.compare(sealed, true); err != nil {
		return err
	}
	rep.Closed = isClean(sealed, rep.Files)
	if !rep.Closed && !p.swapping() && h.Commits == 0 {
		return nil // half made, and nothing was acknowledged
	}
	found, err := p.verifyEntries(ctx, h, rep)
	rep.Entries, rep.Commits = found.count, found.commits
	return rep.Note(err)
}

// verifyEntries changes nothing of the store. One that was closed is read where it is;
// otherwise Badger would write, so a copy is examined.
func (p *storeDir) verifyEntries(ctx context.Context, h head, rep *store.Report) (tally, error) {
	if rep.Closed {
		return p.readThrough(ctx, h)
	}
	if !p.exists() {
		if err := p.finishSwap(); err != nil {
			return tally{}, err
		}
	}
	to, remove, err := p.forCopy()
	if err != nil {
		return tally{}, err
	}
	found, err := p.examineCopy(ctx, to, h, rep.Files)
	return found, errors.Join(err, remove())
}

// forCopy returns where a copy of the database is made, and what removes it: beside the
// database, where its tables can be linked, or among temporary files, which may be on
// another disk, when that one takes no more.
func (p *storeDir) forCopy() (to string, remove func() error, err error) {
	if p.space.Room() == nil {
		to = p.path(nextName)
		return to, func() error { return os.RemoveAll(to) }, nil
	}
	dir, err := os.MkdirTemp("", "skillet-verify-*")
	if err != nil {
		return "", nil, fmt.Errorf("copy the database, whose disk takes no more, to another (see TMPDIR): %w", err)
	}
	return filepath.Join(dir, dbName), func() error { return os.RemoveAll(dir) }, nil
}

// readThrough reads all entries of a database that was closed.
func (p *storeDir) readThrough(ctx context.Context, h head) (found tally, err error) {
	if err := p.checkTables(options.OnTableRead); err != nil {
		return tally{}, err
	}
	s, err := p.openChecked(ctx, readOnly, h, false)
	if err != nil {
		return tally{}, err
	}
	found, err = s.walk(ctx)
	return found, errors.Join(err, s.end())
}
