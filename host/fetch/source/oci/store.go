package oci

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/skillet-run/skillet/host/fetch/source/transfer"
	"github.com/skillet-run/skillet/manifests"
	"github.com/skillet-run/skillet/manifests/bundle"
)

// ErrExists means that a tag stands for other bytes already.
var ErrExists = errors.New("there already, with other bytes")

// A Store keeps artifacts: a [Remote] or a [Layout].
type Store interface {
	// manifest returns the bytes a tag or digest stands for.
	manifest(ctx context.Context, reference string) ([]byte, error)
	// blob returns bytes that have the digest and size of l.
	blob(ctx context.Context, l Layer, progress transfer.Progress) ([]byte, error)
	// referrers returns the manifests of the signatures of an artifact.
	referrers(ctx context.Context, about manifests.Digest) ([]manifests.Digest, error)
	// put stores an artifact and its signatures, and tags it last.
	put(ctx context.Context, a *Artifact, signatures [][]byte, tags []string, progress transfer.Progress) error
	// Tags returns the tags, in no order, at most [MaxTags].
	Tags(ctx context.Context) ([]string, error)
}

// Pulled is an artifact that was read, and is what its digest promises.
type Pulled struct {
	Package *bundle.Package
	Digest  manifests.Digest // of the manifest
	Config  Config
}

// A Meter is told how much of an artifact came: bytes of bytes.
type Meter func(done, total int64)

// Pull reads the artifact that a tag or a digest stands for. The error wraps
// one of this package's, of [transfer]'s or of [bundle]'s.
func Pull(ctx context.Context, s Store, reference string, meter Meter) (Pulled, error) {
	b, m, err := head(ctx, s, reference)
	if err != nil {
		return Pulled{}, err
	}
	c, err := config(ctx, s, m)
	if err != nil {
		return Pulled{}, err
	}
	files, err := fetchAll(ctx, s, m, meter)
	if err != nil {
		return Pulled{}, err
	}
	p, err := assemble(c, m, files)
	return Pulled{p, manifests.DigestOf(b), c}, err
}

// config reads the config of an artifact.
func config(ctx context.Context, s Store, m Manifest) (Config, error) {
	b, err := s.blob(ctx, m.Config, nil)
	if err != nil {
		return Config{}, fmt.Errorf("config: %w", err)
	}
	return ParseConfig(b)
}

// Claims reads what an artifact says of its package, without the package: the
// digest of its manifest, and its config. Nobody has compared that with the files.
func Claims(ctx context.Context, s Store, reference string) (manifests.Digest, Config, error) {
	b, m, err := head(ctx, s, reference)
	if err != nil {
		return "", Config{}, err
	}
	c, err := config(ctx, s, m)
	return manifests.DigestOf(b), c, err
}

// head reads the manifest of the package that a tag or digest stands for.
func head(ctx context.Context, s Store, reference string) ([]byte, Manifest, error) {
	b, err := promised(ctx, s, reference)
	if err != nil {
		return nil, Manifest{}, err
	}
	m, err := ParseManifest(b)
	return b, m, err
}

// promised are the bytes of the manifest that a tag or digest stands for.
func promised(ctx context.Context, s Store, reference string) ([]byte, error) {
	b, err := s.manifest(ctx, reference)
	if err != nil {
		return nil, err
	}
	if want, err := manifests.ParseDigest(reference); err == nil && want != manifests.DigestOf(b) {
		return nil, fmt.Errorf("%w: the manifest has the digest %s, and should have %s", transfer.ErrTampered, manifests.DigestOf(b), want)
	}
	return b, nil
}

// Summary is what can be said of an artifact without its files.
type Summary struct {
	Digest      manifests.Digest
	Version     string
	Description string
}

// Describe reads the manifest of an artifact alone.
func Describe(ctx context.Context, s Store, reference string) (Summary, error) {
	b, m, err := head(ctx, s, reference)
	return Summary{manifests.DigestOf(b), m.Annotations["org.opencontainers.image.version"], m.Annotations["org.opencontainers.image.description"]}, err
}

// parallel is how many blobs of one artifact are fetched at once.
const parallel = 4

// fetchAll reads the files of a manifest; what several of them share is read
// once.
func fetchAll(ctx context.Context, s Store, m Manifest, meter Meter) (map[string][]byte, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	paths := map[manifests.Digest][]string{}
	var wanted []Layer
	for _, l := range m.Layers {
		if paths[l.Digest] == nil {
			wanted = append(wanted, l)
		}
		paths[l.Digest] = append(paths[l.Digest], l.Path)
	}
	f := fetcher{store: s, files: make(map[string][]byte, len(m.Layers)), meter: meter, total: total(wanted)}
	queue := make(chan Layer)
	var workers sync.WaitGroup
	for range min(parallel, len(wanted)) {
		workers.Go(func() {
			for l := range queue {
				if err := f.fetch(ctx, l, paths[l.Digest]); err != nil {
					cancel(err)
				}
			}
		})
	}
	for _, l := range wanted {
		if ctx.Err() != nil {
			break
		}
		queue <- l
	}
	close(queue)
	workers.Wait()
	return f.files, context.Cause(ctx)
}

func total(ls []Layer) int64 { return Manifest{Layers: ls}.Total() }

// A fetcher collects files.
type fetcher struct {
	store Store
	meter Meter
	total int64

	mu    sync.Mutex
	files map[string][]byte
	done  int64
}

func (f *fetcher) fetch(ctx context.Context, l Layer, paths []string) error {
	b, err := f.store.blob(ctx, l, f.came)
	if err != nil {
		return fmt.Errorf("file %q: %w", l.Path, err)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, p := range paths {
		f.files[p] = b
	}
	return nil
}

func (f *fetcher) came(n int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.done += n
	if f.meter != nil {
		f.meter(min(f.done, f.total), f.total)
	}
}

// Signatures reads the signatures that are attached to an artifact: Sigstore
// bundles, as they are. Nobody has looked whether they are good.
func Signatures(ctx context.Context, s Store, about manifests.Digest) ([][]byte, error) {
	found, err := s.referrers(ctx, about)
	if err != nil {
		return nil, fmt.Errorf("signatures: %w", err)
	}
	if len(found) > MaxBundles {
		return nil, fmt.Errorf("signatures: %w: there are %d, at most %d are accepted", transfer.ErrTooLarge, len(found), MaxBundles)
	}
	var all [][]byte
	for _, d := range found {
		bs, err := signedBy(ctx, s, d, about)
		if err != nil {
			return nil, fmt.Errorf("signature %s: %w", d.Short(), err)
		}
		all = append(all, bs...)
	}
	return all, nil
}

// signedBy reads the bundles of one referrer; none when it is about something
// else.
func signedBy(ctx context.Context, s Store, d, about manifests.Digest) ([][]byte, error) {
	b, err := s.manifest(ctx, string(d))
	if err != nil {
		return nil, err
	}
	if have := manifests.DigestOf(b); have != d {
		return nil, fmt.Errorf("%w: its manifest has the digest %s", transfer.ErrTampered, have)
	}
	subject, layers, err := ParseReferrer(b)
	if err != nil || subject != about {
		return nil, err
	}
	var bundles [][]byte
	for _, l := range layers {
		content, err := s.blob(ctx, l, nil)
		if err != nil {
			return nil, err
		}
		bundles = append(bundles, content)
	}
	return bundles, nil
}

// Push stores an artifact with its signatures under tags. A tag that stands for
// another artifact is left alone, and the error wraps [ErrExists], unless
// replace is set. What is stored appears under its tags last.
func Push(ctx context.Context, s Store, a *Artifact, signatures [][]byte, tags []string, replace bool, meter Meter) error {
	if !replace && len(tags) > 0 {
		if err := unused(ctx, s, tags[0], a.Digest); err != nil {
			return err
		}
	}
	f := fetcher{meter: meter, total: a.parsed.Total() + int64(len(a.config))}
	return s.put(ctx, a, signatures, tags, f.came)
}

func unused(ctx context.Context, s Store, tag string, want manifests.Digest) error {
	b, err := s.manifest(ctx, tag)
	switch {
	case errors.Is(err, transfer.ErrNotFound):
		return nil
	case err != nil:
		return err
	case manifests.DigestOf(b) != want:
		return fmt.Errorf("%w: %s is %s", ErrExists, tag, manifests.DigestOf(b))
	}
	return nil
}
