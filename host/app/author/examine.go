package author

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"github.com/skillet-run/skillet/host/base/fault"

	"github.com/skillet-run/skillet/host/engine/sandbox"
	"github.com/skillet-run/skillet/host/engine/sandbox/worker"
	"github.com/skillet-run/skillet/host/run/hostfn"
)

// offered lists what skills may import, as "module.name".
func offered() []string { return sandbox.Offered(hostfn.Functions()) }

// An Examination is what loading a module and running its initialisation shows.
type Examination struct {
	// CompileMS is what compiling took in milliseconds, or reading what was compiled
	// before, when Cached is true.
	CompileMS float64 `json:"compile_ms"`
	Cached    bool    `json:"cached"`
	// Snapshot is what a call begins with; nil when none can be taken, for which
	// Note says why.
	Snapshot *Snapshot `json:"snapshot,omitempty"`
	Note     string    `json:"note,omitempty"`
}

// A Snapshot is the state of a module after its initialisation.
type Snapshot struct {
	// MemoryBytes is all of its memory, of which UsedBytes are in pages of 4 KiB
	// that are not zero.
	MemoryBytes int64 `json:"memory_bytes"`
	UsedBytes   int64 `json:"used_bytes"`
	Globals     int   `json:"globals"`
	// Fuel is what the initialisation took.
	Fuel uint64 `json:"fuel"`
}

// examine loads a module and runs its initialisation, in a process of its own and
// with nothing granted. Errors are [fault.Error]s of [fault.KindVerification] for a
// module that cannot be loaded.
func examine(ctx context.Context, apart *worker.Runtime, wasm []byte) (Examination, error) {
	m, err := apart.Load(ctx, wasm)
	if err != nil {
		return Examination{}, fault.Wrap(fault.KindVerification, err).WithHint("%s says more about a module of yours", fault.Build(""))
	}
	i := m.Info()
	e := Examination{CompileMS: float64(i.CompileTime) / float64(time.Millisecond), Cached: i.FromCache}
	if err := m.Close(ctx); err != nil {
		return e, err
	}
	if e.Snapshot, err = snapshotOf(ctx, apart, wasm); err != nil {
		e.Note = err.Error()
	}
	return e, ctx.Err()
}

// snapshotOf initialises a module and measures its state afterwards.
func snapshotOf(ctx context.Context, apart *worker.Runtime, wasm []byte) (*Snapshot, error) {
	prepared, err := sandbox.Preinitialisable(wasm)
	if err != nil {
		return nil, err
	}
	m, err := apart.Load(ctx, prepared)
	if err != nil {
		return nil, err
	}
	defer m.Close(context.WithoutCancel(ctx))
	r, err := m.Call(ctx, sandbox.Call{Export: sandbox.PreinitExport, Limits: sandbox.PreinitLimits(sandbox.DefaultLimits().MemoryBytes)})
	if err != nil {
		return nil, err
	}
	return readSnapshot(r.Output, r.Fuel)
}

// What follows the memory: the globals, then how many pages and globals there
// are (see [sandbox.Preinitialisable]).
const (
	snapshotTrailer = 16
	wasmPage        = 64 << 10
	systemPage      = 4 << 10
)

var errState = errors.New("the state of the module cannot be read")

func readSnapshot(state []byte, fuel uint64) (*Snapshot, error) {
	if len(state) < snapshotTrailer {
		return nil, errState
	}
	end := state[len(state)-snapshotTrailer:]
	pages, globals := binary.LittleEndian.Uint64(end), binary.LittleEndian.Uint64(end[8:])
	if pages > 1<<16 || globals > 1<<16 || uint64(len(state)) != pages*wasmPage+globals*8+snapshotTrailer {
		return nil, fmt.Errorf("%w: %d bytes for %d pages and %d globals", errState, len(state), pages, globals)
	}
	s := &Snapshot{MemoryBytes: int64(pages) * wasmPage, Globals: int(globals), Fuel: fuel}
	zero := make([]byte, systemPage)
	for at := 0; at < int(s.MemoryBytes); at += systemPage {
		if !bytes.Equal(state[at:at+systemPage], zero) {
			s.UsedBytes += systemPage
		}
	}
	return s, nil
}
