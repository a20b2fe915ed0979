package script

import (
	"bytes"
	"io"
	"io/fs"
	"path"
	"time"
)

// Tree is a tree of files that are in memory, by their paths. It has files only:
// its folders cannot be listed.
type Tree map[string][]byte

// Open opens a file.
func (t Tree) Open(name string) (fs.File, error) {
	b, ok := t[name]
	if !ok || !fs.ValidPath(name) {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	return &file{Reader: bytes.NewReader(b), name: path.Base(name), size: int64(len(b))}, nil
}

// file is an open file of a Tree, and its own description.
type file struct {
	*bytes.Reader
	name string
	size int64
}

var (
	_ fs.File     = (*file)(nil)
	_ fs.FileInfo = (*file)(nil)
	_ io.ReaderAt = (*file)(nil)
)

// Stat returns the file's description.
func (f *file) Stat() (fs.FileInfo, error) { return f, nil }

// Close does nothing.
func (f *file) Close() error { return nil }

// Name returns the last part of the path.
func (f *file) Name() string { return f.name }

// Size returns the number of bytes.
func (f *file) Size() int64 { return f.size }

// Mode says that it is a file that can be read.
func (f *file) Mode() fs.FileMode { return 0o444 }

// ModTime is the zero time.
func (f *file) ModTime() time.Time { return time.Time{} }

// IsDir returns false.
func (f *file) IsDir() bool { return false }

// Sys returns nil.
func (f *file) Sys() any { return nil }
