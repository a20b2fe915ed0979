package worker

import (
	"bytes"
	"encoding/binary"
	"errors"
	"testing"

	"github.com/skillet-run/skillet/host/engine/sandbox"
	w "github.com/skillet-run/skillet/host/engine/sandbox/wasmbin/wasmtest"
)

// counter answers with how often it was called, which it keeps in memory, and fails after
// it has counted when it is told to.
func counter() []byte {
	g := newGuest()
	count := w.Code(w.I32Const(64), w.I32Const(64), w.Load(0x28, 0), w.I32Const(1), w.Op(0x6a), w.Store(0x36, 0))
	g.tool("count", count, w.I32Const(64), w.I32Const(4), w.Call(g.write))
	g.tool("fail", count, w.I32Const(64), w.I32Const(4), w.I32Const(64), w.I32Const(4), w.Call(g.fail))
	g.tool("trap", count, w.Unreachable())
	g.tool("grow", w.I32Const(3), w.MemoryGrow(), w.Drop(), count)
	return g.Bytes()
}

// conversation is a session of either kind of runtime.
type conversation interface {
	caller
	Save() ([]byte, error)
	Bytes() int
}

// TestSession: a session goes on in a worker as it does here, and in the one after the
// other has saved it. What fails leaves nothing.
func TestSession(t *testing.T) {
	t.Parallel()
	inside, outside := both(t, counter(), hostFunctions())
	kinds := []func(saved []byte) (conversation, error){
		func(saved []byte) (conversation, error) {
			if saved == nil {
				return inside.OpenSession()
			}
			return inside.RestoreSession(saved)
		},
		func(saved []byte) (conversation, error) {
			if saved == nil {
				return outside.OpenSession()
			}
			return outside.RestoreSession(saved)
		},
	}
	var saved []byte
	for want := uint32(1); want <= 12; want++ {
		s, err := kinds[want/2%2](saved)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.Call(t.Context(), sandbox.Call{Export: "trap"}); !errors.Is(err, sandbox.ErrTrap) {
			t.Errorf("trap: %v", err)
		}
		if _, err := s.Call(t.Context(), sandbox.Call{Export: "count", Restart: true}); !errors.Is(err, sandbox.ErrSession) {
			t.Errorf("anew: %v", err)
		}
		got, err := s.Call(t.Context(), sandbox.Call{Export: "count"})
		if err != nil || binary.LittleEndian.Uint32(got.Output) != want {
			t.Fatalf("call %d: %v, %v", want, got.Output, err)
		}
		if want%3 == 0 { // an error of the guest's own is an answer
			want++
			if _, err := s.Call(t.Context(), sandbox.Call{Export: "fail"}); !errors.Is(err, sandbox.ErrGuest) {
				t.Errorf("fail: %v", err)
			}
		}
		if saved, err = s.Save(); err != nil || s.Bytes() == 0 {
			t.Fatalf("save: %v, %d bytes", err, s.Bytes())
		}
	}
	for name, damage := range map[string]func([]byte) []byte{
		"cut":     func(b []byte) []byte { return b[:len(b)-1] },
		"altered": func(b []byte) []byte { b[len(b)-1] ^= 1; return b },
		"empty":   func([]byte) []byte { return []byte{} },
	} {
		if _, err := outside.RestoreSession(damage(bytes.Clone(saved))); !errors.Is(err, sandbox.ErrSessionDamaged) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestSessionOfAnother: the worker itself refuses to go on with a session of another module.
func TestSessionOfAnother(t *testing.T) {
	t.Parallel()
	_, r := runtimes(t, Settings{}, hostFunctions())
	var saved []byte
	for _, wasm := range [][]byte{counter(), reactor()} {
		m, err := r.Load(t.Context(), wasm)
		if err != nil {
			t.Fatal(err)
		}
		if saved == nil {
			s, err := m.OpenSession()
			if err != nil {
				t.Fatal(err)
			}
			if _, err = s.Call(t.Context(), sandbox.Call{Export: "grow"}); err != nil {
				t.Fatal(err)
			}
			if saved, err = s.Save(); err != nil {
				t.Fatal(err)
			}
			continue
		}
		s, err := m.RestoreSession(saved)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.Call(t.Context(), sandbox.Call{Export: "echo"}); !errors.Is(err, sandbox.ErrSession) {
			t.Errorf("%v", err)
		}
	}
}
