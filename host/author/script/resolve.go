package script

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/evanw/esbuild/pkg/api"
)

// Where a file that is bundled comes from.
const (
	packageSpace = "package" // the skill's own files
	librarySpace = "skillet" // the SDK that belongs to the host
)

// libraryName is the name by which a script imports the SDK.
const libraryName = "skillet"

// bundler answers esbuild's questions about files, so that it sees no others.
type bundler struct {
	files, library fs.FS
	main           string
}

func (b *bundler) setup(build api.PluginBuild) {
	build.OnResolve(api.OnResolveOptions{Filter: ".*"}, b.resolve)
	build.OnLoad(api.OnLoadOptions{Filter: ".*"}, b.load)
}

func (b *bundler) resolve(a api.OnResolveArgs) (api.OnResolveResult, error) {
	space, files := packageSpace, b.files
	if a.Namespace == librarySpace {
		space, files = librarySpace, b.library
	}
	name := ""
	switch {
	case a.Kind == api.ResolveEntryPoint:
		name = b.main
	case strings.HasPrefix(a.Path, "./") || strings.HasPrefix(a.Path, "../") || a.Path == "." || a.Path == "..":
		name = find(files, path.Join(path.Dir(a.Importer), a.Path))
	case a.Path == libraryName:
		space, name = librarySpace, find(b.library, libraryName)
	default:
		name = installed(b.files, a.Path)
	}
	if name == "" {
		return api.OnResolveResult{}, missing(a.Path)
	}
	return api.OnResolveResult{Path: name, Namespace: space}, nil
}

// missing says what to do about an import that leads nowhere.
func missing(name string) error {
	if bare := !strings.HasPrefix(name, "."); bare {
		return fmt.Errorf("%q not found: a script can import %q, its own files and what is in its node_modules", name, libraryName)
	}
	return fmt.Errorf("file %q not found in the package", name)
}

// endings are tried in this order when an import leaves them out.
var endings = []string{"", ".ts", ".tsx", ".js", ".mjs", ".jsx", ".json", "/index.ts", "/index.js"}

// find returns the file that an import means, or "".
func find(files fs.FS, name string) string {
	name = path.Clean(name)
	for _, e := range slices.Concat(endings, written(name)) {
		candidate := name + e
		if swap, ok := strings.CutPrefix(e, "="); ok {
			candidate = swap
		}
		if info, err := fs.Stat(files, candidate); err == nil && info.Mode().IsRegular() {
			return candidate
		}
	}
	return ""
}

// written are the TypeScript files of which an import names the JavaScript file
// that a compiler would make of them.
func written(name string) (list []string) {
	for from, to := range map[string]string{".js": ".ts", ".mjs": ".mts", ".jsx": ".tsx"} {
		if base, ok := strings.CutSuffix(name, from); ok {
			list = append(list, "="+base+to)
		}
	}
	return list
}

// manifestOf is what counts of a package.json.
type manifestOf struct {
	Module  string          `json:"module"`
	Main    string          `json:"main"`
	Exports json.RawMessage `json:"exports"`
}

// installed returns the file that an import of an installed package means, or "".
func installed(files fs.FS, name string) string {
	parts := strings.SplitN(name, "/", 3)
	n := 1
	if strings.HasPrefix(name, "@") {
		n = min(2, len(parts))
	}
	base := path.Join("node_modules", path.Join(parts[:n]...))
	inner := strings.Join(parts[n:], "/")
	b, err := fs.ReadFile(files, path.Join(base, "package.json"))
	if err != nil {
		return ""
	}
	var m manifestOf
	if json.Unmarshal(b, &m) != nil {
		return ""
	}
	return m.entry(files, base, inner)
}

// entry finds a file of a package: by its exports if it has any, otherwise by
// path, and for the package itself by module or main.
func (m *manifestOf) entry(files fs.FS, base, inner string) string {
	if len(m.Exports) > 0 {
		key := "."
		if inner != "" {
			key = "./" + inner
		}
		if target := exported(m.Exports, key); target != "" {
			return find(files, path.Join(base, target))
		}
		return ""
	}
	if inner != "" {
		return find(files, path.Join(base, inner))
	}
	for _, name := range []string{m.Module, m.Main, "index"} {
		if name == "" {
			continue
		}
		if f := find(files, path.Join(base, name)); f != "" {
			return f
		}
	}
	return ""
}

// exported looks a key up in the exports of a package: a path, paths by
// condition, or either by key.
func exported(raw json.RawMessage, key string) string {
	var target string
	if json.Unmarshal(raw, &target) == nil {
		if key != "." {
			return ""
		}
		return target
	}
	var table map[string]json.RawMessage
	if json.Unmarshal(raw, &table) != nil {
		return ""
	}
	if inner, ok := table[key]; ok {
		return exported(inner, ".")
	}
	for _, condition := range []string{"import", "module", "default"} {
		if inner, ok := table[condition]; ok {
			return exported(inner, key)
		}
	}
	return ""
}

var loaders = map[string]api.Loader{
	".ts": api.LoaderTS, ".mts": api.LoaderTS, ".tsx": api.LoaderTSX, ".jsx": api.LoaderJSX,
	".json": api.LoaderJSON, ".txt": api.LoaderText, ".md": api.LoaderText, ".html": api.LoaderText,
}

func (b *bundler) load(a api.OnLoadArgs) (api.OnLoadResult, error) {
	files, loader := b.files, api.LoaderJS
	switch a.Namespace {
	case packageSpace:
	case librarySpace:
		files = b.library
	default: // esbuild found it without asking
		return api.OnLoadResult{}, errOutside
	}
	content, err := readFile(files, a.Path)
	if errors.Is(err, fs.ErrNotExist) {
		err = missing("./" + a.Path)
	}
	if err != nil {
		return api.OnLoadResult{}, err
	}
	if l, ok := loaders[path.Ext(a.Path)]; ok {
		loader = l
	}
	text := string(content)
	if loader != api.LoaderJSON && loader != api.LoaderText {
		text = withoutMap(text)
	}
	return api.OnLoadResult{Contents: &text, Loader: loader, ResolveDir: deepNowhere(len(text))}, nil
}

var errOutside = errors.New("a file outside of the package cannot be imported")

// withoutMap makes a text one that names no source map: esbuild opens what it names,
// wherever that is. It heeds the last comment alone, and looks for nothing of this
// scheme.
func withoutMap(text string) string {
	if !strings.Contains(text, "sourceMappingURL=") {
		return text
	}
	return text + "\n" + noMap
}

const noMap = "//# sourceMappingURL=none:"

// deepNowhere is the folder that relative imports are looked for in when esbuild looks
// without asking: import(`./${name}`) may mean any file there. It is so deep that no
// import leads out of it in a text of so many bytes.
func deepNowhere(bytes int) string {
	const up = len("../")
	return nowhere() + strings.Repeat("/\x00", bytes/up+1)
}
