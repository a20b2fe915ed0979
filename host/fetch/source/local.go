package source

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/skillet-run/skillet/host/base/fault"

	"github.com/skillet-run/skillet/host/fetch/adopt"
	"github.com/skillet-run/skillet/manifests/bundle"
)

// Open reads the package at a path, a directory or a .skill file, without looking at
// who signed it. Errors are [fault.Error]s, or those of the file system.
func Open(path string) (*bundle.Package, error) {
	switch {
	case strings.Contains(path, "://"):
		return nil, fault.Errorf(fault.KindUsage, "%s is an address, and packages are read from files", path).
			WithHint("download it first, then name the file")
	case !exists(path):
		return nil, fault.Errorf(fault.KindNotFound, "open package %s: %w", path, fs.ErrNotExist).
			WithHint("name a directory with a skill.json, or a .skill file")
	case filepath.Ext(path) == ".wasm":
		return nil, fault.Errorf(fault.KindUsage, "open package %s: it is a module, not a package", path).
			WithHint("write a skill.json beside it and install the directory; %s runs it as it is", fault.Run(path))
	}
	p, err := bundle.Open(path)
	switch {
	case errors.Is(err, bundle.ErrDamaged):
		return nil, fault.Wrap(fault.KindVerification, err).WithHint("it is not a package, or was damaged on its way: get it again")
	}
	return p, Unbuilt(path, err)
}

// Unbuilt says of a directory whose module is not there how to get it. Any other error,
// and nil, stays as it is.
func Unbuilt(path string, err error) error {
	if st, statErr := os.Stat(path); !errors.Is(err, bundle.ErrNoModule) || statErr != nil || !st.IsDir() {
		return err
	}
	return fault.Wrap(fault.KindUsage, err).WithHint("build the module first, where \"command\" says it is: %s", fault.Build(path))
}

// Runnable reads what is at a path and can be run: a package as [Open] does, a module,
// or an Extism manifest. It fetches nothing that a manifest names.
func Runnable(ctx context.Context, path string) (*bundle.Package, error) {
	switch {
	case filepath.Ext(path) == ".wasm":
		return adopt.Module(path)
	case adopt.IsExtism(path) && exists(path):
		p, err := adopt.Extism(ctx, path, nil)
		if err != nil {
			return nil, err
		}
		return p.Package, nil
	}
	return Open(path)
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}
