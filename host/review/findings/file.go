package findings

import (
	"bytes"
	"encoding/binary"
	"path"
	"slices"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/skillet-run/skillet/host/review/findings/script"
	"github.com/skillet-run/skillet/manifests"
)

// A role says what a file is for.
type role int

const (
	roleBinary   role = iota // no text
	roleModule               // WebAssembly
	roleManifest             // skill.json, skill.yaml
	roleSkillMD              // instructions for a model
	roleScript               // code in a language that can be taken apart
	roleProse                // text for people
	roleData                 // any other text
)

// A file is one file of the package.
type file struct {
	path  string
	data  []byte
	role  role
	text  bool  // UTF-8 without NUL
	lines []int // where each line begins; of a text only, and made when it is needed
}

func newFile(path string, data []byte) *file {
	f := &file{path: path, data: data, text: utf8.Valid(data) && bytes.IndexByte(data, 0) < 0}
	f.role = roleOf(f)
	return f
}

// magic is how a WebAssembly module begins (core specification 5.5.16).
const magic = "\x00asm\x01\x00\x00\x00"

func roleOf(f *file) role {
	switch {
	case bytes.HasPrefix(f.data, []byte(magic)):
		return roleModule
	case !f.text:
		return roleBinary
	case slices.Contains(manifests.FileNames(), f.path):
		return roleManifest
	case f.path == manifests.FileSkillMD:
		return roleSkillMD
	case script.LanguageOf(f.path) != script.None:
		return roleScript
	}
	switch strings.ToLower(path.Ext(f.path)) {
	case ".md", ".markdown", ".txt", ".rst", ".adoc", "":
		return roleProse
	}
	return roleData
}

// maxColumn is how far into a line characters are counted; beyond it a column
// is that number.
const maxColumn = 1 << 16

// position returns line and column of an offset; 0 and 0 when the file has no
// lines.
func (f *file) position(at int) (line, column int) {
	if !f.text {
		return 0, 0
	}
	if f.lines == nil {
		f.lines = lineStarts(f.data)
	}
	line, exact := slices.BinarySearch(f.lines, at)
	if exact {
		line++
	}
	begin := f.lines[line-1]
	return line, utf8.RuneCount(f.data[begin:min(at, begin+maxColumn)]) + 1
}

func lineStarts(data []byte) []int {
	starts := []int{0}
	for i, b := range data {
		if b == '\n' {
			starts = append(starts, i+1)
		}
	}
	return starts
}

// has reports whether the path of f ends in one of the extensions, whatever
// their case.
func (f *file) has(extensions ...string) bool {
	return slices.Contains(extensions, strings.ToLower(path.Ext(f.path)))
}

// A passage is a part of a file that is read as text.
type passage struct {
	file *file
	text []byte
	at   int // where it begins in the file
	n    int // how much of the file it is
	// verbatim says that it stands in the file as it is, so that each of its
	// bytes has a place of its own.
	verbatim bool
}

// position is where [from, to) of the passage stands in the file.
func (p passage) position(from, to int) (at, n int) {
	if p.verbatim {
		return p.at + from, to - from
	}
	return p.at, p.n
}

// whole is a file as one passage; what is UTF-16 is read as such.
func (f *file) whole() passage {
	if text, ok := fromUTF16(f.data); ok {
		return passage{file: f, text: text, n: len(f.data)}
	}
	return passage{file: f, text: f.data, n: len(f.data), verbatim: true}
}

// fromUTF16 reads text that begins with the byte order mark of UTF-16.
func fromUTF16(data []byte) ([]byte, bool) {
	var order binary.ByteOrder
	switch {
	case bytes.HasPrefix(data, []byte{0xff, 0xfe}):
		order = binary.LittleEndian
	case bytes.HasPrefix(data, []byte{0xfe, 0xff}):
		order = binary.BigEndian
	default:
		return nil, false
	}
	units := make([]uint16, 0, len(data)/2)
	for i := 2; i+1 < len(data); i += 2 {
		units = append(units, order.Uint16(data[i:]))
	}
	return []byte(string(utf16.Decode(units))), true
}

// passages are the parts of all files that are read as text: of modules the
// data segments and custom sections, of others all there is, and of the manifest
// also its texts without their escapes.
func (s *scan) passages(yield func(passage) bool) {
	for _, f := range s.files {
		if f.role != roleModule {
			if !yield(f.whole()) {
				return
			}
			continue
		}
		for part := range texts(f.data) {
			if !yield(passage{file: f, text: f.data[part.from:part.to], at: part.from, n: part.to - part.from, verbatim: true}) {
				return
			}
		}
	}
	for _, p := range s.decodedTexts() {
		if !yield(p) {
			return
		}
	}
}
