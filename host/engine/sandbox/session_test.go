package sandbox_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/skillet-run/skillet/host/engine/sandbox"
	w "github.com/skillet-run/skillet/host/engine/sandbox/wasmbin/wasmtest"
)

// tally counts its calls in a global, in its memory and in memory it grows,
// and outputs the three. With an input of one byte it traps afterwards, with
// one of two it reports an error.
func tally() []byte {
	g := newGuest().memory(1, w.NoMax)
	n := g.Global(w.Types("i32")[0], true, w.I32Const('a'-1))
	up := func(addr int32) []byte {
		return w.Code(w.I32Const(addr), w.I32Const(addr), w.Load(0x2d, 0), w.I32Const(1), w.Op(0x6a), w.Store(0x3a, 0))
	}
	far := w.Code(w.MemorySize(), w.I32Const(16), w.Op(0x74), w.I32Const(1), w.Op(0x6b)) // last byte
	g.Data(100, []byte{'a' - 1})
	g.tool("run",
		w.GlobalGet(n), w.I32Const(1), w.Op(0x6a), w.GlobalSet(n),
		up(100),
		w.I32Const(1), w.MemoryGrow(), w.Drop(), far, w.GlobalGet(n), w.Store(0x3a, 0),
		w.I32Const(200), w.GlobalGet(n), w.Store(0x3a, 0),
		w.I32Const(201), w.I32Const(100), w.Load(0x2d, 0), w.Store(0x3a, 0),
		w.I32Const(202), w.MemorySize(), w.I32Const('a'-2), w.Op(0x6a), w.Store(0x3a, 0),
		w.I32Const(200), w.I32Const(3), w.Call(g.write),
		w.Call(g.length), w.I64Const(1), w.Op(0x51), w.If(w.Empty, w.Unreachable()),
		w.Call(g.length), w.Op(0xa7))
	return g.Bytes()
}

func openSession(t *testing.T, m *sandbox.Module) *sandbox.Session {
	t.Helper()
	s, err := m.OpenSession()
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// say calls run and returns the output, or the error.
func say(s *sandbox.Session, input string) string {
	r, err := s.Call(context.Background(), sandbox.Call{Export: "run", Input: []byte(input)})
	if err != nil && !errors.Is(err, sandbox.ErrGuest) {
		return err.Error()
	}
	return string(r.Output)
}

func TestSession(t *testing.T) {
	t.Parallel()
	for _, strategy := range sandbox.Strategies()[:len(sandbox.Strategies())-1] {
		t.Run(string(strategy), func(t *testing.T) {
			t.Parallel()
			r := newRuntime(t, sandbox.Options{Reset: strategy})
			m := loadIn(t, r, tally())
			a, b := openSession(t, m), openSession(t, m)
			for i, step := range []struct {
				session     *sandbox.Session
				input, want string
			}{
				{a, "", "aaa"}, {a, "", "bbb"}, {b, "", "aaa"}, {a, "", "ccc"},
				{a, "x", "trap"}, // leaves nothing
				{a, "", "ddd"}, {a, "xx", "eee"}, {a, "", "fff"}, {b, "", "bbb"},
			} {
				got := say(step.session, step.input)
				if step.want == "trap" {
					got = got[:min(4, len(got))]
					step.want = "call"
				}
				if got != step.want {
					t.Errorf("step %d: %q, want %q", i, got, step.want)
				}
				if r := mustCall(t, m, sandbox.Call{}); string(r.Output) != "aaa" {
					t.Errorf("after step %d a call without a session begins with %q", i, r.Output)
				}
			}
			if a.Bytes() == 0 {
				t.Error("the session holds nothing")
			}
		})
	}
}

// TestSessionIsRestored saves sessions and goes on with them in another
// runtime, as after a restart.
func TestSessionIsRestored(t *testing.T) {
	t.Parallel()
	o := sandbox.Options{CacheKey: []byte("key")}
	m := loadIn(t, newRuntime(t, o), tally())
	s := openSession(t, m)
	fresh, err := s.Save()
	if err != nil {
		t.Fatal(err)
	}
	say(s, "")
	say(s, "")
	saved, err := s.Save()
	if err != nil {
		t.Fatal(err)
	}
	if say(s, ""); len(saved) > 4096 {
		t.Errorf("a small session takes %d bytes", len(saved))
	}
	again := loadIn(t, newRuntime(t, o), tally())
	for want, b := range map[string][]byte{"aaa": fresh, "ccc": saved} {
		s, err := again.RestoreSession(b)
		if err != nil {
			t.Fatal(err)
		}
		if got := say(s, ""); got != want {
			t.Errorf("restored session goes on with %q, want %q", got, want)
		}
	}
	other := loadIn(t, newRuntime(t, o), echo())
	if _, err := other.RestoreSession(saved); !errors.Is(err, sandbox.ErrSession) {
		t.Errorf("session of another module: %v", err)
	}
	thief := loadIn(t, newRuntime(t, sandbox.Options{CacheKey: []byte("other")}), tally())
	if _, err := thief.RestoreSession(saved); !errors.Is(err, sandbox.ErrSessionDamaged) {
		t.Errorf("session sealed with another key: %v", err)
	}
}

// TestDamagedSession flips every bit of a saved session, and cuts it anywhere.
func TestDamagedSession(t *testing.T) {
	t.Parallel()
	m := load(t, tally())
	s := openSession(t, m)
	say(s, "")
	saved, err := s.Save()
	if err != nil {
		t.Fatal(err)
	}
	for i := range saved {
		for bit := range 8 {
			b := bytes.Clone(saved)
			b[i] ^= 1 << bit
			if _, err := m.RestoreSession(b); !errors.Is(err, sandbox.ErrSessionDamaged) {
				t.Fatalf("bit %d of byte %d flipped: %v", bit, i, err)
			}
		}
		if _, err := m.RestoreSession(saved[:i]); !errors.Is(err, sandbox.ErrSessionDamaged) {
			t.Fatalf("cut after %d bytes: %v", i, err)
		}
	}
	if _, err := m.RestoreSession(append(saved, 0)); !errors.Is(err, sandbox.ErrSessionDamaged) {
		t.Fatalf("a byte more: %v", err)
	}
}

func TestSessionRefusals(t *testing.T) {
	t.Parallel()
	if _, err := load(t, tableGrower(1)).OpenSession(); !errors.Is(err, sandbox.ErrSession) {
		t.Errorf("session of a module that writes tables: %v", err)
	}
	m := load(t, tally())
	s := openSession(t, m)
	if _, err := s.Call(t.Context(), sandbox.Call{Export: "run", Restart: true}); !errors.Is(err, sandbox.ErrSession) {
		t.Errorf("restart: %v", err)
	}
	say(s, "")
	say(s, "")
	_, err := s.Call(t.Context(), sandbox.Call{Export: "run", Limits: sandbox.Limits{MemoryBytes: 2 << 16}})
	if wantLimit(t, err, sandbox.ErrMemory); say(s, "") != "ccc" {
		t.Error("the session did not outlive a call with too little memory")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.Call(ctx, sandbox.Call{Export: "run"}); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

// TestSessionTakesTurns calls one session from many goroutines.
func TestSessionTakesTurns(t *testing.T) {
	t.Parallel()
	m := load(t, tally())
	s := openSession(t, m)
	const calls = 20
	got := make(chan string, calls)
	for range calls {
		go func() { got <- say(s, "") }()
	}
	seen := map[string]bool{}
	for range calls {
		select {
		case g := <-got:
			seen[g] = true
		case <-time.After(short):
			t.Fatal("calls of a session wait for ever")
		}
	}
	if len(seen) != calls {
		t.Errorf("%d different answers to %d calls: %v", len(seen), calls, seen)
	}
}

// FuzzRestoreSession reads sessions that carry a right seal and anything else.
func FuzzRestoreSession(f *testing.F) {
	m := load(f, tally())
	s, err := m.OpenSession()
	if err != nil {
		f.Fatal(err)
	}
	for i := range 3 {
		saved, err := s.Save()
		if err != nil {
			f.Fatal(err)
		}
		f.Add(sandbox.SessionContents(saved))
		if out := say(s, ""); len(out) != 3 {
			f.Fatal(fmt.Sprint(i, out))
		}
	}
	f.Fuzz(func(t *testing.T, contents []byte) {
		s, err := m.RestoreSession(sandbox.SealSession(m, contents))
		if err != nil {
			if !errors.Is(err, sandbox.ErrSession) && !errors.Is(err, sandbox.ErrSessionDamaged) {
				t.Fatal(err)
			}
			return
		}
		say(s, "")
		if r := mustCall(t, m, sandbox.Call{}); string(r.Output) != "aaa" {
			t.Fatalf("a call without a session begins with %q", r.Output)
		}
	})
}
