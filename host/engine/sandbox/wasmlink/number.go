package wasmlink

import (
	"encoding/binary"
	"math"
	"strconv"
	"strings"
)

// integer reads a number of the text format in a width of bits, which may be
// written as signed or as unsigned.
func integer(word string, bits int) (int64, bool) {
	digits := strings.ReplaceAll(strings.TrimPrefix(word, "+"), "_", "")
	if v, err := strconv.ParseInt(digits, 0, bits); err == nil && decimalOrHex(digits) {
		return v, true
	}
	v, err := strconv.ParseUint(digits, 0, bits)
	if bits == 32 {
		return int64(int32(v)), err == nil && decimalOrHex(digits)
	}
	return int64(v), err == nil && decimalOrHex(digits)
}

// decimalOrHex refuses octal and binary numbers, which Go has and the text
// format has not.
func decimalOrHex(digits string) bool {
	digits = strings.TrimPrefix(digits, "-")
	return len(digits) < 2 || digits[0] != '0' || digits[1] == 'x'
}

// float reads a floating-point number: decimal, hexadecimal, inf or nan.
func float(word string, bits int) (float64, bool) {
	word = strings.ReplaceAll(word, "_", "")
	plain := strings.TrimLeft(word, "+-")
	if strings.HasPrefix(plain, "0x") && !strings.ContainsAny(plain, "pP") {
		word += "p0"
	}
	v, err := strconv.ParseFloat(word, bits)
	return v, err == nil
}

func appendFloat(b []byte, v float64, bits int) []byte {
	if bits == 32 {
		return binary.LittleEndian.AppendUint32(b, math.Float32bits(float32(v)))
	}
	return binary.LittleEndian.AppendUint64(b, math.Float64bits(v))
}

// appendU32 appends an unsigned LEB128.
func appendU32(b []byte, v uint32) []byte { return binary.AppendUvarint(b, uint64(v)) }

// appendSigned appends a signed LEB128.
func appendSigned(b []byte, v int64) []byte {
	for v > 63 || v < -64 {
		b = append(b, byte(v)|0x80)
		v >>= 7
	}
	return append(b, byte(v)&0x7f)
}
