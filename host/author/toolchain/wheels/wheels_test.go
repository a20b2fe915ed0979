package wheels

import (
	"archive/zip"
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/skillet-run/skillet/host/base/fault"
)

// shelf is a directory of wheels, and a program that answers as pip does: it gives all that
// there are, and looks whether a lock has their digests.
func shelf(t *testing.T) (dir string, pip []string) {
	t.Helper()
	dir = t.TempDir()
	program := filepath.Join(t.TempDir(), "pip")
	text := `#!/bin/sh
while [ $# -gt 0 ]; do case "$1" in --dest) to=$2;; -r) list=$2;; --require-hashes) hashes=1;; esac; shift; done
grep -q lost "$list" && { echo "ERROR: No matching distribution found for lost==1" >&2; exit 1; }
mkdir -p "$to" && cp "` + dir + `"/*.whl "$to"/ || exit 1
if [ -n "$hashes" ]; then for w in "$to"/*; do
  grep -q "$(sha256sum "$w" | cut -d' ' -f1)" "$list" || { echo "ERROR: THESE PACKAGES DO NOT MATCH THE HASHES" >&2; exit 1; }
done; fi
`
	if err := os.WriteFile(program, []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
	return dir, []string{program}
}

func wheel(t *testing.T, dir, name string, files ...string) {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for _, f := range files {
		w, err := z.Create(f)
		if err == nil {
			_, err = w.Write([]byte("# " + f + "\n"))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(z.Close(), os.WriteFile(filepath.Join(dir, name), b.Bytes(), 0o644)); err != nil {
		t.Fatal(err)
	}
}

func folder(t *testing.T, wants string) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, Requirements), []byte(wants), 0o644); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestVendor(t *testing.T) {
	t.Parallel()
	from, pip := shelf(t)
	wheel(t, from, "demo-1.0-py3-none-any.whl", "demo/__init__.py", "demo-1.0.dist-info/LICENSE", "demo-1.0.data/scripts/x", ".hidden", "demo/__pycache__/x.pyc")
	dir := folder(t, "demo==1.0\n")
	for range 2 { // the second time with the lock
		names, err := Vendor(t.Context(), dir, pip...)
		if err != nil || len(names) != 1 || names[0] != "demo 1.0" {
			t.Fatalf("%q, %v", names, err)
		}
	}
	for name, want := range map[string]bool{"demo/__init__.py": true, "demo-1.0.dist-info/LICENSE": true, "demo-1.0.data": false, ".hidden": false, "demo/__pycache__": false} {
		if _, err := os.Stat(filepath.Join(dir, Dir, name)); (err == nil) != want {
			t.Errorf("%s: %v", name, err)
		}
	}
	lock, err := os.ReadFile(filepath.Join(dir, Lock))
	if err != nil || !strings.Contains(string(lock), "demo==1.0 --hash=sha256:") {
		t.Errorf("%s, %v", lock, err)
	}
	wheel(t, from, "demo-1.0-py3-none-any.whl", "demo/other.py")
	if _, err := Vendor(t.Context(), dir, pip...); err == nil || fault.AsError(err).Kind != fault.KindVerification {
		t.Errorf("another wheel than the lock has: %v", err)
	}
	if _, err := os.Stat(filepath.Join(dir, Dir, "demo/__init__.py")); err != nil {
		t.Errorf("what was there before: %v", err)
	}
	if names, err := Vendor(t.Context(), t.TempDir(), pip...); names != nil || err != nil {
		t.Errorf("a folder that names none: %v, %v", names, err)
	}
}

func TestRefused(t *testing.T) {
	t.Parallel()
	for want, files := range map[string][]string{
		"has native code: demo/fast.so":          {"demo-1.0-py3-none-any.whl", "demo/fast.so"},
		"does not belong into a wheel":           {"demo-1.0-py3-none-any.whl", "../../out.py"},
		"is not a wheel in pure Python":          {"demo-1.0-cp312-cp312-linux_x86_64.whl", "demo/a.py"},
		`"/out.py" does not belong into a wheel`: {"demo-1.0-py3-none-any.whl", "/out.py"},
	} {
		from, pip := shelf(t)
		wheel(t, from, files[0], files[1:]...)
		dir := folder(t, "demo\n")
		if _, err := Vendor(t.Context(), dir, pip...); err == nil || !strings.Contains(err.Error(), want) || fault.AsError(err).Kind != fault.KindVerification {
			t.Errorf("%q: %v, want %q", files, err, want)
		}
		if left, _ := filepath.Glob(filepath.Join(dir, "vendor*")); len(left) > 0 {
			t.Errorf("%q: left %q", files, left)
		}
	}
	_, pip := shelf(t)
	for wants, part := range map[string]string{
		"--index-url x\n": "is not the name of a package", "a @ https://x/y\n": "is not the name of a package", "../a\n": "is not the name of a package",
		"lost==1\n": "wheel of lost==1 in pure Python not found",
	} {
		if _, err := Vendor(t.Context(), folder(t, wants), pip...); err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("%q: %v", wants, err)
		}
	}
	if _, err := Vendor(t.Context(), folder(t, "a\n"), "/nonexistent/pip"); err == nil || fault.AsError(err).Kind != fault.KindNotFound {
		t.Errorf("without pip: %v", err)
	}
	own := folder(t, "a\n")
	if err := os.Mkdir(filepath.Join(own, Dir), 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := Vendor(t.Context(), own, pip...); err == nil || fault.AsError(err).Kind != fault.KindConflict {
		t.Errorf("a directory of the author's: %v", err)
	}
}
