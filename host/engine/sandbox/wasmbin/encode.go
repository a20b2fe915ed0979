package wasmbin

import (
	"encoding/binary"
	"slices"
)

// appendU32 appends an unsigned LEB128.
func appendU32(b []byte, v uint32) []byte { return binary.AppendUvarint(b, uint64(v)) }

// appendSigned appends a signed LEB128.
func appendSigned(b []byte, v int64) []byte {
	for {
		c := byte(v & 0x7f)
		v >>= 7
		if (v == 0 && c&0x40 == 0) || (v == -1 && c&0x40 != 0) {
			return append(b, c)
		}
		b = append(b, c|0x80)
	}
}

func appendIndexed(b []byte, op byte, index uint32) []byte {
	return appendU32(append(b, op), index)
}

func appendName(b []byte, s string) []byte {
	return append(appendU32(b, uint32(len(s))), s...)
}

// appendSection appends a section with its id and size.
func appendSection(b []byte, id byte, content []byte) []byte {
	b = slices.Grow(b, len(content)+8)
	b = appendU32(append(b, id), uint32(len(content)))
	return append(b, content...)
}

func appendFuncType(b []byte, t FuncType) []byte {
	b = append(b, 0x60)
	for _, list := range [][]ValueType{t.Params, t.Results} {
		b = appendU32(b, uint32(len(list)))
		for _, v := range list {
			b = append(b, byte(v))
		}
	}
	return b
}

// appendLimits appends the limits of a table or memory with their maximum.
func appendLimits(b []byte, low, high uint32) []byte {
	return appendU32(appendU32(append(b, 1), low), high)
}
