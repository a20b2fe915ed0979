// Package backends is the table of what a store can be kept in. It is the only package
// that imports them for use in a home.
package backends

import (
	"slices"

	"github.com/skillet-run/skillet/host/base/store"
	"github.com/skillet-run/skillet/host/base/store/badgerstore"
	"github.com/skillet-run/skillet/host/base/store/filestore"
)

// All returns the backends; the first is the default.
func All() []store.Backend { return []store.Backend{badgerstore.Backend(), filestore.Backend()} }

// Named returns the backend of a name; the default when no backend has that.
func Named(name string) store.Backend {
	all := All()
	if i := slices.IndexFunc(all, func(b store.Backend) bool { return b.Name() == name }); i >= 0 {
		return all[i]
	}
	return all[0]
}

// Of returns the backend that made the store in dir; wanted when there is none.
func Of(dir string, wanted store.Backend) store.Backend {
	all := All()
	if i := slices.IndexFunc(all, func(b store.Backend) bool { return b.Owns(dir) }); i >= 0 {
		return all[i]
	}
	return wanted
}
