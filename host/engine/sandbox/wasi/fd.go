package wasi

import (
	"encoding/binary"
	"io"
	"math"
	"time"
)

// Flags of descriptors (WASI preview 1, type fdflags).
const (
	flagAppend = 1 << iota
	flagDsync
	flagNonblock
	flagRsync
	flagSync
	allFlags = 1<<iota - 1

	flagsSync = flagDsync | flagRsync | flagSync
)

// fdFdstatGet describes a descriptor.
func fdFdstatGet(s *State, mem []byte, p []uint64) Errno {
	b, ok := view(mem, u32(p[1]), 24)
	d := s.lookup(u32(p[0]))
	switch {
	case !ok:
		return EFAULT
	case d == nil:
		return EBADF
	}
	clear(b)
	b[0] = byte(d.filetype())
	binary.LittleEndian.PutUint16(b[2:], d.flags)
	binary.LittleEndian.PutUint64(b[8:], uint64(d.rights()))
	binary.LittleEndian.PutUint64(b[16:], uint64(d.inheriting()))
	return Success
}

// filetype is what the descriptor stands for. The standard streams are a
// device, but not a terminal.
func (d *descriptor) filetype() Filetype {
	switch d.kind {
	case file:
		return RegularFile
	case directory:
		return DirectoryFile
	}
	return BlockDevice
}

// fdFdstatSetFlags sets the flags of a descriptor. Nothing here blocks, so
// NONBLOCK is only remembered; the SYNC flags make each write reach the disk.
func fdFdstatSetFlags(s *State, _ []byte, p []uint64) Errno {
	d, flags := s.lookup(u32(p[0])), u32(p[1])
	switch {
	case d == nil:
		return EBADF
	case d.lacks(FDFdstatSetFlags):
		return ENOTCAPABLE
	case flags > allFlags:
		return EINVAL
	case d.kind == directory && flags&flagAppend != 0:
		return EISDIR
	}
	if on := flags&flagAppend != 0; d.kind == file && on != (d.flags&flagAppend != 0) {
		s.host.CheckTime()
		if errno := d.file.SetAppend(on); errno != Success {
			return errno
		}
	}
	d.flags = uint16(flags)
	return Success
}

// fdFilestatGet describes what a descriptor stands for.
func fdFilestatGet(s *State, mem []byte, p []uint64) Errno {
	b, ok := view(mem, u32(p[1]), 64)
	d := s.lookup(u32(p[0]))
	switch {
	case !ok:
		return EFAULT
	case d == nil:
		return EBADF
	case d.lacks(FDFilestatGet):
		return ENOTCAPABLE
	}
	st, errno := s.stat(d)
	if errno == Success {
		st.write(b)
	}
	return errno
}

// stat describes what a descriptor stands for. The directory of a preopen that
// is not there, or may not be looked at because only files in it are granted,
// is an empty directory of its own.
func (s *State) stat(d *descriptor) (Stat, Errno) {
	switch {
	case d.stream():
		return Stat{Type: BlockDevice, Nlink: 1}, Success
	case d.base != 0:
		s.touch()
		st, errno := s.files.Stat(d.path, true)
		if errno != Success || st.Type != DirectoryFile {
			st = Stat{Type: DirectoryFile, Nlink: 1}
		}
		return st, Success
	}
	s.host.CheckTime()
	return d.file.Stat()
}

// write encodes a type filestat.
func (st *Stat) write(b []byte) {
	for i, v := range [8]uint64{
		st.Dev, st.Ino, uint64(st.Type), st.Nlink, st.Size,
		uint64(st.Atime), uint64(st.Mtime), uint64(st.Ctime),
	} {
		binary.LittleEndian.PutUint64(b[8*i:], v)
	}
}

// fdFilestatSetSize sets the size of a file.
func fdFilestatSetSize(s *State, _ []byte, p []uint64) Errno {
	d := s.lookup(u32(p[0]))
	switch {
	case d == nil:
		return EBADF
	case d.kind == directory:
		return EISDIR
	case d.lacks(FDFilestatSetSize):
		return ENOTCAPABLE
	case d.kind != file || !d.writable || p[1] > math.MaxInt64:
		return EINVAL
	}
	s.host.CheckTime()
	return d.file.Truncate(int64(p[1]))
}

// fdAllocate makes a file at least as long as the end of a range.
func fdAllocate(s *State, _ []byte, p []uint64) Errno {
	d, end := s.lookup(u32(p[0])), p[1]+p[2]
	switch {
	case d == nil:
		return EBADF
	case d.kind == directory:
		return EISDIR
	case d.kind != file:
		return ESPIPE
	case !d.writable:
		return EBADF
	case d.lacks(FDAllocate):
		return ENOTCAPABLE
	case end < p[1] || end > math.MaxInt64:
		return EINVAL
	}
	s.host.CheckTime()
	st, errno := d.file.Stat()
	if errno != Success || st.Size >= end {
		return errno
	}
	return d.file.Truncate(int64(end))
}

// fdAdvise has nothing to do: how a file will be read is the system's guess.
func fdAdvise(s *State, _ []byte, p []uint64) Errno {
	const known = 6 // types of advice
	d := s.lookup(u32(p[0]))
	switch {
	case d == nil:
		return EBADF
	case d.lacks(FDAdvise):
		return ENOTCAPABLE
	case u32(p[3]) >= known:
		return EINVAL
	}
	return Success
}

// fdSync writes to the disk what the system holds back of a file.
func fdSync(s *State, _ []byte, p []uint64) Errno { return s.sync(u32(p[0]), FDSync) }

// fdDatasync does the same: how much of it is the system's business.
func fdDatasync(s *State, _ []byte, p []uint64) Errno { return s.sync(u32(p[0]), FDDatasync) }

func (s *State) sync(fd uint32, need Rights) Errno {
	d := s.lookup(fd)
	switch {
	case d == nil:
		return EBADF
	case d.lacks(need):
		return ENOTCAPABLE
	case d.file == nil:
		return Success
	}
	s.host.CheckTime()
	return d.file.Sync()
}

// Flags that say which times are set (WASI preview 1, type fstflags).
const (
	setAtime = 1 << iota
	setAtimeNow
	setMtime
	setMtimeNow
)

// times reads what times are to be set. The zero time is one to leave alone.
func (s *State) times(atime, mtime uint64, flags uint32) (accessed, modified time.Time, errno Errno) {
	const both, bothToo = setAtime | setAtimeNow, setMtime | setMtimeNow
	if flags&both == both || flags&bothToo == bothToo || flags > both|bothToo {
		return accessed, modified, EINVAL
	}
	if flags&(setAtimeNow|setMtimeNow) != 0 {
		s.used |= UsedClock
		read, errno := s.clock.read(clockRealtime)
		if errno != Success {
			return accessed, modified, errno
		}
		now := uint64(read)
		if flags&setAtimeNow != 0 {
			atime = now
		}
		if flags&setMtimeNow != 0 {
			mtime = now
		}
	}
	if flags&both != 0 {
		accessed = time.Unix(0, int64(atime))
	}
	if flags&bothToo != 0 {
		modified = time.Unix(0, int64(mtime))
	}
	return accessed, modified, Success
}

// fdFilestatSetTimes sets the times of a file or directory.
func fdFilestatSetTimes(s *State, _ []byte, p []uint64) Errno {
	d := s.lookup(u32(p[0]))
	switch {
	case d == nil:
		return EBADF
	case d.stream():
		return ENOTSUP
	case d.lacks(FDFilestatSetTimes):
		return ENOTCAPABLE
	}
	accessed, modified, errno := s.times(p[1], p[2], u32(p[3]))
	if errno != Success {
		return errno
	}
	s.touch()
	if d.base != 0 {
		return s.files.SetTimes(d.path, accessed, modified)
	}
	return d.file.SetTimes(accessed, modified)
}

// fdSeek moves the position of a file.
func fdSeek(s *State, mem []byte, p []uint64) Errno {
	return s.seek(mem, u32(p[0]), int64(p[1]), u32(p[2]), u32(p[3]), FDSeek)
}

// fdTell says where it is.
func fdTell(s *State, mem []byte, p []uint64) Errno {
	return s.seek(mem, u32(p[0]), 0, io.SeekCurrent, u32(p[1]), FDTell)
}

func (s *State) seek(mem []byte, fd uint32, by int64, whence, result uint32, need Rights) Errno {
	d := s.lookup(fd)
	b, ok := view(mem, result, 8)
	switch {
	case d == nil:
		return EBADF
	case d.kind == directory:
		return EISDIR
	case d.kind != file:
		return ESPIPE
	case d.lacks(need):
		return ENOTCAPABLE
	case !ok:
		return EFAULT
	}
	from, errno := s.seekFrom(d, whence)
	if errno != Success {
		return errno
	}
	at := from + by
	if at < 0 { // also when the sum is too large, as from is never negative
		return EINVAL
	}
	d.offset = at
	return put64(b, 0, uint64(at))
}

// seekFrom is the position that a move counts from.
func (s *State) seekFrom(d *descriptor, whence uint32) (int64, Errno) {
	switch whence {
	case io.SeekStart:
		return 0, Success
	case io.SeekCurrent:
		return d.offset, Success
	case io.SeekEnd:
		s.host.CheckTime()
		st, errno := d.file.Stat()
		return int64(st.Size), errno
	}
	return 0, EINVAL
}
