// Package engine calls guests in each of the ways that the benchmark
// compares: wazero used directly, the Extism Go SDK, wasmtime, a process, and
// the sandbox of this project. It knows how a way is used at its best, and
// nothing of time, rounds and reports.
package engine

import (
	"context"
	"errors"

	"github.com/hashicorp/go-hclog"
	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"

	"github.com/skillet-run/skillet/bench/guests"
	"github.com/skillet-run/skillet/host/engine/sandbox"
	"github.com/skillet-run/skillet/host/engine/sandbox/reference"
)

// A Caller calls exports of one guest. It is used by one goroutine.
type Caller interface {
	// Call runs an export. The output is good until the next call.
	Call(ctx context.Context, export string, input []byte) ([]byte, error)
	Close(ctx context.Context) error
}

// ErrSkipped is matched by the error of Open when a way cannot be had here, or
// not for this guest. The error says why.
var ErrSkipped = errors.New("skipped")

// A Way opens callers; it is a row of the table.
type Way struct {
	Name string
	Open func(ctx context.Context, g guests.Guest, wasm []byte) (Caller, error)
}

// The names of the ways that figures are compared with.
const (
	BareWarm      = "wazero warm"
	BareFresh     = "wazero fresh"
	BareTimeout   = "wazero warm+timeout"
	Metered       = "wazero warm+fuel"
	SDKWarm       = "go-sdk warm"
	SDKFresh      = "go-sdk fresh"
	WasmtimeFresh = "wasmtime fresh"
	Ours          = "ours"
	OursRoomy     = "ours, one output buffer"
	RunProcess    = "skillet run process"
)

// A Workshop keeps what ways can share: compiled code, so that a guest is
// compiled once for each engine and not for each caller. It opens and closes
// callers for one goroutine.
type Workshop struct {
	wazero   wazero.CompilationCache
	wasmtime *wasmtimeEngine
	sandbox  *sandbox.Runtime
	modules  map[string]*sandbox.Module   // by guest
	plugins  map[string]*reference.Module // by guest, and timeout
}

// NewWorkshop returns a workshop. Close it after its callers.
func NewWorkshop(ctx context.Context) (*Workshop, error) {
	r, err := sandbox.New(ctx, hclog.NewNullLogger(), sandbox.Options{})
	if err != nil {
		return nil, err
	}
	return &Workshop{
		wazero:   wazero.NewCompilationCache(),
		wasmtime: newWasmtimeEngine(),
		sandbox:  r,
		modules:  map[string]*sandbox.Module{},
		plugins:  map[string]*reference.Module{},
	}, nil
}

// Close frees all compiled code.
func (w *Workshop) Close(ctx context.Context) error {
	err := w.sandbox.Close(ctx)
	for _, m := range w.plugins {
		err = errors.Join(err, m.Close(ctx))
	}
	w.wasmtime.close()
	return errors.Join(err, w.wazero.Close(ctx))
}

// Forget has ours loaded anew for a guest when it is next opened. None of its
// callers may be used any more.
func (w *Workshop) Forget(ctx context.Context, g guests.Guest) error {
	m, ok := w.modules[g.Name]
	if !ok {
		return nil
	}
	delete(w.modules, g.Name)
	return m.Close(ctx)
}

// Ways are all that run a module within this process. The first is the one
// that others are set against, the second is ours.
func (w *Workshop) Ways() []Way {
	return []Way{
		{BareWarm, bare{w: w}.open},
		{Ours, w.openOurs},
		w.metered(),
		{BareFresh, bare{w: w, fresh: true}.open},
		{BareTimeout, bare{w: w, timeout: true}.open},
		{SDKWarm, sdk{w: w}.open},
		{"go-sdk warm+timeout", sdk{w: w, timeout: true}.open},
		{SDKFresh, sdk{w: w, fresh: true}.open},
		{"go-sdk fresh+timeout", sdk{w: w, fresh: true, timeout: true}.open},
		{"wasmtime warm", wasmtimeWay{w: w}.open},
		{WasmtimeFresh, wasmtimeWay{w: w, fresh: true}.open},
	}
}

// Only returns the ways with these names, in the order of the names, of Ways and
// OursRoomy.
func (w *Workshop) Only(names ...string) []Way {
	var list []Way
	for _, name := range names {
		for _, way := range append(w.Ways(), Way{OursRoomy, w.openRoomy}) {
			if way.Name == name {
				list = append(list, way)
			}
		}
	}
	return list
}

// state is what a guest of either ABI sees of its host, in the simplest form
// there is: the input, one arena for blocks, the output. It serves one
// instance at a time and checks what a slice checks.
type state struct {
	input  []byte
	arena  []byte
	output []byte
	tick   api.GoModuleFunc // of skillet:host/v1, for modules with fuel; or nil
}

// begin forgets the last call.
func (s *state) begin(input []byte) {
	s.input, s.arena, s.output = input, s.arena[:0], s.output[:0]
}

// alloc makes a block. Offset 0 is no block.
func (s *state) alloc(n uint64) uint64 {
	if len(s.arena) == 0 {
		s.arena = append(s.arena, make([]byte, 16)...)
	}
	at := len(s.arena)
	end := (at + int(n) + 15) &^ 15
	if end > cap(s.arena) {
		s.arena = append(make([]byte, 0, 2*end), s.arena...)
	}
	s.arena = s.arena[:end]
	return uint64(at)
}
