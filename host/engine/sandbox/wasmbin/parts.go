package wasmbin

// Parts is a module taken apart, to be changed and put together again. Indexes
// count as in the binary format: functions from the imported ones on. Its
// slices are the caller's own, but for the bytes of code, expressions and data,
// which alias the module it was made of and are to be replaced, not written to.
type Parts struct {
	Types     []FuncType
	Imports   []ImportedFunc
	Functions []Function
	Tables    []Table
	// Memory is the zero Memory when HasMemory is false.
	Memory    Memory
	HasMemory bool
	Globals   []GlobalPart
	Exports   []ExportedItem
	// Start is the function of the start section, when HasStart is set.
	Start    uint32
	HasStart bool
	Elements []Elements
	Data     []Data
	// Pinned says what in the module is state that is neither in its memory nor
	// in a global of a number: see [Instrumented.Pinned]. Encode ignores it.
	Pinned []string
}

// ImportedFunc is a function the module asks for, with the index of its type.
type ImportedFunc struct {
	Module, Name string
	Type         uint32
}

// Function is a function the module defines: the index of its type, its locals
// without the parameters, and its instructions up to and with the last end.
type Function struct {
	Type   uint32
	Locals []Locals
	Code   []byte
}

// Locals is a run of locals of one type.
type Locals struct {
	Count uint32
	Type  ValueType
}

// GlobalPart is a global with the constant expression it starts with, which
// includes its end.
type GlobalPart struct {
	Global
	Init []byte
}

// ExportedItem is an export by its index.
type ExportedItem struct {
	Name  string
	Kind  Kind
	Index uint32
}

// Mode says when a segment is used.
type Mode byte

// The modes of segments (core specification 2.5.7, 2.5.8).
const (
	Active      Mode = iota // at instantiation
	Passive                 // by instructions
	Declarative             // never: it declares references; element segments only
)

// Elements is an element segment. Its entries are Functions, or constant
// expressions when Exprs is not nil. Table and Offset mean nothing unless it is
// active.
type Elements struct {
	Mode      Mode
	Table     uint32
	Offset    []byte
	Type      ValueType
	Functions []uint32
	Exprs     [][]byte
}

// Data is a data segment, active or passive. Offset is the constant expression
// of its place, with its end.
type Data struct {
	Mode   Mode
	Offset []byte
	Bytes  []byte
}

// Parse checks a module like [Inspect] and takes it apart. Custom sections are
// dropped, and exceptions written as branches. The error is an *Error.
func Parse(wasm []byte, l Limits) (*Parts, error) {
	d := newDecoder(wasm, l)
	if err := d.decode(); err != nil {
		return nil, err
	}
	p := d.parts()
	if d.exceptions {
		lowerExceptions(p, d)
	}
	return p, nil
}

// parts takes a module that was checked apart.
func (d *decoder) parts() *Parts {
	m := d.module
	p := parser{decoder: d, parts: &Parts{
		Types: m.Types, Tables: m.Tables, Memory: m.Memory, HasMemory: m.HasMemory,
		Start: d.start, HasStart: m.HasStart, Pinned: d.pinned(),
	}}
	for id, read := range sectionParsers {
		if s := d.found[id]; read != nil && s.at != 0 {
			p.pos, p.end = s.at, s.end
			p.each(read)
		}
	}
	for _, e := range m.Exports {
		p.parts.Exports = append(p.parts.Exports, ExportedItem{e.Name, e.Kind, e.Index})
	}
	return p.parts
}

// parser reads a module a second time. It was checked, so that cannot fail.
type parser struct {
	*decoder
	parts *Parts
	entry int // number of the entry that is read
}

var sectionParsers = [sections]func(*parser){
	secImport:   (*parser).importEntry,
	secFunction: (*parser).functionEntry,
	secGlobal:   (*parser).globalEntry,
	secElement:  (*parser).elementEntry,
	secCode:     (*parser).codeEntry,
	secData:     (*parser).dataEntry,
}

func (p *parser) each(read func(*parser)) {
	n := int(p.u32())
	for p.entry = 0; p.entry < n; p.entry++ {
		read(p)
	}
}

func (p *parser) importEntry() {
	i := p.module.Imports[p.entry]
	p.parts.Imports = append(p.parts.Imports, ImportedFunc{i.Module, i.Name, p.funcTypes[p.entry]})
	p.skip(int(p.u32()))
	p.skip(int(p.u32()))
	p.skip(1)
	p.u32()
}

func (p *parser) functionEntry() {
	p.parts.Functions = append(p.parts.Functions, Function{Type: p.u32()})
}

func (p *parser) globalEntry() {
	p.skip(2)
	p.parts.Globals = append(p.parts.Globals, GlobalPart{p.module.Globals[p.entry], p.expression()})
}

// expression reads a constant expression.
func (p *parser) expression() []byte {
	from := p.pos
	p.constExpr()
	return p.b[from:p.pos:p.pos]
}

func (p *parser) elementEntry() {
	flags := p.u32()
	e := Elements{Mode: elementMode(flags), Type: FuncRef}
	if flags&elemPassive == 0 {
		if flags&elemExplicit != 0 {
			e.Table = p.u32()
		}
		e.Offset = p.expression()
	}
	if flags&(elemPassive|elemExplicit) != 0 {
		if kind := p.u8(); flags&elemExprs != 0 {
			e.Type = ValueType(kind)
		}
	}
	n := p.u32()
	if flags&elemExprs != 0 {
		e.Exprs = make([][]byte, 0, n)
	}
	for ; n > 0; n-- {
		if flags&elemExprs != 0 {
			e.Exprs = append(e.Exprs, p.expression())
		} else {
			e.Functions = append(e.Functions, p.u32())
		}
	}
	p.parts.Elements = append(p.parts.Elements, e)
}

func elementMode(flags uint32) Mode {
	switch {
	case flags&elemPassive == 0:
		return Active
	case flags&elemExplicit == 0:
		return Passive
	}
	return Declarative
}

func (p *parser) codeEntry() {
	f := &p.parts.Functions[p.entry]
	n := int(p.u32())
	end := p.pos + n
	for groups := p.u32(); groups > 0; groups-- {
		f.Locals = append(f.Locals, Locals{p.u32(), p.valueType()})
	}
	f.Code = p.b[p.pos:end:end]
	p.pos = end
}

func (p *parser) dataEntry() {
	s := Data{Mode: Active}
	switch p.u32() {
	case 1:
		s.Mode = Passive
	case 2:
		p.u32()
	}
	if s.Mode == Active {
		s.Offset = p.expression()
	}
	n := int(p.u32())
	s.Bytes = p.b[p.pos : p.pos+n : p.pos+n]
	p.skip(n)
	p.parts.Data = append(p.parts.Data, s)
}
