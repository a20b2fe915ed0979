package watch

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

func write(t *testing.T, dir, name, text string) {
	t.Helper()
	path := filepath.Join(dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func open(t *testing.T, dir string, s Settings) *Watcher {
	t.Helper()
	w, err := Open(dir, s)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.Close() })
	return w
}

func next(t *testing.T, w *Watcher) []string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	c, err := w.Next(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if time.Since(c.At) > time.Minute || time.Since(c.At) < 0 {
		t.Errorf("saved at %v", c.At)
	}
	return c.Paths
}

func TestWhatIsSavedTogetherIsOneChange(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, dir, "tests/a.json", "1")
	w := open(t, dir, Settings{Quiet: 200 * time.Millisecond})
	write(t, dir, "main.go", "a")
	write(t, dir, "main.go", "b")
	write(t, dir, "tests/a.json", "2")
	if got := next(t, w); !slices.Equal(got, []string{"main.go", "tests/a.json"}) {
		t.Errorf("%q", got)
	}
	write(t, dir, "sedXYZ", "c") // as sed -i does
	if err := os.Rename(filepath.Join(dir, "sedXYZ"), filepath.Join(dir, "main.go")); err != nil {
		t.Fatal(err)
	}
	if got := next(t, w); !slices.Equal(got, []string{"main.go"}) {
		t.Errorf("%q", got)
	}
	if err := os.Remove(filepath.Join(dir, "main.go")); err != nil {
		t.Fatal(err)
	}
	if got := next(t, w); !slices.Equal(got, []string{"main.go"}) {
		t.Errorf("%q", got)
	}
}

func TestADirectoryThatIsNewIsWatched(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	w := open(t, dir, Settings{Quiet: 200 * time.Millisecond})
	write(t, dir, "a/b/one.go", "1")
	if got := next(t, w); !slices.Equal(got, []string{"a/b/one.go"}) {
		t.Errorf("%q", got)
	}
	write(t, dir, "a/b/two.go", "2")
	if got := next(t, w); !slices.Equal(got, []string{"a/b/two.go"}) {
		t.Errorf("%q", got)
	}
}

func TestWhatIsNoSourceDoesNotCount(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, d := range []string{".git", "node_modules", "target"} {
		write(t, dir, d+"/x", "1")
	}
	w := open(t, dir, Settings{Ignore: []string{"main.wasm", "*.skill", "out"}, Quiet: 200 * time.Millisecond})
	for _, name := range []string{
		".git/index", ".skillet-dev/store", "node_modules/y", "target/z", "main.wasm", "a-1.0.0.skill", "out/x.go", "main.go~", ".main.go.swp", "4913", "#main.go#",
	} {
		write(t, dir, name, "2")
	}
	write(t, dir, "main.go", "3")
	if got := next(t, w); !slices.Equal(got, []string{"main.go"}) {
		t.Errorf("%q", got)
	}
}

func TestTheEndOfTheContextEndsTheWait(t *testing.T) {
	t.Parallel()
	w := open(t, t.TempDir(), Settings{})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := w.Next(ctx); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func TestTooManyDirectories(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for i := range MaxDirs + 1 {
		if err := os.Mkdir(filepath.Join(dir, "d"+string(rune('a'+i%26))+time.Duration(i).String()), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := Open(dir, Settings{}); !errors.Is(err, ErrTooMany) {
		t.Error(err)
	}
}
