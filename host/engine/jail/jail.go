// Package jail is the file tree that untrusted code sees: some host directories and files, under the
// absolute paths they have on the host, with quotas, and with every access put to a [Guard] first.
//
// It stands on [os.Root] and walks every path one name at a time, holding each directory open, so that
// what it asked the guard about is what it opens, whatever another process renames or links meanwhile:
//
//   - a symbolic link is followed only while it stays inside its root; absolute links are refused;
//   - the guard is asked for the path as it was requested and again for the path the links lead to;
//   - nothing but regular files and directories is opened, and nothing else can make an open block;
//   - links, hard or symbolic, cannot be made, and symbolic links cannot be moved;
//   - a regular file with several hard links cannot be opened for writing, because its other names
//     are unknown; [FS.WriteFile] replaces it instead.
//
// Paths are slash-separated and absolute. "." and ".." are taken away from the text of the path before
// anything is looked up, as WASI hosts do; ".." inside a link's target is resolved on the tree.
//
// The package knows no WebAssembly engine, no skill, no capability and no policy.
package jail

import (
	"fmt"
	"os"
	"path"
	"slices"
	"strings"
	"sync"
)

// Op is the kind of access a [Guard] is asked about. The zero value is not an operation and is never asked.
type Op int

const (
	// Read is reading the contents of a regular file.
	Read Op = iota + 1
	// Write is changing the contents, the size or the times of something that exists.
	Write
	// List is reading the names in a directory.
	List
	// Stat is learning whether something exists, its size, kind and times, or where a link points.
	Stat
	// Create is adding a regular file or a directory.
	Create
	// Remove is taking a name out of a directory.
	Remove
	// Rename is moving a name; it is asked for the old path and for the new one, and for both paths
	// of everything below a directory that moves.
	Rename
)

// String returns the operation in lower case, for example "read".
func (o Op) String() string {
	names := [...]string{"none", "read", "write", "list", "stat", "create", "remove", "rename"}
	if o < 0 || int(o) >= len(names) {
		return fmt.Sprintf("op(%d)", int(o))
	}
	return names[o]
}

// Changes reports whether the operation needs a root with Write set.
func (o Op) Changes() bool { return o == Write || o == Create || o == Remove || o == Rename }

// Guard decides each access by clean absolute path. It is asked for the requested path before anything
// is looked up, so that a refusal does not tell whether the path exists, and again for the path that
// links led to when the two differ. An error refuses the access; the error that the caller gets wraps it.
// A Guard is called from the goroutine of the access and must be safe for concurrent use.
type Guard interface {
	Check(op Op, path string) error
}

// RealGuard is a Guard that is also asked for the path on the host when the root itself was reached
// through links and the access has therefore another name outside the jail: with the root /data being a
// link to /srv/x, reading /data/a asks Check(Read, "/data/a") and CheckReal(Read, "/srv/x/a").
type RealGuard interface {
	Guard
	CheckReal(op Op, path string) error
}

// EscapeGuard is a Guard that is also told when a link leads out of its root. The access is refused in any
// case; path is the one that was requested.
type EscapeGuard interface {
	Guard
	Escaped(op Op, path string)
}

// RenewedGuard is a Guard whose answers may become others. As long as Decided returns the same number they are the
// same; when it returns another one, [File.Allowed] asks again.
type RenewedGuard interface {
	Guard
	Decided() uint64
}

// GuardFunc is a function as a [Guard].
type GuardFunc func(op Op, path string) error

// Check calls the function.
func (g GuardFunc) Check(op Op, path string) error { return g(op, path) }

// Root is one host directory with all below it, or one file, that the jail shows under its own path.
type Root struct {
	// Path is clean and absolute.
	Path string
	// Write lets things in the root be changed; without it every change is refused with ErrReadOnly.
	Write bool
}

// FS is an open jail. It is safe for concurrent use. Its zero value holds no roots and refuses everything.
type FS struct {
	guard  Guard
	quota  Quota
	public []Root
	mounts []*mount // longest path first

	mu    sync.Mutex
	use   Usage
	files map[*File]struct{}
	done  bool
}

// Open opens a jail on roots. The guard must not be nil. When roots overlap the longest path wins.
// A root that does not exist, or cannot be opened, is an error of each access to it and not of Open;
// one whose parent directory exists can be created through the jail. A root that lies inside another
// root with Write set is looked up inside that one, because its contents may be the guest's doing.
// Two roots with one path are merged.
func Open(roots []Root, g Guard, q Quota) (*FS, error) {
	if g == nil {
		return nil, fmt.Errorf("open jail: a guard is required")
	}
	f := &FS{guard: g, quota: q.withDefaults(), files: map[*File]struct{}{}}
	var err error
	if f.public, err = mergeRoots(roots); err != nil {
		return nil, err
	}
	for _, r := range f.public { // shortest path first: a root that encloses another is there before it
		f.mounts = slices.Insert(f.mounts, 0, f.mount(r))
	}
	return f, nil
}

// mergeRoots checks the roots and returns them once each, shortest path first.
func mergeRoots(roots []Root) ([]Root, error) {
	byPath := map[string]Root{}
	for _, r := range roots {
		if c, err := Clean(r.Path); err != nil || c != r.Path {
			return nil, fmt.Errorf("open jail: root %q: want a clean absolute path", r.Path)
		}
		r.Write = r.Write || byPath[r.Path].Write
		byPath[r.Path] = r
	}
	out := make([]Root, 0, len(byPath))
	for _, r := range byPath {
		out = append(out, r)
	}
	slices.SortFunc(out, func(a, b Root) int {
		if n := len(a.Path) - len(b.Path); n != 0 {
			return n
		}
		return strings.Compare(a.Path, b.Path)
	})
	return out, nil
}

// Roots returns the roots, shortest path first. The caller owns the slice.
func (f *FS) Roots() []Root { return slices.Clone(f.public) }

// Close closes the roots and every file that is still open. Later calls fail with fs.ErrClosed.
// Closing twice does nothing.
func (f *FS) Close() error {
	f.mu.Lock()
	if f.done {
		f.mu.Unlock()
		return nil
	}
	f.done = true
	open := make([]*File, 0, len(f.files))
	for h := range f.files {
		open = append(open, h)
	}
	f.mu.Unlock()
	for _, h := range open {
		h.Close()
	}
	for _, m := range f.mounts {
		m.close()
	}
	return nil
}

// find returns the mount with the longest path that p is at or below, or nil.
func (f *FS) find(p string) *mount {
	for _, m := range f.mounts {
		if within(p, m.Path) {
			return m
		}
	}
	return nil
}

// within reports whether the clean path p is dir or lies below it.
func within(p, dir string) bool {
	return p == dir || dir == "/" || strings.HasPrefix(p, dir) && p[len(dir)] == '/'
}

// mount is a root as it was found on the host.
type mount struct {
	Root
	dir  *os.Root // nil when err is set
	name string   // what the root is called in dir; "." for a directory root
	real string   // path of the root on the host, without links
	err  error
}

// close closes the mount's directory.
func (m *mount) close() {
	if m.dir != nil {
		m.dir.Close()
	}
}

// below returns p relative to m.dir.
func (m *mount) below(p string) string {
	return path.Join(m.name, strings.TrimPrefix(p, m.Path))
}

// outer turns a link-free path relative to m.dir into the path the guest knows and the path on the host.
// It reports false for paths that are not the root or below it.
func (m *mount) outer(rel string) (guest, real string, ok bool) {
	if m.name == "." {
		return path.Join(m.Path, rel), path.Join(m.real, rel), true
	}
	if !within(rel, m.name) {
		return "", "", false
	}
	rest := rel[len(m.name):]
	return m.Path + rest, m.real + rest, true
}
