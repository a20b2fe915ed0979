package wasi

import "math"

// transferChunk is how many bytes go to or from a file between two looks at
// the time.
const transferChunk = 1 << 20

// fdRead reads from the position.
func fdRead(s *State, mem []byte, p []uint64) Errno {
	d, v, errno := s.readable(mem, p)
	if errno != Success {
		return errno
	}
	n, errno := s.readAll(d, v, d.offset)
	if d.kind == file {
		d.offset += int64(n)
	}
	return transferred(mem, u32(p[3]), n, errno)
}

// fdPread reads from an offset.
func fdPread(s *State, mem []byte, p []uint64) Errno {
	d, v, errno := s.readable(mem, p)
	switch {
	case errno != Success:
		return errno
	case d.kind != file:
		return ESPIPE
	case p[3] > math.MaxInt64:
		return EINVAL
	}
	n, errno := s.readAll(d, v, int64(p[3]))
	return transferred(mem, u32(p[4]), n, errno)
}

// readable finds what to read from, and where to.
func (s *State) readable(mem []byte, p []uint64) (*descriptor, vectors, Errno) {
	return s.transfer(mem, p, func(d *descriptor) bool { return d.readable && !d.lacks(FDRead) })
}

// transfer finds a descriptor that may be used so, and the buffers that go with
// it.
func (s *State) transfer(mem []byte, p []uint64, may func(*descriptor) bool) (*descriptor, vectors, Errno) {
	d := s.lookup(u32(p[0]))
	switch {
	case d == nil:
		return nil, vectors{}, EBADF
	case d.kind == directory:
		return nil, vectors{}, EISDIR
	case !may(d):
		return nil, vectors{}, EBADF
	}
	v, errno := s.vectors(mem, u32(p[1]), u32(p[2]))
	return d, v, errno
}

// transferred answers how much was moved. What came before an error counts:
// the error is met again by whoever goes on.
func transferred(mem []byte, result uint32, n uint32, errno Errno) Errno {
	if n == 0 && errno != Success {
		return errno
	}
	return put32(mem, result, n)
}

// readAll fills one buffer after the other until one is not full.
func (s *State) readAll(d *descriptor, v vectors, at int64) (total uint32, errno Errno) {
	for i := range v.len() {
		b, ok := v.at(i)
		if !ok || uint64(total)+uint64(len(b)) > math.MaxUint32 {
			return total, EFAULT // the list was overwritten by what was read
		}
		n, errno := s.read(d, b, at+int64(total))
		total += uint32(n)
		if errno != Success || n < len(b) {
			return total, errno
		}
	}
	return total, Success
}

func (s *State) read(d *descriptor, b []byte, at int64) (done int, errno Errno) {
	if d.kind == stdin {
		s.used |= UsedStdin
		return s.host.ReadStdin(b), Success
	}
	if at < 0 || at > math.MaxInt64-int64(len(b)) {
		return 0, EINVAL
	}
	for done < len(b) {
		part := b[done:min(len(b), done+transferChunk)]
		s.host.CheckTime()
		s.host.ChargeBytes(len(part))
		n, errno := d.file.ReadAt(part, at+int64(done))
		done += n
		if errno != Success || n < len(part) {
			return done, errno
		}
	}
	return done, Success
}

// fdWrite writes at the position, or at the end of a file that says so.
func fdWrite(s *State, mem []byte, p []uint64) Errno {
	d, v, errno := s.writable(mem, p)
	if errno != Success {
		return errno
	}
	n, end, errno := s.writeAll(d, v, d.offset)
	if d.kind == file && n > 0 {
		d.offset = end
	}
	return transferred(mem, u32(p[3]), n, errno)
}

// fdPwrite writes at an offset. In a file whose writes go to the end this one
// does too, as on Linux.
func fdPwrite(s *State, mem []byte, p []uint64) Errno {
	d, v, errno := s.writable(mem, p)
	switch {
	case errno != Success:
		return errno
	case d.kind != file:
		return ESPIPE
	case p[3] > math.MaxInt64:
		return EINVAL
	}
	n, _, errno := s.writeAll(d, v, int64(p[3]))
	return transferred(mem, u32(p[4]), n, errno)
}

// writable finds what to write to, and where from.
func (s *State) writable(mem []byte, p []uint64) (*descriptor, vectors, Errno) {
	return s.transfer(mem, p, func(d *descriptor) bool { return d.writable && !d.lacks(FDWrite) })
}

// writeAll writes one buffer after the other and returns where the last one
// ends.
func (s *State) writeAll(d *descriptor, v vectors, at int64) (total uint32, end int64, errno Errno) {
	end = at
	for i := range v.len() {
		if i%checkEvery == checkEvery-1 {
			s.host.CheckTime()
		}
		b, _ := v.at(i)
		var n int
		n, end, errno = s.write(d, b, end)
		total += uint32(n)
		if errno != Success || n < len(b) {
			break
		}
	}
	if total > 0 && d.kind == file && d.flags&flagsSync != 0 && errno == Success {
		errno = d.file.Sync()
	}
	return total, end, errno
}

func (s *State) write(d *descriptor, b []byte, at int64) (done int, end int64, errno Errno) {
	if d.kind != file {
		s.used |= UsedOutput
		s.print(d.kind, b)
		return len(b), at, Success
	}
	if at < 0 || at > math.MaxInt64-int64(len(b)) {
		return 0, at, EINVAL
	}
	for done < len(b) {
		part := b[done:min(len(b), done+transferChunk)]
		s.host.CheckTime()
		s.host.ChargeBytes(len(part))
		var n int
		n, at, errno = d.put(part, at)
		done += n
		if errno != Success || n < len(part) {
			break
		}
	}
	return done, at, errno
}

func (s *State) print(k kind, b []byte) {
	if k == stdout {
		s.host.WriteStdout(b)
		return
	}
	s.host.WriteStderr(b)
}

// put writes to a file and returns where that ends.
func (d *descriptor) put(b []byte, at int64) (n int, end int64, errno Errno) {
	if d.flags&flagAppend != 0 {
		return d.file.Append(b)
	}
	n, errno = d.file.WriteAt(b, at)
	return n, at + int64(n), errno
}
