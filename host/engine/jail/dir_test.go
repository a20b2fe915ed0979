package jail

import (
	"errors"
	"io/fs"
	"os"
	"slices"
	"testing"
)

// A directory opened in another one is asked about, is the one by that name, and is no link.
func TestDir(t *testing.T) {
	t.Parallel()
	base := t.TempDir()
	for _, d := range []string{"/r/a/b", "/r/w", "/out"} {
		if err := os.MkdirAll(base+d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, err := range []error{os.WriteFile(base+"/r/a/f", nil, 0o600), os.Symlink("b", base+"/r/a/in"), os.Symlink("../../out", base+"/r/a/out"), os.Symlink("a", base+"/r/la")} {
		if err != nil {
			t.Fatal(err)
		}
	}
	var asked []string
	f, err := Open([]Root{{Path: base + "/r"}, {Path: base + "/r/w", Write: true}}, GuardFunc(func(op Op, p string) error {
		asked = append(asked, op.String()+" "+p[len(base):])
		if p == base+"/r/a/b" {
			return fs.ErrPermission
		}
		return nil
	}), Quota{OpenFiles: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	top, err := f.OpenDir(base + "/r")
	if err != nil {
		t.Fatal(err)
	}
	defer top.Close()
	entries, more, err := top.Read(2)
	if err != nil || !more || len(entries) != 2 || entries[0].Name() > entries[1].Name() {
		t.Errorf("%v %v %v", entries, more, err)
	}
	a, err := top.Sub("a")
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	if entries, _, err := a.Read(0); err != nil || len(entries) != 4 {
		t.Errorf("%v %v", entries, err)
	}
	for name, want := range map[string]error{"b": fs.ErrPermission, "f": ErrNotDir, "in": ErrNotDir, "out": ErrNotDir, "none": fs.ErrNotExist, "..": ErrName, ".": ErrName, "b/..": ErrName, "": ErrName} {
		if d, err := a.Sub(name); !errors.Is(err, want) {
			t.Errorf("%q: %v, %v", name, d, err)
		}
	}
	w, err := top.Sub("w") // a root of its own
	if err != nil {
		t.Fatal(err)
	}
	w.Close()
	for _, want := range []string{"list /r", "list /r/a", "list /r/a/b", "list /r/w"} {
		if !slices.Contains(asked, want) {
			t.Errorf("never asked %s: %v", want, asked)
		}
	}
	link, err := f.OpenDir(base + "/r/la")
	if err != nil {
		t.Fatal(err)
	}
	defer link.Close()
	if _, err := link.Sub("b"); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("below a link: %v", err)
	}
	if _, err := f.OpenDir(base + "/r/a/f"); !errors.Is(err, ErrNotDir) {
		t.Errorf("a file: %v", err)
	}
	if _, err := f.OpenDir(base + "/out"); !errors.Is(err, ErrEscape) {
		t.Errorf("outside: %v", err)
	}
}
