package upkeep

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/skillet-run/skillet/host/base/fault"
	"github.com/skillet-run/skillet/host/record/rules"

	"github.com/skillet-run/skillet/host/base/config"
	"github.com/skillet-run/skillet/host/record/history"
	"github.com/skillet-run/skillet/host/run/hostfn"
)

// DefaultHome is $SKILLET_HOME, or .skillet in the user's home directory.
func DefaultHome(getenv func(string) string) (string, error) {
	if h := getenv("SKILLET_HOME"); h != "" {
		return filepath.Abs(h)
	}
	h := getenv("HOME")
	if h == "" {
		return "", fault.Errorf(fault.KindUsage, "neither SKILLET_HOME nor HOME is set").
			WithHint("name a directory: %s, or export SKILLET_HOME=DIR", fault.SetField(fault.FieldHome, "DIR"))
	}
	return filepath.Join(h, ".skillet"), nil
}

// SystemDir is the directory of the administrator's bounds on this machine.
func SystemDir() string { return rules.SystemDir() }

// MakeHome makes the directory, refuses one that others could write to or that
// is something else, and returns its path without symbolic links, as policies
// compare it.
func MakeHome(home string) (string, error) {
	if err := os.MkdirAll(home, 0o700); err != nil {
		return "", fault.Errorf(fault.KindUsage, "make home: %w", err).WithHint("name another directory with %s or SKILLET_HOME", fault.SetField(fault.FieldHome))
	}
	real, err := filepath.EvalSymlinks(home)
	if err != nil {
		return "", fmt.Errorf("find home: %w", err)
	}
	st, err := os.Stat(real)
	if err != nil {
		return "", fmt.Errorf("look at home: %w", err)
	}
	if !st.IsDir() {
		return "", fault.Errorf(fault.KindUsage, "home %s is not a directory", home).WithHint("name another with %s or SKILLET_HOME", fault.SetField(fault.FieldHome))
	}
	if st.Mode().Perm()&0o022 != 0 {
		return "", fault.Errorf(fault.KindVerification, "home %s can be written to by others (mode %o)", home, st.Mode().Perm()).
			WithHint("run `chmod 700 %s`", home)
	}
	return real, mark(real)
}

// marked is what the file that marks a home says.
const marked = "This directory is a home of skillet's: it holds grants, secrets and the record of decisions.\nNo skill is let into it. Leave this file where it is.\n"

// mark makes sure that a directory is a home, and marks a new one. A directory
// with other things in it is refused: a slip in --home would otherwise fill it
// with a home's.
func mark(home string) error {
	marker := filepath.Join(home, hostfn.HomeMarker)
	if _, err := os.Lstat(marker); err == nil {
		return nil
	}
	entries, err := os.ReadDir(home)
	if err != nil {
		return fmt.Errorf("look at home: %w", err)
	}
	for _, e := range entries {
		if !ours(e.Name()) {
			return fault.Errorf(fault.KindUsage, "%s is not a home of skillet: it contains something else, %q", home, e.Name()).
				WithHint("name a new or an empty directory with %s or SKILLET_HOME; to use this one all the same, make the file %s", fault.SetField(fault.FieldHome), marker)
		}
	}
	f, err := os.OpenFile(marker, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) { // another command was first
		return nil
	}
	if err != nil {
		return fault.Errorf(fault.KindUsage, "make home: %w", err).WithHint("name a directory that can be written to with %s or SKILLET_HOME", fault.SetField(fault.FieldHome))
	}
	_, err = f.WriteString(marked)
	if err := errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("make home: %w", err)
	}
	return nil
}

// RecordingsDir is the directory of a home with the recordings of recent calls.
const RecordingsDir = "recordings"

// ours reports whether a name is one that a home has, or that a person may put
// into one before its first use. lost+found is a file system's own.
func ours(name string) bool {
	known := []string{
		config.FileName, config.EnvFileName, "policies", "journal", "store", "blobs", "cache", "secrets", "keys", "logs", RecordingsDir, "sessions", history.Dir, history.Lock, servingLock, servingFile, servingSock, "lost+found", hostfn.HomeMarker,
	}
	return slices.Contains(known, name) || strings.HasPrefix(name, "store.") || strings.HasPrefix(name, history.Dir+".")
}
