package cpython

import (
	"encoding/json"
	"fmt"
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
		if !strings.Contains(string(Prelude()), " "+f.Name+" ") && !strings.Contains(string(Prelude()), `"`+f.Name+" ") && !strings.Contains(string(Prelude()), " "+f.Name+`"`) {
			t.Errorf("%s is not known to the prelude", f.Name)
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
		Version  string            `json:"version"`
		Provides map[string]string `json:"provides"`
	}
	if err := json.Unmarshal(Manifest, &m); err != nil || m.Name != "cpython" || m.Provides["cpython"] != m.Version {
		t.Errorf("%+v, %v", m, err)
	}
}

// Bytes that are not those of the build are refused by their digest, and a module
// with another function in the place of the one that is called by the function's.
func TestLinkRefusesOtherEngines(t *testing.T) {
	t.Parallel()
	if _, err := Link([]byte("not a module")); err == nil || !strings.Contains(err.Error(), "not the engine it was written for") {
		t.Errorf("bytes that are no module: %v", err)
	}
	m, err := wasmlink.Assemble(`(module (memory 1) (func (export "_start")))`)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Link(m.Encode()); err == nil || !strings.Contains(err.Error(), "want "+engineDigest) {
		t.Errorf("another module: %v", err)
	}
	if err := prepare(m); err == nil || !strings.Contains(err.Error(), "no function 4056") {
		t.Errorf("a smaller module: %v", err)
	}
	many, err := wasmlink.Assemble("(module " + strings.Repeat("(func)", runString+1) + ")")
	if err != nil {
		t.Fatal(err)
	}
	if err := prepare(many); err == nil || !strings.Contains(err.Error(), "not PyRun_SimpleStringFlags") {
		t.Errorf("another function: %v", err)
	}
}

// The driver can be assembled, and a call fits into a word of it.
func TestDriver(t *testing.T) {
	t.Parallel()
	if _, err := wasmlink.Assemble(started().driverText()); err != nil {
		t.Error(err)
	}
	for _, n := range []int{loadNumber, evalNumber, 0, Tools - 1} {
		if w := enter(n); w>>56 != 0 {
			t.Errorf("%d: %x has no zero behind it", n, w)
		}
	}
}
