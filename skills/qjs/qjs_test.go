package qjs

import (
	"slices"
	"strings"
	"testing"

	"github.com/skillet-run/skillet/host/engine/sandbox/wasmlink"
	"github.com/skillet-run/skillet/manifests"
	"github.com/skillet-run/skillet/sdk/hostapi"
)

// Scripts reach every function of the host, under its name: the prelude numbers
// them as the driver does.
func TestEveryHostFunctionIsThere(t *testing.T) {
	t.Parallel()
	api, err := hostapi.Load()
	if err != nil {
		t.Fatal(err)
	}
	m, err := wasmlink.Assemble(driverText())
	if err != nil {
		t.Fatal(err)
	}
	var described, imported []string
	for _, f := range api.Functions {
		described = append(described, f.Name)
	}
	for _, i := range m.Imports {
		if i.Module == api.Module && !slices.ContainsFunc(api.Transfer, func(f hostapi.Transfer) bool { return f.Name == i.Name }) {
			imported = append(imported, i.Name)
		}
	}
	if !slices.Equal(imported, described) {
		t.Errorf("the driver imports %q, described are %q", imported, described)
	}
	list, labels := between(t, string(Prelude()), "const functions = [", "]"), between(t, driverText(), "(br_table ", "(local.get $f)")
	if want := `"` + strings.Join(described, `", "`) + `"`; list != want {
		t.Errorf("the prelude numbers %s, described are %s", list, want)
	}
	if want := "$" + strings.Join(described, " $") + " "; labels != want {
		t.Errorf("the driver numbers %s, described are %s", labels, want)
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
	m, err := wasmlink.Assemble(driverText())
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
