package adopt

import (
	"encoding/json"
	"fmt"
	"path"
	"strings"

	"github.com/skillet-run/skillet/internal/lazyregexp"
	"github.com/skillet-run/skillet/manifests"
	"github.com/skillet-run/skillet/manifests/bundle"
)

// The interpreters of the packages that [Folder] makes: that of all scripts, and that of
// scripts that import what only it has.
const (
	FolderCommand = "cpython"
	OfficeCommand = "cpython-office"
)

// OfficeMemory is how much memory scripts may have, in bytes, that run on OfficeCommand and
// whose manifest says nothing: two fifths of it are taken before they begin.
const OfficeMemory = 128 << 20

// officeModules are what OfficeCommand has and FolderCommand has not, and what a folder
// cannot bring, because it has native code.
var officeModules = []string{"lxml", "PIL", "yaml"}

// FolderExport is the function of their module: it runs a script, which its input names.
const FolderExport = "__script__"

// FolderIndex is what a package of [Folder] is built from: the first file of its
// program.
type FolderIndex struct {
	// At is where a script finds the folder.
	At string `json:"at"`
	// Files are the Python files of the folder, by their paths in it, below FolderFiles
	// in the package.
	Files []string `json:"files"`
	// Library lists directories of the folder that hold packages to import.
	Library []string `json:"library"`
}

// FolderFiles is where the files of a [FolderIndex] are in the package.
const FolderFiles = folderAt

// LibraryDir is the directory of a folder with packages that its scripts import.
const LibraryDir = "vendor"

// FolderAt is where the scripts of a folder find its files.
func FolderAt(m *manifests.Manifest) string { return "/skills/" + m.Name }

var (
	importLine = lazyregexp.New(`(?m)^[ \t]*import[ \t]+([^#\n;]+)`)
	fromLine   = lazyregexp.New(`(?m)^[ \t]*from[ \t]+(\w+)`)
)

// WantsOffice returns the first module, by its name, that Python files of a folder import
// and that only OfficeCommand has; "" for none. What the folder has itself does not count.
func WantsOffice(folder *bundle.Package) (module string, err error) {
	own, wanted := map[string]bool{}, map[string]bool{}
	for _, f := range folder.Files() {
		for name := range strings.SplitSeq(strings.TrimSuffix(f.Path, ".py"), "/") {
			own[name] = own[name] || path.Ext(f.Path) == ".py"
		}
		if path.Ext(f.Path) != ".py" || strings.HasPrefix(f.Path, LibraryDir+"/") {
			continue
		}
		b, err := folder.Read(f.Path)
		if err != nil {
			return "", err
		}
		for _, m := range fromLine().FindAllSubmatch(b, -1) {
			wanted[string(m[1])] = true
		}
		for _, m := range importLine().FindAllStringSubmatch(string(b), -1) {
			for item := range strings.SplitSeq(m[1], ",") {
				name, _, _ := strings.Cut(strings.TrimSpace(item), " ")
				top, _, _ := strings.Cut(name, ".")
				wanted[top] = true
			}
		}
	}
	for _, name := range officeModules {
		if wanted[name] && !own[name] {
			return name, nil
		}
	}
	return "", nil
}

// FolderCommands are the interpreters that may run the Python scripts of a folder, the best first.
func FolderCommands(folder *bundle.Package) ([]string, error) {
	module, err := WantsOffice(folder)
	if err != nil || module == "" {
		return []string{FolderCommand, OfficeCommand}, err
	}
	return []string{OfficeCommand, FolderCommand}, nil
}

// Folder makes the package that runs all Python scripts of a folder of the Agent Skills
// specification with an interpreter, one of [FolderCommands], which sees the folder as
// files. As that of [Script] it is for building its module.
func Folder(folder *bundle.Package, command string) (*bundle.Package, error) {
	of := folder.Manifest()
	index := FolderIndex{At: FolderAt(of), Files: []string{}, Library: []string{}}
	files := map[string][]byte{}
	for _, f := range folder.Files() {
		if strings.HasPrefix(f.Path, LibraryDir+"/") && len(index.Library) == 0 {
			index.Library = append(index.Library, LibraryDir)
		}
		if path.Ext(f.Path) != ".py" {
			continue
		}
		b, err := folder.Read(f.Path)
		if err != nil {
			return nil, err
		}
		files[path.Join(FolderFiles, f.Path)] = b
		index.Files = append(index.Files, f.Path)
	}
	m := manifests.Manifest{
		Name: of.Name, Version: of.Version, Description: of.Description,
		Type: manifests.KindCodeInline, Command: command, Args: []string{"folder.json"},
		Tools:        []manifests.Tool{{Name: "run", Export: FolderExport, Description: "Runs a script."}},
		Dependencies: map[string]manifests.Dependency{command: {Version: "*"}},
	}
	var err error
	if files[manifests.FileJSON], err = json.Marshal(m); err == nil {
		files[m.Args[0]], err = json.Marshal(index)
	}
	if err != nil {
		return nil, err
	}
	p, err := bundle.FromFiles(files)
	if err != nil {
		return nil, fmt.Errorf("prepare the scripts of %s: %w", of.Name, err)
	}
	return p, nil
}
