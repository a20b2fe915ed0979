package sandbox

import (
	"bytes"
	"strings"
	"testing"
)

// FuzzUnseal finds no file that verifies but the one that was sealed.
func FuzzUnseal(f *testing.F) {
	c := &codeCache{key: []byte("key"), kept: "kept-x"}
	id := codeID{digest: "d", engine: "wazero-v1"}
	name, code := strings.Repeat("ab", 32), []byte("machine code")
	whole := bytes.Join([][]byte{[]byte(cacheMagic), c.seal(id, name, code), []byte(name), code}, nil)
	f.Add(whole)
	f.Add(whole[:len(whole)-1])
	f.Add(whole[:cacheHeader])
	f.Add([]byte(cacheMagic))
	f.Add([]byte(nil))
	f.Fuzz(func(t *testing.T, b []byte) {
		gotName, gotCode, err := c.unseal(id, b)
		if (err == nil) != bytes.Equal(b, whole) {
			t.Fatalf("%d bytes: %v", len(b), err)
		}
		if err == nil && (gotName != name || !bytes.Equal(gotCode, code)) {
			t.Fatalf("name %q, code %q", gotName, gotCode)
		}
		if _, _, err := c.unseal(codeID{digest: "e", engine: id.engine}, b); err == nil {
			t.Fatal("the file of another module verifies")
		}
	})
}

func TestByteCount(t *testing.T) {
	for n, want := range map[uint64]string{0: "0 bytes", 1000: "1000 bytes", 1 << 10: "1 KiB", 3 << 20: "3 MiB", 4 << 30: "4 GiB", 1<<20 + 1: "1048577 bytes"} {
		if got := byteCount(n); got != want {
			t.Errorf("%d: %s, want %s", n, got, want)
		}
	}
}

// TestHeapMemory is linear memory where no address space can be reserved.
func TestHeapMemory(t *testing.T) {
	budget := memoryBudget{limit: 10}
	m := linearMemory{budget: &budget, heap: []byte{}}
	copy(m.Reallocate(2), "ab")
	if b := m.Reallocate(9); string(b) != "ab\x00\x00\x00\x00\x00\x00\x00" {
		t.Errorf("grown memory is %q", b)
	}
	if m.Reallocate(11) != nil || !budget.refused || budget.peak != 9 {
		t.Errorf("grew past the limit: %+v", budget)
	}
	m.Free()
	m.Free()
	if budget.used != 0 {
		t.Errorf("%d bytes are still counted", budget.used)
	}
}
