package wasmlink

import (
	"strconv"
	"strings"

	"github.com/skillet-run/skillet/host/engine/sandbox/wasmbin"
)

// body writes the code of one function.
type body struct {
	*assembler
	locals map[string]uint32
	slots  uint32 // parameters and locals
	labels []string
	out    []byte
}

// function reads locals and instructions. names are those of the parameters.
func (a *assembler) function(t uint32, names []string, f fields) wasmbin.Function {
	b := &body{assembler: a, locals: map[string]uint32{}}
	fn := wasmbin.Function{Type: t}
	if int(t) < len(a.module.Types) {
		b.slots = uint32(len(a.module.Types[t].Params))
	}
	for i, id := range names {
		b.nameLocal(f.behind, id, uint32(i))
	}
	for f.peek("local") {
		at := f.at()
		list, ids := a.values(a.open(f.take()))
		for i, v := range list {
			b.nameLocal(at, ids[i], b.slots)
			b.slots++
			fn.Locals = append(fn.Locals, wasmbin.Locals{Count: 1, Type: v})
		}
	}
	b.labels = []string{""}
	b.sequence(&f)
	fn.Code = append(b.out, opEnd)
	return fn
}

func (b *body) nameLocal(at int, id string, index uint32) {
	if id == "" {
		return
	}
	if _, twice := b.locals[id]; twice {
		b.fail(at, "local %s is declared twice", id)
	}
	b.locals[id] = index
}

// expression reads a constant expression.
func (a *assembler) expression(f fields) []byte {
	b := &body{assembler: a, labels: []string{""}}
	b.sequence(&f)
	return append(b.out, opEnd)
}

// sequence reads instructions up to the end of a list.
func (b *body) sequence(f *fields) {
	depth := len(b.labels)
	for f.more() {
		n := f.take()
		switch {
		case n.list:
			b.folded(n)
		case n.quoted:
			b.fail(n.at, "a string is not an instruction")
		default:
			b.flat(n, f)
		}
		if len(b.labels) < depth {
			b.fail(n.at, "end of a block that was not begun here")
		}
	}
	if len(b.labels) > depth {
		b.fail(f.behind, "a block has no end")
	}
}

var blocks = map[string]byte{"block": opBlock, "loop": opLoop, "if": opIf}

// flat reads an instruction that is not in parentheses of its own.
func (b *body) flat(n *node, f *fields) {
	op, isBlock := blocks[n.word]
	switch {
	case isBlock:
		b.begin(op, f)
	case n.word == "else":
		f.nameAgain(b.labels)
		b.out = append(b.out, opElse)
	case n.word == "end":
		f.nameAgain(b.labels)
		b.finish()
	default:
		b.out = b.instruction(b.out, n, f)
	}
}

// nameAgain passes over the label that else and end may repeat.
func (f *fields) nameAgain(labels []string) {
	id, ok := f.name()
	if !ok {
		return
	}
	if id != labels[len(labels)-1] {
		f.source.fail(f.at(), "%s is not the block that is open", id)
	}
	f.next++
}

// begin opens a block: its label and type.
func (b *body) begin(op byte, f *fields) {
	id, ok := f.name()
	if ok {
		f.next++
	}
	b.labels = append(b.labels, id)
	b.out = append(b.out, op)
	if f.peek("type") {
		index, _, rest := b.typeUse(*f)
		*f = rest
		b.out = appendSigned(b.out, int64(index))
		return
	}
	t, _, rest := b.signature(*f)
	*f = rest
	switch {
	case len(t.Params) > 0 || len(t.Results) > 1:
		b.out = appendSigned(b.out, int64(b.typeIndex(t)))
	case len(t.Results) == 1:
		b.out = append(b.out, byte(t.Results[0]))
	default:
		b.out = append(b.out, 0x40)
	}
}

func (b *body) finish() {
	b.labels = b.labels[:len(b.labels)-1]
	b.out = append(b.out, opEnd)
}

// folded reads an instruction in parentheses, with its operands behind its
// immediates.
func (b *body) folded(n *node) {
	f := b.open(n)
	op, isBlock := blocks[n.head()]
	switch {
	case n.is("if"):
		b.foldedIf(&f)
	case isBlock:
		b.begin(op, &f)
		b.sequence(&f)
		b.finish()
	case n.head() == "":
		b.fail(n.at, "expected an instruction")
	default:
		code := b.instruction(nil, &n.nodes[0], &f)
		b.operands(&f)
		b.out = append(b.out, code...)
	}
}

func (b *body) operands(f *fields) {
	for f.more() {
		n := f.take()
		if !n.list {
			b.fail(n.at, "expected an operand in parentheses")
			return
		}
		b.folded(n)
	}
}

// foldedIf reads (if label type condition... (then ...) (else ...)).
func (b *body) foldedIf(f *fields) {
	head := *f
	for f.more() && (!f.nodes[f.next].list || isType(&f.nodes[f.next])) {
		f.next++
	}
	for f.more() && !f.peek("then") {
		b.folded(f.take())
	}
	b.begin(opIf, &head)
	then := f.list("then")
	b.sequence(&then)
	if f.peek("else") {
		b.out = append(b.out, opElse)
		arm := f.list("else")
		b.sequence(&arm)
	}
	b.finish()
	f.end()
}

func isType(n *node) bool { return n.is("type") || n.is("param") || n.is("result") }

// instruction reads the immediates of an instruction and appends it.
func (b *body) instruction(out []byte, n *node, f *fields) []byte {
	o, known := operations[n.word]
	if !known {
		b.fail(n.at, "unknown instruction %q", n.word)
		return out
	}
	if n.word == "select" && f.peek("result") {
		list, _ := b.values(b.open(f.take()))
		out = appendU32(append(out, opSelect), uint32(len(list)))
		for _, t := range list {
			out = append(out, byte(t))
		}
		return out
	}
	if out = append(out, o.op); o.op == opMisc {
		out = append(out, o.sub)
	}
	if read := immediates[o.shape]; read != nil {
		return read(b, out, o, f)
	}
	return out
}

// immediates read what stands behind a name, by its shape.
var immediates = [...]func(b *body, out []byte, o operation, f *fields) []byte{
	local:    func(b *body, out []byte, _ operation, f *fields) []byte { return appendU32(out, b.local(f.take())) },
	global:   inSpace(globals),
	function: inSpace(functions),
	label:    func(b *body, out []byte, _ operation, f *fields) []byte { return appendU32(out, b.label(f.take())) },
	labels:   (*body).branches,
	indirect: (*body).indirect,
	access:   (*body).access,
	memory:   reserved(1),
	memories: reserved(2),
	int32s:   number(32),
	int64s:   number(64),
	float32s: floating(32),
	float64s: floating(64),
	heap:     (*body).heapType,
	table:    inSpace(tableSpace),
	tables:   (*body).tablePair,
	segment:  inSpace(dataSpace),
	initMemory: func(b *body, out []byte, o operation, f *fields) []byte {
		return append(inSpace(dataSpace)(b, out, o, f), 0)
	},
	elements:  inSpace(elementSpace),
	initTable: (*body).initTable,
}

// reserved writes the indexes of the only memory.
func reserved(n int) func(*body, []byte, operation, *fields) []byte {
	return func(_ *body, out []byte, _ operation, _ *fields) []byte { return append(out, make([]byte, n)...) }
}

// inSpace reads an index; that of a table may be left out.
func inSpace(s space) func(*body, []byte, operation, *fields) []byte {
	return func(b *body, out []byte, _ operation, f *fields) []byte {
		if s == tableSpace && !f.indexNext() {
			return appendU32(out, 0)
		}
		return appendU32(out, b.index(s, f.take()))
	}
}

// indexNext reports whether a name or a number is next.
func (f *fields) indexNext() bool {
	if !f.more() || f.nodes[f.next].list || f.nodes[f.next].quoted {
		return false
	}
	w := f.nodes[f.next].word
	return strings.HasPrefix(w, "$") || w[0] >= '0' && w[0] <= '9'
}

func number(bits int) func(*body, []byte, operation, *fields) []byte {
	return func(b *body, out []byte, _ operation, f *fields) []byte {
		n := f.take()
		if n == nil {
			return out
		}
		v, ok := integer(n.word, bits)
		if !ok || n.quoted || n.list {
			b.fail(n.at, "%q is not a number of %d bits", n.word, bits)
		}
		return appendSigned(out, v)
	}
}

func floating(bits int) func(*body, []byte, operation, *fields) []byte {
	return func(b *body, out []byte, _ operation, f *fields) []byte {
		n := f.take()
		if n == nil {
			return out
		}
		v, ok := float(n.word, bits)
		if !ok || n.quoted || n.list {
			b.fail(n.at, "%q is not a floating-point number", n.word)
		}
		return appendFloat(out, v, bits)
	}
}

func (b *body) local(n *node) uint32 {
	if n == nil {
		return 0
	}
	if id, ok := n.name(); ok {
		i, known := b.locals[id]
		if !known {
			b.fail(n.at, "no local %s", id)
		}
		return i
	}
	i, err := strconv.ParseUint(n.word, 10, 32)
	if n.list || n.quoted || err != nil || i >= uint64(b.slots) {
		b.fail(n.at, "expected a local of %d", b.slots)
	}
	return uint32(i)
}

// label counts blocks outwards from the innermost.
func (b *body) label(n *node) uint32 {
	if n == nil {
		return 0
	}
	id, named := n.name()
	for i := len(b.labels) - 1; named && i > 0; i-- {
		if b.labels[i] == id {
			return uint32(len(b.labels) - 1 - i)
		}
	}
	i, err := strconv.ParseUint(n.word, 10, 32)
	if n.list || n.quoted || err != nil || i >= uint64(len(b.labels)) {
		b.fail(n.at, "no label %s", n.word)
	}
	return uint32(i)
}

func (b *body) branches(out []byte, _ operation, f *fields) []byte {
	var list []uint32
	for f.indexNext() {
		list = append(list, b.label(f.take()))
	}
	if len(list) == 0 {
		b.fail(f.at(), "br_table without a label")
		return out
	}
	out = appendU32(out, uint32(len(list)-1))
	for _, l := range list {
		out = appendU32(out, l)
	}
	return out
}

func (b *body) indirect(out []byte, _ operation, f *fields) []byte {
	t := uint32(0)
	if f.indexNext() {
		t = b.index(tableSpace, f.take())
	}
	index, _, rest := b.typeUse(*f)
	*f = rest
	return appendU32(appendU32(out, index), t)
}

// access reads offset=N and align=N.
func (b *body) access(out []byte, o operation, f *fields) []byte {
	align, offset := uint32(o.align), b.setting("offset=", f, 0)
	if bytes := b.setting("align=", f, 1<<align); bytes != 1<<align {
		for align = 0; align < 4 && 1<<align < bytes; align++ {
		}
		if 1<<align != bytes {
			b.fail(f.at(), "alignment %d is not a power of two up to 8", bytes)
		}
	}
	return appendU32(appendU32(out, align), offset)
}

func (b *body) setting(name string, f *fields, unset uint32) uint32 {
	if !f.more() || f.nodes[f.next].quoted || !strings.HasPrefix(f.nodes[f.next].word, name) {
		return unset
	}
	n := f.take()
	v, err := strconv.ParseUint(n.word[len(name):], 0, 32)
	if err != nil {
		b.fail(n.at, "%s needs a number", name)
	}
	return uint32(v)
}

func (b *body) heapType(out []byte, _ operation, f *fields) []byte {
	switch {
	case f.word("func"):
		return append(out, byte(wasmbin.FuncRef))
	case f.word("extern"):
		return append(out, byte(wasmbin.ExternRef))
	}
	b.fail(f.at(), "expected func or extern")
	return out
}

// tablePair reads the destination and the source of table.copy.
func (b *body) tablePair(out []byte, o operation, f *fields) []byte {
	read := inSpace(tableSpace)
	return read(b, read(b, out, o, f), o, f)
}

// initTable reads a table, which may be left out, and an element segment; they
// are encoded the other way round.
func (b *body) initTable(out []byte, _ operation, f *fields) []byte {
	first := f.take()
	if f.indexNext() {
		return appendU32(appendU32(out, b.index(elementSpace, f.take())), b.index(tableSpace, first))
	}
	return appendU32(appendU32(out, b.index(elementSpace, first)), 0)
}
