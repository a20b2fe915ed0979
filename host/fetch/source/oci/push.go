package oci

import (
	"bytes"
	"context"
	"fmt"
	"io"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/skillet-run/skillet/host/fetch/source/transfer"
)

// target is where blobs and manifests are stored.
type target interface {
	Exists(ctx context.Context, d ocispec.Descriptor) (bool, error)
	Push(ctx context.Context, d ocispec.Descriptor, content io.Reader) error
}

// pushAll stores the blobs of an artifact, then its manifest, then its
// signatures: what refers to something comes after it.
func pushAll(ctx context.Context, to target, a *Artifact, signatures [][]byte, progress transfer.Progress) error {
	blobs := append([]Layer{{Digest: a.parsed.Config.Digest, Size: a.parsed.Config.Size}}, a.parsed.Layers...)
	for _, l := range blobs {
		b, err := a.read(l)
		if err != nil {
			return err
		}
		if err := pushOne(ctx, to, ocispec.Descriptor{MediaType: FileType, Digest: digest.Digest(l.Digest), Size: l.Size}, b); err != nil {
			return err
		}
		_, _ = progress.Write(b)
	}
	if err := pushOne(ctx, to, a.descriptor(), a.manifest); err != nil {
		return fmt.Errorf("manifest: %w", err)
	}
	for _, s := range signatures {
		if err := pushSignature(ctx, to, a, s); err != nil {
			return fmt.Errorf("signature: %w", err)
		}
	}
	return nil
}

// read is the content of a blob of the artifact.
func (a *Artifact) read(l Layer) ([]byte, error) {
	switch {
	case l.Path == "":
		return a.config, nil
	case a.pkg == nil:
		return a.document, nil
	}
	return a.pkg.Read(l.Path)
}

// pushOne stores bytes unless they are there.
func pushOne(ctx context.Context, to target, d ocispec.Descriptor, b []byte) error {
	if there, err := to.Exists(ctx, d); err == nil && there {
		return nil
	}
	return to.Push(ctx, d, bytes.NewReader(b))
}

func pushSignature(ctx context.Context, to target, a *Artifact, signature []byte) error {
	m, err := referrer(a, signature)
	if err != nil {
		return err
	}
	for _, blob := range []struct {
		kind    string
		content []byte
	}{{ocispec.MediaTypeEmptyJSON, ocispec.DescriptorEmptyJSON.Data}, {BundleType, signature}, {ocispec.MediaTypeImageManifest, m}} {
		d := ocispec.Descriptor{MediaType: blob.kind, Digest: digest.FromBytes(blob.content), Size: int64(len(blob.content))}
		if err := pushOne(ctx, to, d, blob.content); err != nil {
			return err
		}
	}
	return nil
}
