package oci

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"oras.land/oras-go/v2/errdef"
	"oras.land/oras-go/v2/registry"
	"oras.land/oras-go/v2/registry/remote"
	"oras.land/oras-go/v2/registry/remote/auth"
	"oras.land/oras-go/v2/registry/remote/errcode"

	"github.com/skillet-run/skillet/host/fetch/source/transfer"
	"github.com/skillet-run/skillet/manifests"
)

// A Remote is one repository of a registry, spoken to as the OCI distribution
// specification 1.1 says. It is safe for concurrent use.
type Remote struct {
	repo      *remote.Repository
	client    *auth.Client
	scheme    string
	downloads transfer.Downloads
	known     Known
}

// Known returns content this machine has already, by digest, or an error.
type Known func(ctx context.Context, digest string) ([]byte, error)

// Connection is how the repositories of one registry are reached.
type Connection struct {
	Endpoint transfer.Endpoint
	// Client comes from [transfer.NewClient] for that place.
	Client      *http.Client
	Credentials *Credentials
	Downloads   transfer.Downloads
	// Known is asked before a file is downloaded; nil knows nothing.
	Known Known
}

func (c Connection) auth() *auth.Client {
	return &auth.Client{Client: c.Client, Cache: auth.NewCache(), Credential: c.Credentials.find}
}

// Repository is a repository at the place of the connection. The error wraps
// [transfer.ErrNotFound] for a name no repository can have.
func (c Connection) Repository(name string) (*Remote, error) {
	ref := registry.Reference{Registry: c.Endpoint.Host, Repository: name}
	if err := errors.Join(ref.ValidateRegistry(), ref.ValidateRepository()); err != nil {
		return nil, fmt.Errorf("%w: %w", transfer.ErrNotFound, err)
	}
	r := &Remote{client: c.auth(), scheme: c.Endpoint.Scheme(), downloads: c.Downloads, known: c.Known}
	r.repo = &remote.Repository{
		Client: bounded{r.client}, Reference: ref, PlainHTTP: r.scheme == "http",
		TagListMaxPages: maxPages, ReferrerListMaxPages: maxPages, MaxMetadataBytes: maxListBytes + 1, SkipReferrersGC: true,
	}
	return r, nil
}

// bounded is a client for lists. The library cuts a list that is too long, and what is left
// of it looks like a broken connection; here it fails with [transfer.ErrTooLarge].
type bounded struct{ *auth.Client }

// Do sends a request.
func (b bounded) Do(req *http.Request) (*http.Response, error) {
	resp, err := b.Client.Do(req)
	if err == nil {
		resp.Body = &boundedBody{resp.Body, maxListBytes}
	}
	return resp, err
}

type boundedBody struct {
	io.ReadCloser
	left int64
}

func (b *boundedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if b.left -= int64(n); b.left < 0 {
		return 0, fmt.Errorf("%w: a list of more than %d bytes", transfer.ErrTooLarge, maxListBytes)
	}
	return n, err
}

// get asks for a part of the repository.
func (r *Remote) get(ctx context.Context, part string, offset int64, accept ...string) (*http.Response, error) {
	ctx = auth.AppendRepositoryScope(ctx, r.repo.Reference, auth.ActionPull)
	url := fmt.Sprintf("%s://%s/v2/%s/%s", r.scheme, r.repo.Reference.Host(), r.repo.Reference.Repository, part)
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	for _, a := range accept {
		req.Header.Add("Accept", a)
	}
	if offset > 0 {
		req.Header.Set("Range", fmt.Sprintf("bytes=%d-", offset))
	}
	resp, err := r.client.Do(req)
	if err != nil {
		return nil, translate(err)
	}
	return resp, nil
}

func (r *Remote) manifest(ctx context.Context, reference string) ([]byte, error) {
	resp, err := r.get(ctx, "manifests/"+reference, 0, ocispec.MediaTypeImageManifest, ocispec.MediaTypeImageIndex, dockerManifest, dockerList)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	if err := transfer.Status(resp); err != nil {
		return nil, err
	}
	b, err := transfer.Limited(resp.Body, MaxManifestBytes)
	if err != nil {
		return nil, fmt.Errorf("manifest: %w", err)
	}
	// A header of registries that is older than their specification.
	if said := resp.Header.Get("Docker-Content-Digest"); said != "" && said != string(manifests.DigestOf(b)) {
		return nil, fmt.Errorf("%w: the manifest has the digest %s, and the registry says %s", transfer.ErrTampered, manifests.DigestOf(b), said)
	}
	return b, nil
}

// Container images are asked for as well, so that the answer is what they are
// instead of "not found".
const (
	dockerManifest = "application/vnd.docker.distribution.manifest.v2+json"
	dockerList     = "application/vnd.docker.distribution.manifest.list.v2+json"
)

func (r *Remote) blob(ctx context.Context, l Layer, progress transfer.Progress) ([]byte, error) {
	if r.known != nil {
		if b, err := r.known(ctx, string(l.Digest)); err == nil && l.Digest.Verify(b) == nil {
			_, _ = progress.Write(b)
			return b, nil
		}
	}
	return r.downloads.Get(ctx, transfer.Blob{Digest: string(l.Digest), Size: l.Size}, func(ctx context.Context, offset int64) (*http.Response, error) {
		return r.get(ctx, "blobs/"+string(l.Digest), offset)
	}, progress)
}

// maySign reports whether what refers to an artifact may be a signature. Some
// registries say the type of its config for its own.
func maySign(d ocispec.Descriptor) bool {
	return d.ArtifactType == BundleType || d.ArtifactType == "" || d.ArtifactType == ocispec.MediaTypeEmptyJSON
}

// errEnough ends a list that is long enough.
var errEnough = errors.New("enough")

func (r *Remote) referrers(ctx context.Context, about manifests.Digest) ([]manifests.Digest, error) {
	var found []manifests.Digest
	desc := ocispec.Descriptor{MediaType: ocispec.MediaTypeImageManifest, Digest: digest.Digest(about)}
	err := r.repo.Referrers(ctx, desc, "", func(page []ocispec.Descriptor) error {
		for _, d := range page {
			if dg, err := manifests.ParseDigest(string(d.Digest)); err == nil && maySign(d) {
				found = append(found, dg)
			}
		}
		if len(found) > MaxBundles {
			return errEnough
		}
		return nil
	})
	if err != nil && !errors.Is(err, errEnough) {
		return nil, translate(err)
	}
	return found, nil
}

// Tags lists the tags of the repository.
func (r *Remote) Tags(ctx context.Context) ([]string, error) {
	var all []string
	err := r.repo.Tags(ctx, "", func(page []string) error {
		if all = append(all, page...); len(all) > MaxTags {
			return fmt.Errorf("%w: more than %d tags", transfer.ErrTooLarge, MaxTags)
		}
		return nil
	})
	if err != nil {
		return nil, translate(err)
	}
	return all, nil
}

func (r *Remote) put(ctx context.Context, a *Artifact, signatures [][]byte, tags []string, progress transfer.Progress) error {
	if err := pushAll(ctx, r.repo, a, signatures, progress); err != nil {
		return translate(err)
	}
	for _, tag := range tags {
		if err := r.repo.PushReference(ctx, a.descriptor(), bytes.NewReader(a.manifest), tag); err != nil {
			return translate(err)
		}
	}
	return nil
}

// Repositories lists the repositories of the registry, where it has a catalog.
func (c Connection) Repositories(ctx context.Context) ([]string, error) {
	reg := remote.Registry{RepositoryOptions: remote.RepositoryOptions{
		Reference: registry.Reference{Registry: c.Endpoint.Host}, Client: bounded{c.auth()}, PlainHTTP: c.Endpoint.Scheme() == "http", MaxMetadataBytes: maxListBytes + 1,
	}}
	var all []string
	err := reg.Repositories(ctx, "", func(page []string) error {
		if all = append(all, page...); len(all) > MaxTags {
			return errEnough
		}
		return nil
	})
	if err != nil && !errors.Is(err, errEnough) {
		return nil, translate(err)
	}
	return all, nil
}

// translate says an error of the registry client in the words of [transfer].
func translate(err error) error {
	var answer *errcode.ErrorResponse
	switch {
	case err == nil:
		return nil
	case errors.As(err, &answer):
		e := transfer.Status(&http.Response{StatusCode: answer.StatusCode, Status: fmt.Sprintf("%d %s", answer.StatusCode, http.StatusText(answer.StatusCode))})
		if len(answer.Errors) > 0 {
			return fmt.Errorf("%w (%.200s)", e, answer.Errors[0].Message)
		}
		return e
	case errors.Is(err, errdef.ErrNotFound):
		return fmt.Errorf("%w: %w", transfer.ErrNotFound, err)
	case errors.Is(err, auth.ErrBasicCredentialNotFound):
		return fmt.Errorf("%w: it asks for a name and a password", transfer.ErrUnauthorized)
	case errors.Is(err, errdef.ErrSizeExceedsLimit):
		return fmt.Errorf("%w: %w", transfer.ErrTooLarge, err)
	}
	if err = transfer.Classify(err); known(err) {
		return err
	}
	return fmt.Errorf("%w: %w", transfer.ErrProtocol, err)
}

// known reports whether an error says what it means already.
func known(err error) bool {
	for _, is := range []error{
		context.Canceled, transfer.ErrNotFound, transfer.ErrUnauthorized, transfer.ErrUnreachable, transfer.ErrTimeout,
		transfer.ErrTooLarge, transfer.ErrTampered, transfer.ErrRedirect, transfer.ErrTransport, transfer.ErrProtocol,
	} {
		if errors.Is(err, is) {
			return true
		}
	}
	return false
}
