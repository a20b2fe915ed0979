package sandbox

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
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
// A kept file is: magic, seal (32 bytes), the name wazero gave it (64 hex
// digits), machine code. The seal is HMAC-SHA-256 with the cache key, or
// SHA-256 without one, over a domain text, the identity of the module and
// machine, the name and the code.
type codeCache struct {
	log   hclog.Logger
	key   []byte
	dir   string // kept files, one directory for each engine and processor
	temp  bool   // dir is nobody else's, goes with the runtime, and keeps nothing
	kept  string // the directory of this engine and processor
	stage string // given to wazero
	made  string // the directory wazero made in it
	lock  *os.File

	mu     sync.Mutex
	staged map[string]int // names put into the staging directory, and how often
}

const (
	cacheMagic  = "skillet code 1\n\x00"
	sealDomain  = "skillet compiled code\x00"
	stagePrefix = "stage-"
	keptPrefix  = "kept-"
	newPrefix   = "new-"
	tempPrefix  = "skillet-code-"
	codeSuffix  = ".code"
	nameLen     = 2 * sha256.Size
	cacheHeader = len(cacheMagic) + sha256.Size + nameLen

	// cacheBudget is how many bytes of code are kept; beyond, what was not
	// used for longest goes first.
	cacheBudget = 1 << 30
	// maxCodeFile is the largest file that is read: more than the compiler
	// makes of the largest module the gate lets through.
	maxCodeFile = 512 << 20
)

// openCodeCache prepares the directory and wazero's cache in it. For "" that is
// a temporary one, in which nothing is kept. Errors: ErrCacheDir.
func openCodeCache(log hclog.Logger, dir string, key []byte) (*codeCache, wazero.CompilationCache, error) {
	c := &codeCache{log: log, key: slices.Clone(key), staged: map[string]int{}}
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
	for _, dir := range list(os.TempDir(), tempPrefix) {
		if checkCacheDir(dir) != nil {
			continue
		}
		removeStages(dir)
		if len(list(dir, stagePrefix)) == 0 {
			removeOld(dir)
		}
	}
	return os.MkdirTemp("", tempPrefix)
}

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
	c.kept = filepath.Join(c.dir, keptPrefix+processor())
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
	return memory, nil
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

// openStage makes the staging directory and holds a lock on it for as long as
// the process lives.
func (c *codeCache) openStage() (err error) {
	if c.stage, err = os.MkdirTemp(c.dir, stagePrefix); err != nil {
		return err
	}
	c.lock, err = os.OpenFile(filepath.Join(c.stage, "lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err == nil && !tryLock(c.lock) {
		err = fmt.Errorf("lock %s", c.stage)
	}
	return err
}

// removeStale removes what processes that are gone have left: staging
// directories, and files they had not finished. What has no lock to tell by is
// removed when it is old.
func (c *codeCache) removeStale() {
	removeStages(c.dir)
	for _, kept := range list(c.dir, keptPrefix) {
		for _, unfinished := range list(kept, newPrefix) {
			removeOld(unfinished)
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
	for _, kept := range list(c.dir, keptPrefix) {
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

// codeID names an instrumented module and the engine that compiles it.
type codeID struct {
	digest string // SHA-256 of the instrumented module, in hex
	engine string // the directory wazero made: its version and platform
}

func (c *codeCache) identify(wasm []byte) codeID {
	sum := sha256.Sum256(wasm)
	return codeID{hex.EncodeToString(sum[:]), filepath.Base(c.made)}
}

func (c *codeCache) path(id codeID) string {
	return filepath.Join(c.kept, id.digest+codeSuffix)
}

// seal binds code to what it was made of.
func (c *codeCache) seal(id codeID, name string, code []byte) []byte {
	h := newSeal(c.key)
	fmt.Fprintf(h, "%s%s\x00%s\x00%s\x00%s\x00", sealDomain, filepath.Base(c.kept), id.engine, id.digest, name)
	h.Write(code)
	return h.Sum(nil)
}

// newSeal is HMAC-SHA-256 with a key, or SHA-256 without one.
func newSeal(key []byte) hash.Hash {
	if key == nil {
		return sha256.New()
	}
	return hmac.New(sha256.New, key)
}

// stagedCode is a verified file that wazero may read until it is released.
type stagedCode struct {
	cache *codeCache
	name  string
}

// fetch verifies the kept file of a module and stages its bytes. It returns
// nil when there is none. A file that does not verify is deleted, and
// discarded is true.
func (c *codeCache) fetch(id codeID) (found *stagedCode, discarded bool) {
	name, code, err := c.read(id)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, false
	case err != nil:
		c.discard(id, err)
		return nil, true
	}
	if err := c.put(name, code); err != nil {
		c.log.Warn("kept code could not be used", "error", err)
		return nil, false
	}
	now := time.Now()
	_ = os.Chtimes(c.path(id), now, now) // only tells shrink what is in use
	return &stagedCode{c, name}, false
}

var errSeal = errors.New("seal does not match")

// read returns the verified contents of a kept file.
func (c *codeCache) read(id codeID) (name string, code []byte, err error) {
	info, err := os.Lstat(c.path(id))
	if err != nil {
		return "", nil, err
	}
	if !info.Mode().IsRegular() || info.Size() > maxCodeFile || info.Size() < int64(cacheHeader) {
		return "", nil, errSeal
	}
	b, err := os.ReadFile(c.path(id))
	if err != nil {
		return "", nil, err
	}
	return c.unseal(id, b)
}

// unseal takes a kept file apart and verifies it.
func (c *codeCache) unseal(id codeID, b []byte) (name string, code []byte, err error) {
	if len(b) < cacheHeader || string(b[:len(cacheMagic)]) != cacheMagic {
		return "", nil, errSeal
	}
	b = b[len(cacheMagic):]
	seal, name, code := b[:sha256.Size], string(b[sha256.Size:][:nameLen]), b[sha256.Size+nameLen:]
	if !hmac.Equal(seal, c.seal(id, name, code)) || !isCodeName(name) {
		return "", nil, errSeal
	}
	return name, code, nil
}

// isCodeName reports whether name is 64 hexadecimal digits.
func isCodeName(name string) bool {
	_, err := hex.DecodeString(name)
	return err == nil && len(name) == nameLen
}

// put writes verified code where wazero looks for it.
func (c *codeCache) put(name string, code []byte) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.staged[name]++
	if c.staged[name] > 1 {
		return nil
	}
	err := writeWhole(c.made, name, false, func(w io.Writer) error {
		_, err := w.Write(code)
		return err
	})
	if err != nil {
		delete(c.staged, name)
	}
	return err
}

// release takes a file out of the staging directory when its last user is done.
func (s *stagedCode) release() {
	c := s.cache
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.staged[s.name]--; c.staged[s.name] == 0 {
		delete(c.staged, s.name)
		os.Remove(filepath.Join(c.made, s.name))
	}
}

// discard deletes a kept file that cannot be used.
func (c *codeCache) discard(id codeID, why error) {
	c.log.Warn("kept code was discarded", "module", id.digest, "reason", why)
	if err := os.RemoveAll(c.path(id)); err != nil {
		c.log.Warn("discarded code could not be deleted", "error", err)
	}
}

// store seals what wazero has just written for a module, and keeps it. That
// nothing was kept costs time and nothing else, so it is only logged.
func (c *codeCache) store(id codeID) {
	for _, name := range c.fresh() {
		from := filepath.Join(c.made, name)
		code, err := os.ReadFile(from)
		if err == nil {
			err = c.keep(id, name, code)
		}
		if err != nil {
			c.log.Warn("compiled code was not kept", "module", id.digest, "error", err)
		}
		os.Remove(from)
	}
}

// fresh lists the files in the staging directory that were not put there.
func (c *codeCache) fresh() (names []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	entries, _ := os.ReadDir(c.made)
	for _, e := range entries {
		switch {
		case strings.HasSuffix(e.Name(), ".tmp"):
			os.Remove(filepath.Join(c.made, e.Name()))
		case isCodeName(e.Name()) && c.staged[e.Name()] == 0:
			names = append(names, e.Name())
		}
	}
	return names
}

// keepOrSay seals code and keeps it. That it was not kept costs time and
// nothing else, so it is only logged.
func (c *codeCache) keepOrSay(id codeID, code Code) {
	if err := c.keep(id, code.Name, code.Bytes); err != nil {
		c.log.Warn("compiled code was not kept", "module", id.digest, "error", err)
	}
}

// forget deletes what wazero has written of a module that is not to be kept.
func (c *codeCache) forget() {
	for _, name := range c.fresh() {
		os.Remove(filepath.Join(c.made, name))
	}
}

// keep writes one file, whole or not at all.
func (c *codeCache) keep(id codeID, name string, code []byte) error {
	if c.temp {
		return nil
	}
	return writeWhole(c.kept, filepath.Base(c.path(id)), true, func(w io.Writer) error {
		for _, part := range [][]byte{[]byte(cacheMagic), c.seal(id, name, code), []byte(name), code} {
			if _, err := w.Write(part); err != nil {
				return err
			}
		}
		return nil
	})
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
