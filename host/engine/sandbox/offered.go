package sandbox

import (
	"slices"

	"github.com/skillet-run/skillet/host/engine/sandbox/wasi"
)

// Offered lists what guests may import from a runtime that is given functions, as
// "module.name", sorted: those, and the built-in ones.
func Offered(functions []HostFunc) []string {
	var names []string
	for _, b := range slices.Concat(kernelFunctions(), bulkFunctions()) {
		names = append(names, qualified(b.module, b.name))
	}
	for _, f := range wasi.Functions() {
		names = append(names, qualified(wasiModule, f.Name))
	}
	for _, f := range functions {
		names = append(names, qualified(f.Module, f.Name))
	}
	slices.Sort(names)
	return names
}
