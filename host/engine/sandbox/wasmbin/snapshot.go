package wasmbin

import (
	"fmt"
	"slices"
	"strconv"
)

// statefulOps bounds the opcodes behind the prefix 0xfc that bulk looks at.
const statefulOps = miscTableFill + 1

// pins are the instructions whose effect is neither in the memory nor in a
// global, by their opcode behind the prefix 0xfc; table.set stands at 0.
var pins = [statefulOps]string{
	0:             "table.set writes a table",
	miscDataDrop:  "data.drop drops a data segment",
	miscTableInit: "table.init writes a table",
	miscElemDrop:  "elem.drop drops an element segment",
	miscTableCopy: "table.copy writes a table",
	miscTableGrow: "table.grow grows a table",
	miscTableFill: "table.fill writes a table",
}

// pinnedTypes are the types of mutable globals that cannot be restored.
var pinnedTypes = [...]ValueType{V128, FuncRef, ExternRef, ExnRef}

// pinned says what of an instance's state is out of reach of the host.
func (d *decoder) pinned() []string {
	var list []string
	for _, t := range pinnedTypes {
		if slices.Contains(d.module.Globals, Global{Type: t, Mutable: true}) {
			list = append(list, fmt.Sprintf("a mutable global is a %v", t))
		}
	}
	for op, found := range d.stateful {
		if found && pins[op] != "" {
			list = append(list, pins[op])
		}
	}
	return list
}

// exportedGlobals lists the mutable globals with the names they are exported
// by.
func (d *decoder) exportedGlobals() []ExportedGlobal {
	var list []ExportedGlobal
	for i, g := range d.module.Globals {
		if g.Mutable {
			list = append(list, ExportedGlobal{globalName(i), g.Type})
		}
	}
	return list
}

func globalName(index int) string { return globalPrefix + strconv.Itoa(index) }

// startExport is the name the start function is exported by.
func (d *decoder) startExport() string {
	if !d.module.HasStart {
		return ""
	}
	return startName
}

// addSnapshot exports what a host needs to restore an instance.
func (r *rewriter) addSnapshot() {
	for i, g := range r.module.Globals {
		if g.Mutable {
			r.add.exports = append(r.add.exports, encodeExport(globalName(i), GlobalKind, uint32(i)))
		}
	}
	if r.module.HasStart {
		r.add.exports = append(r.add.exports, encodeExport(startName, Func, r.function(r.start)))
	}
}
