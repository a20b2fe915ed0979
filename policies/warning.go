package policies

import (
	"fmt"
	"io/fs"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// A Warning says what the author of policies should know. It is not a mistake:
// it may be intended, or be true on this machine and today only.
type Warning struct {
	File    string // as in [Policy], or what is not read as policies
	Line    int    // counted from 1; 0 when the whole file is meant
	Message string
}

// String returns "file:line: message".
func (w Warning) String() string {
	if w.Line == 0 {
		return w.File + ": " + w.Message
	}
	return fmt.Sprintf("%s:%d: %s", w.File, w.Line, w.Message)
}

// Warnings looks at the policies as the file system is now, in the order of [Set.List],
// and at what was passed by when they were loaded.
func (s *Set) Warnings() []Warning {
	all := slices.Clone(s.passed)
	for _, p := range s.policies {
		for _, uid := range entitiesOf(p.ast()) {
			if uid.Type != "Path" {
				continue
			}
			if why := pathWarning(string(uid.ID)); why != "" {
				all = append(all, Warning{p.File, p.lineOf(uid.String()), "policy " + p.ID + ": " + why})
			}
		}
	}
	return all
}

// ignoresCase tells that names that differ only in case are the same file on most
// file systems of this system.
const ignoresCase = runtime.GOOS == "darwin" || runtime.GOOS == "windows"

// pathWarning says that a path is a link, or leads through one. It is not a mistake: the
// same policies may serve machines without the link, and a policy may name both ends.
func pathWarning(file string) string {
	real, err := filepath.EvalSymlinks(filepath.FromSlash(file))
	if real = filepath.ToSlash(real); err != nil || real == file { // it need not be there
		if ignoresCase {
			return fmt.Sprintf("file systems here may ignore case, and Path::%q is compared as it is written; `context.folded` is the path in lower case", file)
		}
		return ""
	}
	return fmt.Sprintf("%s is a link to %s, and requests name files with links resolved: what is reached by that path is not matched; name Path::%q, too", file, real, real)
}

// passBy notes an entry of a directory that looks as if it held policies and is not
// read: only files whose name ends in ".cedar" are.
func (l *loader) passBy(fsys fs.FS, dir string, entry fs.DirEntry, shown string) {
	name, why := entry.Name(), ""
	switch {
	case entry.IsDir():
		inside, err := fs.ReadDir(fsys, filepath.ToSlash(filepath.Join(dir, name)))
		if err != nil || !slices.ContainsFunc(inside, func(e fs.DirEntry) bool { return strings.EqualFold(filepath.Ext(e.Name()), ".cedar") }) {
			return
		}
		why = "directories in a directory of policies are not entered; move its files up"
	case strings.Contains(strings.ToLower(name), ".cedar"): // and then a space, ".txt", "policy"
		why = `it is not read as a policy: its name does not end in ".cedar"`
	default:
		return
	}
	l.passed = append(l.passed, Warning{File: filepath.ToSlash(filepath.Join(shown, name)), Message: why})
}
