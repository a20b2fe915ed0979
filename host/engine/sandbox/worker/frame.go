package worker

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"sync"
)

// kind says what a frame carries, and with it who may send it when.
type kind uint8

const (
	kindHello    kind = iota + 1 // worker: I am here
	kindSetup                    // parent: your bounds, and what you may ask for
	kindReady                    // worker: I am within them
	kindCompile                  // parent: compile this
	kindCode                     // worker: this is its code
	kindLoad                     // parent: load this
	kindLoaded                   // worker: it is loaded
	kindFailed                   // worker: it could not be compiled or loaded
	kindCall                     // parent: call this
	kindResult                   // worker: this came of it
	kindCancel                   // parent: end the call
	kindHostCall                 // worker: the guest calls a host function
	kindHostDone                 // parent: it has returned
	kindOp                       // parent: do this to the guest
	kindOpDone                   // worker: done
	kindFile                     // worker: do this to a file
	kindFileDone                 // parent: done
	kindLook                     // worker: the guest looks at the clock, or draws
	kindSeen                     // parent: this is what it sees
	kindJob                      // parent: do this work
	kindDone                     // worker: it is done
	kindQuestion                 // worker: what is this, for the work?
	kindAnswer                   // parent: that
	kindAttempt                  // tests only: try what must not work
	kindTried                    // tests only: what came of it
)

// answers reports whether it is part of what the worker is doing.
func (k kind) answers() bool {
	switch k {
	case kindOp, kindHostDone, kindFileDone, kindSeen, kindAnswer:
		return true
	}
	return false
}

// A frame is a message on its way: the length of its body (4 bytes, little
// endian), its kind (1 byte), the number of the call it belongs to (4 bytes),
// and its body.
type frame struct {
	kind kind
	call uint32
	body []byte
}

const frameHeader = 4 + 1 + 4

const (
	// maxBody is the largest body of all: the code of the largest module.
	maxBody = 1 << 30
	// step is how much memory a frame gets before it has sent that much.
	step = 1 << 20
)

// A wire carries frames both ways. Any goroutine may send; one receives.
type wire struct {
	in  *bufio.Reader
	out io.Writer

	mu sync.Mutex // held while sending
}

func newWire(in io.Reader, out io.Writer) *wire {
	return &wire{in: bufio.NewReaderSize(in, 64<<10), out: out}
}

// send writes one frame.
func (w *wire) send(k kind, call uint32, message any) error {
	b := encode(make([]byte, frameHeader, 256), message)
	size := len(b) - frameHeader
	if size > maxBody {
		return fmt.Errorf("%w: %d bytes are too long to send", errMalformed, size)
	}
	binary.LittleEndian.PutUint32(b, uint32(size))
	b[4] = byte(k)
	binary.LittleEndian.PutUint32(b[5:], call)
	w.mu.Lock()
	defer w.mu.Unlock()
	_, err := w.out.Write(b)
	return err
}

// receive reads one frame with a body of at most so many bytes.
func (w *wire) receive(most int) (f frame, err error) {
	var header [frameHeader]byte
	if _, err := io.ReadFull(w.in, header[:]); err != nil {
		return f, err
	}
	size := binary.LittleEndian.Uint32(header[:])
	f.kind, f.call = kind(header[4]), binary.LittleEndian.Uint32(header[5:])
	if int64(size) > int64(most) {
		return f, fmt.Errorf("%w: a frame of kind %d has %d bytes, more than %d", errMalformed, f.kind, size, most)
	}
	f.body, err = readBody(w.in, int(size))
	return f, err
}

// readBody reads so many bytes. Memory grows with what has come.
func readBody(r io.Reader, size int) ([]byte, error) {
	b := make([]byte, min(size, step))
	n, err := io.ReadFull(r, b)
	for err == nil && n < size {
		b = append(b, make([]byte, min(size-n, n))...)
		var more int
		more, err = io.ReadFull(r, b[n:])
		n += more
	}
	return b[:n], err
}
