package journal

import (
	"bytes"
	"os"
	"sync"
	"time"
)

// A Marker tells cheaply whether anything was committed to a journal. It is safe for
// concurrent use.
type Marker struct {
	path string

	mu     sync.Mutex
	file   *os.File  // the head; nil for none
	opened time.Time // a repair or a restore puts other files in their place
	last   [headSize]byte
	now    [headSize]byte
	count  uint64
}

// reopenEvery is how long it may take until a Marker sees a journal that was replaced.
const reopenEvery = 20 * time.Millisecond

// Marker returns a new Marker. Close it when done.
func (j *Journal) Marker() *Marker { return &Marker{path: j.headPath()} }

// Count is another number after each commit, of whatever process. It reads one sector,
// and judges nothing of it: what is wrong with the journal shows when it is used.
func (m *Marker) Count() uint64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	if now := time.Now(); m.file == nil || now.Sub(m.opened) > reopenEvery {
		m.close()
		m.file, _ = os.Open(m.path)
		m.opened = now
	}
	clear(m.now[:])
	if m.file != nil {
		_, _ = m.file.ReadAt(m.now[:], 0) // what is not there is zeros
	}
	if !bytes.Equal(m.now[:], m.last[:]) {
		m.last = m.now
		m.count++
	}
	return m.count
}

func (m *Marker) close() {
	if m.file != nil {
		_ = m.file.Close() // it was only read
		m.file = nil
	}
}

// Close closes the file that is looked at. Using the Marker again opens it again.
func (m *Marker) Close() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.close()
}
