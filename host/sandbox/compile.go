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
)

// compiled is what a compilation gives back.
type compiled struct {
	code      wazero.CompiledModule
	fromCache bool
	discarded bool
	err       error
}

// compile gets the machine code of an instrumented module. The compiler cannot
// be interrupted: when ctx ends first it runs on by itself, keeps its turn, and
// its result is dropped. It must not be given more than one worker, because a
// panic in one of wazero's workers ends the process.
func (m *Module) compile(ctx context.Context, wasm []byte) error {
	ctx, cancel := context.WithTimeoutCause(ctx, compileTimeout, errCompileTime)
	defer cancel()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	start := time.Now()
	done := make(chan compiled)
	if err := m.runtime.users.enter(); err != nil {
		return err
	}
	go func() {
		defer m.runtime.users.leave()
		c := m.runtime.build(ctx, wasm)
		select {
		case done <- c:
		case <-ctx.Done():
			c.drop()
		}
	}()
	select {
	case c := <-done:
		m.code, m.info.FromCache, m.info.CacheDiscarded = c.code, c.fromCache, c.discarded
		m.info.CompileTime = time.Since(start)
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

// build compiles on the calling goroutine: from the cache at once, otherwise
// somewhere else, or here when it is this compilation's turn.
func (r *Runtime) build(ctx context.Context, wasm []byte) (c compiled) {
	if r.cache == nil {
		c.code, c.err = r.compileTurn(ctx, wasm, func() {})
		return c
	}
	id := r.cache.identify(wasm)
	found, discarded := r.cache.fetch(id)
	c.discarded = discarded
	if found != nil {
		c.code, c.err = r.loadStaged(found, wasm)
		if c.err == nil {
			c.fromCache = true
			return c
		}
		r.cache.discard(id, c.err)
		c.discarded = true
	}
	if r.compiler != nil {
		c.code, c.err = r.compileElsewhere(ctx, id, wasm)
		return c
	}
	c.code, c.err = r.compileTurn(ctx, wasm, func() { r.cache.store(id) })
	return c
}

// compileElsewhere has the code made by the compiler of Options, keeps it and
// loads it.
func (r *Runtime) compileElsewhere(ctx context.Context, id codeID, wasm []byte) (wazero.CompiledModule, error) {
	code, err := r.fetchCode(ctx, wasm)
	if err != nil {
		return nil, err
	}
	r.cache.keepOrSay(id, code)
	if err := r.cache.put(code.Name, code.Bytes); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrCompile, err)
	}
	loaded, err := r.loadStaged(&stagedCode{r.cache, code.Name}, wasm)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrCompile, err)
	}
	return loaded, nil
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

// loadStaged loads verified code, and refuses when it is not that of the
// module: the engine would compile then, but for a context that is over, which
// it looks at before it compiles with several workers.
func (r *Runtime) loadStaged(s *stagedCode, wasm []byte) (wazero.CompiledModule, error) {
	defer s.release()
	ctx, cancel := context.WithCancelCause(experimental.WithCompilationWorkers(context.Background(), 2))
	cancel(errNotItsCode)
	return r.compileNow(ctx, wasm)
}

var errNotItsCode = errors.New("the code is of another module")

// compileTurn waits for its turn, compiles, and calls stored before the next
// compilation begins.
func (r *Runtime) compileTurn(ctx context.Context, wasm []byte, stored func()) (wazero.CompiledModule, error) {
	select {
	case r.compile <- struct{}{}:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	defer func() { <-r.compile }()
	code, err := r.compileNow(context.Background(), wasm)
	if isFileError(err) {
		// Only writing the code to the disk failed. wazero keeps it in memory,
		// and finds it there when asked again.
		r.log.Warn("compiled code was not kept", "error", err)
		code, err = r.compileNow(context.Background(), wasm)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrCompile, err)
	}
	stored()
	return code, nil
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
