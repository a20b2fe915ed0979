package wasi

// Flags of path_open (WASI preview 1, type oflags).
const (
	openCreate = 1 << iota
	openDirectory
	openExclusive
	openTruncate
)

// request is what the parameters of path_open ask for.
type request struct {
	how   OpenFlags
	flags uint16 // of the descriptor
	need  Rights // of the directory
	below Rights // of what is opened in it
}

// pathOpen opens a file or directory.
func pathOpen(s *State, mem []byte, p []uint64) Errno {
	pl, errno := s.at(mem, u32(p[0]), u32(p[2]), u32(p[3]), PathOpen)
	if errno != Success {
		return errno
	}
	r, errno := newRequest(u32(p[1]), u32(p[4]), Rights(p[5]), u32(p[7]))
	result, ok := view(mem, u32(p[8]), 4)
	fd, free := s.free()
	switch {
	case errno != Success:
		return errno
	case pl.dir.lacks(r.need) || pl.dir.droppedBelow&r.below != 0:
		return ENOTCAPABLE
	case !ok:
		return EFAULT
	case !free:
		return EMFILE
	}
	d, errno := s.open(pl, r)
	if errno != Success {
		return errno
	}
	d.dropped, d.droppedBelow = pl.dir.droppedBelow, pl.dir.droppedBelow
	s.put(fd, d)
	return put32(result, 0, uint32(fd))
}

// newRequest reads the flags. Whether a file is opened for reading or writing
// is told by the rights that are asked for, or by the other flags when none is
// of these two. All other rights come with the file whether asked for or not:
// few guests care to ask.
func newRequest(lookup, oflags uint32, rights Rights, fdflags uint32) (r request, errno Errno) {
	if fdflags > allFlags || oflags&openDirectory != 0 && oflags&openCreate != 0 {
		return r, EINVAL
	}
	r.flags = uint16(fdflags)
	writes := oflags&(openCreate|openTruncate) != 0 || fdflags&flagAppend != 0
	r.below = rights & (FDRead | FDWrite)
	if r.below == 0 {
		r.below = FDRead
		if writes {
			r.below |= FDWrite
		}
	}
	for _, f := range []struct {
		on   bool
		how  OpenFlags
		need Rights
	}{
		{r.below&FDRead != 0, Read, 0},
		{r.below&FDWrite != 0, Write, 0},
		{fdflags&flagAppend != 0, Append, 0},
		{oflags&openCreate != 0, Create, PathCreateFile},
		{oflags&openTruncate != 0, Truncate, PathFilestatSetSize},
		{oflags&openDirectory != 0, Directory, 0},
		{oflags&openExclusive != 0 && oflags&openDirectory == 0, Exclusive, 0},
		{lookup&lookupFollow == 0, NoFollow, 0},
	} {
		if f.on {
			r.how |= f.how
			r.need |= f.need
		}
	}
	return r, Success
}

// open opens a place. The directory of a preopen opens always, also when it is
// not there; it is looked for when it is listed.
func (s *State) open(pl dirPath, r request) (descriptor, Errno) {
	if pl.base != 0 {
		switch {
		case r.how&Create != 0 && r.how&Exclusive != 0:
			return descriptor{}, EEXIST
		case r.how&(Write|Create|Truncate) != 0:
			return descriptor{}, EISDIR
		}
		d := s.baseDir(pl.base)
		d.flags = r.flags
		return d, Success
	}
	f, errno := s.files.Open(pl.path, r.how)
	if errno != Success {
		return descriptor{}, errno
	}
	d := descriptor{kind: directory, path: pl.path, file: f, flags: r.flags}
	if !f.IsDir() {
		d.kind, d.path = file, ""
		d.readable, d.writable = r.how&Read != 0, r.how&Write != 0
	}
	return d, Success
}
