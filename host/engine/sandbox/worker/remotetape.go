package worker

import (
	"github.com/skillet-run/skillet/host/engine/jail"
	"github.com/skillet-run/skillet/host/engine/sandbox/wasi"
)

// remoteTape is, in the worker, the tape of a call that the parent has. Files
// are with the parent anyway, and pass the tape there.
type remoteTape struct {
	child *child
	waits bool
}

// Clock reads the clock here and asks the parent what the guest sees.
func (t *remoteTape) Clock(id uint32, read func() int64) (int64, wasi.Errno) {
	var s seen
	t.child.ask(kindLook, &look{Clock: id, Now: read()}, kindSeen, &s)
	return s.Now, wasi.Errno(s.Errno)
}

// Random draws here, where randomness is as good, and asks the parent what
// the guest gets.
func (t *remoteTape) Random(b []byte, draw func(b []byte)) wasi.Errno {
	draw(b)
	var s seen
	t.child.ask(kindLook, &look{Random: true, Bytes: b}, kindSeen, &s)
	copy(b, s.Bytes)
	return wasi.Errno(s.Errno)
}

// Files returns the tree that asks the parent.
func (t *remoteTape) Files(open func(refused func(*jail.QuotaError)) wasi.FS, refused func(*jail.QuotaError)) wasi.FS {
	if open == nil {
		return nil
	}
	return open(refused)
}

// Waits reports whether sleeping takes time.
func (t *remoteTape) Waits() bool { return t.waits }
