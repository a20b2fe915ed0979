// Package bundle reads and writes skill packages.
package bundle

import (
	"errors"
	"io"

	"github.com/skillet-run/skillet/manifests"
)

// Errors.
var (
	ErrUnsafe     = errors.New("unsafe package")
	ErrTooLarge   = errors.New("package too large")
	ErrNoManifest = errors.New("no manifest")
)

// A File is one file of a package.
type File struct {
	Path   string
	Size   int64
	Digest manifests.Digest
}

// A Package is one verified package in memory.
type Package struct{}

func Open(path string) (*Package, error)                         { return &Package{}, nil }
func ReadDir(dir string) (*Package, error)                       { return &Package{}, nil }
func ReadArchive(r io.Reader) (*Package, error)                  { return &Package{}, nil }
func FromFiles(files map[string][]byte) (*Package, error)        { return &Package{}, nil }
func Pack(dir, out string) (*Package, error)                     { return &Package{}, nil }
func (p *Package) Manifest() *manifests.Manifest                 { return nil }
func (p *Package) Digest() manifests.Digest                      { return "" }
func (p *Package) Files() []File                                 { return nil }
func (p *Package) Read(path string) ([]byte, error)              { return nil, nil }
func (p *Package) Module() (path string, wasm []byte, err error) { return "", nil, nil }
func (p *Package) Index() []byte                                 { return nil }
func (p *Package) WriteArchive(w io.Writer) error                { return nil }
