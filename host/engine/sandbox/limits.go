package sandbox

import (
	"fmt"
	"time"

	"github.com/skillet-run/skillet/host/engine/jail"
)

// Limits bounds one call. A zero field means the figure of [DefaultLimits], so
// the zero value is the default set and no field can be left without a bound.
type Limits struct {
	// MemoryBytes bounds linear memory and Extism blocks together. It is
	// rounded down to whole 64 KiB pages. Most is [MaxMemoryBytes].
	MemoryBytes uint64
	// Fuel is the budget of work, in the units of package wasmbin: about one
	// per instruction, plus the costs that host functions declare.
	Fuel uint64
	// Wall is the longest the call may last on the clock, whoever spends it:
	// the guest, a host function or a sleep.
	Wall time.Duration
	// WallSet is what Wall was set to, where Wall is only what is left of it: errors
	// tell it.
	WallSet time.Duration
	// InputBytes is the longest input that is accepted.
	InputBytes int64
	// OutputBytes is the longest output, and the longest standard output of a
	// WASI command.
	OutputBytes int64
	// LogBytes is how much of standard error and, counted apart, of the log
	// is kept. What follows is dropped and a last line says so.
	LogBytes int64
	// HostCalls counts calls that leave the sandbox: the functions of
	// [Options.Functions] and the WASI functions that take a path. What stays
	// inside (blocks, input, output, clocks, reading an open file) costs fuel.
	HostCalls int
	// TableElems is the most elements one table may have.
	TableElems uint32
	// Files bounds what the call does through [Call.FS], besides the quota
	// that file tree has of its own.
	Files jail.Quota
}

const (
	pageBytes = 64 << 10
	// MaxMemoryBytes is the hard ceiling of Limits.MemoryBytes: what 32-bit
	// linear memory can hold.
	MaxMemoryBytes = 4 << 30
	// MaxTableElems is the hard ceiling of Limits.TableElems, and what every table that
	// can grow is bounded by when its module is loaded.
	MaxTableElems = 100_000
)

// DefaultLimits returns the bounds of a call that sets none: 64 MiB of memory,
// 200,000,000,000 units of fuel, 30 seconds, 8 MiB of input, 1 MiB of output,
// 64 KiB of log, 10,000 host calls and 100,000 elements a table.
func DefaultLimits() Limits {
	return Limits{
		MemoryBytes: 64 << 20,
		Fuel:        200_000_000_000,
		Wall:        30 * time.Second,
		InputBytes:  8 << 20,
		OutputBytes: 1 << 20,
		LogBytes:    64 << 10,
		HostCalls:   10_000,
		TableElems:  100_000,
	}
}

// Filled returns l with every zero field at its default, as [Module.Call] reads
// it.
func (l Limits) Filled() Limits { return l.filled() }

// filled returns l with every zero field at its default.
func (l Limits) filled() Limits {
	d := DefaultLimits()
	orElse(&l.MemoryBytes, d.MemoryBytes)
	orElse(&l.Fuel, d.Fuel)
	orElse(&l.Wall, d.Wall)
	orElse(&l.WallSet, l.Wall)
	orElse(&l.InputBytes, d.InputBytes)
	orElse(&l.OutputBytes, d.OutputBytes)
	orElse(&l.LogBytes, d.LogBytes)
	orElse(&l.HostCalls, d.HostCalls)
	orElse(&l.TableElems, d.TableElems)
	return l
}

func orElse[T comparable](v *T, fallback T) {
	var zero T
	if *v == zero {
		*v = fallback
	}
}

// check refuses limits that mean nothing or pass a hard ceiling.
func (l Limits) check() error {
	switch {
	case l.MemoryBytes > MaxMemoryBytes:
		return fmt.Errorf("memory limit %s is above the ceiling of %s", byteCount(l.MemoryBytes), byteCount(MaxMemoryBytes))
	case l.MemoryBytes < pageBytes:
		return fmt.Errorf("memory limit of %d bytes is less than one page of %d", l.MemoryBytes, pageBytes)
	case l.TableElems > MaxTableElems:
		return fmt.Errorf("table limit %d is above the ceiling of %d", l.TableElems, MaxTableElems)
	case l.Fuel > 1<<62:
		return fmt.Errorf("fuel limit %d is above the ceiling of %d", l.Fuel, uint64(1<<62))
	case l.Wall < 0 || l.InputBytes < 0 || l.OutputBytes < 0 || l.LogBytes < 0 || l.HostCalls < 0:
		return fmt.Errorf("a limit is negative")
	}
	return nil
}

// byteCount writes n in the largest binary unit that divides it.
func byteCount[T ~int64 | ~uint64 | ~int | ~uint32](n T) string {
	for _, u := range []struct {
		size T
		name string
	}{{1 << 30, "GiB"}, {1 << 20, "MiB"}, {1 << 10, "KiB"}} {
		if n >= u.size && n%u.size == 0 {
			return fmt.Sprintf("%d %s", n/u.size, u.name)
		}
	}
	return fmt.Sprintf("%d bytes", n)
}
