// Package backends is the table of what a store can be kept in. It is the only package
// that imports them for use in a home.
package backends

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"

	"github.com/skillet-run/skillet/host/store"
	"github.com/skillet-run/skillet/host/store/badgerstore"
)

// All returns the backends; the first is the default.
func All() []store.Backend { return []store.Backend{badgerstore.Backend()} }

// Named returns the backend of a name; the default for the empty one, and false for a
// name that no backend has.
func Named(name string) (store.Backend, bool) {
	all := All()
	if name == "" {
		return all[0], true
	}
	i := slices.IndexFunc(all, func(b store.Backend) bool { return b.Name() == name })
	if i < 0 {
		return nil, false
	}
	return all[i], true
}

// Of returns the backend that made the store in dir; wanted when there is none.
func Of(dir string, wanted store.Backend) store.Backend {
	for _, b := range All() {
		if b.Owns(dir) {
			return b
		}
	}
	return wanted
}

// Refuse returns [store.ErrOtherBackend] when the store in dir was made by another backend
// than is, and nil when it was made by that, or there is none.
func Refuse(dir string, is store.Backend) error {
	if _, err := os.Lstat(dir); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if b := Of(dir, is); b.Name() != is.Name() {
		return fmt.Errorf("%w: %s, not %s", store.ErrOtherBackend, b.Name(), is.Name())
	}
	return nil
}
