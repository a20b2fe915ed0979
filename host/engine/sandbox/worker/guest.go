package worker

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/skillet-run/skillet/host/engine/sandbox"
)

// remoteGuest is the guest of a worker while it calls a host function.
type remoteGuest struct {
	talk *talk
	ctx  context.Context // of the host function

	answered   bool
	meta, body []byte
	fuel       uint64 // that the worker says is left
	spent      uint64
}

var errLost = errors.New("the worker of the guest is gone")

// op has the worker do one thing to the guest. The bytes it sends back must be
// no more than asked for.
func (g *remoteGuest) op(ctx context.Context, o *op, most int64) (*opDone, error) {
	t := g.talk
	if t.broken != nil {
		return nil, errLost
	}
	var d opDone
	err := t.proc.wire.send(kindOp, t.proc.next, o)
	if err == nil {
		err = t.until(ctx, kindOpDone, &d)
	}
	if err == nil && int64(len(d.Data)) > most {
		err = fmt.Errorf("%w: %d bytes of the guest, want %d", errMalformed, len(d.Data), most)
	}
	if err != nil {
		t.broken = err
		return nil, errLost
	}
	t.log(d.Lines)
	if d.Failure != nil {
		return nil, d.Failure.Err(t.hostErr)
	}
	return &d, nil
}

// Read returns bytes of the guest's memory.
func (g *remoteGuest) Read(ptr, n uint32) ([]byte, error) { return g.memory(methodRead, ptr, n) }

// View returns a copy, which costs the guest nothing.
func (g *remoteGuest) View(ptr, n uint32) ([]byte, error) { return g.memory(methodView, ptr, n) }

func (g *remoteGuest) memory(m method, ptr, n uint32) ([]byte, error) {
	d, err := g.op(g.ctx, &op{Method: m, Ptr: uint64(ptr), N: uint64(n)}, int64(n))
	switch {
	case err != nil:
		return nil, err
	case len(d.Data) != int(n):
		g.talk.broken = fmt.Errorf("%w: %d bytes of the guest, want %d", errMalformed, len(d.Data), n)
		return nil, errLost
	case d.Data == nil:
		return []byte{}, nil
	}
	return d.Data, nil
}

// Write copies b into the guest's memory.
func (g *remoteGuest) Write(ptr uint32, b []byte) error {
	_, err := g.op(g.ctx, &op{Method: methodWrite, Ptr: uint64(ptr), Data: b}, 0)
	return err
}

// Block returns the Extism block at off.
func (g *remoteGuest) Block(off uint64) ([]byte, error) {
	if off == 0 {
		return nil, nil
	}
	d, err := g.op(g.ctx, &op{Method: methodBlock, Ptr: off}, int64(g.talk.call.Limits.MemoryBytes))
	if err != nil {
		return nil, err
	}
	return append([]byte{}, d.Data...), nil
}

// NewBlock makes an Extism block.
func (g *remoteGuest) NewBlock(b []byte) (uint64, error) {
	if len(b) == 0 {
		return 0, nil
	}
	d, err := g.op(g.ctx, &op{Method: methodNewBlock, Data: b}, 0)
	if err != nil {
		return 0, err
	}
	if len(d.Words) != 1 {
		g.talk.broken = fmt.Errorf("%w: %d blocks, want 1", errMalformed, len(d.Words))
		return 0, errLost
	}
	return d.Words[0], nil
}

// Free gives an Extism block back.
func (g *remoteGuest) Free(off uint64) {
	_, _ = g.op(g.ctx, &op{Method: methodFree, Ptr: off}, 0)
}

// Env returns Call.Env, which never left.
func (g *remoteGuest) Env() any { return g.talk.call.Env }

// Config returns Call.Config.
func (g *remoteGuest) Config() map[string]string { return g.talk.call.Config }

// Log sends the line to the worker, which counts it, and logs it if there is room left.
func (g *remoteGuest) Log(level sandbox.Level, msg string) {
	if g.talk.call.Log != nil {
		_, _ = g.op(g.ctx, &op{Method: methodLog, N: uint64(level), Text: msg}, 0)
	}
}

// SetResponse keeps the answer until the function returns.
func (g *remoteGuest) SetResponse(meta, body []byte) {
	g.answered, g.meta, g.body = true, meta, body
}

// FuelLeft is what the worker said that is left, at most what there was.
func (g *remoteGuest) FuelLeft() uint64 { return g.fuel - min(g.spent, g.fuel) }

// Spend is what the worker takes from the fuel when the function returns.
func (g *remoteGuest) Spend(fuel uint64) { g.spent += min(fuel, math.MaxInt64-g.spent) }

// Call runs another export of the guest.
func (g *remoteGuest) Call(ctx context.Context, export string, params ...uint64) ([]uint64, error) {
	d, err := g.op(ctx, &op{Method: methodCall, Text: export, Words: params}, 0)
	if err != nil {
		return nil, err
	}
	return d.Words, nil
}
