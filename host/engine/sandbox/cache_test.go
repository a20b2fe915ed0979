package sandbox_test

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/tetratelabs/wazero"

	"github.com/skillet-run/skillet/host/engine/sandbox"
	w "github.com/skillet-run/skillet/host/engine/sandbox/wasmbin/wasmtest"
)

// answers is a module whose export returns a number.
func answers(n int32) []byte {
	m := w.New()
	m.ExportFunc("run", m.Func(w.Sig("", "i32"), "", w.I32Const(n)))
	return m.Bytes()
}

// cached loads a module with a cache and returns what it is and answers.
func cached(t *testing.T, dir string, key, wasm []byte) (sandbox.Info, uint32) {
	t.Helper()
	r, err := sandbox.New(t.Context(), hclog.NewNullLogger(), sandbox.Options{CacheDir: dir, CacheKey: key})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := r.Close(context.Background()); err != nil {
			t.Error(err)
		}
	}()
	m := loadIn(t, r, wasm)
	result, _ := call(t, m, sandbox.Call{})
	return m.Info(), result.ExitCode
}

// wantCached checks what one load did.
func wantCached(t *testing.T, what string, info sandbox.Info, fromCache, discarded bool) {
	t.Helper()
	if info.FromCache != fromCache || info.CacheDiscarded != discarded {
		t.Errorf("%s: from cache %v, discarded %v; want %v, %v", what, info.FromCache, info.CacheDiscarded, fromCache, discarded)
	}
}

// TestKeptIsTheSame loads modules that were compiled and the same out of the
// cache: nothing tells them apart.
func TestKeptIsTheSame(t *testing.T) {
	if testing.Short() {
		t.Skip("it is long, and nothing in it is concurrent")
	}
	t.Parallel()
	o := sandbox.Options{CacheDir: filepath.Join(t.TempDir(), "c"), Functions: extismFunctions()}
	var list [][]byte
	for _, l := range leftovers() {
		list = append(list, l.wasm)
	}
	for seed := range uint64(30) {
		list = append(list, w.Random(rand.New(rand.NewPCG(seed, 5))))
	}
	first, second := newRuntime(t, o), newRuntime(t, o)
	for i, wasm := range list {
		fresh, kept := loadIn(t, first, wasm), loadIn(t, second, wasm)
		wantCached(t, "again", kept.Info(), true, false)
		a, b := fresh.Info(), kept.Info()
		a.CompileTime, b.CompileTime, a.FromCache, b.FromCache = 0, 0, false, false
		if !reflect.DeepEqual(a, b) {
			t.Errorf("module %d: compiled %+v, kept %+v", i, a, b)
		}
		for range 3 {
			want := outcomeOf(fresh.Call(t.Context(), sandbox.Call{Export: "run", Limits: sandbox.Limits{Fuel: 3_000_000}}))
			got := outcomeOf(kept.Call(t.Context(), sandbox.Call{Export: "run", Limits: sandbox.Limits{Fuel: 3_000_000}}))
			if got != want {
				t.Errorf("module %d: compiled %.300v\nkept %.300v", i, want, got)
			}
		}
	}
}

// kept lists the files of compiled code below a directory.
func kept(t *testing.T, dir string) (paths []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if strings.HasSuffix(path, ".code") {
			paths = append(paths, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return paths
}

func TestCache(t *testing.T) {
	t.Parallel()
	for _, key := range [][]byte{nil, []byte("key of this home")} {
		dir := filepath.Join(t.TempDir(), "made", "with [odd] name")
		info, n := cached(t, dir, key, answers(41))
		wantCached(t, "cold", info, false, false)
		info, m := cached(t, dir, key, answers(41))
		wantCached(t, "warm", info, true, false)
		if n != 41 || m != 41 {
			t.Errorf("answers %d and %d", n, m)
		}
		st, err := os.Stat(dir)
		if err != nil || st.Mode().Perm() != 0o700 {
			t.Errorf("directory: %v, %v", st.Mode(), err)
		}
		if all, err := os.ReadDir(dir); err != nil || len(all) != 1 || !strings.HasPrefix(all[0].Name(), "packed-") {
			t.Errorf("the directory has %v, %v", all, err)
		}
	}
}

// TestCacheDamage alters the kept file in every way there is: each time the
// module is compiled anew and answers right.
func TestCacheDamage(t *testing.T) {
	t.Parallel()
	key := []byte("key")
	damage := map[string]func(t *testing.T, path string, b []byte){
		"torn":      func(t *testing.T, path string, b []byte) { rewrite(t, path, b[:len(b)/2]) },
		"empty":     func(t *testing.T, path string, b []byte) { rewrite(t, path, nil) },
		"longer":    func(t *testing.T, path string, b []byte) { rewrite(t, path, append(b, 0)) },
		"first bit": func(t *testing.T, path string, b []byte) { rewrite(t, path, flip(b, 0)) },
		"seal":      func(t *testing.T, path string, b []byte) { rewrite(t, path, flip(b, 20)) },
		"name":      func(t *testing.T, path string, b []byte) { rewrite(t, path, flip(b, 60)) },
		"code":      func(t *testing.T, path string, b []byte) { rewrite(t, path, flip(b, len(b)-1)) },
		"directory": func(t *testing.T, path string, _ []byte) {
			os.Remove(path)
			writeFile(t, filepath.Join(path, "x"), "x")
		},
		"link": func(t *testing.T, path string, b []byte) {
			writeFile(t, path+".elsewhere", string(b))
			os.Remove(path)
			if err := os.Symlink(path+".elsewhere", path); err != nil {
				t.Fatal(err)
			}
		},
	}
	for name, spoil := range damage {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(t.TempDir(), "c")
			cached(t, dir, key, answers(41))
			path := kept(t, dir)[0]
			b, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			spoil(t, path, b)
			info, n := cached(t, dir, key, answers(41))
			wantCached(t, "damaged", info, false, true)
			if n != 41 {
				t.Errorf("answer %d", n)
			}
			info, _ = cached(t, dir, key, answers(41))
			wantCached(t, "after that", info, true, false)
		})
	}
}

func rewrite(t *testing.T, path string, b []byte) {
	t.Helper()
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
}

// flip returns b with one bit of the byte at i changed.
func flip(b []byte, i int) []byte {
	b = bytes.Clone(b)
	b[i] ^= 1
	return b
}

// TestCacheKey compiles anew what another key has sealed.
func TestCacheKey(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "c")
	cached(t, dir, []byte("theirs"), answers(41))
	info, _ := cached(t, dir, []byte("ours"), answers(41))
	wantCached(t, "another key", info, false, true)
	info, _ = cached(t, dir, nil, answers(41))
	wantCached(t, "no key", info, false, true)
}

// TestCacheDirectory refuses directories that others can write to.
func TestCacheDirectory(t *testing.T) {
	t.Parallel()
	base := t.TempDir()
	open, file, link := filepath.Join(base, "open"), filepath.Join(base, "file"), filepath.Join(base, "link")
	if err := errors.Join(os.Mkdir(open, 0o700), os.Chmod(open, 0o750), os.WriteFile(file, nil, 0o600), os.Symlink(t.TempDir(), link)); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{open, link} {
		_, err := sandbox.New(t.Context(), hclog.NewNullLogger(), sandbox.Options{CacheDir: dir})
		if !errors.Is(err, sandbox.ErrCacheDir) {
			t.Errorf("%s: %v", dir, err)
		}
	}
	if _, err := sandbox.New(t.Context(), hclog.NewNullLogger(), sandbox.Options{CacheDir: file}); err == nil {
		t.Error("a file was taken for a directory")
	}
}

// TestCacheLost works on when the directory cannot be written to any more.
func TestCacheLost(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "c")
	r := newRuntime(t, sandbox.Options{CacheDir: dir})
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	r2, _ := call(t, loadIn(t, r, answers(41)), sandbox.Call{})
	if r2.ExitCode != 41 {
		t.Errorf("answer %d", r2.ExitCode)
	}
}

// TestCacheShared has two processes' worth of runtimes on one directory.
func TestCacheShared(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "c")
	a, b := newRuntime(t, sandbox.Options{CacheDir: dir}), newRuntime(t, sandbox.Options{CacheDir: dir})
	wantCached(t, "first", loadIn(t, a, answers(41)).Info(), false, false)
	wantCached(t, "second", loadIn(t, b, answers(41)).Info(), true, false)
}

// stockCached runs a module with wazero's own cache.
func stockCached(t *testing.T, dir string, wasm []byte) (uint64, error) {
	t.Helper()
	ctx := t.Context()
	cache, err := wazero.NewCompilationCacheWithDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer cache.Close(ctx)
	r := wazero.NewRuntimeWithConfig(ctx, wazero.NewRuntimeConfig().WithCompilationCache(cache))
	defer r.Close(ctx)
	mod, err := r.Instantiate(ctx, wasm)
	if err != nil {
		return 0, err
	}
	results, err := mod.ExportedFunction("run").Call(ctx)
	if err != nil {
		return 0, err
	}
	return results[0], nil
}

// stockFile is the file that wazero keeps in a directory.
func stockFile(t *testing.T, dir string) string {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(dir, "wazero-*", "*"))
	if err != nil || len(paths) != 1 {
		t.Fatalf("files of wazero: %v, %v", paths, err)
	}
	return paths[0]
}

// TestHoleCache shows wazero run the code of another module that was put in
// place of the right one, and give up on a torn file. Ours runs neither.
func TestHoleCache(t *testing.T) {
	t.Parallel()
	right, evil := t.TempDir(), t.TempDir()
	for dir, wasm := range map[string][]byte{right: answers(41), evil: answers(100)} {
		if _, err := stockCached(t, dir, wasm); err != nil {
			t.Fatal(err)
		}
	}
	code, err := os.ReadFile(stockFile(t, evil))
	if err != nil {
		t.Fatal(err)
	}
	rewrite(t, stockFile(t, right), code)
	if n, err := stockCached(t, right, answers(41)); n != 100 {
		t.Errorf("wazero alone checks whose code it is: %d, %v", n, err)
	}
	rewrite(t, stockFile(t, right), code[:len(code)/2])
	if n, err := stockCached(t, right, answers(41)); err == nil {
		t.Errorf("wazero alone compiles anew: %d", n)
	}

	ours, theirs := filepath.Join(t.TempDir(), "c"), filepath.Join(t.TempDir(), "c")
	cached(t, ours, nil, answers(41))
	cached(t, theirs, nil, answers(100))
	if code, err = os.ReadFile(kept(t, theirs)[0]); err != nil {
		t.Fatal(err)
	}
	rewrite(t, kept(t, ours)[0], code)
	info, n := cached(t, ours, nil, answers(41))
	wantCached(t, "code of another module", info, false, true)
	if n != 41 {
		t.Errorf("ours: answer %d", n)
	}
}

// TestFormerCache removes what former versions kept, and leaves what one of them is
// working with.
func TestFormerCache(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	held, err := os.Create(filepath.Join(mkdir(t, dir, "stage-held"), "lock"))
	if err != nil {
		t.Fatal(err)
	}
	defer held.Close()
	if !sandbox.TryLock(held) {
		t.Skip("there are no locks here")
	}
	writeFile(t, filepath.Join(mkdir(t, dir, "stage-left"), "lock"), "")
	writeFile(t, filepath.Join(mkdir(t, dir, "kept-742c2a03a56b"), strings.Repeat("ab", 32)+".code"), "code")
	writeFile(t, filepath.Join(dir, "notes"), "of a person")
	info, n := cached(t, dir, []byte("key"), answers(41))
	wantCached(t, "after an upgrade", info, false, false)
	var names []string
	all, err := os.ReadDir(dir)
	for _, e := range all {
		names = append(names, e.Name())
	}
	if err != nil || n != 41 || len(names) != 3 || names[0] != "notes" || !strings.HasPrefix(names[1], "packed-") || names[2] != "stage-held" {
		t.Errorf("answer %d, left: %v, %v", n, names, err)
	}
}

// TestCacheInterrupted leaves what a process was writing when it was killed alone while it may
// still be written, and removes it later.
func TestCacheInterrupted(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "c")
	cached(t, dir, nil, answers(41))
	path := kept(t, dir)[0]
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	now, old := filepath.Join(filepath.Dir(path), "new-1"), filepath.Join(filepath.Dir(path), "new-2")
	for _, p := range []string{now, old} {
		writeFile(t, p, string(b[:len(b)/2]))
	}
	before := time.Now().Add(-2 * time.Hour)
	if err := errors.Join(os.Chtimes(old, before, before), os.Remove(path)); err != nil {
		t.Fatal(err)
	}
	info, n := cached(t, dir, nil, answers(41))
	wantCached(t, "never finished", info, false, false)
	info, _ = cached(t, dir, nil, answers(41))
	wantCached(t, "written again", info, true, false)
	_, nowErr := os.Stat(now)
	if _, err := os.Stat(old); n != 41 || nowErr != nil || !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("answer %d; the new one: %v, the old one: %v", n, nowErr, err)
	}
}

// mkdir makes a directory in another one.
func mkdir(t *testing.T, dir, name string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.Mkdir(path, 0o700); err != nil {
		t.Fatal(err)
	}
	return path
}
