package toolchain_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/skillet-run/skillet/host/base/fault"

	"github.com/skillet-run/skillet/host/author/toolchain"
)

// constant makes the same module of every script.
type constant struct{}

func (constant) Script(context.Context, toolchain.Project) ([]byte, error) {
	return []byte("\x00asm\x01\x00\x00\x00"), nil
}

func TestCurrent(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		at := filepath.Join(dir, filepath.FromSlash(name))
		if err := errors.Join(os.MkdirAll(filepath.Dir(at), 0o755), os.WriteFile(at, []byte(text), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	write("main.js", "1")
	write("lib/a.ts", "1")
	if err := toolchain.Current(dir); err != nil {
		t.Errorf("not built yet: %v", err)
	}
	build := func() {
		t.Helper()
		if _, err := toolchain.Build(t.Context(), dir, toolchain.Settings{Scripts: constant{}}); err != nil {
			t.Fatal(err)
		}
	}
	build()
	for _, c := range []struct {
		what, file, text string
		stale            bool
	}{
		{"nothing", "", "", false}, {"changed", "main.js", "2", true}, {"deeper", "lib/a.ts", "2", true}, {"added", "lib/b.js", "1", true},
		{"removed", "lib/b.js", "", true}, {"a test", "tests/a.js", "1", false}, {"a text", "README.md", "1", false},
		{"of a tool", "node_modules/a/i.js", "1", false}, {"hidden", ".git/a.js", "1", false}, {"the module", "main.wasm", "another", false},
	} {
		switch {
		case c.text != "":
			write(c.file, c.text)
		case c.file != "":
			if err := os.Remove(filepath.Join(dir, c.file)); err != nil {
				t.Fatal(err)
			}
		}
		err := toolchain.Current(dir)
		var e *fault.Error
		if c.stale != errors.As(err, &e) || c.stale && (e.Kind != fault.KindUsage || !strings.Contains(err.Error(), c.file)) {
			t.Errorf("%s: %v", c.what, err)
		}
		if c.stale {
			build()
		}
	}
	for _, junk := range []string{"", "{", `{"module":1}`, strings.Repeat(" ", 2<<20)} {
		write(".skillet-built", junk)
		if err := toolchain.Current(dir); err != nil {
			t.Errorf("%.10q: %v", junk, err)
		}
	}
}

// Whatever somebody wrote there, it is an answer, and never a module that is stale for
// a file that is the same.
func FuzzCurrent(f *testing.F) {
	f.Add([]byte(`{"module":"sha256:93a44bbb96c751218e4c00d479e4c14358122a389acca16205b1e4d0dc5f9476","sources":{"main.js":"x"}}`))
	f.Add([]byte(`{"sources":{"../../etc/passwd":"x"}}`))
	dir := f.TempDir()
	for name, text := range map[string]string{"main.js": "1", "main.wasm": "\x00asm\x01\x00\x00\x00"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			f.Fatal(err)
		}
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if err := os.WriteFile(filepath.Join(dir, ".skillet-built"), b, 0o644); err != nil {
			t.Fatal(err)
		}
		var e *fault.Error
		if err := toolchain.Current(dir); err != nil && (!errors.As(err, &e) || e.Kind != fault.KindUsage) {
			t.Error(err)
		}
	})
}

// A compiler that was ended while it was asked for its version is not missing.
func TestBuildIsCancelled(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, text := range map[string]string{"go.mod": "module x\n", "main.go": "package main\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := toolchain.Build(ctx, dir, toolchain.Settings{Environ: os.Environ()}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}
