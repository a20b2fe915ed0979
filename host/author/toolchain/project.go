package toolchain

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/skillet-run/skillet/host/base/fault"

	"github.com/skillet-run/skillet/manifests"
)

// A Project is a directory with the source of a skill.
type Project struct {
	// Dir is the absolute path of the directory.
	Dir string
	// Language is what it is written in; empty when there is no source that is
	// known, and the module is there all the same.
	Language Language
	// Module is the path of the module in Dir, with slashes; empty when an
	// interpreter runs the source as it is.
	Module string
	// Entry is the file of a script that is run, in Dir.
	Entry string
	// Command is true for a WASI command, and false for a reactor.
	Command bool
	// Manifest is nil when there is none.
	Manifest *manifests.Manifest
}

// DefaultModule is the path of the module where no manifest names one.
const DefaultModule = "main.wasm"

// Recognise finds out what is in a directory. Errors are [fault.Error]s: of
// [fault.KindNotFound] for a directory that is not there, of [fault.KindUsage] for
// one that has no source of a known language, or a manifest that is wrong.
func Recognise(dir string) (Project, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return Project{}, fmt.Errorf("find %s: %w", dir, err)
	}
	if st, err := os.Stat(abs); err != nil {
		return Project{}, fault.Errorf(fault.KindNotFound, "build %s: %w", dir, fs.ErrNotExist).WithHint("name a directory with the source of a skill; %s makes one", fault.New())
	} else if !st.IsDir() {
		return Project{}, fault.Errorf(fault.KindUsage, "build %s: it is not a directory", dir).WithHint("name the directory of the skill, or a main.js, main.ts or main.py")
	}
	p := Project{Dir: abs, Module: DefaultModule}
	if p.Manifest, err = readManifest(abs); err != nil {
		return p, fmt.Errorf("build %s: %w", dir, err)
	}
	if m := p.Manifest; m != nil && !m.Type.IsCode() {
		p.Module = "" // a prompt or a plugin: nothing is built of it here
		return p, nil
	}
	p.named()
	if p.Language == "" {
		p.Language, p.Entry = languageOf(abs)
	}
	if p.Language == "" && !isFile(filepath.Join(abs, filepath.FromSlash(p.Module))) {
		return p, fault.Errorf(fault.KindUsage, "build %s: neither source of a known language nor %s found", dir, p.Module).
			WithHint("source is a go.mod, a Cargo.toml, an asconfig.json, a main.zig, a C or C++ file, or a main.js, main.ts or main.py; %s makes a skill", fault.New())
	}
	return p, nil
}

// named takes from the manifest what it says about the module.
func (p *Project) named() {
	m := p.Manifest
	if m == nil {
		return
	}
	p.Module = m.Command
	if filepath.Ext(m.Command) != ".wasm" {
		p.Module = ""
	}
	p.Command = slices.ContainsFunc(m.Tools, func(t manifests.Tool) bool { return t.Export == manifests.ExportWASI })
}

// readManifest reads the manifest of a directory; nil when there is none.
func readManifest(dir string) (*manifests.Manifest, error) {
	for _, name := range manifests.FileNames() {
		path := filepath.Join(dir, name)
		b, err := os.ReadFile(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		m, err := manifests.Parse(b, name)
		if err != nil {
			return nil, fault.Wrap(fault.KindUsage, err).WithHint("correct the manifest, then build again")
		}
		return m, nil
	}
	return nil, nil
}

// languageOf is the first language that a directory has a mark of, and for
// scripts the file that is run.
func languageOf(dir string) (Language, string) {
	for _, r := range rows() {
		for _, mark := range r.marks {
			found, err := filepath.Glob(filepath.Join(escapeGlob(dir), filepath.FromSlash(mark)))
			if err != nil || len(found) == 0 {
				continue
			}
			if r.language.IsScript() {
				return r.language, mark
			}
			return r.language, ""
		}
	}
	return "", ""
}

// escapeGlob makes a path that stands for itself in a glob.
func escapeGlob(path string) string {
	if filepath.Separator == '\\' {
		return path
	}
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(path)
}

func isFile(path string) bool {
	st, err := os.Stat(path)
	return err == nil && st.Mode().IsRegular()
}

// files are the files of p that fit one of the globs, relative, with slashes,
// sorted.
func (p Project) files(globs []string) []string {
	var all []string
	for _, g := range globs {
		found, err := filepath.Glob(filepath.Join(escapeGlob(p.Dir), filepath.FromSlash(g)))
		if err != nil {
			continue
		}
		for _, f := range found {
			if rel, err := filepath.Rel(p.Dir, f); err == nil {
				all = append(all, filepath.ToSlash(rel))
			}
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}
