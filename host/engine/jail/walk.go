package jail

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

const (
	maxLinks  = 40 // as Linux
	maxNames  = 8192
	maxChange = 64 // times a walk starts again because the tree changed under it
)

// errChanged ends a walk that saw the tree change; the walk is tried again.
var errChanged = errors.New("changed")

// location is where a walk ended: a directory that is held open and one name in it.
type location struct {
	dir  *os.Root
	name string      // "." when the walk ended at dir itself
	info fs.FileInfo // what the name stands for, without following links; nil when there is nothing
	rel  string      // link-free path below the mount's directory

	guest, real string // set by FS.locate
	own         bool   // dir is to be closed
}

// close lets the directory go.
func (p *location) close() {
	if p.own {
		p.dir.Close()
	}
}

// walker goes down from a root one name at a time. It holds the directories it passed open, so that ".."
// in a link's target leads back to where it came from even if a directory was moved meanwhile.
type walker struct {
	dirs  []*os.Root // dirs[0] is the mount's own
	names []string   // names[i] leads from dirs[i] to dirs[i+1]
	todo  []string
	links int
	steps int
}

// walk looks rel up below root. follow tells whether a link in the last place is followed.
func walk(root *os.Root, rel string, follow bool) (*location, error) {
	w := &walker{dirs: []*os.Root{root}, todo: split(rel)}
	p, err := w.run(follow)
	keep := len(w.dirs)
	if err == nil {
		keep--
		p.own = keep > 0
	}
	for i, d := range w.dirs[:keep] {
		if i > 0 {
			d.Close()
		}
	}
	return p, err
}

// split returns the names of a path without empty ones and ".".
func split(p string) []string {
	return slices.DeleteFunc(strings.Split(p, "/"), func(s string) bool { return s == "" || s == "." })
}

// run takes names until one is the last.
func (w *walker) run(follow bool) (*location, error) {
	for len(w.todo) > 0 {
		if w.steps++; w.steps > maxNames {
			return nil, ErrLoop
		}
		name := w.todo[0]
		w.todo = w.todo[1:]
		p, err := w.step(name, follow)
		if p != nil || err != nil {
			return p, err
		}
	}
	info, err := w.top().Stat(".")
	if err != nil {
		return nil, err
	}
	return &location{dir: w.top(), name: ".", info: info, rel: w.rel()}, nil
}

// step looks at one name. It returns a place when the name is where the walk ends.
func (w *walker) step(name string, follow bool) (*location, error) {
	if name == ".." {
		return nil, w.up()
	}
	last := len(w.todo) == 0
	info, err := w.top().Lstat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist) && last:
		return &location{dir: w.top(), name: name, rel: path.Join(w.rel(), name)}, nil
	case err != nil:
		return nil, err
	case info.Mode().Type() == fs.ModeSymlink && (follow || !last):
		return nil, w.expand(name)
	case last:
		return &location{dir: w.top(), name: name, info: info, rel: path.Join(w.rel(), name)}, nil
	case !info.IsDir():
		return nil, ErrNotDir
	}
	return nil, w.down(name, info)
}

// top is the directory the walk is in.
func (w *walker) top() *os.Root { return w.dirs[len(w.dirs)-1] }

// rel is the link-free path of top below the mount's directory.
func (w *walker) rel() string { return path.Join(w.names...) }

// up goes back to the directory the walk came from; above the root there is nothing.
func (w *walker) up() error {
	if len(w.dirs) == 1 {
		return ErrEscape
	}
	w.top().Close()
	w.dirs = w.dirs[:len(w.dirs)-1]
	w.names = w.names[:len(w.names)-1]
	return nil
}

// down opens a directory and makes sure that it is the one that was looked at.
func (w *walker) down(name string, info fs.FileInfo) error {
	d, err := openDir(w.top(), name, info)
	if err != nil {
		return err
	}
	w.dirs = append(w.dirs, d)
	w.names = append(w.names, name)
	return nil
}

// expand puts the target of a link in front of what is left to walk.
func (w *walker) expand(name string) error {
	if w.links++; w.links > maxLinks {
		return ErrLoop
	}
	target, err := w.top().Readlink(name)
	if err != nil {
		return errChanged // it was a link a moment ago
	}
	target = filepath.ToSlash(target)
	if path.IsAbs(target) || filepath.VolumeName(target) != "" {
		return ErrEscape
	}
	w.todo = append(split(target), w.todo...)
	return nil
}

// mount finds a root on the host.
func (f *FS) mount(r Root) *mount {
	m := &mount{Root: r}
	if outer := f.find(r.Path); outer != nil && f.changeable(r.Path) {
		m.err = m.openInside(outer)
	} else {
		m.err = m.openOutside()
	}
	return m
}

// changeable reports whether a root found so far lets the guest change what is at p.
func (f *FS) changeable(p string) bool {
	return slices.ContainsFunc(f.mounts, func(m *mount) bool { return m.Write && within(p, m.Path) })
}

// openOutside finds a root from the top of the host's tree, following links: its path is the person's own word.
func (m *mount) openOutside() error {
	real, err := filepath.EvalSymlinks(m.Path)
	if err == nil {
		var info fs.FileInfo
		if info, err = os.Stat(real); err == nil && info.IsDir() {
			m.name, m.real = ".", real
			m.dir, err = os.OpenRoot(real)
			return err
		}
	} else if errors.Is(err, fs.ErrNotExist) { // may be made later
		var parent string
		if parent, err = filepath.EvalSymlinks(path.Dir(m.Path)); err == nil {
			real = path.Join(parent, path.Base(m.Path))
		}
	}
	if err != nil {
		return err
	}
	m.name, m.real = path.Base(real), real
	m.dir, err = os.OpenRoot(path.Dir(real))
	return err
}

// openInside finds a root within another one that the guest can change.
func (m *mount) openInside(outer *mount) error {
	if outer.err != nil {
		return outer.err
	}
	p, err := walk(outer.dir, outer.below(m.Path), true)
	if err != nil {
		return err
	}
	defer p.close()
	_, real, ok := outer.outer(p.rel)
	if !ok {
		return ErrEscape
	}
	if p.info != nil && p.info.IsDir() {
		m.name, m.real = ".", real
		m.dir, err = p.dir.OpenRoot(p.name + "/.")
		return err
	}
	m.name, m.real = p.name, real
	m.dir, err = p.dir.OpenRoot(".")
	return err
}
