package admit

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/skillet-run/skillet/host/base/fault"
	"github.com/skillet-run/skillet/host/base/outfile"
	"github.com/skillet-run/skillet/host/base/store/atomicfile"
	"github.com/skillet-run/skillet/host/install/closure"
	"github.com/skillet-run/skillet/host/record/approval"
	"github.com/skillet-run/skillet/internal/openfile"
	"github.com/skillet-run/skillet/manifests/lockfile"
)

// LockFile is the usual name of a lock.
const LockFile = lockfile.FileName

// Locked says what was written down.
type Locked struct {
	Path     string `json:"path"`
	Roots    int    `json:"roots"`
	Packages int    `json:"packages"`
	// Content is the lock as it is in the file.
	Content []byte `json:"-"`
	// Changes says what is different from the lock that was there, one line each; empty
	// when there was none that could be read.
	Changes string `json:"-"`
}

// A LockRequest says where the lock is written. With the zero value it is only returned.
type LockRequest struct {
	// Path is the file. A lock that is there is replaced; anything else is a conflict
	// unless Over is set.
	Path string
	Over bool
}

// Lock writes down exactly what is installed, with what it needs.
func (s *Service) Lock(ctx context.Context, by approval.Principal, r LockRequest) (Locked, error) {
	home, err := s.home(ctx, by)
	if err != nil {
		return Locked{}, err
	}
	l, err := home.Lock()
	if err != nil {
		return Locked{}, err
	}
	b, err := l.Encode()
	if err != nil {
		return Locked{}, fault.Wrap(fault.KindConflict, fmt.Errorf("lock: %w", err)).WithHint("%s shows what is installed; a skill without a source cannot be locked", fault.ShowNeeds(""))
	}
	out := Locked{Path: r.Path, Roots: len(l.Roots), Packages: len(l.Packages), Content: b}
	if r.Path == "" {
		return out, nil
	}
	if err := writes(by); err != nil {
		return Locked{}, err
	}
	if err := outfile.Check(r.Path, r.Over || isLock(ctx, r.Path)); err != nil {
		return Locked{}, err
	}
	if old, err := readLock(ctx, r.Path); err == nil {
		if c := lockfile.Compare(old, l); !c.IsEmpty() {
			out.Changes = c.String()
		}
	}
	if err := cmp.Or(atomicfile.Write(r.Path, b), os.Chmod(r.Path, 0o644)); err != nil {
		return Locked{}, fmt.Errorf("write %s: %w", r.Path, err)
	}
	return out, nil
}

// isLock reports whether a file is a lock, or was one before somebody changed it.
func isLock(ctx context.Context, path string) bool {
	b, err := openfile.Read(ctx, path, lockfile.MaxBytes)
	return err == nil && (len(b) == 0 || bytes.Contains(b, []byte(`"lockfile_version"`)))
}

// readLock reads a file that Lock wrote.
func readLock(ctx context.Context, path string) (*lockfile.Lock, error) {
	b, err := openfile.Read(ctx, path, lockfile.MaxBytes)
	switch {
	case errors.Is(err, openfile.ErrTooLarge):
		return nil, fault.Errorf(fault.KindUsage, "read lock %s: it is longer than %d bytes", path, lockfile.MaxBytes).WithHint("name a lock file; %s writes one", fault.WriteLock(""))
	case errors.Is(err, fs.ErrNotExist):
		return nil, fault.Wrap(fault.KindNotFound, fmt.Errorf("read lock: %w", err)).WithHint("%s writes one", fault.WriteLock(path))
	case err != nil:
		return nil, fmt.Errorf("read lock: %w", err)
	}
	l, err := lockfile.Parse(b)
	if err != nil {
		return nil, fault.Wrap(fault.KindUsage, fmt.Errorf("%s: %w", path, err)).WithHint("undo what was changed by hand, or write it again: %s", fault.WriteLock(path))
	}
	return l, nil
}

// Checked is what was found of a lock that the home agrees with.
type Checked struct {
	// Packages is how many it has.
	Packages int
}

// CheckLock compares the home with the lock in a file, and the lock with what its packages
// need. It changes nothing. It fails with a [fault.KindConflict] error that says what is
// different.
func (s *Service) CheckLock(ctx context.Context, by approval.Principal, path string) (Checked, error) {
	if err := s.ready(ctx, by); err != nil {
		return Checked{}, err
	}
	l, err := readLock(ctx, path)
	if err != nil {
		return Checked{}, err
	}
	catalog, err := s.catalog(ctx, closure.Settings{})
	if err != nil {
		return Checked{}, err
	}
	home, err := catalog.Home(ctx)
	if err != nil {
		return Checked{}, err
	}
	now, err := home.Lock()
	if err != nil {
		return Checked{}, err
	}
	if err := same(lockfile.Compare(l, now), "the home is not what %s says", path,
		fault.Hintf("%s makes it so; %s writes down what is installed", fault.Sync(path), fault.WriteLock(path))); err != nil {
		return Checked{}, err
	}
	changes, err := catalog.Check(ctx, l)
	if err != nil {
		return Checked{}, err
	}
	err = same(changes, "%s is not what its packages need", path,
		fault.Hintf("%s and %s, then %s", fault.Sync(path), fault.UpdateAll(), fault.WriteLock(path)))
	return Checked{len(l.Packages)}, err
}

// same fails with the changes when there are some.
func same(c lockfile.Changes, what, path string, hint fault.Hint) error {
	if c.IsEmpty() {
		return nil
	}
	return fault.Errorf(fault.KindConflict, what+":\n%s", path, strings.TrimSuffix(c.String(), "\n")).Hinted(hint)
}
