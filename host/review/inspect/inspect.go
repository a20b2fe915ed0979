// Package inspect says what a module is made of: its sections, what it imports
// and exports and what that is good for, who made it, and what it costs to run
// it within bounds.
//
// It reads bytes and runs nothing; whether a module may run is for others.
package inspect

import (
	"fmt"
	"slices"
	"strings"

	"github.com/skillet-run/skillet/host/engine/sandbox/wasmbin"
	"github.com/skillet-run/skillet/host/review/review"
	"github.com/skillet-run/skillet/manifests"
)

// A Function is an import or an export.
type Function struct {
	// Module names where an import comes from; empty for an export.
	Module string `json:"module,omitempty"`
	Name   string `json:"name"`
	// Signature is in the form of the text format: "(i32 i64) -> i32".
	Signature string `json:"signature"`
	// Words say what calling an import is good for; empty for an export.
	Words string `json:"words,omitempty"`
}

// Memory is linear memory as the module declares it, in bytes.
type Memory struct {
	Min int64 `json:"min_bytes"`
	// Max is nil when the module names none.
	Max *int64 `json:"max_bytes,omitempty"`
}

// Instrumentation is what is added to a module so that it can be stopped, and
// brought back to where it began.
type Instrumentation struct {
	// Bytes is the size of what is compiled: without custom sections, and with what
	// is added. CodeBytes are those of the code section before.
	Bytes     int64 `json:"bytes"`
	CodeBytes int64 `json:"code_bytes"`
	// Points is how many places take fuel, and AddedBytes what that costs.
	Points     int   `json:"fuel_points"`
	AddedBytes int64 `json:"added_bytes"`
	// Globals is how many globals are put back after a call.
	Globals int `json:"globals"`
	// Pinned says why each call gets a new instance; empty when none does.
	Pinned []string `json:"pinned"`
}

// A Report is what there is to say about a module.
type Report struct {
	Bytes  int64            `json:"bytes"`
	Digest manifests.Digest `json:"digest"`
	// ABI is how it takes its input: "reactor", "extism" or "wasi-command".
	ABI       string     `json:"abi"`
	Sections  []Section  `json:"sections"`
	Imports   []Function `json:"imports"`
	Exports   []Function `json:"exports"`
	Memory    *Memory    `json:"memory,omitempty"`
	Functions int        `json:"functions"`
	Tables    int        `json:"tables"`
	// Start is true when code runs before anything is called.
	Start        bool            `json:"start"`
	Producers    []Producer      `json:"producers"`
	Names        *Names          `json:"names,omitempty"`
	Instrumented Instrumentation `json:"instrumented"`
}

// pageBytes is a page of linear memory.
const pageBytes = 64 << 10

// Module inspects a module. The error is that of one that the gate refuses.
func Module(wasm []byte) (Report, error) {
	m, err := wasmbin.Inspect(wasm, wasmbin.WidestLimits())
	if err != nil {
		return Report{}, err
	}
	r := Report{
		Bytes: int64(len(wasm)), Digest: manifests.DigestOf(wasm), ABI: abi(m),
		Imports: []Function{}, Exports: []Function{}, Producers: []Producer{},
		Functions: m.Functions, Tables: len(m.Tables), Start: m.HasStart,
	}
	for _, i := range m.Imports {
		r.Imports = append(r.Imports, Function{i.Module, i.Name, signature(i.Type), review.Words(i.Module, i.Name)})
	}
	for _, e := range m.Exports {
		if e.Kind == wasmbin.Func {
			r.Exports = append(r.Exports, Function{Name: e.Name, Signature: signature(e.Type)})
		}
	}
	r.Memory = memory(m)
	if err := r.readSections(wasm); err != nil {
		return r, err
	}
	return r, r.instrument(wasm, m)
}

func memory(m *wasmbin.Module) *Memory {
	if !m.HasMemory {
		return nil
	}
	out := &Memory{Min: int64(m.Memory.Min) * pageBytes}
	if m.Memory.HasMax {
		most := int64(m.Memory.Max) * pageBytes
		out.Max = &most
	}
	return out
}

func (r *Report) readSections(wasm []byte) error {
	var err error
	if r.Sections, err = sections(wasm); err != nil {
		return fmt.Errorf("read the sections: %w", err)
	}
	for _, s := range r.Sections {
		switch {
		case s.Custom && s.Name == "producers":
			r.Producers = producers(s.content)
		case s.Custom && s.Name == "name":
			n := names(s.content)
			r.Names = &n
		}
	}
	return nil
}

func (r *Report) instrument(wasm []byte, m *wasmbin.Module) error {
	o := wasmbin.Options{MaxMemoryPages: 1 << 16, MaxTableElems: wasmbin.DefaultLimits().TableElems}
	bare, err := wasmbin.Instrument(wasm, wasmbin.WidestLimits(), o)
	if err != nil {
		return err
	}
	o.Fuel, o.Snapshot = true, true
	full, err := wasmbin.Instrument(wasm, wasmbin.WidestLimits(), o)
	if err != nil {
		return err
	}
	r.Instrumented = Instrumentation{
		Bytes: int64(len(full.Wasm)), CodeBytes: int64(m.CodeBytes), Points: full.FuelPoints,
		AddedBytes: int64(len(full.Wasm) - len(bare.Wasm)), Globals: len(full.Globals), Pinned: append([]string{}, full.Pinned...),
	}
	return nil
}

// abi tells the guest interface from the imports, as the sandbox does.
func abi(m *wasmbin.Module) string {
	imports := func(module string) bool {
		return slices.ContainsFunc(m.Imports, func(i wasmbin.Import) bool { return i.Module == module })
	}
	_, command := m.Export(manifests.ExportWASI)
	switch {
	case imports("extism:host/env"):
		return "extism"
	case imports("skillet:host/v1") || !command:
		return "reactor"
	}
	return "wasi-command"
}

func signature(t wasmbin.FuncType) string {
	text := "(" + types(t.Params) + ")"
	if len(t.Results) > 0 {
		text += " -> " + types(t.Results)
	}
	return text
}

func types(ts []wasmbin.ValueType) string {
	var all []string
	for _, v := range ts {
		all = append(all, v.String())
	}
	return strings.Join(all, " ")
}
