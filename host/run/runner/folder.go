package runner

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/skillet-run/skillet/host/engine/sandbox"
	"github.com/skillet-run/skillet/host/engine/sandbox/wasi"
	"github.com/skillet-run/skillet/host/fetch/adopt"
	"github.com/skillet-run/skillet/host/record/registry"
	"github.com/skillet-run/skillet/manifests"
	"github.com/skillet-run/skillet/manifests/bundle"
	"github.com/skillet-run/skillet/policies/limit"
)

// folder is a folder of the Agent Skills specification as its Python scripts find it.
type folder struct {
	code  *bundle.Package // see [adopt.Folder]
	files wasi.Folder
	path  string // of the script that is to run
}

// A folderKey is the digest of a folder and an interpreter of its scripts.
type folderKey struct {
	of manifests.Digest
	by string
}

// maxFolders is how many folders are kept in memory, and maxFolderBytes how large one of
// them is.
const (
	maxFolders     = 16
	maxFolderBytes = 8 << 20
)

// loadScript takes a script of a folder for an attempt to run. One in Python runs on CPython: on the
// one with packages for documents, if scripts of the folder import those and it is installed.
// Where neither is, it runs on the small interpreter if that is.
func (r *Runner) loadScript(ctx context.Context, a *attempt, s manifests.Script) error {
	if s.Interpreter != "python" {
		return r.loadAlone(ctx, a, s)
	}
	commands, err := adopt.FolderCommands(a.call.Target.Package)
	if err != nil {
		return err
	}
	for _, by := range commands {
		if err = r.loadFolder(ctx, a, s, by); !errors.Is(err, registry.ErrNotFound) {
			return err
		}
	}
	if small := r.loadAlone(ctx, a, s); !errors.Is(small, registry.ErrNotFound) {
		return small
	}
	return err
}

// loadFolder takes a script with its folder and an interpreter for an attempt to run.
func (r *Runner) loadFolder(ctx context.Context, a *attempt, s manifests.Script, by string) error {
	f, err := r.folder(a.call.Target.Package, by)
	if err != nil {
		return err
	}
	t := a.call.Target
	t.Package = f.code
	if err := r.loadModule(ctx, a, t); err != nil {
		return err
	}
	a.folder = &folder{files: f.files, path: s.Path}
	if unset := a.call.Limits.Or(a.manifest.Limits()).MemoryBytes == 0; unset && by == adopt.OfficeCommand && !a.exactly() {
		a.limits.MemoryBytes = max(a.limits.MemoryBytes, limit.Set{MemoryBytes: adopt.OfficeMemory}.Within(r.settings.Ceilings).Limits.MemoryBytes)
	}
	return nil
}

// loadAlone takes a script without its folder for an attempt to run.
func (r *Runner) loadAlone(ctx context.Context, a *attempt, s manifests.Script) error {
	t := a.call.Target
	p, err := adopt.Script(t.Package, s)
	if err != nil {
		return err
	}
	t.Package = p
	return r.loadModule(ctx, a, t)
}

// folder is what the Python scripts of a package run with.
func (r *Runner) folder(p *bundle.Package, by string) (*folder, error) {
	key := folderKey{p.Digest(), by}
	r.mu.Lock()
	f, ok := r.folders[key]
	r.mu.Unlock()
	if ok {
		return f, nil
	}
	code, err := adopt.Folder(p, by)
	if err != nil {
		return nil, err
	}
	f = &folder{code: code, files: wasi.Folder{At: adopt.FolderAt(p.Manifest())}}
	size := 0
	for _, file := range p.Files() {
		b, err := p.Read(file.Path)
		if err != nil {
			return nil, err
		}
		size += len(b)
		f.files.Files = append(f.files.Files, wasi.FolderFile{Path: file.Path, Data: b})
	}
	if size > maxFolderBytes {
		return f, nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.folders) >= maxFolders {
		clear(r.folders)
	}
	r.folders[key] = f
	return f, nil
}

// inFolder gives a call what the script of a folder runs with.
func (a *attempt) inFolder(c sandbox.Call) sandbox.Call {
	if a.folder == nil {
		return c
	}
	input := c.Input
	if len(input) == 0 {
		input = []byte("{}")
	}
	c.Input, _ = json.Marshal(struct {
		Path  string          `json:"path"`
		Input json.RawMessage `json:"input"`
	}{a.folder.path, input})
	c.Export, c.Folder, c.Scratch = adopt.FolderExport, a.folder.files, scratchOf(c.Limits)
	return c
}
