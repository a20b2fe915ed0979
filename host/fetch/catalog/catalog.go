// Package catalog is the list of the first-party packages that comes with the program:
// their names, versions and digests, and the key that signed them. The list is part of
// the program; the packages are files in a folder beside it. What is in such a file
// counts only when it has the digest of the list, so that it does not matter who could
// write to the folder.
//
// The list in the repository is empty. `make` and the release tool build another one into
// the program in its place, with the overlay in overlay.json.
package catalog

import (
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/skillet-run/skillet/internal/openfile"
	"github.com/skillet-run/skillet/manifests"
	"github.com/skillet-run/skillet/manifests/bundle"
	"github.com/skillet-run/skillet/manifests/signature"
)

var (
	// ErrNotListed means that the catalog has no package of a name.
	ErrNotListed = errors.New("not in the catalog of this program")
	// ErrNoFile means that a listed package is in none of the folders.
	ErrNoFile = errors.New("the file of the package is missing")
	// ErrOtherBytes means that the file of a listed package is another one than was listed.
	ErrOtherBytes = errors.New("the file is not the one that this program lists")
	// ErrSignature means that a listed package has no good signature of the key that
	// signed the catalog.
	ErrSignature = errors.New("not signed by the key of this program")
)

// A Package is one that is listed.
type Package struct {
	Name        string `json:"name"`
	Version     string `json:"version"`
	Description string `json:"description,omitempty"`
	// Digest is that of the .skill file, and Size its length in bytes.
	Digest manifests.Digest `json:"digest"`
	Size   int64            `json:"size"`
	// Provides are the interfaces that it provides, such as those of interpreters.
	Provides []string `json:"provides,omitempty"`
}

// File is the name of its file.
func (p Package) File() string { return p.Name + "-" + p.Version + bundle.Extension }

// A List is what a catalog holds.
type List struct {
	// Key signed every package; zero when nobody did, as in a program that was built from
	// source.
	Key      signature.Key `json:"key,omitzero"`
	Packages []Package     `json:"packages"`
}

// A Catalog is a list, and the folders in which its packages may be. A nil *Catalog is
// empty. It is safe for concurrent use.
type Catalog struct {
	list    List
	folders []string
}

// New makes a Catalog of a list. The folders are looked through in order.
func New(list List, folders ...string) *Catalog { return &Catalog{list: list, folders: folders} }

//go:embed catalog.json
var embedded []byte

// Builtin is the catalog of this program.
var Builtin = sync.OnceValue(func() *Catalog {
	var l List
	if err := json.Unmarshal(embedded, &l); err != nil {
		panic("the catalog of this program: " + err.Error()) // whoever built it finds out at its first command
	}
	return New(l, Folders()...)
})

// Folders are where the packages of this program may be, relative to where it is: beside
// it, as in the archives of a release; in share, as a system installs it; and in dist, as
// make builds it. It is nil when nobody knows where the program is.
func Folders() []string {
	program, err := os.Executable()
	if err == nil {
		program, err = filepath.EvalSymlinks(program)
	}
	if err != nil {
		return nil
	}
	dir := filepath.Dir(program)
	return []string{filepath.Join(dir, "skills"), filepath.Join(dir, "..", "share", "skillet", "skills"), filepath.Join(dir, "..", "dist")}
}

// Packages are all that are listed.
func (c *Catalog) Packages() []Package {
	if c == nil {
		return nil
	}
	return slices.Clone(c.list.Packages)
}

// Key signed the packages; zero for nobody.
func (c *Catalog) Key() signature.Key {
	if c == nil {
		return signature.Key{}
	}
	return c.list.Key
}

// Find finds a listed package.
func (c *Catalog) Find(name string) (Package, bool) {
	all := c.Packages()
	i := slices.IndexFunc(all, func(p Package) bool { return p.Name == name })
	if i < 0 {
		return Package{}, false
	}
	return all[i], true
}

// Lists reports whether a .skill file of that digest is listed, wherever it is.
func (c *Catalog) Lists(archive manifests.Digest) bool {
	return archive != "" && slices.ContainsFunc(c.Packages(), func(p Package) bool { return p.Digest == archive })
}

// Path is where the file of a listed package is. It says nothing about what is in it.
// The error wraps [ErrNoFile] and names the folders.
func (c *Catalog) Path(p Package) (string, error) {
	for _, dir := range c.folders {
		path := filepath.Join(dir, p.File())
		if _, err := os.Stat(path); err == nil {
			return path, nil
		} else if !errors.Is(err, fs.ErrNotExist) {
			return "", err
		}
	}
	return "", fmt.Errorf("%w: %s is in none of %s", ErrNoFile, p.File(), strings.Join(c.folders, ", "))
}

// Check returns the path of the file of a listed package, once it has been read and found
// to be the one that is listed, with its signature. Errors wrap one of this package's, or
// are those of the file system.
func (c *Catalog) Check(p Package) (string, error) {
	path, err := c.Path(p)
	if err != nil {
		return "", err
	}
	archive, err := openfile.ReadRegular(path, bundle.MaxArchiveBytes)
	if err != nil {
		return path, fmt.Errorf("%w: %s: %w", ErrOtherBytes, path, err)
	}
	if err := c.Verify(p, path, archive); err != nil {
		return path, err
	}
	return path, nil
}

// Verify demands that the bytes of the file at a path are those of a listed package, and
// that the signature beside it, if there is to be one, is of the right key. Errors wrap
// [ErrOtherBytes] or [ErrSignature].
func (c *Catalog) Verify(p Package, path string, archive []byte) error {
	if got := manifests.DigestOf(archive); got != p.Digest {
		return fmt.Errorf("%w: %s has the digest %s, and %s is listed", ErrOtherBytes, path, got.Short(), p.Digest.Short())
	}
	key := c.Key()
	if key.IsZero() {
		return nil
	}
	beside, err := openfile.ReadRegular(path+signature.Extension, signature.MaxBytes)
	if err != nil {
		return fmt.Errorf("%w: %s: %w", ErrSignature, path, err)
	}
	signed, err := signature.Verify(beside, p.Digest, signature.NewKeyring(key))
	if err == nil && signed.Signer != key.Signer() {
		err = fmt.Errorf("it is signed by %s", signed.Signer)
	}
	if err != nil {
		return fmt.Errorf("%w: %s: %w", ErrSignature, path, err)
	}
	return nil
}
