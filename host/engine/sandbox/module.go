package sandbox

import (
	"context"
	"crypto/sha256"
	"fmt"
	"slices"
	"time"

	"github.com/tetratelabs/wazero"

	"github.com/skillet-run/skillet/host/engine/sandbox/wasmbin"
)

// ABI is how a module takes its input and gives its output.
type ABI int

const (
	// ABIReactor is an export without parameters that uses skillet:host/v1, or
	// nothing at all.
	ABIReactor ABI = iota
	// ABIExtism is an export without parameters that uses extism:host/env.
	ABIExtism
	// ABIWASICommand is a WASI preview 1 command: _start, standard input and
	// standard output.
	ABIWASICommand
)

// ABISkillet is the ABI of reactors built with the project's own SDKs.
const ABISkillet = ABIReactor

// String returns "reactor", "extism" or "wasi-command".
func (a ABI) String() string {
	return [...]string{"reactor", "extism", "wasi-command"}[a]
}

// Info describes a loaded module.
type Info struct {
	Imports, Exports []FuncType // functions, in the module's own order
	ABI              ABI
	MemoryMinPages   uint32        // pages of 64 KiB it starts with
	Digest           string        // of the bytes given to Load: "sha256:<64 hex>"
	CompileTime      time.Duration // what Load spent compiling or reading the cache
	FromCache        bool          // compiled code came from Options.CacheDir
	// Pinned says in words why each call gets a new instance; empty when calls
	// share instances that are returned to a snapshot.
	Pinned []string
	// CacheDiscarded is true when a cached file for this module was torn,
	// altered or bound with another key, was deleted, and compiled anew.
	CacheDiscarded bool
}

// A Module is compiled code. It is safe for concurrent use: each call has an
// instance of its own.
type Module struct {
	runtime  *Runtime
	code     wazero.CompiledModule
	declared *wasmbin.Module // as it was before instrumentation
	fuelName string          // export name of the fuel counter
	globals  []wasmbin.ExportedGlobal
	start    string // export name of the start function, or ""
	maxPages uint32 // of its memory
	sum      digest // of the bytes given to Load
	arena    bool   // it is linked to an arena: see arena.go
	wasi     bool   // imports something of WASI
	// opensFiles says that it imports path_open.
	opensFiles bool
	info       Info
	users      *users // that are in calls
	pools      poolsBySurroundings
}

// Load checks, instruments and compiles a module, or takes its machine code
// from the cache. It gives up when ctx is done. Several loads of the same bytes
// at once, in this process or in others with the same cache, compile them once.
// Errors: [ErrRefused], [ErrImport], [ErrCompile], [ErrClosed], [ErrPanic],
// ctx's error.
func (r *Runtime) Load(ctx context.Context, wasm []byte) (*Module, error) {
	sum := digest(sha256.Sum256(wasm))
	m, err := r.load(wasm, sum, func(m *Module, s *source) error { return m.compile(ctx, s) })
	if err != nil {
		return nil, fmt.Errorf("load module %.19s: %w", sum, err)
	}
	return m, nil
}

// load takes a module up to the point where there is something to compile.
func (r *Runtime) load(wasm []byte, sum digest, compile func(m *Module, s *source) error) (m *Module, err error) {
	err = contain(func() (err error) {
		m, err = r.loadModule(wasm, sum, compile)
		return err
	})
	return m, err
}

func (r *Runtime) loadModule(wasm []byte, sum digest, compile func(m *Module, s *source) error) (*Module, error) {
	if err := r.users.enter(0); err != nil {
		return nil, err
	}
	defer r.users.leave(0)
	m := r.newModule()
	m.sum = sum
	start := time.Now()
	s, discarded := r.find(wasm, sum)
	m.info.CacheDiscarded = discarded
	m.info.CompileTime = time.Since(start)
	plan, err := s.plan()
	if err != nil {
		return nil, err
	}
	m.describe(plan)
	if err := r.unresolved(m.info.Imports); err != nil {
		return nil, err
	}
	if err := compile(m, s); err != nil {
		return nil, err
	}
	if m.code != nil {
		r.keep(m)
	}
	return m, nil
}

func (r *Runtime) newModule() *Module { return &Module{runtime: r, users: newUsers(len(r.shards.all))} }

// instrumentOptions is what every module is instrumented for.
func instrumentOptions() wasmbin.Options {
	return wasmbin.Options{
		MaxMemoryPages: MaxMemoryBytes / pageBytes,
		MaxTableElems:  MaxTableElems,
		Fuel:           true,
		Snapshot:       true,
	}
}

// gateLimits is what the gate lets through: its own figures, so many times.
func gateLimits(factor int) wasmbin.Limits {
	l := wasmbin.DefaultLimits().Times(factor)
	l.TableElems = min(l.TableElems, MaxTableElems)
	return l
}

// describe fills in what instrumentation has found out.
func (m *Module) describe(plan *wasmbin.Instrumented) {
	d := plan.Module
	m.declared, m.fuelName, m.globals, m.start, m.maxPages = d, plan.FuelGlobal, plan.Globals, plan.Start, plan.MaxPages
	m.info.Pinned = plan.Pinned
	m.info.Digest = m.sum.String()
	m.info.MemoryMinPages = d.Memory.Min
	for _, i := range d.Imports {
		m.info.Imports = append(m.info.Imports, FuncType{i.Module, i.Name, valueTypes(i.Type.Params), valueTypes(i.Type.Results)})
		m.wasi = m.wasi || i.Module == wasiModule
		m.opensFiles = m.opensFiles || i.Module == wasiModule && i.Name == "path_open"
	}
	for _, e := range d.Exports {
		if e.Kind == wasmbin.Func {
			m.info.Exports = append(m.info.Exports, FuncType{"", e.Name, valueTypes(e.Type.Params), valueTypes(e.Type.Results)})
		}
	}
	m.info.ABI = m.abi()
	m.arena = usesArena(m.info.Imports)
}

// abi tells the guest interface from the imports; a module that imports none
// of the two that have functions of their own is a command when it exports
// _start.
func (m *Module) abi() ABI {
	imports := func(module string) bool {
		return slices.ContainsFunc(m.info.Imports, func(f FuncType) bool { return f.Module == module })
	}
	_, command := m.export(startExport)
	switch {
	case imports(kernelModule):
		return ABIExtism
	case imports(bulkModule) || !command:
		return ABIReactor
	}
	return ABIWASICommand
}

// Info describes the module. The caller must not change its slices.
func (m *Module) Info() Info { return m.info }

// export finds an exported function.
func (m *Module) export(name string) (FuncType, bool) {
	i := slices.IndexFunc(m.info.Exports, func(f FuncType) bool { return f.Name == name })
	if i < 0 {
		return FuncType{}, false
	}
	return m.info.Exports[i], true
}

// Close refuses new calls, waits for running ones and frees the compiled code.
// If ctx is done first it returns its error and frees nothing.
func (m *Module) Close(ctx context.Context) error {
	first, err := m.users.close(ctx)
	if err != nil {
		return fmt.Errorf("close module %.19s: %w", m.info.Digest, err)
	}
	if !first {
		return nil
	}
	m.pools.close()
	m.runtime.forget(m)
	if err := m.runtime.users.enter(0); err != nil {
		return nil // the runtime has freed it, or is about to
	}
	defer m.runtime.users.leave(0)
	return contain(func() error { return m.code.Close(ctx) })
}
