package archtest

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// What `make build skills` leaves are also the modules, which the front page installs from
// the directories of the skills. Where they were not there before, make takes them for files
// in between, and would delete them.
func TestMakeKeepsModules(t *testing.T) {
	t.Parallel()
	program, err := exec.LookPath("make")
	if err != nil {
		t.Skipf("no make here: %v", err)
	}
	dir := t.TempDir()
	makefile, err := os.ReadFile(filepath.Join(root, "Makefile"))
	if err != nil {
		t.Fatal(err)
	}
	skill := filepath.Join(dir, "skills", "one")
	if err := errors.Join(os.MkdirAll(skill, 0o755), os.WriteFile(filepath.Join(skill, "main.go"), nil, 0o644), os.WriteFile(filepath.Join(dir, "Makefile"), makefile, 0o644)); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(program, "-n", "skills")
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "-o skills/one/main.wasm") || strings.Contains(string(out), "rm ") {
		t.Errorf("%v: make would do\n%s", err, out)
	}
}
