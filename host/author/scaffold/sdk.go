package scaffold

import (
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/skillet-run/skillet/host/author/toolchain"
	"github.com/skillet-run/skillet/sdk"
)

// addSDK adds the SDK of a language below a directory of the project. That of
// scripts is built in, and only its types are for the project.
func addSDK(all map[string][]byte, l toolchain.Language, dir string) error {
	source, err := sdk.Files(string(l))
	if err != nil {
		return err
	}
	return fs.WalkDir(source, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || l.IsScript() && !isTypes(name) {
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

// isTypes reports whether a file of an SDK only says what there is.
func isTypes(name string) bool {
	return strings.HasSuffix(name, ".d.ts") || strings.HasSuffix(name, ".pyi")
}
