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
)

// folder is a folder of the Agent Skills specification as its Python scripts find it.
type folder struct {
	code  *bundle.Package // see [adopt.Folder]
	files wasi.Folder
	path  string // of the script that is to run
}

// maxFolders is how many folders are kept in memory, and maxFolderBytes how large one of
// them is.
const (
	maxFolders     = 16
	maxFolderBytes = 8 << 20
)

// loadScript takes a script of a folder for an attempt to run. One in Python runs on CPython; where
// that is not installed, on the small interpreter if that is.
func (r *Runner) loadScript(ctx context.Context, a *attempt, s manifests.Script) error {
	if s.Interpreter != "python" {
		return r.loadAlone(ctx, a, s)
	}
	f, err := r.folder(a.call.Target.Package)
	if err != nil {
		return err
	}
	t := a.call.Target
	t.Package = f.code
	err = r.loadModule(ctx, a, t)
	if errors.Is(err, registry.ErrNotFound) {
		if small := r.loadAlone(ctx, a, s); !errors.Is(small, registry.ErrNotFound) {
			return small
		}
	}
	if err == nil {
		a.folder = &folder{files: f.files, path: s.Path}
	}
	return err
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
func (r *Runner) folder(p *bundle.Package) (*folder, error) {
	r.mu.Lock()
	f, ok := r.folders[p.Digest()]
	r.mu.Unlock()
	if ok {
		return f, nil
	}
	code, err := adopt.Folder(p)
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
	r.folders[p.Digest()] = f
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
