package sandbox

import (
	"fmt"
	"sync"

	"github.com/skillet-run/skillet/host/engine/sandbox/wasi"
)

// A snapshot is the state of an instance after its initialisation and before
// its first call: what every call starts from.
//
// What a guest can change, and where it goes back to:
//
//	memory             image.restore
//	size of memory     instance.shrink
//	mutable globals    set from the snapshot; those that cannot be (vectors,
//	                   references) make the module one that is not kept
//	tables, segments   modules that change them are not kept
//	fuel counter       instance.resume, with what initialisation used
//	Extism blocks      kernel.renew, for each call
//	descriptors        wasi.State.SetTable
//	files, streams     closed, and made anew for each call
//	time, randomness   the same
type snapshot struct {
	image   *image
	globals []uint64
	fuel    int64  // used by the initialisation
	peak    uint64 // of its memory
	mark    wasi.Mark
	table   wasi.Table

	sumOnce sync.Once
	sum     digest // see digest
}

// takeSnapshot copies the state of an instance that was just initialised.
func (in *instance) takeSnapshot() (*snapshot, error) {
	m := &in.linear.memory
	img, err := newImage(m.bytes(m.size), in.module.runtime.strategy.mapped() && m.reserved != nil)
	if err != nil {
		return nil, fmt.Errorf("take a snapshot: %w", err)
	}
	s := &snapshot{image: img, fuel: in.fuel.used(), peak: in.memory.peak, mark: in.wasi.Mark()}
	s.table, _ = in.wasi.Table() // there is one: see untouched
	s.globals = in.globalValues()
	return s, nil
}

// size is the memory's, in bytes.
func (s *snapshot) size() uint64 { return uint64(len(s.image.bytes)) }

// attach brings a new instance to a snapshot. Its memory may have any contents
// and no more than the size of the snapshot's.
func (in *instance) attach(s *snapshot) error {
	m := &in.linear.memory
	if m.size > s.size() {
		return fmt.Errorf("a memory of %d bytes is larger than the snapshot of %d", m.size, s.size())
	}
	if !in.growTo(s.size()) {
		return fmt.Errorf("a memory of %d bytes does not grow to the %d of the snapshot", m.size, s.size())
	}
	if err := s.image.attach(m); err != nil {
		return err
	}
	in.setGlobals(s.globals)
	in.at = s
	return nil
}

// growTo makes memory size bytes long, which is no less than it is.
func (in *instance) growTo(size uint64) bool {
	more := (size - in.linear.memory.size) / pageBytes
	if more == 0 {
		return true
	}
	_, ok := in.mod.Memory().Grow(uint32(more))
	return ok
}

func (in *instance) globalValues() (values []uint64) {
	for _, g := range in.globals {
		values = append(values, g.Get())
	}
	return values
}

func (in *instance) setGlobals(values []uint64) {
	for i, g := range in.globals {
		g.Set(values[i])
	}
}

// goBack returns an instance to its snapshot after a call. quiet is what the
// watch says of the call. When goBack fails, the instance is of no use any more.
func (in *instance) goBack(quiet bool) (restored, error) {
	s := in.at
	m := &in.linear.memory
	done, err := s.image.restore(m, in.module.runtime.strategy, quiet)
	if err != nil {
		return done, err
	}
	if err := in.shrink(s.size()); err != nil {
		return done, err
	}
	in.setGlobals(s.globals)
	return done, nil
}

// shrink takes back what the memory has grown by. wazero has no such thing, but
// it asks our allocator when a memory grows, and takes the size of what it
// gets for the size of the memory. wasmbin declares memories by a page larger
// than they may be, so that there is always one to ask for.
func (in *instance) shrink(size uint64) error {
	m := &in.linear.memory
	if m.size == size {
		return nil
	}
	m.budget.give(m.size - size)
	m.size, m.shrink = size, true
	_, ok := in.mod.Memory().Grow(1)
	if m.shrink = false; !ok || uint64(in.mod.Memory().Size()) != size {
		return fmt.Errorf("a memory does not go back to %d bytes", size)
	}
	return nil
}

// resume lets a call start where the snapshot was taken, as if the
// initialisation had been part of it.
func (in *instance) resume() error {
	s := in.at
	in.memory.used, in.memory.peak = s.size(), s.peak
	in.fuel.left = in.fuel.budget - s.fuel
	in.fuel.cell.Set(0)
	if !in.fuel.refill() {
		return in.fuelError()
	}
	if err := in.openWASI(s.mark); err != nil || !in.module.wasi {
		return err
	}
	in.wasi.SetTable(s.table)
	return nil
}
