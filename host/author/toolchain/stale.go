package toolchain

import (
	"encoding/json"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/skillet-run/skillet/host/base/fault"

	"github.com/skillet-run/skillet/manifests"
)

// builtFile is where a project keeps what its module was built of.
const builtFile = ".skillet-built"

// builtOf is what a module was built of: what was changed since is told by it, and
// not by times, which a copy or a checkout makes new.
type builtOf struct {
	Module  manifests.Digest            `json:"module"`
	Sources map[string]manifests.Digest `json:"sources"` // by their paths
}

// Bounds of what is compared. Of a project beyond them nothing is said.
const (
	maxSources     = 2000
	maxSourceBytes = 64 << 20
	maxEntries     = 20_000 // files and directories that are looked at
	maxBuiltBytes  = 1 << 20
)

// keepBuiltOf writes down what a module was built of. That it could not costs a
// warning later.
func (p Project) keepBuiltOf(wasm []byte) {
	at := filepath.Join(p.Dir, builtFile)
	sources, ok := p.sources()
	if !ok {
		os.Remove(at)
		return
	}
	b, err := json.MarshalIndent(builtOf{manifests.DigestOf(wasm), sources}, "", " ")
	if err == nil && len(b) < maxBuiltBytes {
		_, _ = replace(at, append(b, '\n'))
	}
}

// Current refuses a directory whose module is not what its source would make: one
// that [Project.Build] built, and whose source was changed, added or removed since. Of
// a module that was made in another way nothing is known. The error is a [fault.Error]
// of [fault.KindUsage].
func Current(dir string) error {
	changed, module := stale(dir)
	if changed == "" {
		return nil
	}
	return fault.Errorf(fault.KindUsage, "%s: %s was changed after %s was built of it", dir, changed, module).
		WithHint("%s", fault.Build(dir))
}

// stale returns a source that was changed since the module of a directory was built;
// empty when there is none, or nothing is known.
func stale(dir string) (changed, module string) {
	var then builtOf
	b, err := readBounded(filepath.Join(dir, builtFile), maxBuiltBytes)
	if err != nil || json.Unmarshal(b, &then) != nil {
		return "", ""
	}
	p, err := Recognise(dir)
	if err != nil || p.Language == "" || p.Module == "" {
		return "", ""
	}
	wasm, err := readBounded(filepath.Join(p.Dir, filepath.FromSlash(p.Module)), maxSourceBytes)
	if err != nil || manifests.DigestOf(wasm) != then.Module {
		return "", "" // another one than was built
	}
	now, ok := p.sources()
	if !ok {
		return "", ""
	}
	for _, name := range slices.Sorted(maps.Keys(now)) {
		if now[name] != then.Sources[name] {
			return name, p.Module
		}
	}
	for _, name := range slices.Sorted(maps.Keys(then.Sources)) {
		if _, there := now[name]; !there {
			return name, p.Module
		}
	}
	return "", ""
}

// notSource are directories whose files are made by tools, or are for tests.
var notSource = []string{"node_modules", "target", "zig-out", "__pycache__", "build", "dist", "tests"}

// sourceEndings are those of files that a module is built of.
var sourceEndings = strings.Fields(`
	.js .mjs .cjs .jsx .ts .mts .tsx .py .go .mod .sum .rs .toml .lock .c .h .cc .cpp .cxx .hh .hpp .zig .zon .s`)

// sources are the digests of what a module is built of; false for a project with too
// much of it.
func (p Project) sources() (map[string]manifests.Digest, bool) {
	all := map[string]manifests.Digest{}
	entries, bytes := 0, 0
	err := filepath.WalkDir(p.Dir, func(at string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entries++; entries > maxEntries {
			return fs.ErrInvalid
		}
		name := d.Name()
		if d.IsDir() && at != p.Dir && (strings.HasPrefix(name, ".") || slices.Contains(notSource, name)) {
			return filepath.SkipDir
		}
		if !d.Type().IsRegular() || !slices.Contains(sourceEndings, path.Ext(name)) {
			return nil
		}
		b, err := readBounded(at, maxSourceBytes-bytes)
		if err != nil || len(all) >= maxSources {
			return fs.ErrInvalid
		}
		rel, err := filepath.Rel(p.Dir, at)
		bytes += len(b)
		all[filepath.ToSlash(rel)] = manifests.DigestOf(b)
		return err
	})
	return all, err == nil
}

// readBounded reads a file of at most so many bytes.
func readBounded(at string, most int) ([]byte, error) {
	if st, err := os.Lstat(at); err != nil || !st.Mode().IsRegular() {
		return nil, fs.ErrInvalid
	}
	f, err := os.Open(at)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, int64(most)+1))
	if err == nil && len(b) > most {
		err = fs.ErrInvalid
	}
	return b, err
}
