package findings

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/skillet-run/skillet/host/engine/sandbox/wasmbin"
)

var moduleRules = []Rule{
	{
		ID: "SK501", Title: "import that this host does not offer", Severity: Block,
		What: "The module imports a function that is none of the host's: neither of skillet:host/v1, nor of the Extism environment, nor of WASI preview 1.",
		Why:  "The module cannot be loaded. It was made for another host, and what it would do there is not known here.",
		Do:   "Build the module for this host; `skillet info PATH --diff --full` lists what it imports.",
	},
	{
		ID: "SK502", Title: "memory without a maximum", Severity: Info,
		What: "The module declares a memory and no maximum for it.",
		Why:  "It may grow until the limit max_memory_mb of the manifest, or of this host, ends the call. Modules made by Go are all like that.",
		Do:   "Nothing has to be done: the limit holds. Linkers have an option for a maximum, such as --max-memory.",
	},
	{
		ID: "SK503", Title: "start function", Severity: Info,
		What: "The module has a start section: a function that runs whenever the module is instantiated, before any tool is called.",
		Why:  "It runs even when no tool is called, with the same rights and limits. Modules made by AssemblyScript have one.",
		Do:   "Look at what the module imports: the start function can call no more than that.",
	},
	{
		ID: "SK504", Title: "large data", Severity: Warn,
		What: "The data segments of the module have more than 16 MiB together, or one of them more than 8 MiB.",
		Why:  "So much data in a module is a model, a database or another program, and nothing says what it is.",
		Do:   "Put data into files in assets, where it can be looked at and where an upgrade shows whether it changed.",
	},
	{
		ID: "SK505", Title: "module that cannot be read", Severity: Block,
		What: "The module is not a WebAssembly core module, is damaged, or declares more than this host accepts.",
		Why:  "It will not be loaded, and nothing can be said about what it imports or holds.",
		Do:   "Build the module again. A component has to be built as a core module.",
	},
	{
		ID: "SK506", Title: "random data in the module", Severity: Warn,
		What: "At least 64 KiB in a row of the module's data look random (more than 7.9 bits of entropy a byte in each 4 KiB).",
		Why:  "It is compressed or encrypted, and unpacked at run time. What it holds cannot be reviewed.",
		Do:   "Say in the README what it is. Fonts, dictionaries and models are better kept in assets.",
	},
}

// Bounds of SK504, in bytes.
const (
	maxData    = 16 << 20
	maxSegment = 8 << 20
)

// modules looks at all modules of the package.
func (s *scan) modules() {
	own, _, err := s.pkg.Module()
	if err != nil { // it runs no module of its own
		own = ""
	}
	for _, f := range s.files {
		if s.over() {
			return
		}
		switch {
		case f.path == own:
			s.declared(f)
			s.data(f)
		case f.role == roleModule:
			s.about("SK306", f, "the file is a WebAssembly module, and not the one the skill runs")
			s.data(f)
		}
	}
}

// declared checks what the module declares.
func (s *scan) declared(f *file) {
	m, err := wasmbin.Inspect(f.data, wasmbin.WidestLimits())
	if err != nil {
		s.about("SK505", f, err.Error())
		return
	}
	for _, i := range m.Imports {
		if !isOffered(i) {
			s.about("SK501", f, fmt.Sprintf("it imports %q from %q", i.Name, i.Module))
		}
	}
	if m.HasMemory && !m.Memory.HasMax {
		s.about("SK502", f, fmt.Sprintf("its memory begins with %d pages of 64 KiB and has no maximum", m.Memory.Min))
	}
	if m.HasStart {
		s.about("SK503", f, "it has a start function")
	}
	if m.DataBytes > maxData {
		s.about("SK504", f, fmt.Sprintf("its data segments have %d bytes", m.DataBytes))
	}
}

// data looks at the data segments of a module.
func (s *scan) data(f *file) {
	said := map[string]bool{} // hosts: a module has the same one in many addresses
	for p := range texts(f.data) {
		if p.section != sectionData {
			continue
		}
		text := f.data[p.from:p.to]
		if len(text) > maxSegment {
			s.keep("SK504", f, p.from, fmt.Sprintf("a data segment has %d bytes", len(text)), "")
		}
		s.embedded(f, p.from, text)
		s.random(f, p.from, text)
		for _, a := range s.addresses(text) {
			if host := a.scheme + "://" + a.host; !said[host] && s.reach.address(s, "SK202", f, a, p.from+a.start, a.end-a.start) {
				said[host] = true
			}
		}
		s.credentialPaths(f, p.from, text)
	}
}

// embedded looks for programs within data. Only what is unlikely by chance is
// looked for.
func (s *scan) embedded(f *file, at int, text []byte) {
	for _, begin := range []form{{magic, "a WebAssembly module"}, {"\x7fELF\x02\x01\x01", "an ELF program"}, {"\x7fELF\x01\x01\x01", "an ELF program"}} {
		for i := 0; ; {
			n := bytes.Index(text[i:], []byte(begin.prefix))
			if n < 0 {
				break
			}
			s.keep("SK306", f, at+i+n, "the data holds the beginning of "+begin.name, "")
			i += n + len(begin.prefix)
		}
	}
}

// random looks for long random parts of data.
func (s *scan) random(f *file, at int, text []byte) {
	const window, bits, least = 4 << 10, 7.9, 16
	begin, n := 0, 0
	end := func() {
		if n >= least {
			s.keep("SK506", f, at+begin, fmt.Sprintf("%d KiB of data that look random", n*window>>10), "")
		}
		n = 0
	}
	for i := 0; i+window <= len(text); i += window {
		if entropy(text[i:i+window]) < bits {
			end()
			continue
		}
		if n++; n == 1 {
			begin = i
		}
	}
	end()
}

// credentialPaths looks for places where credentials are kept.
func (s *scan) credentialPaths(f *file, at int, text []byte) {
	credentialWords.Each(text, func(word, end int) {
		start := end - len(credentialPaths[word])
		if path := pathAround(text, start, end); path != "" && !s.reach.coversPath(path) {
			s.add("SK204", f, at+start, end-start, fmt.Sprintf("%s is a place where credentials are kept, and not asked for", credentialPaths[word]))
		}
	})
}

// pathAround is the path that [start, end) is part of, at least a slash before
// it; empty when it is none.
func pathAround(text []byte, start, end int) string {
	const most = 200
	from := start
	for from > 0 && start-from < most && isPathByte(text[from-1]) {
		from--
	}
	path := string(text[from:end])
	if i := strings.IndexAny(path, "/~"); i >= 0 && (i < start-from || path[0] == '/') {
		return path[i:]
	}
	return ""
}

func isPathByte(b byte) bool {
	return b == '/' || b == '.' || b == '_' || b == '-' || b == '~' || b == '$' || '0' <= b && b <= '9' || 'a' <= b|0x20 && b|0x20 <= 'z'
}
