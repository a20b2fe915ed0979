package sandbox

import (
	"context"
	"errors"
	"fmt"
	"syscall"
	"time"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/experimental"

	"github.com/skillet-run/skillet/host/engine/sandbox/codecache"
	"github.com/skillet-run/skillet/host/engine/sandbox/wasmbin"
)

// A source is what a module is loaded from.
type source struct {
	id   codecache.ID
	wasm []byte                // as it was given
	made *wasmbin.Instrumented // of it; nil until it is needed
	most int                   // see Options.ModuleFactor
	// larger is Options.Larger.
	larger map[string]int
	kept   *codecache.Module // in place of that, or nil
}

// instrumented is the module as it is compiled.
func (s *source) instrumented() (*wasmbin.Instrumented, error) {
	if s.made != nil {
		return s.made, nil
	}
	err := contain(func() (err error) {
		s.made, err = wasmbin.Instrument(s.wasm, gateLimits(s.most), instrumentOptions())
		if factor := s.known(err); factor > s.most {
			s.made, err = wasmbin.Instrument(s.wasm, gateLimits(factor), instrumentOptions())
		}
		return err
	})
	if errors.Is(err, wasmbin.ErrTooLarge) {
		err = &ModuleLimitError{Needs: s.needs(), cause: err}
	}
	if err != nil {
		return nil, errors.Join(ErrRefused, err)
	}
	return s.made, nil
}

// known is how many times the usual limits a module may have for its code, of which
// the digest is known; 0 for all others.
func (s *source) known(err error) int {
	if !errors.Is(err, wasmbin.ErrTooLarge) || len(s.larger) == 0 {
		return 0
	}
	return s.larger[wasmbin.CodeDigest(s.wasm)]
}

// needs is the smallest ModuleFactor with which the gate would let the module
// through, or 0.
func (s *source) needs() int {
	accepted := func(factor int) bool {
		_, err := wasmbin.Inspect(s.wasm, gateLimits(factor))
		return err == nil
	}
	if !accepted(wasmbin.MaxFactor) {
		return 0
	}
	factor := s.most + 1
	for !accepted(factor) {
		factor++
	}
	return factor
}

// plan says what is known of the module, from what was kept if there is
// anything.
func (s *source) plan() (*wasmbin.Instrumented, error) {
	if s.kept != nil {
		return s.kept.Plan, nil
	}
	return s.instrumented()
}

// find looks for what was kept of a module. discarded says that it was of no
// use.
func (r *Runtime) find(wasm []byte, sum digest) (s *source, discarded bool) {
	s = &source{wasm: wasm, most: r.factor, larger: r.larger}
	if r.cache != nil && compilesHere() {
		s.id = codecache.Identify(sum.String(), fmt.Sprintf("%+v\x00%+v\x00%v", gateLimits(r.factor), instrumentOptions(), wasmbin.Features()))
		s.kept, discarded = r.cache.Fetch(s.id)
	}
	return s, discarded
}

// compile gets the machine code of a module: from what was kept, or from the
// compiler. Without a place for code it is compiled in memory.
func (m *Module) compile(ctx context.Context, s *source) error {
	start := time.Now()
	defer func() { m.info.CompileTime += time.Since(start) }()
	r := m.runtime
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case r.cache == nil || !compilesHere():
		return m.compileInMemory(ctx, s)
	case s.kept != nil && m.loadFound(s):
		return nil
	}
	kept, err := r.obtainCached(ctx, s)
	if err == nil {
		m.code, err = r.loadCached(kept)
		m.info.FromCache = err == nil && kept.Kept
	}
	return compileError(ctx, err)
}

// loadFound loads what was kept of a module. What cannot be loaded is discarded.
func (m *Module) loadFound(s *source) bool {
	var err error
	if m.code, err = m.runtime.loadCached(s.kept); err == nil {
		m.info.FromCache = true
		return true
	}
	m.runtime.cache.Discard(s.id, err)
	m.info.CacheDiscarded = true
	return false
}

func (m *Module) compileInMemory(ctx context.Context, s *source) error {
	made, err := s.instrumented()
	if err == nil {
		m.code, err = m.runtime.compileTurn(ctx, made.Wasm)
	}
	return err
}

// obtainCached compiles a module and caches its code, or waits for somebody who does
// that at the same time: in this process or, where there is a cache, in another one.
func (r *Runtime) obtainCached(ctx context.Context, s *source) (*codecache.Module, error) {
	return r.making.share(ctx, s.id.Digest, func() (*codecache.Module, error) {
		unlock := r.cache.Lock(ctx, s.id)
		defer unlock()
		if kept, _ := r.cache.Fetch(s.id); kept != nil {
			return kept, nil
		}
		made, err := s.instrumented()
		if err != nil {
			return nil, err
		}
		kept, err := r.produce(ctx, made)
		if err == nil {
			r.cache.Keep(s.id, kept)
		}
		return kept, err
	})
}

// compileError says of an error that the module was not compiled, unless it is
// the caller who gave up, or what is wrong with the module.
func compileError(ctx context.Context, err error) error {
	if err == nil || ctx.Err() != nil || errors.Is(err, ErrCompile) || errors.Is(err, ErrRefused) || errors.Is(err, ErrPanic) {
		return err
	}
	return fmt.Errorf("%w: %w", ErrCompile, err)
}

// produce makes what is kept of a module.
func (r *Runtime) produce(ctx context.Context, made *wasmbin.Instrumented) (k *codecache.Module, err error) {
	k = &codecache.Module{Plan: made}
	if k.Stub, err = wasmbin.Stub(made.Wasm); err != nil {
		return k, err
	}
	if skeleton, ok := wasmbin.Skeleton(made.Wasm); ok && r.cache.Keeps() {
		if err = r.share(ctx, k, skeleton); err == nil || ctx.Err() != nil {
			return k, err
		}
	}
	k.Shared = ""
	k.Code, err = r.makeCode(ctx, made.Wasm)
	return k, err
}

// share gives a module the code that others with the same skeleton have too. It
// is made of the skeleton, so that what else is in a module that was compiled
// before has no part in it, and kept in one file for all. Each module still has a
// name of its own, by which the engine knows whose code it is given.
func (r *Runtime) share(ctx context.Context, k *codecache.Module, skeleton []byte) error {
	id := codecache.IdentifyShared(skeleton)
	of, _ := r.cache.Fetch(id)
	if of == nil {
		code, err := r.makeCode(ctx, skeleton)
		if err != nil {
			return err
		}
		of = &codecache.Module{Plan: &wasmbin.Instrumented{Module: &wasmbin.Module{}}, Code: code}
		r.cache.Keep(id, of)
	}
	named, err := r.makeCode(ctx, k.Stub)
	k.Code, k.Shared = Code{Name: named.Name, Bytes: of.Code.Bytes}, id.Digest
	return err
}

// makeCode has code made: by the compiler of Options, or here when it is this
// compilation's turn.
func (r *Runtime) makeCode(ctx context.Context, wasm []byte) (code Code, err error) {
	if r.compiler != nil {
		return r.fetchCode(ctx, wasm)
	}
	return inTurn(ctx, r, func() (Code, error) { return CompileCode(context.Background(), wasm, 1) }, nil)
}

// fetchCode asks the compiler of Options, and looks at what it gives.
func (r *Runtime) fetchCode(ctx context.Context, wasm []byte) (Code, error) {
	code, err := r.compiler.Compile(ctx, wasm)
	if err == nil {
		err = code.Check()
	}
	if err != nil && !errors.Is(err, ErrCompile) {
		err = fmt.Errorf("%w: %w", ErrCompile, err)
	}
	return code, err
}

// loadCached loads verified code, and refuses when it is not that of the stub:
// the engine would compile then, but for a context that is over, which it looks
// at before it compiles with several workers.
//
// The same code is loaded by one at a time: the engine gives the second what the
// first has not finished, and ends the process when that is called.
func (r *Runtime) loadCached(k *codecache.Module) (wazero.CompiledModule, error) {
	given, err := r.engineFiles.Give(k.Code)
	if err != nil {
		return nil, err
	}
	defer r.engineFiles.Take(k.Code.Name)
	given.Load.Lock()
	defer given.Load.Unlock()
	ctx, cancel := context.WithCancelCause(experimental.WithCompilationWorkers(context.Background(), 2))
	cancel(errNotItsCode)
	return r.compileNow(ctx, k.Stub)
}

var errNotItsCode = errors.New("the code is of another module")

// inTurn makes something when no other compilation goes on in this process. The
// compiler cannot be interrupted: when ctx ends first, or the time of a
// compilation is over, it runs on by itself, keeps its turn, and what it made is
// dropped. It must not be given more than one worker, because a panic in one of
// the engine's workers ends the process.
func inTurn[T any](ctx context.Context, r *Runtime, do func() (T, error), drop func(T)) (made T, err error) {
	select {
	case r.compile <- struct{}{}:
	case <-ctx.Done():
		return made, context.Cause(ctx)
	}
	if err := r.users.enter(0); err != nil {
		<-r.compile
		return made, err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, r.compileTime, CompileTimeError(r.compileTime))
	defer cancel()
	type outcome struct {
		made T
		err  error
	}
	done := make(chan outcome)
	go func() {
		defer r.users.leave(0)
		defer func() { <-r.compile }()
		var o outcome
		o.err = contain(func() (err error) { o.made, err = do(); return err })
		select {
		case done <- o:
		case <-ctx.Done():
			if o.err == nil && drop != nil {
				drop(o.made)
			}
		}
	}()
	select {
	case o := <-done:
		return o.made, o.err
	case <-ctx.Done():
		return made, context.Cause(ctx)
	}
}

// CompileTimeError is the error of a compilation that has taken as long as it
// may. It is a [LimitError], in which errors.Is finds [ErrCompile] and
// context.DeadlineExceeded.
func CompileTimeError(most time.Duration) error {
	return &LimitError{What: "compilation time", Limit: most.String(), Setting: SettingCompileTime, kind: ErrCompile}
}

// The settings of a host that raise what no manifest does.
const (
	SettingCompileTime = "compile_timeout_seconds"
	SettingModules     = "module_limit_factor"
)

// compileTurn compiles into memory when it is this compilation's turn.
func (r *Runtime) compileTurn(ctx context.Context, wasm []byte) (wazero.CompiledModule, error) {
	return inTurn(ctx, r, func() (wazero.CompiledModule, error) {
		code, err := r.compileNow(context.Background(), wasm)
		if err != nil {
			err = fmt.Errorf("%w: %w", ErrCompile, err)
		}
		return code, err
	}, func(code wazero.CompiledModule) {
		_ = contain(func() error { return code.Close(context.Background()) })
	})
}

// isDiskError reports whether a disk is full, or cannot be written to.
func isDiskError(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) || errors.Is(err, syscall.EROFS)
}

// compileNow runs wazero's compiler, or lets it have what it was given. The context
// carries no listener, and no workers unless nothing is to be compiled.
func (r *Runtime) compileNow(ctx context.Context, wasm []byte) (code wazero.CompiledModule, err error) {
	err = contain(func() (err error) {
		code, err = r.engine.CompileModule(ctx, wasm)
		return err
	})
	return code, err
}
