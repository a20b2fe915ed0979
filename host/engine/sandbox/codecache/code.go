// Package codecache keeps the machine code of modules between runs, and hands it to the
// engine: packed, sealed, one file for each module or for all modules with the same code.
//
// It knows modules by their digests and what instrumentation found out about them. What is
// compiled, when, and by which process is for its caller to say.
package codecache

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// Code is the machine code of one instrumented module, good for this build of the
// program on this processor.
type Code struct {
	Name  string // what the engine calls it: 64 hexadecimal digits. It is that of the module's stub: see wasmbin.Stub
	Bytes []byte // compressed: see packedCode
}

var errCode = errors.New("the code is malformed")

// Check tells code that the engine could not read without harm: it believes
// the counts in it. That the code does what its module says cannot be checked.
func (c Code) Check() error {
	if !isCodeName(c.Name) {
		return fmt.Errorf("%w: its name is %q", errCode, c.Name)
	}
	if len(c.Bytes) > maxCodeFile {
		return fmt.Errorf("%w: it has %d bytes, more than %d", errCode, len(c.Bytes), maxCodeFile)
	}
	p, err := parsePackedCode(c.Bytes)
	if err != nil {
		return err
	}
	return p.check()
}

// codeReader walks through code as wazero's engine_cache.go writes it. Once
// something does not fit, nothing does.
type codeReader struct {
	left []byte
	ok   bool
}

const engineMagic = "WAZEVO"

// head is: magic, version, offsets of the functions, size of the machine code, which
// it returns.
func (r *codeReader) head() (size uint64) {
	r.ok = string(r.take(uint64(len(engineMagic)))) == engineMagic
	r.take(r.number(1))
	functions := r.list(r.number(4), 8)
	size = r.number(8)
	for ; len(functions) > 0; functions = functions[8:] {
		r.ok = r.ok && binary.LittleEndian.Uint64(functions) < size
	}
	return size
}

// tail is: checksum of the machine code, source map, catch clauses.
func (r *codeReader) tail() {
	r.take(4)
	if r.number(1) == 1 {
		r.list(r.number(8), 16)
	}
	for clauses := r.number(4); clauses > 0 && r.ok; clauses-- {
		r.list(r.number(4), 5)
	}
}

// take returns the next n bytes, or nil when there are fewer.
func (r *codeReader) take(n uint64) []byte {
	if !r.ok || n > uint64(len(r.left)) {
		r.ok = false
		return nil
	}
	b := r.left[:n]
	r.left = r.left[n:]
	return b
}

// list takes n elements of a size.
func (r *codeReader) list(n, size uint64) []byte {
	if n > uint64(len(r.left)) {
		r.ok = false
		return nil
	}
	return r.take(n * size)
}

// number takes a little-endian number of so many bytes; 0 when there is none.
func (r *codeReader) number(size uint64) (n uint64) {
	b := r.take(size)
	for i := len(b) - 1; i >= 0; i-- {
		n = n<<8 | uint64(b[i])
	}
	return n
}

// MachineBytes is the size of the machine code, which is not compressed in memory; 0 for
// code that is malformed.
func (c Code) MachineBytes() int {
	p, _ := parsePackedCode(c.Bytes)
	return int(p.size)
}
