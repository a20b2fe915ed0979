// Package bundle reads and writes skill packages: a directory, or one file with
// the extension .skill, that holds a manifest, the module it names, and the
// files that go with them.
//
// A [Package] is held in memory whole, was checked whole, and never changes.
// Its digest is that of its index, the list of its files with their digests,
// so that it does not depend on how the package was stored or compressed.
//
// A package holds, and may hold, only these files: the manifest, SKILL.md,
// README.md, the licence, the module that command names, files that args or
// license name, and everything in assets, references, schemas, scripts and
// tests whose name does not start with a dot. What else lies in a directory,
// such as the source of the module, is left out; in a .skill file it is
// refused. A directory whose only manifest is SKILL.md is a folder of the Agent
// Skills specification, and is packed whole, but for what is hidden and what
// tools make.
//
// The package trusts nothing it reads: see [ReadArchive] for what it refuses.
// It knows bytes and names. Whether a signature is good, a module is safe or a
// permission is granted is for others.
package bundle

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"github.com/skillet-run/skillet/manifests"
)

// Bounds on every package, however it is read. They are checked against what
// was read, never against what a header claims.
const (
	MaxBytes        = 64 << 20 // all files together
	MaxFileBytes    = 48 << 20 // any one file
	MaxFiles        = 10_000   // files and directories
	MaxArchiveBytes = 64 << 20 // a .skill file
	// MaxRatio is how many bytes one byte of a .skill file may grow to, once it
	// has grown to RatioFloor.
	MaxRatio     = 100
	RatioFloor   = 1 << 20
	MaxPathBytes = 240 // of a path
	MaxPathDepth = 16  // names in a path
)

// The errors a caller may test for. An error about one file of a package is an
// [*EntryError] that wraps the first or the second of them.
var (
	// ErrUnsafe: an entry that no honest package has.
	ErrUnsafe = errors.New("unsafe package")
	// ErrTooLarge: one of the bounds above.
	ErrTooLarge = errors.New("package too large")
	// ErrNoManifest: no manifest, or more than one.
	ErrNoManifest = errors.New("no manifest")
	// ErrNoModule: the module or program that command names is not there, or the skill
	// has none.
	ErrNoModule = errors.New("no module")
	// ErrDamaged: a .skill file that is cut short, altered, or no tar.gz.
	ErrDamaged = errors.New("damaged package")
)

// An EntryError says what is wrong with one entry of a package.
type EntryError struct {
	Entry   string // name of the entry, as it was found
	Message string
	Err     error // ErrUnsafe or ErrTooLarge
}

// Error names the entry and says what is wrong with it, without control
// characters.
func (e *EntryError) Error() string {
	name := e.Entry
	if len(name) > MaxPathBytes {
		name = name[:MaxPathBytes] + "..."
	}
	return fmt.Sprintf("%v: entry %q %s", e.Err, name, e.Message)
}

// Unwrap returns Err.
func (e *EntryError) Unwrap() error { return e.Err }

func refuse(entry, format string, args ...any) error {
	return &EntryError{entry, fmt.Sprintf(format, args...), ErrUnsafe}
}

func tooLarge(entry, format string, args ...any) error {
	return &EntryError{entry, fmt.Sprintf(format, args...), ErrTooLarge}
}

// A File is one file of a package.
type File struct {
	Path   string           `json:"path"` // relative, clean, with slashes
	Size   int64            `json:"size"` // bytes
	Digest manifests.Digest `json:"digest"`
}

// A Package is one package, checked and in memory. It is immutable and safe for
// concurrent use. It comes from [Open], [ReadDir], [ReadArchive] or
// [FromFiles]; the zero value holds nothing and has no manifest.
type Package struct {
	manifest *manifests.Manifest
	files    []File // by path
	digest   manifests.Digest
	content  map[string][]byte
}

// FromFiles makes a package of files, by path. It checks all that holds for
// every package and copies nothing: the caller must not change the contents
// afterwards. The error wraps one of the errors above, or [manifests.Errors].
func FromFiles(files map[string][]byte) (*Package, error) {
	if err := checkFiles(files); err != nil {
		return nil, err
	}
	m, err := findManifest(files)
	if err != nil {
		return nil, err
	}
	if err := checkContents(files, m); err != nil {
		return nil, err
	}
	p := &Package{manifest: m, content: maps.Clone(files)}
	for _, path := range slices.Sorted(maps.Keys(files)) {
		b := files[path]
		p.files = append(p.files, File{path, int64(len(b)), manifests.DigestOf(b)})
	}
	p.digest = manifests.DigestOf(p.Index())
	return p, nil
}

// checkFiles checks names and sizes.
func checkFiles(files map[string][]byte) error {
	if len(files) > MaxFiles {
		return fmt.Errorf("%w: %d files, at most %d are accepted", ErrTooLarge, len(files), MaxFiles)
	}
	names := newNameSet()
	total := 0
	for _, path := range slices.Sorted(maps.Keys(files)) {
		if err := names.addFile(path); err != nil {
			return err
		}
		if n := len(files[path]); n > MaxFileBytes {
			return tooLarge(path, "has %d bytes, at most %d are accepted", n, MaxFileBytes)
		}
		total += len(files[path])
	}
	if total > MaxBytes {
		return fmt.Errorf("%w: %d bytes, at most %d are accepted", ErrTooLarge, total, MaxBytes)
	}
	return nil
}

// findManifest reads the only manifest of files.
func findManifest(files map[string][]byte) (*manifests.Manifest, error) {
	var found []string
	for _, name := range manifests.FileNames() {
		if _, ok := files[name]; ok {
			found = append(found, name)
		}
	}
	skillMD, hasSkillMD := files[manifests.FileSkillMD]
	switch {
	case len(found) > 1:
		return nil, fmt.Errorf("%w: %s are all there; keep one", ErrNoManifest, strings.Join(found, " and "))
	case len(found) == 0 && hasSkillMD:
		return manifests.ParseFolder(skillMD, manifests.FileSkillMD, slices.Collect(maps.Keys(files)))
	case len(found) == 0:
		return nil, fmt.Errorf("%w: it has neither %s nor %s", ErrNoManifest, manifests.FileJSON, manifests.FileSkillMD)
	}
	m, err := manifests.Parse(files[found[0]], found[0])
	if err != nil {
		return nil, err
	}
	if hasSkillMD {
		return m, checkSkillMD(skillMD, m)
	}
	return m, nil
}

// checkSkillMD demands that a SKILL.md beside a manifest is about the same
// skill: people and models read the one, the host the other.
func checkSkillMD(data []byte, m *manifests.Manifest) error {
	s, err := manifests.ParseSkillMD(data, manifests.FileSkillMD)
	if err != nil {
		return err
	}
	if s.Name != m.Name {
		return refuse(manifests.FileSkillMD, "is about %s, and the manifest about %s", s.Name, m.Name)
	}
	return nil
}

// checkContents demands that files are what a package of m holds.
func checkContents(files map[string][]byte, m *manifests.Manifest) error {
	for _, path := range slices.Sorted(maps.Keys(files)) {
		if !belongs(path, m) {
			return refuse(path, "does not belong to a package; put it in assets, or leave it out")
		}
	}
	if m.Type.IsPlugin() {
		return checkProgram(files, m)
	}
	module, ok := modulePath(m)
	if !ok {
		return nil
	}
	if _, ok := files[module]; !ok {
		return fmt.Errorf("%w: command names %s, which is not in the package; build it first", ErrNoModule, module)
	}
	return nil
}

// checkProgram demands a plugin's program, for one platform at least.
func checkProgram(files map[string][]byte, m *manifests.Manifest) error {
	named := programFiles(m)
	if !slices.ContainsFunc(named, func(path string) bool { return files[path] != nil }) {
		return fmt.Errorf("%w: the package has no program: none of %s; build it first", ErrNoModule, strings.Join(named, ", "))
	}
	return nil
}

// modulePath returns the path of the module that m runs; false when it runs
// none, or an interpreter.
func modulePath(m *manifests.Manifest) (string, bool) {
	return m.Command, m.Type.IsCode() && strings.HasSuffix(m.Command, ".wasm")
}

// Manifest returns the manifest of the package.
func (p *Package) Manifest() *manifests.Manifest { return p.manifest }

// Files returns the files of the package, sorted by path.
func (p *Package) Files() []File { return slices.Clone(p.files) }

// Read returns a copy of the file at path. The error wraps [fs.ErrNotExist]
// when there is none.
func (p *Package) Read(path string) ([]byte, error) {
	b, ok := p.content[path]
	if !ok {
		return nil, fmt.Errorf("read %s of package %s: %w", path, p.name(), fs.ErrNotExist)
	}
	return bytes.Clone(b), nil
}

// Module returns the module that command names, and its path. The error wraps
// [ErrNoModule] when the skill runs no module of its own.
func (p *Package) Module() (path string, wasm []byte, err error) {
	f, err := p.ModuleFile()
	if err != nil {
		return f.Path, nil, err
	}
	wasm, err = p.Read(f.Path)
	return f.Path, wasm, err
}

// ModuleFile is [Package.Module] without reading it.
func (p *Package) ModuleFile() (File, error) {
	path, ok := modulePath(p.manifest)
	if !ok {
		return File{}, fmt.Errorf("package %s: %w: it is a %s skill whose command is %q", p.name(), ErrNoModule, p.manifest.Type, p.manifest.Command)
	}
	i, there := slices.BinarySearchFunc(p.files, path, func(f File, path string) int { return strings.Compare(f.Path, path) })
	if !there {
		return File{Path: path}, fmt.Errorf("read %s of package %s: %w", path, p.name(), fs.ErrNotExist)
	}
	return p.files[i], nil
}

// name is the name of the package for people.
func (p *Package) name() string { return p.manifest.Name + "@" + p.manifest.Version }

// Index returns the canonical list of the files, sorted by path: for each file
// its digest, its size in bytes as decimal digits, and its path, separated by
// one space and ended by a line feed.
func (p *Package) Index() []byte {
	var b bytes.Buffer
	for _, f := range p.files {
		fmt.Fprintf(&b, "%s %d %s\n", f.Digest, f.Size, f.Path)
	}
	return b.Bytes()
}

// Digest returns the content digest of the package: the digest of its
// [Package.Index].
func (p *Package) Digest() manifests.Digest { return p.digest }
