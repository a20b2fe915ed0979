package wasmbin

import "slices"

// ValueType is a type of values as the binary format encodes it (core
// specification 2.0, 5.3.1 to 5.3.4).
type ValueType byte

// The value types a module may use.
const (
	I32       ValueType = 0x7f
	I64       ValueType = 0x7e
	F32       ValueType = 0x7d
	F64       ValueType = 0x7c
	V128      ValueType = 0x7b
	FuncRef   ValueType = 0x70
	ExternRef ValueType = 0x6f
	ExnRef    ValueType = 0x69 // a v128 once the module is instrumented
)

// String returns the type's name in the text format, such as "i32".
func (t ValueType) String() string {
	switch t {
	case I32:
		return "i32"
	case I64:
		return "i64"
	case F32:
		return "f32"
	case F64:
		return "f64"
	case V128:
		return "v128"
	case FuncRef:
		return "funcref"
	case ExternRef:
		return "externref"
	case ExnRef:
		return "exnref"
	}
	return "unknown"
}

// FuncType is a function's signature.
type FuncType struct {
	Params, Results []ValueType
}

// Equal reports whether both signatures have the same types.
func (t FuncType) Equal(u FuncType) bool {
	return slices.Equal(t.Params, u.Params) && slices.Equal(t.Results, u.Results)
}

// Kind says what an import or export is.
type Kind byte

// The kinds of external items (core specification 5.5.5).
const (
	Func         Kind = 0
	TableKind    Kind = 1
	MemoryKind   Kind = 2
	GlobalKind   Kind = 3
	TagKind      Kind = 4
	unknownKinds Kind = 5
)

// String returns the kind's name in the text format, such as "func".
func (k Kind) String() string {
	if k >= unknownKinds {
		return "unknown"
	}
	return [...]string{"func", "table", "memory", "global", "tag"}[k]
}

// Import is an item the module asks for. Kind is always Func: other kinds are
// refused, because they would share state between instances.
type Import struct {
	Module, Name string
	Kind         Kind
	Type         FuncType
}

// Export is an item the module offers. Type is set when Kind is Func. Tags are
// left out: nothing could use them.
type Export struct {
	Name  string
	Kind  Kind
	Index uint32
	Type  FuncType
}

// Memory is the module's memory in pages of 64 KiB. Max means nothing unless
// HasMax is set.
type Memory struct {
	Min, Max uint32
	HasMax   bool
}

// Table is a table's element type and size in entries. Max means nothing
// unless HasMax is set.
type Table struct {
	Elem     ValueType
	Min, Max uint32
	HasMax   bool
}

// Global is the type of a global the module defines.
type Global struct {
	Type    ValueType
	Mutable bool
}

// Module says what a module declares. Its slices are the caller's own: they do
// not alias the inspected bytes.
type Module struct {
	Types   []FuncType
	Imports []Import
	Exports []Export
	Tables  []Table
	Globals []Global
	// Memory is the zero Memory when HasMemory is false.
	Memory    Memory
	HasMemory bool
	// HasStart reports a start section: code that runs at instantiation.
	HasStart bool
	// Functions counts the functions the module defines.
	Functions int
	// CodeBytes is the size of the code section.
	CodeBytes int
	// DataBytes is the size of the content of all data segments.
	DataBytes int
	// WritesTables reports instructions that can change a table or drop an
	// element segment at run time. Without them the tables after instantiation
	// never change.
	WritesTables bool
	// CompileWork estimates the cost to compile the module, in units of about
	// one plain instruction, which is about a microsecond. It adds up, for each
	// function, its instructions, the values that its calls and branches pass,
	// the square of its basic blocks, its values times its loops and blocks, and
	// its calls times the globals it uses: what compile time was found to grow
	// with.
	CompileWork int64
}

// Export returns the export with that name.
func (m *Module) Export(name string) (Export, bool) {
	i := slices.IndexFunc(m.Exports, func(e Export) bool { return e.Name == name })
	if i < 0 {
		return Export{}, false
	}
	return m.Exports[i], true
}
