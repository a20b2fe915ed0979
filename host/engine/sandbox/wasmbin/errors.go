package wasmbin

import (
	"errors"
	"fmt"
)

// The three reasons to refuse a module. Every error of this package is an
// *Error that wraps one of them.
var (
	// ErrMalformed: the bytes are not a module the core specification allows,
	// or an index in them points at nothing.
	ErrMalformed = errors.New("malformed module")
	// ErrTooLarge: the module passes one of the Limits.
	ErrTooLarge = errors.New("module passes a limit")
	// ErrUnsupported: the module is well formed but uses what this host does
	// not offer: a proposal outside Features, a component, an import that is
	// not a function, or a reserved name.
	ErrUnsupported = errors.New("unsupported module")
)

// WayOut is what helps with a module that was refused.
const WayOut = "it is not a module this host can run safely; build it for wasm32-wasip1, or with an SDK or an Extism PDK: docs/compatibility.md says what is taken"

// Error says why a module was refused and where.
type Error struct {
	// Offset is the position in the module, in bytes from its start.
	Offset int
	// Section is the section's name in the core specification ("code"), or
	// "header".
	Section string
	// Message says what was found and, for a limit, what is allowed.
	Message string

	kind error
}

// Error returns the message with its section and offset.
func (e *Error) Error() string {
	return fmt.Sprintf("%v: %s section: %s (at byte %d)", e.kind, e.Section, e.Message, e.Offset)
}

// Unwrap returns ErrMalformed, ErrTooLarge or ErrUnsupported.
func (e *Error) Unwrap() error { return e.kind }
