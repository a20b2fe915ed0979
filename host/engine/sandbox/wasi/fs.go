package wasi

import "time"

// FS is the file tree of one call. Paths are absolute and clean but for a
// trailing slash, which asks for a directory. Whatever it refuses, it says so
// by an error number that tells the guest what kind of refusal it was and
// nothing more.
//
// Opening must refuse everything but regular files and directories, and must
// not block. No method makes a link.
type FS interface {
	// Preopens lists the directories that are open when the guest begins.
	Preopens() []Preopen
	// Open opens a file or directory. The State closes it.
	Open(path string, how OpenFlags) (File, Errno)
	// Stat describes what is at a path, or the link itself.
	Stat(path string, follow bool) (Stat, Errno)
	Mkdir(path string) Errno
	// Remove removes an empty directory, or something else than a directory.
	Remove(path string, directory bool) Errno
	Rename(from, to string) Errno
	// SetTimes sets the times of a file or directory, following links. A zero
	// time is left as it is.
	SetTimes(path string, accessed, modified time.Time) Errno
	Readlink(path string) (string, Errno)
}

// File is an open file or directory. It has no position, but for the listing
// of a directory: the State keeps it.
type File interface {
	IsDir() bool
	Stat() (Stat, Errno)
	// ReadAt reads until b is full or the file ends.
	ReadAt(b []byte, off int64) (int, Errno)
	WriteAt(b []byte, off int64) (int, Errno)
	// Append writes at the end of a file opened with Append and returns where
	// the end is then.
	Append(b []byte) (n int, end int64, errno Errno)
	// SetAppend makes the file one that only takes writes at its end, or one
	// that takes them anywhere.
	SetAppend(on bool) Errno
	Truncate(size int64) Errno
	SetTimes(accessed, modified time.Time) Errno
	Sync() Errno
	// ReadDir returns the next entries, at most n, without "." and "..". None
	// means that there are no more.
	ReadDir(n int) ([]Dirent, Errno)
	// Rewind goes back to the first entry.
	Rewind() Errno
	Close() Errno
}

// Preopen is a directory the guest finds open.
type Preopen struct {
	// Path is absolute and clean. The guest sees it as the directory's name.
	Path string
	// Only lists what is to be seen in the directory, when it is not itself
	// part of the tree: the files of it that are. Nil means all.
	Only []string
}

// OpenFlags says how a file is opened.
type OpenFlags uint16

// The flags of Open.
const (
	Read OpenFlags = 1 << iota
	Write
	Append    // each write goes to the end
	Create    // make a regular file if there is nothing
	Exclusive // and refuse if there is something
	Truncate  // empty it
	Directory // refuse anything but a directory
	NoFollow  // refuse a link in the last place with ELOOP
)

// Filetype is the type of a file (WASI preview 1, type filetype).
type Filetype uint8

// The types of files.
const (
	UnknownFile Filetype = iota
	BlockDevice
	CharacterDevice
	DirectoryFile
	RegularFile
	DatagramSocket
	StreamSocket
	SymbolicLink
)

// Stat describes a file. Times are in nanoseconds since 1970.
type Stat struct {
	Dev, Ino            uint64
	Type                Filetype
	Nlink, Size         uint64
	Atime, Mtime, Ctime int64
}

// Dirent is an entry of a directory. Ino is 0 when it is not known.
type Dirent struct {
	Name string
	Ino  uint64
	Type Filetype
}
