package wasmlink

import (
	"github.com/skillet-run/skillet/host/engine/sandbox/wasmbin"
)

// pruner finds the functions that can be called or referred to.
type pruner struct {
	m       *Module
	used    []bool
	pending []uint32
	err     error
}

// prune drops the functions and imports that nothing can call: those that are
// not exported, do not start, are in no segment or global, and are not mentioned
// in the code of another that is left.
func (m *Module) prune() error {
	p := &pruner{m: m, used: make([]bool, len(m.Imports)+len(m.Functions))}
	p.roots()
	for len(p.pending) > 0 && p.err == nil {
		f := p.pending[len(p.pending)-1]
		p.pending = p.pending[:len(p.pending)-1]
		if i := int(f) - len(m.Imports); i >= 0 {
			p.code(m.Functions[i].Code)
		}
	}
	if p.err == nil {
		p.drop()
	}
	return p.err
}

func (p *pruner) use(f uint32) {
	if int64(f) < int64(len(p.used)) && !p.used[f] {
		p.used[f] = true
		p.pending = append(p.pending, f)
	}
}

func (p *pruner) roots() {
	for _, e := range p.m.Exports {
		if e.Kind == wasmbin.Func {
			p.use(e.Index)
		}
	}
	if p.m.HasStart {
		p.use(p.m.Start)
	}
	for _, g := range p.m.Globals {
		p.code(g.Init)
	}
	for _, e := range p.m.Elements {
		for _, f := range e.Functions {
			p.use(f)
		}
		for _, x := range e.Exprs {
			p.code(x)
		}
	}
}

// code uses the functions an expression mentions.
func (p *pruner) code(code []byte) {
	n := wasmbin.Renumbering{Func: func(i uint32) uint32 { p.use(i); return i }}
	if _, err := n.Apply(code); err != nil && p.err == nil {
		p.err = err
	}
}

// drop leaves the used functions and renumbers what mentions them.
func (p *pruner) drop() {
	to := make([]uint32, len(p.used))
	next := uint32(0)
	for i, used := range p.used {
		to[i] = next
		if used {
			next++
		}
	}
	m, c := p.m, copier{out: p.m, moves: &moves{funcs: to}}
	m.Imports = kept(m.Imports, p.used)
	m.Functions = kept(m.Functions, p.used[len(p.used)-len(m.Functions):])
	n := wasmbin.Renumbering{Func: c.in(to)}
	apply := func(code []byte) []byte {
		out, err := n.Apply(code)
		if err != nil {
			p.err = err
		}
		return out
	}
	for i := range m.Functions {
		m.Functions[i].Code = apply(m.Functions[i].Code)
	}
	for i := range m.Globals {
		m.Globals[i].Init = apply(m.Globals[i].Init)
	}
	for i := range m.Elements {
		for j, f := range m.Elements[i].Functions {
			m.Elements[i].Functions[j] = to[f]
		}
		for j, x := range m.Elements[i].Exprs {
			m.Elements[i].Exprs[j] = apply(x)
		}
	}
	for i, e := range m.Exports {
		if e.Kind == wasmbin.Func {
			m.Exports[i].Index = to[e.Index]
		}
	}
	if m.HasStart {
		m.Start = to[m.Start]
	}
}

func kept[T any](list []T, used []bool) []T {
	var out []T
	for i, e := range list {
		if used[i] {
			out = append(out, e)
		}
	}
	return out
}
