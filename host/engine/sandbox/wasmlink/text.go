package wasmlink

import (
	"strconv"

	"github.com/skillet-run/skillet/host/engine/sandbox/wasmbin"
)

// Assemble reads a module in the text format (core specification 6). It takes
// the fields type, import, func, memory, table, global, export, start, elem and
// data, exports inside of a field, and all instructions of core specification
// 2.0 and tail-call but those of vectors, flat or folded. Imports of memories,
// tables and globals are allowed: see [Link], which resolves them. Types on the
// stack are not checked; a compiler does that. The error is a [*TextError].
func Assemble(text string) (*Module, error) {
	a := &assembler{source: &source{text: text}, module: &Module{}}
	nodes := a.parse()
	if a.err == nil && (len(nodes) != 1 || !nodes[0].is("module")) {
		a.fail(0, "not one (module ...)")
	}
	if a.err == nil {
		a.fields(nodes[0].nodes[1:])
	}
	if a.err != nil {
		return nil, a.err
	}
	return a.module, nil
}

// space is one of the index spaces of a module.
type space byte

const (
	types space = iota
	functions
	tableSpace
	memorySpace
	globals
	elementSpace
	dataSpace
	spaces
)

func (s space) String() string {
	return [...]string{"type", "function", "table", "memory", "global", "element segment", "data segment"}[s]
}

// assembler turns nodes into a module, in two passes: names first, so that
// anything may be mentioned before it is defined.
type assembler struct {
	*source
	module *Module
	ids    [spaces]map[string]uint32
	counts [spaces]uint32
	own    [spaces]bool // something was defined, so nothing may be imported
	later  []func()     // the second pass
}

// fieldReaders read what can be read of a field before all names are known, and
// leave the rest for later.
var fieldReaders = map[string]func(*assembler, fields){
	"import": (*assembler).importField,
	"func":   (*assembler).funcField,
	"memory": (*assembler).memoryField,
	"table":  (*assembler).tableField,
	"global": (*assembler).globalField,
	"export": (*assembler).exportField,
	"start":  (*assembler).startField,
	"elem":   (*assembler).elemField,
	"data":   (*assembler).dataField,
}

func (a *assembler) fields(list []node) {
	for i := range list {
		if list[i].is("type") {
			a.typeField(a.open(&list[i]))
		}
	}
	for i := range list {
		read := fieldReaders[list[i].head()]
		switch {
		case read != nil:
			read(a, a.open(&list[i]))
		case !list[i].is("type"):
			a.fail(list[i].at, "unknown field %q", list[i].head())
		}
	}
	for _, read := range a.later {
		read()
	}
}

// declare gives the next item of a space its index, and its name if it has one.
func (a *assembler) declare(s space, f fields) (uint32, fields) {
	i := a.counts[s]
	a.counts[s]++
	if id, ok := f.name(); ok {
		if _, twice := a.ids[s][id]; twice {
			a.fail(f.at(), "%s %s is declared twice", s, id)
		}
		if a.ids[s] == nil {
			a.ids[s] = map[string]uint32{}
		}
		a.ids[s][id] = i
		f.next++
	}
	return i, f
}

// define declares an item that is not imported.
func (a *assembler) define(s space, f fields) (uint32, fields) {
	a.own[s] = true
	i, f := a.declare(s, f)
	return i, a.inlineExports(s, i, f)
}

// kindOf are the kinds of external items by space.
var kindOf = map[space]wasmbin.Kind{
	functions: wasmbin.Func, tableSpace: wasmbin.TableKind, memorySpace: wasmbin.MemoryKind, globals: wasmbin.GlobalKind,
}

func (a *assembler) inlineExports(s space, index uint32, f fields) fields {
	for f.peek("export") {
		e := a.open(f.take())
		a.export(e.str(), s, index)
		e.end()
	}
	return f
}

func (a *assembler) export(name string, s space, index uint32) {
	a.module.Exports = append(a.module.Exports, wasmbin.ExportedItem{Name: name, Kind: kindOf[s], Index: index})
}

// index resolves a name or number in a space.
func (a *assembler) index(s space, n *node) uint32 {
	if n == nil {
		return 0
	}
	if id, ok := n.name(); ok {
		i, known := a.ids[s][id]
		if !known {
			a.fail(n.at, "no %s %s", s, id)
		}
		return i
	}
	i, err := strconv.ParseUint(n.word, 10, 32)
	if n.list || n.quoted || err != nil {
		a.fail(n.at, "expected a %s", s)
	} else if i >= uint64(a.counts[s]) {
		a.fail(n.at, "%s %d of %d", s, i, a.counts[s])
	}
	return uint32(i)
}

func (a *assembler) typeField(f fields) {
	_, f = a.declare(types, f)
	inner := f.list("func")
	t, _, inner := a.signature(inner)
	inner.end()
	a.module.Types = append(a.module.Types, t)
	f.end()
}

// typeIndex finds or adds a type.
func (a *assembler) typeIndex(t wasmbin.FuncType) uint32 {
	i := a.module.TypeIndex(t)
	a.counts[types] = uint32(len(a.module.Types))
	return i
}

// signature reads parameters, whose names it returns, and results.
func (a *assembler) signature(f fields) (t wasmbin.FuncType, names []string, rest fields) {
	for f.peek("param") {
		p := a.open(f.take())
		list, ids := a.values(p)
		t.Params, names = append(t.Params, list...), append(names, ids...)
	}
	for f.peek("result") {
		list, _ := a.values(a.open(f.take()))
		t.Results = append(t.Results, list...)
	}
	return t, names, f
}

// values reads types: one with a name, or any number without.
func (a *assembler) values(f fields) (list []wasmbin.ValueType, names []string) {
	if id, ok := f.name(); ok {
		f.next++
		v := a.valueType(f.take())
		f.end()
		return []wasmbin.ValueType{v}, []string{id}
	}
	for f.more() {
		list, names = append(list, a.valueType(f.take())), append(names, "")
	}
	return list, names
}

var valueTypes = map[string]wasmbin.ValueType{
	"i32": wasmbin.I32, "i64": wasmbin.I64, "f32": wasmbin.F32, "f64": wasmbin.F64,
	"funcref": wasmbin.FuncRef, "externref": wasmbin.ExternRef,
}

func (a *assembler) valueType(n *node) wasmbin.ValueType {
	if n == nil {
		return wasmbin.I32
	}
	t, ok := valueTypes[n.word]
	if !ok || n.quoted {
		a.fail(n.at, "%q is not a type of values", n.word)
	}
	return t
}

// typeUse reads a reference to a type, or a signature.
func (a *assembler) typeUse(f fields) (index uint32, names []string, rest fields) {
	if !f.peek("type") {
		t, names, f := a.signature(f)
		return a.typeIndex(t), names, f
	}
	n := a.open(f.take())
	index = a.index(types, n.take())
	n.end()
	at := f.at()
	t, names, f := a.signature(f)
	known := a.err == nil && int(index) < len(a.module.Types)
	if known && len(t.Params)+len(t.Results) > 0 && !t.Equal(a.module.Types[index]) {
		a.fail(at, "signature and type %d differ", index)
	}
	return index, names, f
}
