package sandbox

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/experimental"

	"github.com/skillet-run/skillet/host/sandbox/wasmbin"
)

// A source is what a module is loaded from.
type source struct {
	id   codeID
	wasm []byte                // as it was given
	made *wasmbin.Instrumented // of it; nil until it is needed
	kept *keptModule           // in place of that, or nil
}

// instrumented is the module as it is compiled.
func (s *source) instrumented() (*wasmbin.Instrumented, error) {
	if s.made != nil {
		return s.made, nil
	}
	err := contain(func() (err error) {
		s.made, err = wasmbin.Instrument(s.wasm, gateLimits(), instrumentOptions())
		return err
	})
	if err != nil {
		return nil, errors.Join(ErrRefused, err)
	}
	return s.made, nil
}

// plan says what is known of the module, from what was kept if there is
// anything.
func (s *source) plan() (*wasmbin.Instrumented, error) {
	if s.kept != nil {
		return s.kept.plan, nil
	}
	return s.instrumented()
}

// find looks for what was kept of a module. discarded says that it was of no
// use.
func (r *Runtime) find(wasm []byte, sum digest, withCode bool) (s *source, discarded bool) {
	s = &source{wasm: wasm}
	if r.cache != nil && compilesHere() {
		s.id = r.cache.identify(sum)
		s.kept, discarded = r.cache.fetch(s.id, withCode)
	}
	return s, discarded
}

// compiled is what a compilation gives back.
type compiled struct {
	code      wazero.CompiledModule
	fromCache bool
	discarded bool
	err       error
}

// compile gets the machine code of a module. The compiler cannot be
// interrupted: when ctx ends first it runs on by itself, keeps its turn, and
// its result is dropped. It must not be given more than one worker, because a
// panic in one of wazero's workers ends the process.
func (m *Module) compile(ctx context.Context, s *source) error {
	ctx, cancel := context.WithTimeoutCause(ctx, compileTimeout, errCompileTime)
	defer cancel()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	start := time.Now()
	done := make(chan compiled)
	if err := m.runtime.users.enter(0); err != nil {
		return err
	}
	go func() {
		defer m.runtime.users.leave(0)
		c := m.runtime.build(ctx, s)
		select {
		case done <- c:
		case <-ctx.Done():
			c.drop()
		}
	}()
	select {
	case c := <-done:
		m.code, m.info.FromCache = c.code, c.fromCache
		m.info.CacheDiscarded = m.info.CacheDiscarded || c.discarded
		m.info.CompileTime += time.Since(start)
		return c.err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// drop frees code that nobody waited for.
func (c compiled) drop() {
	if c.err == nil {
		_ = contain(func() error { return c.code.Close(context.Background()) })
	}
}

// errCompileTime is the cause of a context that compileTimeout ended.
var errCompileTime = fmt.Errorf("%w: no code after %v: %w", ErrCompile, compileTimeout, context.DeadlineExceeded)

// build makes a module ready on the calling goroutine: at once from what was
// kept, otherwise with code that is compiled now.
func (r *Runtime) build(ctx context.Context, s *source) (c compiled) {
	if s.kept != nil {
		if c.code, c.err = r.loadKept(s.kept); c.err == nil {
			c.fromCache = true
			return c
		}
		r.cache.discard(s.id, c.err)
		c.discarded = true
	}
	made, err := s.instrumented()
	switch {
	case err != nil:
		c.err = err
	case r.cache == nil || !compilesHere():
		c.code, c.err = r.compileTurn(ctx, made.Wasm)
	default:
		c.code, c.err = r.compileAndKeep(ctx, s.id, made)
	}
	return c
}

// compileAndKeep has the code of a module made, keeps it and loads it. Where
// that fails for the disk alone, the module is compiled in memory, unless there
// is a compiler for that.
func (r *Runtime) compileAndKeep(ctx context.Context, id codeID, made *wasmbin.Instrumented) (wazero.CompiledModule, error) {
	kept, err := r.produce(ctx, made)
	if err == nil {
		r.cache.keepOrSay(id, kept)
		var loaded wazero.CompiledModule
		if loaded, err = r.loadKept(kept); err == nil {
			return loaded, nil
		}
	}
	if isFileError(err) && r.compiler == nil {
		r.log.Warn("compiled code was not kept", "error", err)
		return r.compileTurn(ctx, made.Wasm)
	}
	if ctx.Err() == nil && !errors.Is(err, ErrCompile) {
		err = fmt.Errorf("%w: %w", ErrCompile, err)
	}
	return nil, err
}

// produce makes what is kept of a module.
func (r *Runtime) produce(ctx context.Context, made *wasmbin.Instrumented) (k *keptModule, err error) {
	k = &keptModule{plan: made}
	if k.hull, err = wasmbin.Hull(made.Wasm); err != nil {
		return k, err
	}
	if skeleton, ok := wasmbin.Skeleton(made.Wasm); ok && !r.cache.temp {
		if k.code, err = r.share(ctx, skeleton, k.hull); err == nil || ctx.Err() != nil {
			return k, err
		}
	}
	k.code, err = r.makeCode(ctx, made.Wasm)
	return k, err
}

// share is the code of a module that others with the same skeleton have too. It
// is made of the skeleton, so that what else is in a module that was compiled
// before has no part in it. Each module still has a name of its own, by which
// the engine knows whose code it is given.
func (r *Runtime) share(ctx context.Context, skeleton, hull []byte) (Code, error) {
	id := r.cache.identifyShared(skeleton)
	kept, _ := r.cache.fetch(id, true)
	if kept == nil {
		code, err := r.makeCode(ctx, skeleton)
		if err != nil {
			return code, err
		}
		kept = &keptModule{plan: &wasmbin.Instrumented{Module: &wasmbin.Module{}}, code: code}
		r.cache.keepOrSay(id, kept)
	}
	named, err := r.makeCode(ctx, hull)
	return Code{named.Name, kept.code.Bytes}, err
}

// makeCode has code made: by the compiler of Options, or here when it is this
// compilation's turn.
func (r *Runtime) makeCode(ctx context.Context, wasm []byte) (code Code, err error) {
	if r.compiler != nil {
		return r.fetchCode(ctx, wasm)
	}
	err = r.inTurn(ctx, func() (err error) {
		code, err = CompileCode(context.Background(), wasm, 1)
		return err
	})
	return code, err
}

// fetchCode asks the compiler of Options, and looks at what it gives.
func (r *Runtime) fetchCode(ctx context.Context, wasm []byte) (Code, error) {
	code, err := r.compiler.Compile(ctx, wasm)
	if err == nil {
		err = code.check()
	}
	if err != nil && !errors.Is(err, ErrCompile) {
		err = fmt.Errorf("%w: %w", ErrCompile, err)
	}
	return code, err
}

// loadKept loads verified code, and refuses when it is not that of the hull:
// the engine would compile then, but for a context that is over, which it looks
// at before it compiles with several workers.
func (r *Runtime) loadKept(k *keptModule) (wazero.CompiledModule, error) {
	if err := r.cache.put(k); err != nil {
		return nil, err
	}
	defer r.cache.release(k.code.Name)
	ctx, cancel := context.WithCancelCause(experimental.WithCompilationWorkers(context.Background(), 2))
	cancel(errNotItsCode)
	return r.compileNow(ctx, k.hull)
}

var errNotItsCode = errors.New("the code is of another module")

// inTurn does something when no other compilation goes on.
func (r *Runtime) inTurn(ctx context.Context, do func() error) error {
	select {
	case r.compile <- struct{}{}:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	defer func() { <-r.compile }()
	return do()
}

// compileTurn compiles into memory when it is this compilation's turn.
func (r *Runtime) compileTurn(ctx context.Context, wasm []byte) (code wazero.CompiledModule, err error) {
	err = r.inTurn(ctx, func() (err error) {
		code, err = r.compileNow(context.Background(), wasm)
		if isFileError(err) {
			// Only writing the code to the disk failed. wazero keeps it in memory,
			// and finds it there when asked again.
			code, err = r.compileNow(context.Background(), wasm)
		}
		if r.cache != nil {
			r.cache.forget()
		}
		if err != nil {
			err = fmt.Errorf("%w: %w", ErrCompile, err)
		}
		return err
	})
	return code, err
}

// isFileError reports whether err comes from the operating system's files.
func isFileError(err error) bool {
	var path *fs.PathError
	var link *os.LinkError
	return errors.As(err, &path) || errors.As(err, &link)
}

// compileNow runs wazero's compiler, or has it read staged code. The context
// carries no listener, and no workers unless nothing is to be compiled.
func (r *Runtime) compileNow(ctx context.Context, wasm []byte) (code wazero.CompiledModule, err error) {
	err = contain(func() (err error) {
		code, err = r.engine.CompileModule(ctx, wasm)
		return err
	})
	return code, err
}
