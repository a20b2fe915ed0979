package sandbox

import (
	"context"
	"fmt"

	"github.com/tetratelabs/wazero/api"
)

// ValueType is the type of a WebAssembly number, by its code in the binary
// format (WebAssembly core specification 5.3.1).
type ValueType = byte

// The number types a host function may take and return.
const (
	I32 ValueType = api.ValueTypeI32
	I64 ValueType = api.ValueTypeI64
	F32 ValueType = api.ValueTypeF32
	F64 ValueType = api.ValueTypeF64
)

// Level is the severity of a log line of the guest.
type Level int

// Levels in ascending order.
const (
	LevelTrace Level = iota
	LevelDebug
	LevelInfo
	LevelWarn
	LevelError
)

// String returns "trace", "debug", "info", "warn" or "error".
func (l Level) String() string {
	names := [...]string{"trace", "debug", "info", "warn", "error"}
	if l < 0 || int(l) >= len(names) {
		return fmt.Sprintf("level(%d)", int(l))
	}
	return names[l]
}

// A HostFunc is a function that guests may import. It counts against
// Limits.HostCalls, costs Fuel, and does not start when the call's context is
// done. Call must itself end when its context does.
type HostFunc struct {
	Module, Name    string
	Params, Results []ValueType
	// Fuel is charged before each call. Zero means [DefaultHostFuel].
	Fuel uint64
	// Call reads its parameters from stack, in order, and writes its results
	// there, from index 0. An error traps the guest: [Module.Call] returns an
	// error that errors.Is and errors.As see through to it.
	Call func(ctx context.Context, g *Guest, stack []uint64) error
}

// DefaultHostFuel is what a host function that declares nothing costs: about
// what the way out of the guest and back takes.
const DefaultHostFuel = 1000
