package git

import (
	"os"
	"path/filepath"

	"github.com/go-git/go-billy/v5"
)

// A privateFS makes files and directories that only their owner can reach: go-git
// leaves their modes to the umask.
type privateFS struct{ billy.Filesystem }

func (p privateFS) Create(name string) (billy.File, error) {
	return p.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o600)
}

func (p privateFS) OpenFile(name string, flag int, perm os.FileMode) (billy.File, error) {
	if flag&os.O_CREATE != 0 {
		if err := p.MkdirAll(filepath.Dir(name), 0); err != nil {
			return nil, err
		}
	}
	return p.Filesystem.OpenFile(name, flag, perm&0o700)
}

func (p privateFS) TempFile(dir, prefix string) (billy.File, error) {
	if err := p.MkdirAll(dir, 0); err != nil {
		return nil, err
	}
	return p.Filesystem.TempFile(dir, prefix)
}

func (p privateFS) Rename(from, to string) error {
	if err := p.MkdirAll(filepath.Dir(to), 0); err != nil {
		return err
	}
	return p.Filesystem.Rename(from, to)
}

// MkdirAll takes no mode from its caller: that below it does not either.
func (p privateFS) MkdirAll(name string, _ os.FileMode) error {
	return os.MkdirAll(filepath.Join(p.Root(), filepath.Join(string(filepath.Separator), name)), 0o700)
}

func (p privateFS) Chroot(name string) (billy.Filesystem, error) {
	below, err := p.Filesystem.Chroot(name)
	return privateFS{below}, err
}
