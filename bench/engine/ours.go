package engine

import (
	"context"

	"github.com/skillet-run/skillet/bench/guests"
	"github.com/skillet-run/skillet/host/sandbox"
)

// ours is the sandbox of this project with its default limits: fuel, a
// deadline and a cap on memory are on, and each call starts from the state the
// module has after its initialisation.
type ours struct{ module *sandbox.Module }

func (w *Workshop) openOurs(ctx context.Context, g guests.Guest, wasm []byte) (Caller, error) {
	m, ok := w.modules[g.Name]
	if !ok {
		var err error
		if m, err = w.sandbox.Load(ctx, wasm); err != nil {
			return nil, err
		}
		w.modules[g.Name] = m
	}
	return ours{m}, nil
}

// Dirty returns how many bytes of memory have to be restored after a task: those
// of the pages it writes.
func (w *Workshop) Dirty(ctx context.Context, g guests.Guest, wasm []byte, t guests.Task) (int64, error) {
	c, err := w.openOurs(ctx, g, wasm)
	if err != nil {
		return 0, err
	}
	var r sandbox.Result
	for range callsUntilReset {
		if r, err = c.(ours).module.Call(ctx, sandbox.Call{Export: t.Export, Input: t.Input}); err != nil {
			return 0, err
		}
	}
	return int64(r.DirtyPages) * sandboxPage, nil
}

const (
	// callsUntilReset is how many calls a module is given until one is reset: the
	// snapshot is taken after the first.
	callsUntilReset = 4
	sandboxPage     = 4096 // of sandbox.Figures
)

// Call runs an export. Unlike other callers it may be used by many goroutines.
func (o ours) Call(ctx context.Context, export string, input []byte) ([]byte, error) {
	r, err := o.module.Call(ctx, sandbox.Call{Export: export, Input: input})
	return r.Output, err
}

// Close does nothing: the module stays in the workshop.
func (ours) Close(context.Context) error { return nil }

// roomy is ours with one buffer for the outputs of all calls. It is used by one
// goroutine.
type roomy struct {
	ours
	room []byte
}

func (w *Workshop) openRoomy(ctx context.Context, g guests.Guest, wasm []byte) (Caller, error) {
	c, err := w.openOurs(ctx, g, wasm)
	if err != nil {
		return nil, err
	}
	return &roomy{ours: c.(ours)}, nil
}

// Call runs an export.
func (r *roomy) Call(ctx context.Context, export string, input []byte) ([]byte, error) {
	result, err := r.module.Call(ctx, sandbox.Call{Export: export, Input: input, Output: r.room})
	r.room = result.Output
	return result.Output, err
}
