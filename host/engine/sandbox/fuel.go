package sandbox

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"runtime/metrics"
	"strconv"
	"time"

	"github.com/tetratelabs/wazero/api"
)

// What the functions of this package cost, in units of fuel. One unit is about
// one instruction of the guest, so that the figures follow from how long each
// takes beside one.
const (
	fuelKernel = 50     // look into a block
	fuelAlloc  = 500    // make or free a block
	fuelBulk   = 200    // skillet:host/v1, besides fuelBytes
	fuelWASI   = 500    // a WASI call that stays in the sandbox
	fuelPath   = 20_000 // a WASI call that takes a path

	// bytesPerFuel is how many bytes one unit moves between host and guest.
	bytesPerFuel = 16
)

// fuelSlice is what the guest gets at once before it must ask for more: 0.1 to
// 0.4 milliseconds of work as a rule, and more where each instruction touches
// memory that is not there yet. Asking takes about a microsecond.
const fuelSlice = 400_000

// meter is the budget of one call. The guest counts down in a global of its
// own, the cell; the meter holds what it has not been given yet. What the host
// does is paid from there, so that the cell is seldom touched.
type meter struct {
	budget  int64
	left    int64             // not given to the cell
	cell    api.MutableGlobal // nil before the module is instantiated
	hostRun int64             // fuel the host has used since the last tick
	ticks   uint32
}

// overdraft is more than a guest can take from the cell beyond what is in it,
// before it asks for more: the cost of the straight code of one function.
const overdraft = 1 << 24

// balance is what is left altogether. It is negative after an instruction or
// call that cost more than there was.
func (m *meter) balance() int64 {
	if m.cell == nil {
		return m.left
	}
	return m.left + int64(m.cell.Get())
}

// used is what was used, which can be more than the budget.
func (m *meter) used() int64 { return m.budget - m.balance() }

// spent is what was used, at most the budget.
func (m *meter) spent() uint64 {
	return uint64(m.budget - max(0, min(m.balance(), m.budget)))
}

// refill gives the cell its next slice, or reports that nothing is left.
func (m *meter) refill() bool {
	balance := m.balance()
	if balance < 0 {
		return false
	}
	slice := min(balance, fuelSlice)
	m.left, m.hostRun = balance-slice, 0
	m.cell.Set(uint64(slice))
	return true
}

// take takes fuel for work the host does. It reports false when the guest must
// look after its budget: there is none left, or the host alone has used a
// slice.
func (m *meter) take(cost uint64) bool {
	const most = 1 << 61
	c := int64(min(cost, most))
	m.left = max(m.left-c, -most)
	m.hostRun += c
	if m.left >= overdraft {
		return m.hostRun <= fuelSlice
	}
	return m.balance() >= 0 && m.hostRun <= fuelSlice
}

// charge takes fuel for work the host does. It ends the call when there is none
// left.
func (in *instance) charge(cost uint64) {
	if !in.fuel.take(cost) {
		in.tick()
	}
}

// chargeBytes charges for n bytes that are moved.
func (in *instance) chargeBytes(n uint64) { in.charge(n / bytesPerFuel) }

// spend takes fuel for n bytes from within a host function, which must not be
// left in the middle: whether there was enough is looked at when it returns.
func (in *instance) spend(n uint64) { in.fuel.take(n / bytesPerFuel) }

// tick is where a guest that only computes meets the host: at the end of each
// slice it gets the next one, or its end. Being Go code, it is also where the
// garbage collector gets its turn, and now and then the scheduler.
func (in *instance) tick() {
	in.checkTime()
	if !in.fuel.refill() {
		in.stop(in.fuelError())
	}
	if in.fuel.ticks++; in.fuel.ticks%ticksPerYield == 0 {
		in.unobserved()
		in.yield()
	}
}

// ticksPerYield is how many slices a guest has before other goroutines have
// their turn: about a millisecond of work.
const ticksPerYield = 3

// yield lets other goroutines run when all processors are busy. While one is
// idle it takes whatever can run; yielding would only wake it, and move the guest to a processor with
// nothing of it in its caches.
func (in *instance) yield() {
	if in.busy == nil {
		in.busy = []metrics.Sample{{Name: "/sched/goroutines/running:goroutines"}, {Name: "/sched/gomaxprocs:threads"}}
	}
	metrics.Read(in.busy)
	running, processors := in.busy[0].Value, in.busy[1].Value
	if running.Kind() != metrics.KindUint64 || processors.Kind() != metrics.KindUint64 || running.Uint64() >= processors.Uint64() {
		runtime.Gosched()
	}
}

func (in *instance) fuelError() *LimitError {
	return in.limit("fuel", strconv.FormatUint(in.call.Limits.Fuel, 10)+" units", "max_fuel", ErrFuel)
}

// checkTime ends the call when its time is over or its context is done, or when
// it was ended before and something in it carried on.
func (in *instance) checkTime() {
	in.carryOn()
	if err := in.timeOver(in.bound.elapsed()); err != nil {
		in.stop(err)
	}
}

// errWall is the cause of a context that Limits.Wall ended.
var errWall = errors.New("wall time is over")

// timeOver says why a call that has run for so long must end, or nil.
func (in *instance) timeOver(elapsed time.Duration) error {
	if elapsed > in.bound.wall {
		return in.wallError()
	}
	err := errAfter(in.ctx, elapsed)
	if err == nil {
		return nil
	}
	cause := context.Cause(in.ctx)
	if cause == nil {
		cause = err
	}
	switch {
	case errors.Is(cause, errWall):
		return in.wallError()
	case errors.Is(cause, context.DeadlineExceeded):
		return &LimitError{What: "wall time", Limit: callersDeadline, kind: ErrTime}
	default:
		return fmt.Errorf("stopped: %w", cause)
	}
}

func (in *instance) wallError() error {
	return in.limit("wall time", in.call.Limits.WallSet.String(), "max_execution_time", ErrTime)
}

// limit makes the error of a limit that a manifest's field raises.
func (in *instance) limit(what, value, field string, kind error) *LimitError {
	e := &LimitError{What: what, Limit: value, kind: kind}
	if field != "" {
		e.Setting = "security.resource_limits." + field
	}
	return e
}
