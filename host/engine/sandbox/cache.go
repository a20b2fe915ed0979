package sandbox

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
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/tetratelabs/wazero"
	"golang.org/x/sys/cpu"
)

// A codeCache keeps machine code on disk, bound to the module it came from.
//
// wazero reads and writes its own cache files and guards them with a CRC only,
// so it never sees the kept ones: it works in a staging directory that belongs
// to this process and is empty but while a module is compiled. A kept file is
// read once, verified, and its verified bytes are put into the staging
// directory for wazero to read; a file wazero wrote there is sealed and moved
// to the kept ones.
//
// What a kept file holds is told beside cachedModule.
type codeCache struct {
	log   hclog.Logger
	key   []byte
	dir   string // kept files, one directory for each engine and processor
	temp  bool   // dir is nobody else's, goes with the runtime, and keeps nothing
	kept  string // the directory of this engine and processor
	stage string // given to wazero
	made  string // the directory wazero made in it
	lock  *os.File

	patience time.Duration // with another process that compiles
	factor   int           // see Options.ModuleFactor

	mu     sync.Mutex
	staged map[string]*staged // what is in the staging directory, by its name
}

// staged is code that the engine can read.
type staged struct {
	users int        // under codeCache.mu
	load  sync.Mutex // held by who has the engine load it
}

const (
	stagePrefix  = "stage-"
	cachedPrefix = "kept-"
	newPrefix    = "new-"
	tempPrefix   = "skillet-code-"
	codeSuffix   = ".code"
	lockSuffix   = ".lock"

	// cacheBudget is how many bytes of code are kept; beyond, what was not
	// used for longest goes first.
	cacheBudget = 1 << 30
	// maxCodeFile is the largest file that is read: more than the compiler
	// makes of the largest module the gate lets through.
	maxCodeFile = 512 << 20
)

// openCodeCache prepares the directory and wazero's cache in it. For "" that is
// a temporary one, in which nothing is kept. Errors: ErrCacheDir.
func openCodeCache(log hclog.Logger, dir string, o Options) (*codeCache, wazero.CompilationCache, error) {
	c := &codeCache{log: log, key: slices.Clone(o.CacheKey), patience: 2 * o.CompileTime, factor: o.ModuleFactor, staged: map[string]*staged{}}
	var err error
	if dir == "" {
		c.temp = true
		dir, err = makeTemp()
	}
	var memory wazero.CompilationCache
	if err == nil {
		memory, err = c.open(dir)
	}
	if err != nil {
		return nil, nil, errors.Join(fmt.Errorf("open code cache %s: %w", dir, err), c.close())
	}
	return c, memory, nil
}

// makeTemp makes a directory of this process, and removes those of processes
// that are gone.
func makeTemp() (string, error) {
	for _, base := range tempBases() {
		for _, dir := range list(base, tempPrefix) {
			if checkCacheDir(dir) != nil {
				continue
			}
			removeStages(dir)
			if len(list(dir, stagePrefix)) == 0 {
				removeOld(dir)
			}
		}
	}
	var errs []error
	for _, base := range tempBases() {
		dir, err := os.MkdirTemp(base, tempPrefix)
		if err == nil {
			return dir, nil
		}
		errs = append(errs, err)
	}
	return "", errors.Join(errs...)
}

// tempBases are where temporary directories may be: the usual place, and memory
// where the system has a file system of it.
func tempBases() []string {
	bases := []string{os.TempDir()}
	if st, err := os.Stat(memoryDir); err == nil && st.IsDir() {
		bases = append(bases, memoryDir)
	}
	return bases
}

// memoryDir is a file system in memory, on Linux.
const memoryDir = "/dev/shm"

func (c *codeCache) open(dir string) (memory wazero.CompilationCache, err error) {
	if c.dir, err = filepath.Abs(dir); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(c.dir, 0o700); err != nil {
		return nil, err
	}
	if err := checkCacheDir(c.dir); err != nil {
		return nil, err
	}
	c.removeStale()
	c.kept = filepath.Join(c.dir, cachedPrefix+processor())
	if err := os.MkdirAll(c.kept, 0o700); err != nil {
		return nil, err
	}
	c.shrink(cacheBudget)
	if err := c.openStage(); err != nil {
		return nil, err
	}
	if memory, err = wazero.NewCompilationCacheWithDir(c.stage); err != nil {
		return nil, err
	}
	made := list(c.stage, "wazero-")
	if len(made) != 1 {
		return nil, fmt.Errorf("found %d directories of wazero, want 1", len(made))
	}
	c.made = made[0]
	return memory, c.tryRoom()
}

// tryRoom finds out whether there is room for code: a directory can be made on many
// a full disk.
func (c *codeCache) tryRoom() error {
	path := filepath.Join(c.stage, "room")
	err := os.WriteFile(path, make([]byte, 64<<10), 0o600)
	_ = os.Remove(path)
	return err
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
		return fmt.Errorf("%w: not a directory", ErrCacheDir)
	case info.Mode().Perm()&0o077 != 0:
		return fmt.Errorf("%w: its mode is %v, want 0700; run chmod 700 on it", ErrCacheDir, info.Mode().Perm())
	case !ownedByMe(info):
		return fmt.Errorf("%w: it belongs to another user", ErrCacheDir)
	}
	return nil
}

// processor names what machine code depends on besides the module.
func processor() string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%+v %+v", cpu.X86, cpu.ARM64))
	return hex.EncodeToString(sum[:6])
}

// stageAttempts is how often a staging directory is begun anew when another
// process took it for one that was left, which it can until it is locked.
const stageAttempts = 100

// openStage makes the staging directory and holds a lock on it for as long as
// the process lives.
func (c *codeCache) openStage() error {
	for range stageAttempts {
		if held, err := c.tryStage(); held || err != nil {
			return err
		}
	}
	return fmt.Errorf("lock a directory in %s: others remove it", c.dir)
}

func (c *codeCache) tryStage() (held bool, err error) {
	if c.stage, err = os.MkdirTemp(c.dir, stagePrefix); err != nil {
		return false, err
	}
	c.lock, err = takeLock(filepath.Join(c.stage, "lock"))
	return c.lock != nil, err
}

// lockCode waits while another process compiles the module, and makes others wait
// until unlock. It goes on without the lock when ctx ends, when waiting takes longer
// than a compilation may, and where locks cannot be had: then the module is only
// compiled twice.
func (c *codeCache) lockCode(ctx context.Context, id codeID) (unlock func()) {
	path := filepath.Join(c.kept, id.digest+lockSuffix)
	if c.temp || !canLock {
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
	if tryLock(lock) && isAt(lock, path) {
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

// removeStale removes what processes that are gone have left: staging
// directories, and files they had not finished. What has no lock to tell by is
// removed when it is old.
func (c *codeCache) removeStale() {
	removeStages(c.dir)
	for _, kept := range list(c.dir, cachedPrefix) {
		for _, p := range list(kept, "") {
			if name := filepath.Base(p); strings.HasPrefix(name, newPrefix) || strings.HasSuffix(name, lockSuffix) {
				removeOld(p)
			}
		}
	}
}

func removeStages(dir string) {
	for _, stage := range list(dir, stagePrefix) {
		lock, err := os.OpenFile(filepath.Join(stage, "lock"), os.O_RDWR, 0)
		if err != nil {
			removeOld(stage)
			continue
		}
		if canLock && tryLock(lock) {
			os.RemoveAll(stage)
		}
		lock.Close()
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
func (c *codeCache) shrink(budget int64) {
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

// close removes the staging directory and gives up its lock.
func (c *codeCache) close() error {
	gone := c.stage
	if c.temp {
		gone = c.dir
	}
	if gone == "" {
		return nil
	}
	err := os.RemoveAll(gone)
	if c.lock != nil {
		err = errors.Join(err, c.lock.Close())
	}
	return err
}

// put puts verified code where wazero looks for it, until release. A kept file is
// linked there, where that can be done: nobody writes to it any more.
func (c *codeCache) put(k *cachedModule) (*staged, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	name := k.code.Name
	if s := c.staged[name]; s != nil {
		s.users++
		return s, nil
	}
	if k.path == "" || os.Link(k.path, filepath.Join(c.made, name)) != nil {
		if err := writeWhole(c.made, name, false, k.writeCode); err != nil {
			return nil, err
		}
	}
	c.staged[name] = &staged{users: 1}
	return c.staged[name], nil
}

// writeCode writes the code, from where it is.
func (k *cachedModule) writeCode(w io.Writer) error {
	if k.code.Bytes != nil {
		_, err := w.Write(k.code.Bytes)
		return err
	}
	f, err := os.Open(k.path)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = io.Copy(w, f)
	return err
}

// release takes a file out of the staging directory when its last user is done.
func (c *codeCache) release(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.staged[name]
	if s.users--; s.users == 0 {
		delete(c.staged, name)
		os.Remove(filepath.Join(c.made, name))
	}
}

// forget deletes what wazero has written of modules that are not to be kept.
func (c *codeCache) forget() {
	c.mu.Lock()
	defer c.mu.Unlock()
	entries, _ := os.ReadDir(c.made)
	for _, e := range entries {
		if c.staged[e.Name()] == nil {
			os.Remove(filepath.Join(c.made, e.Name()))
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
