package wasmbin

// Inspect decodes and checks a core module and says what it declares. It is the
// gate in front of the compiler: its time and memory are linear in len(wasm),
// whatever the module declares, and it never panics. The error is an *Error.
//
// Inspect checks structure, limits and every index; it does not check the types
// of values on the stack, which the compiler does.
func Inspect(wasm []byte, l Limits) (*Module, error) {
	m, _, err := inspect(wasm, l)
	return m, err
}

// inspect returns what a module declares, and a decoder of it without exceptions.
func inspect(wasm []byte, l Limits) (*Module, *decoder, error) {
	d := newDecoder(wasm, l)
	if err := d.decode(); err != nil {
		return nil, nil, err
	}
	declared := d.module
	d, err := d.withoutExceptions()
	if err != nil {
		return nil, nil, err
	}
	declared.CompileWork = d.module.CompileWork
	return declared, d, nil
}

// The names Instrument adds to a module. A module that imports TickName from
// TickModule, or exports any name that starts with ReservedPrefix, is refused.
const (
	TickModule     = "skillet:host/v1"
	TickName       = "tick"
	ReservedPrefix = "skillet:"
	FuelGlobal     = "skillet:fuel"
	startName      = "skillet:start"
	globalPrefix   = "skillet:global:" // and the global's index
)

// Options says what Instrument adds.
type Options struct {
	// MaxMemoryPages bounds the memory, in pages of 64 KiB: a larger declared
	// maximum is lowered and a missing one set. A module whose initial memory
	// is larger is refused with ErrTooLarge. 0 allows no memory page.
	MaxMemoryPages uint32
	// MaxTableElems does the same for each table, in entries.
	MaxTableElems uint32
	// Fuel adds the fuel counter. Without it a guest that does not return
	// cannot be stopped, except by killing the process.
	Fuel bool
	// Snapshot lets the host bring an instance back to an earlier state: it
	// exports the mutable globals and the start function, which instantiation
	// then does not run, and declares room for one more page of memory. See
	// Instrumented.
	Snapshot bool
}

// Instrumented is a module that is ready to be compiled.
type Instrumented struct {
	// Wasm is the new module.
	Wasm []byte
	// Module describes the original module, before anything was added.
	Module *Module
	// FuelGlobal is the export name of the fuel counter, a mutable i64 global
	// that starts at 0. It is empty when no fuel was asked for.
	FuelGlobal string
	// TickModule and TickName name the function, without parameters and
	// results, that the guest calls when the counter is below zero, and between
	// the pieces of a long bulk instruction. They are empty when no fuel was
	// asked for.
	TickModule, TickName string
	// FuelPoints is how many places of the code take fuel, or look whether there
	// is any: 0 when no fuel was asked for.
	FuelPoints int
	// MaxPages is how many pages of 64 KiB the guest's memory may have: the
	// declared maximum or Options.MaxMemoryPages, whichever is less; 0 without
	// a memory. Without Options.Snapshot that is the maximum in Wasm; with it
	// the maximum there is one page more, as long as 32 bits address that: the
	// host takes pages back by growing the memory by one page, which its
	// allocator answers with a smaller buffer, and that must work in a memory
	// that is as large as it may be. The allocator must refuse any size beyond
	// MaxPages, so that a guest's memory.grow beyond it returns -1 as ever.
	// Fuel counts by MaxPages.
	MaxPages uint32
	// Globals are the mutable globals of the module, without the fuel counter,
	// in the order of their indexes. Nil unless Options.Snapshot is set.
	Globals []ExportedGlobal
	// Start is the export name of the start function, which the host has to
	// call once in place of the start section, which is dropped. It is empty
	// when the module has none, or Options.Snapshot is not set.
	Start string
	// Pinned says in words what is in the way of bringing an instance back to
	// an earlier state by its memory and its globals: globals whose values do
	// not fit 64 bits or mean nothing outside of the instance, and code that
	// changes a table or drops a segment. Empty when nothing is, or
	// Options.Snapshot is not set.
	Pinned []string
}

// ExportedGlobal is a mutable global that Instrument exported.
type ExportedGlobal struct {
	// Name is the export's name. It starts with ReservedPrefix, which no
	// export of the module itself may.
	Name string
	// Type is the type of its value.
	Type ValueType
}

// Instrument checks a module like Inspect and rewrites it as Options say.
// Custom sections are dropped. The error is an *Error.
func Instrument(wasm []byte, l Limits, o Options) (*Instrumented, error) {
	l.MemoryPages = min(l.MemoryPages, o.MaxMemoryPages)
	l.TableElems = min(l.TableElems, o.MaxTableElems)
	declared, d, err := inspect(wasm, l)
	if err != nil {
		return nil, err
	}
	r := newRewriter(d, o)
	i := &Instrumented{Wasm: r.write(), Module: declared, FuelPoints: r.points}
	if o.Fuel {
		i.FuelGlobal, i.TickModule, i.TickName = FuelGlobal, TickModule, TickName
	}
	if d.module.HasMemory {
		i.MaxPages = d.module.Memory.limit(o)
	}
	if o.Snapshot {
		i.Globals, i.Start, i.Pinned = d.exportedGlobals(), d.startExport(), d.pinned()
	}
	return i, nil
}
