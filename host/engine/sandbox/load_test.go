package sandbox_test

import (
	"context"
	"fmt"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/skillet-run/skillet/host/engine/sandbox"
)

// atOnce does something in so many goroutines, which begin together.
func atOnce(n int, do func(i int)) {
	var all sync.WaitGroup
	begin := make(chan struct{})
	for i := range n {
		all.Go(func() {
			<-begin
			do(i)
		})
	}
	close(begin)
	all.Wait()
}

// TestLoadsAtOnce loads a module whose code is kept from several goroutines, and
// calls what each of them got.
func TestLoadsAtOnce(t *testing.T) {
	t.Parallel()
	o := sandbox.Options{CacheDir: filepath.Join(t.TempDir(), "c"), CacheKey: []byte("key")}
	loadIn(t, newRuntime(t, o), answers(3))
	for range 100 {
		r := newRuntime(t, o)
		atOnce(4, func(int) {
			m, err := r.Load(t.Context(), answers(3))
			if err != nil {
				t.Error(err)
				return
			}
			if got, err := m.Call(t.Context(), sandbox.Call{Export: "run"}); got.ExitCode != 3 {
				t.Errorf("answer %d, %v", got.ExitCode, err)
			}
		})
		if err := r.Close(context.Background()); err != nil {
			t.Fatal(err)
		}
	}
}

// TestLoadsOfSeveralAtOnce loads and closes different modules while they are
// called, of runtimes that share a directory: nobody gets the code of another.
func TestLoadsOfSeveralAtOnce(t *testing.T) {
	t.Parallel()
	o := sandbox.Options{CacheDir: filepath.Join(t.TempDir(), "c"), CacheKey: []byte("key")}
	runtimes := []*sandbox.Runtime{newRuntime(t, o), newRuntime(t, o)}
	atOnce(16, func(i int) {
		for round := range 20 {
			want := int32((i + round) % 5)
			m, err := runtimes[i%2].Load(t.Context(), answers(want))
			if err != nil {
				t.Error(err)
				return
			}
			if got, err := m.Call(t.Context(), sandbox.Call{Export: "run"}); got.ExitCode != uint32(want) {
				t.Errorf("answer %d, want %d: %v", got.ExitCode, want, err)
			}
			if err := m.Close(t.Context()); err != nil {
				t.Error(err)
			}
		}
	})
}

// TestCompiledOnce has everybody who loads the same module at the same time wait
// for one compilation, in one runtime, in several that share a directory, and
// where nothing can be kept.
func TestCompiledOnce(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ runtimes, loads int }{{1, 16}, {8, 2}} {
		for _, prepare := range []bool{false, true} {
			t.Run(fmt.Sprintf("%d runtimes, prepare %v", c.runtimes, prepare), func(t *testing.T) {
				var compiled atomic.Int32
				o := sandbox.Options{CacheDir: filepath.Join(t.TempDir(), "c"), Compiler: compilerFunc(func(ctx context.Context, wasm []byte) (sandbox.Code, error) {
					compiled.Add(1)
					return sandbox.CompileCode(ctx, wasm, 1)
				})}
				var all []*sandbox.Runtime
				for range c.runtimes {
					all = append(all, newRuntime(t, o))
				}
				atOnce(c.runtimes*c.loads, func(i int) {
					var err error
					if r := all[i%len(all)]; prepare {
						_, err = r.Prepare(t.Context(), echo())
					} else {
						_, err = r.Load(t.Context(), echo())
					}
					if err != nil {
						t.Error(err)
					}
				})
				if n := compiled.Load(); n != 1 {
					t.Errorf("compiled %d times", n)
				}
				if left, _ := filepath.Glob(filepath.Join(o.CacheDir, "*", "*.lock")); len(left) != 0 {
					t.Errorf("locks are left: %v", left)
				}
			})
		}
	}
}

// TestLoadGivenUp has those who wait for a compilation go on when the one who began
// it gives up.
func TestLoadGivenUp(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	var compiled atomic.Int32
	began := make(chan struct{})
	r := newRuntime(t, sandbox.Options{Compiler: compilerFunc(func(ctx context.Context, wasm []byte) (sandbox.Code, error) {
		if compiled.Add(1) == 1 {
			close(began)
			<-ctx.Done()
			return sandbox.Code{}, ctx.Err()
		}
		return sandbox.CompileCode(ctx, wasm, 1)
	})})
	first := make(chan error)
	go func() {
		_, err := r.Load(ctx, echo())
		first <- err
	}()
	<-began
	var others sync.WaitGroup
	for range 4 {
		others.Go(func() {
			if _, err := r.Load(t.Context(), echo()); err != nil {
				t.Error(err)
			}
		})
	}
	cancel()
	if err := <-first; err == nil {
		t.Error("the load that was cancelled did not fail")
	}
	others.Wait()
}
