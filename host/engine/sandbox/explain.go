package sandbox

import (
	"errors"
	"runtime"
	"strings"

	"github.com/tetratelabs/wazero/sys"
)

// explain turns an error of wazero into one of this package. It returns nil
// for a guest that ended itself, whatever the code.
func (in *instance) explain(err error) error {
	var exit *sys.ExitError
	var trap *TrapError
	var internal runtime.Error
	switch {
	case in.fatal != nil && errors.As(in.fatal, &trap) && trap.Stack == nil:
		trap.Stack = wasmStack(err)
		return in.fatal
	case in.fatal != nil:
		return in.fatal
	case errors.As(err, &exit) && in.exited:
		return nil
	case errors.Is(err, ErrPanic):
		return err
	case errors.As(err, &internal), isHostPanic(err.Error()):
		return &PanicError{Value: rootText(err), Stack: err.Error()}
	case rootText(err) == "stack overflow":
		return in.limit("call stack", "about 50 MB", "", ErrStack)
	}
	return &TrapError{Reason: rootText(err), Stack: wasmStack(err)}
}

// isHostPanic tells what the engine says when Go code panicked below the guest,
// with an error of its own or some other value, from what it says of a guest that
// trapped.
func isHostPanic(text string) bool {
	return !strings.HasPrefix(text, "wasm error: ") && strings.Contains(text, " (recovered by wazero)\n")
}

// rootText is the text of the innermost error.
func rootText(err error) string {
	for {
		next := errors.Unwrap(err)
		if next == nil {
			text, _, _ := strings.Cut(err.Error(), "\n")
			return text
		}
		err = next
	}
}

// wasmStack takes the guest's functions out of an error of wazero, which has
// them in its text only.
func wasmStack(err error) (stack []string) {
	_, list, _ := strings.Cut(err.Error(), "wasm stack trace:\n")
	for line := range strings.Lines(list) {
		name, found := strings.CutPrefix(strings.TrimRight(line, "\n"), "\t")
		if !found {
			break
		}
		stack = append(stack, name)
	}
	return stack
}

// blame puts a limit in front of a failure that came after the limit refused
// the guest something: out of memory or files, guests trap or give up in ways
// of their own.
func (in *instance) blame(err error) error {
	if err == nil {
		return nil
	}
	var trap *TrapError
	if errors.As(err, &trap) && trap.cause != nil {
		return err // a host function's doing
	}
	if !errors.Is(err, ErrTrap) && !errors.Is(err, ErrGuest) {
		return err
	}
	switch {
	case in.memory.refused:
		e := in.memoryError()
		e.cause = err
		return e
	case in.files != nil && in.files.refused != nil:
		e := in.files.refused
		e.cause = err
		return e
	}
	return err
}

func (in *instance) memoryError() *LimitError {
	return in.limit("memory", byteCount(in.memory.limit), "max_memory_mb", ErrMemory)
}
