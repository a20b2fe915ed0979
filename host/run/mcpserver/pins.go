package mcpserver

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/skillet-run/skillet/internal/text"
	"github.com/skillet-run/skillet/manifests"
)

// Bounds of what is pinned.
const (
	maxPinnedFiles = 50_000
	maxPinnedBytes = 1 << 30
)

// Digest is the digest of a file, or of a directory: of the names of all that is in it,
// where links lead, and what the files hold.
func Digest(path string) (manifests.Digest, error) {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return "", err
	case info.Mode().IsRegular():
		d, _, err := fileDigest(path)
		return d, err
	case !info.IsDir():
		return "", fmt.Errorf("%s is not a file or directory", path)
	}
	h := sha256.New()
	files, size := 0, int64(0)
	root, err := filepath.EvalSymlinks(path)
	if err != nil {
		return "", err
	}
	err = filepath.WalkDir(root, func(p string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		what := ""
		switch {
		case e.Type().IsRegular():
			d, n, err := fileDigest(p)
			if err != nil {
				return err
			}
			what, size = string(d), size+n
		case e.Type()&fs.ModeSymlink != 0:
			to, err := os.Readlink(p)
			if err != nil {
				return err
			}
			what = "-> " + to
		case !e.IsDir():
			return fmt.Errorf("%s is not a file, directory or link", p)
		}
		if files++; files > maxPinnedFiles || size > maxPinnedBytes {
			return fmt.Errorf("%s holds more than %d files, or %s: pin less", path, maxPinnedFiles, text.Size(maxPinnedBytes))
		}
		name := strings.TrimPrefix(filepath.ToSlash(strings.TrimPrefix(p, root)), "/")
		fmt.Fprintf(h, "%d:%s %s\n", len(name), name, what)
		return nil
	})
	return manifests.Digest("sha256:" + hex.EncodeToString(h.Sum(nil))), err
}

func fileDigest(path string) (manifests.Digest, int64, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", 0, err
	}
	defer f.Close()
	return openDigest(f)
}

// openDigest is the digest of an open file.
func openDigest(f *os.File) (manifests.Digest, int64, error) {
	h := sha256.New()
	n, err := io.Copy(h, f)
	return manifests.Digest("sha256:" + hex.EncodeToString(h.Sum(nil))), n, err
}

// checkPin fails with [ErrNotPinned] when something is not as it was.
func checkPin(p manifests.Pin) error {
	d, err := Digest(p.Path)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrNotPinned, err)
	}
	if d != p.Digest {
		return fmt.Errorf("%w: %s has another content: %s, and %s was approved", ErrNotPinned, p.Path, d, p.Digest)
	}
	return nil
}

// Verify looks whether a program, and what it is started with, is what was approved. It
// starts nothing. Errors wrap [ErrNotPinned].
func Verify(p Program) error {
	for _, pin := range append([]manifests.Pin{{Path: p.Command, Digest: p.Digest}}, p.Pins...) {
		if err := checkPin(pin); err != nil {
			return err
		}
	}
	return nil
}
