package sandbox

import (
	"bytes"
	"compress/flate"
	"io"
	"os"
	"slices"
)

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

// OpenStage takes a staging directory in dir, as opening a cache does, and
// returns it with the lock that holds it.
func OpenStage(dir string) (stage string, lock *os.File, err error) {
	c := codeCache{dir: dir}
	err = c.openStage()
	return c.stage, c.lock, err
}

// RemoveStages removes the staging directories that nobody holds.
func RemoveStages(dir string) { removeStages(dir) }
