package sandbox_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/skillet-run/skillet/host/engine/sandbox"
)

// compilerFunc is a function as a compiler.
type compilerFunc func(ctx context.Context, wasm []byte) (sandbox.Code, error)

func (f compilerFunc) Compile(ctx context.Context, wasm []byte) (sandbox.Code, error) {
	return f(ctx, wasm)
}

// counting compiles with two workers, and counts how often.
func counting(n *int) compilerFunc {
	return func(ctx context.Context, wasm []byte) (sandbox.Code, error) {
		*n++
		return sandbox.CompileCode(ctx, wasm, 2)
	}
}

// TestCompiler loads code that was compiled elsewhere, from then on out of the
// cache if there is one.
func TestCompiler(t *testing.T) {
	t.Parallel()
	for _, dir := range []string{"", filepath.Join(t.TempDir(), "c")} {
		asked := 0
		for turn := range 2 {
			r := newRuntime(t, sandbox.Options{CacheDir: dir, CacheKey: []byte("key"), Compiler: counting(&asked)})
			m := loadIn(t, r, echo())
			wantCached(t, dir, m.Info(), dir != "" && turn > 0, false)
			if got := mustCall(t, m, sandbox.Call{Input: []byte("hello")}); string(got.Output) != "hello" {
				t.Errorf("output %q", got.Output)
			}
		}
		if want := map[bool]int{true: 2, false: 1}[dir == ""]; asked != want {
			t.Errorf("cache %q: compiled %d times, want %d", dir, asked, want)
		}
	}
}

// TestCompilerFails gives the runtime everything but the code of the module:
// that Load fails, nothing is compiled here, and the next one works.
func TestCompilerFails(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	broken := errors.New("the other process is gone")
	other := mustCompile(t, 100)
	spoil := func(change func(c *sandbox.Code)) compilerFunc {
		return func(ctx context.Context, wasm []byte) (sandbox.Code, error) {
			c, err := sandbox.CompileCode(ctx, wasm, 1)
			change(&c)
			return c, err
		}
	}
	for name, compiler := range map[string]compilerFunc{
		"error":                func(context.Context, []byte) (sandbox.Code, error) { return sandbox.Code{}, broken },
		"nothing":              func(context.Context, []byte) (sandbox.Code, error) { return sandbox.Code{}, nil },
		"other module":         func(context.Context, []byte) (sandbox.Code, error) { return other, nil },
		"name of another":      spoil(func(c *sandbox.Code) { c.Name = other.Name }),
		"name that leads away": spoil(func(c *sandbox.Code) { c.Name = "../" + c.Name[3:] }),
		"torn":                 spoil(func(c *sandbox.Code) { c.Bytes = c.Bytes[:len(c.Bytes)-5] }),
		"longer":               spoil(func(c *sandbox.Code) { c.Bytes = append(c.Bytes, 0) }),
		"function count":       spoil(func(c *sandbox.Code) { copy(c.Bytes[16+7+int(c.Bytes[16+6]):], "\xff\xff\xff\xff") }),
		"flipped bit":          spoil(func(c *sandbox.Code) { c.Bytes[len(c.Bytes)-20] ^= 1 }),
		"another size":         spoil(func(c *sandbox.Code) { c.Bytes[0]++ }),
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "c")
			r := newRuntime(t, sandbox.Options{CacheDir: dir, Compiler: compiler})
			_, err := r.Load(ctx, answers(41))
			if !errors.Is(err, sandbox.ErrCompile) {
				t.Errorf("load: %v", err)
			}
			if name == "error" && !errors.Is(err, broken) {
				t.Errorf("load: %v does not wrap the compiler's error", err)
			}
			asked := 0
			r = newRuntime(t, sandbox.Options{CacheDir: dir, Compiler: counting(&asked)})
			if got, _ := call(t, loadIn(t, r, answers(41)), sandbox.Call{}); got.ExitCode != 41 || asked != 1 {
				t.Errorf("after that: answer %d, compiled %d times", got.ExitCode, asked)
			}
		})
	}
}

// TestCompilerCancelled ends a load with its context, and leaves it to the
// compiler to end.
func TestCompilerCancelled(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	r := newRuntime(t, sandbox.Options{Compiler: compilerFunc(func(ctx context.Context, _ []byte) (sandbox.Code, error) {
		cancel()
		<-ctx.Done()
		return sandbox.Code{}, ctx.Err()
	})})
	if _, err := r.Load(ctx, answers(41)); !errors.Is(err, context.Canceled) {
		t.Errorf("load: %v", err)
	}
}

// TestCompileCode is the same whoever compiles, and leaves nothing behind.
func TestCompileCode(t *testing.T) {
	wasm := echo()
	t.Setenv("TMPDIR", t.TempDir())
	one, err := sandbox.CompileCode(t.Context(), wasm, 1)
	if err != nil {
		t.Fatal(err)
	}
	two, err := sandbox.CompileCode(t.Context(), wasm, 2)
	if err != nil || one.Name != two.Name || !bytes.Equal(one.Bytes, two.Bytes) {
		t.Errorf("two workers make other code: %v", err)
	}
	if left, _ := os.ReadDir(os.TempDir()); len(left) != 0 {
		t.Errorf("files are left: %v", left)
	}
	if _, err := sandbox.CompileCode(t.Context(), []byte("\x00asm\x01\x00\x00\x00junk"), 2); !errors.Is(err, sandbox.ErrCompile) {
		t.Errorf("junk: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := sandbox.CompileCode(ctx, wasm, 2); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

// mustCompile is the code of answers(n), as it is before instrumentation.
func mustCompile(t *testing.T, n int32) sandbox.Code {
	t.Helper()
	c, err := sandbox.CompileCode(t.Context(), answers(n), 1)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestNoTemporaryCode writes nothing where nothing is to be kept.
func TestNoTemporaryCode(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	asked := 0
	r := newRuntime(t, sandbox.Options{Compiler: counting(&asked)})
	if got, _ := call(t, loadIn(t, r, answers(41)), sandbox.Call{}); got.ExitCode != 41 || asked != 1 {
		t.Errorf("answer %d, compiled %d times", got.ExitCode, asked)
	}
	if left, err := os.ReadDir(os.TempDir()); err != nil || len(left) != 0 {
		t.Errorf("left: %v, %v", left, err)
	}
}
