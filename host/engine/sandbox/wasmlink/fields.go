package wasmlink

import (
	"strconv"

	"github.com/skillet-run/skillet/host/engine/sandbox/wasmbin"
)

// fields is a place in the nodes of a list.
type fields struct {
	source *source
	nodes  []node
	next   int
	behind int // offset for errors at the end
}

// open starts behind the word a list begins with.
func (a *assembler) open(n *node) fields {
	if n == nil || len(n.nodes) == 0 {
		return fields{source: a.source}
	}
	return fields{source: a.source, nodes: n.nodes, next: 1, behind: n.at}
}

func (f *fields) more() bool { return f.next < len(f.nodes) && f.source.err == nil }

// at is the offset of the next node.
func (f *fields) at() int {
	if f.next < len(f.nodes) {
		return f.nodes[f.next].at
	}
	return f.behind
}

// take returns the next node; at the end that is an error, and nil.
func (f *fields) take() *node {
	if !f.more() {
		f.source.fail(f.behind, "something is missing here")
		return nil
	}
	f.next++
	return &f.nodes[f.next-1]
}

// end makes an error of what is left.
func (f *fields) end() {
	if f.more() {
		f.source.fail(f.at(), "did not expect this")
	}
}

// peek reports whether a list that starts with a word is next.
func (f *fields) peek(word string) bool { return f.more() && f.nodes[f.next].is(word) }

// word reports whether a word is next, and takes it.
func (f *fields) word(word string) bool {
	if !f.more() || f.nodes[f.next].word != word || f.nodes[f.next].quoted {
		return false
	}
	f.next++
	return true
}

// list takes a list that starts with a word.
func (f *fields) list(word string) fields {
	n := f.take()
	if n == nil || !n.is(word) {
		f.source.fail(f.behind, "expected (%s ...)", word)
		return fields{source: f.source}
	}
	return fields{source: f.source, nodes: n.nodes, next: 1, behind: n.at}
}

// name returns the name that is next, without taking it.
func (f *fields) name() (string, bool) {
	if !f.more() {
		return "", false
	}
	return f.nodes[f.next].name()
}

// str takes a string.
func (f *fields) str() string {
	n := f.take()
	if n == nil {
		return ""
	}
	if !n.quoted {
		f.source.fail(n.at, "expected a string")
	}
	return n.word
}

// number takes an unsigned number, if one is next.
func (f *fields) number() (uint32, bool) {
	if !f.more() || f.nodes[f.next].list || f.nodes[f.next].quoted {
		return 0, false
	}
	v, err := strconv.ParseUint(f.nodes[f.next].word, 10, 32)
	if err == nil {
		f.next++
	}
	return uint32(v), err == nil
}

// limits takes a minimum and, if there is one, a maximum.
func (f *fields) limits() (low, high uint32, hasHigh bool) {
	low, ok := f.number()
	if !ok {
		f.source.fail(f.at(), "expected a size")
	}
	high, hasHigh = f.number()
	return low, high, hasHigh
}

// importSpaces are what can be imported.
var importSpaces = map[string]space{"func": functions, "memory": memorySpace, "table": tableSpace, "global": globals}

func (a *assembler) importField(f fields) {
	at, module, name := f.behind, f.str(), f.str()
	n := f.take()
	f.end()
	if n == nil {
		return
	}
	s, ok := importSpaces[n.head()]
	switch {
	case !ok:
		a.fail(n.at, "expected a func, memory, table or global")
		return
	case a.own[s]:
		a.fail(at, "an import must be before what is defined")
	}
	_, inner := a.declare(s, a.open(n))
	if s == functions {
		t, _, rest := a.typeUse(inner)
		rest.end()
		a.module.Imports = append(a.module.Imports, wasmbin.ImportedFunc{Module: module, Name: name, Type: t})
		return
	}
	a.module.Shared = append(a.module.Shared, a.shared(s, inner, module, name))
}

// shared reads the type of an imported memory, table or global.
func (a *assembler) shared(s space, f fields, module, name string) Shared {
	x := Shared{Module: module, Name: name, Kind: kindOf[s]}
	switch s {
	case globals:
		x.Global = a.globalType(f.take())
	case tableSpace:
		x.Min, _, _ = f.limits()
		a.valueType(f.take())
	case memorySpace:
		x.Min, _, _ = f.limits()
	}
	f.end()
	return x
}

// globalType reads a type, or (mut type).
func (a *assembler) globalType(n *node) wasmbin.Global {
	if n == nil || !n.is("mut") {
		return wasmbin.Global{Type: a.valueType(n)}
	}
	f := a.open(n)
	g := wasmbin.Global{Type: a.valueType(f.take()), Mutable: true}
	f.end()
	return g
}

func (a *assembler) funcField(f fields) {
	_, f = a.define(functions, f)
	t, names, f := a.typeUse(f)
	at := len(a.module.Functions)
	a.module.Functions = append(a.module.Functions, wasmbin.Function{Type: t})
	a.later = append(a.later, func() { a.module.Functions[at] = a.function(t, names, f) })
}

func (a *assembler) memoryField(f fields) {
	_, f = a.define(memorySpace, f)
	m := wasmbin.Memory{}
	m.Min, m.Max, m.HasMax = f.limits()
	if f.end(); a.module.HasMemory {
		a.fail(f.behind, "a second memory")
	}
	a.module.Memory, a.module.HasMemory = m, true
}

func (a *assembler) tableField(f fields) {
	_, f = a.define(tableSpace, f)
	t := wasmbin.Table{}
	t.Min, t.Max, t.HasMax = f.limits()
	t.Elem = a.valueType(f.take())
	f.end()
	a.module.Tables = append(a.module.Tables, t)
}

func (a *assembler) globalField(f fields) {
	_, f = a.define(globals, f)
	g := a.globalType(f.take())
	at := len(a.module.Globals)
	a.module.Globals = append(a.module.Globals, wasmbin.GlobalPart{Global: g})
	a.later = append(a.later, func() { a.module.Globals[at].Init = a.expression(f) })
}

func (a *assembler) exportField(f fields) {
	name, n := f.str(), f.take()
	if f.end(); n == nil {
		return
	}
	s, ok := importSpaces[n.head()]
	if !ok {
		a.fail(n.at, "expected a func, memory, table or global")
		return
	}
	a.later = append(a.later, func() {
		inner := a.open(n)
		a.export(name, s, a.index(s, inner.take()))
		inner.end()
	})
}

func (a *assembler) startField(f fields) {
	n := f.take()
	f.end()
	a.later = append(a.later, func() { a.module.Start, a.module.HasStart = a.index(functions, n), true })
}

func (a *assembler) dataField(f fields) {
	_, f = a.declare(dataSpace, f)
	d := wasmbin.Data{Mode: wasmbin.Passive}
	var offset *node
	if f.more() && f.nodes[f.next].list {
		offset, d.Mode = f.take(), wasmbin.Active
	}
	for f.more() {
		d.Bytes = append(d.Bytes, f.str()...)
	}
	at := len(a.module.Data)
	a.module.Data = append(a.module.Data, d)
	if offset != nil {
		a.later = append(a.later, func() { a.module.Data[at].Offset = a.offset(offset) })
	}
}

func (a *assembler) elemField(f fields) {
	_, f = a.declare(elementSpace, f)
	e := wasmbin.Elements{Mode: wasmbin.Passive, Type: wasmbin.FuncRef}
	var offset *node
	switch {
	case f.word("declare"):
		e.Mode = wasmbin.Declarative
	case f.more() && f.nodes[f.next].list:
		offset, e.Mode = f.take(), wasmbin.Active
	}
	f.word("func")
	at := len(a.module.Elements)
	a.module.Elements = append(a.module.Elements, e)
	a.later = append(a.later, func() {
		e := &a.module.Elements[at]
		if offset != nil {
			e.Offset = a.offset(offset)
		}
		for f.more() {
			e.Functions = append(e.Functions, a.index(functions, f.take()))
		}
	})
}

// offset reads (offset ...) or a folded instruction.
func (a *assembler) offset(n *node) []byte {
	if n.is("offset") {
		return a.expression(a.open(n))
	}
	return a.expression(fields{source: a.source, nodes: []node{*n}, behind: n.at})
}
