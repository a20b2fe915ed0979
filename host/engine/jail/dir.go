package jail

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
)

// Dir is an open directory, from which those below it are opened without walking to them from their root again. It
// is for one goroutine, and does not count as an open file.
type Dir struct {
	fs          *FS
	dir         *os.Root
	mount       *mount
	guest, real string
	decided     uint64 // as in [File]
}

// OpenDir opens a directory for listing. Errors are those of [FS.OpenFile].
func (f *FS) OpenDir(name string) (*Dir, error) {
	var out *Dir
	decided := f.decided()
	err := f.at("open", name, true, []Op{List}, func(p *location) error {
		switch {
		case p.info == nil:
			return fs.ErrNotExist
		case !p.info.IsDir():
			return ErrNotDir
		}
		dir, err := openDir(p.dir, p.name, p.info)
		out = &Dir{f, dir, f.find(p.guest), p.guest, p.real, decided}
		return err
	})
	return out, err
}

// openDir opens a directory in another one and makes sure that it is the one that was looked at. The "/." makes
// the open ask for a directory, so that it cannot block on a FIFO.
func openDir(in *os.Root, name string, info fs.FileInfo) (*os.Root, error) {
	d, err := in.OpenRoot(name + "/.")
	if errors.Is(err, fs.ErrNotExist) || isNotDir(err) {
		return nil, errChanged
	}
	if err != nil {
		return nil, err
	}
	got, err := d.Stat(".")
	if err == nil && !os.SameFile(info, got) {
		err = errChanged
	}
	if err != nil {
		d.Close()
		return nil, err
	}
	return d, nil
}

// Sub opens a directory in this one, by one name. A link is not followed. The guard is asked as for [FS.OpenDir].
func (d *Dir) Sub(name string) (*Dir, error) {
	guest, real := path.Join(d.guest, name), path.Join(d.real, name)
	if strings.Contains(name, "/") || path.Dir(guest) != d.guest {
		return nil, pathError("open", guest, ErrName)
	}
	if d.fs.find(guest) != d.mount { // a root of its own
		return d.fs.OpenDir(guest)
	}
	decided := d.fs.decided()
	sub, err := d.open(guest, real, name)
	if err == errChanged {
		err = ErrChanging
	}
	if err != nil {
		return nil, pathError("open", guest, err)
	}
	return &Dir{d.fs, sub, d.mount, guest, real, decided}, nil
}

func (d *Dir) open(guest, real, name string) (*os.Root, error) {
	if err := d.fs.askBoth(guest, real, []Op{List}); err != nil {
		return nil, err
	}
	info, err := d.dir.Lstat(name)
	switch {
	case err != nil:
		return nil, err
	case !info.IsDir():
		return nil, ErrNotDir
	}
	return openDir(d.dir, name, info)
}

// Read returns the directory's entries, as [FS.ReadDir] does.
func (d *Dir) Read(max int) (entries []fs.DirEntry, more bool, err error) {
	if err := d.fs.takeHandle(); err != nil {
		return nil, false, pathError("open", d.guest, err)
	}
	info, err := d.dir.Stat(".")
	if err != nil {
		d.fs.giveHandle()
		return nil, false, pathError("open", d.guest, err)
	}
	h, err := d.dir.Open(".")
	if err != nil {
		d.fs.giveHandle()
		return nil, false, pathError("open", d.guest, err)
	}
	f, err := d.fs.adopt(h, &location{guest: d.guest, real: d.real, info: info}, os.O_RDONLY|Directory, d.decided)
	if err != nil {
		return nil, false, pathError("open", d.guest, err)
	}
	defer f.Close()
	return f.sorted(max)
}

// Close closes the directory. Those opened from it stay open.
func (d *Dir) Close() error { return d.dir.Close() }

// sorted returns the entries that are left, sorted by name, at most max of them.
func (f *File) sorted(max int) (entries []fs.DirEntry, more bool, err error) {
	max = orDefault(max, f.fs.quota.Entries)
	for len(entries) < max && err == nil {
		var some []fs.DirEntry
		some, err = f.ReadDir(min(max-len(entries), 256))
		entries = append(entries, some...)
	}
	if err == nil {
		var extra []fs.DirEntry
		extra, err = f.h.ReadDir(1)
		more = len(extra) > 0
	}
	if err == io.EOF {
		err = nil
	}
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return entries, more, err
}
