package findings

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/hashicorp/go-hclog"

	"github.com/skillet-run/skillet/host/engine/sandbox"
	"github.com/skillet-run/skillet/host/engine/sandbox/wasi"
	"github.com/skillet-run/skillet/host/engine/sandbox/wasmbin/wasmtest"
	"github.com/skillet-run/skillet/host/run/hostfn"
)

// Whatever this host offers is in the table.
func TestEveryOfferIsKnown(t *testing.T) {
	t.Parallel()
	for _, f := range hostfn.Functions() {
		if !slices.Contains(offered[f.Module], f.Name) {
			t.Errorf("%s of %s is offered, and not in the table", f.Name, f.Module)
		}
	}
	for _, f := range wasi.Functions() {
		if !slices.Contains(offered[wasi.ModuleName], f.Name) {
			t.Errorf("%s of WASI is offered, and not in the table", f.Name)
		}
	}
}

// Whatever is in the table is offered: the sandbox knows each function, at most
// with other parameters than here.
func TestEveryKnownIsOffered(t *testing.T) {
	t.Parallel()
	r, err := sandbox.New(t.Context(), hclog.NewNullLogger(), sandbox.Options{Functions: hostfn.Functions()})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close(t.Context())
	load := func(module, name string) error {
		m := wasmtest.New()
		m.ImportFunc(module, name, wasmtest.Sig("f64 f64", "f64"))
		m.ExportFunc("run", m.Func(wasmtest.Sig("", ""), ""))
		_, err := r.Load(t.Context(), m.Bytes())
		return err
	}
	for module, names := range offered {
		for _, name := range names {
			if err := load(module, name); err == nil || !strings.Contains(err.Error(), "the host offers") {
				t.Errorf("%s of %s: %v", name, module, err)
			}
		}
	}
	if err := load("env", "system"); !errors.Is(err, sandbox.ErrImport) || strings.Contains(err.Error(), "the host offers") {
		t.Errorf("a function that is not there: %v", err)
	}
}
