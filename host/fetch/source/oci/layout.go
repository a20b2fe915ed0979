package oci

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/opencontainers/go-digest"
	"github.com/opencontainers/image-spec/specs-go"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/skillet-run/skillet/host/base/store/atomicfile"
	"github.com/skillet-run/skillet/host/base/store/filelock"
	"github.com/skillet-run/skillet/host/fetch/source/transfer"
	"github.com/skillet-run/skillet/manifests"
)

// A Layout is a folder in the form of the OCI image layout (image
// specification, image-layout.md). Links in it that lead out are not followed.
type Layout struct{ dir string }

// OpenLayout names a folder; it need not be there before something is put into
// it.
func OpenLayout(dir string) *Layout { return &Layout{dir} }

// maxIndexBytes bounds index.json.
const maxIndexBytes = 16 << 20

// read reads a file of the folder, at most limit bytes.
func (l *Layout) read(name string, limit int64) ([]byte, error) {
	root, err := os.OpenRoot(l.dir)
	if err != nil {
		if st, serr := os.Stat(l.dir); serr == nil && !st.IsDir() { // OpenRoot has no error for that
			err = fmt.Errorf("%w: %s is not a directory", transfer.ErrNotFound, l.dir)
		}
		return nil, missing(err)
	}
	defer root.Close()
	f, err := root.OpenFile(filepath.FromSlash(name), os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, missing(err)
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return nil, errors.Join(fmt.Errorf("%w: %s is not a regular file", ErrMalformed, name), err)
	}
	return transfer.Limited(f, limit)
}

func missing(err error) error {
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return fmt.Errorf("%w: %w", transfer.ErrNotFound, err)
	}
	return err
}

// index reads index.json, after making sure that the folder is a layout.
func (l *Layout) index() (ocispec.Index, error) {
	var mark ocispec.ImageLayout
	b, err := l.read(ocispec.ImageLayoutFile, maxListBytes)
	if err != nil {
		return ocispec.Index{}, err
	}
	if json.Unmarshal(b, &mark) != nil || mark.Version != ocispec.ImageLayoutVersion {
		return ocispec.Index{}, fmt.Errorf("%w: %s says another version than %s", ErrMalformed, ocispec.ImageLayoutFile, ocispec.ImageLayoutVersion)
	}
	if b, err = l.read(ocispec.ImageIndexFile, maxIndexBytes); err != nil {
		return ocispec.Index{}, err
	}
	return parseIndex(b)
}

func parseIndex(b []byte) (ocispec.Index, error) {
	var ix ocispec.Index
	if err := json.Unmarshal(b, &ix); err != nil {
		return ix, fmt.Errorf("%w: its index: %w", ErrMalformed, err)
	}
	return ix, nil
}

func (l *Layout) manifest(_ context.Context, reference string) ([]byte, error) {
	if d, err := manifests.ParseDigest(reference); err == nil {
		return l.verified(d, -1, MaxManifestBytes)
	}
	ix, err := l.index()
	if err != nil {
		return nil, err
	}
	for _, d := range ix.Manifests {
		if d.Annotations[ocispec.AnnotationRefName] != reference {
			continue
		}
		found, err := checked(d, MaxManifestBytes)
		if err != nil {
			return nil, err
		}
		return l.verified(found.Digest, found.Size, MaxManifestBytes)
	}
	return nil, fmt.Errorf("%w: no tag %s", transfer.ErrNotFound, reference)
}

// verified reads a blob; size is -1 when nobody said it.
func (l *Layout) verified(d manifests.Digest, size, limit int64) ([]byte, error) {
	b, err := l.read(path.Join(ocispec.ImageBlobsDir, "sha256", d.Hex()), limit)
	if err != nil {
		return nil, err
	}
	if have := manifests.DigestOf(b); have != d {
		return nil, fmt.Errorf("%w: its digest is %s, and should be %s", transfer.ErrTampered, have, d)
	}
	if size >= 0 && int64(len(b)) != size {
		return nil, fmt.Errorf("%w: it has %d bytes, and should have %d", transfer.ErrTampered, len(b), size)
	}
	return b, nil
}

func (l *Layout) blob(_ context.Context, w Layer, progress transfer.Progress) ([]byte, error) {
	b, err := l.verified(w.Digest, w.Size, max(w.Size, 1))
	if err == nil {
		_, _ = progress.Write(b)
	}
	if errors.Is(err, transfer.ErrTooLarge) {
		return nil, fmt.Errorf("%w: it has more than %d bytes", transfer.ErrTampered, w.Size)
	}
	return b, err
}

// maxReferrers bounds how many manifests are looked at for signatures.
const maxReferrers = 10_000

// referrers looks through the manifests of the index, and through the list that
// stands under the tag of the referrers tag schema (distribution specification,
// "Referrers Tag Schema").
func (l *Layout) referrers(ctx context.Context, about manifests.Digest) ([]manifests.Digest, error) {
	ix, err := l.index()
	if err != nil {
		return nil, err
	}
	listed := ix.Manifests
	if b, err := l.manifest(ctx, referrersTag(about)); err == nil {
		more, err := parseIndex(b)
		if err != nil {
			return nil, err
		}
		listed = append(listed, more.Manifests...)
	}
	if len(listed) > maxReferrers {
		return nil, fmt.Errorf("%w: %d manifests, at most %d are looked at", transfer.ErrTooLarge, len(listed), maxReferrers)
	}
	var found []manifests.Digest
	seen := map[manifests.Digest]bool{about: true}
	for _, d := range listed {
		m, err := checked(d, MaxManifestBytes)
		if err != nil || seen[m.Digest] || d.MediaType != ocispec.MediaTypeImageManifest || !maySign(d) {
			continue
		}
		seen[m.Digest] = true
		if ok, err := l.signs(m, about); err != nil {
			return nil, err
		} else if ok {
			found = append(found, m.Digest)
		}
	}
	return found, nil
}

// signs reports whether a manifest is a signature of an artifact.
func (l *Layout) signs(m Layer, about manifests.Digest) (bool, error) {
	b, err := l.verified(m.Digest, m.Size, MaxManifestBytes)
	if err != nil {
		return false, err
	}
	subject, bundles, err := ParseReferrer(b)
	return err == nil && subject == about && len(bundles) > 0, nil
}

// referrersTag is the tag under which registries without the API for it list
// what refers to a digest.
func referrersTag(d manifests.Digest) string { return strings.Replace(string(d), ":", "-", 1) }

// Tags lists the tags of the folder.
func (l *Layout) Tags(context.Context) ([]string, error) {
	ix, err := l.index()
	if err != nil {
		return nil, err
	}
	if len(ix.Manifests) > MaxTags {
		return nil, fmt.Errorf("%w: %d manifests", transfer.ErrTooLarge, len(ix.Manifests))
	}
	var all []string
	for _, d := range ix.Manifests {
		if tag := d.Annotations[ocispec.AnnotationRefName]; tag != "" {
			all = append(all, tag)
		}
	}
	return all, nil
}

// lockWait is how long another writer of the folder is waited for.
const lockWait = time.Minute

// put stores blobs first. The index is replaced once, when all that it names is
// on the disk.
func (l *Layout) put(ctx context.Context, a *Artifact, signatures [][]byte, tags []string, progress transfer.Progress) error {
	if err := os.MkdirAll(filepath.Join(l.dir, ocispec.ImageBlobsDir, "sha256"), 0o755); err != nil {
		return err
	}
	lock, err := filelock.Acquire(ctx, filepath.Join(l.dir, ".skillet.lock"), lockWait)
	if err != nil {
		return err
	}
	defer lock.Release()
	ix, err := l.indexToChange()
	if err != nil {
		return err
	}
	w := &layoutWriter{layout: l}
	if err := pushAll(ctx, w, a, signatures, progress); err != nil {
		return err
	}
	ix.Manifests = renewed(ix.Manifests, a.descriptor(), w.manifests, tags)
	b, err := json.Marshal(ix)
	if err != nil {
		return err
	}
	return l.write(ocispec.ImageIndexFile, b)
}

// indexToChange is the index of the folder, which becomes a layout when it is
// none.
func (l *Layout) indexToChange() (ocispec.Index, error) {
	ix, err := l.index()
	if !errors.Is(err, transfer.ErrNotFound) {
		return ix, err
	}
	b, err := json.Marshal(ocispec.ImageLayout{Version: ocispec.ImageLayoutVersion})
	if err != nil {
		return ix, err
	}
	return ocispec.Index{Versioned: specs.Versioned{SchemaVersion: 2}, MediaType: ocispec.MediaTypeImageIndex}, l.write(ocispec.ImageLayoutFile, b)
}

// renewed is the list of an index with an artifact under tags, and with the
// manifests that were stored beside it.
func renewed(old []ocispec.Descriptor, a ocispec.Descriptor, stored []ocispec.Descriptor, tags []string) []ocispec.Descriptor {
	there := map[digest.Digest]bool{}
	list := slices.DeleteFunc(slices.Clone(old), func(d ocispec.Descriptor) bool {
		return d.Digest == a.Digest && d.Annotations[ocispec.AnnotationRefName] == "" || slices.Contains(tags, d.Annotations[ocispec.AnnotationRefName])
	})
	for _, tag := range tags {
		tagged := a
		tagged.Annotations = map[string]string{ocispec.AnnotationRefName: tag}
		list = append(list, tagged)
	}
	for _, d := range list {
		there[d.Digest] = true
	}
	for _, d := range stored {
		if !there[d.Digest] {
			list = append(list, d)
			there[d.Digest] = true
		}
	}
	return list
}

// write replaces a file of the folder, for everybody to read.
func (l *Layout) write(name string, content []byte) error {
	path := filepath.Join(l.dir, filepath.FromSlash(name))
	if err := atomicfile.Write(path, content); err != nil {
		return err
	}
	return os.Chmod(path, 0o644)
}

// A layoutWriter writes blobs into a folder, and remembers the manifests among
// them.
type layoutWriter struct {
	layout    *Layout
	manifests []ocispec.Descriptor
}

// Exists reports whether whole bytes of a digest are there. Manifests are
// always written, so that the index names them.
func (w *layoutWriter) Exists(_ context.Context, d ocispec.Descriptor) (bool, error) {
	_, err := w.layout.verified(manifests.Digest(d.Digest), d.Size, max(d.Size, 1))
	return err == nil && d.MediaType != ocispec.MediaTypeImageManifest, nil
}

// Push writes a blob.
func (w *layoutWriter) Push(_ context.Context, d ocispec.Descriptor, content io.Reader) error {
	b, err := io.ReadAll(content)
	if err != nil {
		return err
	}
	if d.MediaType == ocispec.MediaTypeImageManifest {
		w.manifests = append(w.manifests, d)
	}
	return w.layout.write(path.Join(ocispec.ImageBlobsDir, "sha256", manifests.Digest(d.Digest).Hex()), b)
}
