package main

import (
	"bytes"
	"compress/flate"
	"io"
)

// maxFilters bounds the filters of one stream.
const maxFilters = 8

// filters decode streams (ISO 32000-1, 7.4). They give as much as can be
// decoded, which is better than nothing, and no more than maxStream bytes.
type filters struct {
	work     *work
	inflater io.ReadCloser
	clipped  bool // a stream was longer than maxStream
}

// filter is a filter with its name, and the short one that belongs into inline
// images but is found elsewhere.
type filter struct {
	name, short atom
	decode      func(f *filters, data []byte, parameters dict) []byte
}

// knownFilters are those of text; the others compress images only.
var knownFilters = []filter{
	{"FlateDecode", "Fl", (*filters).flate},
	{"LZWDecode", "LZW", (*filters).lzw},
	{"ASCII85Decode", "A85", func(_ *filters, data []byte, _ dict) []byte { return base85(data) }},
	{"ASCIIHexDecode", "AHx", func(_ *filters, data []byte, _ dict) []byte { return asciiHex(data) }},
	{"RunLengthDecode", "RL", func(_ *filters, data []byte, _ dict) []byte { return runLength(data) }},
}

// decode undoes one filter. What a filter that is not known made is dropped.
func (f *filters) decode(name atom, data []byte, parameters dict) []byte {
	for _, known := range knownFilters {
		if name == known.name || name == known.short {
			data = known.decode(f, data, parameters)
			f.clipped = f.clipped || len(data) >= maxStream
			f.work.spend(len(data))
			return data
		}
	}
	return nil
}

// flate decompresses up to the end or the first error, past the header of zlib
// and without its checksum. One decompressor serves all streams of a document.
func (f *filters) flate(raw []byte, parameters dict) []byte {
	const zlibHeader = 2
	if len(raw) < zlibHeader {
		return nil
	}
	source := bytes.NewReader(raw[zlibHeader:])
	if f.inflater == nil {
		f.inflater = flate.NewReader(source)
	} else if f.inflater.(flate.Resetter).Reset(source, nil) != nil {
		return nil
	}
	out := bytes.NewBuffer(make([]byte, 0, min(4*len(raw), maxStream)+bytes.MinRead))
	io.Copy(out, io.LimitReader(f.inflater, maxStream))
	return unpredict(out.Bytes(), parameters)
}

func (f *filters) lzw(raw []byte, parameters dict) []byte {
	early := 1
	if n, ok := parameters["EarlyChange"].(float64); ok && n == 0 {
		early = 0
	}
	return unpredict(unpackLZW(raw, early), parameters)
}

// unpackLZW undoes the variant of LZW that PDF has (ISO 32000-1, 7.4.4): codes
// of 9 to 12 bits, high bits first, which grow early entries before they must.
func unpackLZW(raw []byte, early int) []byte {
	const clear, end, first = 256, 257, 258
	var table [1 << 12]struct{ at, length int32 } // each entry is a piece of out
	var out []byte
	bits, held, next, width := 0, 0, first, 9
	from, last := 0, -1 // where the last entry stands in out, and its code
	for _, b := range raw {
		bits, held = bits<<8|int(b), held+8
		if held < width {
			continue
		}
		held -= width
		code := bits >> held
		bits &= 1<<held - 1
		at := len(out)
		switch {
		case code == end || len(out) >= maxStream:
			return out[:min(len(out), maxStream)]
		case code == clear:
			next, width, last = first, 9, -1
			continue
		case code < clear:
			out = append(out, byte(code))
		case code < next:
			e := table[code]
			out = append(out, out[e.at:e.at+e.length]...)
		case code == next && last >= 0:
			out = append(out, out[from:]...)
			out = append(out, out[from])
		default:
			return out
		}
		if last >= 0 && next < len(table) {
			table[next].at, table[next].length = int32(from), int32(at-from+1)
			next++
		}
		from, last = at, code
		if next+early >= 1<<width && width < 12 {
			width++
		}
	}
	return out
}

// base85 undoes ASCII base 85 (7.4.3); bytes that are not digits are skipped.
func base85(raw []byte) []byte {
	raw = bytes.TrimPrefix(bytes.TrimLeft(raw, " \t\r\n"), []byte("<~"))
	out := make([]byte, 0, len(raw)/5*4+4)
	group, n := uint32(0), 0
	for _, c := range raw {
		switch {
		case c == '~':
			return base85Tail(out, group, n)
		case c == 'z' && n == 0:
			out = append(out, 0, 0, 0, 0)
		case c >= '!' && c <= 'u':
			group = group*85 + uint32(c-'!')
			if n++; n == 5 {
				out = append(out, byte(group>>24), byte(group>>16), byte(group>>8), byte(group))
				group, n = 0, 0
			}
		}
	}
	return base85Tail(out, group, n)
}

// base85Tail appends the bytes of an unfinished group of n digits.
func base85Tail(out []byte, group uint32, n int) []byte {
	for i := n; i < 5; i++ {
		group = group*85 + 84
	}
	for i := 1; i < n; i++ {
		out = append(out, byte(group>>24))
		group <<= 8
	}
	return out
}

func asciiHex(raw []byte) []byte {
	l := lexer{data: raw}
	return l.hex()
}

// runLength undoes run-length encoding (7.4.5).
func runLength(raw []byte) []byte {
	const end = 128
	var out []byte
	for len(raw) > 1 && raw[0] != end && len(out) < maxStream {
		if n := int(raw[0]) + 1; n <= end {
			n = min(n, len(raw)-1)
			out = append(out, raw[1:1+n]...)
			raw = raw[1+n:]
			continue
		}
		out = append(out, bytes.Repeat(raw[1:2], 257-int(raw[0]))...)
		raw = raw[2:]
	}
	return out
}
