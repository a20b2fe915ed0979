package sandbox_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/skillet-run/skillet/host/engine/sandbox"
	w "github.com/skillet-run/skillet/host/engine/sandbox/wasmbin/wasmtest"
)

// TestFailure sends the errors of real calls through a Failure.
func TestFailure(t *testing.T) {
	t.Parallel()
	ours := errors.New("ours")
	fails := sandbox.HostFunc{Module: "test", Name: "fails", Call: func(context.Context, *sandbox.Guest, []uint64) error { return &sandbox.HostError{Text: "ours"} }}
	m := newGuest()
	f := m.ImportFunc("test", "fails", w.Sig("", ""))
	m = m.memory(1, w.NoMax)
	m.tool("host", w.Call(f), zero())
	m.tool("spin", forever())
	m.tool("trap", w.Op(0x00))
	m.tool("code", w.I32Const(7))
	mod := load(t, m.Bytes(), fails)
	for name, c := range map[string]struct {
		call sandbox.Call
		is   []error
	}{
		"host error": {sandbox.Call{Export: "host"}, []error{sandbox.ErrTrap, ours}},
		"fuel":       {sandbox.Call{Export: "spin", Limits: sandbox.Limits{Fuel: 1000}}, []error{sandbox.ErrFuel}},
		"trap":       {sandbox.Call{Export: "trap"}, []error{sandbox.ErrTrap}},
		"code":       {sandbox.Call{Export: "code"}, []error{sandbox.ErrGuest}},
		"no export":  {sandbox.Call{Export: "none"}, []error{sandbox.ErrNoExport}},
	} {
		_, err := call(t, mod, c.call)
		got := fmt.Errorf("call %s: %w", c.call.Export, sandbox.Describe(errors.Unwrap(err)).Err(ours))
		if got.Error() != err.Error() {
			t.Errorf("%s: %q, want %q", name, got, err)
		}
		for _, is := range c.is {
			if !errors.Is(got, is) {
				t.Errorf("%s: %v is not %v", name, got, is)
			}
		}
	}
	if sandbox.Describe(nil).Err(nil) != nil {
		t.Error("no error became one")
	}
}
