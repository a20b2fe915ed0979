package wasmbin

// Encode puts the module together. Nothing is checked: whoever changed the
// parts has [Inspect], or a compiler, look at the result. The same parts give
// the same bytes.
func (p *Parts) Encode() []byte {
	out := []byte("\x00asm\x01\x00\x00\x00")
	for _, id := range sectionOrder {
		write := partWriters[id]
		if write == nil {
			continue
		}
		if content := write(p); content != nil {
			out = appendSection(out, id, content)
		}
	}
	return out
}

var partWriters = [sections]func(*Parts) []byte{
	secType:      (*Parts).encodeTypes,
	secImport:    (*Parts).encodeImports,
	secFunction:  (*Parts).encodeFunctions,
	secTable:     (*Parts).encodeTables,
	secMemory:    (*Parts).encodeMemory,
	secGlobal:    (*Parts).encodeGlobals,
	secExport:    (*Parts).encodeExports,
	secStart:     (*Parts).encodeStart,
	secElement:   (*Parts).encodeElements,
	secDataCount: (*Parts).encodeDataCount,
	secCode:      (*Parts).encodeCode,
	secData:      (*Parts).encodeData,
}

// vector encodes a section of entries, nil when there are none.
func vector[T any](list []T, appendEntry func([]byte, T) []byte) []byte {
	if len(list) == 0 {
		return nil
	}
	b := appendU32(nil, uint32(len(list)))
	for _, e := range list {
		b = appendEntry(b, e)
	}
	return b
}

func (p *Parts) encodeTypes() []byte { return vector(p.Types, appendFuncType) }

func (p *Parts) encodeImports() []byte {
	return vector(p.Imports, func(b []byte, i ImportedFunc) []byte {
		return append(b, encodeImport(i.Module, i.Name, i.Type)...)
	})
}

func (p *Parts) encodeFunctions() []byte {
	return vector(p.Functions, func(b []byte, f Function) []byte { return appendU32(b, f.Type) })
}

func (p *Parts) encodeTables() []byte {
	return vector(p.Tables, func(b []byte, t Table) []byte {
		return appendOpenLimits(append(b, byte(t.Elem)), t.Min, t.Max, t.HasMax)
	})
}

// appendOpenLimits appends limits that may have no maximum.
func appendOpenLimits(b []byte, low, high uint32, hasHigh bool) []byte {
	if hasHigh {
		return appendLimits(b, low, high)
	}
	return appendU32(append(b, 0), low)
}

func (p *Parts) encodeMemory() []byte {
	if !p.HasMemory {
		return nil
	}
	return appendOpenLimits([]byte{1}, p.Memory.Min, p.Memory.Max, p.Memory.HasMax)
}

func (p *Parts) encodeGlobals() []byte {
	return vector(p.Globals, func(b []byte, g GlobalPart) []byte {
		mutable := byte(0)
		if g.Mutable {
			mutable = 1
		}
		return append(append(b, byte(g.Type), mutable), g.Init...)
	})
}

func (p *Parts) encodeExports() []byte {
	return vector(p.Exports, func(b []byte, e ExportedItem) []byte {
		return append(b, encodeExport(e.Name, e.Kind, e.Index)...)
	})
}

func (p *Parts) encodeStart() []byte {
	if !p.HasStart {
		return nil
	}
	return appendU32(nil, p.Start)
}

func (p *Parts) encodeElements() []byte { return vector(p.Elements, appendElements) }

func appendElements(b []byte, e Elements) []byte {
	flags := e.flags()
	b = appendU32(b, flags)
	if e.Mode == Active {
		if flags&elemExplicit != 0 {
			b = appendU32(b, e.Table)
		}
		b = append(b, e.Offset...)
	}
	switch {
	case flags&(elemPassive|elemExplicit) == 0:
	case e.Exprs != nil:
		b = append(b, byte(e.Type))
	default:
		b = append(b, 0)
	}
	if e.Exprs == nil {
		b = appendU32(b, uint32(len(e.Functions)))
		for _, f := range e.Functions {
			b = appendU32(b, f)
		}
		return b
	}
	b = appendU32(b, uint32(len(e.Exprs)))
	for _, x := range e.Exprs {
		b = append(b, x...)
	}
	return b
}

// flags is how the segment starts in the binary format.
func (e Elements) flags() uint32 {
	flags := [...]uint32{Active: 0, Passive: elemPassive, Declarative: elemPassive | elemExplicit}[e.Mode]
	if e.Mode == Active && (e.Table != 0 || e.Type != FuncRef) {
		flags = elemExplicit
	}
	if e.Exprs != nil {
		flags |= elemExprs
	}
	return flags
}

// encodeDataCount writes the section without which code may not name a segment.
func (p *Parts) encodeDataCount() []byte {
	if len(p.Data) == 0 {
		return nil
	}
	return appendU32(nil, uint32(len(p.Data)))
}

func (p *Parts) encodeCode() []byte {
	var body []byte
	return vector(p.Functions, func(b []byte, f Function) []byte {
		body = appendU32(body[:0], uint32(len(f.Locals)))
		for _, l := range f.Locals {
			body = append(appendU32(body, l.Count), byte(l.Type))
		}
		b = appendU32(b, uint32(len(body)+len(f.Code)))
		return append(append(b, body...), f.Code...)
	})
}

func (p *Parts) encodeData() []byte {
	return vector(p.Data, func(b []byte, d Data) []byte {
		if d.Mode == Passive {
			b = append(b, 1)
		} else {
			b = append(append(b, 0), d.Offset...)
		}
		return append(appendU32(b, uint32(len(d.Bytes))), d.Bytes...)
	})
}
