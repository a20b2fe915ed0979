package qjs

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/skillet-run/skillet/host/sandbox/wasmlink"
	"github.com/skillet-run/skillet/manifests"
)

// The driver and the prelude have every function of the host, in one order.
func TestEveryHostFunctionIsThere(t *testing.T) {
	t.Parallel()
	b, err := os.ReadFile("../../sdk/hostapi/interface.json")
	if err != nil {
		t.Fatal(err)
	}
	var described struct {
		Functions []struct{ Name string }
	}
	if err := json.Unmarshal(b, &described); err != nil {
		t.Fatal(err)
	}
	list := between(t, string(Prelude), "const functions = [", "]")
	table := between(t, driver, "(br_table", "(local.get $f)")
	names, labels := strings.Fields(strings.NewReplacer(`"`, "", ",", "").Replace(list)), strings.Fields(table)
	if len(names) != len(described.Functions) || len(labels) != len(names) {
		t.Fatalf("%d functions are described, the prelude has %d and the driver %d", len(described.Functions), len(names), len(labels))
	}
	for i, f := range described.Functions {
		if !strings.Contains(list, `"`+f.Name+`"`) {
			t.Errorf("the prelude does not have %s", f.Name)
		}
		if labels[i] != "$"+names[i] {
			t.Errorf("function %d is %s in the prelude and %s in the driver", i, names[i], labels[i])
		}
		if !strings.Contains(driver, `"`+f.Name+`" (func $`+f.Name+" (param i32 i32 i32 i32) (result i64))") {
			t.Errorf("the driver does not import %s", f.Name)
		}
	}
}

func between(t *testing.T, text, from, to string) string {
	t.Helper()
	_, rest, ok := strings.Cut(text, from)
	inner, _, found := strings.Cut(rest, to)
	if !ok || !found {
		t.Fatalf("no %s ... %s", from, to)
	}
	return inner
}

func TestDriverAssembles(t *testing.T) {
	t.Parallel()
	m, err := wasmlink.Assemble(withTools(driver))
	if err != nil {
		t.Fatal(err)
	}
	for i := range Tools {
		if _, ok := m.Export(ToolExport(i)); !ok {
			t.Errorf("no export %s", ToolExport(i))
		}
	}
}

func TestLinkRefusesWhatIsNoEngine(t *testing.T) {
	t.Parallel()
	for _, b := range [][]byte{nil, []byte("\x00asm\x01\x00\x00\x00")} {
		if _, err := Link(b); err == nil {
			t.Errorf("%q: no error", b)
		}
	}
}

func TestManifest(t *testing.T) {
	t.Parallel()
	m, err := manifests.Parse(Manifest, "skill.json")
	if err != nil || m.Provides["qjs"] != m.Version {
		t.Errorf("%+v, %v", m, err)
	}
}
