package sandbox

import "testing"

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
	m := linearMemory{budget: &budget, most: 12, heap: []byte{}}
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

func TestCodeCheck(t *testing.T) {
	code, err := CompileCode(t.Context(), []byte("\x00asm\x01\x00\x00\x00\x01\x04\x01\x60\x00\x00\x03\x02\x01\x00\x0a\x04\x01\x02\x00\x0b"), 1)
	if err != nil || code.Check() != nil {
		t.Errorf("compile: %v, check: %v", err, code.Check())
	}
	if len(code.Bytes) == 0 {
		t.Fatal("there is no code")
	}
	for n := range code.Bytes {
		if (Code{Name: code.Name, Bytes: code.Bytes[:n]}).Check() == nil {
			t.Errorf("the first %d of %d bytes are accepted", n, len(code.Bytes))
		}
	}
}
