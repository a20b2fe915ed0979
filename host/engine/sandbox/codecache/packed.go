package codecache

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/pierrec/lz4/v4"
)

// A packedCode is machine code as it is kept and sent, taken apart: what the engine
// reads in front of it and behind it, and the machine code itself as a block of LZ4,
// which is a fourth of it and read faster than the rest of a whole file. In bytes it
// is: sizes of the machine code, head, tail and block (4 bytes each, little-endian),
// head, tail, block. A block as long as the machine code is that itself.
type packedCode struct {
	head, tail, block []byte
	size              uint64
}

const packedSizes = 4 * 4

// packDepth is how many places LZ4 looks at for each repetition: with more, code is
// hardly smaller, and making it takes long.
const packDepth = 8

// Pack packs code as the engine writes it.
func Pack(whole []byte) ([]byte, error) {
	r := codeReader{left: whole, ok: true}
	size := r.head()
	head := whole[:len(whole)-len(r.left)]
	machine := r.take(size)
	tail := r.left
	r.tail()
	if !r.ok || len(r.left) > 0 || len(whole) > maxCodeFile {
		return nil, errCode
	}
	block := compress(machine)
	var sizes []byte
	for _, n := range []int{len(machine), len(head), len(tail), len(block)} {
		sizes = binary.LittleEndian.AppendUint32(sizes, uint32(n))
	}
	return slices.Concat(sizes, head, tail, block), nil
}

// parsePackedCode takes packed code apart. What is in the block is not looked at.
func parsePackedCode(b []byte) (p packedCode, err error) {
	if len(b) < packedSizes {
		return p, errCode
	}
	var size [4]uint64
	for i := range size {
		size[i] = uint64(binary.LittleEndian.Uint32(b[4*i:]))
	}
	if b = b[packedSizes:]; size[1]+size[2]+size[3] != uint64(len(b)) {
		return p, errCode
	}
	p.size, p.head, b = size[0], b[:size[1]:size[1]], b[size[1]:]
	p.tail, p.block = b[:size[2]:size[2]], b[size[2]:]
	return p, nil
}

// check tells code that the engine could not read without harm: it believes the
// counts in it.
func (p packedCode) check() error {
	head, tail := codeReader{left: p.head, ok: true}, codeReader{left: p.tail, ok: true}
	size := head.head()
	tail.tail()
	if !head.ok || !tail.ok || len(head.left)+len(tail.left) > 0 || size != p.size || size > maxCodeFile || uint64(len(p.block)) > size {
		return errCode
	}
	return nil
}

// compress makes a block of LZ4, or returns the bytes themselves when that is not
// shorter.
func compress(b []byte) []byte {
	block := make([]byte, lz4.CompressBlockBound(len(b)))
	n, err := lz4.CompressBlockHC(b, block, packDepth, nil, nil)
	if err != nil || n == 0 || n >= len(b) {
		return b
	}
	return slices.Clip(slices.Clone(block[:n]))
}

// decompress fills b with what compress was given.
func decompress(b, block []byte) error {
	if len(block) == len(b) {
		copy(b, block)
		return nil
	}
	n, err := lz4.UncompressBlock(block, b)
	if err == nil && n != len(b) {
		err = errors.New("too short")
	}
	if err != nil {
		return fmt.Errorf("decompress: %w", err)
	}
	return nil
}

// reader is the code as the engine wrote it.
func (p packedCode) reader() io.ReadCloser { return &codeStream{packedCode: p} }

// A codeStream gives the engine packed code, and the machine code right into the
// memory that it runs in.
type codeStream struct {
	packedCode
	given bool // that the machine code was
}

func (s *codeStream) Read(b []byte) (n int, err error) {
	switch {
	case len(b) == 0:
		return 0, nil
	case len(s.head) > 0:
		n = copy(b, s.head)
		s.head = s.head[n:]
		return n, nil
	case s.size > 0 && !s.given:
		if uint64(len(b)) != s.size {
			return 0, errCode
		}
		s.given = true
		expectLarge(b)
		return len(b), decompress(b, s.block)
	case len(s.tail) == 0:
		return 0, io.EOF
	}
	n = copy(b, s.tail)
	s.tail = s.tail[n:]
	return n, nil
}

func (s *codeStream) Close() error { return nil }
