package source

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/skillet-run/skillet/host/base/fault"

	"github.com/skillet-run/skillet/host/base/store/atomicfile"
	"github.com/skillet-run/skillet/host/fetch/source/oci"
	"github.com/skillet-run/skillet/manifests"
	"github.com/skillet-run/skillet/manifests/bundle"
	"github.com/skillet-run/skillet/manifests/signature"
)

// A Parcel is a package in the form in which one place takes it: its digest is
// known, and can be signed, before anything is sent. It is immutable and comes
// from [Fetcher.Parcel].
type Parcel struct {
	// To is where it goes, with the tag it will have.
	To Ref
	// Artifact is what signatures are about: the digest of the OCI manifest, or
	// of the .skill file.
	Artifact manifests.Digest

	pkg      *bundle.Package
	artifact *oci.Artifact // for registries and layouts
	archive  []byte        // for files
}

// Parcel makes a package ready for a place: a registry, a layout folder, a
// .skill file or a directory for one, or the registry that a short name stands
// for. Without a tag it goes under its version.
func (f *Fetcher) Parcel(p *bundle.Package, to Ref) (*Parcel, error) {
	parcel := &Parcel{To: to, pkg: p}
	if err := f.wrap(parcel); err != nil {
		return nil, f.explain("publish "+p.Manifest().Name+" to "+to.String(), to, err)
	}
	return parcel, nil
}

func (f *Fetcher) wrap(p *Parcel) (err error) {
	m := p.pkg.Manifest()
	switch p.To.Kind {
	case KindFile, KindDirectory:
		return p.file()
	case KindName:
		if p.To.Name != m.Name || p.To.Constraint != "" && p.To.Constraint != m.Version {
			return fault.Errorf(fault.KindUsage, "%w: the package is %s@%s", ErrMismatch, m.Name, m.Version).WithHint("a directory or a file to write begins with ./")
		}
		s, err := f.named(p.To.Name, Options{})
		if err != nil {
			return err
		}
		p.To = Ref{Kind: KindRegistry, Host: s.host, Repository: s.repository}
	case KindRegistry, KindLayout:
	default:
		return fmt.Errorf("%w: nothing can be published to a %s", ErrRef, p.To.Kind)
	}
	if p.To.Digest != "" {
		return fmt.Errorf("%w: a digest comes of what is published; name a tag, or none", ErrRef)
	}
	if p.To.Tag == "" {
		p.To.Tag = tagOf(m.Version)
	}
	if v, ok := versionOf(p.To.Tag); ok && v.Version != m.Version {
		return fault.Errorf(fault.KindUsage, "%w: the tag says %s, and the package is %s", ErrMismatch, v.Version, m.Version).WithHint("leave the tag out, or correct the version in the manifest")
	}
	p.artifact, err = oci.Pack(p.pkg)
	if err == nil {
		p.Artifact = p.artifact.Digest
	}
	return err
}

// file makes the .skill file.
func (p *Parcel) file() error {
	if info, err := os.Stat(p.To.Path); err == nil && info.IsDir() || p.To.Kind == KindDirectory {
		p.To = Ref{Kind: KindFile, Path: filepath.Join(p.To.Path, p.pkg.FileName())}
	}
	var b bytes.Buffer
	if err := p.pkg.WriteArchive(&b); err != nil {
		return err
	}
	again, err := bundle.ReadArchive(bytes.NewReader(b.Bytes()))
	if err != nil {
		return fmt.Errorf("read back: %w", err)
	}
	if again.Digest() != p.pkg.Digest() {
		return fmt.Errorf("read back: %w", manifests.ErrDigest)
	}
	p.archive, p.Artifact = b.Bytes(), manifests.DigestOf(b.Bytes())
	return nil
}

// Pushing says how a parcel is published.
type Pushing struct {
	Options
	// Signatures are Sigstore bundles about the artifact.
	Signatures [][]byte
	// Tags are further tags.
	Tags []string
	// Replace allows that what was published under the same tag is replaced.
	Replace bool
}

// Pushed says where a package was published.
type Pushed struct {
	// Ref is where it is now, by tag or file; Source by digest.
	Ref      string           `json:"ref"`
	Source   string           `json:"source"`
	Artifact manifests.Digest `json:"artifact"`
	Tags     []string         `json:"tags,omitempty"`
	Signed   bool             `json:"signed"`
}

// Push publishes a parcel. It becomes visible under its tag, or its name, last.
// The error wraps [oci.ErrExists] when there is something else already.
func (f *Fetcher) Push(ctx context.Context, p *Parcel, how Pushing) (Pushed, error) {
	ctx, cancel := f.bounded(ctx)
	defer cancel()
	done := Pushed{Ref: p.To.String(), Artifact: p.Artifact, Signed: len(how.Signatures) > 0}
	by := p.To
	by.Tag, by.Digest = "", p.Artifact
	done.Source = by.String()
	err := checkTags(how.Tags)
	switch {
	case err != nil:
	case p.artifact == nil:
		by.Digest = ""
		done.Source = p.To.Path
		err = p.save(how)
	default:
		done.Tags = append([]string{p.To.Tag}, how.Tags...)
		var s oci.Store
		if s, err = f.destination(p.To, how.Options); err == nil {
			err = oci.Push(ctx, s, p.artifact, how.Signatures, done.Tags, how.Replace, serial(how.Progress))
		}
	}
	if err != nil {
		return Pushed{}, f.explain("publish to "+done.Ref, p.To, err)
	}
	return done, nil
}

// checkTags refuses tags no registry takes, and those that are versions: a
// version has one tag.
func checkTags(tags []string) error {
	for _, t := range tags {
		if !tagForm().MatchString(t) {
			return fmt.Errorf("%w: %q is not a tag", ErrRef, t)
		}
		if _, ok := versionOf(t); ok {
			return fmt.Errorf("%w: the tag %s is a version, and a package has one", ErrRef, t)
		}
	}
	return nil
}

func (f *Fetcher) destination(to Ref, o Options) (oci.Store, error) {
	if to.Kind == KindLayout {
		return oci.OpenLayout(to.Path), nil
	}
	s := f.site(to, o)
	return f.connect(s, s.host).Repository(s.repository)
}

// save writes a .skill file, with its signature beside it first: nobody finds
// the file without.
func (p *Parcel) save(how Pushing) error {
	if len(how.Signatures) > 1 || len(how.Tags) > 0 {
		return fmt.Errorf("%w: a file has no tags, and one signature", ErrRef)
	}
	if err := free(p.To.Path, p.Artifact, how.Replace); err != nil {
		return err
	}
	return save(p.To.Path, p.archive, how.Signatures)
}

// Write writes what was fetched to a .skill file, with its signatures beside
// it, and returns the paths of those. A file of another package there is left
// alone, and the error wraps [oci.ErrExists], unless replace is set. One
// signature is FILE.sigstore.json; further ones are numbered.
func (f *Fetcher) Write(got *Fetched, path string, replace bool) ([]string, error) {
	r := Ref{Kind: KindFile, Path: path}
	archive := got.Archive
	if archive == nil {
		var b bytes.Buffer
		if err := got.Package.WriteArchive(&b); err != nil {
			return nil, f.explain("write "+path, r, err)
		}
		archive = b.Bytes()
	}
	err := free(path, manifests.DigestOf(archive), replace)
	if err == nil {
		err = save(path, archive, got.Signatures)
	}
	if err != nil {
		return nil, f.explain("write "+path, r, err)
	}
	return beside(path, len(got.Signatures)), nil
}

// free refuses to replace another file.
func free(path string, by manifests.Digest, replace bool) error {
	old, err := readFile(path, bundle.MaxArchiveBytes)
	switch {
	case errors.Is(err, fs.ErrNotExist), err == nil && (replace || manifests.DigestOf(old) == by):
		return nil
	case err != nil:
		return err
	}
	return fmt.Errorf("%w: %s", oci.ErrExists, path)
}

// beside are the paths of the signatures of a file.
func beside(path string, n int) []string {
	paths := make([]string, 0, n)
	for i := range n {
		number := ""
		if i > 0 {
			number = fmt.Sprintf(".%d", i+1)
		}
		paths = append(paths, path+number+signature.Extension)
	}
	return paths
}

// save writes a .skill file and its signatures, each whole or not at all:
// signatures first, so that nobody finds the file without. An older signature is
// deleted when there is none now.
func save(path string, archive []byte, signatures [][]byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	if len(signatures) == 0 {
		if err := os.Remove(path + signature.Extension); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	for i, at := range beside(path, len(signatures)) {
		if err := write(at, signatures[i]); err != nil {
			return err
		}
	}
	return write(path, archive)
}

func write(path string, content []byte) error {
	if err := atomicfile.Write(path, content); err != nil {
		return err
	}
	return os.Chmod(path, 0o644)
}
