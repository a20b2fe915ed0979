// Package wheels brings the Python packages that a folder of scripts needs into it, when
// it is built: those of its requirements.txt, found by pip, in pure Python alone. What was
// found is locked by digests beside, and a later build takes the same or fails.
//
// It runs no code of a package: wheels are unpacked, and nothing is built.
package wheels

import (
	"archive/zip"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/skillet-run/skillet/host/base/fault"
	"github.com/skillet-run/skillet/internal/lazyregexp"
)

// The files and the directory of a folder that this package knows.
const (
	Requirements = "requirements.txt"
	Lock         = "requirements.lock"
	Dir          = "vendor"
)

// Bounds of what is brought, in bytes and files.
const (
	maxWheel = 32 << 20
	maxFiles = 8000
	maxAll   = 64 << 20
)

// Python is the version of Python that packages are for.
const python = "3.12"

// Vendor brings the packages that a folder names into its directory vendor, and locks them.
// It does nothing for a folder that names none. pip is the program to run, with the
// arguments that come before its own. Errors are [fault.Error]s: of [fault.KindNotFound] for
// pip that is missing and a package that is not there, of [fault.KindVerification] for one
// with native code, and for one that is not as it was locked.
func Vendor(ctx context.Context, dir string, pip ...string) (names []string, err error) {
	wants, err := os.ReadFile(filepath.Join(dir, Requirements))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if err := plain(wants); err != nil {
		return nil, err
	}
	tmp, err := os.MkdirTemp("", "skillet-wheels-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(tmp)
	head := header(wants)
	lock, err := os.ReadFile(filepath.Join(dir, Lock))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	if _, err := os.Stat(filepath.Join(dir, Dir)); err == nil && lock == nil {
		return nil, fault.Errorf(fault.KindConflict, "%s: there is a directory %s that no build has made", dir, Dir).
			WithHint("give it another name, or remove %s", Requirements)
	}
	list := filepath.Join(tmp, "list.txt")
	args := []string{"-r", list}
	if locked := bytes.HasPrefix(lock, []byte(head)); locked {
		wants, args = lock, append(args, "--require-hashes", "--no-deps")
	}
	if err := os.WriteFile(list, wants, 0o600); err != nil {
		return nil, err
	}
	if err := download(ctx, pip, filepath.Join(tmp, "wheels"), args); err != nil {
		return nil, err
	}
	return unpackAll(dir, filepath.Join(tmp, "wheels"), head)
}

// header is the first line of a lock.
func header(wants []byte) string {
	sum := sha256.Sum256(wants)
	return "# of " + Requirements + " sha256:" + hex.EncodeToString(sum[:]) + "\n"
}

// plain refuses requirements that are more than names and versions: an option could have
// pip look elsewhere, and an address could be anything.
func plain(wants []byte) error {
	for line := range strings.Lines(string(wants)) {
		line, _, _ = strings.Cut(line, "#")
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "-") || strings.ContainsAny(line, "/\\@") {
			return fault.Errorf(fault.KindUsage, "%s: %q is not the name of a package with a version", Requirements, line).
				WithHint("write lines such as openpyxl==3.1.5")
		}
	}
	return nil
}

var missing = lazyregexp.New(`No matching distribution found for ([^\s(]+)`)

// download has pip find wheels and put them into a directory.
func download(ctx context.Context, pip []string, to string, args []string) error {
	if len(pip) == 0 {
		pip = []string{"python3", "-m", "pip"}
	}
	words := slices.Concat(pip[1:], []string{
		"download", "--quiet", "--disable-pip-version-check", "--no-input", "--only-binary=:all:", "--platform", "any", "--implementation", "py", "--abi", "none",
		"--python-version", python, "--dest", to}, args)
	c := exec.CommandContext(ctx, pip[0], words...)
	var said bytes.Buffer
	c.Stdout, c.Stderr = io.Discard, &said
	err := c.Run()
	if err == nil {
		return nil
	}
	text := said.String()
	switch found := missing().FindStringSubmatch(text); {
	case c.ProcessState == nil || strings.Contains(text, "No module named pip"):
		return fault.Errorf(fault.KindNotFound, "%s names packages, and pip is not on this machine", Requirements).
			WithHint("install Python with pip, or remove %s", Requirements)
	case found != nil:
		return fault.Errorf(fault.KindVerification, "%s: wheel of %s in pure Python not found", Requirements, found[1]).
			WithHint("a package with native code cannot be loaded in the sandbox: leave it out, or take one in pure Python (py3-none-any)")
	case strings.Contains(text, "DO NOT MATCH THE HASHES"):
		return fault.Errorf(fault.KindVerification, "%s: a package is not the one that was locked", Lock).
			WithHint("find out why; to lock what there is now, remove %s", Lock)
	}
	return fault.Errorf(fault.KindNotFound, "%s: pip: %s", Requirements, lastLine(text))
}

func lastLine(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return lines[len(lines)-1]
}

// unpackAll replaces the directory of packages by the wheels, and writes the lock.
func unpackAll(dir, from, head string) (names []string, err error) {
	entries, err := os.ReadDir(from)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	u := unpacking{to: filepath.Join(dir, Dir+".new")}
	if err := os.RemoveAll(u.to); err != nil {
		return nil, err
	}
	defer os.RemoveAll(u.to)
	if err := os.MkdirAll(u.to, 0o755); err != nil {
		return nil, err
	}
	var lock strings.Builder
	lock.WriteString(head)
	for _, e := range entries {
		digest, err := u.wheel(filepath.Join(from, e.Name()))
		if err != nil {
			return nil, err
		}
		parts := strings.Split(e.Name(), "-")
		fmt.Fprintf(&lock, "%s==%s --hash=sha256:%s\n", parts[0], parts[1], digest)
		names = append(names, parts[0]+" "+parts[1])
	}
	if err := errors.Join(os.RemoveAll(filepath.Join(dir, Dir)), os.Rename(u.to, filepath.Join(dir, Dir))); err != nil {
		return nil, err
	}
	return names, os.WriteFile(filepath.Join(dir, Lock), []byte(lock.String()), 0o644)
}

// unpacking unpacks wheels into a directory.
type unpacking struct {
	to           string
	files, bytes int64
}

// wheel unpacks one, and returns its SHA-256.
func (u *unpacking) wheel(name string) (string, error) {
	base := filepath.Base(name)
	if !strings.HasSuffix(base, "-none-any.whl") || strings.Count(base, "-") < 4 {
		return "", fault.Errorf(fault.KindVerification, "%s is not a wheel in pure Python", base).WithHint("native code cannot be loaded in the sandbox: leave the package out")
	}
	b, err := os.ReadFile(name)
	if err != nil {
		return "", err
	}
	if len(b) > maxWheel {
		return "", fault.Errorf(fault.KindLimit, "%s has %d bytes, at most %d", base, len(b), maxWheel)
	}
	z, err := zip.NewReader(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		return "", fault.Errorf(fault.KindVerification, "%s: %w", base, err)
	}
	for _, f := range z.File {
		if err := u.file(base, f); err != nil {
			return "", err
		}
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:]), nil
}

// native are endings of files with native code.
var native = []string{".so", ".pyd", ".dylib", ".dll", ".a"}

func (u *unpacking) file(wheel string, f *zip.File) error {
	top, _, _ := strings.Cut(f.Name, "/")
	switch ext := strings.ToLower(path.Ext(f.Name)); {
	case strings.HasSuffix(f.Name, "/") || strings.HasSuffix(top, ".data") || hidden(f.Name) || strings.Contains(f.Name, "__pycache__"):
		return nil
	case !filepath.IsLocal(f.Name) || !f.Mode().IsRegular():
		return fault.Errorf(fault.KindVerification, "%s: %q does not belong into a wheel", wheel, f.Name)
	case slices.Contains(native, ext):
		return fault.Errorf(fault.KindVerification, "%s has native code: %s", wheel, f.Name).WithHint("it cannot be loaded in the sandbox: leave the package out")
	}
	r, err := f.Open()
	if err != nil {
		return err
	}
	defer r.Close()
	b, err := io.ReadAll(io.LimitReader(r, maxAll-u.bytes+1))
	if err != nil {
		return fmt.Errorf("%s: %w", wheel, err)
	}
	if u.bytes, u.files = u.bytes+int64(len(b)), u.files+1; u.bytes > maxAll || u.files > maxFiles {
		return fault.Errorf(fault.KindLimit, "%s: the packages have more than %d bytes or %d files", Requirements, maxAll, maxFiles)
	}
	to := filepath.Join(u.to, filepath.FromSlash(f.Name))
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	return os.WriteFile(to, b, 0o644)
}

// hidden reports whether a part of a path begins with a dot: a package has no such files.
func hidden(name string) bool {
	return strings.HasPrefix(name, ".") && !strings.HasPrefix(name, "..") || strings.Contains(name, "/.") && !strings.Contains(name, "/..")
}
