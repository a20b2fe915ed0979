package conformance

import (
	"context"
	"errors"
	"os"
	"sync"
	"testing"

	"github.com/skillet-run/skillet/host/base/fault"
	"github.com/skillet-run/skillet/internal/reexec"

	"github.com/hashicorp/go-hclog"

	"github.com/skillet-run/skillet/host/author/script"
	"github.com/skillet-run/skillet/host/engine/sandbox"
	"github.com/skillet-run/skillet/host/engine/sandbox/worker"
	"github.com/skillet-run/skillet/host/run/hostfn"
)

// builder runs what scripts are built with, and keeps what it has loaded.
type builder struct {
	*worker.Pool
	runtime *sandbox.Runtime
	mu      sync.Mutex
	loaded  map[string]*sandbox.Module
}

// shared is the builder of all tests: an interpreter takes a second to compile.
var shared = sync.OnceValues(func() (*builder, error) {
	rt, err := sandbox.New(context.Background(), hclog.NewNullLogger(), sandbox.Options{Functions: hostfn.Functions(), CacheDir: os.Getenv("TEST_CODE_CACHE")})
	if err != nil {
		return nil, err
	}
	pool, err := worker.NewPool(hclog.NewNullLogger(), worker.Settings{})
	return &builder{Pool: pool, runtime: rt, loaded: map[string]*sandbox.Module{}}, err
})

// Run has a module run one of its exports.
func (b *builder) Run(ctx context.Context, wasm []byte, c sandbox.Call) (sandbox.Result, error) {
	m, err := b.module(ctx, wasm)
	if err != nil {
		return sandbox.Result{}, err
	}
	c.Env = hostfn.NewEnv(hostfn.Settings{})
	return m.Call(ctx, c)
}

func (b *builder) module(ctx context.Context, wasm []byte) (*sandbox.Module, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if m, ok := b.loaded[string(wasm)]; ok {
		return m, nil
	}
	m, err := b.runtime.Load(ctx, wasm)
	if err == nil {
		b.loaded[string(wasm)] = m
	}
	return m, err
}

// engines are the modules of interpreters, each made once.
var engines = map[string]func() ([]byte, error){
	"qjs":    sync.OnceValues(func() ([]byte, error) { return makeEngine("qjs") }),
	"python": sync.OnceValues(func() ([]byte, error) { return makeEngine("python") }),
}

// TestMain runs the tests, or is one of the processes that bundle for them.
func TestMain(m *testing.M) {
	if reexec.Bundler.Is(os.Args) {
		os.Exit(script.RunBundler(nil))
	}
	os.Exit(m.Run())
}

// makeEngine makes an interpreter of what npm's cache or the registry has.
func makeEngine(name string) ([]byte, error) {
	b, err := shared()
	if err != nil {
		return nil, err
	}
	in, _ := script.Find(name)
	files, err := script.Engine(context.Background(), b, script.NewRegistries(hclog.NewNullLogger(), os.Getenv, ""), in)
	return files[script.ModuleFile], err
}

// interpreter is the module of one, or the test is skipped: without the network and without npm's cache there is none.
func interpreter(t testing.TB, name string) []byte {
	t.Helper()
	wasm, err := engines[name]()
	var e *fault.Error
	if errors.As(err, &e) && e.Kind == fault.KindNotFound {
		t.Skipf("no interpreter: %v", err)
	}
	must(t, err)
	return wasm
}

// build makes the module of a script.
func (l language) build(t testing.TB, dir string) []byte {
	t.Helper()
	b, err := shared()
	must(t, err)
	in, _ := script.Find(l.script)
	wasm, err := script.Build(t.Context(), b, in, interpreter(t, l.script), script.Source{Files: os.DirFS(dir), Main: l.main})
	must(t, err)
	return wasm
}
