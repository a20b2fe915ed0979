package codecache

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/go-hclog"
	"golang.org/x/sys/cpu"
)

// ErrDir means that others can write to the directory of the cache.
var ErrDir = errors.New("unsafe cache directory")

// A Cache keeps machine code on disk, bound to the module it came from.
//
// wazero would read and write files of its own and guards them with a CRC only, so
// it is given none: a kept file is read once and verified, and the engine gets the
// verified bytes out of memory. See [Engine].
//
// What a kept file holds is told beside [Module].
type Cache struct {
	log  hclog.Logger
	key  []byte
	dir  string // kept files, one directory for each processor; "" keeps nothing
	kept string // the directory of this processor

	patience time.Duration // with another process that compiles
}

const (
	cachedPrefix = "packed-"
	newPrefix    = "new-"
	codeSuffix   = ".code"
	lockSuffix   = ".lock"

	// What caches of former versions had: directories of code, and staging
	// directories that a process held with a lock in them.
	formerPrefix      = "kept-"
	formerStagePrefix = "stage-"

	// cacheBudget is how many bytes of files are kept; beyond, what was not
	// used for longest goes first.
	cacheBudget = 1 << 30
	// maxCodeFile is the largest machine code, and the largest file, that is
	// read: more than the compiler makes of the largest module the gate lets
	// through.
	maxCodeFile = 512 << 20
)

// Open prepares the directory; "" keeps nothing. key seals what is kept; without one it is
// only protected against damage. patience is how long to wait for another process that
// compiles. Errors: [ErrDir].
func Open(log hclog.Logger, dir string, key []byte, patience time.Duration) (*Cache, error) {
	c := &Cache{log: log, key: slices.Clone(key), patience: patience}
	if dir == "" {
		return c, nil
	}
	if err := c.open(dir); err != nil {
		return nil, fmt.Errorf("open code cache %s: %w", dir, err)
	}
	return c, nil
}

// Keeps reports whether anything is kept.
func (c *Cache) Keeps() bool { return c.dir != "" }

func (c *Cache) open(dir string) (err error) {
	if c.dir, err = filepath.Abs(dir); err != nil {
		return err
	}
	if err := os.MkdirAll(c.dir, 0o700); err != nil {
		return err
	}
	if err := checkCacheDir(c.dir); err != nil {
		return err
	}
	c.removeStale()
	c.kept = filepath.Join(c.dir, cachedPrefix+processor())
	if err := os.MkdirAll(c.kept, 0o700); err != nil {
		return err
	}
	c.shrink(cacheBudget)
	return nil
}

// list returns the paths of what has a prefix in a directory; none when the
// directory cannot be read.
func list(dir, prefix string) (paths []string) {
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), prefix) {
			paths = append(paths, filepath.Join(dir, e.Name()))
		}
	}
	return paths
}

// checkCacheDir refuses a directory that anybody else can enter.
func checkCacheDir(dir string) error {
	info, err := os.Lstat(dir)
	switch {
	case err != nil:
		return err
	case !info.IsDir():
		return fmt.Errorf("%w: not a directory", ErrDir)
	case info.Mode().Perm()&0o077 != 0:
		return fmt.Errorf("%w: its mode is %v, want 0700; run chmod 700 on it", ErrDir, info.Mode().Perm())
	case !ownedByMe(info):
		return fmt.Errorf("%w: it belongs to another user", ErrDir)
	}
	return nil
}

// processor names what machine code depends on besides the module.
func processor() string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%+v %+v", cpu.X86, cpu.ARM64))
	return hex.EncodeToString(sum[:6])
}

// Lock waits while another process compiles the module, and makes others wait
// until unlock. It goes on without the lock when ctx ends, when waiting takes longer
// than a compilation may, and where locks cannot be had: then the module is only
// compiled twice.
func (c *Cache) Lock(ctx context.Context, id ID) (unlock func()) {
	path := filepath.Join(c.kept, id.Digest+lockSuffix)
	if c.dir == "" || !canLock {
		return func() {}
	}
	ctx, cancel := context.WithTimeout(ctx, c.patience)
	defer cancel()
	for pause := time.Millisecond; ; pause = min(2*pause, 50*time.Millisecond) {
		lock, err := takeLock(path)
		if lock != nil {
			return func() { os.Remove(path); lock.Close() }
		}
		if err != nil {
			return func() {}
		}
		select {
		case <-ctx.Done():
			return func() {}
		case <-time.After(pause):
		}
	}
}

// takeLock locks the file at a path, or returns nil when somebody else has it. The
// one who has it removes it: a lock on a file that is there no more is none.
func takeLock(path string) (*os.File, error) {
	lock, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if TryLock(lock) && isAt(lock, path) {
		return lock, nil
	}
	return nil, lock.Close()
}

// isAt reports whether a path leads to an open file.
func isAt(f *os.File, path string) bool {
	have, err := f.Stat()
	if err != nil {
		return false
	}
	at, err := os.Lstat(path)
	return err == nil && os.SameFile(have, at)
}

// removeStale removes what processes that are gone have left: files they had not
// finished, when these are old, and what former versions kept.
func (c *Cache) removeStale() {
	for _, former := range list(c.dir, formerPrefix) {
		os.RemoveAll(former)
	}
	for _, stage := range list(c.dir, formerStagePrefix) {
		removeStage(stage)
	}
	for _, kept := range list(c.dir, cachedPrefix) {
		for _, p := range list(kept, "") {
			if name := filepath.Base(p); strings.HasPrefix(name, newPrefix) || strings.HasSuffix(name, lockSuffix) {
				removeOld(p)
			}
		}
	}
}

// removeStage removes a directory unless a process of a former version has it.
func removeStage(dir string) {
	lock, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_RDWR, 0)
	if err != nil {
		removeOld(dir)
		return
	}
	defer lock.Close()
	if canLock && TryLock(lock) {
		os.RemoveAll(dir)
	}
}

// removeOld removes what was not changed for an hour.
func removeOld(path string) {
	if info, err := os.Lstat(path); err == nil && time.Since(info.ModTime()) > time.Hour {
		os.RemoveAll(path)
	}
}

// shrink removes the files that were not used for longest until at most
// budget bytes are left.
func (c *Cache) shrink(budget int64) {
	type file struct {
		path string
		info fs.FileInfo
	}
	var files []file
	for _, kept := range list(c.dir, cachedPrefix) {
		for _, p := range list(kept, "") {
			if info, err := os.Lstat(p); err == nil && info.Mode().IsRegular() {
				files = append(files, file{p, info})
			}
		}
	}
	slices.SortFunc(files, func(a, b file) int { return b.info.ModTime().Compare(a.info.ModTime()) })
	for _, f := range files {
		if budget -= f.info.Size(); budget < 0 {
			os.Remove(f.path)
		}
	}
}

// writeWhole writes a file under another name and renames it.
func writeWhole(dir, name string, sync bool, write func(io.Writer) error) (err error) {
	f, err := os.CreateTemp(dir, newPrefix+"*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			os.Remove(f.Name())
		}
	}()
	err = write(f)
	if err == nil && sync {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), filepath.Join(dir, name))
}
