package review

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/skillet-run/skillet/host/engine/sandbox/wasmbin"
	"github.com/skillet-run/skillet/manifests/bundle"
)

// A Module is what is different between two modules.
type Module struct {
	// Path is the later module's, or that of the one that is gone.
	Path string `json:"path"`
	// Bytes is its size, and BytesBefore that of the earlier; 0 for none.
	Bytes       int64 `json:"bytes"`
	BytesBefore int64 `json:"bytes_before,omitempty"`
	// Imports are functions of the host that only one of them calls, and
	// Exports functions that only one of them offers, or with another signature.
	Imports []Function `json:"imports"`
	Exports []Function `json:"exports"`
	// Memory says how the declared memory changed; empty when it did not.
	Memory string `json:"memory,omitempty"`
	// Start is true when the later module, and not the earlier, has code that
	// runs before any tool is called.
	Start bool `json:"start,omitempty"`
	// Note says that one of them could not be read, and why.
	Note string `json:"note,omitempty"`
}

// A Function is an import or export that was added or removed.
type Function struct {
	Change Change `json:"change"`
	// Module names where an import comes from; empty for an export.
	Module string `json:"module,omitempty"`
	Name   string `json:"name"`
	// Signature is in the form of the text format: "(i32 i64) -> i32".
	Signature string `json:"signature"`
	// Words says what calling an import is good for; empty for an export.
	Words string `json:"words,omitempty"`
}

// compareModules compares the modules that two packages run; before may be nil.
func compareModules(before, after *bundle.Package) *Module {
	oldPath, oldWasm := moduleOf(before)
	path, wasm := moduleOf(after)
	if bytes.Equal(oldWasm, wasm) {
		return nil
	}
	m := &Module{Path: cmp.Or(path, oldPath), Bytes: int64(len(wasm)), BytesBefore: int64(len(oldWasm))}
	was, err1 := inspect(oldWasm)
	is, err2 := inspect(wasm)
	if err := cmp.Or(err1, err2); err != nil {
		m.Note = err.Error()
	}
	m.Imports = changed(imports(was), imports(is))
	m.Exports = changed(exports(was), exports(is))
	m.Memory = grown(was, is)
	m.Start = is.HasStart && !was.HasStart
	return m
}

// inspect reads what a module declares; of no module, nothing.
func inspect(wasm []byte) (*wasmbin.Module, error) {
	if wasm == nil {
		return &wasmbin.Module{}, nil
	}
	m, err := wasmbin.Inspect(wasm, wasmbin.WidestLimits())
	if err != nil {
		return &wasmbin.Module{}, err
	}
	return m, nil
}

func imports(m *wasmbin.Module) []Function {
	var fs []Function
	for _, i := range m.Imports {
		fs = append(fs, Function{Module: i.Module, Name: i.Name, Signature: signature(i.Type), Words: Words(i.Module, i.Name)})
	}
	return fs
}

// exports are the functions a module offers: its memory, globals and tables
// reach nobody.
func exports(m *wasmbin.Module) []Function {
	var fs []Function
	for _, e := range m.Exports {
		if e.Kind == wasmbin.Func {
			fs = append(fs, Function{Name: e.Name, Signature: signature(e.Type)})
		}
	}
	return fs
}

func signature(t wasmbin.FuncType) string {
	names := func(ts []wasmbin.ValueType) string {
		var all []string
		for _, v := range ts {
			all = append(all, v.String())
		}
		return strings.Join(all, " ")
	}
	if len(t.Results) == 0 {
		return "(" + names(t.Params) + ")"
	}
	return "(" + names(t.Params) + ") -> " + names(t.Results)
}

// changed are the functions that only one side has, sorted by name, each once.
func changed(before, after []Function) []Function {
	was, is := set(before), set(after)
	all := []Function{}
	for f := range was {
		if !is[f] {
			f.Change = Removed
			all = append(all, f)
		}
	}
	for f := range is {
		if !was[f] {
			f.Change = Added
			all = append(all, f)
		}
	}
	slices.SortFunc(all, func(a, b Function) int {
		return cmp.Or(
			strings.Compare(a.Module, b.Module), strings.Compare(a.Name, b.Name),
			strings.Compare(string(b.Change), string(a.Change)), strings.Compare(a.Signature, b.Signature),
		)
	})
	return all
}

func set(fs []Function) map[Function]bool {
	m := make(map[Function]bool, len(fs))
	for _, f := range fs {
		m[f] = true
	}
	return m
}

// grown says how the memory a module declares changed.
func grown(before, after *wasmbin.Module) string {
	was, is := memory(before), memory(after)
	if was == is {
		return ""
	}
	return was + ", now " + is
}

func memory(m *wasmbin.Module) string {
	const kib = 64 // of a page
	switch {
	case !m.HasMemory:
		return "none"
	case m.Memory.HasMax:
		return fmt.Sprintf("%d KiB, at most %d KiB", m.Memory.Min*kib, m.Memory.Max*kib)
	}
	return fmt.Sprintf("%d KiB", m.Memory.Min*kib)
}
