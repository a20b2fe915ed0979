package author

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/skillet-run/skillet/host/author/toolchain"
	"github.com/skillet-run/skillet/host/base/fault"
	"github.com/skillet-run/skillet/host/base/store/atomicfile"
	"github.com/skillet-run/skillet/host/fetch/source"
	"github.com/skillet-run/skillet/host/record/approval"
	"github.com/skillet-run/skillet/manifests"
	"github.com/skillet-run/skillet/manifests/bundle"
	"github.com/skillet-run/skillet/manifests/signature"
)

// A PackRequest says what a package is to be made of.
type PackRequest struct {
	// Dir is the directory of the skill.
	Dir string
	// Output is the .skill file to write, or the directory to write it to, which is made;
	// empty for the working directory.
	Output string
	// Build builds the module again if its source was changed since it was built. Stale
	// packs such a module as it is. Without either it is refused.
	Build, Stale bool
	// Unsigned makes no signature, and uses no home.
	Unsigned bool
	// Timeout bounds the compiler; 0 means [DefaultTimeout].
	Timeout  time.Duration
	Progress Progress
}

// Packed is a package that was written.
type Packed struct {
	Name    string           `json:"name"`
	Version string           `json:"version"`
	Digest  manifests.Digest `json:"digest"`
	Path    string           `json:"path"`
	Files   []bundle.File    `json:"files"`
	// Signer made the signature at the path Signature; both empty for none.
	Signer    string `json:"signer,omitempty"`
	Signature string `json:"signature,omitempty"`
	// Rebuilt is the module that was built again; empty for none. NewKey is true when the
	// key that signed was made for it.
	Rebuilt string `json:"-"`
	NewKey  bool   `json:"-"`
}

// Pack writes the package of a directory as a .skill file, the same bytes every time, and
// its signature, by the key of the home, beside it. Errors are [fault.Error]s: of
// [fault.KindUsage] for a directory of which no package can be made, and those of
// [Service.Build].
func (s *Service) Pack(ctx context.Context, by approval.Human, r PackRequest) (Packed, error) {
	if err := by.Check(); err != nil {
		return Packed{}, err
	}
	rebuilt, err := s.rebuild(ctx, r)
	if err != nil {
		return Packed{}, err
	}
	p, path, err := packTo(r.Dir, cmp.Or(r.Output, "."))
	if err != nil {
		return Packed{}, err
	}
	m := p.Manifest()
	out := Packed{Name: m.Name, Version: m.Version, Digest: p.Digest(), Path: path, Files: p.Files(), Rebuilt: rebuilt}
	if !r.Unsigned {
		return out, s.signPacked(ctx, by, p, &out)
	}
	// What is there belongs to the file that was replaced.
	if err := os.Remove(path + signature.Extension); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return out, fmt.Errorf("delete the old signature: %w", err)
	}
	return out, nil
}

// rebuild builds a directory whose source was changed since its module was built, and
// returns the module that it built.
func (s *Service) rebuild(ctx context.Context, r PackRequest) (module string, err error) {
	if err := toolchain.Current(r.Dir); err == nil || r.Stale {
		return "", nil
	} else if !r.Build {
		return "", err
	}
	made, err := s.buildModule(ctx, BuildRequest{Path: r.Dir, Timeout: r.Timeout, Progress: r.Progress})
	return made.Module, err
}

// signPacked signs a file that was written.
func (s *Service) signPacked(ctx context.Context, by approval.Human, p *bundle.Package, out *Packed) error {
	h, err := s.state(ctx)
	if err != nil {
		return err
	}
	archive, err := os.ReadFile(out.Path)
	if err != nil {
		return fmt.Errorf("sign the package: %w", err)
	}
	signed, err := h.Sign(ctx, by, p, manifests.DigestOf(archive))
	if err != nil {
		return err
	}
	out.Signer, out.Signature, out.NewKey = string(signed.Signer), out.Path+signature.Extension, signed.Made
	if err := cmp.Or(atomicfile.Write(out.Signature, signed.Bundle), os.Chmod(out.Signature, 0o644)); err != nil {
		return fmt.Errorf("write the signature: %w", err)
	}
	return nil
}

// packTo packs a directory to a file, or into a directory, which it makes.
func packTo(dir, out string) (*bundle.Package, string, error) {
	if err := packable(dir); err != nil {
		return nil, "", err
	}
	if filepath.Ext(out) == bundle.Extension {
		p, err := bundle.Pack(dir, out)
		return p, out, err
	}
	if err := os.MkdirAll(out, 0o755); err != nil {
		return nil, "", fmt.Errorf("make the output directory: %w", err)
	}
	p, err := bundle.Pack(dir, out)
	if err != nil {
		return nil, "", err
	}
	return p, filepath.Join(out, p.FileName()), nil
}

// packable refuses what would make a package that nobody can run.
func packable(dir string) error {
	if st, err := os.Stat(dir); err == nil && !st.IsDir() {
		return fault.Errorf(fault.KindUsage, "pack %s: it is not a directory", dir).WithHint("name the directory with the skill.json")
	}
	_, err := bundle.ReadDir(dir)
	return source.Unbuilt(dir, err)
}
