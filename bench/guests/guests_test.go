package guests_test

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/skillet-run/skillet/bench/guests"
)

// The table of README.md tells what each module is. Those of JavaScript are
// there only where somebody built them.
func TestModulesAreWhatTheTableSays(t *testing.T) {
	table, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob("../testdata/*.wasm")
	if err != nil || len(files) < 7 {
		t.Fatalf("%d modules, %v", len(files), err)
	}
	total := 0
	for _, f := range files {
		wasm, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		sum := fmt.Sprintf("| %d | `%x` |", len(wasm), sha256.Sum256(wasm))
		if name := filepath.Base(f); !strings.Contains(name, "-js-") {
			total += len(wasm)
			if !strings.Contains(string(table), sum) {
				t.Errorf("%s: README.md does not say %q: build it by make testdata, or take the new sum", name, sum)
			}
		}
	}
	if total > 6<<20 {
		t.Errorf("the modules together have %d bytes, more than 6 MiB", total)
	}
}

func TestInputs(t *testing.T) {
	for i, size := range []int{100, 10_000, 1_000_000} {
		if task := guests.Counts()[i]; len(task.Input) != size || !strings.Contains(string(task.Want), fmt.Sprintf(`{"bytes":%d,`, size)) {
			t.Errorf("input %s has %d bytes, answer %s", task.Name, len(task.Input), task.Want)
		}
	}
}
