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
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"

	"github.com/skillet-run/skillet/host/engine/sandbox/codecache"
	"github.com/skillet-run/skillet/host/engine/sandbox/wasmbin"
)

// Options configures a Runtime. The zero value keeps compiled code in memory
// only and offers no host functions beyond the built-in ones.
type Options struct {
	// CacheDir keeps compiled code between runs. It is made when missing, and
	// refused when anybody but its owner could enter it. "" keeps none.
	CacheDir string
	// CacheKey binds each cached file to its module with HMAC-SHA-256, so that
	// code nobody here compiled is never run. With a nil key the binding is a
	// plain SHA-256, which finds damage but not an intruder. Saved sessions
	// are sealed with it in the same way.
	CacheKey []byte
	// Compiler makes machine code in place of this process. It is not asked on
	// machines for which the engine has no compiler. Nil compiles here.
	Compiler Compiler
	// CompileTime is the longest that this process may take to compile one module,
	// not counting the wait for others. Zero means [DefaultCompileTime].
	CompileTime time.Duration
	// ModuleFactor is how many times the usual limits of package wasmbin modules may
	// have, from 1 to [wasmbin.MaxFactor]. Zero means 1.
	ModuleFactor int
	// Larger is how many times the usual limits modules may have whose code is known, by
	// [wasmbin.CodeDigest].
	Larger map[string]int
	// Functions are offered to guests beside the built-in ones. Two functions
	// of one name, or one that hides a built-in, are an error of New.
	Functions []HostFunc
	// Reset chooses how instances are returned to their snapshots. "" is the
	// fastest way the system has: see [Strategies].
	Reset Strategy
	// PoolBytes bounds the memory of all instances that wait for their next
	// call, and IdleTimeout how long they do. Zero means [DefaultPoolBytes]
	// and [DefaultIdleTimeout]; a negative PoolBytes keeps none.
	PoolBytes   int64
	IdleTimeout time.Duration
	// MaxConcurrent is how many calls run at once; more wait for their turn or
	// for their context. Zero means [DefaultConcurrent]. Calls made from
	// within a call are not counted: waiting for themselves they would never
	// end.
	MaxConcurrent int
}

const (
	// DefaultConcurrent is the number of calls that run at once by default.
	DefaultConcurrent = 32
	// DefaultPoolBytes is what instances that wait may hold by default.
	DefaultPoolBytes = 256 << 20
	// DefaultIdleTimeout is how long instances wait by default.
	DefaultIdleTimeout = 30 * time.Second
	// DefaultCompileTime is how long one compilation may take by default. What the
	// gate lets through should take less.
	DefaultCompileTime = time.Minute
)

// A Runtime compiles and runs modules. It is safe for concurrent use.
type Runtime struct {
	log         hclog.Logger
	engine      wazero.Runtime
	memory      wazero.CompilationCache // compiled code in memory; goes last
	engineFiles codecache.Engine
	cache       *codecache.Cache    // nil without Options.CacheDir and Compiler
	compiler    Compiler            // nil compiles here
	offered     map[string]FuncType // by qualified name
	shards      *shards
	slots       *slots
	compile     chan struct{} // one token: one compilation at a time
	making      makings

	compileTime time.Duration
	factor      int // see Options.ModuleFactor
	larger      map[string]int
	arena       arenaModule
	key         []byte // seals what is kept outside: see Options.CacheKey
	pools       *pools
	strategy    Strategy
	users       *users

	mu      sync.Mutex
	modules map[*Module]struct{} // that are loaded
}

// New returns a runtime. Close it. Errors: [ErrCacheDir], and functions of
// Options that cannot be offered.
func New(ctx context.Context, log hclog.Logger, o Options) (*Runtime, error) {
	r := &Runtime{log: log, key: slices.Clone(o.CacheKey), compile: make(chan struct{}, 1),
		shards: newShards(), users: newUsers(1), modules: map[*Module]struct{}{}}
	orElse(&o.MaxConcurrent, DefaultConcurrent)
	orElse(&o.CompileTime, DefaultCompileTime)
	orElse(&o.ModuleFactor, 1)
	r.compileTime, r.factor, r.larger = o.CompileTime, o.ModuleFactor, o.Larger
	if o.ModuleFactor < 1 || o.ModuleFactor > wasmbin.MaxFactor {
		return nil, fmt.Errorf("open sandbox: ModuleFactor %d is not 1 to %d", o.ModuleFactor, wasmbin.MaxFactor)
	}
	if o.MaxConcurrent < 0 {
		return nil, fmt.Errorf("open sandbox: MaxConcurrent %d is negative", o.MaxConcurrent)
	}
	r.slots = newSlots(o.MaxConcurrent, r.shards)
	var err error
	if r.strategy, err = chooseStrategy(o.Reset); err != nil {
		return nil, fmt.Errorf("open sandbox: %w", err)
	}
	orElse(&o.PoolBytes, DefaultPoolBytes)
	orElse(&o.IdleTimeout, DefaultIdleTimeout)
	r.pools = newPools(o.PoolBytes, o.IdleTimeout)
	if err := r.openEngine(ctx, o); err != nil {
		return nil, fmt.Errorf("open sandbox: %w", err)
	}
	if err := r.offer(ctx, o.Functions); err != nil {
		return nil, errors.Join(fmt.Errorf("open sandbox: %w", err), r.free(ctx))
	}
	return r, nil
}

// openEngine starts wazero: its compiler where it has one, else its
// interpreter. WithCloseOnContextDone stays off, as fuel does its work.
func (r *Runtime) openEngine(ctx context.Context, o Options) error {
	r.memory = wazero.NewCompilationCache()
	if compilesHere() {
		r.compiler = o.Compiler
	}
	if o.CacheDir != "" || r.compiler != nil {
		if err := r.openCache(o); err != nil {
			return err
		}
	}
	r.engine = wazero.NewRuntimeWithConfig(ctx, engineConfig(r.memory))
	return nil
}

// openCache opens the cache. Where a disk is full or cannot be written to, nothing is
// kept.
func (r *Runtime) openCache(o Options) (err error) {
	r.cache, err = codecache.Open(r.log, o.CacheDir, o.CacheKey, 2*o.CompileTime)
	if isDiskError(err) {
		r.log.Warn("compiled code is not kept", "error", err)
		r.cache, err = codecache.Open(r.log, "", o.CacheKey, 2*o.CompileTime)
	}
	if err == nil {
		r.memory, err = r.engineFiles.Cache()
	}
	return err
}

// engineConfig is what machine code depends on.
func engineConfig(cache wazero.CompilationCache) wazero.RuntimeConfig {
	return wazero.NewRuntimeConfig().
		WithCompilationCache(cache).
		WithCoreFeatures(coreFeatures()).
		WithDebugInfoEnabled(false)
}

// coreFeatures is what the gate accepts, as wazero writes it.
func coreFeatures() (f api.CoreFeatures) {
	byName := map[wasmbin.Feature]api.CoreFeatures{
		wasmbin.MutableGlobal:       api.CoreFeatureMutableGlobal,
		wasmbin.SignExtensionOps:    api.CoreFeatureSignExtensionOps,
		wasmbin.MultiValue:          api.CoreFeatureMultiValue,
		wasmbin.NonTrappingFloatInt: api.CoreFeatureNonTrappingFloatToIntConversion,
		wasmbin.BulkMemory:          api.CoreFeatureBulkMemoryOperations,
		wasmbin.ReferenceTypes:      api.CoreFeatureReferenceTypes,
		wasmbin.SIMD:                api.CoreFeatureSIMD,
		wasmbin.TailCall:            experimental.CoreFeaturesTailCall,
		wasmbin.ExtendedConst:       experimental.CoreFeaturesExtendedConst,
	}
	for _, name := range wasmbin.Features() {
		f = f.SetEnabled(byName[name], true)
	}
	return f
}

// Strategy is how instances are returned to their snapshots.
func (r *Runtime) Strategy() Strategy { return r.strategy }

// Pool says what is kept for the next calls.
func (r *Runtime) Pool() PoolStats { return r.pools.stats() }

// Close refuses new work, waits for running calls and frees everything. If ctx
// is done first it returns its error and frees nothing; it may be called again.
func (r *Runtime) Close(ctx context.Context) error {
	if err := r.closeModules(ctx); err != nil {
		return fmt.Errorf("close sandbox: %w", err)
	}
	if first, _ := r.users.close(ctx); !first {
		return nil
	}
	return r.free(ctx)
}

// closeModules waits for all that is loaded and whatever else goes on. No new
// work begins meanwhile.
func (r *Runtime) closeModules(ctx context.Context) error {
	r.users.refuse()
	for _, m := range r.loaded() {
		m.users.refuse()
	}
	if err := r.users.wait(ctx); err != nil {
		return err
	}
	for _, m := range r.loaded() {
		if err := m.Close(ctx); err != nil {
			return err
		}
	}
	return nil
}

// loaded lists the modules that can be called.
func (r *Runtime) loaded() []*Module {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Collect(maps.Keys(r.modules))
}

// keep notes that a module can be called.
func (r *Runtime) keep(m *Module) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.modules[m] = struct{}{}
}

// forget is for one that cannot any more.
func (r *Runtime) forget(m *Module) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.modules, m)
}

// free lets go of the engine. Nothing may be using it.
func (r *Runtime) free(ctx context.Context) error {
	r.pools.close()
	return errors.Join(r.engine.Close(ctx), r.memory.Close(ctx))
}
