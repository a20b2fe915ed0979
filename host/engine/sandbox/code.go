package sandbox

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"runtime"
	"time"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/experimental"

	"github.com/skillet-run/skillet/host/engine/sandbox/wasmbin"
)

// Code is the machine code of one instrumented module, good for this build of the
// program on this processor.
type Code struct {
	Name  string // what the engine calls it: 64 hexadecimal digits. It is that of the module's stub: see wasmbin.Stub
	Bytes []byte // compressed: see packedCode
}

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
	kept   *cachedModule
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
	code, _ := parsePackedCode(p.kept.code.Bytes)
	return int(code.size)
}

// Image is the module for another process. Nobody may change its slices.
func (p *Prepared) Image() (Image, error) {
	plan, err := p.kept.planText()
	return Image{p.module.sum[:], plan, p.kept.stub, p.kept.code}, err
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
	kept := &cachedModule{plan: &wasmbin.Instrumented{}, stub: i.Stub, code: i.Code}
	err := errors.Join(kept.readPlan(i.Plan), i.Code.check())
	if err != nil {
		return nil, fmt.Errorf("load image of %.19s: %w: %w", m.sum, ErrCompile, err)
	}
	m.describe(kept.plan)
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
func (m *Module) obtainCode(ctx context.Context, s *source) (*cachedModule, error) {
	r := m.runtime
	if s.kept != nil {
		m.info.FromCache = true
		return s.kept, nil
	}
	if r.cache == nil {
		return r.makeWithoutCache(ctx, s)
	}
	kept, err := r.obtainCached(ctx, s)
	m.info.FromCache = err == nil && kept.kept
	return kept, compileError(ctx, err)
}

func (r *Runtime) makeWithoutCache(ctx context.Context, s *source) (kept *cachedModule, err error) {
	kept = &cachedModule{}
	if kept.plan, err = s.instrumented(); err != nil {
		return nil, err
	}
	if kept.stub, err = wasmbin.Stub(kept.plan.Wasm); err == nil {
		kept.code, err = CompileCode(ctx, kept.plan.Wasm, 1)
	}
	return kept, err
}

// compileOne compiles a module and returns what the engine made of it.
func compileOne(ctx context.Context, wasm []byte) (code Code, err error) {
	files := &engineFiles{made: &Code{}}
	cache, err := files.cache()
	if err != nil {
		return code, err
	}
	defer cache.Close(ctx)
	engine := wazero.NewRuntimeWithConfig(ctx, engineConfig(cache))
	defer engine.Close(ctx)
	if _, err = engine.CompileModule(ctx, wasm); err != nil {
		return code, err
	}
	packed, err := packCode(files.made.Bytes)
	return Code{files.made.Name, packed}, err
}

// compilesHere reports whether the engine has a compiler for this machine.
// Without one it interprets, and there is no machine code to be had.
func compilesHere() bool {
	return runtime.GOARCH == "amd64" || runtime.GOARCH == "arm64"
}

var errCode = errors.New("the code is malformed")

// check tells code that the engine could not read without harm: it believes
// the counts in it. That the code does what its module says cannot be checked.
func (c Code) check() error {
	if !isCodeName(c.Name) {
		return fmt.Errorf("%w: its name is %q", errCode, c.Name)
	}
	if len(c.Bytes) > maxCodeFile {
		return fmt.Errorf("%w: it has %d bytes, more than %d", errCode, len(c.Bytes), maxCodeFile)
	}
	p, err := parsePackedCode(c.Bytes)
	if err != nil {
		return err
	}
	return p.check()
}

// codeReader walks through code as wazero's engine_cache.go writes it. Once
// something does not fit, nothing does.
type codeReader struct {
	left []byte
	ok   bool
}

const engineMagic = "WAZEVO"

// head is: magic, version, offsets of the functions, size of the machine code, which
// it returns.
func (r *codeReader) head() (size uint64) {
	r.ok = string(r.take(uint64(len(engineMagic)))) == engineMagic
	r.take(r.number(1))
	functions := r.list(r.number(4), 8)
	size = r.number(8)
	for ; len(functions) > 0; functions = functions[8:] {
		r.ok = r.ok && binary.LittleEndian.Uint64(functions) < size
	}
	return size
}

// tail is: checksum of the machine code, source map, catch clauses.
func (r *codeReader) tail() {
	r.take(4)
	if r.number(1) == 1 {
		r.list(r.number(8), 16)
	}
	for clauses := r.number(4); clauses > 0 && r.ok; clauses-- {
		r.list(r.number(4), 5)
	}
}

// take returns the next n bytes, or nil when there are fewer.
func (r *codeReader) take(n uint64) []byte {
	if !r.ok || n > uint64(len(r.left)) {
		r.ok = false
		return nil
	}
	b := r.left[:n]
	r.left = r.left[n:]
	return b
}

// list takes n elements of a size.
func (r *codeReader) list(n, size uint64) []byte {
	if n > uint64(len(r.left)) {
		r.ok = false
		return nil
	}
	return r.take(n * size)
}

// number takes a little-endian number of so many bytes; 0 when there is none.
func (r *codeReader) number(size uint64) (n uint64) {
	b := r.take(size)
	for i := len(b) - 1; i >= 0; i-- {
		n = n<<8 | uint64(b[i])
	}
	return n
}
