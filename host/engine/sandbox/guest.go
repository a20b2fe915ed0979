package sandbox

import (
	"context"
	"errors"
	"fmt"
)

// MaxDepth is how deep calls nest: a host function that calls back into a
// guest, or into another module with the context it was given.
const MaxDepth = 16

var (
	errGuestGone = errors.New("guest used after its host function returned")
	errBounds    = errors.New("out of bounds of the guest's memory")
	errExited    = errors.New("guest exited")
)

// A Guest is the instance that is calling a host function. It is valid only
// until the host function returns, and only on its goroutine.
type Guest struct{ in guestSide }

// guestSide is where a Guest's methods are carried out: in the instance, or by
// whoever has the instance in another process.
type guestSide interface {
	Read(ptr, n uint32) ([]byte, error)
	View(ptr, n uint32) ([]byte, error)
	Write(ptr uint32, b []byte) error
	Block(off uint64) ([]byte, error)
	NewBlock(b []byte) (uint64, error)
	Free(off uint64)
	Env() any
	Config() map[string]string
	Log(level Level, msg string)
	SetResponse(meta, body []byte)
	FuelLeft() uint64
	Spend(fuel uint64)
	Call(ctx context.Context, export string, params ...uint64) ([]uint64, error)
}

// RemoteGuest returns the Guest of an instance in another process, whose side
// carries out the methods of the same names, and a function that makes it
// useless. View may return a copy.
func RemoteGuest(side guestSide) (g *Guest, end func()) {
	g = &Guest{in: side}
	return g, g.end
}

// end makes the guest useless: its memory may be gone.
func (g *Guest) end() { g.in = nil }

// Read returns a copy of n bytes of the guest's memory at ptr.
func (g *Guest) Read(ptr, n uint32) ([]byte, error) {
	if g.in == nil {
		return nil, errGuestGone
	}
	return g.in.Read(ptr, n)
}

// View returns n bytes of the guest's memory at ptr without copying them. They
// are valid until the host function returns or the guest's memory grows, and
// must not be changed.
func (g *Guest) View(ptr, n uint32) ([]byte, error) {
	if g.in == nil {
		return nil, errGuestGone
	}
	return g.in.View(ptr, n)
}

// Write copies b into the guest's memory at ptr.
func (g *Guest) Write(ptr uint32, b []byte) error {
	if g.in == nil {
		return errGuestGone
	}
	return g.in.Write(ptr, b)
}

// Block returns a copy of the Extism block at off. Offset 0 is not a block and
// gives nil.
func (g *Guest) Block(off uint64) ([]byte, error) {
	if g.in == nil {
		return nil, errGuestGone
	}
	return g.in.Block(off)
}

// NewBlock copies b into a new Extism block and returns its offset, 0 for an
// empty b. The error is a *LimitError when memory has run out.
func (g *Guest) NewBlock(b []byte) (uint64, error) {
	if g.in == nil {
		return 0, errGuestGone
	}
	return g.in.NewBlock(b)
}

// Free gives an Extism block back. Offset 0 and unknown offsets do nothing.
func (g *Guest) Free(off uint64) {
	if g.in != nil {
		g.in.Free(off)
	}
}

// Env returns Call.Env.
func (g *Guest) Env() any {
	if g.in == nil {
		return nil
	}
	return g.in.Env()
}

// Config returns Call.Config. It must not be changed.
func (g *Guest) Config() map[string]string {
	if g.in == nil {
		return nil
	}
	return g.in.Config()
}

// Log hands a line to Call.Log, within Limits.LogBytes.
func (g *Guest) Log(level Level, msg string) {
	if g.in != nil {
		g.in.Log(level, msg)
	}
}

// SetResponse keeps the answer of this host function until the guest takes it
// with response_read, or the next one replaces it. Both slices are kept, not
// copied.
func (g *Guest) SetResponse(meta, body []byte) {
	if g.in != nil {
		g.in.SetResponse(meta, body)
	}
}

// FuelLeft is how much of its fuel the call has left.
func (g *Guest) FuelLeft() uint64 {
	if g.in == nil {
		return 0
	}
	return g.in.FuelLeft()
}

// Spend takes fuel for work that is done elsewhere on behalf of the call. One that had less
// ends when the host function returns.
func (g *Guest) Spend(fuel uint64) {
	if g.in != nil {
		g.in.Spend(fuel)
	}
}

// Call runs another export of the calling instance, within the limits of the
// same call. Calls nest at most [MaxDepth] deep; beyond, the error is
// [ErrDepth]. ctx must be the one the host function was given, or come from it.
func (g *Guest) Call(ctx context.Context, export string, params ...uint64) ([]uint64, error) {
	if g.in == nil {
		return nil, errGuestGone
	}
	return g.in.Call(ctx, export, params...)
}

// What follows carries out a Guest's methods in the instance.

func (in *instance) View(ptr, n uint32) ([]byte, error) { return in.view(ptr, n) }

func (in *instance) Read(ptr, n uint32) ([]byte, error) {
	b, err := in.view(ptr, n)
	if err != nil {
		return nil, err
	}
	in.spend(uint64(n))
	return append(make([]byte, 0, n), b...), nil
}

func (in *instance) Write(ptr uint32, b []byte) error {
	if uint64(len(b)) > MaxMemoryBytes {
		return errBounds
	}
	to, err := in.view(ptr, uint32(len(b)))
	if err != nil {
		return err
	}
	in.spend(uint64(len(b)))
	copy(to, b)
	return nil
}

func (in *instance) Block(off uint64) ([]byte, error) {
	if off == 0 {
		return nil, nil
	}
	b, err := in.kernel.block(off)
	if err != nil {
		return nil, err
	}
	in.spend(uint64(len(b)))
	return append(make([]byte, 0, len(b)), b...), nil
}

func (in *instance) NewBlock(b []byte) (uint64, error) {
	if len(b) == 0 {
		return 0, nil
	}
	off := in.kernel.alloc(uint64(len(b)))
	in.chargeMoved()
	if off == 0 {
		return 0, in.memoryError()
	}
	in.spend(uint64(len(b)))
	copy(in.kernel.arena[off:], b)
	return off, nil
}

func (in *instance) Free(off uint64) { in.kernel.free(off) }

func (in *instance) Env() any { return in.call.Env }

func (in *instance) Config() map[string]string { return in.call.Config }

func (in *instance) Log(level Level, msg string) { in.log(level, msg) }

func (in *instance) SetResponse(meta, body []byte) {
	in.response = response{meta: meta, body: body, set: true}
}

func (in *instance) FuelLeft() uint64 { return uint64(max(in.fuel.balance(), 0)) }

func (in *instance) Spend(fuel uint64) { in.fuel.take(fuel) }

func (in *instance) Call(ctx context.Context, export string, params ...uint64) ([]uint64, error) {
	if in.depth+1 >= MaxDepth {
		err := &LimitError{What: "call depth", Limit: fmt.Sprintf("%d calls", MaxDepth), kind: ErrDepth}
		return nil, err
	}
	f, ok := in.module.export(export)
	if !ok {
		return nil, fmt.Errorf("call %s: %w", export, ErrNoExport)
	}
	if len(params) != len(f.Params) {
		return nil, fmt.Errorf("call %s: %w: %d parameters for %s", export, ErrSignature, len(params), f)
	}
	outer := in.ctx
	if in.ctx = ctx; ctx.Value(instanceKey{}) != in {
		in.ctx = context.WithValue(ctx, instanceKey{}, in)
	}
	in.depth++
	defer func() { in.ctx, in.depth = outer, in.depth-1 }()
	results, err := in.invoke(export, params...)
	if err == nil && in.exited {
		err = errExited
	}
	return results, err
}

// view returns part of the guest's linear memory.
func (in *instance) view(ptr, n uint32) ([]byte, error) {
	if !in.module.declared.HasMemory {
		return nil, fmt.Errorf("%w: it has none", errBounds)
	}
	b, ok := in.mod.Memory().Read(ptr, n)
	if !ok {
		return nil, fmt.Errorf("%w: %d bytes at %d", errBounds, n, ptr)
	}
	return b, nil
}
