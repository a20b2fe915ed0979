package wasi

import "slices"

// maxDescriptors is how many descriptors there can be. A file tree sets lower
// bounds of its own for what is open.
const maxDescriptors = 1024

// firstPreopen is the descriptor after the standard streams.
const firstPreopen = 3

type kind uint8

const (
	closed kind = iota
	stdin
	stdout
	stderr
	file
	directory
)

// descriptor is an entry of the table. The zero value is not open.
type descriptor struct {
	kind               kind
	readable, writable bool
	preopened          bool   // answers to fd_prestat_get
	flags              uint16 // as fd_fdstat_get shows them
	dropped            Rights // given up
	droppedBelow       Rights // given up for what is opened below
	base               int    // 1 + the preopen whose directory this is; 0 for others
	path               string // of a directory: what paths are relative to
	file               File   // nil for streams, and for a preopen until it is listed
	offset             int64  // of a file
	list               *listing
}

// A Table is a copy of the descriptors of a State. The zero value is none at
// all.
type Table struct{ fds []descriptor }

// Table copies the descriptors as they are: with their flags and rights, moved
// or closed. ok is false while one of them holds a file or a listing, which has
// no copy.
func (s *State) Table() (t Table, ok bool) {
	for i := range s.fds {
		if s.fds[i].file != nil || s.fds[i].list != nil {
			return Table{}, false
		}
	}
	return Table{slices.Clone(s.fds)}, true
}

// SetTable makes the descriptors those of a copy, right after Reset. The
// preopens must be those of the State that was copied.
func (s *State) SetTable(t Table) { s.fds = append(s.fds[:0], t.fds...) }

// begin is how many descriptors are open when a call begins.
func (s *State) begin() int { return firstPreopen + len(s.preopens) }

// initial is a descriptor as it is when a call begins.
func (s *State) initial(fd int) descriptor {
	if fd >= firstPreopen {
		d := s.baseDir(fd - firstPreopen + 1)
		d.preopened = true
		return d
	}
	return descriptor{kind: [...]kind{stdin, stdout, stderr}[fd], readable: fd == 0, writable: fd != 0}
}

// baseDir is a descriptor of the directory of a preopen.
func (s *State) baseDir(base int) descriptor {
	return descriptor{kind: directory, base: base, path: s.preopens[base-1].Path}
}

// lookup finds an open descriptor, or returns nil. The pointer is good until
// the table changes.
func (s *State) lookup(fd uint32) *descriptor {
	if fd >= firstPreopen {
		s.used |= UsedPreopens
	}
	if uint64(fd) >= uint64(len(s.fds)) || s.fds[fd].kind == closed {
		return nil
	}
	return &s.fds[fd]
}

// free finds the lowest descriptor that is not open.
func (s *State) free() (fd int, ok bool) {
	fd = slices.IndexFunc(s.fds, func(d descriptor) bool { return d.kind == closed })
	if fd >= 0 {
		return fd, true
	}
	return len(s.fds), len(s.fds) < maxDescriptors
}

// put makes a free descriptor stand for d.
func (s *State) put(fd int, d descriptor) {
	if fd == len(s.fds) {
		s.fds = append(s.fds, d)
		return
	}
	s.fds[fd] = d
}

// drop makes a descriptor free. The table ends with the last open one.
func (s *State) drop(fd uint32) {
	s.fds[fd] = descriptor{}
	for n := len(s.fds); n > 0 && s.fds[n-1].kind == closed; n-- {
		s.fds = s.fds[:n-1]
	}
}

// close closes what a descriptor has open.
func (d *descriptor) close() Errno {
	if d.file == nil {
		return Success
	}
	return d.file.Close()
}

func (d *descriptor) stream() bool { return d.kind == stdin || d.kind == stdout || d.kind == stderr }

// fdClose closes a descriptor, whatever it is. It is closed also when that
// fails, as on Linux.
func fdClose(s *State, _ []byte, p []uint64) Errno {
	d := s.lookup(u32(p[0]))
	if d == nil {
		return EBADF
	}
	errno := d.close()
	s.drop(u32(p[0]))
	return errno
}

// fdRenumber moves a descriptor over another open one, which is closed.
func fdRenumber(s *State, _ []byte, p []uint64) Errno {
	from, to := s.lookup(u32(p[0])), s.lookup(u32(p[1]))
	switch {
	case from == nil || to == nil:
		return EBADF
	case from == to:
		return Success
	}
	to.close()
	*to = *from
	s.drop(u32(p[0]))
	return Success
}

// prestat finds a directory that was open from the beginning.
func (s *State) prestat(fd uint32) (path string, errno Errno) {
	d := s.lookup(fd)
	if d == nil || !d.preopened {
		return "", EBADF
	}
	return d.path, Success
}

// fdPrestatGet says how long the name of such a directory is.
func fdPrestatGet(s *State, mem []byte, p []uint64) Errno {
	path, errno := s.prestat(u32(p[0]))
	if errno != Success {
		return errno
	}
	return put64(mem, u32(p[1]), uint64(len(path))<<32) // tag 0: a directory
}

// fdPrestatDirName gives its name, without a NUL.
func fdPrestatDirName(s *State, mem []byte, p []uint64) Errno {
	path, errno := s.prestat(u32(p[0]))
	if errno != Success {
		return errno
	}
	if uint64(u32(p[2])) < uint64(len(path)) {
		return ENAMETOOLONG
	}
	b, ok := view(mem, u32(p[1]), uint32(len(path)))
	if !ok {
		return EFAULT
	}
	copy(b, path)
	return Success
}
