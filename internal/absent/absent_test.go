package absent_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/skillet-run/skillet/internal/absent"
)

func TestIs(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	if err := os.WriteFile(at("file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, target := range map[string]string{"away": at("gone"), "twice": at("away"), "loop": at("loop"), "here": dir} {
		if err := os.Symlink(target, at(name)); err != nil {
			t.Skip(err)
		}
	}
	for name, want := range map[string]bool{
		"nothing": true, "nothing/below/it": true, "here/nothing": true,
		"file": false, "away": false, "away/below": false, "away/below/it": false,
		"twice": false, "twice/below": false, "loop": false, "loop/below": false, "file/below": false,
	} {
		_, err := os.Stat(at(name))
		if got := absent.Is(err, at(name)); got != want {
			t.Errorf("%s: %t, want %t (%v)", name, got, want, err)
		}
	}
	if absent.Is(fs.ErrPermission, at("nothing")) || absent.Is(nil, at("nothing")) {
		t.Error("another error was taken for the absence of a file")
	}
}
