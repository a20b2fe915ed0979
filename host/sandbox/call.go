package sandbox

import (
	"context"
	"time"

	"github.com/skillet-run/skillet/host/jail"
)

// A Call is what one run of an export is given. The zero value of each field
// gives nothing.
type Call struct {
	// Export is the function to run; "_start" for a WASI command.
	Export string
	// Input is what the guest reads as its input, or as standard input.
	Input []byte
	// Args are the arguments of a WASI command after argv[0], which is always
	// "skill".
	Args   []string
	Limits Limits
	// FS is what the guest sees through the WASI file functions: each root at
	// its own absolute path. Nil means no file at all.
	FS *jail.FS
	// Clock gives the real time. Without it time begins at 2022-01-01 00:00
	// UTC with each call and moves by a millisecond each time it is asked, and
	// by the length of every sleep.
	Clock bool
	// Random gives the operating system's randomness. Without it the sequence
	// is a function of Seed alone.
	Random bool
	Seed   uint64
	// Config is what the Extism function config_get reads.
	Config map[string]string
	// Env is handed to host functions as it is: see [Guest.Env].
	Env any
	// Log receives each log line of the guest, on the goroutine of the call.
	// Nil drops them.
	Log func(level Level, msg string)
}

// A Result is what a call left behind. It is filled as far as the call got,
// also when the call failed.
type Result struct {
	Output []byte
	// Stderr is standard error, and standard output of guests whose output it
	// is not. It is untrusted text: escape it before showing it.
	Stderr          []byte
	ExitCode        uint32 // result of the export, or exit code
	Fuel            uint64 // units spent
	PeakMemoryBytes uint64 // linear memory and Extism blocks at their largest
	HostCalls       int    // as counted against Limits.HostCalls
	Duration        time.Duration
	InstantiateTime time.Duration // part of Duration: instance and initialisation
	GuestError      string        // what the guest gave to error_set or error_write
}

// Call runs an export in a fresh instance and returns its output. It is safe
// for concurrent use.
//
// Errors: a [LimitError], [TrapError] or [GuestError]; [ErrNoExport],
// [ErrSignature], [ErrClosed], [ErrPanic]; the error of a host function; the
// error of ctx.
func (m *Module) Call(ctx context.Context, c Call) (Result, error) {
	return Result{}, nil
}
