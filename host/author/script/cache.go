package script

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/hashicorp/go-hclog"

	"github.com/skillet-run/skillet/host/base/store/atomicfile"
)

// A Cache keeps the modules that were built from scripts, each in a file that is
// sealed with a key: a module runs with what its script was granted, so nobody
// else may put one there.
type Cache struct {
	log hclog.Logger
	dir string
	key []byte
}

// NewCache returns a cache in a directory, which is made when it is needed.
func NewCache(log hclog.Logger, dir string, key []byte) *Cache {
	return &Cache{log: log, dir: dir, key: key}
}

// ID names what is made of a program by an interpreter, both by the digests of
// their packages.
func ID(in Interpreter, interpreter, program, main string) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s\x00%s\x00%s\x00%s\x00%s", Revision, in.Name, interpreter, program, main))
	return hex.EncodeToString(sum[:])
}

// cacheDomain keeps a seal from being that of something else.
const cacheDomain = "skillet script module\x00"

func (s *Cache) seal(id string, wasm []byte) []byte {
	h := hmac.New(sha256.New, s.key)
	h.Write([]byte(cacheDomain + id + "\x00"))
	h.Write(wasm)
	return h.Sum(nil)
}

func (s *Cache) path(id string) string { return filepath.Join(s.dir, id+".wasm") }

// Get returns a module; false when there is none. A file that was torn or
// altered counts as none.
func (s *Cache) Get(id string) ([]byte, bool) {
	b, err := os.ReadFile(s.path(id))
	if err != nil || len(b) < sha256.Size {
		return nil, false
	}
	wasm := b[sha256.Size:]
	if !hmac.Equal(b[:sha256.Size], s.seal(id, wasm)) {
		s.log.Warn("a kept module of a script was discarded: its seal does not match", "id", id)
		return nil, false
	}
	return wasm, true
}

// cacheBudget is how many bytes are kept; what was made first goes first.
const cacheBudget = 256 << 20

// Put keeps a module. That it could not is logged, and costs time the next time.
func (s *Cache) Put(id string, wasm []byte) {
	err := os.MkdirAll(s.dir, 0o700)
	if err == nil {
		err = atomicfile.Write(s.path(id), slices.Concat(s.seal(id, wasm), wasm))
	}
	if err != nil {
		s.log.Warn("a module of a script was not kept", "error", err)
		return
	}
	s.shrink(cacheBudget)
}

// shrink removes the oldest files until at most budget bytes are left.
func (s *Cache) shrink(budget int64) {
	entries, _ := os.ReadDir(s.dir)
	var files []os.FileInfo
	for _, e := range entries {
		if info, err := e.Info(); err == nil && info.Mode().IsRegular() {
			files = append(files, info)
		}
	}
	slices.SortFunc(files, func(a, b os.FileInfo) int { return b.ModTime().Compare(a.ModTime()) })
	for _, f := range files {
		if budget -= f.Size(); budget < 0 {
			os.Remove(filepath.Join(s.dir, f.Name()))
		}
	}
}
