package wasi

import (
	"io/fs"
	"syscall"
)

// posix says that the system's error numbers are those of POSIX.
const posix = true

// statOf describes a file as the system does.
func statOf(info fs.FileInfo) Stat {
	s := portable(info)
	if sys, ok := info.Sys().(*syscall.Stat_t); ok {
		s.Dev, s.Ino, s.Nlink = uint64(sys.Dev), sys.Ino, uint64(sys.Nlink)
		s.Atime, s.Ctime = sys.Atim.Nano(), sys.Ctim.Nano()
	}
	return s
}
