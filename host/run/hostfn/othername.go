package hostfn

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
)

// seen is what the system tells of a file or directory.
type seen struct {
	device uint64
	// otherNames says that it may have another name: it has several hard links, or something is mounted there.
	otherNames bool
}

// otherNames finds files that have a name elsewhere: files of the host's home by a hard link or a bind mount, and
// those of the kernel by a mount. The other name takes somebody with the person's rights to make. It is safe
// for concurrent use.
type otherNames struct {
	home string // slash-separated; "" for none

	mu      sync.Mutex
	devices map[uint64]bool // those that were looked at, and whether they are the kernel's

	once  sync.Once
	files []os.FileInfo // of the home
}

// look says whose p itself is, whatever its path says.
func (o *otherNames) look(p string) belonging {
	local := filepath.FromSlash(p)
	s, ok := look(local)
	if !ok {
		return ofNobody // there is nothing
	}
	if o.ofKernel(s.device, local) {
		return ofKernel
	}
	if o.home == "" || !s.otherNames || below(o.home, p) {
		return ofNobody
	}
	info, err := os.Stat(local)
	if err == nil && slices.ContainsFunc(o.homeFiles(), func(f os.FileInfo) bool { return os.SameFile(f, info) }) {
		return ofHomeElsewhere
	}
	return ofNobody
}

// ofKernel reports whether a device, on which p is, is the kernel's.
func (o *otherNames) ofKernel(device uint64, p string) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	is, known := o.devices[device]
	if !known {
		is = isKernels(p)
		if o.devices == nil {
			o.devices = map[uint64]bool{}
		}
		o.devices[device] = is
	}
	return is
}

// homeFiles are all files and directories of the home but what is kept by its digest or can be made again.
func (o *otherNames) homeFiles() []os.FileInfo {
	o.once.Do(func() {
		root := filepath.FromSlash(o.home)
		filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
			if err != nil {
				return nil // what cannot be read cannot be read by another name
			}
			if info, err := d.Info(); err == nil {
				o.files = append(o.files, info)
			}
			if d.IsDir() && filepath.Dir(p) == root && slices.Contains([]string{"blobs", "cache", "history"}, d.Name()) {
				return fs.SkipDir
			}
			return nil
		})
	})
	return o.files
}
