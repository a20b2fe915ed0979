package adopt

import (
	"encoding/json"
	"fmt"
	"path"
	"strings"

	"github.com/skillet-run/skillet/manifests"
	"github.com/skillet-run/skillet/manifests/bundle"
)

// FolderCommand is the interpreter of the packages that [Folder] makes.
const FolderCommand = "cpython"

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

// Folder makes the package that runs all Python scripts of a folder of the Agent Skills
// specification with CPython, which sees the folder as files. As that of [Script] it is
// for building its module.
func Folder(folder *bundle.Package) (*bundle.Package, error) {
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
		Type: manifests.KindCodeInline, Command: FolderCommand, Args: []string{"folder.json"},
		Tools:        []manifests.Tool{{Name: "run", Export: FolderExport, Description: "Runs a script."}},
		Dependencies: map[string]manifests.Dependency{FolderCommand: {Version: "*"}},
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
