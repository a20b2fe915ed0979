package wasmbin

// additions are encoded entries put behind the module's own, so that no index
// but that of a defined function moves.
type additions struct {
	types, imports, functions, globals, exports, bodies [][]byte
}

// rewriter writes a module anew, section by section. The module was checked,
// so reading it again cannot fail.
type rewriter struct {
	*decoder
	options Options
	add     additions
	shift   uint32            // by how much defined functions move: the imports added
	tick    uint32            // function index of the tick import
	fuel    uint32            // global index of the fuel counter
	helpers map[string]uint32 // added functions, see helper
	kinds   map[string]uint32 // added types, see typeIndex

	out     []byte
	scratch []byte // content of the section being written
	bodies  []byte // content of the code section
	code    codeWriter
	plan    func(index uint32) // finds the charges and edits of a body's code

	maxCallCost int64
	callCosts   []int64           // of the functions the module defines, nil for none
	doors       map[uint32]uint32 // by function, see door

	unrolling int // bytes that unrolling may still add
	points    int // places that take fuel or look whether there is any
}

func newRewriter(d *decoder, o Options) *rewriter {
	r := &rewriter{decoder: d, options: o, helpers: map[string]uint32{}, kinds: map[string]uint32{}, doors: map[uint32]uint32{}}
	r.plan = r.meterBody
	if o.Fuel {
		r.addFuel()
	}
	if o.Snapshot {
		r.addSnapshot()
	}
	return r
}

func (r *rewriter) addFuel() {
	r.shift = 1
	r.tick = uint32(r.imported)
	r.fuel = uint32(r.globals)
	r.unrolling = freeUnrolling + r.module.CodeBytes/unrollingPerCode
	r.maxCallCost = maxCallCost
	r.globals++ // in code that is written and read again
	r.add.types = append(r.add.types, appendFuncType(nil, FuncType{}))
	r.add.imports = append(r.add.imports, encodeImport(TickModule, TickName, uint32(r.types)))
	r.add.globals = append(r.add.globals, []byte{byte(I64), 1, opI64Const, 0, opEnd})
	r.add.exports = append(r.add.exports, encodeExport(FuelGlobal, GlobalKind, r.fuel))
}

func encodeImport(module, name string, typeIndex uint32) []byte {
	return appendU32(append(appendName(appendName(nil, module), name), byte(Func)), typeIndex)
}

func encodeExport(name string, k Kind, index uint32) []byte {
	return appendU32(append(appendName(nil, name), byte(k)), index)
}

// write returns the new module.
func (r *rewriter) write() []byte {
	r.bodies = r.codeContent() // which adds functions and types
	r.out = make([]byte, 0, len(r.b)+len(r.b)/4+256)
	r.out = append(r.out, r.b[:headerBytes]...)
	for _, id := range sectionOrder {
		r.section(id)
	}
	return r.out
}

// section writes one section: rewritten, made from the additions alone, as it
// was, or not at all.
func (r *rewriter) section(id byte) {
	s := r.found[id]
	r.pos, r.end, r.err = s.at, s.end, nil
	rewrite := sectionWriters[id]
	if rewrite == nil {
		if s.at != 0 {
			r.out = appendSection(r.out, id, r.b[s.at:s.end])
		}
		return
	}
	r.scratch = r.scratch[:0]
	rewrite(r)
	if len(r.scratch) > 0 {
		r.out = appendSection(r.out, id, r.scratch)
	}
}

var sectionWriters = [sections]func(*rewriter){
	secType:     func(r *rewriter) { r.extend(r.add.types, nil) },
	secImport:   func(r *rewriter) { r.extend(r.add.imports, nil) },
	secFunction: func(r *rewriter) { r.extend(r.add.functions, nil) },
	secTable:    (*rewriter).tableSection,
	secMemory:   (*rewriter).memorySection,
	secGlobal:   func(r *rewriter) { r.extend(r.add.globals, (*rewriter).globalEntry) },
	secExport:   func(r *rewriter) { r.extend(r.add.exports, (*rewriter).exportEntry) },
	secStart:    (*rewriter).startSection,
	secElement:  (*rewriter).elementSection,
	secCode:     func(r *rewriter) { r.scratch = r.bodies },
}

// entryCount reads the number of entries of the section being written, 0 when it is
// absent.
func (r *rewriter) entryCount() int {
	if r.left() == 0 {
		return 0
	}
	return int(r.u32())
}

// extend writes a section with added entries. entry rewrites one entry of the
// section; without it they are copied together.
func (r *rewriter) extend(added [][]byte, entry func(*rewriter)) {
	n := r.entryCount()
	if n+len(added) == 0 {
		return
	}
	r.scratch = appendU32(r.scratch, uint32(n+len(added)))
	if entry == nil {
		r.copyTo(r.end)
	}
	for ; n > 0 && entry != nil; n-- {
		entry(r)
	}
	for _, e := range added {
		r.scratch = append(r.scratch, e...)
	}
}

// copyTo copies what was not read yet up to an offset.
func (r *rewriter) copyTo(at int) {
	r.scratch = append(r.scratch, r.b[r.pos:at]...)
	r.pos = at
}

// copyRead copies from an offset what was read since.
func (r *rewriter) copyRead(from int) {
	r.scratch = append(r.scratch, r.b[from:r.pos]...)
}

// function maps a function's index to the new one.
func (r *rewriter) function(i uint32) uint32 {
	if i >= r.tick && r.shift > 0 {
		return i + r.shift
	}
	return i
}

func (r *rewriter) functionIndex() {
	r.scratch = appendU32(r.scratch, r.reference(r.u32()))
}

func (r *rewriter) tableSection() {
	if r.left() == 0 {
		return
	}
	r.scratch = appendU32(r.scratch, uint32(r.tables))
	for _, t := range r.module.Tables {
		r.scratch = append(r.scratch, byte(t.Elem))
		r.scratch = appendLimits(r.scratch, t.Min, t.limit(r.options))
	}
}

// limit is the largest size the table can have after the rewriting.
func (t Table) limit(o Options) uint32 {
	if t.HasMax {
		return min(t.Max, o.MaxTableElems)
	}
	return o.MaxTableElems
}

func (r *rewriter) memorySection() {
	if r.left() == 0 {
		return
	}
	if !r.module.HasMemory {
		r.copyTo(r.end)
		return
	}
	limit := r.module.Memory.limit(r.options)
	if r.options.Snapshot && limit < maxPages {
		limit++ // see Instrumented.MaxPages
	}
	r.scratch = appendLimits(append(r.scratch, 1), r.module.Memory.Min, limit)
}

// limit is the largest size the memory can have after the rewriting.
func (m Memory) limit(o Options) uint32 {
	if m.HasMax {
		return min(m.Max, o.MaxMemoryPages)
	}
	return min(maxPages, o.MaxMemoryPages)
}

func (r *rewriter) globalEntry() {
	from := r.pos
	r.skip(2)
	r.copyRead(from)
	r.constExpr()
}

// constExpr copies a constant expression with new function indexes.
func (r *rewriter) constExpr() {
	in := instr{}
	for in.op != opEnd || in.end == 0 {
		r.next(&in, &r.bounds)
		if in.op == opRefFunc {
			r.scratch = appendIndexed(r.scratch, opRefFunc, r.reference(in.x))
		} else {
			r.copyRead(in.at)
		}
	}
}

func (r *rewriter) exportEntry() {
	from := r.pos
	r.skip(r.size("export name"))
	kind := Kind(r.u8())
	r.copyRead(from)
	if kind == Func {
		r.functionIndex()
	} else {
		r.scratch = appendU32(r.scratch, r.u32())
	}
}

func (r *rewriter) startSection() {
	if r.left() > 0 && !r.options.Snapshot {
		r.functionIndex()
	}
}

func (r *rewriter) elementSection() {
	n := r.entryCount()
	if n == 0 {
		return
	}
	r.scratch = appendU32(r.scratch, uint32(n))
	for ; n > 0; n-- {
		r.elementSegment()
	}
}

func (r *rewriter) elementSegment() {
	from := r.pos
	flags := r.u32()
	if flags&elemPassive == 0 && flags&elemExplicit != 0 {
		r.u32()
	}
	r.copyRead(from)
	if flags&elemPassive == 0 {
		r.constExpr()
	}
	from = r.pos
	if flags&(elemPassive|elemExplicit) != 0 {
		r.u8()
	}
	n := r.u32()
	r.copyRead(from)
	for ; n > 0; n-- {
		if flags&elemExprs != 0 {
			r.constExpr()
		} else {
			r.functionIndex()
		}
	}
}
