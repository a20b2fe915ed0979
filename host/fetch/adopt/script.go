package adopt

import (
	"embed" // for the programs around scripts, and what they import
	"encoding/json"
	"fmt"
	"path"
	"strings"

	"github.com/skillet-run/skillet/manifests"
	"github.com/skillet-run/skillet/manifests/bundle"
)

//go:embed around.js
var aroundJS string

//go:embed around.py
var aroundPython string

// pythonLibrary are modules of Python that command-line programs import and the
// interpreter does not have.
//
//go:embed pythonlib/argparse.py pythonlib/__future__.py
var pythonLibrary embed.FS

// folderAt is where the files of the folder are in the package of a script. They
// keep their places to each other.
const folderAt = "assets"

// Script makes the package that runs a script of a folder of the Agent Skills
// specification: the folder, and a small program around the script that gives it
// arguments and standard input and gathers what it writes. The package is made of
// the folder alone, and is for building its module; what is approved, recorded and
// granted something is the folder.
func Script(folder *bundle.Package, s manifests.Script) (*bundle.Package, error) {
	tool, _ := folder.Manifest().Tool(s.Tool)
	source, err := folder.Read(s.Path)
	if err != nil {
		return nil, err
	}
	at := path.Join(folderAt, s.Path)
	copied := "script_" + s.Tool // a name that can be imported
	main, text := path.Join(path.Dir(at), "run_"+s.Tool+".js"), aroundJS
	if s.Interpreter == "python" {
		main, text = path.Join(path.Dir(at), "run_"+s.Tool+".py"), aroundPython
	}
	text = strings.NewReplacer(
		"TOOL", s.Tool, "PATH", literal(at), "IMPORT", literal("./"+path.Base(at)), "COPY", copied, "SOURCE", literal(string(source)),
	).Replace(text)
	m := manifests.Manifest{
		Name: folder.Manifest().Name, Version: folder.Manifest().Version, Description: tool.Description,
		Type: manifests.KindCodeInline, Command: s.Interpreter, Args: []string{main}, Tools: []manifests.Tool{tool},
		Dependencies: map[string]manifests.Dependency{s.Interpreter: {Version: "*"}},
	}
	b, err := json.Marshal(m)
	if err != nil {
		return nil, err
	}
	files := map[string][]byte{}
	for _, f := range folder.Files() {
		if files[path.Join(folderAt, f.Path)], err = folder.Read(f.Path); err != nil {
			return nil, err
		}
	}
	files[manifests.FileJSON], files[main] = b, []byte(text)
	if s.Interpreter == "python" {
		files[path.Join(path.Dir(at), copied+".py")] = source
		if err := addLibrary(files, path.Dir(at)); err != nil {
			return nil, err
		}
	}
	p, err := bundle.FromFiles(files)
	if err != nil {
		return nil, fmt.Errorf("prepare %s: %w", s.Path, err)
	}
	return p, nil
}

// addLibrary puts the modules of the library beside a script, where it has none of
// its own of that name.
func addLibrary(files map[string][]byte, dir string) error {
	all, err := pythonLibrary.ReadDir("pythonlib")
	if err != nil {
		return err
	}
	for _, e := range all {
		name := path.Join(dir, e.Name())
		if _, ok := files[name]; ok {
			continue
		}
		if files[name], err = pythonLibrary.ReadFile("pythonlib/" + e.Name()); err != nil {
			return err
		}
	}
	return nil
}

// literal is text as JavaScript and Python write it.
func literal(text string) string {
	b, err := json.Marshal(strings.ToValidUTF8(text, "\uFFFD"))
	if err != nil { // it is a text
		panic("adopt: quote a text: " + err.Error())
	}
	return string(b)
}
