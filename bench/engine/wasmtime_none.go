//go:build !(cgo && (linux || darwin || (windows && amd64)) && (amd64 || arm64))

package engine

import (
	"context"
	"fmt"

	"github.com/skillet-run/skillet/bench/guests"
)

// wasmtimeWay stands for wasmtime where it cannot be linked.
type wasmtimeWay struct {
	w     *Workshop
	fresh bool
}

type wasmtimeEngine struct{}

func newWasmtimeEngine() *wasmtimeEngine { return nil }

func (*wasmtimeEngine) close() {}

func (wasmtimeWay) open(context.Context, guests.Guest, []byte) (Caller, error) {
	return nil, fmt.Errorf("%w: wasmtime needs cgo, which needs a C compiler, on a platform it is built for", ErrSkipped)
}
