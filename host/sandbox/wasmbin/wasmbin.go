package wasmbin

// Inspect decodes and checks a core module and says what it declares. It is the
// gate in front of the compiler: its time and memory are linear in len(wasm),
// whatever the module declares, and it never panics. The error is an *Error.
//
// Inspect checks structure, limits and every index; it does not check the types
// of values on the stack, which the compiler does.
func Inspect(wasm []byte, l Limits) (*Module, error) {
	d := newDecoder(wasm, l)
	if err := d.decode(); err != nil {
		return nil, err
	}
	return d.module, nil
}

// The names Instrument adds to a module. A module that imports TickName from
// TickModule, or exports any name that starts with ReservedPrefix, is refused.
const (
	TickModule     = "skillet:host/v1"
	TickName       = "tick"
	ReservedPrefix = "skillet:"
	FuelGlobal     = "skillet:fuel"
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
	// results, that the guest calls when the counter is below zero. They are
	// empty when no fuel was asked for.
	TickModule, TickName string
}

// Instrument checks a module like Inspect and rewrites it as Options say.
// Custom sections are dropped. The error is an *Error.
func Instrument(wasm []byte, l Limits, o Options) (*Instrumented, error) {
	l.MemoryPages = min(l.MemoryPages, o.MaxMemoryPages)
	l.TableElems = min(l.TableElems, o.MaxTableElems)
	d := newDecoder(wasm, l)
	if err := d.decode(); err != nil {
		return nil, err
	}
	i := &Instrumented{Wasm: newRewriter(d, o).write(), Module: d.module}
	if o.Fuel {
		i.FuelGlobal, i.TickModule, i.TickName = FuelGlobal, TickModule, TickName
	}
	return i, nil
}
