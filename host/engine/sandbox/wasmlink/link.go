package wasmlink

import (
	"fmt"
	"slices"

	"github.com/skillet-run/skillet/host/engine/sandbox/wasmbin"
)

// Unit is a module with the names by which others import from it.
type Unit struct {
	Names  []string
	Module *Module
}

// Link makes one module of several. What a unit imports from a module that is
// a name of another is resolved by that one's exports; a name that is not
// exported, or of another type, is an error. Functions imported from other
// modules stay imports, memories, tables and globals may not. There may be one
// memory and one start function. The result exports what is listed, in that
// order; where several units export a name, the last one's. Functions and
// imports that nothing can call are dropped. The units are not changed. The same
// units give the same result.
func Link(exports []string, units ...Unit) (*Module, error) {
	l := &linker{units: units, out: &Module{}, moves: make([]moves, len(units))}
	for _, step := range []func() error{l.placeOwn, l.placeImports, l.placeShared, l.copy} {
		if err := step(); err != nil {
			return nil, fmt.Errorf("link: %w", err)
		}
	}
	if err := l.export(exports); err != nil {
		return nil, fmt.Errorf("link: %w", err)
	}
	if err := l.out.prune(); err != nil {
		return nil, fmt.Errorf("link: %w", err)
	}
	return l.out, nil
}

// moves says where the items of one unit are in the result. own is where its
// own items of a kind begin.
type moves struct {
	types, funcs, tables, globals []uint32
	elements, data                uint32
	ownFuncs                      uint32 // among the functions of all units
}

type linker struct {
	units []Unit
	out   *Module
	moves []moves
	funcs uint32 // defined, of all units
}

// itemRef is an item of a unit.
type itemRef struct {
	unit  int
	index uint32
}

// placeOwn gives everything the units define its place. Functions count from
// the first defined one, as it is not known yet how many are imported.
func (l *linker) placeOwn() error {
	for i, u := range l.units {
		m, v := u.Module, &l.moves[i]
		for _, t := range m.Types {
			v.types = append(v.types, l.out.TypeIndex(t))
		}
		v.ownFuncs = l.funcs
		l.funcs += uint32(len(m.Functions))
		v.elements, v.data = uint32(len(l.out.Elements)), uint32(len(l.out.Data))
		v.tables = make([]uint32, m.shared(wasmbin.TableKind))
		for range m.Tables {
			v.tables = append(v.tables, uint32(len(l.out.Tables)+len(v.tables)-m.shared(wasmbin.TableKind)))
		}
		v.globals = make([]uint32, m.shared(wasmbin.GlobalKind))
		for range m.Globals {
			v.globals = append(v.globals, uint32(len(l.out.Globals)+len(v.globals)-m.shared(wasmbin.GlobalKind)))
		}
		l.out.Tables = append(l.out.Tables, m.Tables...)
		l.out.Globals = append(l.out.Globals, m.Globals...)
		l.out.Elements = append(l.out.Elements, m.Elements...)
		l.out.Data = append(l.out.Data, m.Data...)
		if err := l.placeSingle(m, v); err != nil {
			return err
		}
	}
	return nil
}

// placeSingle takes over what a module has one of.
func (l *linker) placeSingle(m *Module, v *moves) error {
	if m.HasMemory {
		if l.out.HasMemory {
			return fmt.Errorf("two units have a memory")
		}
		l.out.HasMemory, l.out.Memory = true, m.Memory
	}
	if m.HasStart && l.out.HasStart {
		return fmt.Errorf("two units have a start function")
	}
	l.out.HasStart = l.out.HasStart || m.HasStart
	return nil
}

// shared counts the imports of a kind that are not functions.
func (m *Module) shared(k wasmbin.Kind) int {
	n := 0
	for _, s := range m.Shared {
		if s.Kind == k {
			n++
		}
	}
	return n
}

// unit finds the unit that answers to a name.
func (l *linker) unit(name string) (int, bool) {
	i := slices.IndexFunc(l.units, func(u Unit) bool { return slices.Contains(u.Names, name) })
	return i, i >= 0
}

// placeImports finds what each imported function is: one that stays imported,
// or one that a unit defines. The former come first in the result.
func (l *linker) placeImports() error {
	resolved := make([][]target, len(l.units))
	for i, u := range l.units {
		for j := range u.Module.Imports {
			t, err := l.resolve(itemRef{i, uint32(j)})
			if err != nil {
				return err
			}
			resolved[i] = append(resolved[i], t)
		}
	}
	imported := uint32(len(l.out.Imports))
	for i, u := range l.units {
		v := &l.moves[i]
		for _, t := range resolved[i] {
			index := t.index
			if !t.imported {
				index += imported
			}
			v.funcs = append(v.funcs, index)
		}
		for j := range u.Module.Functions {
			v.funcs = append(v.funcs, imported+v.ownFuncs+uint32(j))
		}
		if u.Module.HasStart {
			l.out.Start = v.funcs[u.Module.Start]
		}
	}
	return nil
}

// target is a function of the result: an import, or the index of a defined one.
type target struct {
	imported bool
	index    uint32
}

// resolve follows an imported function through the units to what it is.
func (l *linker) resolve(p itemRef) (target, error) {
	first := l.units[p.unit].Module.Imports[p.index]
	want := l.units[p.unit].Module.TypeOf(p.index)
	for range len(l.units) + 1 {
		m := l.units[p.unit].Module
		if p.index >= uint32(len(m.Imports)) {
			return target{index: l.moves[p.unit].ownFuncs + p.index - uint32(len(m.Imports))}, nil
		}
		i := m.Imports[p.index]
		u, known := l.unit(i.Module)
		if !known {
			return target{true, l.keepImport(i, m.Types[i.Type])}, nil
		}
		e, ok := l.units[u].Module.Export(i.Name)
		if !ok || e.Kind != wasmbin.Func {
			return target{}, fmt.Errorf("%s exports no function %s", i.Module, i.Name)
		}
		if t := l.units[u].Module.TypeOf(e.Index); !t.Equal(want) {
			return target{}, fmt.Errorf("%s of %s has the signature %v, and is imported with %v", i.Name, i.Module, t, want)
		}
		p = itemRef{u, e.Index}
	}
	return target{}, fmt.Errorf("%s of %s is an import of itself", first.Name, first.Module)
}

// keepImport adds an import to the result, once.
func (l *linker) keepImport(i wasmbin.ImportedFunc, t wasmbin.FuncType) uint32 {
	i.Type = l.out.TypeIndex(t)
	at := slices.Index(l.out.Imports, i)
	if at < 0 {
		at = len(l.out.Imports)
		l.out.Imports = append(l.out.Imports, i)
	}
	return uint32(at)
}

// placeShared resolves imported memories, tables and globals.
func (l *linker) placeShared() error {
	for i, u := range l.units {
		var next [4]int
		for _, s := range u.Module.Shared {
			at, err := l.sharedItem(s)
			if err != nil {
				return err
			}
			switch s.Kind {
			case wasmbin.TableKind:
				l.moves[i].tables[next[s.Kind]] = at
			case wasmbin.GlobalKind:
				l.moves[i].globals[next[s.Kind]] = at
			}
			next[s.Kind]++
		}
	}
	return nil
}

// sharedItem finds the index in the result of what a unit imports.
func (l *linker) sharedItem(s Shared) (uint32, error) {
	refuse := func(why string) (uint32, error) {
		return 0, fmt.Errorf("the %v %s of %s: %s", s.Kind, s.Name, s.Module, why)
	}
	u, known := l.unit(s.Module)
	if !known {
		return refuse("unit not found, and only functions can stay imported")
	}
	m := l.units[u].Module
	e, ok := m.Export(s.Name)
	if !ok || e.Kind != s.Kind {
		return refuse("it is not exported")
	}
	own := int(e.Index) - m.shared(s.Kind)
	if own < 0 {
		return refuse("it is an import there too; import it from where it is defined")
	}
	switch s.Kind {
	case wasmbin.MemoryKind:
		if m.Memory.Min < s.Min {
			return refuse(fmt.Sprintf("it starts with %d pages, not %d", m.Memory.Min, s.Min))
		}
		return 0, nil
	case wasmbin.TableKind:
		if m.Tables[own].Min < s.Min {
			return refuse(fmt.Sprintf("it starts with %d entries, not %d", m.Tables[own].Min, s.Min))
		}
		return l.moves[u].tables[e.Index], nil
	}
	if m.Globals[own].Global != s.Global {
		return refuse("it is of another type")
	}
	return l.moves[u].globals[e.Index], nil
}

// copy writes all code and expressions with their new indexes.
func (l *linker) copy() error {
	for i, u := range l.units {
		c := copier{out: l.out, moves: &l.moves[i]}
		for _, f := range u.Module.Functions {
			f.Type = l.moves[i].types[f.Type]
			f.Code = c.code(f.Code)
			l.out.Functions = append(l.out.Functions, f)
		}
		c.globals(len(u.Module.Globals))
		c.elements(len(u.Module.Elements))
		c.data(len(u.Module.Data))
		if c.err != nil {
			return c.err
		}
	}
	return nil
}

// copier renumbers what came from one unit.
type copier struct {
	out   *Module
	moves *moves
	err   error
}

func (c *copier) code(code []byte) []byte {
	v := c.moves
	n := wasmbin.Renumbering{
		Func: c.in(v.funcs), Type: c.in(v.types), Table: c.in(v.tables), Global: c.in(v.globals),
		Elements: func(i uint32) uint32 { return i + v.elements },
		Data:     func(i uint32) uint32 { return i + v.data },
	}
	out, err := n.Apply(code)
	if c.err == nil && err != nil {
		c.err = err
	}
	return out
}

// in looks indexes up in a list.
func (c *copier) in(list []uint32) func(uint32) uint32 {
	return func(i uint32) uint32 {
		if int64(i) < int64(len(list)) {
			return list[i]
		}
		if c.err == nil {
			c.err = fmt.Errorf("code mentions the index %d of %d", i, len(list))
		}
		return 0
	}
}

func (c *copier) globals(n int) {
	if n == 0 {
		return
	}
	from := c.moves.globals[len(c.moves.globals)-n]
	for i := range c.out.Globals[from : int(from)+n] {
		g := &c.out.Globals[int(from)+i]
		g.Init = c.code(g.Init)
	}
}

func (c *copier) elements(n int) {
	for i := range n {
		e := &c.out.Elements[int(c.moves.elements)+i]
		if e.Mode == wasmbin.Active {
			e.Table = c.in(c.moves.tables)(e.Table)
			e.Offset = c.code(e.Offset)
		}
		e.Functions, e.Exprs = slices.Clone(e.Functions), slices.Clone(e.Exprs)
		for j, f := range e.Functions {
			e.Functions[j] = c.in(c.moves.funcs)(f)
		}
		for j, x := range e.Exprs {
			e.Exprs[j] = c.code(x)
		}
	}
}

func (c *copier) data(n int) {
	for i := range n {
		if d := &c.out.Data[int(c.moves.data)+i]; d.Mode == wasmbin.Active {
			d.Offset = c.code(d.Offset)
		}
	}
}

// export finds the listed exports in the units, the last one first.
func (l *linker) export(names []string) error {
	for _, name := range names {
		e, ok := l.exported(name)
		if !ok {
			return fmt.Errorf("no unit exports %s", name)
		}
		l.out.Exports = append(l.out.Exports, e)
	}
	return nil
}

func (l *linker) exported(name string) (wasmbin.ExportedItem, bool) {
	for i := len(l.units) - 1; i >= 0; i-- {
		e, ok := l.units[i].Module.Export(name)
		if !ok {
			continue
		}
		switch e.Kind {
		case wasmbin.Func:
			e.Index = l.moves[i].funcs[e.Index]
		case wasmbin.TableKind:
			e.Index = l.moves[i].tables[e.Index]
		case wasmbin.GlobalKind:
			e.Index = l.moves[i].globals[e.Index]
		}
		return e, true
	}
	return wasmbin.ExportedItem{}, false
}
