package main

import (
	"bytes"
	"compress/lzw"
	"compress/zlib"
	"encoding/ascii85"
	"encoding/hex"
	"math/rand/v2"
	"strings"
	"testing"
)

// sample has long repetitions and bytes of all values.
func sample() []byte {
	r := rand.New(rand.NewPCG(1, 2))
	b := []byte(strings.Repeat("text in repeated words, text. ", 2000))
	for range 20_000 {
		b = append(b, byte(r.Uint32()))
	}
	return b
}

func deflated(data []byte) []byte {
	var b bytes.Buffer
	z := zlib.NewWriter(&b)
	z.Write(data)
	z.Close()
	return b.Bytes()
}

// lateLZW packs as Go does, where codes grow when they must.
func lateLZW(data []byte) []byte {
	var b bytes.Buffer
	w := lzw.NewWriter(&b, lzw.MSB, 8)
	w.Write(data)
	w.Close()
	return b.Bytes()
}

// earlyLZW packs up to 3,800 bytes without compressing: a code for each, which
// grows one entry early.
func earlyLZW(data []byte) []byte {
	var out []byte
	bits, held, width, next := 0, 0, 9, 258
	put := func(code int) {
		bits, held = bits<<width|code, held+width
		for held >= 8 {
			held -= 8
			out = append(out, byte(bits>>held))
			bits &= 1<<held - 1
		}
	}
	put(256)
	for i, c := range data {
		put(int(c))
		if i > 0 {
			next++
		}
		if next+1 >= 1<<width && width < 12 {
			width++
		}
	}
	put(257)
	return append(out, byte(bits<<(8-held)))
}

func ascii85ed(data []byte) []byte {
	b := make([]byte, ascii85.MaxEncodedLen(len(data)))
	return append(b[:ascii85.Encode(b, data)], "~>"...)
}

func TestFilters(t *testing.T) {
	t.Parallel()
	data := sample()
	tests := []struct {
		name       string
		filter     atom
		in         []byte
		parameters dict
		want       []byte
	}{
		{"flate", "FlateDecode", deflated(data), nil, data},
		{"flate, short name", "Fl", deflated(data), nil, data},
		{"flate without its end", "FlateDecode", deflated(data)[:len(deflated(data))-9], nil, data},
		{"lzw", "LZWDecode", []byte("\x80\x0b\x60\x50\x22\x0c\x0c\x85\x01"), nil, []byte("-----A---B")},
		{"lzw, growing late", "LZWDecode", lateLZW(data), dict{"EarlyChange": 0.0}, data},
		{"lzw, growing early", "LZWDecode", earlyLZW(data[:3000]), nil, data[:3000]},
		{"base 85", "ASCII85Decode", ascii85ed(data), nil, data},
		{"base 85, short", "A85", []byte("<~ 87cU\nRD]i,\"Ebo7~> behind"), nil, []byte("Hello World")},
		{"base 85, zeros", "ASCII85Decode", []byte("z!!~>"), nil, []byte{0, 0, 0, 0, 0}},
		{"hexadecimal", "ASCIIHexDecode", []byte(hex.EncodeToString(data) + ">x"), nil, data},
		{"hexadecimal, odd", "AHx", []byte("4 14>"), nil, []byte("A@")},
		{"runs", "RunLengthDecode", []byte("\x02abc\xfex\x00d\x80 behind"), nil, []byte("abcxxxd")},
		{"runs, cut off", "RL", []byte("\x05ab"), nil, []byte("ab")},
		{"an image", "DCTDecode", data, nil, nil},
		{"no filter", "", data, nil, nil},
	}
	for _, tt := range tests {
		f := &filters{work: &work{left: maxWork}}
		if got := f.decode(tt.filter, tt.in, tt.parameters); !bytes.Equal(got, tt.want) {
			t.Errorf("%s: got %d bytes %.20q, want %d", tt.name, len(got), got, len(tt.want))
		}
	}
}

func TestFiltersAreBounded(t *testing.T) {
	t.Parallel()
	for name, in := range map[atom][]byte{
		"FlateDecode":     deflated(make([]byte, maxStream+100)),
		"LZWDecode":       lateLZW(make([]byte, maxStream+100)),
		"RunLengthDecode": bytes.Repeat([]byte("\x81x"), maxStream/100),
	} {
		w := &work{left: maxWork}
		f := &filters{work: w}
		out := f.decode(name, in, dict{"EarlyChange": 0.0})
		if len(out) < maxStream || len(out) > maxStream+1<<12 || !f.clipped || w.left > maxWork-maxStream {
			t.Errorf("%s: %d bytes, clipped %t, %d units of work left", name, len(out), f.clipped, w.left)
		}
	}
}

func TestPredictors(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, parameters string
		in, want         []byte
	}{
		{"none", "<</Predictor 1/Columns 3>>", []byte{1, 2, 3}, []byte{1, 2, 3}},
		{"PNG none", "<</Predictor 10/Columns 2>>", []byte{0, 7, 8, 0, 9, 1}, []byte{7, 8, 9, 1}},
		{"PNG sub", "<</Predictor 11/Columns 3>>", []byte{1, 1, 2, 3, 1, 250, 10, 1}, []byte{1, 3, 6, 250, 4, 5}},
		{"PNG up", "<</Predictor 12/Columns 3>>", []byte{2, 1, 2, 3, 2, 1, 1, 1}, []byte{1, 2, 3, 2, 3, 4}},
		{"PNG average", "<</Predictor 13/Columns 2>>", []byte{0, 10, 20, 3, 1, 1}, []byte{10, 20, 6, 14}},
		{"PNG Paeth", "<</Predictor 14/Columns 2>>", []byte{0, 10, 20, 4, 1, 1}, []byte{10, 20, 11, 21}},
		{"PNG, each row its own", "<</Predictor 15/Columns 2>>", []byte{1, 1, 1, 2, 1, 1, 4, 1, 1}, []byte{1, 2, 2, 3, 3, 4}},
		{"PNG, colors", "<</Predictor 11/Columns 2/Colors 2>>", []byte{1, 1, 2, 3, 4}, []byte{1, 2, 4, 6}},
		{"PNG, last row cut off", "<</Predictor 12/Columns 3>>", []byte{2, 1, 2, 3, 2, 1}, []byte{1, 2, 3, 2}},
		{"TIFF", "<</Predictor 2/Columns 3>>", []byte{1, 2, 3, 10, 1, 255}, []byte{1, 3, 6, 10, 11, 10}},
		{"TIFF, 16 bits", "<</Predictor 2/Columns 2/BitsPerComponent 16>>", []byte{0, 255, 0, 2}, []byte{0, 255, 1, 1}},
		{"TIFF, 4 bits", "<</Predictor 2/Columns 4/BitsPerComponent 4>>", []byte{0x12, 0x3f}, []byte{0x13, 0x65}},
		{"too many colors", "<</Predictor 12/Colors 99>>", []byte{1, 2}, nil},
		{"odd bits", "<</Predictor 12/BitsPerComponent 7>>", []byte{1, 2}, nil},
	}
	for _, tt := range tests {
		p := parser{lexer: lexer{data: []byte(tt.parameters)}}
		o, _ := p.value()
		if got := unpredict(bytes.Clone(tt.in), o.(dict)); !bytes.Equal(got, tt.want) {
			t.Errorf("%s: got %v, want %v", tt.name, got, tt.want)
		}
	}
}

// FuzzFilters decodes anything with every filter: it must end, within bounds.
func FuzzFilters(f *testing.F) {
	f.Add(uint8(0), deflated([]byte("some text")), int16(12), int16(3), int16(1), int16(8))
	f.Add(uint8(1), []byte("\x80\x0b\x60\x50\x22\x0c\x0c\x85\x01"), int16(2), int16(1), int16(2), int16(4))
	f.Add(uint8(2), []byte("<~87cURD]i,\"Ebo7~>"), int16(0), int16(0), int16(0), int16(0))
	f.Add(uint8(3), []byte("48656c6c6f>"), int16(0), int16(0), int16(0), int16(0))
	f.Add(uint8(4), []byte("\x02abc\xfex"), int16(0), int16(0), int16(0), int16(0))
	f.Fuzz(func(t *testing.T, which uint8, data []byte, predictor, columns, colors, bits int16) {
		known := knownFilters[int(which)%len(knownFilters)]
		parameters := dict{
			"Predictor": float64(predictor), "Columns": float64(columns),
			"Colors": float64(colors), "BitsPerComponent": float64(bits),
		}
		f := &filters{work: &work{left: maxWork}}
		if out := f.decode(known.name, data, parameters); len(out) > maxStream+1<<12 {
			t.Errorf("%d bytes from %d", len(out), len(data))
		}
	})
}
