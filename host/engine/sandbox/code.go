package sandbox

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"runtime"
	"time"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/experimental"

	"github.com/skillet-run/skillet/host/engine/sandbox/codecache"
	"github.com/skillet-run/skillet/host/engine/sandbox/wasmbin"
)

// Code is the machine code of one instrumented module, good for this build of the
// program on this processor.
type Code = codecache.Code

// A Compiler turns instrumented modules into machine code somewhere else, so
// that what a module does to the engine's compiler does not happen here. It
// must be safe for concurrent use, and return soon after ctx is done.
//
// What Compile returns runs as native code: an implementation gives back what
// [CompileCode] of the same program made of the same bytes, and nothing else.
type Compiler interface {
	Compile(ctx context.Context, wasm []byte) (Code, error)
}

// CompileCode compiles an instrumented module with so many workers at once and
// returns its machine code. Of a wasmbin.Stub it returns its name and code that
// does nothing. A module that is bad enough ends the process, and
// a panic in a worker does: call it where that may happen. Errors: [ErrCompile],
// ctx's error.
func CompileCode(ctx context.Context, wasm []byte, workers int) (code Code, err error) {
	err = contain(func() (err error) {
		code, err = compileBoth(experimental.WithCompilationWorkers(ctx, workers), wasm)
		return err
	})
	if ctx.Err() != nil {
		return Code{}, context.Cause(ctx)
	}
	if err != nil {
		return Code{}, fmt.Errorf("%w: %w", ErrCompile, err)
	}
	return code, nil
}

// compileBoth compiles a module, and its stub for the name that the engine
// gives to that. Of a stub it makes the name and no more.
func compileBoth(ctx context.Context, wasm []byte) (code Code, err error) {
	code, err = compileOne(ctx, wasm)
	if err != nil || wasmbin.IsStub(wasm) {
		return code, err
	}
	stub, err := wasmbin.Stub(wasm)
	if err != nil {
		return code, err
	}
	shell, err := compileOne(ctx, stub)
	code.Name = shell.Name
	return code, err
}

// Prepared is a module that was checked and compiled here, and is to be loaded
// somewhere else.
type Prepared struct {
	kept   *codecache.Module
	module *Module
}

// An Image is a module that was prepared, in bytes: [Runtime.LoadImage] of
// another process of the same program loads it, and neither checks nor
// instruments it again.
type Image struct {
	Digest []byte // SHA-256 of the bytes given to Prepare
	Plan   []byte // what instrumentation has found out, in JSON
	Stub   []byte // see wasmbin.Stub
	Code   Code
}

// CodeBytes is the size of the module's machine code.
func (p *Prepared) CodeBytes() int {
	return p.kept.Code.MachineBytes()
}

// Image is the module for another process. Nobody may change its slices.
func (p *Prepared) Image() (Image, error) {
	plan, err := p.kept.PlanText()
	return Image{p.module.sum[:], plan, p.kept.Stub, p.kept.Code}, err
}

// LoadImage loads what [Prepared.Image] of the same program has returned, and
// believes it: an image from anywhere else can do what this process can. The
// runtime has Options.CacheDir or Options.Compiler. Errors: [ErrImport],
// [ErrCompile], [ErrClosed].
func (r *Runtime) LoadImage(i Image) (*Module, error) {
	if err := r.users.enter(0); err != nil {
		return nil, err
	}
	defer r.users.leave(0)
	m := r.newModule()
	if copy(m.sum[:], i.Digest) != len(m.sum) || r.cache == nil {
		return nil, fmt.Errorf("load image: %w: it has no digest, or the runtime compiles what it loads", ErrCompile)
	}
	kept := &codecache.Module{Plan: &wasmbin.Instrumented{}, Stub: i.Stub, Code: i.Code}
	err := errors.Join(kept.ReadPlan(i.Plan), i.Code.Check())
	if err != nil {
		return nil, fmt.Errorf("load image of %.19s: %w: %w", m.sum, ErrCompile, err)
	}
	m.describe(kept.Plan)
	if err = r.unresolved(m.info.Imports); err != nil {
		return nil, err
	}
	if m.code, err = r.loadCached(kept); err != nil {
		return nil, fmt.Errorf("load image of %.19s: %w: %w", m.sum, ErrCompile, err)
	}
	r.keep(m)
	return m, nil
}

// Info describes the module as Load would.
func (p *Prepared) Info() Info { return p.module.info }

// Check returns the error that Call would return before anything runs: a
// [LimitError], [ErrNoExport], [ErrSignature], and limits that mean nothing.
func (p *Prepared) Check(c Call) error {
	c.Limits = c.Limits.filled()
	return p.module.check(&c)
}

// Prepare does what Load does but for loading: nothing of the module's machine
// code becomes part of this process. Errors: those of Load.
func (r *Runtime) Prepare(ctx context.Context, wasm []byte) (*Prepared, error) {
	p := &Prepared{}
	sum := digest(sha256.Sum256(wasm))
	var err error
	p.module, err = r.load(wasm, sum, func(m *Module, s *source) (err error) {
		start := time.Now()
		p.kept, err = m.obtainCode(ctx, s)
		m.info.CompileTime += time.Since(start)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("prepare module %.19s: %w", sum, err)
	}
	return p, nil
}

// obtainCode takes the code of a module from the cache, or compiles it.
func (m *Module) obtainCode(ctx context.Context, s *source) (*codecache.Module, error) {
	r := m.runtime
	if s.kept != nil {
		m.info.FromCache = true
		return s.kept, nil
	}
	if r.cache == nil {
		return r.makeWithoutCache(ctx, s)
	}
	kept, err := r.obtainCached(ctx, s)
	m.info.FromCache = err == nil && kept.Kept
	return kept, compileError(ctx, err)
}

func (r *Runtime) makeWithoutCache(ctx context.Context, s *source) (kept *codecache.Module, err error) {
	kept = &codecache.Module{}
	if kept.Plan, err = s.instrumented(); err != nil {
		return nil, err
	}
	if kept.Stub, err = wasmbin.Stub(kept.Plan.Wasm); err == nil {
		kept.Code, err = CompileCode(ctx, kept.Plan.Wasm, 1)
	}
	return kept, err
}

// compileOne compiles a module and returns what the engine made of it.
func compileOne(ctx context.Context, wasm []byte) (code Code, err error) {
	files := &codecache.Engine{Made: &Code{}}
	cache, err := files.Cache()
	if err != nil {
		return code, err
	}
	defer cache.Close(ctx)
	engine := wazero.NewRuntimeWithConfig(ctx, engineConfig(cache))
	defer engine.Close(ctx)
	if _, err = engine.CompileModule(ctx, wasm); err != nil {
		return code, err
	}
	packed, err := codecache.Pack(files.Made.Bytes)
	return Code{Name: files.Made.Name, Bytes: packed}, err
}

// compilesHere reports whether the engine has a compiler for this machine.
// Without one it interprets, and there is no machine code to be had.
func compilesHere() bool {
	return runtime.GOARCH == "amd64" || runtime.GOARCH == "arm64"
}
