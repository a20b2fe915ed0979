package engine

import (
	"context"

	"github.com/skillet-run/skillet/bench/guests"
	"github.com/skillet-run/skillet/host/engine/sandbox"
)

// ours is the sandbox of this project with its default limits: fuel, a
// deadline and a cap on memory are on, and each call starts from the state the
// module has after its initialisation.
type ours struct{ module *sandbox.Module }

func (w *Workshop) openOurs(ctx context.Context, g guests.Guest, wasm []byte) (Caller, error) {
	m, err := w.load(ctx, g, wasm)
	return ours{m}, err
}

// load returns the module that all callers of a guest share.
func (w *Workshop) load(ctx context.Context, g guests.Guest, wasm []byte) (*sandbox.Module, error) {
	if m, ok := w.modules[g.Name]; ok {
		return m, nil
	}
	m, err := w.sandbox.Load(ctx, wasm)
	if err == nil {
		w.modules[g.Name] = m
	}
	return m, err
}

// Dirty returns how many bytes of memory have to be restored after a task: those
// of the pages it writes.
func (w *Workshop) Dirty(ctx context.Context, g guests.Guest, wasm []byte, t guests.Task) (int64, error) {
	m, err := w.load(ctx, g, wasm)
	if err != nil {
		return 0, err
	}
	var r sandbox.Result
	for range callsUntilReset {
		if r, err = m.Call(ctx, sandbox.Call{Export: t.Export, Input: t.Input}); err != nil {
			return 0, err
		}
	}
	return int64(r.DirtyPages) * sandboxPage, nil
}

const (
	// callsUntilReset is how many calls a module is given until one is reset: the
	// second takes the snapshot.
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
	m, err := w.load(ctx, g, wasm)
	return &roomy{ours: ours{m}}, err
}

// Call runs an export.
func (r *roomy) Call(ctx context.Context, export string, input []byte) ([]byte, error) {
	result, err := r.module.Call(ctx, sandbox.Call{Export: export, Input: input, Output: r.room})
	r.room = result.Output
	return result.Output, err
}
