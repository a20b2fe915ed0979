package store

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/skillet-run/skillet/host/base/store/atomicfile"
)

const digestPrefix = "sha256:"

func digestOf(content []byte) string {
	sum := sha256.Sum256(content)
	return digestPrefix + hex.EncodeToString(sum[:])
}

func checkDigest(digest string) error {
	digits, ok := strings.CutPrefix(digest, digestPrefix)
	b, err := hex.DecodeString(digits)
	if !ok || err != nil || len(b) != sha256.Size || strings.ToLower(digits) != digits {
		return fmt.Errorf("%w digest %q: want sha256: and 64 lower-case hexadecimal digits", ErrInvalid, digest)
	}
	return nil
}

func checkContent(digest string, content []byte) error {
	if err := checkDigest(digest); err != nil {
		return err
	}
	if len(content) > MaxBlob {
		return fmt.Errorf("%w: a blob has at most %d bytes, this one has %d", ErrTooLarge, MaxBlob, len(content))
	}
	if is := digestOf(content); is != digest {
		return fmt.Errorf("%w: it has %s", ErrDigest, is)
	}
	return nil
}

func blobError(op, digest string, err error) error {
	return fmt.Errorf("%s blob %s: %w", op, digest, err)
}

// existingBlobs are the blobs in a directory; nil when it is not there.
func existingBlobs(dir string) (Blobs, error) {
	if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return DirBlobs(dir)
}

// dirBlobs is a Blobs on an OCI image layout directory.
type dirBlobs struct{ dir string }

// The files of an OCI image layout (image-spec 1.1, image-layout.md).
const (
	layoutFile = "oci-layout"
	layoutText = `{"imageLayoutVersion":"1.0.0"}`
	indexFile  = "index.json"
	indexText  = `{"schemaVersion":2,"mediaType":"application/vnd.oci.image.index.v1+json","manifests":[]}`
	blobDir    = "blobs/sha256"
)

// DirBlobs returns the blobs of an OCI image layout directory, which is made
// when it does not exist. Writing is atomic and synced; several processes may
// use one directory. Each blob is checked against its digest when it is read.
func DirBlobs(dir string) (Blobs, error) {
	if err := os.MkdirAll(filepath.Join(dir, filepath.FromSlash(blobDir)), 0o700); err != nil {
		return nil, fmt.Errorf("open blobs %s: %w", dir, err)
	}
	for name, text := range map[string]string{layoutFile: layoutText, indexFile: indexText} {
		if err := makeOnce(filepath.Join(dir, name), []byte(text)); err != nil {
			return nil, fmt.Errorf("open blobs %s: %w", dir, err)
		}
	}
	if err := sweep(filepath.Join(dir, filepath.FromSlash(blobDir))); err != nil {
		return nil, fmt.Errorf("open blobs %s: %w", dir, err)
	}
	return dirBlobs{dir}, nil
}

// partAge is the age at which an unfinished file belongs to no living writer.
const partAge = time.Hour

// sweep removes what writers left that were killed.
func sweep(dir string) error {
	parts, err := fs.Glob(os.DirFS(dir), atomicfile.Pattern)
	if err != nil {
		return err
	}
	for _, name := range parts {
		p := filepath.Join(dir, name)
		info, err := os.Lstat(p)
		if err != nil || time.Since(info.ModTime()) < partAge {
			continue
		}
		if err := os.Remove(p); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// makeOnce writes the file unless it exists.
func makeOnce(path string, content []byte) error {
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return atomicfile.Write(path, content)
}

func (d dirBlobs) path(digest string) string {
	return filepath.Join(d.dir, filepath.FromSlash(blobDir), strings.TrimPrefix(digest, digestPrefix))
}

func (d dirBlobs) Put(ctx context.Context, digest string, content []byte) error {
	if err := errors.Join(ctx.Err(), checkContent(digest, content)); err != nil {
		return blobError("put", digest, err)
	}
	if _, err := d.Get(ctx, digest); err == nil {
		return nil
	}
	if err := atomicfile.Write(d.path(digest), content); err != nil {
		return blobError("put", digest, err)
	}
	return nil
}

func (d dirBlobs) Get(ctx context.Context, digest string) ([]byte, error) {
	if err := errors.Join(ctx.Err(), checkDigest(digest)); err != nil {
		return nil, blobError("get", digest, err)
	}
	b, err := readBounded(d.path(digest))
	if errors.Is(err, fs.ErrNotExist) {
		err = ErrNotFound
	}
	if err == nil && digestOf(b) != digest {
		err = fmt.Errorf("%w: %s does not have the content it is named for; remove it and install again what needs it", ErrDamaged, d.path(digest))
	}
	if err != nil {
		return nil, blobError("get", digest, err)
	}
	return b, nil
}

func readBounded(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	b.Grow(int(min(max(info.Size(), 0), MaxBlob)) + bytes.MinRead) // all of it at once, and the end
	_, err = b.ReadFrom(io.LimitReader(f, MaxBlob+1))
	if b.Len() > MaxBlob {
		return nil, fmt.Errorf("%w: %s has more than %d bytes", ErrTooLarge, path, MaxBlob)
	}
	return b.Bytes(), err
}

func (d dirBlobs) Has(ctx context.Context, digest string) (bool, error) {
	if err := errors.Join(ctx.Err(), checkDigest(digest)); err != nil {
		return false, blobError("look for", digest, err)
	}
	_, err := os.Lstat(d.path(digest))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, blobError("look for", digest, err)
	}
	return true, nil
}

func (d dirBlobs) Delete(ctx context.Context, digest string) error {
	if err := errors.Join(ctx.Err(), checkDigest(digest)); err != nil {
		return blobError("delete", digest, err)
	}
	err := os.Remove(d.path(digest))
	if errors.Is(err, fs.ErrNotExist) {
		err = ErrNotFound
	}
	if err != nil {
		return blobError("delete", digest, err)
	}
	return nil
}

func (d dirBlobs) List(ctx context.Context) ([]string, error) {
	files, err := os.ReadDir(filepath.Join(d.dir, filepath.FromSlash(blobDir)))
	if err := errors.Join(ctx.Err(), err); err != nil {
		return nil, fmt.Errorf("list blobs %s: %w", d.dir, err)
	}
	var all []string
	for _, f := range files {
		if digest := digestPrefix + f.Name(); checkDigest(digest) == nil {
			all = append(all, digest)
		}
	}
	return all, nil
}
