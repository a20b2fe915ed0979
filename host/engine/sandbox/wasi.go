package sandbox

import (
	"context"
	"time"

	"github.com/tetratelabs/wazero/api"

	"github.com/skillet-run/skillet/host/engine/sandbox/wasi"
)

const (
	wasiModule = wasi.ModuleName

	// argv0 is what every guest is called.
	argv0 = "skill"
)

// offerWASI builds WASI preview 1.
func (r *Runtime) offerWASI(ctx context.Context) error {
	var entries []hostEntry
	for _, f := range wasi.Functions() {
		entries = append(entries, wasiEntry(f))
	}
	return r.offerModule(ctx, wasiModule, entries)
}

// wasiEntry is one function: it counts and charges before it runs. Those that
// may take a while look at the time themselves.
func wasiEntry(f wasi.Function) hostEntry {
	cost := uint64(fuelWASI)
	if f.Path {
		cost = fuelPath
	}
	run := func(ctx context.Context, _ api.Module, stack []uint64) {
		in := running(ctx)
		if f.Path {
			in.countHostCall()
		}
		price := cost
		for _, i := range f.Lengths {
			price += uint64(uint32(stack[i]))
		}
		in.charge(price)
		f.Call(&in.wasi, in.guestMemory(), stack)
	}
	return hostEntry{FuncType{wasiModule, f.Name, f.Params, f.Results}, run}
}

// guestMemory is the whole of linear memory, valid until it grows.
func (in *instance) guestMemory() []byte {
	m := &in.linear.memory
	return m.bytes(m.size)
}

// openWASI gives the guest what the call grants, and fixed stand-ins for the
// rest. Time and randomness go on from a mark.
func (in *instance) openWASI(from wasi.Mark) error {
	if !in.module.wasi {
		return nil
	}
	set := wasi.Settings{Args: []string{argv0}, Tape: in.call.Tape}
	if !in.starting {
		set.Clock, set.Random, set.Seed = in.call.Clock, in.call.Random, in.call.Seed
	}
	if in.command() {
		set.Args = append(set.Args, in.call.Args...)
	}
	if in.files != nil {
		set.Files = in.files
	}
	err := in.wasi.Reset((*wasiHost)(in), set)
	in.wasi.Resume(from)
	if !in.starting {
		in.wasi.Pass(in.call.Later)
	}
	return err
}

// wasiHost is what an instance does for the functions of WASI.
type wasiHost instance

func (h *wasiHost) in() *instance { return (*instance)(h) }

// Charge takes fuel.
func (h *wasiHost) Charge(fuel uint64) { h.in().charge(fuel) }

// ChargeBytes takes fuel for bytes that are moved.
func (h *wasiHost) ChargeBytes(n int) { h.in().chargeBytes(uint64(n)) }

// CheckTime ends a call whose time is over.
func (h *wasiHost) CheckTime() { h.in().checkTime() }

// Exit ends the guest.
func (h *wasiHost) Exit(code uint32) { h.in().exit(code) }

// ReadStdin reads standard input.
func (h *wasiHost) ReadStdin(b []byte) int { return h.in().readStdin(b) }

// StdinLen is how much of it is left.
func (h *wasiHost) StdinLen() int { return h.in().stdinLen() }

// WriteStdout writes to standard output.
func (h *wasiHost) WriteStdout(b []byte) { h.in().writeStdout(b) }

// WriteStderr writes to standard error.
func (h *wasiHost) WriteStderr(b []byte) { h.in().writeStderr(b) }

// Sleep waits, at the longest until the call's context is done, which ends the
// call.
func (h *wasiHost) Sleep(d time.Duration) {
	in := h.in()
	in.checkTime()
	in.unobserved()
	if d > 0 {
		timer := time.NewTimer(d)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-in.ctx.Done():
		}
	}
	in.checkTime()
}
