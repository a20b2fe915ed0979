// Package atomicfile writes files that a reader, or a power cut, finds whole or
// not at all. It knows nothing of what is in them.
package atomicfile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// Pattern matches the names of files that are not finished. A process that dies
// leaves one behind, for whoever owns the directory to delete.
const Pattern = ".part-*"

// Write replaces the file at path, or makes it, with mode 0600. When it returns
// nil the content and the name are on the disk.
func Write(path string, content []byte) error {
	return write(path, content, os.Rename)
}

// Create is [Write] for a file that is not there yet: otherwise errors.Is finds
// [os.ErrExist], and the file stays as it is.
func Create(path string, content []byte) error {
	return write(path, content, func(part, path string) error {
		// A link fails when the name is taken, where a rename would replace.
		return errors.Join(os.Link(part, path), os.Remove(part))
	})
}

func write(path string, content []byte, name func(part, path string) error) error {
	part, err := os.CreateTemp(filepath.Dir(path), Pattern)
	if err != nil {
		return err
	}
	_, err = part.Write(content)
	if err == nil {
		err = part.Sync()
	}
	if err = errors.Join(err, part.Close()); err == nil {
		err = name(part.Name(), path)
	}
	if err != nil {
		if gone := os.Remove(part.Name()); !errors.Is(gone, os.ErrNotExist) {
			err = errors.Join(err, gone)
		}
		return err
	}
	return SyncDir(filepath.Dir(path))
}

// SyncDir makes new and removed names of a directory durable.
func SyncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// SyncTree has everything in a directory that nobody writes to on the disk.
func SyncTree(dir string) error {
	return filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() && !d.Type().IsRegular() {
			return err
		}
		return SyncDir(path)
	})
}
