// Package rules reads the policies that hold in a home: those that came with the program,
// those of the administrator of the machine, and those of the home; and the bounds that
// the administrator sets.
package rules

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/skillet-run/skillet/host/base/fault"
	"github.com/skillet-run/skillet/internal/absent"
	"github.com/skillet-run/skillet/policies"
)

// SystemDir is the directory in which an administrator of this machine sets
// bounds for every home on it: policies/*.cedar, and [policies.MaximumFile]. No
// setting moves it: whoever is bounded could.
func SystemDir() string {
	switch runtime.GOOS {
	case "windows":
		return `C:\ProgramData\skillet`
	case "darwin":
		return "/Library/Application Support/skillet"
	}
	return "/etc/skillet"
}

// Sources are where policies are, besides those that came with the program.
type Sources struct {
	// Home is the directory of the home, and System that of the administrator's bounds;
	// empty for none.
	Home, System string
}

// Read reads the policies in force, and the administrator's bounds; nil for none.
func (p Sources) Read() (*policies.Set, *policies.Maximum, error) {
	if err := p.checkSystem(); err != nil {
		return nil, nil, err
	}
	m, err := policies.LoadMaximum(p.System)
	if err != nil {
		return nil, nil, fault.Wrap(fault.KindUsage, err).WithHint("its administrator has to correct it: without it nobody knows what is allowed")
	}
	set, err := policies.Load(p.dirs()...)
	if err != nil {
		return nil, nil, fault.Wrap(fault.KindUsage, err).WithHint("correct the file, or move it out of its directory; %s checks one", fault.CheckPolicy(""))
	}
	return set.Within(m), m, nil
}

// dirs are the directories with policies.
func (p Sources) dirs() []string {
	dirs := []string{filepath.Join(p.Home, "policies")}
	if p.System != "" {
		dirs = append(dirs, filepath.Join(p.System, "policies"))
	}
	return dirs
}

// checkSystem refuses bounds that somebody else than the administrator could
// have set.
func (p Sources) checkSystem() error {
	if p.System == "" || runtime.GOOS == "windows" { // where modes say nothing
		return nil
	}
	for _, path := range []string{p.System, filepath.Join(p.System, policies.MaximumFile), filepath.Join(p.System, "policies")} {
		st, err := os.Stat(path)
		if absent.Is(err, path) {
			continue
		}
		if err != nil {
			return fault.Errorf(fault.KindUsage, "look at the administrator's bounds: %w", err).
				WithHint("its administrator has to correct or delete it: without it nobody knows what is allowed")
		}
		if st.Mode().Perm()&0o022 != 0 {
			return fault.Errorf(fault.KindVerification, "%s can be changed by others than its owner (mode %o)", path, st.Mode().Perm()).
				WithHint("its administrator has to run `chmod go-w %s`", path)
		}
	}
	return nil
}

// Mark is another text when files changed that policies and bounds are read from.
func (p Sources) Mark() string {
	var b strings.Builder
	if p.System != "" {
		describe(&b, p.System)
		describe(&b, filepath.Join(p.System, policies.MaximumFile))
	}
	for _, dir := range p.dirs() {
		describe(&b, dir)
		entries, err := os.ReadDir(dir)
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			fmt.Fprintln(&b, err)
		}
		for _, e := range entries {
			describe(&b, filepath.Join(dir, e.Name()))
		}
	}
	return b.String()
}

// describe writes what tells a file from what it was before.
func describe(b *strings.Builder, path string) {
	st, err := os.Stat(path)
	if err != nil {
		fmt.Fprintln(b, err)
		return
	}
	fmt.Fprintln(b, path, st.Mode(), st.Size(), st.ModTime().UnixNano())
}
