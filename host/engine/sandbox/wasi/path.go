package wasi

import (
	"path"
	"strings"
)

// The longest path that is looked at and the longest name in it, in bytes:
// Linux's PATH_MAX and NAME_MAX.
const (
	maxPath = 4096
	maxName = 255
)

// lookupFollow is the flag that a link in the last place is followed (WASI
// preview 1, type lookupflags).
const lookupFollow = 1

// dirPath is a path below an open directory.
type dirPath struct {
	dir  *descriptor // good until the table changes
	path string      // absolute
	base int         // as in descriptor, when it is that directory itself
}

// at finds a place. Paths are relative and stay below their directory as they
// are written; "." and ".." are taken away from the text.
func (s *State) at(mem []byte, fd, ptr, n uint32, need Rights) (pl dirPath, errno Errno) {
	rel, errno := relative(mem, ptr, n)
	if errno != Success {
		return pl, errno
	}
	d := s.lookup(fd)
	switch {
	case d == nil:
		return pl, EBADF
	case d.kind != directory:
		return pl, ENOTDIR
	case d.lacks(need):
		return pl, ENOTCAPABLE
	}
	s.touch()
	pl = dirPath{dir: d, path: strings.TrimSuffix(d.path, "/") + "/" + rel}
	if rel == "." || rel == "./" {
		pl.path, pl.base = d.path, d.base
	}
	return pl, Success
}

// touch is called before the file tree is looked at.
func (s *State) touch() {
	s.used |= UsedFiles
	s.host.CheckTime()
}

// relative reads a path and cleans it. What can only mean a directory keeps a
// slash at its end.
func relative(mem []byte, ptr, n uint32) (string, Errno) {
	b, ok := view(mem, ptr, n)
	switch {
	case !ok:
		return "", EFAULT
	case n == 0:
		return "", ENOENT
	case n > maxPath:
		return "", ENAMETOOLONG
	}
	text := string(b)
	rel := path.Clean(text)
	if rel[0] == '/' || rel == ".." || strings.HasPrefix(rel, "../") {
		return "", EPERM
	}
	for name := range strings.SplitSeq(rel, "/") {
		if len(name) > maxName {
			return "", ENAMETOOLONG
		}
	}
	if strings.HasSuffix(text, "/") || strings.HasSuffix(text, "/.") || strings.HasSuffix(text, "/..") {
		rel += "/"
	}
	return rel, Success
}

// pathCreateDirectory makes a directory.
func pathCreateDirectory(s *State, mem []byte, p []uint64) Errno {
	pl, errno := s.at(mem, u32(p[0]), u32(p[1]), u32(p[2]), PathCreateDirectory)
	if errno != Success {
		return errno
	}
	return s.files.Mkdir(strings.TrimSuffix(pl.path, "/"))
}

// pathFilestatGet describes what is at a path.
func pathFilestatGet(s *State, mem []byte, p []uint64) Errno {
	pl, errno := s.at(mem, u32(p[0]), u32(p[2]), u32(p[3]), PathFilestatGet)
	if errno != Success {
		return errno
	}
	b, ok := view(mem, u32(p[4]), 64)
	if !ok {
		return EFAULT
	}
	var st Stat
	if pl.base != 0 {
		st, errno = s.stat(pl.dir)
	} else {
		st, errno = s.files.Stat(pl.path, u32(p[1])&lookupFollow != 0)
	}
	if errno == Success {
		st.write(b)
	}
	return errno
}

// pathFilestatSetTimes sets the times of what is at a path, if it is not a link.
func pathFilestatSetTimes(s *State, mem []byte, p []uint64) Errno {
	accessed, modified, errno := s.times(p[4], p[5], u32(p[6]))
	if errno != Success {
		return errno
	}
	pl, errno := s.at(mem, u32(p[0]), u32(p[2]), u32(p[3]), PathFilestatSetTimes)
	if errno != Success {
		return errno
	}
	if u32(p[1])&lookupFollow == 0 {
		st, errno := s.files.Stat(pl.path, false)
		switch {
		case errno != Success:
			return errno
		case st.Type == SymbolicLink:
			return ENOTSUP
		}
	}
	return s.files.SetTimes(pl.path, accessed, modified)
}

// pathReadlink says where a link points.
func pathReadlink(s *State, mem []byte, p []uint64) Errno {
	if u32(p[4]) == 0 {
		return EINVAL
	}
	pl, errno := s.at(mem, u32(p[0]), u32(p[1]), u32(p[2]), PathReadlink)
	if errno != Success {
		return errno
	}
	out, ok := view(mem, u32(p[3]), u32(p[4]))
	used, fits := view(mem, u32(p[5]), 4)
	if !ok || !fits {
		return EFAULT
	}
	to, errno := s.files.Readlink(pl.path)
	switch {
	case errno != Success:
		return errno
	case len(to) > len(out):
		return ERANGE
	}
	return put32(used, 0, uint32(copy(out, to)))
}

// pathRemoveDirectory removes an empty directory.
func pathRemoveDirectory(s *State, mem []byte, p []uint64) Errno {
	return s.remove(mem, p, true, PathRemoveDirectory)
}

// pathUnlinkFile removes what is not a directory.
func pathUnlinkFile(s *State, mem []byte, p []uint64) Errno {
	return s.remove(mem, p, false, PathUnlinkFile)
}

func (s *State) remove(mem []byte, p []uint64, dir bool, need Rights) Errno {
	pl, errno := s.at(mem, u32(p[0]), u32(p[1]), u32(p[2]), need)
	if errno != Success {
		return errno
	}
	return s.files.Remove(pl.path, dir)
}

// pathRename moves a file or directory within one tree.
func pathRename(s *State, mem []byte, p []uint64) Errno {
	from, errno := s.at(mem, u32(p[0]), u32(p[1]), u32(p[2]), PathRenameSource)
	if errno != Success {
		return errno
	}
	to, errno := s.at(mem, u32(p[3]), u32(p[4]), u32(p[5]), PathRenameTarget)
	if errno != Success {
		return errno
	}
	return s.files.Rename(from.path, to.path)
}

// pathLink refuses: nothing that opens a way out is made here.
func pathLink(s *State, mem []byte, p []uint64) Errno {
	_, errno := s.at(mem, u32(p[0]), u32(p[2]), u32(p[3]), PathLinkSource)
	if errno != Success {
		return errno
	}
	if _, errno = s.at(mem, u32(p[4]), u32(p[5]), u32(p[6]), PathLinkTarget); errno != Success {
		return errno
	}
	return EPERM
}

// pathSymlink refuses too.
func pathSymlink(s *State, mem []byte, p []uint64) Errno {
	if _, ok := view(mem, u32(p[0]), u32(p[1])); !ok {
		return EFAULT
	}
	if u32(p[1]) == 0 {
		return ENOENT
	}
	if _, errno := s.at(mem, u32(p[2]), u32(p[3]), u32(p[4]), PathSymlink); errno != Success {
		return errno
	}
	return EPERM
}
