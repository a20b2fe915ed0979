package plugins

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// maxProgram is the largest program or file of a script, in bytes.
const maxProgram = 2 << 30

// isDigest reports whether a text is a digest as they are written here.
func isDigest(s string) bool {
	digits, ok := strings.CutPrefix(s, "sha256:")
	_, err := hex.DecodeString(digits)
	return ok && err == nil && len(digits) == 2*sha256.Size && strings.ToLower(digits) == digits
}

// digestOf is the digest of what is read.
func digestOf(r io.Reader) (string, error) {
	h := sha256.New()
	if n, err := io.Copy(h, io.LimitReader(r, maxProgram+1)); err != nil || n > maxProgram {
		return "", errors.Join(err, errTooLarge(n))
	}
	return "sha256:" + hex.EncodeToString(h.Sum(nil)), nil
}

func errTooLarge(n int64) error {
	if n > maxProgram {
		return fmt.Errorf("it has more than %d bytes", int64(maxProgram))
	}
	return nil
}

// openProgram opens a regular file and checks its digest through the descriptor
// that it returns: what is executed by that descriptor is what was checked. An
// empty digest is not checked.
func openProgram(path, digest string) (f *os.File, err error) {
	if f, err = os.Open(path); err != nil {
		return nil, err
	}
	if err := checkFile(f, digest); err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", path, err), f.Close())
	}
	return f, nil
}

func checkFile(f *os.File, digest string) error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return errors.New("not a regular file")
	}
	if digest == "" {
		return nil
	}
	found, err := digestOf(f)
	if err != nil {
		return err
	}
	if found != digest {
		return fmt.Errorf("%w: %s, and not %s", ErrDigest, found, digest)
	}
	return nil
}

// copyFile copies a file with a digest to a new file that only this user can
// read. A file with another digest is not left there.
func copyFile(from, to, digest string, mode fs.FileMode) error {
	in, err := openProgram(from, "")
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	found, err := digestOf(io.TeeReader(in, out))
	if err == nil && found != digest {
		err = fmt.Errorf("%s: %w: %s, and not %s", from, ErrDigest, found, digest)
	}
	if err = errors.Join(err, out.Chmod(mode), out.Close()); err != nil {
		return errors.Join(err, os.Remove(to))
	}
	return nil
}

// copies are the private copies of programs, in a directory by their digests.
type copies string

// open returns the copy of a program, opened and checked. It is made when it is
// not there or is not what it should be.
func (c copies) open(program, digest string) (*os.File, error) {
	if c == "" {
		return nil, errors.New("no directory for copies of programs")
	}
	if err := c.prepare(); err != nil {
		return nil, err
	}
	kept := filepath.Join(string(c), strings.TrimPrefix(digest, "sha256:"))
	if f, err := openProgram(kept, digest); err == nil {
		now := time.Now()
		_ = os.Chtimes(kept, now, now) // for prune
		return f, nil
	}
	if err := c.add(program, digest, kept); err != nil {
		return nil, err
	}
	return openProgram(kept, digest)
}

// addPrefix begins the names of directories that copies are made in.
const addPrefix = "copy-"

// add puts a copy in its place, whole or not at all.
func (c copies) add(program, digest, kept string) error {
	dir, err := os.MkdirTemp(string(c), addPrefix)
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	fresh := filepath.Join(dir, "program")
	if err := copyFile(program, fresh, digest, 0o500); err != nil {
		return err
	}
	return os.Rename(fresh, kept)
}

// prepare makes the directory, which no other user can enter.
func (c copies) prepare() error {
	if err := os.MkdirAll(string(c), 0o700); err != nil {
		return err
	}
	return os.Chmod(string(c), 0o700)
}

// unusedFor is how long a copy is kept that nobody has started.
const unusedFor = 30 * 24 * time.Hour

// prune removes copies that were not started for long, and what is left of adding
// one.
func (c copies) prune(now time.Time) {
	entries, err := os.ReadDir(string(c))
	if c == "" || err != nil {
		return
	}
	for _, e := range entries {
		if !isDigest("sha256:"+e.Name()) && !strings.HasPrefix(e.Name(), addPrefix) {
			continue // somebody else's
		}
		if info, err := e.Info(); err == nil && now.Sub(info.ModTime()) > unusedFor {
			os.RemoveAll(filepath.Join(string(c), e.Name()))
		}
	}
}

// copyScript copies the files of a script into a directory and returns the path
// of the one that is run.
func copyScript(s *Script, dir string) (string, error) {
	for name, digest := range s.Files {
		to := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
			return "", err
		}
		if err := copyFile(filepath.Join(s.Dir, filepath.FromSlash(name)), to, digest, 0o400); err != nil {
			return "", err
		}
	}
	return filepath.Join(dir, filepath.FromSlash(s.Main)), nil
}
