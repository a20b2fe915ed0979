package sandbox

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"strings"

	"github.com/skillet-run/skillet/host/engine/sandbox/codecache"
	"github.com/skillet-run/skillet/host/engine/sandbox/wasmbin"
)

// WayOut is what helps with a module that is refused.
const WayOut = wasmbin.WayOut

// Limits that a call can reach. Each is found with errors.Is in the error of
// [Module.Call], and errors.As finds the [LimitError] that names its value.
var (
	ErrMemory    = errors.New("memory limit reached")
	ErrFuel      = errors.New("fuel limit reached")
	ErrTime      = errors.New("time limit reached") // also context.DeadlineExceeded
	ErrInput     = errors.New("input limit reached")
	ErrOutput    = errors.New("output limit reached")
	ErrHostCalls = errors.New("host call limit reached")
	ErrTable     = errors.New("table limit reached")
	ErrStack     = errors.New("call stack limit reached")
	ErrDepth     = errors.New("call depth limit reached")
	ErrFiles     = errors.New("file limit reached") // open files, sizes, counts
)

var (
	// ErrRefused means the module failed the gate and nothing of it was
	// compiled. The error of package wasmbin is wrapped beside it.
	ErrRefused = errors.New("module refused")
	// ErrCompile means the compiler gave no code that can be loaded: it failed,
	// crashed, or took too long.
	ErrCompile = errors.New("module not compiled")
	// ErrImport means the module imports a function that nobody provides, or
	// provides with another signature.
	ErrImport = errors.New("unknown import")
	// ErrNoExport means the module exports no function of the name called.
	ErrNoExport = errors.New("no such export")
	// ErrSignature means the export called has parameters, or results other
	// than none or one i32.
	ErrSignature = errors.New("unsupported signature")
	// ErrTrap means the guest trapped: the typed error is [TrapError].
	ErrTrap = errors.New("guest trapped")
	// ErrGuest means the guest itself reported an error: the typed error is
	// [GuestError].
	ErrGuest = errors.New("guest reported an error")
	// ErrPanic means Go code of the host panicked: this package, the engine below
	// it, or a host function. The call failed, nothing else did, and its instance
	// is not used again. The module is not to blame.
	ErrPanic = errors.New("fault of the host, not of the module: panic")
	// ErrSession means the state of a session cannot be kept or continued: the
	// error says why.
	ErrSession = errors.New("session cannot go on")
	// ErrSessionDamaged means a saved session was altered, cut, sealed with
	// another key, or is none.
	ErrSessionDamaged = errors.New("saved session is damaged")
	// ErrClosed means the runtime or module was closed.
	ErrClosed = errors.New("closed")
	// ErrCacheDir means the directory of compiled code could be written by
	// somebody else, or is not a directory.
	ErrCacheDir = codecache.ErrDir
)

// A PanicError is a panic of Go code of the host that was contained. errors.Is
// matches [ErrPanic].
type PanicError struct {
	Value string // what it panicked with, in words
	Stack string // of the goroutine, for a report of the fault; it may be long
}

// Error says what happened, without the stack.
func (e *PanicError) Error() string { return ErrPanic.Error() + ": " + e.Value }

// Is reports whether target is ErrPanic.
func (e *PanicError) Is(target error) bool { return target == ErrPanic }

// Contain calls f and turns a panic of it into a [PanicError].
func Contain(f func() error) error { return contain(f) }

func contain(f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = &PanicError{Value: fmt.Sprint(p), Stack: string(debug.Stack())}
		}
	}()
	return f()
}

// A LimitError says which limit ended a call, its value, and what to change to
// raise it. errors.Is matches the limit's sentinel ([ErrMemory] and so on);
// what the guest did because of it, when known, is wrapped.
type LimitError struct {
	What    string // what ran out: "memory", "fuel", "wall time", ...
	Limit   string // its value with its unit: "64 MiB"
	Setting string // the manifest field that raises it; "" when none does

	kind  error
	cause error
}

// Error names the limit, its value and the setting.
func (e *LimitError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s limit of %s reached", e.What, e.Limit)
	if e.Setting != "" {
		fmt.Fprintf(&b, " (raise it with %s)", e.Setting)
	}
	if e.cause != nil {
		fmt.Fprintf(&b, ": %v", e.cause)
	}
	return b.String()
}

// callersDeadline is the Limit of a call that ended because its context did.
const callersDeadline = "the caller's deadline"

// OfCaller reports whether it was the deadline of the caller's context that ended the
// call, which says nothing of the guest.
func (e *LimitError) OfCaller() bool { return e.kind == ErrTime && e.Limit == callersDeadline }

// Is reports whether target is the sentinel of the limit, or
// context.DeadlineExceeded for a limit of time.
func (e *LimitError) Is(target error) bool {
	return target == e.kind || (e.kind == ErrTime || e.kind == ErrCompile) && target == context.DeadlineExceeded
}

// Unwrap returns what the guest did because of the limit: nil, a [TrapError]
// or a [GuestError].
func (e *LimitError) Unwrap() error { return e.cause }

// A ModuleLimitError is a module that passes a limit of the gate. errors.Is
// matches [ErrRefused] beside it.
type ModuleLimitError struct {
	// Needs is the [Options].ModuleFactor that would let it through; 0 for none.
	Needs int

	cause error
}

// Error says which limit, and what would raise it.
func (e *ModuleLimitError) Error() string {
	if e.Needs == 0 {
		return e.cause.Error()
	}
	return fmt.Sprintf("%v; the setting %s %d accepts it", e.cause, SettingModules, e.Needs)
}

// Unwrap returns the error of package wasmbin.
func (e *ModuleLimitError) Unwrap() error { return e.cause }

// A TrapError is a guest that trapped, or was ended by a host function's error,
// which is then wrapped. errors.Is matches [ErrTrap].
type TrapError struct {
	Reason string   // "unreachable", "out of bounds memory access", ...
	Stack  []string // functions of the guest, innermost first

	cause error
}

// Error names the reason and the innermost function.
func (e *TrapError) Error() string {
	at := ""
	if len(e.Stack) > 0 {
		at = " in " + e.Stack[0]
	}
	return "guest trapped: " + e.Reason + at
}

// Is reports whether target is ErrTrap.
func (e *TrapError) Is(target error) bool { return target == ErrTrap }

// Unwrap returns the host function's error, or nil.
func (e *TrapError) Unwrap() error { return e.cause }

// A GuestError is an error the guest reported by itself: with error_set or
// error_write, by a result other than 0, or by its exit code. errors.Is
// matches [ErrGuest].
type GuestError struct {
	Kind    string // the kind given to error_write; "" otherwise
	Message string // "" when the guest gave only a code
	Code    uint32 // result or exit code; 0 when it gave only a message
}

// Error is the guest's own message, with a code that says more than that it failed, or
// the code.
func (e *GuestError) Error() string {
	switch code := int32(e.Code); {
	case e.Message == "":
		return fmt.Sprintf("guest returned %d without a message", e.Code)
	case code < -1 || code > 1: // 1 and -1 are what PDKs return of every error
		return fmt.Sprintf("%s (it returned %d)", e.Message, code)
	}
	return e.Message
}

// Is reports whether target is ErrGuest.
func (e *GuestError) Is(target error) bool { return target == ErrGuest }
