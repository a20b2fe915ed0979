package sandbox

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"time"

	"github.com/tetratelabs/wazero"
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
	ctx, cancel := context.WithTimeout(ctx, compileTimeout)
	defer cancel()
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

// build compiles on the calling goroutine: from the cache at once, otherwise
// when it is this compilation's turn.
func (r *Runtime) build(ctx context.Context, wasm []byte) (c compiled) {
	if r.cache == nil {
		c.code, c.err = r.compileTurn(ctx, wasm, func() {})
		return c
	}
	id := r.cache.identify(wasm)
	found, discarded := r.cache.fetch(id)
	c.discarded = discarded
	if found != nil {
		c.code, c.err = r.compileNow(wasm)
		found.release()
		if c.err == nil {
			c.fromCache = true
			return c
		}
		r.cache.discard(id, c.err)
		c.discarded = true
	}
	c.code, c.err = r.compileTurn(ctx, wasm, func() { r.cache.store(id) })
	return c
}

// compileTurn waits for its turn, compiles, and calls stored before the next
// compilation begins.
func (r *Runtime) compileTurn(ctx context.Context, wasm []byte, stored func()) (wazero.CompiledModule, error) {
	select {
	case r.compile <- struct{}{}:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	defer func() { <-r.compile }()
	code, err := r.compileNow(wasm)
	if isFileError(err) {
		// Only writing the code to the disk failed. wazero keeps it in memory,
		// and finds it there when asked again.
		r.log.Warn("compiled code was not kept", "error", err)
		code, err = r.compileNow(wasm)
	}
	if err == nil {
		stored()
	}
	return code, err
}

// isFileError reports whether err comes from the operating system's files.
func isFileError(err error) bool {
	var path *fs.PathError
	var link *os.LinkError
	return errors.As(err, &path) || errors.As(err, &link)
}

// compileNow runs wazero's compiler. The context carries nothing: no listener
// and no workers.
func (r *Runtime) compileNow(wasm []byte) (code wazero.CompiledModule, err error) {
	err = contain(func() (err error) {
		code, err = r.engine.CompileModule(context.Background(), wasm)
		return err
	})
	return code, err
}
