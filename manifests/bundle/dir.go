package bundle

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/skillet-run/skillet/manifests"
)

// Open reads the package at path: a directory as [ReadDir] does, a file as
// [ReadArchive] does. Anything else, such as a FIFO, is refused and not waited
// for.
func Open(path string) (*Package, error) {
	p, err := open(path)
	if err != nil {
		return nil, fmt.Errorf("open package %s: %w", path, err)
	}
	return p, nil
}

func open(path string) (*Package, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, cause(err)
	}
	defer f.Close()
	info, err := f.Stat()
	switch {
	case err != nil:
		return nil, cause(err)
	case info.IsDir():
		return readDir(path)
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%w: it is neither a directory nor a file", ErrUnsafe)
	}
	return ReadArchive(f)
}

// cause takes the path out of an error whose message has it already.
func cause(err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}

// ReadDir reads the package in a directory: the files the package comment
// lists, and no others. Links, FIFOs, sockets and devices among them are
// refused, whatever they point to. The error wraps one of the errors above, or
// [manifests.Errors].
func ReadDir(dir string) (*Package, error) {
	p, err := readDir(dir)
	if err != nil {
		return nil, fmt.Errorf("read package %s: %w", dir, err)
	}
	return p, nil
}

func readDir(dir string) (*Package, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, cause(err)
	}
	defer root.Close()
	d := dirReader{root: root, files: map[string][]byte{}}
	for _, name := range topFiles() {
		if err := d.file(name); err != nil {
			return nil, err
		}
	}
	m, err := findManifest(d.files)
	if err != nil {
		return nil, err
	}
	for _, name := range namedFiles(m) {
		if err := d.named(name); err != nil {
			return nil, err
		}
	}
	if err := d.sources(m); err != nil {
		return nil, err
	}
	dirs := contentDirs()
	if isFolder(m) {
		dirs = []string{"."}
	}
	for _, name := range dirs {
		if err := d.tree(name); err != nil {
			return nil, err
		}
	}
	return FromFiles(d.files)
}

// A dirReader reads files of a directory and stays within the bounds.
type dirReader struct {
	root  *os.Root
	files map[string][]byte
	seen  int // files and directories
	total int64
}

// tree reads the directory at path and all below; no directory there is fine.
func (d *dirReader) tree(path string) error {
	info, err := d.root.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return cause(err)
	}
	if !info.IsDir() {
		return refuse(path, "is %s; a directory is expected", modeInWords(info.Mode()))
	}
	return fs.WalkDir(d.root.FS(), path, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		switch hidden := strings.HasPrefix(e.Name(), "."); {
		case path == ".":
			return nil
		case e.IsDir() && (hidden || slices.Contains(madeByTools(), e.Name())):
			return fs.SkipDir
		case hidden:
			return nil
		}
		if e.IsDir() {
			return d.count(path)
		}
		return d.file(path)
	})
}

// sources reads what the script of m may import. What an installer put there, be it
// node_modules or a virtual environment, is left out.
func (d *dirReader) sources(m *manifests.Manifest) error {
	if !m.Interpreted() || len(m.Args) == 0 {
		return nil
	}
	return fs.WalkDir(d.root.FS(), path.Dir(path.Clean(m.Args[0])), func(p string, e fs.DirEntry, err error) error {
		switch hidden := p != "." && strings.HasPrefix(path.Base(p), "."); {
		case err != nil:
			return ignoreMissing(err)
		case e.IsDir() && (hidden || slices.Contains(madeByTools(), e.Name()) || d.environment(p)):
			return fs.SkipDir
		case e.IsDir() || hidden || !isSource(p, m):
			return nil
		}
		return d.file(p)
	})
}

// environment reports whether the directory at p is a virtual environment of Python's.
func (d *dirReader) environment(p string) bool {
	_, err := d.root.Lstat(path.Join(p, "pyvenv.cfg"))
	return err == nil
}

// ignoreMissing is nil when there is no such directory: the script is missed by
// whoever needs it.
func ignoreMissing(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

func (d *dirReader) count(path string) error {
	if d.seen++; d.seen > MaxFiles {
		return tooLarge(path, "is too many; at most %d are accepted", MaxFiles)
	}
	return checkPath(path)
}

// named reads a file whose path the manifest gives, if it is one. The way to it
// leads through directories, not through links.
func (d *dirReader) named(name string) error {
	for i, r := range name {
		if r != '/' {
			continue
		}
		info, err := d.root.Lstat(name[:i])
		if err == nil && !info.IsDir() {
			return refuse(name[:i], "is %s; a directory is expected", modeInWords(info.Mode()))
		}
	}
	if info, err := d.root.Lstat(name); err == nil && info.IsDir() {
		return nil
	}
	return d.file(name)
}

// file reads the regular file at path; no file there is fine.
func (d *dirReader) file(path string) error {
	if _, ok := d.files[path]; ok {
		return nil
	}
	before, err := d.root.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read %s: %w", path, cause(err))
	}
	if !before.Mode().IsRegular() {
		return refuse(path, "is %s; only regular files are accepted", modeInWords(before.Mode()))
	}
	if err := d.count(path); err != nil {
		return err
	}
	b, err := d.read(path, before)
	if err != nil {
		return err
	}
	d.total += int64(len(b))
	d.files[path] = b
	return nil
}

// read reads a file and makes sure that it is the one that was looked at: it
// may have been replaced by a FIFO or a link since then.
func (d *dirReader) read(path string, before fs.FileInfo) ([]byte, error) {
	f, err := d.root.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", path, cause(err))
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", path, cause(err))
	}
	if !info.Mode().IsRegular() || !os.SameFile(before, info) {
		return nil, refuse(path, "was replaced while it was read")
	}
	left := min(MaxFileBytes, MaxBytes-d.total)
	b, err := io.ReadAll(io.LimitReader(f, left+1))
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", path, cause(err))
	}
	if int64(len(b)) > left {
		return nil, tooLarge(path, "is too large: at most %d bytes a file and %d in all are accepted", MaxFileBytes, MaxBytes)
	}
	return b, nil
}

// modeInWords says what a file is.
func modeInWords(m fs.FileMode) string {
	switch {
	case m.IsRegular():
		return "a file"
	case m&fs.ModeSymlink != 0:
		return "a symbolic link"
	case m.IsDir():
		return "a directory"
	case m&fs.ModeNamedPipe != 0:
		return "a FIFO"
	case m&fs.ModeSocket != 0:
		return "a socket"
	}
	return "a device"
}

// Pack reads the package in dir and writes it as a .skill file. out is the
// file, or a directory in which it is called name-version.skill; empty means
// the current directory. The file appears whole or not at all, and was read
// back before it appears.
func Pack(dir, out string) (*Package, error) {
	p, err := ReadDir(dir)
	if err != nil {
		return nil, err
	}
	path := p.archivePath(out)
	if err := p.writeFile(path); err != nil {
		return nil, fmt.Errorf("pack %s to %s: %w", dir, path, err)
	}
	return p, nil
}

// FileName is the name of the package's .skill file: name-version.skill.
func (p *Package) FileName() string {
	return p.manifest.Name + "-" + p.manifest.Version + Extension
}

// archivePath returns the file that out stands for.
func (p *Package) archivePath(out string) string {
	if out == "" {
		return p.FileName()
	}
	if info, err := os.Stat(out); err == nil && info.IsDir() {
		return filepath.Join(out, p.FileName())
	}
	return out
}

// archiveBytes returns the archive after reading it back: what Pack writes is
// what the reader accepts.
func (p *Package) archiveBytes() ([]byte, error) {
	var b bytes.Buffer
	if err := p.WriteArchive(&b); err != nil {
		return nil, err
	}
	again, err := ReadArchive(bytes.NewReader(b.Bytes()))
	if err != nil {
		return nil, fmt.Errorf("read back: %w", err)
	}
	if again.Digest() != p.Digest() {
		return nil, fmt.Errorf("read back: %w: want %s, have %s", manifests.ErrDigest, p.Digest(), again.Digest())
	}
	return b.Bytes(), nil
}

// writeFile writes the archive beside path, and renames it once it is on disk.
func (p *Package) writeFile(path string) error {
	b, err := p.archiveBytes()
	if err != nil {
		return err
	}
	dir := filepath.Dir(path)
	f, err := os.CreateTemp(dir, ".skillet-pack-*")
	if err != nil {
		return cause(err)
	}
	_, err = f.Write(b)
	err = errors.Join(err, f.Chmod(0o644), f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return syncDir(dir)
}

// syncDir makes a rename in dir durable.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return cause(err)
	}
	return errors.Join(d.Sync(), d.Close())
}
