package sandbox

import (
	"runtime"
	"sync"
	"unsafe"

	"golang.org/x/sys/unix"
)

// A page that maps the image becomes a page of the memory's own by the page
// fault of its first write, and the kernel counts the page faults of each
// thread: those of the guest's code, those of Go's, and those of system calls
// that write for them. A thread that caused none has written nothing but pages
// that were the memory's own before.

// faultWatch counts the page faults of one thread. While it is on, its
// goroutine stays on that thread.
type faultWatch struct {
	on     bool
	before int64
}

// begin watches the calling goroutine, which must call end or stop.
func (w *faultWatch) begin() {
	runtime.LockOSThread()
	w.on, w.before = true, threadFaults()
}

// stop gives up. It may be called more than once.
func (w *faultWatch) stop() {
	if w.on {
		w.on = false
		runtime.UnlockOSThread()
	}
}

// end stops, and reports whether it is certain that there was no page fault
// since begin.
func (w *faultWatch) end() bool {
	if !w.on {
		return false
	}
	now := threadFaults()
	w.stop()
	return now == w.before && now != uncounted
}

// uncounted is what threadFaults returns when the kernel does not tell.
const uncounted = -1

// threadFaults is how many page faults the calling thread has caused, ru_minflt
// and ru_majflt of getrusage(2). It takes a third of a microsecond.
func threadFaults() int64 {
	var u unix.Rusage
	_, _, errno := unix.RawSyscall(unix.SYS_GETRUSAGE, unix.RUSAGE_THREAD, uintptr(unsafe.Pointer(&u)), 0)
	if errno != 0 {
		return uncounted
	}
	return int64(u.Minflt) + int64(u.Majflt)
}

// countsFaults tries whether the kernel counts the faults this package goes by:
// those of the first write to a page that was never touched, and to one that
// was read.
var countsFaults = sync.OnceValue(func() bool {
	img, err := newMappedImage(make([]byte, 2*pageBytes))
	if err != nil {
		return false
	}
	defer img.close()
	probe, err := unix.Mmap(-1, 0, len(img.bytes), unix.PROT_NONE, unix.MAP_PRIVATE|unix.MAP_ANON)
	if err != nil {
		return false
	}
	defer func() { _ = unix.Munmap(probe) }()
	if img.file.mapOver(probe) != nil {
		return false
	}
	return probe[pageBytes] == 0 && causesFault(&probe[0]) && causesFault(&probe[pageBytes])
})

func causesFault(b *byte) bool {
	var w faultWatch
	w.begin()
	*b = 1
	return !w.end()
}
