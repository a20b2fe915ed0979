package oci

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/opencontainers/go-digest"
	"github.com/opencontainers/image-spec/specs-go"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/skillet-run/skillet/host/fetch/source/transfer"
	"github.com/skillet-run/skillet/manifests"
)

var (
	// ErrOtherType: an artifact of another type than the document that is
	// wanted.
	ErrOtherType = errors.New("an artifact of another type")
	// ErrNotDocument: an artifact that says it is the document, and cannot be.
	ErrNotDocument = errors.New("malformed artifact of a document")
)

// A DocumentType is a sort of documents that are artifacts of their own: an
// image manifest with one layer, which is the document. The artifact, its
// config, which is an empty object, and the layer have the same type.
type DocumentType struct {
	MediaType string
	// MaxBytes is the largest document that is accepted.
	MaxBytes int64
}

// documentConfig is the config of every document: there is nothing to say.
const documentConfig = "{}"

// PackDocument makes the artifact of a document. name is that of the file it is
// saved to by clients that know nothing of it.
func PackDocument(kind DocumentType, name string, content []byte) (*Artifact, error) {
	a := &Artifact{kind: kind.MediaType, document: content, config: []byte(documentConfig)}
	layer := described(kind.MediaType, content)
	layer.Annotations = map[string]string{ocispec.AnnotationTitle: name}
	var err error
	a.manifest, err = json.Marshal(ocispec.Manifest{
		Versioned: specs.Versioned{SchemaVersion: 2}, MediaType: ocispec.MediaTypeImageManifest, ArtifactType: kind.MediaType,
		Config: described(kind.MediaType, a.config), Layers: []ocispec.Descriptor{layer},
	})
	if err != nil {
		return nil, fmt.Errorf("pack %s: %w", name, err)
	}
	l, err := ParseDocument(a.manifest, kind)
	if err != nil {
		return nil, fmt.Errorf("pack %s: %w", name, err)
	}
	l.Path = name
	a.parsed = Manifest{Config: Layer{Digest: manifests.DigestOf(a.config), Size: int64(len(a.config))}, Layers: []Layer{l}}
	a.Digest = manifests.DigestOf(a.manifest)
	return a, nil
}

func described(mediaType string, b []byte) ocispec.Descriptor {
	return ocispec.Descriptor{MediaType: mediaType, Digest: digest.FromBytes(b), Size: int64(len(b))}
}

// ParseDocument reads the manifest of a document, and returns its layer. The
// error wraps [ErrOtherType], [ErrNotDocument] or [transfer.ErrTooLarge].
func ParseDocument(b []byte, kind DocumentType) (Layer, error) {
	om, is, err := imageManifest(b, ErrOtherType)
	switch {
	case err != nil:
		return Layer{}, err
	case is != kind.MediaType:
		return Layer{}, fmt.Errorf("%w: its type is %.200q, and should be %q", ErrOtherType, is, kind.MediaType)
	case !plainImage(om, kind.MediaType):
		return Layer{}, fmt.Errorf("%w: its manifest is not an image manifest of version 2 with a config of that type", ErrNotDocument)
	case len(om.Layers) != 1 || om.Layers[0].MediaType != kind.MediaType:
		return Layer{}, fmt.Errorf("%w: want one layer of the type %s", ErrNotDocument, kind.MediaType)
	}
	d, err := manifests.ParseDigest(string(om.Layers[0].Digest))
	size := om.Layers[0].Size
	switch {
	case err != nil:
		return Layer{}, fmt.Errorf("%w: its layer: %w", ErrNotDocument, err)
	case size < 0:
		return Layer{}, fmt.Errorf("%w: the size of its layer is %d", ErrNotDocument, size)
	case size > kind.MaxBytes:
		return Layer{}, fmt.Errorf("%w: it has %d bytes, at most %d are accepted", transfer.ErrTooLarge, size, kind.MaxBytes)
	}
	return Layer{Digest: d, Size: size}, nil
}

// PullDocument reads the document that a tag or a digest stands for, and returns
// it with the digest of the artifact's manifest. Errors are those of
// [ParseDocument] and of [transfer].
func PullDocument(ctx context.Context, s Store, reference string, kind DocumentType) ([]byte, manifests.Digest, error) {
	b, err := promised(ctx, s, reference)
	if err != nil {
		return nil, "", err
	}
	l, err := ParseDocument(b, kind)
	if err != nil {
		return nil, "", err
	}
	content, err := s.blob(ctx, l, nil)
	return content, manifests.DigestOf(b), err
}
