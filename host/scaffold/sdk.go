package scaffold

import (
	"fmt"
	"io/fs"
	"path"
	"slices"

	"github.com/skillet-run/skillet/host/toolchain"
	"github.com/skillet-run/skillet/sdk"
)

// addSDK adds the SDK of a language below a directory of the project.
func addSDK(all map[string][]byte, l toolchain.Language, dir string) error {
	source, err := sdk.Files(string(l))
	if err != nil {
		return err
	}
	return fs.WalkDir(source, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := fs.ReadFile(source, name)
		if err != nil {
			return fmt.Errorf("read %s of the SDK: %w", name, err)
		}
		all[path.Join(dir, name)] = b
		return nil
	})
}

// hasSDK reports whether there is an SDK of a language.
func hasSDK(l toolchain.Language) bool { return slices.Contains(sdk.Languages(), string(l)) }
