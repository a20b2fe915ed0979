package sandbox

import (
	"slices"
	"strings"

	"github.com/tetratelabs/wazero/api"

	"github.com/skillet-run/skillet/host/engine/sandbox/wasmbin"
)

// FuncType is the name and signature of an imported or exported function.
// Module is "" for exports.
type FuncType struct {
	Module, Name    string
	Params, Results []ValueType
}

// String writes the function as "module.name(i32, i64) -> i32".
func (f FuncType) String() string {
	var b strings.Builder
	if f.Module != "" {
		b.WriteString(f.Module + ".")
	}
	b.WriteString(f.Name + "(" + typeNames(f.Params) + ")")
	if len(f.Results) > 0 {
		b.WriteString(" -> " + typeNames(f.Results))
	}
	return b.String()
}

func typeNames(types []ValueType) string {
	names := make([]string, len(types))
	for i, t := range types {
		names[i] = api.ValueTypeName(t)
	}
	return strings.Join(names, ", ")
}

// same reports whether f and g take and return the same types.
func (f FuncType) same(g FuncType) bool {
	return slices.Equal(f.Params, g.Params) && slices.Equal(f.Results, g.Results)
}

// valueTypes turns types as package wasmbin names them into plain ones.
func valueTypes(types []wasmbin.ValueType) []ValueType {
	out := make([]ValueType, len(types))
	for i, t := range types {
		out[i] = ValueType(t)
	}
	return out
}
