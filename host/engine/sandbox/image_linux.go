package sandbox

import (
	"errors"
	"fmt"
	"sync"
	"unsafe"

	"golang.org/x/sys/unix"
)

// sharedFile is the descriptor of a sealed file in memory, or noFile.
type sharedFile int

const noFile sharedFile = -1

// newMappedImage writes a memory into a file of its own. Pages that are all
// zero stay holes.
func newMappedImage(memory []byte) (_ *image, err error) {
	fd, err := unix.MemfdCreate("skillet snapshot", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	if err != nil {
		return nil, fmt.Errorf("make a file for the snapshot: %w", err)
	}
	i := &image{file: sharedFile(fd)}
	if err := i.fill(memory); err != nil {
		i.close()
		return nil, fmt.Errorf("write the snapshot: %w", err)
	}
	return i, nil
}

func (i *image) fill(memory []byte) (err error) {
	fd := int(i.file)
	if err := unix.Ftruncate(fd, int64(len(memory))); err != nil {
		return err
	}
	for off := 0; off < len(memory); off += pageBytes {
		page := memory[off : off+pageBytes]
		if isZero(page) {
			continue
		}
		if n, err := unix.Pwrite(fd, page, int64(off)); err != nil || n < len(page) {
			return errors.Join(fmt.Errorf("%d of %d bytes", n, len(page)), err)
		}
	}
	const seals = unix.F_SEAL_SEAL | unix.F_SEAL_SHRINK | unix.F_SEAL_GROW | unix.F_SEAL_WRITE
	if _, err := unix.FcntlInt(uintptr(fd), unix.F_ADD_SEALS, seals); err != nil {
		return err
	}
	i.bytes, err = unix.Mmap(fd, 0, len(memory), unix.PROT_READ, unix.MAP_SHARED)
	return err
}

// close frees the image. No memory may be attached to it any more.
func (i *image) close() {
	if i.file == noFile {
		return
	}
	if i.bytes != nil {
		_ = unix.Munmap(i.bytes)
	}
	_ = unix.Close(int(i.file))
	i.bytes, i.file = nil, noFile
}

// mapOver puts a private mapping of the file in the place of b.
func (f sharedFile) mapOver(b []byte) error {
	_, err := unix.MmapPtr(int(f), 0, unsafe.Pointer(unsafe.SliceData(b)), uintptr(len(b)),
		unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_FIXED|unix.MAP_NORESERVE)
	if err != nil {
		return fmt.Errorf("map the snapshot: %w", err)
	}
	return nil
}

// mappedStrategies returns what the kernel has.
func mappedStrategies() []Strategy {
	switch {
	case pagemap() < 0:
		return []Strategy{StrategyMadvise}
	case !countsFaults():
		return []Strategy{StrategyScan, StrategyMadvise}
	}
	return []Strategy{StrategyFaults, StrategyScan, StrategyMadvise}
}

// pagemap opens the process's page map once, and tries a scan. It returns -1
// where the kernel has none or does not let us.
var pagemap = sync.OnceValue(func() int {
	fd, err := unix.Open("/proc/self/pagemap", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return -1
	}
	if !canScan(fd) {
		unix.Close(fd)
		return -1
	}
	return fd
})

// canScan tries a scan: a written page of memory of our own must be found.
func canScan(fd int) bool {
	probe, err := unix.Mmap(-1, 0, pageBytes, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
	if err != nil {
		return false
	}
	defer func() { _ = unix.Munmap(probe) }()
	probe[0] = 1
	var found [1]pageRegion
	n, _, err := scanPages(fd, probe, found[:])
	return err == nil && n == 1
}

// pageRegion and scanArguments are struct page_region and struct pm_scan_arg of
// <linux/fs.h>.
type pageRegion struct{ start, end, categories uint64 }

type scanArguments struct {
	size, flags, start, end, walkEnd, vec, vecLen, maxPages uint64

	categoryInverted, categoryMask, categoryAnyof, returnMask uint64
}

const (
	// PAGEMAP_SCAN is _IOWR('f', 16, struct pm_scan_arg).
	ioctlPagemapScan = 0xc0606610

	pageIsFile    = 1 << 2
	pageIsPresent = 1 << 3
	pageIsSwapped = 1 << 4
)

// scanPages finds the pages of b that are no longer the file's: those that were
// written, wherever they are now. It returns how many regions it found, and
// the address up to which it looked.
func scanPages(fd int, b []byte, found []pageRegion) (n int, to uint64, err error) {
	start := uint64(uintptr(unsafe.Pointer(unsafe.SliceData(b))))
	a := scanArguments{
		start: start, end: start + uint64(len(b)),
		vec: uint64(uintptr(unsafe.Pointer(unsafe.SliceData(found)))), vecLen: uint64(len(found)),
		categoryInverted: pageIsFile, categoryMask: pageIsFile, categoryAnyof: pageIsPresent | pageIsSwapped,
		returnMask: pageIsPresent | pageIsSwapped,
	}
	a.size = uint64(unsafe.Sizeof(a))
	// It takes microseconds: not worth telling the scheduler.
	r, _, errno := unix.RawSyscall(unix.SYS_IOCTL, uintptr(fd), ioctlPagemapScan, uintptr(unsafe.Pointer(&a)))
	if errno != 0 {
		return 0, 0, fmt.Errorf("PAGEMAP_SCAN: %w", errno)
	}
	return int(r), a.walkEnd, nil
}

// scanRegions is how many regions one scan returns at most.
const scanRegions = 64

// restoreMapped returns memory that maps an image to it. Memory behind the
// image becomes zero. quiet is true when no page became the memory's own since
// the last time.
func restoreMapped(m *linearMemory, img []byte, s Strategy, quiet bool) (restored, error) {
	memory, own := m.reserved[:m.size], &m.own
	if s == StrategyMadvise {
		return restored{s, len(memory) / hostPage}, dropPages(memory)
	}
	how := StrategyFaults
	if !quiet || !own.cover(len(memory)) {
		how = StrategyScan
		if err := own.find(memory); err != nil {
			return restored{how, own.pages}, err
		}
	}
	if own.pages > dropAbove {
		return restored{how, own.pages}, dropPages(memory)
	}
	own.restore(memory, img)
	return restored{how, own.pages}, nil
}

// writtenSpans returns the pages that are not the image's any more.
func writtenSpans(memory []byte) (spans []span, err error) {
	err = eachWritten(memory, func(from, to int) bool {
		spans = append(spans, span{from, to})
		return true
	})
	return spans, err
}

// eachWritten calls visit with the bounds of each run of pages that are not the
// image's any more, until it returns false.
func eachWritten(memory []byte, visit func(from, to int) bool) error {
	var found [scanRegions]pageRegion
	base := uint64(uintptr(unsafe.Pointer(unsafe.SliceData(memory))))
	for rest := memory; len(rest) > 0; {
		n, to, err := scanPages(pagemap(), rest, found[:])
		if err != nil {
			return err
		}
		for _, r := range found[:n] {
			if !visit(int(r.start-base), int(r.end-base)) {
				return nil
			}
		}
		rest = memory[to-base:]
	}
	return nil
}

// dropPages makes memory what its mapping says: the image's contents, or zero
// where nothing is mapped.
func dropPages(memory []byte) error {
	if err := unix.Madvise(memory, unix.MADV_DONTNEED); err != nil {
		return fmt.Errorf("drop the pages of a memory: %w", err)
	}
	return nil
}

// dropMemory makes a memory that maps nothing zero and gives it back to the
// system. It reports whether it could.
func dropMemory(m *linearMemory) bool {
	return m.reserved != nil && !m.mapped && dropPages(m.reserved[:m.committed]) == nil
}
