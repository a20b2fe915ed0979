package findings

import (
	"fmt"

	"github.com/skillet-run/skillet/host/sandbox/wasmbin"
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
		ID: "SK505", Title: "module that cannot be read", Severity: Block,
		What: "The module is no WebAssembly core module, is damaged, or declares more than this host accepts.",
		Why:  "It will not be loaded, and nothing can be said about what it imports or holds.",
		Do:   "Build the module again. A component has to be built as a core module.",
	},
}

// module checks what the module declares.
func (s *scan) module() {
	path, wasm, err := s.pkg.Module()
	if err != nil { // it runs no module of its own
		return
	}
	f := s.file(path)
	m, err := wasmbin.Inspect(wasm, wasmbin.DefaultLimits())
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
}
