package wasi

import "encoding/binary"

// EntryCost is the fuel charged for each directory entry that is read.
const EntryCost = 50

// direntSize is the size of a type dirent, which the name follows.
const direntSize = 24

// dots is how many entries come before those of the directory: "." and "..".
const dots = 2

// listing is what a directory's reader has read and may still ask for. The
// cookie of an entry is its place in the list, so reading on from an earlier
// one means beginning again.
type listing struct {
	entries []Dirent
	first   uint64 // place of entries[0]
	ended   bool   // there are no more behind entries
}

// fdReaddir gives the entries of a directory from a cookie on, until memory is
// full; the last may be cut off. Less than a full buffer is the end.
func fdReaddir(s *State, mem []byte, p []uint64) Errno {
	d := s.lookup(u32(p[0]))
	out, ok := view(mem, u32(p[1]), u32(p[2]))
	used, fits := view(mem, u32(p[4]), 4)
	switch {
	case d == nil:
		return EBADF
	case d.kind != directory:
		return ENOTDIR
	case d.lacks(FDReaddir):
		return ENOTCAPABLE
	case len(out) < direntSize && ok:
		return EINVAL
	case !ok || !fits:
		return EFAULT
	}
	n, errno := s.list(d, out, p[3])
	if errno != Success {
		return errno
	}
	return put32(used, 0, uint32(n))
}

// list writes entries to out from a cookie on and returns how much it wrote.
func (s *State) list(d *descriptor, out []byte, cookie uint64) (n int, errno Errno) {
	if d.list == nil {
		d.list = &listing{first: dots}
	}
	if errno := s.seekEntry(d, cookie); errno != Success {
		return 0, errno
	}
	for n < len(out) {
		e, ok, errno := s.entry(d, cookie, len(out)-n)
		switch {
		case errno != Success:
			return 0, errno // less than a full buffer would be the end
		case !ok:
			return n, Success
		}
		cookie++
		n += writeDirent(out[n:], cookie, e)
	}
	return n, Success
}

// writeDirent encodes as much of an entry as fits.
func writeDirent(out []byte, next uint64, e Dirent) int {
	var head [direntSize]byte
	binary.LittleEndian.PutUint64(head[:], next)
	binary.LittleEndian.PutUint64(head[8:], e.Ino)
	binary.LittleEndian.PutUint32(head[16:], uint32(len(e.Name)))
	head[20] = byte(e.Type)
	n := copy(out, head[:])
	return n + copy(out[n:], e.Name)
}

// seekEntry prepares for reading from a cookie on: it forgets what lies before
// it, or begins again when that was forgotten. A cookie of 0 always begins
// again, so that new entries are seen.
func (s *State) seekEntry(d *descriptor, cookie uint64) Errno {
	l := d.list
	if cookie == 0 || max(cookie, dots) < l.first {
		*l = listing{first: dots, entries: l.entries[:0]}
		if d.file != nil {
			return d.file.Rewind()
		}
		return Success
	}
	if drop := cookie - l.first; cookie > l.first {
		drop = min(drop, uint64(len(l.entries)))
		l.entries = l.entries[drop:]
		l.first += drop
	}
	return Success
}

// entry is the one at a place; ok is false behind the last. size is how much
// memory is left for entries.
func (s *State) entry(d *descriptor, place uint64, size int) (e Dirent, ok bool, errno Errno) {
	if place < dots {
		return s.dot(d, place)
	}
	l := d.list
	for place-l.first >= uint64(len(l.entries)) && !l.ended {
		if place > l.first+uint64(len(l.entries)) { // what lies before is not asked for
			l.first += uint64(len(l.entries))
			l.entries = l.entries[:0]
		}
		if errno := s.readMore(d, size); errno != Success {
			return e, false, errno
		}
	}
	if i := place - l.first; i < uint64(len(l.entries)) {
		return l.entries[i], true, Success
	}
	return e, false, Success
}

// dot is "." or "..". The number of the directory above is not told.
func (s *State) dot(d *descriptor, place uint64) (Dirent, bool, Errno) {
	if place == 1 {
		return Dirent{Name: "..", Type: DirectoryFile}, true, Success
	}
	st, errno := s.stat(d)
	return Dirent{Name: ".", Ino: st.Ino, Type: DirectoryFile}, true, errno
}

// readMore reads about as many entries as fit into size bytes.
func (s *State) readMore(d *descriptor, size int) Errno {
	const atMost, usual = 256, direntSize + 16
	s.touch()
	if only := s.only(d); only != nil {
		for _, name := range only {
			d.list.entries = append(d.list.entries, Dirent{Name: name, Type: RegularFile})
		}
		d.list.ended = true
		return Success
	}
	if d.file == nil {
		f, errno := s.files.Open(d.path, Read|Directory)
		if errno != Success {
			return errno
		}
		d.file = f
	}
	entries, errno := d.file.ReadDir(min(1+size/usual, atMost))
	s.host.Charge(uint64(len(entries)) * EntryCost)
	d.list.entries = append(d.list.entries, entries...)
	d.list.ended = errno == Success && len(entries) == 0
	return errno
}

// only is what is to be seen of a directory that is not itself part of the
// file tree, nil for others.
func (s *State) only(d *descriptor) []string {
	if d.base == 0 {
		return nil
	}
	return s.preopens[d.base-1].Only
}
