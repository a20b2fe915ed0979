package engine

import (
	"context"
	"fmt"
	"time"

	"github.com/skillet-run/skillet/bench/guests"
	"github.com/skillet-run/skillet/host/engine/sandbox/reference"
)

// sdk is the Extism Go SDK: warm keeps one plug-in from call to call, fresh
// makes one for each of a module that is compiled once.
type sdk struct {
	w       *Workshop
	fresh   bool
	timeout bool
}

func (s sdk) open(ctx context.Context, g guests.Guest, wasm []byte) (Caller, error) {
	if g.ABI != guests.Extism {
		return nil, fmt.Errorf("%w: the SDK runs the Extism ABI only", ErrSkipped)
	}
	m, err := s.w.plugin(ctx, g, wasm, s.timeout)
	if err != nil || s.fresh {
		return sdkCaller{from: m}, err
	}
	i, err := m.Instance(ctx)
	return sdkCaller{from: i, close: i.Close}, err
}

// plugin compiles a module once for each setting.
func (w *Workshop) plugin(ctx context.Context, g guests.Guest, wasm []byte, timeout bool) (*reference.Module, error) {
	o, key := reference.Options{}, g.Name
	if timeout {
		o.Timeout, key = 30*time.Second, key+"+timeout"
	}
	if m, ok := w.plugins[key]; ok {
		return m, nil
	}
	m, err := reference.Load(ctx, wasm, o)
	if err == nil {
		w.plugins[key] = m
	}
	return m, err
}

// sdkCaller calls through a module, or one instance of it.
type sdkCaller struct {
	from interface {
		Call(ctx context.Context, export string, input []byte) (reference.Result, error)
	}
	close func(context.Context) error // nil when there is nothing of its own
}

// Call runs an export.
func (c sdkCaller) Call(ctx context.Context, export string, input []byte) ([]byte, error) {
	r, err := c.from.Call(ctx, export, input)
	if err == nil && r.Code != 0 {
		err = fmt.Errorf("the guest returned %d", r.Code)
	}
	return r.Output, err
}

// Close frees the instance. The module stays in the workshop.
func (c sdkCaller) Close(ctx context.Context) error {
	if c.close == nil {
		return nil
	}
	return c.close(ctx)
}
