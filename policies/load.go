package policies

import (
	"embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	cedar "github.com/cedar-policy/cedar-go"

	"github.com/skillet-run/skillet/internal/absent"
	"github.com/skillet-run/skillet/internal/recent"
)

// MaxFileBytes is the size of the largest policy file that Load reads. Cedar's
// parser follows nesting with its stack, and a larger file of nothing but
// parentheses would end the process.
const MaxFileBytes = 64 << 10

//go:embed defaults/*.cedar
var defaults embed.FS

// Set is a set of checked policies. It is immutable and safe for concurrent
// use. The zero value permits nothing.
type Set struct {
	policies []*policy // sorted by id
	byID     map[cedar.PolicyID]*policy
	index    index
	looks    callKeys // what any policy looks at of a call
	maximum  *Maximum // nil for none
	passed   []Warning
	answers  *recent.Cache[Query, Decision] // of this set alone
}

// LoadError tells what is wrong with a policy file. Load joins one for each
// problem it finds; callers reach the first with errors.As.
type LoadError struct {
	File    string // path of the file or directory, or defaults/name.cedar
	Line    int    // counted from 1; 0 when the whole file is meant
	Message string
	Err     error // the cause, such as fs.ErrPermission; nil for a mistake in the text
}

// Error returns "load policy file:line: message".
func (e *LoadError) Error() string {
	if e.Line == 0 {
		return fmt.Sprintf("load policy %s: %s", e.File, e.Message)
	}
	return fmt.Sprintf("load policy %s:%d: %s", e.File, e.Line, e.Message)
}

// Unwrap returns the cause.
func (e *LoadError) Unwrap() error { return e.Err }

// Default returns the embedded policies alone.
func Default() (*Set, error) { return Load() }

// Load returns the embedded policies and those of every file in dirs whose name
// ends in ".cedar". A directory that does not exist, and "", add nothing; a link to
// one that does not exist is an error. Directories in one are not entered. Any policy
// that cannot be read, parsed or checked, or that names what no request has, is an
// error, so that a rule is never silently missing: the error joins a *LoadError for
// each problem.
func Load(dirs ...string) (*Set, error) {
	l, err := newLoader()
	if err != nil {
		return nil, err
	}
	if err := l.addDefaults(); err != nil {
		return nil, err
	}
	for _, dir := range dirs {
		if dir == "" {
			continue
		}
		if err := l.addFiles(os.DirFS(dir), ".", dir); err != nil && !absent.Is(err, dir) {
			return nil, err
		}
	}
	return l.set()
}

// Check returns the embedded policies and those of one file, or of every file
// of a directory, and fails as [Load] does. Unlike there, what does not exist is
// an error: somebody named it.
func Check(path string) (*Set, error) {
	st, err := os.Stat(path)
	if err != nil {
		return nil, unreadable(path, err)
	}
	if st.IsDir() {
		return Load(path)
	}
	l, err := newLoader()
	if err != nil {
		return nil, err
	}
	if err := l.addDefaults(); err != nil {
		return nil, err
	}
	text, err := readFile(os.DirFS(filepath.Dir(path)), filepath.Base(path))
	if err != nil {
		return nil, unreadable(path, err)
	}
	l.addText(path, text)
	return l.set()
}

func (l *loader) addDefaults() error { return l.addFiles(defaults, "defaults", "defaults") }

// addFiles adds the policy files of a directory, in the order of their names.
func (l *loader) addFiles(fsys fs.FS, dir, shown string) error {
	entries, err := fs.ReadDir(fsys, dir)
	if err != nil {
		return unreadable(shown, err)
	}
	for _, entry := range entries {
		if filepath.Ext(entry.Name()) != ".cedar" {
			l.passBy(fsys, dir, entry, shown)
			continue
		}
		file := filepath.ToSlash(filepath.Join(shown, entry.Name()))
		text, err := readFile(fsys, filepath.ToSlash(filepath.Join(dir, entry.Name())))
		if err != nil {
			l.problem(unreadable(file, err))
			continue
		}
		l.addText(file, text)
	}
	return nil
}

// readFile reads a regular file of bounded size: opening a FIFO would wait
// forever.
func readFile(fsys fs.FS, name string) ([]byte, error) {
	info, err := fs.Stat(fsys, name)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, errors.New("it is not a regular file")
	}
	f, err := fsys.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, MaxFileBytes+1))
	if err == nil && len(text) > MaxFileBytes {
		err = fmt.Errorf("it is longer than %d bytes; split it", MaxFileBytes)
	}
	return text, err
}

// unreadable is the error of a file or directory that was looked for.
func unreadable(path string, err error) *LoadError {
	e := &LoadError{File: path, Message: causeOf(err), Err: err}
	if errors.Is(err, fs.ErrNotExist) && !absent.Is(err, path) {
		e.Message = "it is a link that leads nowhere, or is behind one"
	}
	return e
}

// causeOf leaves the path out of an error that is shown after it.
func causeOf(err error) string {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		return pe.Err.Error()
	}
	return err.Error()
}

// set returns what was added, or every problem that was met.
func (l *loader) set() (*Set, error) {
	if len(l.problems) > 0 {
		return nil, errors.Join(l.problems...)
	}
	slices.SortFunc(l.policies, func(a, b *policy) int { return strings.Compare(a.ID, b.ID) })
	ix := newIndex(l.policies)
	return &Set{policies: l.policies, byID: l.byID, index: ix, looks: ix.looks(), passed: l.passed, answers: new(recent.Cache[Query, Decision])}, nil
}

// List returns every policy in the set, sorted by id. The slice is the caller's
// to keep.
func (s *Set) List() []Policy {
	list := make([]Policy, len(s.policies))
	for i, p := range s.policies {
		list[i] = p.Policy
	}
	return list
}
