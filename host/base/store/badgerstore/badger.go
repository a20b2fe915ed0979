package badgerstore

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"sync/atomic"
	"syscall"

	"github.com/dgraph-io/badger/v4"
	"github.com/dgraph-io/badger/v4/options"
	"github.com/hashicorp/go-hclog"
)

// mode is how Badger is opened.
type mode int

const (
	// readOnly changes no file and needs no memory table; it opens ten times
	// faster than the others.
	readOnly mode = iota
	// readWrite is for work.
	readWrite
	// examine is readWrite without compaction: what is read is only what is
	// asked for, in the goroutine that asks, where a panic can be caught.
	examine
)

// Sizes of Badger, small so that an idle home is small. A transaction may have
// 15 % of a memory table.
const (
	memTableSize   = 8 << 20
	valueLogSize   = 16 << 20
	valueThreshold = 1 << 20 // larger than any value: the value log stays empty
	cacheSize      = 4 << 20 // each of two, when the store is encrypted
	tablesToMerge  = 6       // tables of level 0 that are merged at the next close
)

// badgerOptions are those of a database for whoever holds the lock of the store. Badger's
// own lock would add nothing but false alarms: a process that is just being started has
// what is open in this one for a moment, and so would keep a lock that was released.
func (p *storeDir) badgerOptions(dir string, m mode) badger.Options {
	o := badger.DefaultOptions(dir).
		WithLogger(badgerLog{p.log.Named("badger"), &closing{}}).
		WithReadOnly(m == readOnly).
		WithBypassLockGuard(true).
		WithSyncWrites(true).
		WithDetectConflicts(false). // one transaction writes at a time
		WithMetricsEnabled(false).
		WithCompression(options.None).
		WithMemTableSize(memTableSize).
		WithNumMemtables(2).
		WithValueLogFileSize(valueLogSize).
		WithValueThreshold(valueThreshold).
		WithNumCompactors(0).
		WithNumLevelZeroTablesStall(1 << 10).
		WithCompactL0OnClose(p.merges(dir, m)).
		WithBlockCacheSize(0)
	if m == readWrite && p.lasting {
		o = o.WithNumCompactors(2)
	}
	if len(p.options.Key) > 0 {
		// Without an index cache Badger panics on the first encrypted table.
		o = o.WithEncryptionKey(p.options.Key).WithIndexCacheSize(cacheSize).WithBlockCacheSize(cacheSize)
	}
	return o
}

// merges reports whether tables of level 0 are merged when the database is
// closed. Badger merges in goroutines of its own, where a damaged table ends the
// process, or is taken for the end of the data: so all tables are read and
// compared with the seal when a database that merges is opened. Short sessions
// never merge in the background.
func (p *storeDir) merges(dir string, m mode) bool {
	return m == readWrite && p.levelZero(dir) >= tablesToMerge
}

// levelZero counts the tables that were written and not merged yet; 0 when
// that cannot be told.
func (p *storeDir) levelZero(dir string) (n int) {
	m, _, err := readManifest(dir)
	if err != nil {
		return 0
	}
	for _, t := range m.Tables {
		if t.Level == 0 {
			n++
		}
	}
	return n
}

// readManifest returns what the MANIFEST lists, and how many bytes of it are
// whole.
func readManifest(dir string) (m badger.Manifest, whole int64, err error) {
	f, err := os.Open(filepath.Join(dir, badger.ManifestFilename))
	if err != nil {
		return m, 0, err
	}
	defer f.Close()
	err = guard(func() error {
		m, whole, err = badger.ReplayManifestFile(f, 0, badger.DefaultOptions(dir).WithLogger(nil))
		return err
	})
	return m, whole, err
}

// errPanic is a panic inside Badger that was caught.
var errPanic = errors.New("the database engine panicked")

// guard calls into Badger and turns a panic into an error, and so a read of a
// mapped file that is not there any more, which would end the process.
func guard(fn func() error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("%w: %.200s", errPanic, fmt.Sprint(r))
		}
	}()
	return fn()
}

// newFileError is the text of an error with which Badger's Open fails once
// after a crash that left an empty file (dgraph-io/badger#2207). It wraps no
// error that could be compared.
const newFileError = "Create a new file"

// openBadger opens the database in dir.
func (p *storeDir) openBadger(dir string, m mode) (db *badger.DB, err error) {
	if err := p.checkLengths(dir, m); err != nil {
		return nil, err
	}
	if err := roomForFiles(dir); err != nil {
		return nil, err
	}
	open := func() error {
		db, err = badger.Open(p.badgerOptions(dir, m))
		return err
	}
	err = guard(open)
	if err != nil && strings.Contains(err.Error(), newFileError) {
		err = guard(open)
	}
	if err == nil && m != readOnly {
		keepPrivate(dir)
	}
	return db, err
}

// closing is how far the closing of a database is.
type closing struct{ begun, unflushed atomic.Bool }

// errUnflushed means that a database was closed without writing its memory table to a
// table, because the disk did not take one. All of it is in the log of the memory table.
var errUnflushed = errors.New("the memory table could not be written")

func closeBadger(db *badger.DB) error {
	l, ok := db.Opts().Logger.(badgerLog)
	if ok {
		l.closing.begun.Store(true)
	}
	err := guard(db.Close)
	if o := db.Opts(); !o.ReadOnly && !o.InMemory {
		keepPrivate(o.Dir)
	}
	if ok && l.closing.unflushed.Load() {
		return errUnflushed
	}
	return err
}

// ofSystem returns the error of the system when Badger says that the disk takes no
// more, or that too many files are open, which is not damage. Badger's errors have the
// system's as text only.
func ofSystem(err error) error {
	if err == nil {
		return nil
	}
	for _, cause := range []error{syscall.ENOSPC, syscall.EDQUOT, syscall.EROFS, syscall.EFBIG, syscall.EMFILE, syscall.ENFILE} {
		if errors.Is(err, cause) || strings.Contains(err.Error(), cause.Error()) {
			return cause
		}
	}
	return nil
}

// keepPrivate takes the files in dir away from others: Badger leaves their modes to
// the umask. The directory keeps others out already, so an error does not matter.
func keepPrivate(dir string) {
	files, _ := os.ReadDir(dir)
	for _, f := range files {
		if st, err := f.Info(); err == nil && st.Mode().IsRegular() && st.Mode().Perm()&0o077 != 0 {
			_ = os.Chmod(filepath.Join(dir, f.Name()), st.Mode().Perm()&0o700)
		}
	}
}

// badgerLog gives Badger's messages to the log. What matters of them comes as
// an error too, so they are for the curious only.
type badgerLog struct {
	log     hclog.Logger
	closing *closing
}

// flushFailure begins the message with which Badger's flusher says that it tries again.
// It does so without an end, and closing waits for it.
const flushFailure = "error flushing memtable"

// Errorf ends the goroutine of the flusher, which is the caller, when the database is
// being closed: what it has not written is in the log of the memory table. While the
// database is in use the flusher may go on, as there may be room again.
func (l badgerLog) Errorf(f string, v ...any) {
	l.log.Debug(text(f, v), "severity", "error")
	if strings.HasPrefix(f, flushFailure) && l.closing.begun.Load() {
		l.closing.unflushed.Store(true)
		runtime.Goexit()
	}
}

func (l badgerLog) Warningf(f string, v ...any) { l.log.Debug(text(f, v), "severity", "warning") }
func (l badgerLog) Infof(f string, v ...any)    { l.trace(f, v) }
func (l badgerLog) Debugf(f string, v ...any)   { l.trace(f, v) }

func (l badgerLog) trace(f string, v []any) {
	if l.log.IsTrace() {
		l.log.Trace(text(f, v))
	}
}

func text(f string, v []any) string { return strings.TrimSpace(fmt.Sprintf(f, v...)) }
