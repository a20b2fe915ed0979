package inspect

import (
	"encoding/binary"
	"errors"
	"fmt"
	"unicode/utf8"
)

// A Section is one section of a module: its name as in the specification, or
// that of a custom section in quotes.
type Section struct {
	Name string `json:"name"`
	// Bytes is its size, with what says that it is a section.
	Bytes int64 `json:"bytes"`
	// Custom is true for what no code depends on: names, and notes of toolchains.
	Custom bool `json:"custom,omitempty"`

	content []byte
}

// sectionNames are those of the core specification (2.0, 5.5.2), by their ids.
var sectionNames = [...]string{
	"custom", "type", "import", "function", "table", "memory", "global", "export", "start", "element", "code", "data", "data count",
}

// headerBytes is the magic number and the version.
const headerBytes = 8

var errCut = errors.New("it ends in the middle of a section")

// maxSections is more than any toolchain makes.
const maxSections = 10_000

// sections takes a module apart. It reads nothing of what is in them.
func sections(wasm []byte) ([]Section, error) {
	if len(wasm) < headerBytes || string(wasm[:4]) != "\x00asm" {
		return nil, errors.New("it does not begin as a module does")
	}
	var all []Section
	for rest := wasm[headerBytes:]; len(rest) > 0; {
		id := rest[0]
		if len(all) >= maxSections {
			return nil, fmt.Errorf("it has more than %d sections", maxSections)
		}
		size, n := binary.Uvarint(rest[1:])
		if n <= 0 || size > uint64(len(rest)-1-n) {
			return nil, errCut
		}
		whole := 1 + n + int(size)
		content := rest[1+n : whole]
		s := Section{Name: fmt.Sprint("section ", id), Bytes: int64(whole), content: content}
		if int(id) < len(sectionNames) {
			s.Name = sectionNames[id]
		}
		if id == 0 {
			r := reader{b: content}
			s.Name, s.Custom = r.name(), true
			s.content = r.b
			if r.failed {
				return nil, errCut
			}
		}
		all, rest = append(all, s), rest[whole:]
	}
	return all, nil
}

// A reader reads what is in a section. After the end everything is zero.
type reader struct {
	b      []byte
	failed bool
}

func (r *reader) number() uint64 {
	v, n := binary.Uvarint(r.b)
	if n <= 0 {
		r.b, r.failed = nil, true
		return 0
	}
	r.b = r.b[n:]
	return v
}

func (r *reader) bytes(n uint64) []byte {
	if n > uint64(len(r.b)) {
		r.b, r.failed = nil, true
		return nil
	}
	b := r.b[:n]
	r.b = r.b[n:]
	return b
}

// maxName is the longest name that is shown.
const maxName = 200

func (r *reader) name() string {
	b := r.bytes(r.number())
	if !utf8.Valid(b) {
		r.failed = true
		return ""
	}
	if len(b) > maxName {
		return string([]rune(string(b))[:maxName/4]) + "…"
	}
	return string(b)
}

// A Producer is something that took part in making a module (tool conventions,
// "Producers Section").
type Producer struct {
	// Field is "language", "processed-by" or "sdk".
	Field   string `json:"field"`
	Name    string `json:"name"`
	Version string `json:"version,omitempty"`
}

// maxProducers bounds what is shown of a producers section.
const maxProducers = 50

// producers reads a producers section as far as it can be read.
func producers(content []byte) []Producer {
	all := []Producer{}
	r := reader{b: content}
	for fields := r.number(); fields > 0 && !r.failed; fields-- {
		field := r.name()
		for values := r.number(); values > 0 && !r.failed && len(all) < maxProducers; values-- {
			p := Producer{Field: field, Name: r.name(), Version: r.name()}
			if !r.failed {
				all = append(all, p)
			}
		}
	}
	return all
}

// Names are what the name section knows (core specification 2.0, appendix 7.4).
type Names struct {
	Module string `json:"module,omitempty"`
	// Functions is how many functions have a name there.
	Functions int `json:"functions"`
}

func names(content []byte) Names {
	var n Names
	r := reader{b: content}
	for len(r.b) > 0 && !r.failed {
		id := r.bytes(1)
		part := reader{b: r.bytes(r.number())}
		switch {
		case r.failed:
		case id[0] == 0:
			n.Module = part.name()
		case id[0] == 1:
			n.Functions = int(min(part.number(), uint64(len(part.b)))) // each takes a byte at least
		}
	}
	return n
}
