package sandbox

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
	"time"

	"github.com/skillet-run/skillet/host/engine/sandbox/wasmbin"
)

// A cachedModule is what is kept of a module between runs: enough to load it
// without checking, instrumenting or even decoding its code.
//
// The file is: machine code, plan, stub, the name wazero gave the code (64 hex
// digits), the lengths of plan and stub (4 bytes each, little-endian), seal (32
// bytes), magic. The code comes first so that wazero can be given the file as it
// is: it does not look behind the code. The plan is a wasmbin.Instrumented in
// JSON, without the module itself. The seal is HMAC-SHA-256 with the cache key,
// or SHA-256 without one, over a domain text, the identity of the module and
// machine, and all that is in front of the seal.
type cachedModule struct {
	plan *wasmbin.Instrumented // its Wasm is nil
	stub []byte                // see wasmbin.Stub
	code Code                  // its Bytes are nil when they were verified and stay in the file
	path string                // of the file; empty before there is one
}

const (
	cachedMagic  = "\x00skillet code 2\n"
	cachedDomain = "skillet compiled code\x00"
	nameLen      = 2 * sha256.Size
	cachedTable  = nameLen + 4 + 4
	cachedLeast  = cachedTable + sha256.Size + len(cachedMagic)
)

// A codeID names a module, what was made of it, and the engine that compiles
// that.
type codeID struct {
	digest string // in hex, of the module's digest and how it is instrumented
	engine string // the directory wazero made: its version and platform
}

// identify names the module of a digest.
func (c *codeCache) identify(sum digest) codeID {
	h := sha256.New()
	fmt.Fprintf(h, "%s\x00%d\x00%+v\x00%+v\x00%v", sum, wasmbin.Revision, gateLimits(c.factor), instrumentOptions(), wasmbin.Features())
	return codeID{hex.EncodeToString(h.Sum(nil)), filepath.Base(c.made)}
}

// identifyShared names the skeleton of modules that share their code.
func (c *codeCache) identifyShared(skeleton []byte) codeID {
	h := sha256.New()
	h.Write([]byte("shared\x00"))
	h.Write(skeleton)
	return codeID{hex.EncodeToString(h.Sum(nil)), filepath.Base(c.made)}
}

func (c *codeCache) path(id codeID) string {
	return filepath.Join(c.kept, id.digest+codeSuffix)
}

// seal binds what is kept to what it was made of.
func (c *codeCache) seal(id codeID, parts ...[]byte) []byte {
	h := c.sealed(id)
	for _, b := range parts {
		h.Write(b)
	}
	return h.Sum(nil)
}

// sealed begins the seal of what is kept of a module.
func (c *codeCache) sealed(id codeID) hash.Hash {
	h := newSeal(c.key)
	fmt.Fprintf(h, "%s%s\x00%s\x00%s\x00", cachedDomain, filepath.Base(c.kept), id.engine, id.digest)
	return h
}

// newSeal is HMAC-SHA-256 with a key, or SHA-256 without one.
func newSeal(key []byte) hash.Hash {
	if key == nil {
		return sha256.New()
	}
	return hmac.New(sha256.New, key)
}

// fetch returns what is kept of a module, verified, with its code or, to be loaded
// from the file, without. It returns nil when there is nothing. A file that does not
// verify is deleted, and discarded is true.
func (c *codeCache) fetch(id codeID, withCode bool) (k *cachedModule, discarded bool) {
	k, err := c.read(id, withCode)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, false
	case err != nil:
		c.discard(id, err)
		return nil, true
	}
	now := time.Now()
	_ = os.Chtimes(c.path(id), now, now) // only tells shrink what is in use
	return k, false
}

var errSeal = errors.New("seal does not match")

// read returns the verified contents of a kept file. Without code, that is verified
// piece by piece, and never in memory as a whole.
func (c *codeCache) read(id codeID, withCode bool) (*cachedModule, error) {
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
	from := int64(0)
	if !withCode {
		if from, err = codeLength(f, info.Size()); err != nil {
			return nil, err
		}
	}
	k, err := c.unseal(id, f, from, info.Size())
	if err != nil {
		return nil, err
	}
	if !withCode {
		if len(k.code.Bytes) > 0 {
			return nil, errKept // the lengths were others a moment ago
		}
		k.code.Bytes = nil
	}
	k.path = c.path(id)
	return k, nil
}

// sealSize is what follows the sealed part of a kept file.
const sealSize = sha256.Size + len(cachedMagic)

// codeLength is how much of a kept file is code, as its table says, which is not
// verified yet.
func codeLength(f io.ReaderAt, size int64) (int64, error) {
	var lengths [8]byte
	if _, err := f.ReadAt(lengths[:], size-int64(sealSize+len(lengths))); err != nil {
		return 0, err
	}
	plan, stub := binary.LittleEndian.Uint32(lengths[:]), binary.LittleEndian.Uint32(lengths[4:])
	code := size - int64(cachedTable+sealSize) - int64(plan) - int64(stub)
	if code < 0 {
		return 0, errKept
	}
	return code, nil
}

// unseal verifies a kept file of a size and takes it apart. What comes before from is
// not kept in memory.
func (c *codeCache) unseal(id codeID, f io.Reader, from, size int64) (*cachedModule, error) {
	h := c.sealed(id)
	if _, err := io.CopyBuffer(h, io.LimitReader(f, from), make([]byte, 256<<10)); err != nil {
		return nil, err
	}
	b := make([]byte, size-from)
	if _, err := io.ReadFull(f, b); err != nil {
		return nil, err
	}
	b, ok := bytes.CutSuffix(b, []byte(cachedMagic))
	if !ok || len(b) < sha256.Size {
		return nil, errSeal
	}
	b, seal := b[:len(b)-sha256.Size], b[len(b)-sha256.Size:]
	h.Write(b)
	if !hmac.Equal(seal, h.Sum(nil)) {
		return nil, errSeal
	}
	return parseCached(b)
}

var errKept = errors.New("not what is kept of a module")

// parseCached takes apart what is in front of the seal.
func parseCached(b []byte) (*cachedModule, error) {
	if len(b) < cachedTable {
		return nil, errKept
	}
	b, table := b[:len(b)-cachedTable], b[len(b)-cachedTable:]
	name, stub, plan := string(table[:nameLen]), uint64(binary.LittleEndian.Uint32(table[nameLen+4:])), uint64(binary.LittleEndian.Uint32(table[nameLen:]))
	if plan+stub > uint64(len(b)) || !isCodeName(name) {
		return nil, errKept
	}
	code := uint64(len(b)) - plan - stub
	k := &cachedModule{plan: &wasmbin.Instrumented{}, stub: b[code+plan:], code: Code{name, b[:code:code]}}
	if err := k.readPlan(b[code : code+plan]); err != nil {
		return nil, err
	}
	return k, nil
}

// planText is the plan in JSON, without the module itself.
func (k *cachedModule) planText() ([]byte, error) {
	plan := *k.plan
	plan.Wasm = nil
	return json.Marshal(plan)
}

func (k *cachedModule) readPlan(text []byte) error {
	if err := json.Unmarshal(text, k.plan); err != nil || k.plan.Module == nil {
		return errors.Join(errKept, err)
	}
	return nil
}

// parts are what is in front of the seal.
func (k *cachedModule) parts() ([][]byte, error) {
	text, err := k.planText()
	table := binary.LittleEndian.AppendUint32([]byte(k.code.Name), uint32(len(text)))
	table = binary.LittleEndian.AppendUint32(table, uint32(len(k.stub)))
	return [][]byte{k.code.Bytes, text, k.stub, table}, err
}

// isCodeName reports whether name is 64 hexadecimal digits.
func isCodeName(name string) bool {
	_, err := hex.DecodeString(name)
	return err == nil && len(name) == nameLen
}

// discard deletes a kept file that cannot be used.
func (c *codeCache) discard(id codeID, why error) {
	c.log.Warn("kept code was discarded", "module", id.digest, "reason", why)
	if err := os.RemoveAll(c.path(id)); err != nil {
		c.log.Warn("discarded code could not be deleted", "error", err)
	}
}

// keepOrSay keeps a module. That it was not kept costs time and nothing else,
// so it is only logged.
func (c *codeCache) keepOrSay(id codeID, k *cachedModule) {
	if err := c.keep(id, k); err != nil {
		c.log.Warn("compiled code was not kept", "module", id.digest, "error", err)
	}
}

// keep writes one file, whole or not at all.
func (c *codeCache) keep(id codeID, k *cachedModule) error {
	if c.temp {
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
