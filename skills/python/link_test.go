package python

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"testing"

	"github.com/skillet-run/skillet/host/engine/sandbox/wasmlink"
	"github.com/skillet-run/skillet/sdk/hostapi"
)

// Scripts reach every function of the host that there is.
func TestHostFunctions(t *testing.T) {
	t.Parallel()
	described, err := hostapi.Load()
	if err != nil {
		t.Fatal(err)
	}
	imports, calls := hostCalls()
	for _, f := range described.Functions {
		if !strings.Contains(imports, fmt.Sprintf("%q %q (func $host_%s ", described.Module, f.Name, f.Name)) || !strings.Contains(calls, "(call $host_"+f.Name+" ") {
			t.Errorf("%s is not imported, or never called", f.Name)
		}
	}
	if n := strings.Count(imports, "(import "); n != len(described.Functions) {
		t.Errorf("%d functions are imported, described are %d", n, len(described.Functions))
	}
}

func TestManifest(t *testing.T) {
	t.Parallel()
	var m struct {
		Name     string            `json:"name"`
		Provides map[string]string `json:"provides"`
	}
	if err := json.Unmarshal(Manifest, &m); err != nil || m.Name != "python" || m.Provides["python"] == "" {
		t.Errorf("%+v, %v", m, err)
	}
}

func TestLinkRefusesOtherEngines(t *testing.T) {
	t.Parallel()
	if _, err := Link([]byte("not a module")); err == nil {
		t.Error("bytes that are no module were linked")
	}
	m, err := wasmlink.Assemble(`(module (import "env" "_emscripten_throw_longjmp" (func)) (memory 1) (func (export "malloc")))`)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Link(m.Encode()); err == nil || !strings.Contains(err.Error(), "not the interpreter it was written for") {
		t.Errorf("another module was linked: %v", err)
	}
}

// What is frozen is in memory as it is: a table says where each file begins.
func TestFrozen(t *testing.T) {
	t.Parallel()
	data, driver, length, err := frozen()
	if err != nil || driver <= frozenAddress || length == 0 {
		t.Fatal(driver, length, err)
	}
	again, _, _, err := frozen()
	if err != nil || again != data {
		t.Error("two times are not the same")
	}
	for _, name := range []string{"lib/typing.py", "lib/urllib/parse.py", "lib/_skillet.py"} {
		if _, err := fs.Stat(sources, name); errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s is not there", name)
		}
	}
}
