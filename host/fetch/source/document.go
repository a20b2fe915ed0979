package source

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"

	"github.com/skillet-run/skillet/host/base/fault"

	"github.com/skillet-run/skillet/host/fetch/source/oci"
	"github.com/skillet-run/skillet/host/fetch/source/transfer"
	"github.com/skillet-run/skillet/manifests"
)

// A DocumentType is a sort of documents, and how large they may be.
type DocumentType = oci.DocumentType

// A Document is a text that is published by itself, not in a package, with the
// signatures that were found beside it.
type Document struct {
	Content []byte
	// Signatures are Sigstore bundles about the content, not about the artifact.
	// Nobody has verified them.
	Signatures [][]byte
	// Source is what gives the same bytes again.
	Source string
	// From is where the bytes really came from, when that is a mirror; empty
	// otherwise.
	From string
}

// Document gets a document from a registry, a layout folder or an address;
// without a tag, the one under the tag latest. Its errors are like those of
// [Fetcher.Fetch]; that of an artifact of another type wraps [oci.ErrOtherType].
func (f *Fetcher) Document(ctx context.Context, r Ref, want DocumentType, o Options) (Document, error) {
	ctx, cancel := f.bounded(ctx)
	defer cancel()
	d, err := f.document(ctx, r, want, o)
	if err != nil {
		return Document{}, f.explainDocument("fetch "+r.String(), r, err)
	}
	return d, nil
}

func (f *Fetcher) document(ctx context.Context, r Ref, want DocumentType, o Options) (Document, error) {
	switch r.Kind {
	case KindURL:
		return f.documentURL(ctx, r, want, o)
	case KindLayout:
		return documentLayout(ctx, r, want)
	case KindRegistry:
		return f.documentRegistry(ctx, r, want, o)
	}
	return Document{}, fmt.Errorf("%w: a document is not fetched from a %s", ErrRef, r.Kind)
}

func (f *Fetcher) documentURL(ctx context.Context, r Ref, want DocumentType, o Options) (Document, error) {
	client, err := f.client(r.URL, o)
	if err != nil {
		return Document{}, err
	}
	blob := transfer.Blob{Digest: string(r.Digest), Size: -1, Max: want.MaxBytes}
	b, err := transfer.Downloads{}.Get(ctx, blob, func(ctx context.Context, offset int64) (*http.Response, error) {
		return get(ctx, client, r.URL, offset)
	}, nil)
	if err != nil {
		return Document{}, err
	}
	r.Digest = manifests.DigestOf(b)
	signatures, err := besideURL(ctx, client, r.URL)
	return Document{Content: b, Signatures: signatures, Source: r.String()}, err
}

// tagged is the tag or digest under which a document is looked for.
func tagged(r Ref) string {
	switch {
	case r.Digest != "":
		return string(r.Digest)
	case r.Tag != "":
		return r.Tag
	}
	return latest
}

func documentLayout(ctx context.Context, r Ref, want DocumentType) (Document, error) {
	at, err := filepath.Abs(r.Path)
	if err != nil {
		return Document{}, err
	}
	l := oci.OpenLayout(at)
	b, artifact, err := oci.PullDocument(ctx, l, tagged(r), want)
	if err != nil {
		return Document{}, err
	}
	signatures, err := oci.Signatures(ctx, l, artifact)
	r.Path, r.Tag, r.Digest = at, "", artifact
	return Document{Content: b, Signatures: signatures, Source: r.String()}, err
}

func (f *Fetcher) documentRegistry(ctx context.Context, r Ref, want DocumentType, o Options) (Document, error) {
	var d Document
	s := f.site(r, o)
	var artifact manifests.Digest
	at, err := f.each(ctx, s, func(repo *oci.Remote) (err error) {
		d.Content, artifact, err = oci.PullDocument(ctx, repo, tagged(r), want)
		return err
	})
	if err != nil {
		return Document{}, err
	}
	if d.Signatures, err = f.signatures(ctx, s, at, artifact); err != nil {
		return Document{}, err
	}
	r.Tag, r.Digest = "", artifact
	d.Source = r.String()
	if at != (spot{s.host, s.repository}) {
		d.From = at.String()
	}
	return d, nil
}

// PushDocument publishes a document, as a file of that name, to a registry or a
// layout folder under a tag that never changes and under the tag latest, which
// it gets last. When the tag stands for something else already, the error wraps
// [oci.ErrExists].
func (f *Fetcher) PushDocument(ctx context.Context, to Ref, kind DocumentType, name, tag string, d Document, o Options) (Pushed, error) {
	ctx, cancel := f.bounded(ctx)
	defer cancel()
	done, err := f.pushDocument(ctx, to, kind, name, tag, d, o)
	if err != nil {
		return Pushed{}, f.explainDocument("publish to "+to.String(), to, err)
	}
	return done, nil
}

func (f *Fetcher) pushDocument(ctx context.Context, to Ref, kind DocumentType, name, tag string, d Document, o Options) (Pushed, error) {
	if err := TakesDocuments(to); err != nil {
		return Pushed{}, err
	}
	a, err := oci.PackDocument(kind, name, d.Content)
	if err != nil {
		return Pushed{}, err
	}
	s, err := f.destination(to, o)
	if err != nil {
		return Pushed{}, err
	}
	done := Pushed{Artifact: a.Digest, Tags: []string{tag, latest}, Signed: len(d.Signatures) > 0}
	if err := oci.Push(ctx, s, a, d.Signatures, done.Tags, false, nil); err != nil {
		return Pushed{}, err
	}
	to.Tag = tag
	done.Ref = to.String()
	to.Tag, to.Digest = "", a.Digest
	done.Source = to.String()
	return done, nil
}

// TakesDocuments reports why no document can be published to a place: it has to
// be a repository or a layout folder, without a tag. The error wraps [ErrRef].
func TakesDocuments(to Ref) error {
	switch {
	case to.Kind != KindRegistry && to.Kind != KindLayout:
		return fault.Wrap(fault.KindUsage, fmt.Errorf("%w: nothing can be published to a %s", ErrRef, to.Kind)).WithHint("name oci://HOST/REPO or oci-layout:DIR")
	case to.Tag != "" || to.Digest != "":
		return fault.Wrap(fault.KindUsage, fmt.Errorf("%w: the tags come of what is published", ErrRef)).WithHint("leave out what follows the repository")
	}
	return nil
}

// explainDocument is [Fetcher.explain] for what is different with documents.
func (f *Fetcher) explainDocument(what string, r Ref, err error) error {
	for _, m := range []struct {
		is   error
		kind fault.Kind
		hint string
	}{
		{oci.ErrOtherType, fault.KindUsage, "it is something else than what is wanted here: check the repository and the tag"},
		{oci.ErrNotDocument, fault.KindVerification, "tell whoever published it"},
		{oci.ErrExists, fault.KindConflict, "somebody else publishes there, or this home is older than what it published: name another repository, or publish again, under the next number"},
		{transfer.ErrTooLarge, fault.KindVerification, "it is larger than this host accepts: tell whoever publishes it"},
	} {
		if known := (*fault.Error)(nil); errors.Is(err, m.is) && !errors.As(err, &known) {
			return fault.Wrap(m.kind, fmt.Errorf("%s: %w", what, err)).WithHint("%s", m.hint)
		}
	}
	return f.explain(what, r, err)
}
