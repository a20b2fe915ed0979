package inspect

import (
	"encoding/binary"
	"reflect"
	"slices"
	"testing"

	"github.com/skillet-run/skillet/host/engine/sandbox/wasmbin/wasmtest"
)

func named(text string) []byte { return append(binary.AppendUvarint(nil, uint64(len(text))), text...) }

func custom(name string, content []byte) []byte {
	body := append(named(name), content...)
	return append(binary.AppendUvarint([]byte{0}, uint64(len(body))), body...)
}

// answering is a module that writes an answer, with the notes of a toolchain.
func answering() []byte {
	m := wasmtest.New()
	write := m.ImportFunc("skillet:host/v1", "output_write", wasmtest.Signature{Params: []byte{0x7f, 0x7f}})
	m.Memory(1, 3)
	m.ExportFunc("answer", m.Func(wasmtest.Signature{}, "", wasmtest.I32Const(0), wasmtest.I32Const(2), wasmtest.Call(write)))
	made := slices.Concat([]byte{2}, named("language"), []byte{1}, named("C11"), named(""), named("processed-by"), []byte{1}, named("clang"), named("21.1"))
	known := slices.Concat([]byte{0, 3}, named("hi"), []byte{1, 4, 1, 0}, named("f"))
	return slices.Concat(m.Bytes(), custom("producers", made), custom("name", known))
}

func TestModule(t *testing.T) {
	t.Parallel()
	r, err := Module(answering())
	if err != nil {
		t.Fatal(err)
	}
	if r.ABI != "reactor" || len(r.Imports) != 1 || r.Imports[0] != (Function{"skillet:host/v1", "output_write", "(i32 i32)", "take input and give an answer"}) {
		t.Errorf("%s, %+v", r.ABI, r.Imports)
	}
	if !reflect.DeepEqual(r.Exports, []Function{{Name: "answer", Signature: "()"}}) || r.Memory.Min != 64<<10 || *r.Memory.Max != 192<<10 {
		t.Errorf("%+v, %+v", r.Exports, r.Memory)
	}
	if want := []Producer{{"language", "C11", ""}, {"processed-by", "clang", "21.1"}}; !reflect.DeepEqual(r.Producers, want) {
		t.Errorf("%+v", r.Producers)
	}
	if *r.Names != (Names{"hi", 1}) {
		t.Errorf("%+v", r.Names)
	}
	if i := r.Instrumented; i.Points == 0 || i.AddedBytes <= 0 || i.Pinned == nil {
		t.Errorf("%+v", i)
	}
	total := int64(headerBytes)
	for _, s := range r.Sections {
		total += s.Bytes
	}
	if total != r.Bytes {
		t.Errorf("the sections are %d of %d bytes", total, r.Bytes)
	}
}

func TestWhatIsNoModuleIsRefused(t *testing.T) {
	t.Parallel()
	whole := answering()
	for _, b := range [][]byte{nil, []byte("no module"), whole[:20]} {
		if _, err := Module(b); err == nil {
			t.Errorf("%q is taken for a module", b)
		}
	}
}

func FuzzModule(f *testing.F) {
	f.Add(answering())
	f.Add(slices.Concat(answering(), custom("producers", []byte{0xff, 0xff, 0xff, 0xff, 0x0f}), custom("name", []byte{1, 0xff})))
	f.Fuzz(func(t *testing.T, wasm []byte) {
		all, err := sections(wasm)
		if err != nil {
			return
		}
		total := int64(headerBytes)
		for _, s := range all {
			total += s.Bytes
			if s.Custom {
				producers(s.content)
				names(s.content)
			}
		}
		if total != int64(len(wasm)) {
			t.Errorf("the sections are %d of %d bytes", total, len(wasm))
		}
	})
}
