package wasmbin

import "strings"

// Section ids (core specification 5.5.2).
const (
	secCustom    = 0
	secType      = 1
	secImport    = 2
	secFunction  = 3
	secTable     = 4
	secMemory    = 5
	secGlobal    = 6
	secExport    = 7
	secStart     = 8
	secElement   = 9
	secCode      = 10
	secData      = 11
	secDataCount = 12
	secTag       = 13
	sections     = 14
)

// sectionOrder lists the sections as a module must have them.
var sectionOrder = [...]byte{
	secType, secImport, secFunction, secTable, secMemory, secTag, secGlobal, secExport,
	secStart, secElement, secDataCount, secCode, secData,
}

var sectionNames = [sections]string{
	"custom", "type", "import", "function", "table", "memory", "global", "export",
	"start", "element", "code", "data", "data count", "tag",
}

const headerBytes = 8

// span is the content of a section. A section that is absent has at 0, which
// no section can have.
type span struct{ at, end int }

// decoder checks a module section by section and keeps what later sections
// and the rewriter need to know of earlier ones.
type decoder struct {
	cursor
	limits   Limits
	reserved bool // reserved names are allowed: the module is our own
	module   *Module
	found    [sections]span
	bounds
	funcTypes    []uint32 // type of each function, imported ones first
	imported     int      // functions
	mutable      int      // globals
	segmentBytes []int    // size of each data segment
	start        uint32   // function, if there is one
	entries      int      // of element segments so far
	custom       int      // bytes of custom sections so far
	named        bool     // a name section was found
	names        map[string]bool
	declared     map[uint32]bool   // functions mentioned outside of code
	stateful     [statefulOps]bool // instructions found that pin an instance
	shapes       []shape           // of the functions the module defines
	tagTypes     []uint32          // type of each tag
}

func newDecoder(wasm []byte, l Limits) *decoder {
	d := &decoder{limits: l, module: &Module{}, names: map[string]bool{}, declared: map[uint32]bool{}}
	d.cursor = cursor{b: wasm, end: len(wasm), section: "header"}
	d.branchTargets = l.BranchTargets
	return d
}

// decode reads the whole module.
func (d *decoder) decode() error {
	d.header()
	for next := 0; d.more(); {
		next = d.readSection(next)
	}
	d.checkAbsent()
	if d.err != nil {
		return d.err
	}
	return nil
}

func (d *decoder) header() {
	if len(d.b) > d.limits.ModuleBytes {
		d.tooLarge(0, "module of %d bytes, at most %d", len(d.b), d.limits.ModuleBytes)
		return
	}
	if len(d.b) < headerBytes || string(d.b[:4]) != "\x00asm" {
		d.malformed(0, "not a WebAssembly module in the binary format")
		return
	}
	switch string(d.b[4:headerBytes]) {
	case "\x01\x00\x00\x00":
		d.pos = headerBytes
	case "\x0d\x00\x01\x00":
		d.unsupported(4, "a component: build a core module instead")
	default:
		d.malformed(4, "version %x is not version 1 of a core module", d.b[4:headerBytes])
	}
}

// readSection reads one section. next is the position in sectionOrder from
// which on it may be; the new one is returned.
func (d *decoder) readSection(next int) int {
	at := d.pos
	id := d.u8()
	switch {
	case id > secTag:
		d.malformed(at, "unknown section %d", id)
		return next
	}
	d.section = sectionNames[id]
	n := d.size("section")
	if d.err != nil {
		return next
	}
	if id != secCustom {
		next = d.checkOrder(at, id, next)
		d.found[id] = span{d.pos, d.pos + n}
	}
	d.readContent(id, n)
	return next
}

func (d *decoder) checkOrder(at int, id byte, next int) int {
	p := strings.IndexByte(string(sectionOrder[:]), id)
	if p < next {
		d.malformed(at, "section is repeated or out of order")
	}
	return p + 1
}

func (d *decoder) readContent(id byte, n int) {
	whole := d.end
	if d.err == nil {
		d.end = d.pos + n
	}
	sectionReaders[id](d)
	if d.left() > 0 {
		d.malformed(d.pos, "%d bytes too many", d.left())
	}
	d.end, d.section = whole, "module"
}

var sectionReaders = [...]func(*decoder){
	secCustom:    (*decoder).customSection,
	secType:      (*decoder).typeSection,
	secImport:    (*decoder).importSection,
	secFunction:  (*decoder).functionSection,
	secTable:     (*decoder).tableSection,
	secMemory:    (*decoder).memorySection,
	secGlobal:    (*decoder).globalSection,
	secExport:    (*decoder).exportSection,
	secStart:     (*decoder).startSection,
	secElement:   (*decoder).elementSection,
	secCode:      (*decoder).codeSection,
	secData:      (*decoder).dataSection,
	secDataCount: (*decoder).dataCountSection,
	secTag:       (*decoder).tagSection,
}

// checkAbsent checks what sections that are not there should have held.
func (d *decoder) checkAbsent() {
	if d.module.Functions > 0 && d.found[secCode].at == 0 {
		d.malformed(d.pos, "%d functions declared, but no code", d.module.Functions)
	}
	if d.datas > 0 && d.found[secData].at == 0 {
		d.malformed(d.pos, "%d data segments declared, but no data section", d.datas)
	}
	if d.module.CompileWork > d.limits.CompileWork {
		d.tooLarge(d.found[secCode].at, "estimated work to compile is %d, at most %d", d.module.CompileWork, d.limits.CompileWork)
	}
}

func (d *decoder) typeSection() {
	n := d.count("types", d.limits.Types, 3)
	d.types = n
	for i := 0; i < n && d.err == nil; i++ {
		d.functionType()
	}
}

func (d *decoder) functionType() {
	at := d.pos
	switch form := d.u8(); form {
	case 0x60:
	case 0x4e, 0x4f, 0x50, 0x5e, 0x5f:
		d.unsupported(at, "type form 0x%02x needs gc", form)
	default:
		d.malformed(at, "unknown type form 0x%02x", form)
	}
	params := d.valueTypes("parameters", d.limits.Params)
	results := d.valueTypes("results", d.limits.Results)
	d.module.Types = append(d.module.Types, FuncType{Params: params, Results: results})
	d.module.CompileWork += int64(len(params) + len(results))
}

func (d *decoder) valueTypes(what string, limit int) []ValueType {
	n := d.count(what, limit, 1)
	if n == 0 {
		return nil
	}
	list := make([]ValueType, n)
	for i := range list {
		list[i] = d.valueType()
	}
	return list
}

func (d *decoder) importSection() {
	n := d.count("imports", d.limits.Imports, 4)
	for i := 0; i < n && d.err == nil; i++ {
		d.importItem()
	}
	d.imported = len(d.funcTypes)
}

func (d *decoder) importItem() {
	at := d.pos
	module := d.name("module name", d.limits.NameBytes)
	name := d.name("import name", d.limits.NameBytes)
	kind := Kind(d.u8())
	switch {
	case d.err != nil:
		return
	case kind >= unknownKinds:
		d.malformed(at, "import %q.%q has unknown kind %d", module, name, kind)
		return
	case kind != Func:
		d.unsupported(at, "import %q.%q is a %v: only functions may be imported, so that instances share no state", module, name, kind)
		return
	case module == TickModule && name == TickName && !d.reserved:
		d.unsupported(at, "import %q.%q is reserved for the host", module, name)
		return
	}
	t := d.index("type", d.types)
	if d.err == nil {
		d.funcTypes = append(d.funcTypes, t)
		d.checkImported(at, d.module.Types[t])
		d.module.Imports = append(d.module.Imports, Import{module, name, Func, d.module.Types[t]})
	}
	d.funcs = len(d.funcTypes)
}

func (d *decoder) functionSection() {
	n := d.count("functions", d.limits.Functions, 1)
	for i := 0; i < n && d.err == nil; i++ {
		d.funcTypes = append(d.funcTypes, d.index("type", d.types))
	}
	d.module.Functions = n
	d.funcs = len(d.funcTypes)
}

func (d *decoder) tableSection() {
	n := d.count("tables", d.limits.Tables, 3)
	d.tables = n
	for i := 0; i < n && d.err == nil; i++ {
		if d.left() > 0 && d.b[d.pos] == 0x40 {
			d.unsupported(d.pos, "table with an initial value needs typed-function-references")
			return
		}
		t := Table{Elem: d.refType()}
		at := d.pos
		t.Min, t.Max, t.HasMax = d.sizeLimits()
		if t.Min > d.limits.TableElems {
			d.tooLarge(at, "table %d starts with %d entries, at most %d", i, t.Min, d.limits.TableElems)
		}
		d.module.Tables = append(d.module.Tables, t)
	}
}

// sizeLimits reads the limits of a table or memory.
func (d *decoder) sizeLimits() (low, high uint32, hasHigh bool) {
	at := d.pos
	flags := d.u8()
	switch {
	case flags >= 16:
		d.malformed(at, "unknown limits flags 0x%02x", flags)
	case flags&8 != 0:
		d.unsupported(at, "page size other than 64 KiB needs custom-page-sizes")
	case flags&4 != 0:
		d.unsupported(at, "64-bit addresses need memory64")
	case flags&2 != 0:
		d.unsupported(at, "shared memory needs threads")
	}
	low = d.u32()
	if flags == 0 || d.err != nil {
		return low, 0, false
	}
	if high = d.u32(); high < low && d.err == nil {
		d.malformed(at, "maximum %d is below minimum %d", high, low)
	}
	return low, high, true
}

// maxPages is the number of 64 KiB pages that 32-bit addresses reach.
const maxPages = 65_536

func (d *decoder) memorySection() {
	at := d.pos
	n := d.count("memories", d.left(), 2)
	if n > 1 {
		d.unsupported(at, "%d memories need multi-memory", n)
	}
	if n == 0 || d.err != nil {
		return
	}
	m := Memory{}
	m.Min, m.Max, m.HasMax = d.sizeLimits()
	switch {
	case m.Min > maxPages || m.Max > maxPages:
		d.malformed(at, "memory of %d pages, at most %d", max(m.Min, m.Max), maxPages)
	case m.Min > d.limits.MemoryPages:
		d.tooLarge(at, "memory starts with %d pages, at most %d", m.Min, d.limits.MemoryPages)
	}
	d.memory = true
	d.module.HasMemory, d.module.Memory = true, m
}

func (d *decoder) globalSection() {
	n := d.count("globals", d.limits.Globals, 4)
	for i := 0; i < n && d.err == nil; i++ {
		g := Global{Type: d.valueType()}
		at := d.pos
		mut := d.u8()
		if mut > 1 {
			d.malformed(at, "unknown mutability 0x%02x", mut)
		}
		if g.Mutable = mut == 1; g.Mutable {
			d.mutable++
		}
		d.constExpr()
		d.globals++
		d.module.Globals = append(d.module.Globals, g)
	}
}

func (d *decoder) exportSection() {
	n := d.count("exports", d.limits.Exports, 3)
	for i := 0; i < n && d.err == nil; i++ {
		d.exportItem()
	}
}

func (d *decoder) exportItem() {
	at := d.pos
	e := Export{Name: d.name("export name", d.limits.NameBytes)}
	e.Kind = Kind(d.u8())
	switch {
	case d.err != nil:
		return
	case d.names[e.Name]:
		d.malformed(at, "export %q is repeated", e.Name)
	case strings.HasPrefix(e.Name, ReservedPrefix) && !d.reserved:
		d.unsupported(at, "export %q is reserved: names that start with %q are the host's", e.Name, ReservedPrefix)
	case e.Kind >= unknownKinds:
		d.malformed(at, "export %q has unknown kind %d", e.Name, e.Kind)
	default:
		e.Index = d.index(e.Kind.String(), d.itemCount(e.Kind))
	}
	if d.err != nil {
		return
	}
	if e.Kind == Func {
		e.Type = d.typeOf(e.Index)
		d.declare(e.Index)
	}
	d.names[e.Name] = true
	if e.Kind == TagKind {
		return
	}
	d.module.Exports = append(d.module.Exports, e)
}

// itemCount is the number of items of a kind.
func (d *decoder) itemCount(k Kind) int {
	memories := 0
	if d.memory {
		memories = 1
	}
	return [...]int{Func: d.funcs, TableKind: d.tables, MemoryKind: memories, GlobalKind: d.globals, TagKind: d.tags}[k]
}

func (d *decoder) typeOf(function uint32) FuncType {
	return d.module.Types[d.funcTypes[function]]
}

func (d *decoder) startSection() {
	at := d.pos
	i := d.index("function", d.funcs)
	if d.err != nil {
		return
	}
	if t := d.typeOf(i); len(t.Params)+len(t.Results) > 0 {
		d.malformed(at, "start function takes parameters or returns results")
	}
	d.module.HasStart, d.start = true, i
}

func (d *decoder) dataCountSection() {
	at := d.pos
	n := int64(d.u32())
	if n > int64(d.limits.DataSegments) {
		d.tooLarge(at, "%d data segments, at most %d", n, d.limits.DataSegments)
		return
	}
	d.dataCount, d.datas = true, int(n)
}
