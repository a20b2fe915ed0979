package sandbox

import (
	"bytes"
	"compress/flate"
	"io"
	"slices"

	"github.com/skillet-run/skillet/host/engine/sandbox/codecache"
)

// TryLock takes the lock of a file, as processes that work with a cache do.
var TryLock = codecache.TryLock

// SessionContents unpacks a saved session, without its seal.
func SessionContents(saved []byte) []byte {
	b, _ := io.ReadAll(flate.NewReader(bytes.NewReader(saved[sessionHeader:])))
	return b
}

// SealSession packs and seals contents as a saved session of a module.
func SealSession(m *Module, contents []byte) []byte {
	var packed bytes.Buffer
	z, _ := flate.NewWriter(&packed, flate.BestSpeed)
	z.Write(contents)
	z.Close()
	return slices.Concat([]byte(sessionMagic), m.runtime.seal(sessionDomain, packed.Bytes()), packed.Bytes())
}
