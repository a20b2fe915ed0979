package catalog

import (
	"bytes"
	"crypto"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/skillet-run/skillet/manifests"
	"github.com/skillet-run/skillet/manifests/bundle"
	"github.com/skillet-run/skillet/manifests/signature"
)

// ListFile is the name of the file that [Make] writes a list to.
const ListFile = "catalog.json"

// Pack packs a directory as the file NAME-VERSION.skill in another one. The same files
// give the same bytes.
func Pack(source, dir string) error {
	p, err := bundle.Pack(source, dir)
	if err != nil {
		return err
	}
	// What is there belongs to the file that was replaced.
	if err := os.Remove(filepath.Join(dir, p.FileName()) + signature.Extension); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// Make lists the packages in a directory that have one of the names: of each its newest
// version. With a key it signs each of them, and writes the signature beside the file.
// The list is written to [ListFile] in the directory, unless it is there already.
func Make(dir string, names []string, key crypto.Signer) (List, error) {
	list := List{Packages: []Package{}}
	if key != nil {
		k, err := signature.NewKey(key.Public())
		if err != nil {
			return list, err
		}
		list.Key = k
	}
	files, err := filepath.Glob(filepath.Join(dir, "*"+bundle.Extension))
	if err != nil {
		return list, err
	}
	newest := map[string]Package{}
	for _, path := range files {
		p, err := read(path, names)
		if err != nil {
			return list, err
		}
		if old, ok := newest[p.Name]; p.Name != "" && (!ok || manifests.CompareVersions(p.Version, old.Version) > 0) {
			newest[p.Name] = p
		}
	}
	for _, name := range slices.Sorted(maps.Keys(newest)) {
		p := newest[name]
		if err := sign(dir, p, key); err != nil {
			return list, err
		}
		list.Packages = append(list.Packages, p)
	}
	return list, write(filepath.Join(dir, ListFile), list)
}

// read reads a package file; it is the zero value for one of another name.
func read(path string, names []string) (Package, error) {
	archive, err := os.ReadFile(path)
	if err != nil {
		return Package{}, err
	}
	p, err := bundle.ReadArchive(bytes.NewReader(archive))
	if err != nil {
		return Package{}, fmt.Errorf("%s: %w", path, err)
	}
	m := p.Manifest()
	if !slices.Contains(names, m.Name) || filepath.Base(path) != p.FileName() {
		return Package{}, nil
	}
	return Package{
		Name: m.Name, Version: m.Version, Description: m.Description, Digest: manifests.DigestOf(archive), Size: int64(len(archive)),
		Provides: slices.Sorted(maps.Keys(m.Provides)),
	}, nil
}

// sign writes the signature of a package file beside it.
func sign(dir string, p Package, key crypto.Signer) error {
	if key == nil {
		return nil
	}
	path := filepath.Join(dir, p.File())
	content, err := bundle.Open(path)
	if err != nil {
		return err
	}
	signed, err := signature.Sign(key, signature.Subject{Name: p.File(), Digest: p.Digest}, signature.PackageSubject(p.Name, p.Version, content.Digest()))
	if err != nil {
		return err
	}
	return os.WriteFile(path+signature.Extension, signed, 0o644)
}

// write writes a list, so that what did not change is not built anew.
func write(path string, list List) error {
	text, err := json.MarshalIndent(list, "", "  ")
	if err != nil {
		return err
	}
	text = append(text, '\n')
	if old, err := os.ReadFile(path); err == nil && bytes.Equal(old, text) {
		return nil
	}
	return os.WriteFile(path, text, 0o644)
}

// Names are those of the first-party packages: each has its directory in skills.
func Names(skills string) ([]string, error) {
	entries, err := os.ReadDir(skills)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, e := range entries {
		if e.IsDir() {
			names = append(names, e.Name())
		}
	}
	return names, nil
}
