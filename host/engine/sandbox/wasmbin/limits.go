package wasmbin

import "reflect"

// Limits bounds what a module may declare. Each bound is the largest value
// accepted; a zero field allows none of what it bounds, so start from
// DefaultLimits.
//
// The defaults let the modules through that Go, TinyGo, Rust, C, Zig and Haskell
// toolchains were seen to make, the largest of them at less than a third of
// CompileWork, and stay under what compiles in some ten seconds.
type Limits struct {
	// ModuleBytes bounds the module itself.
	ModuleBytes int
	// CustomBytes bounds all custom sections together; they are dropped.
	CustomBytes int
	// Types, Imports, Functions (defined ones), Tables, Globals, Exports,
	// ElementSegments and DataSegments bound the entries of each section. Types
	// bounds tags, too.
	Types, Imports, Functions, Tables, Globals, Exports, ElementSegments, DataSegments int
	// NameBytes bounds each name of an import or export.
	NameBytes int
	// Params and Results bound one function type.
	Params, Results int
	// MemoryPages bounds the initial size of the memory, in pages of 64 KiB.
	MemoryPages uint32
	// TableElems bounds the initial size of each table, in entries.
	TableElems uint32
	// ElementEntries bounds the entries of all element segments together.
	ElementEntries int
	// BodyBytes bounds one function body.
	BodyBytes int
	// Locals bounds the locals of one function, parameters not counted.
	Locals int
	// Nesting bounds how deep blocks of one function nest.
	Nesting int
	// Blocks bounds the blocks (block, loop, if, try_table) of one function.
	Blocks int
	// LocalsTimesBlocks bounds the product of one function's values (its
	// parameters and locals) and its blocks: compilers keep each value at each
	// block.
	LocalsTimesBlocks int
	// BranchTargets bounds the targets of one br_table, and the clauses of one
	// try_table.
	BranchTargets int
	// FunctionWork bounds the same of one function, which bounds the memory the
	// compiler needs.
	FunctionWork int64
	// CompileWork bounds the module's estimated cost to compile; see
	// Module.CompileWork.
	CompileWork int64
}

// MaxFactor is the most that limits are multiplied by.
const MaxFactor = 16

// WidestLimits are for who only looks at a module, and does not compile it.
func WidestLimits() Limits { return DefaultLimits().Times(MaxFactor) }

// Times returns limits that are so many times as wide, within what WebAssembly
// allows: memory stays at 65,536 pages.
func (l Limits) Times(factor int) Limits {
	v := reflect.ValueOf(&l).Elem()
	for i := range v.NumField() {
		switch f := v.Field(i); f.Kind() {
		case reflect.Uint32:
			f.SetUint(f.Uint() * uint64(factor))
		default:
			f.SetInt(f.Int() * int64(factor))
		}
	}
	l.MemoryPages = min(l.MemoryPages, 65_536)
	return l
}

// DefaultLimits returns the limits a host uses unless it was told otherwise.
func DefaultLimits() Limits {
	return Limits{
		ModuleBytes:       32 << 20,
		CustomBytes:       16 << 20,
		Types:             10_000,
		Imports:           1_000,
		Functions:         100_000,
		Tables:            4,
		Globals:           10_000,
		Exports:           10_000,
		ElementSegments:   10_000,
		DataSegments:      100_000,
		NameBytes:         1_000,
		Params:            1_000,
		Results:           1_000,
		MemoryPages:       65_536,
		TableElems:        100_000,
		ElementEntries:    100_000,
		BodyBytes:         1 << 20,
		Locals:            5_000,
		Nesting:           4_096,
		Blocks:            20_000,
		LocalsTimesBlocks: 1_000_000,
		BranchTargets:     16_384,
		FunctionWork:      1_000_000,
		CompileWork:       10_000_000,
	}
}
