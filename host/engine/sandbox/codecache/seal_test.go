package codecache

import (
	"bytes"
	"crypto/sha256"
	"io"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/skillet-run/skillet/host/engine/sandbox/wasmbin"
)

// cachedExample is the file of a small module.
func cachedExample(tb testing.TB, c *Cache, id ID) (*Module, []byte) {
	tb.Helper()
	wasm := []byte("\x00asm\x01\x00\x00\x00\x01\x04\x01\x60\x00\x00\x03\x02\x01\x00\x07\x05\x01\x01r\x00\x00\x0a\x04\x01\x02\x00\x0b")
	plan, err := wasmbin.Instrument(wasm, wasmbin.DefaultLimits(), wasmbin.Options{})
	if err != nil {
		tb.Fatal(err)
	}
	stub, err := wasmbin.Stub(plan.Wasm)
	if err != nil {
		tb.Fatal(err)
	}
	plan.Wasm = nil
	k := &Module{Plan: plan, Stub: stub, Code: Code{strings.Repeat("ab", 32), []byte("machine code")}, Kept: true}
	parts, err := k.parts()
	if err != nil {
		tb.Fatal(err)
	}
	return k, slices.Concat(bytes.Join(parts, nil), c.seal(id, parts...), []byte(cachedMagic))
}

// FuzzUnseal finds no file that verifies but the one that was sealed.
func FuzzUnseal(f *testing.F) {
	c := &Cache{key: []byte("key"), kept: "kept-x"}
	id := ID{Digest: "d", engine: "wazero-v1"}
	want, whole := cachedExample(f, c, id)
	f.Add(whole)
	f.Add(whole[:len(whole)-1])
	f.Add(whole[len(whole)-cachedLeast:])
	f.Add([]byte(cachedMagic))
	f.Add([]byte(nil))
	f.Fuzz(func(t *testing.T, b []byte) {
		got, err := c.unseal(id, b)
		if (err == nil) != bytes.Equal(b, whole) {
			t.Fatalf("%d bytes: %v", len(b), err)
		}
		if err == nil && !reflect.DeepEqual(got, want) {
			t.Fatalf("got %+v, want %+v", got, want)
		}
		if _, err := c.unseal(ID{Digest: "e", engine: id.engine}, b); err == nil {
			t.Fatal("the file of another module verifies")
		}
	})
}

// FuzzKept reads anything as what is kept of a module, without harm.
func FuzzKept(f *testing.F) {
	_, whole := cachedExample(f, &Cache{kept: "kept-x"}, ID{})
	whole = whole[:len(whole)-len(cachedMagic)-sha256.Size]
	f.Add(whole)
	f.Add(whole[len(whole)-cachedTable:])
	f.Add(bytes.Replace(whole, []byte("{"), []byte("["), 1))
	f.Add(bytes.Replace(whole, []byte(unshared), []byte(strings.Repeat("ab", 32)), 1))
	f.Add([]byte(nil))
	f.Fuzz(func(t *testing.T, b []byte) {
		k, err := parseCached(b)
		if err == nil && (k.Plan.Module == nil || !isCodeName(k.Code.Name)) {
			t.Fatalf("%+v, %v", k, err)
		}
	})
}

// FuzzCode reads anything as code without harm; what is accepted has no count
// beyond its own size, and can be read to its end or not at all.
func FuzzCode(f *testing.F) {
	name := strings.Repeat("ab", 32)
	for _, engine := range []string{
		"WAZEVO\x03dev\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x02\x00\x00\x00\x00\x00\x00\x00\xc3\xc3crc0\x00\x00\x00\x00\x00",
		"WAZEVO\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00crc0\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00",
		"WAZEVO\x00\x00\x00\x00\x00\x00\x01\x00\x00\x00\x00\x00\x00" + strings.Repeat("\x90", 256) + "crc0\x00\x00\x00\x00\x00",
	} {
		whole, err := Pack([]byte(engine))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(whole)
		f.Add(whole[:len(whole)-1])
		f.Add(bytes.Replace(whole, []byte("\x00\x00\x00\x00\x00\x00"), []byte("\xff\xff\xff\xff\xff\xff"), 1))
	}
	f.Add([]byte("\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff"))
	f.Add([]byte(nil))
	f.Fuzz(func(t *testing.T, b []byte) {
		if (Code{Name: "x", Bytes: b}).Check() == nil {
			t.Error("code without a name is accepted")
		}
		if (Code{Name: name, Bytes: b}).Check() != nil {
			return
		}
		if (Code{Name: name, Bytes: append(b, 0)}).Check() == nil {
			t.Error("code may go on behind its end")
		}
		p, _ := parsePackedCode(b)
		if p.size > 1<<20 {
			return
		}
		whole, err := unpacked(p)
		if again, packErr := Pack(whole); err == nil && packErr != nil {
			t.Errorf("what was read is not what the engine writes: %v, %q", packErr, again)
		}
	})
}

// unpacked reads code as the engine does: the machine code at once, the rest in pieces.
func unpacked(p packedCode) ([]byte, error) {
	r := p.reader()
	whole := make([]byte, uint64(len(p.head))+p.size+uint64(len(p.tail)))
	machine := whole[len(p.head):][:p.size]
	for _, part := range [][]byte{whole[:len(p.head)/2], whole[len(p.head)/2 : len(p.head)], machine, whole[len(p.head)+len(machine):]} {
		if _, err := io.ReadFull(r, part); err != nil {
			return nil, err
		}
	}
	if n, err := r.Read(make([]byte, 1)); n != 0 || err != io.EOF {
		return nil, errCode
	}
	return whole, r.Close()
}
