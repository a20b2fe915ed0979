package codecache

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/skillet-run/skillet/host/engine/sandbox/wasmbin"
)

// A Module is what is kept of a module between runs: enough to load it
// without checking, instrumenting or even decoding its code.
//
// The file is: code, block, the name wazero gave the code and the digest of the file
// that has it (64 hex digits each), the lengths of plan, stub and block (4 bytes each,
// little-endian), seal (32 bytes), magic. The block is plan and stub together, in LZ4.
// The plan is a wasmbin.Instrumented in JSON, without the module itself. Code that
// many modules have is in a file of its own; those that share it have none, and the
// digest, where the others have zeros. The seal is HMAC-SHA-256 with the cache key, or
// SHA-256 without one, over a domain text, the identity of the module and machine, and
// all that is in front of the seal. It is verified before anything is decompressed.
type Module struct {
	Plan   *wasmbin.Instrumented // its Wasm is nil
	Stub   []byte                // see wasmbin.Stub
	Code   Code
	Shared string // the digest of the ID whose file has the code; "" when this one has it
	Kept   bool   // it was read from a file
}

const (
	cachedMagic  = "\x00skillet" + " code 3\n" // which is not the command of that name
	cachedDomain = "skillet compiled code\x00"
	nameLen      = 2 * sha256.Size
	cachedTable  = 2*nameLen + 3*4
	cachedLeast  = cachedTable + sha256.Size + len(cachedMagic)
)

// unshared is written where there is no digest.
var unshared = strings.Repeat("0", nameLen)

// A ID names a module, what was made of it, and the engine that compiles
// that.
type ID struct {
	Digest string // in hex, of the module's digest and how it is instrumented
	engine string // see engineName
}

// Identify names the module of a digest, and how it was instrumented, in words that differ where
// that does.
func Identify(sum, how string) ID {
	h := sha256.New()
	fmt.Fprintf(h, "%s\x00%d\x00%s", sum, wasmbin.Revision, how)
	return ID{hex.EncodeToString(h.Sum(nil)), engineName()}
}

// IdentifyShared names the skeleton of modules that share their code.
func IdentifyShared(skeleton []byte) ID {
	h := sha256.New()
	h.Write([]byte("shared\x00"))
	h.Write(skeleton)
	return ID{hex.EncodeToString(h.Sum(nil)), engineName()}
}

func (c *Cache) path(id ID) string {
	return filepath.Join(c.kept, id.Digest+codeSuffix)
}

// seal binds what is kept to what it was made of.
func (c *Cache) seal(id ID, parts ...[]byte) []byte {
	h := NewSeal(c.key)
	fmt.Fprintf(h, "%s%s\x00%s\x00%s\x00", cachedDomain, filepath.Base(c.kept), id.engine, id.Digest)
	for _, b := range parts {
		h.Write(b)
	}
	return h.Sum(nil)
}

// NewSeal is HMAC-SHA-256 with a key, or SHA-256 without one.
func NewSeal(key []byte) hash.Hash {
	if key == nil {
		return sha256.New()
	}
	return hmac.New(sha256.New, key)
}

// Fetch returns what is kept of a module, verified. It returns nil when there is
// nothing. A file that does not verify is deleted, and discarded is true.
func (c *Cache) Fetch(id ID) (k *Module, discarded bool) {
	if c.dir == "" {
		return nil, false
	}
	k, err := c.read(id)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, false
	case err != nil:
		c.Discard(id, err)
		return nil, true
	}
	now := time.Now()
	_ = os.Chtimes(c.path(id), now, now) // only tells shrink what is in use
	if k.Shared == "" {
		return k, false
	}
	of, discarded := c.Fetch(ID{k.Shared, id.engine})
	if of == nil || of.Shared != "" {
		return nil, discarded
	}
	k.Code.Bytes = of.Code.Bytes
	return k, false
}

var errSeal = errors.New("seal does not match")

// read returns the verified contents of a kept file.
func (c *Cache) read(id ID) (*Module, error) {
	info, err := os.Lstat(c.path(id))
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() || info.Size() > maxCodeFile || info.Size() < int64(cachedLeast) {
		return nil, errSeal
	}
	f, err := os.Open(c.path(id))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b := make([]byte, info.Size())
	if _, err := io.ReadFull(f, b); err != nil {
		return nil, err
	}
	return c.unseal(id, b)
}

// unseal verifies a kept file and takes it apart.
func (c *Cache) unseal(id ID, b []byte) (*Module, error) {
	b, ok := bytes.CutSuffix(b, []byte(cachedMagic))
	if !ok || len(b) < sha256.Size {
		return nil, errSeal
	}
	b, seal := b[:len(b)-sha256.Size], b[len(b)-sha256.Size:]
	if !hmac.Equal(seal, c.seal(id, b)) {
		return nil, errSeal
	}
	return parseCached(b)
}

var errKept = errors.New("not what is kept of a module")

// mostRatio is more than LZ4 can make shorter.
const mostRatio = 256

// parseCached takes apart what is in front of the seal.
func parseCached(b []byte) (*Module, error) {
	if len(b) < cachedTable {
		return nil, errKept
	}
	b, table := b[:len(b)-cachedTable], b[len(b)-cachedTable:]
	k := &Module{Plan: &wasmbin.Instrumented{}, Code: Code{Name: string(table[:nameLen])}, Kept: true}
	if k.Shared = string(table[nameLen : 2*nameLen]); k.Shared == unshared {
		k.Shared = ""
	}
	var length [3]uint64
	for i := range length {
		length[i] = uint64(binary.LittleEndian.Uint32(table[2*nameLen+4*i:]))
	}
	plan, stub, block := length[0], length[1], length[2]
	if block > uint64(len(b)) || plan+stub > mostRatio*block || !isCodeName(k.Code.Name) || k.Shared != "" && !isCodeName(k.Shared) {
		return nil, errKept
	}
	code := uint64(len(b)) - block
	both := make([]byte, plan+stub)
	if err := decompress(both, b[code:]); err != nil {
		return nil, errors.Join(errKept, err)
	}
	k.Code.Bytes, k.Stub = b[:code:code], both[plan:]
	return k, k.ReadPlan(both[:plan])
}

// PlanText is the plan in JSON, without the module itself.
func (k *Module) PlanText() ([]byte, error) {
	plan := *k.Plan
	plan.Wasm = nil
	return json.Marshal(plan)
}

func (k *Module) ReadPlan(text []byte) error {
	if err := json.Unmarshal(text, k.Plan); err != nil || k.Plan.Module == nil {
		return errors.Join(errKept, err)
	}
	return nil
}

// parts are what is in front of the seal.
func (k *Module) parts() ([][]byte, error) {
	text, err := k.PlanText()
	if err != nil {
		return nil, err
	}
	code, shared := k.Code.Bytes, unshared
	if k.Shared != "" {
		code, shared = nil, k.Shared
	}
	block := compress(slices.Concat(text, k.Stub))
	table := []byte(k.Code.Name + shared)
	for _, n := range []int{len(text), len(k.Stub), len(block)} {
		table = binary.LittleEndian.AppendUint32(table, uint32(n))
	}
	return [][]byte{code, block, table}, nil
}

// isCodeName reports whether name is 64 hexadecimal digits.
func isCodeName(name string) bool {
	_, err := hex.DecodeString(name)
	return err == nil && len(name) == nameLen
}

// Discard deletes a kept file that cannot be used.
func (c *Cache) Discard(id ID, why error) {
	c.log.Warn("kept code was discarded", "module", id.Digest, "reason", why)
	if err := os.RemoveAll(c.path(id)); err != nil {
		c.log.Warn("discarded code could not be deleted", "error", err)
	}
}

// Keep keeps a module. That it was not kept costs time and nothing else,
// so it is only logged.
func (c *Cache) Keep(id ID, k *Module) {
	if err := c.write(id, k); err != nil {
		c.log.Warn("compiled code was not kept", "module", id.Digest, "error", err)
	}
}

// keep writes one file, whole or not at all.
func (c *Cache) write(id ID, k *Module) error {
	if c.dir == "" {
		return nil
	}
	parts, err := k.parts()
	if err != nil {
		return err
	}
	return writeWhole(c.kept, filepath.Base(c.path(id)), true, func(w io.Writer) error {
		for _, part := range append(parts, c.seal(id, parts...), []byte(cachedMagic)) {
			if _, err := w.Write(part); err != nil {
				return err
			}
		}
		return nil
	})
}
