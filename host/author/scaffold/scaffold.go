// Package scaffold writes the first version of a skill: a small one that works,
// the same in each language, with manifest, source, test cases and everything
// that its build needs, so that it builds without the network.
//
// The package only writes files, and never over others unless it is told to. It
// builds nothing, and knows no home.
package scaffold

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/skillet-run/skillet/host/base/fault"

	"github.com/skillet-run/skillet/host/author/toolchain"
	"github.com/skillet-run/skillet/internal/lazyregexp"
)

//go:embed all:template
var templates embed.FS

// ending is that of all templates: without it the compiler would take some of
// them for its own.
const ending = ".tmpl"

// A kit is what a language has of its own.
type kit struct {
	// dir is the directory of the templates.
	dir string
	// sdk is the directory in the project that the files of the SDK go to; "" is
	// for a language without. Of one that is built in these are its types.
	sdk string
	// example is a path as its test runs it, and relative says what other paths
	// may be.
	example, relative string
	// export is what the manifest says about the exported function.
	export string
	// denied and missing are the kinds of error for a file that nobody granted,
	// and for one that is not there.
	denied, missing string
	// files says where to begin, and ignore what git leaves alone.
	files, ignore string
}

// orRelative is for languages whose SDK asks the host for files.
const orRelative = ", or one relative to the workspace"

func kits() map[toolchain.Language]kit {
	own := func(dir, sdk, files, ignore string) kit {
		return kit{dir, sdk, "README.md", orRelative, "", "denied", "not_found", files, ignore}
	}
	return map[toolchain.Language]kit{
		toolchain.Go:     own("go", "skill", "The tool is in `count.go`, and `skill/` is the SDK.", ""),
		toolchain.C:      own("c", ".", "The tool is in `main.c`, and `skillet.h` is the SDK.", ".zig-cache/\n"),
		toolchain.CPP:    own("cpp", ".", "The tool is in `main.cpp`, and `skillet.h` is the SDK.", ".zig-cache/\n"),
		toolchain.JS:     own("js", "types", "The tool is in `main.js`, and `types/` tells editors what the SDK has.", ""),
		toolchain.TS:     own("ts", "types", "The tool is in `main.ts`, and `types/` tells editors what the SDK has.", ""),
		toolchain.Zig:    own("zig", ".", "The tool is in `main.zig`, and `skillet.zig` is the SDK.", ".zig-cache/\n"),
		toolchain.Python: own("python", "typings", "The tool is in `main.py`, and `typings/` tells editors what the SDK has.", ""),
		toolchain.Rust:   own("rust", "skillet", "The tool is in `src/lib.rs`, and `skillet/` is the SDK.", "target/\n"),
		toolchain.AssemblyScript: own("assemblyscript", ".", "The tool is in `main.ts`, and `skillet/` is the SDK. `npm install` gets the compiler.",
			"node_modules/\n"),
		toolchain.WASI: {
			"wasi", "", "$PWD/README.md", "", "\n      \"export\": \"_start\",", "skill", "skill",
			"The tool is in `main.go`. It is a plain WASI command, which knows nothing of Skillet: its errors are text, and have no kinds.", "",
		},
	}
}

// An Order is what is to be written.
type Order struct {
	// Dir is the directory, which is made when it is not there.
	Dir string
	// Name is the name of the skill.
	Name     string
	Language toolchain.Language
	// Force writes over files that are there.
	Force bool
}

var skillName = lazyregexp.New(`^[a-z0-9]+(-[a-z0-9]+)*$`)

// maxName is the longest name of a skill.
const maxName = 64

// CheckName refuses names that a manifest cannot have. It is a [fault.Error] of
// [fault.KindUsage].
func CheckName(name string) error {
	if skillName().MatchString(name) && len(name) <= maxName {
		return nil
	}
	return fault.Errorf(fault.KindUsage, "%q is not a name for a skill", name).
		WithHint("write lower-case letters, digits and single hyphens, such as word-count")
}

// Write writes a skill and returns the paths of its files in the directory,
// sorted. Errors are [fault.Error]s: of [fault.KindUsage] for a name or a language
// that cannot be, of [fault.KindConflict] for files that are there already, of
// which none is touched.
func Write(o Order) ([]string, error) {
	if err := CheckName(o.Name); err != nil {
		return nil, err
	}
	files, err := o.files()
	if err != nil {
		return nil, fmt.Errorf("make %s: %w", o.Name, err)
	}
	names := slices.Sorted(maps.Keys(files))
	if err := o.free(names); err != nil {
		return nil, err
	}
	// Somebody who forces it may not know where the link leads.
	if st, err := os.Lstat(filepath.Clean(o.Dir)); o.Force && err == nil && st.Mode()&fs.ModeSymlink != 0 {
		return nil, inTheWay(o.Dir, "it is a link")
	}
	if st, err := os.Stat(o.Dir); err == nil && !st.IsDir() || err != nil && isThere(os.Lstat(o.Dir)) {
		return nil, inTheWay(o.Dir, "it is not a directory")
	}
	if err := os.MkdirAll(o.Dir, 0o755); err != nil {
		return nil, fmt.Errorf("make %s: %w", o.Dir, err)
	}
	root, err := os.OpenRoot(o.Dir)
	if err != nil {
		return nil, fmt.Errorf("make %s: %w", o.Dir, err)
	}
	defer root.Close()
	for _, name := range names {
		if err := unblocked(root, name); err != nil {
			return nil, fmt.Errorf("make %s: %w", o.Name, err)
		}
	}
	for _, name := range names {
		if err := o.put(root, name, files[name]); err != nil {
			return nil, fmt.Errorf("write %s: %w", filepath.Join(o.Dir, name), err)
		}
	}
	return names, nil
}

// put writes one file. Without Force it is only ever made, also when somebody
// else makes it at the same time.
func (o Order) put(root *os.Root, name string, content []byte) error {
	if err := root.MkdirAll(path.Dir(name), 0o755); err != nil {
		return err
	}
	flags := os.O_WRONLY | os.O_CREATE | os.O_TRUNC
	if !o.Force {
		flags |= os.O_EXCL
	}
	f, err := root.OpenFile(name, flags, 0o644)
	if err != nil {
		return err
	}
	_, err = f.Write(content)
	return errors.Join(err, f.Close())
}

// unblocked refuses to write through a link, or into something that is not a regular file:
// it may be outside of the directory.
func unblocked(root *os.Root, name string) error {
	for at := path.Dir(name); at != "."; at = path.Dir(at) {
		if st, err := root.Lstat(at); err == nil && !st.IsDir() {
			return inTheWay(at, "it is not a directory")
		}
	}
	if st, err := root.Lstat(name); err == nil && !st.Mode().IsRegular() {
		return inTheWay(name, "it is not a regular file")
	}
	return nil
}

func inTheWay(at, why string) error {
	return fault.Errorf(fault.KindUsage, "%s is in the way: %s", at, why).WithHint("remove it, or choose another directory with %s", fault.SetField(fault.FieldDir))
}

func isThere(_ os.FileInfo, err error) bool { return err == nil }

// free makes sure that no file is in the way.
func (o Order) free(names []string) error {
	if o.Force {
		return nil
	}
	var there []string
	for _, name := range names {
		if _, err := os.Lstat(filepath.Join(o.Dir, filepath.FromSlash(name))); err == nil {
			there = append(there, name)
		}
	}
	if len(there) == 0 {
		return nil
	}
	return fault.Errorf(fault.KindConflict, "make %s: %s is there already: %s", o.Name, o.Dir, strings.Join(there, ", ")).
		WithHint("choose another directory with %s, or have them replaced with %s", fault.SetField(fault.FieldDir), fault.SetField(fault.FieldForce))
}

// files are all files of a skill, by path.
func (o Order) files() (map[string][]byte, error) {
	k, ok := kits()[o.Language]
	if !ok {
		return nil, fault.Errorf(fault.KindUsage, "unknown language %q", o.Language).WithHint("the languages are: %s", strings.Join(Names(), ", "))
	}
	all := map[string][]byte{}
	for _, dir := range []string{"common", k.dir} {
		if err := o.fill(all, path.Join("template", dir), k); err != nil {
			return nil, err
		}
	}
	if k.sdk == "" {
		return all, nil
	}
	return all, addSDK(all, o.Language, k.sdk)
}

// fill adds what the templates of a directory become.
func (o Order) fill(all map[string][]byte, dir string, k kit) error {
	words := strings.NewReplacer(
		"{{name}}", o.Name, "{{lang}}", string(o.Language), "{{title}}", o.Language.Title(),
		"{{export}}", k.export, "{{relative}}", k.relative, "{{example}}", k.example, "{{denied}}", k.denied, "{{not_found}}", k.missing,
		"{{files}}", k.files, "{{ignore}}\n", k.ignore,
	)
	return fs.WalkDir(templates, dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := templates.ReadFile(name)
		if err != nil {
			return err
		}
		name = strings.TrimSuffix(strings.TrimPrefix(name, dir+"/"), ending)
		if name == "gitignore" {
			name = ".gitignore"
		}
		all[name] = []byte(words.Replace(string(b)))
		return nil
	})
}

// Languages are those in which a skill can be written, in the order of
// [toolchain.Languages]: those with a kit whose SDK is there.
func Languages() []toolchain.Language {
	return slices.DeleteFunc(toolchain.Languages(), func(l toolchain.Language) bool {
		k, ok := kits()[l]
		return !ok || k.sdk != "" && !hasSDK(l)
	})
}

// Names are the names of [Languages].
func Names() []string {
	var names []string
	for _, l := range Languages() {
		names = append(names, string(l))
	}
	return names
}
