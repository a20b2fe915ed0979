package badgerstore

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/dgraph-io/badger/v4"
	"github.com/dgraph-io/badger/v4/fb"
	"github.com/dgraph-io/badger/v4/options"
	"github.com/dgraph-io/badger/v4/table"
	"github.com/dgraph-io/ristretto/v2"
	"github.com/dgraph-io/ristretto/v2/z"

	"github.com/skillet-run/skillet/host/base/store"
)

// examine brings a store in order that was not closed: a copy is opened and
// compared with what was acknowledged, and takes the original's place when all
// is there. Otherwise the original stays as it is, for [Salvage].
func (p *storeDir) examine(ctx context.Context, h head, files []store.FileReport) error {
	if h.Commits == 0 {
		// Nothing was ever acknowledged: the process died while it made the
		// store, and Badger cannot open all that it leaves half made.
		return p.startOver()
	}
	_, err := p.examineCopy(ctx, p.path(nextName), h, files)
	if err == nil {
		err = p.swap()
	}
	return errors.Join(err, os.RemoveAll(p.path(nextName)))
}

func (p *storeDir) startOver() error {
	return errors.Join(os.RemoveAll(p.path(dbName)), os.RemoveAll(p.path(sealName)))
}

// examineCopy makes a copy of the database, opens it and compares it with HEAD and its
// tally. The copy stays, closed.
func (p *storeDir) examineCopy(ctx context.Context, to string, h head, files []store.FileReport) (tally, error) {
	if err := p.checkTables(options.OnTableRead); err != nil {
		return tally{}, err
	}
	if err := p.copyDB(to); err != nil {
		return tally{}, fmt.Errorf("examine the store: %w", err)
	}
	db, err := p.openBadger(to, examine)
	if cause := ofSystem(err); cause != nil {
		return tally{}, fmt.Errorf("examine the store in %s: %w", to, cause)
	}
	if err != nil {
		return tally{}, p.damage(err, "%s cannot be opened: %v%s", dbName, err, changed(files))
	}
	found, err := p.examineDB(ctx, db, h)
	if failed := closeBadger(db); errors.Is(failed, errUnflushed) {
		err = errors.Join(err, fmt.Errorf("examine the store in %s: %w: %w", to, store.ErrReadOnly, failed))
	} else if err == nil && failed != nil {
		err = p.damage(failed, "%s cannot be closed: %v", dbName, failed)
	}
	var damage *store.DamageError
	if errors.As(err, &damage) {
		damage.What += changed(files)
	}
	return found, err
}

func (p *storeDir) examineDB(ctx context.Context, db *badger.DB, h head) (tally, error) {
	s, err := p.begin(db, examine, h)
	if err != nil {
		return tally{}, err
	}
	return s.walk(ctx)
}

// changed names the files that are not as they were sealed, if there are any:
// those are where to look.
func changed(files []store.FileReport) string {
	var names []string
	for _, f := range files {
		if f.State == store.FileChanged || f.State == store.FileMissing {
			names = append(names, fmt.Sprintf("%s (%s)", f.Name, f.State))
		}
	}
	if len(names) == 0 {
		return ""
	}
	return " (since the last clean close: " + strings.Join(names, ", ") + ")"
}

// checkTables opens all tables of the database and, with OnTableRead, reads all
// of each. Badger opens them in goroutines of its own, where a damaged one would
// end the process.
func (p *storeDir) checkTables(check options.ChecksumVerificationMode) error {
	m, _, err := readManifest(p.path(dbName))
	if errors.Is(err, fs.ErrNotExist) {
		return p.damage(err, "%s/%s is missing", dbName, badger.ManifestFilename)
	}
	if err != nil {
		return p.damage(err, "%s/%s: %v", dbName, badger.ManifestFilename, err)
	}
	t, err := p.tables(p.path(dbName))
	if err != nil {
		return p.damage(err, "%s/%s: %v", dbName, badger.KeyRegistryFileName, err)
	}
	defer t.close()
	for id, tm := range m.Tables {
		if err := t.open(id, tm, check, func(*table.Table) error { return nil }); err != nil {
			return p.damage(err, "%s/%s: %v", dbName, filepath.Base(table.NewFilename(id, "")), err)
		}
	}
	return nil
}

// tables reads the tables of a database one by one, in the calling goroutine.
type tables struct {
	dir   string
	keys  *badger.KeyRegistry
	cache *ristretto.Cache[uint64, *fb.TableIndex] // nil when there is no encryption
}

func (p *storeDir) tables(dir string) (t *tables, err error) {
	t = &tables{dir: dir}
	if err := checkRegistry(filepath.Join(dir, badger.KeyRegistryFileName)); err != nil {
		return t, err
	}
	err = guard(func() (err error) {
		t.keys, err = badger.OpenKeyRegistry(badger.KeyRegistryOptions{Dir: dir, ReadOnly: true, EncryptionKey: p.options.Key})
		return err
	})
	if err != nil || len(p.options.Key) == 0 {
		return t, err
	}
	t.cache, err = ristretto.NewCache(&ristretto.Config[uint64, *fb.TableIndex]{NumCounters: 1000, MaxCost: cacheSize, BufferItems: 64})
	return t, err
}

func (t *tables) close() {
	if t.cache != nil {
		t.cache.Close()
	}
}

// open gives a table to fn.
func (t *tables) open(id uint64, tm badger.TableManifest, check options.ChecksumVerificationMode, fn func(*table.Table) error) error {
	return guard(func() error {
		key, err := t.keys.DataKey(tm.KeyID)
		if err != nil {
			return err
		}
		file, err := z.OpenMmapFile(table.NewFilename(id, t.dir), os.O_RDONLY, 0)
		if err != nil {
			return err
		}
		defer file.Close(-1)
		tbl, err := table.OpenTable(file, table.Options{
			ReadOnly: true, BlockSize: 4 << 10, ChkMode: check,
			Compression: tm.Compression, DataKey: key, IndexCache: t.cache,
		})
		if err != nil {
			return err
		}
		return fn(tbl)
	})
}

// copyDB copies the database to another directory, in place of what is there. Tables
// never change, so they are linked where that is possible.
func (p *storeDir) copyDB(to string) error {
	if err := os.RemoveAll(to); err != nil {
		return err
	}
	if err := os.Mkdir(to, 0o700); err != nil {
		return err
	}
	return copyFiles(p.path(dbName), to, func(string) bool { return true })
}

func copyFiles(from, to string, want func(name string) bool) error {
	files, err := listFiles(from)
	if err != nil {
		return err
	}
	for _, f := range files {
		if !want(f.Name) {
			continue
		}
		src, dst := filepath.Join(from, f.Name), filepath.Join(to, f.Name)
		if isTable(f.Name) && os.Link(src, dst) == nil {
			continue
		}
		if err := errors.Join(copySparse(src, dst), syncPath(dst)); err != nil {
			return err
		}
	}
	return nil
}

// copySparse copies a file and leaves its empty blocks empty: Badger's logs are
// mostly that.
func copySparse(from, to string) error {
	src, err := os.Open(from)
	if err != nil {
		return err
	}
	defer src.Close()
	dst, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	return errors.Join(copyBlocks(src, dst), dst.Close())
}

func copyBlocks(src io.Reader, dst *os.File) error {
	block, empty := make([]byte, 64<<10), make([]byte, 64<<10)
	for at := int64(0); ; {
		n, err := io.ReadFull(src, block)
		if n > 0 && !bytes.Equal(block[:n], empty[:n]) {
			if _, err := dst.WriteAt(block[:n], at); err != nil {
				return err
			}
		}
		at += int64(n)
		if err == io.EOF || err == io.ErrUnexpectedEOF {
			return dst.Truncate(at)
		}
		if err != nil {
			return err
		}
	}
}

// swap puts db.next, which has everything, in the place of db, and seals it.
// finishSwap completes it after a crash.
func (p *storeDir) swap() error {
	h, err := p.readHead()
	if err != nil {
		return err
	}
	if err := syncPath(p.path(nextName)); err != nil {
		return err
	}
	if err := os.Rename(p.path(dbName), p.path(oldName)); err != nil {
		return err
	}
	if err := p.finishSwap(); err != nil {
		return err
	}
	return p.writeSeal(h.Commits)
}

// swapping reports whether a crash left a swap unfinished.
func (p *storeDir) swapping() bool {
	for _, name := range []string{oldName, nextName} {
		if _, err := os.Lstat(p.path(name)); err == nil {
			return true
		}
	}
	return false
}

// finishSwap brings the directory in order after a crash during swap: without
// db, db.next is the checked copy; beside db, it is unfinished.
func (p *storeDir) finishSwap() error {
	if !p.swapping() {
		return nil
	}
	_, err := os.Lstat(p.path(dbName))
	if errors.Is(err, fs.ErrNotExist) {
		err = p.completeSwap()
	}
	return errors.Join(err, os.RemoveAll(p.path(nextName)), os.RemoveAll(p.path(oldName)))
}

func (p *storeDir) completeSwap() error {
	from := nextName
	if _, err := os.Lstat(p.path(nextName)); errors.Is(err, fs.ErrNotExist) {
		from = oldName
	}
	if err := os.Rename(p.path(from), p.path(dbName)); err != nil {
		return err
	}
	return syncPath(p.dir)
}
