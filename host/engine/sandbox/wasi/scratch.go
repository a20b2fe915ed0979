package wasi

import (
	"maps"
	"path"
	"slices"
	"strings"
	"time"
)

// ScratchPath is where the directory of a [Scratch] is.
const ScratchPath = "/tmp"

// Bounds of a [Scratch], besides its bytes.
const (
	maxScratchNodes = 10_000 // files and directories
	scratchNode     = 256    // bytes that each counts as, besides its content
)

// A Scratch is a file tree with directories in memory besides: ScratchPath, which is
// empty when the call begins, and a Folder. All in them is gone when the call ends. It
// is used by one goroutine. All times in it are the beginning of 2022, so that what a
// guest sees of it follows from what it does.
type Scratch struct {
	FS     // of the rest; nil for none
	rest   []Preopen
	mounts []mount
	left   int64  // bytes that may still be used
	made   uint64 // entries there are that the guest made
	last   uint64 // number of the last one
}

// mount is a directory in memory.
type mount struct {
	path string
	root *scratchEntry
}

// A Folder is files that a guest finds in a directory and cannot change. It can add
// others there, which are in memory as those of the scratch directory. The zero value
// is none.
type Folder struct {
	// At is the path of the directory, absolute and clean.
	At    string
	Files []FolderFile
}

// A FolderFile is a file of a [Folder]. Its content is shared with the caller.
type FolderFile struct {
	Path string // relative to the folder, with slashes
	Data []byte
}

// NewScratch adds directories in memory to a file tree, which may be nil. What the guest
// puts into them are at most so many bytes. Where the tree has a directory at
// ScratchPath, or around it, it has that one.
func NewScratch(rest FS, bytes int64, folder Folder) FS {
	s := &Scratch{FS: rest, left: bytes}
	if rest != nil {
		s.rest = rest.Preopens()
	}
	taken := slices.ContainsFunc(s.rest, func(p Preopen) bool { return p.Path == ScratchPath || p.Path == "/" })
	if bytes > 0 && !taken {
		s.mount(ScratchPath)
	}
	if folder.At != "" {
		root := s.mount(folder.At)
		for _, f := range folder.Files {
			s.fix(root, f)
		}
	}
	if len(s.mounts) == 0 {
		return rest
	}
	return s
}

// mount adds an empty directory.
func (s *Scratch) mount(path string) *scratchEntry {
	s.last++
	root := &scratchEntry{scratch: s, children: map[string]*scratchEntry{}, ino: s.last, fixed: true}
	s.mounts = append(s.mounts, mount{path, root})
	return root
}

// fix adds a file of a folder, and the directories that it is in.
func (s *Scratch) fix(dir *scratchEntry, f FolderFile) {
	path := strings.Split(f.Path, "/")
	for i, name := range path {
		e, ok := dir.children[name]
		if !ok {
			s.last++
			e = &scratchEntry{scratch: s, ino: s.last, fixed: true}
			dir.children[name] = e
		}
		if i == len(path)-1 {
			e.data = f.Data
			return
		}
		if e.children == nil {
			e.children = map[string]*scratchEntry{}
		}
		dir = e
	}
}

// scratchEntry is a file, or a directory when it has children.
type scratchEntry struct {
	scratch  *Scratch
	children map[string]*scratchEntry // of a directory; not nil
	data     []byte
	ino      uint64
	open     int  // how often
	fixed    bool // it is there when the call begins, and stays as it is
	unlinked bool
}

// free lets go of the content of a file that nobody can reach any more.
func (e *scratchEntry) free() {
	if e.unlinked && e.open == 0 {
		e.scratch.left += int64(len(e.data))
		e.data = nil
	}
}

// ours is the directory in memory that a path is in; nil for a path of the rest, which
// may have directories in ours.
func (s *Scratch) ours(name string) *mount {
	inside := func(dir string) bool { return name == dir || strings.HasPrefix(name, dir+"/") }
	i := slices.IndexFunc(s.mounts, func(m mount) bool { return inside(m.path) })
	if i < 0 || slices.ContainsFunc(s.rest, func(p Preopen) bool { return inside(p.Path) && len(p.Path) >= len(s.mounts[i].path) }) {
		return nil
	}
	return &s.mounts[i]
}

// Preopens lists those of the rest, and the directories in memory.
func (s *Scratch) Preopens() []Preopen {
	list := slices.Clip(s.rest)
	for _, m := range s.mounts {
		list = append(list, Preopen{Path: m.path})
	}
	return list
}

// find returns the directory that a path is in, its name there, and what is at the
// path: nil for nothing. The directory in memory itself has no name.
func (s *Scratch) find(m *mount, name string) (dir *scratchEntry, base string, e *scratchEntry, errno Errno) {
	trimmed := strings.TrimSuffix(name, "/")
	rest := strings.TrimPrefix(strings.TrimPrefix(trimmed, m.path), "/")
	e = m.root
	for part := range strings.SplitSeq(rest, "/") {
		if part == "" {
			continue
		}
		switch {
		case e == nil:
			return nil, "", nil, ENOENT
		case e.children == nil:
			return nil, "", nil, ENOTDIR
		}
		dir, base, e = e, part, e.children[part]
	}
	if e != nil && e.children == nil && trimmed != name {
		return nil, "", nil, ENOTDIR
	}
	return dir, base, e, Success
}

// spend takes bytes of what is left; fewer than none gives some back.
func (s *Scratch) spend(n int64) Errno {
	if n > s.left {
		return ENOSPC
	}
	s.left -= n
	return Success
}

// add makes an entry in a directory.
func (s *Scratch) add(dir *scratchEntry, base string, isDir bool) (*scratchEntry, Errno) {
	if s.made >= maxScratchNodes {
		return nil, ENOSPC
	}
	if errno := s.spend(scratchNode + int64(len(base))); errno != Success {
		return nil, errno
	}
	s.made++
	s.last++
	e := &scratchEntry{scratch: s, ino: s.last}
	if isDir {
		e.children = map[string]*scratchEntry{}
	}
	dir.children[base] = e
	return e, Success
}

// drop takes an entry out of a directory. Its content counts until nobody has it
// open.
func (s *Scratch) drop(dir *scratchEntry, base string, e *scratchEntry) {
	s.left += scratchNode + int64(len(base))
	s.made--
	delete(dir.children, base)
	e.unlinked = true
	e.free()
}

// Open opens a file or directory.
func (s *Scratch) Open(name string, how OpenFlags) (File, Errno) {
	m := s.ours(name)
	if m == nil {
		if s.FS == nil {
			return nil, ENOENT
		}
		return s.FS.Open(name, how)
	}
	dir, base, e, errno := s.find(m, name)
	if errno == Success && e == nil {
		if how&Create == 0 {
			return nil, ENOENT
		}
		e, errno = s.add(dir, base, false)
	} else if errno == Success && how&(Create|Exclusive) == Create|Exclusive {
		errno = EEXIST
	}
	switch {
	case errno != Success:
		return nil, errno
	case e.children != nil && how&(Write|Append|Truncate|Create) != 0:
		return nil, EISDIR
	case e.fixed && how&(Write|Append|Truncate) != 0:
		return nil, EROFS
	case e.children == nil && how&Directory != 0:
		return nil, ENOTDIR
	case how&Truncate != 0:
		errno = e.resize(0)
	}
	e.open++
	return &scratchFile{scratchEntry: e}, errno
}

// Stat describes what is at a path.
func (s *Scratch) Stat(name string, follow bool) (Stat, Errno) {
	m := s.ours(name)
	if m == nil {
		if s.FS == nil {
			return Stat{}, ENOENT
		}
		return s.FS.Stat(name, follow)
	}
	_, _, e, errno := s.find(m, name)
	if errno == Success && e == nil {
		errno = ENOENT
	}
	if errno != Success {
		return Stat{}, errno
	}
	return e.Stat()
}

// Mkdir makes a directory.
func (s *Scratch) Mkdir(name string) Errno {
	m := s.ours(name)
	if m == nil {
		if s.FS == nil {
			return ENOENT
		}
		return s.FS.Mkdir(name)
	}
	dir, base, e, errno := s.find(m, strings.TrimSuffix(name, "/"))
	if errno == Success && e != nil {
		errno = EEXIST
	}
	if errno == Success {
		_, errno = s.add(dir, base, true)
	}
	return errno
}

// Remove removes an empty directory, or a file.
func (s *Scratch) Remove(name string, directory bool) Errno {
	m := s.ours(name)
	if m == nil {
		if s.FS == nil {
			return ENOENT
		}
		return s.FS.Remove(name, directory)
	}
	dir, base, e, errno := s.find(m, name)
	switch {
	case errno != Success:
		return errno
	case e == nil:
		return ENOENT
	case dir == nil:
		return EBUSY
	case directory && e.children == nil:
		return ENOTDIR
	case !directory && e.children != nil:
		return EISDIR
	case e.fixed:
		return EROFS
	case len(e.children) > 0:
		return ENOTEMPTY
	}
	s.drop(dir, base, e)
	return Success
}

// Rename moves a file or directory, and replaces a file or an empty directory.
func (s *Scratch) Rename(from, to string) Errno {
	a, b := s.ours(from), s.ours(to)
	switch {
	case a != b:
		return EXDEV
	case a == nil && s.FS == nil:
		return ENOENT
	case a == nil:
		return s.FS.Rename(from, to)
	case path.Clean(from) == path.Clean(to):
		return Success
	case strings.HasPrefix(to, strings.TrimSuffix(from, "/")+"/"):
		return EINVAL
	}
	dir, base, e, errno := s.find(a, from)
	into, name, there, errno2 := s.find(b, to)
	switch {
	case errno != Success:
		return errno
	case e == nil:
		return ENOENT
	case errno2 != Success:
		return errno2
	case e.fixed:
		return EROFS
	case dir == nil || into == nil:
		return EBUSY
	}
	if there != nil {
		if errno := s.Remove(to, e.children != nil); errno != Success {
			return errno
		}
	}
	if errno := s.spend(int64(len(name) - len(base))); errno != Success {
		return errno
	}
	delete(dir.children, base)
	into.children[name] = e
	return Success
}

// SetTimes does nothing here: there is one time.
func (s *Scratch) SetTimes(name string, accessed, modified time.Time) Errno {
	if s.ours(name) == nil {
		if s.FS == nil {
			return ENOENT
		}
		return s.FS.SetTimes(name, accessed, modified)
	}
	_, errno := s.Stat(name, true)
	return errno
}

// Readlink says that there are no links here.
func (s *Scratch) Readlink(name string) (string, Errno) {
	if s.ours(name) != nil {
		if _, errno := s.Stat(name, false); errno != Success {
			return "", errno
		}
		return "", EINVAL
	}
	if s.FS == nil {
		return "", ENOENT
	}
	return s.FS.Readlink(name)
}

// scratchTime is when everything was made, in nanoseconds since 1970.
const scratchTime = 1_640_995_200_000_000_000

// Stat describes the entry.
func (e *scratchEntry) Stat() (Stat, Errno) {
	st := Stat{Ino: e.ino, Type: RegularFile, Nlink: 1, Size: uint64(len(e.data)), Atime: scratchTime, Mtime: scratchTime, Ctime: scratchTime}
	if e.children != nil {
		st.Type = DirectoryFile
	}
	return st, Success
}

// resize sets the size of a file.
func (e *scratchEntry) resize(size int64) Errno {
	if size < 0 {
		return EINVAL
	}
	if e.fixed {
		return EROFS
	}
	old := int64(len(e.data))
	if size > old && size-old > e.scratch.left {
		return ENOSPC
	}
	e.scratch.left -= size - old
	if size <= old {
		clear(e.data[size:])
		e.data = e.data[:size]
		return Success
	}
	e.data = slices.Grow(e.data, int(size-old))[:size]
	return Success
}

// scratchFile is an open entry.
type scratchFile struct {
	*scratchEntry
	listed []string // names that were not read yet; nil before the first
	begun  bool
}

// IsDir reports whether it is a directory.
func (f *scratchFile) IsDir() bool { return f.children != nil }

// ReadAt reads.
func (f *scratchFile) ReadAt(b []byte, off int64) (int, Errno) {
	if f.children != nil {
		return 0, EISDIR
	}
	if off < 0 || off >= int64(len(f.data)) {
		return 0, Success
	}
	return copy(b, f.data[off:]), Success
}

// WriteAt writes.
func (f *scratchFile) WriteAt(b []byte, off int64) (int, Errno) {
	if f.children != nil {
		return 0, EISDIR
	}
	switch {
	case f.fixed:
		return 0, EROFS
	case off < 0:
		return 0, EINVAL
	}
	if end := off + int64(len(b)); end < off {
		return 0, EFBIG
	} else if end > int64(len(f.data)) {
		if errno := f.resize(end); errno != Success {
			return 0, errno
		}
	}
	return copy(f.data[off:], b), Success
}

// Append writes at the end.
func (f *scratchFile) Append(b []byte) (n int, end int64, errno Errno) {
	n, errno = f.WriteAt(b, int64(len(f.data)))
	return n, int64(len(f.data)), errno
}

// SetAppend does nothing: where a write goes is the caller's business.
func (f *scratchFile) SetAppend(bool) Errno { return Success }

// Truncate sets the size.
func (f *scratchFile) Truncate(size int64) Errno { return f.resize(size) }

// SetTimes does nothing: there is one time.
func (f *scratchFile) SetTimes(_, _ time.Time) Errno { return Success }

// Sync does nothing.
func (f *scratchFile) Sync() Errno { return Success }

// ReadDir returns the next entries, in order of their names.
func (f *scratchFile) ReadDir(n int) (list []Dirent, errno Errno) {
	if f.children == nil {
		return nil, ENOTDIR
	}
	if !f.begun {
		f.listed, f.begun = slices.Sorted(maps.Keys(f.children)), true
	}
	for len(f.listed) > 0 && len(list) < n {
		name := f.listed[0]
		f.listed = f.listed[1:]
		if e, ok := f.children[name]; ok {
			st, _ := e.Stat()
			list = append(list, Dirent{Name: name, Ino: e.ino, Type: st.Type})
		}
	}
	return list, Success
}

// Rewind goes back to the first entry.
func (f *scratchFile) Rewind() Errno {
	f.begun = false
	return Success
}

// Close closes it.
func (f *scratchFile) Close() Errno {
	f.open--
	f.free()
	return Success
}
