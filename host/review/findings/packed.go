package findings

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"math"
	"strings"
	"unicode/utf8"

	"github.com/skillet-run/skillet/host/review/findings/script"
)

var packedRules = []Rule{
	{
		ID: "SK307", Title: "data that nothing can be said about", Severity: Info,
		What: "A file of at least 4 KiB looks random (more than 7.9 bits of entropy a byte) and is not a compressed format or picture that is known here.",
		Why:  "It is compressed in a way of its own, or encrypted. What it holds cannot be reviewed.",
		Do:   "Use a known format, or say in the README what it is.",
	},
}

// packed looks for packed data and programs in files that are not text.
func (s *scan) packed() {
	const small, random = 4 << 10, 7.9
	for _, f := range s.files {
		if f.role != roleBinary || s.over() {
			continue
		}
		if what := program(f.data); what != "" {
			s.about("SK306", f, "the file is "+what)
			continue
		}
		if bits := entropy(f.data); len(f.data) >= small && bits > random && medium(f.data) == "" {
			s.about("SK307", f, fmt.Sprintf("%d bytes with %.2f bits of entropy each", len(f.data), bits))
		}
	}
}

// A form is how data of some kind begins.
type form struct{ prefix, name string }

var programs = []form{
	{"\x7fELF", "an ELF program"}, {"\xcf\xfa\xed\xfe", "a Mach-O program"}, {"\xce\xfa\xed\xfe", "a Mach-O program"},
	{"\xca\xfe\xba\xbe", "a Mach-O program or a Java class"}, {magic, "a WebAssembly module"}, {"\x00asm\x0d\x00\x01\x00", "a WebAssembly component"},
	{"dex\n03", "Android bytecode"}, {"BC\xc0\xde", "LLVM bitcode"},
}

// program says which program data begins like; empty for none.
func program(data []byte) string {
	for _, p := range programs {
		if bytes.HasPrefix(data, []byte(p.prefix)) {
			return p.name
		}
	}
	switch {
	case isPE(data):
		return "a Windows program"
	case len(data) > 16 && data[2] == '\r' && data[3] == '\n' && data[1] >= 0x0b && data[1] <= 0x0f:
		return "Python bytecode"
	}
	return ""
}

// isPE reports whether data has the headers of a PE file.
func isPE(data []byte) bool {
	if len(data) < 0x40 || data[0] != 'M' || data[1] != 'Z' {
		return false
	}
	at := int(data[0x3c]) | int(data[0x3d])<<8
	return at+4 <= len(data) && string(data[at:at+4]) == "PE\x00\x00"
}

var media = []form{
	{"\x89PNG\r\n\x1a\n", "PNG"}, {"\xff\xd8\xff", "JPEG"}, {"GIF8", "GIF"}, {"RIFF", "RIFF"}, {"%PDF-", "PDF"}, {"PK\x03\x04", "ZIP"},
	{"\x1f\x8b", "gzip"}, {"\x28\xb5\x2f\xfd", "Zstandard"}, {"\xfd7zXZ\x00", "xz"}, {"BZh", "bzip2"}, {"7z\xbc\xaf\x27\x1c", "7z"},
	{"wOFF", "WOFF"}, {"wOF2", "WOFF2"}, {"\x00\x01\x00\x00\x00", "TrueType"}, {"OTTO", "OpenType"}, {"OggS", "Ogg"}, {"ID3", "MP3"},
	{"fLaC", "FLAC"}, {"\x00\x00\x00\x0cjP", "JPEG 2000"}, {"II*\x00", "TIFF"}, {"MM\x00*", "TIFF"}, {"PAR1", "Parquet"}, {"SQLite format 3\x00", "SQLite"},
	{"<svg", "SVG"},
}

// medium says which known format data begins like; empty for none.
func medium(data []byte) string {
	for _, m := range media {
		if bytes.HasPrefix(data, []byte(m.prefix)) {
			return m.name
		}
	}
	if len(data) > 12 && string(data[4:8]) == "ftyp" {
		return "MPEG-4"
	}
	return ""
}

// entropy is Shannon's, in bits a byte.
func entropy(data []byte) float64 {
	var counts [256]int
	for _, b := range data {
		counts[b]++
	}
	bits := 0.0
	for _, n := range counts {
		if n > 0 {
			p := float64(n) / float64(len(data))
			bits -= p * math.Log2(p)
		}
	}
	return bits
}

// minEncoded is how many characters a literal must have to be decoded: shorter
// words are too often base64 by chance.
const minEncoded = 40

// decode reads a text that is base64 or hexadecimal digits as a whole, with a
// data URL's head or without.
func decode(text string) ([]byte, bool) {
	if head, body, ok := strings.Cut(text, ";base64,"); ok && strings.HasPrefix(head, "data:") {
		text = body
	}
	if len(text) < minEncoded {
		return nil, false
	}
	if strings.ContainsAny(text, "\n\r") {
		text = strings.NewReplacer("\n", "", "\r", "").Replace(text)
	}
	if b, err := hex.DecodeString(text); err == nil {
		return b, true
	}
	if strings.Trim(text, "abcdefghijklmnopqrstuvwxyz") == "" {
		return nil, false // one long word
	}
	text = strings.NewReplacer("-", "+", "_", "/").Replace(strings.TrimRight(text, "="))
	b, err := base64.RawStdEncoding.DecodeString(text)
	return b, err == nil
}

// encoded are the literals of scripts that say something else than what can be
// read: put together, written with escapes, or encoded.
func (s *scan) encoded(yield func(passage) bool) {
	for _, f := range s.files {
		if f.role != roleScript {
			continue
		}
		for t := range script.Joined(script.LanguageOf(f.path), f.data) {
			if t.Kind != script.Literal {
				continue
			}
			for _, text := range meanings(f.data[t.Start:t.End], t.Text) {
				if !yield(passage{file: f, text: text, at: t.Start, n: t.End - t.Start}) {
					return
				}
			}
		}
	}
}

// meanings are what a literal says, where that is not what stands in the source.
func meanings(source []byte, text string) [][]byte {
	const short = 16
	var all [][]byte
	if len(text) >= short && !bytes.Contains(source, []byte(text)) {
		all = append(all, []byte(text))
	}
	if data, ok := decode(text); ok && utf8.Valid(data) {
		all = append(all, data)
	}
	return all
}
