package sandbox

import "context"

// A Guest is the instance that is calling a host function. It is valid only
// until the host function returns, and only on its goroutine.
type Guest struct{}

// Read returns a copy of n bytes of the guest's memory at ptr.
func (g *Guest) Read(ptr, n uint32) ([]byte, error) { return nil, nil }

// View returns n bytes of the guest's memory at ptr without copying them. They
// are valid until the host function returns or the guest's memory grows.
func (g *Guest) View(ptr, n uint32) ([]byte, error) { return nil, nil }

// Write copies b into the guest's memory at ptr.
func (g *Guest) Write(ptr uint32, b []byte) error { return nil }

// Block returns a copy of the Extism block at off. Offset 0 is no block and
// gives nil.
func (g *Guest) Block(off uint64) ([]byte, error) { return nil, nil }

// NewBlock copies b into a new Extism block and returns its offset, 0 for an
// empty b. The error is a *LimitError when memory has run out.
func (g *Guest) NewBlock(b []byte) (uint64, error) { return 0, nil }

// Free gives an Extism block back. Offset 0 and unknown offsets do nothing.
func (g *Guest) Free(off uint64) {}

// Env returns Call.Env.
func (g *Guest) Env() any { return nil }

// Config returns Call.Config. It must not be changed.
func (g *Guest) Config() map[string]string { return nil }

// Log hands a line to Call.Log, within Limits.LogBytes.
func (g *Guest) Log(level Level, msg string) {}

// SetResponse keeps the answer of this host function until the guest takes it
// with response_read, or the next one replaces it. Both slices are kept, not
// copied.
func (g *Guest) SetResponse(meta, body []byte) {}

// Call runs another export of the calling instance, within the limits of the
// same call. Calls nest at most [MaxDepth] deep; beyond, the error is
// [ErrDepth].
func (g *Guest) Call(ctx context.Context, export string, params ...uint64) ([]uint64, error) {
	return nil, nil
}

// MaxDepth is how deep calls nest: a host function that calls back into a
// guest, or into another module with the context it was given.
const MaxDepth = 16
