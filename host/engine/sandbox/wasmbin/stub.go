package wasmbin

import "crypto/sha256"

// Revision changes whenever Instrument makes something else of a module, or
// accepts other modules, than it did before: what was kept of its results is
// good for the same revision, Limits and Options only.
const Revision = 9

// stubSection is the custom section that tells one stub from another.
const stubSection = ReservedPrefix + "hull" // as it was called when modules were first cached

// stubSum is how many bytes that section holds.
const stubSum = sha256.Size

// Stub returns a module that declares all that an instrumented module does, but
// whose functions do nothing but trap. With the machine code of the module it
// is all that a host needs: there is no code to decode and to check. Data segments
// with little between them are one in the stub, where no code can name them: Go
// writes tens of thousands. Stubs of different modules are different. The error is
// an *Error for bytes whose sections cannot be told apart.
func Stub(wasm []byte) ([]byte, error) {
	h := stubWriter{cursor: cursor{b: wasm, end: len(wasm), section: "module"}}
	if h.pos = headerBytes; len(wasm) < headerBytes {
		h.malformed(0, "a module of %d bytes", len(wasm))
	}
	h.out = append(make([]byte, 0, len(wasm)/2+256), wasm[:min(headerBytes, len(wasm))]...)
	for h.left() > 0 && h.err == nil {
		h.copySection()
	}
	if h.err != nil {
		return nil, h.err
	}
	sum := sha256.Sum256(wasm)
	return appendSection(h.out, secCustom, append(appendName(nil, stubSection), sum[:]...)), nil
}

type stubWriter struct {
	cursor
	out []byte
	// named says that code may name data segments: there is a section that counts them.
	named bool
}

// copySection copies a section; that of code without the code.
func (h *stubWriter) copySection() {
	id := h.u8()
	n := h.size("section")
	if h.err != nil {
		return
	}
	content := h.b[h.pos : h.pos+n]
	h.named = h.named || id == secDataCount
	if id == secData && !h.named {
		content = joinData(content)
	}
	if id == secCode {
		c := cursor{b: h.b, pos: h.pos, end: h.pos + n, section: "code"}
		bodies := c.count("function bodies", n, 2)
		if h.err = c.err; h.err != nil {
			return
		}
		content = emptyBodies(bodies)
	}
	h.skip(n)
	h.out = appendSection(h.out, id, content)
}

// emptyBodies is a code section of n functions that trap.
func emptyBodies(n int) []byte {
	b := appendU32(make([]byte, 0, 4*n+5), uint32(n))
	for range n {
		b = append(b, 3, 0, opUnreachable, opEnd)
	}
	return b
}
