package sandbox

import "bytes"

// hostPage is the granularity at which pages are compared and counted: the
// smallest page of the systems there are. Kernels with larger pages report and
// drop several of these at once.
const hostPage = 4096

// dropAbove is how many pages are copied back at most. Beyond, they are
// dropped: the call that wrote so many took far longer than what the page
// faults of the next one cost, and memory that one large call used is not kept
// for all the small ones after it.
const dropAbove = 512

// An image is the memory of a snapshot. It does not change.
type image struct {
	bytes []byte // all of it
	file  sharedFile
}

// newImage copies a memory. With mapped it lives in a file that instances can
// map, otherwise on the Go heap.
func newImage(memory []byte, mapped bool) (*image, error) {
	if !mapped || len(memory) == 0 {
		return &image{bytes: bytes.Clone(memory), file: noFile}, nil
	}
	return newMappedImage(memory)
}

// attach makes the image the contents of a memory of the same size that was
// never attached before, or has been written to.
func (i *image) attach(m *linearMemory) error {
	if i.file == noFile || m.reserved == nil {
		copy(m.bytes(m.size), i.bytes)
		return nil
	}
	if err := i.file.mapOver(m.reserved[:m.size]); err != nil {
		return err
	}
	m.mapped = true
	m.own.forget()
	return nil
}

// restored says how a memory was returned to its image.
type restored struct {
	how   Strategy
	pages int // of 4 KiB that were written or dropped for it
}

// restore returns a memory to the image, whatever size it has grown to, and
// zeroes what lies behind. quiet is true when all who wrote to it were watched
// and caused no page fault.
func (i *image) restore(m *linearMemory, s Strategy, quiet bool) (restored, error) {
	if m.mapped {
		return restoreMapped(m, i.bytes, s, quiet)
	}
	now := m.bytes(m.size)
	copy(now, i.bytes)
	clear(now[len(i.bytes):])
	return restored{s, len(now) / hostPage}, nil
}

// isZero reports whether all bytes are zero.
func isZero(b []byte) bool {
	const step = 512
	var zero [step]byte
	for len(b) >= step {
		if !bytes.Equal(b[:step], zero[:]) {
			return false
		}
		b = b[step:]
	}
	return bytes.Equal(b, zero[:len(b)])
}
