package author

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/skillet-run/skillet/host/base/fault"
	"github.com/skillet-run/skillet/internal/duration"

	"github.com/skillet-run/skillet/host/author/script"
	"github.com/skillet-run/skillet/host/author/toolchain"
	"github.com/skillet-run/skillet/host/engine/sandbox/wasmlink"
	"github.com/skillet-run/skillet/host/review/inspect"
	"github.com/skillet-run/skillet/host/review/review"
	"github.com/skillet-run/skillet/manifests"
	"github.com/skillet-run/skillet/manifests/bundle"
)

// builtBy builds scripts with the interpreters of a home. It implements
// [toolchain.Scripts].
type builtBy struct{ s *Service }

// Script builds the module of a script. It imports what its manifest asks for:
// the interpreter it is made of imports everything.
func (b builtBy) Script(ctx context.Context, p toolchain.Project) ([]byte, error) {
	h, err := b.s.state(ctx)
	if err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(p.Dir) // links lead nowhere else
	if err != nil {
		return nil, err
	}
	defer root.Close()
	wasm, err := h.Scripts.Build(ctx, script.Source{Files: root.FS(), Main: p.Entry})
	if e := (*fault.Error)(nil); errors.As(err, &e) && e.Kind == fault.KindVerification {
		return nil, &toolchain.SourceError{Language: p.Language, Err: err}
	}
	if err != nil {
		return nil, err
	}
	var asked manifests.Permissions
	if p.Manifest != nil {
		asked = p.Manifest.Security.Permissions
	}
	return wasmlink.Narrow(wasm, p.Manifest != nil, func(name string) string { return review.Lacks(asked, name) })
}

// buildScript makes a package of a script that has no manifest: each function
// that it exports is a tool that takes an object and asks for nothing.
func (s *Service) buildScript(ctx context.Context, r BuildRequest) (Built, error) {
	out := Built{Problems: []Problem{}}
	if _, err := os.Lstat(r.Path); err != nil {
		return out, fault.Errorf(fault.KindNotFound, "build %s: file not found", r.Path).WithHint("name a directory, or a main.js, main.ts or main.py")
	}
	project, err := scriptProject(r.Path)
	if err != nil {
		return out, err
	}
	done := r.Progress.step("building " + filepath.Base(r.Path))
	began := time.Now()
	wasm, err := project.Compile(ctx, s.compilers(r.Timeout))
	done()
	out.Built = toolchain.Built{
		Dir: project.Dir, Language: project.Language, Module: toolchain.DefaultModule, Bytes: int64(len(wasm)), Changed: true,
		DurationMS: duration.Milliseconds(time.Since(began)),
	}
	if err != nil {
		return out, fmt.Errorf("build %s: %w", r.Path, err)
	}
	p, err := scriptPackage(project, r.Path, wasm)
	if err != nil {
		return out, err
	}
	if out.Problems, err = check(p); err != nil {
		return out, err
	}
	out.Output, err = writeBuilt(p, cmp.Or(r.Output, p.FileName()))
	return out, err
}

// scriptProject is a script as a project of its own.
func scriptProject(path string) (toolchain.Project, error) {
	abs, err := filepath.Abs(path)
	languages := map[string]toolchain.Language{".js": toolchain.JS, ".mjs": toolchain.JS, ".ts": toolchain.TS, ".py": toolchain.Python}
	return toolchain.Project{
		Dir: filepath.Dir(abs), Entry: filepath.Base(abs), Module: toolchain.DefaultModule, Language: languages[strings.ToLower(filepath.Ext(abs))],
	}, err
}

// A scriptManifest is the manifest that a script without one is given.
type scriptManifest struct {
	Name        string       `json:"name"`
	Version     string       `json:"version"`
	Description string       `json:"description"`
	Type        string       `json:"type"`
	Command     string       `json:"command"`
	Tools       []scriptTool `json:"tools"`
}

type scriptTool struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	InputSchema json.RawMessage `json:"input_schema"`
}

// scriptPackage makes a package of a module that was made of a script.
func scriptPackage(p toolchain.Project, path string, wasm []byte) (*bundle.Package, error) {
	r, err := inspect.Module(wasm)
	if err != nil {
		return nil, fault.Wrap(fault.KindInternal, fmt.Errorf("build %s: %w", path, err))
	}
	m := scriptManifest{
		Name: scriptName(p), Version: "0.1.0", Type: string(manifests.KindCodeInline), Command: toolchain.DefaultModule,
		Description: "What " + p.Entry + " exports, in " + p.Language.Title() + ".",
	}
	for _, e := range r.Exports {
		if e.Signature == "() -> i32" && e.Name != "_start" {
			m.Tools = append(m.Tools, scriptTool{e.Name, "The function " + e.Name + " of " + p.Entry + ".", json.RawMessage(`{"type": "object"}`)})
		}
	}
	if len(m.Tools) == 0 {
		return nil, fault.Errorf(fault.KindUsage, "build %s: it exports no function that could be a tool", path).
			WithHint("export one: each exported function is a tool")
	}
	b, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return nil, err
	}
	return bundle.FromFiles(map[string][]byte{manifests.FileJSON: append(b, '\n'), toolchain.DefaultModule: wasm})
}

// scriptName is the name of a skill made of a script: that of the file, or of its
// directory for one that is called main.
func scriptName(p toolchain.Project) string {
	base := strings.TrimSuffix(p.Entry, filepath.Ext(p.Entry))
	if base == "main" || base == "index" {
		base = filepath.Base(p.Dir)
	}
	words := strings.FieldsFunc(strings.ToLower(base), func(r rune) bool { return !(r >= 'a' && r <= 'z' || r >= '0' && r <= '9') })
	name := strings.Join(words, "-")
	if name == "" {
		return "script"
	}
	return strings.TrimRight(name[:min(len(name), 64)], "-")
}

// isScript reports whether an argument names a script rather than a directory.
func isScript(path string) bool {
	endings := []string{".js", ".mjs", ".ts", ".py"}
	st, err := os.Stat(path)
	return slices.Contains(endings, strings.ToLower(filepath.Ext(path))) && (err != nil || !st.IsDir())
}
