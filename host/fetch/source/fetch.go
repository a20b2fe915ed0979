package source

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"sync"

	"github.com/skillet-run/skillet/host/base/fault"
	"github.com/skillet-run/skillet/internal/openfile"

	"github.com/skillet-run/skillet/host/author/toolchain"
	"github.com/skillet-run/skillet/host/base/git"
	"github.com/skillet-run/skillet/host/fetch/adopt"
	"github.com/skillet-run/skillet/host/fetch/source/oci"
	"github.com/skillet-run/skillet/host/fetch/source/transfer"
	"github.com/skillet-run/skillet/manifests"
	"github.com/skillet-run/skillet/manifests/bundle"
	"github.com/skillet-run/skillet/manifests/signature"
)

// fetchPath reads a directory or a file.
func (f *Fetcher) fetchPath(ctx context.Context, r Ref, o Options) (*Fetched, error) {
	at, err := filepath.Abs(r.Path)
	if err != nil {
		return nil, err
	}
	info, err := os.Stat(r.Path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fault.Errorf(fault.KindNotFound, "%w", fs.ErrNotExist).WithHint("name a directory with a skill.json, or a .skill file")
	case err != nil:
		return nil, err
	case filepath.Ext(r.Path) == ".wasm":
		return nil, fault.Errorf(fault.KindUsage, "it is a module, not a package").
			WithHint("write a skill.json beside it and install the directory; %s runs it as it is", fault.Run(r.Path))
	case info.IsDir():
		if err := toolchain.Current(r.Path); err != nil {
			return nil, err
		}
		p, err := bundle.ReadDir(r.Path)
		return &Fetched{Package: p, Kind: KindDirectory, Source: at, Location: at}, unwrapped(err)
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%w: it is neither a directory nor a file", bundle.ErrUnsafe)
	case adopt.IsExtism(r.Path):
		return f.fetchPlugin(ctx, r, at, o)
	}
	b, err := readFile(r.Path, bundle.MaxArchiveBytes)
	if err != nil {
		return nil, err
	}
	got, err := ofArchive(b, KindFile, at)
	if err != nil {
		return nil, err
	}
	beside, err := readFile(r.Path+signature.Extension, signature.MaxBytes)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("read its signature: %w", err)
	}
	if err == nil {
		got.Signatures = [][]byte{beside}
	}
	got.Location = filepath.Dir(at)
	return got, nil
}

// fetchPlugin makes a package of an Extism manifest. It is like a directory: what
// it is made of is on this machine, and nobody signed it as a package.
func (f *Fetcher) fetchPlugin(ctx context.Context, r Ref, at string, o Options) (*Fetched, error) {
	p, err := adopt.Extism(ctx, r.Path, func(ctx context.Context, address string, digest manifests.Digest) ([]byte, error) {
		client, err := f.clientOfStranger(address)
		if err != nil {
			return nil, err
		}
		b, err := transfer.Downloads{}.Get(ctx, transfer.Blob{Digest: string(digest), Size: -1, Max: bundle.MaxFileBytes}, func(ctx context.Context, offset int64) (*http.Response, error) {
			return get(ctx, client, address, offset)
		}, counterOf(o.Progress))
		if errors.Is(err, transfer.ErrRedirect) {
			return nil, fault.Errorf(fault.KindDenied, "the module is at %s, which a manifest may not have fetched: %w", address, err).WithHint(byPath)
		}
		return b, err
	})
	if err != nil {
		return nil, err
	}
	return &Fetched{Package: p.Package, Kind: KindDirectory, Source: at, Location: at, Notes: p.Notes}, nil
}

// byPath is the way out where an address in a manifest is not fetched: whoever
// downloads it has looked at where it is.
const byPath = `download it if you trust that place, and write "path" instead of "url"`

// clientOfStranger is the client for an address that is not the word of a person
// but of a manifest: it could be that of a service on this machine, or in its
// network. Only public addresses are fetched, over HTTPS.
func (f *Fetcher) clientOfStranger(address string) (*http.Client, error) {
	u, err := parseAddress(address)
	switch {
	case err != nil:
		return nil, fault.Errorf(fault.KindUsage, "the address of the module is none that is fetched: %w", err).WithHint(byPath)
	case u.Scheme != "https":
		return nil, fault.Errorf(fault.KindDenied, "the module is at %s, and an address in a manifest needs https", address).WithHint(byPath)
	}
	return f.clientFor(transfer.Endpoint{Host: u.Host, Public: true}), nil
}

// counterOf tells how much came of something whose length is not known.
func counterOf(progress func(done, total int64)) func(n int64) {
	meter := counter(progress)
	return func(n int64) { meter(n, -1) }
}

// unwrapped leaves the path out of an error that names it twice.
func unwrapped(err error) error {
	if inner := errors.Unwrap(err); inner != nil {
		return inner
	}
	return err
}

// readFile reads a regular file of at most limit bytes.
func readFile(path string, limit int64) ([]byte, error) {
	b, err := openfile.ReadRegular(path, limit)
	switch {
	case errors.Is(err, openfile.ErrNotRegular):
		return nil, fmt.Errorf("%w: %w", bundle.ErrUnsafe, err)
	case errors.Is(err, openfile.ErrTooLarge):
		return nil, fmt.Errorf("%w: %s has more than %d bytes", bundle.ErrTooLarge, path, limit)
	}
	return b, err
}

// ofArchive reads the package in a .skill file.
func ofArchive(b []byte, k Kind, source string) (*Fetched, error) {
	p, err := bundle.ReadArchive(bytes.NewReader(b))
	if err != nil {
		return nil, err
	}
	return &Fetched{Package: p, Kind: k, Source: source, Artifact: manifests.DigestOf(b), Archive: b}, nil
}

// client is the client for an address.
func (f *Fetcher) client(text string, o Options) (*http.Client, error) {
	u, err := url.Parse(text)
	if err != nil {
		return nil, err
	}
	if u.Scheme == "http" && !transfer.Loopback(u.Host) && !o.PlainHTTP {
		return nil, fmt.Errorf("%w: http:// is not secure", transfer.ErrTransport)
	}
	return f.clientFor(transfer.Endpoint{Host: u.Host, PlainHTTP: u.Scheme == "http"}), nil
}

func (f *Fetcher) fetchURL(ctx context.Context, r Ref, o Options) (*Fetched, error) {
	client, err := f.client(r.URL, o)
	if err != nil {
		return nil, err
	}
	want := transfer.Blob{Digest: string(r.Digest), Size: -1, Max: bundle.MaxArchiveBytes}
	downloads := f.downloads()
	if r.Digest == "" { // without it nobody knows whether the rest belongs to the beginning
		downloads = transfer.Downloads{}
	}
	length, meter := int64(-1), counter(o.Progress)
	b, err := downloads.Get(ctx, want, func(ctx context.Context, offset int64) (*http.Response, error) {
		resp, err := get(ctx, client, r.URL, offset)
		if err == nil && resp.ContentLength >= 0 {
			length = offset + resp.ContentLength
		}
		return resp, err
	}, func(n int64) { meter(n, length) })
	if err != nil {
		return nil, err
	}
	r.Digest = manifests.DigestOf(b)
	got, err := ofArchive(b, KindURL, r.String())
	if err != nil {
		return nil, err
	}
	got.Location = r.Location()
	got.Signatures, err = besideURL(ctx, client, r.URL)
	return got, err
}

// counter adds up what comes.
func counter(progress func(done, total int64)) func(n, total int64) {
	var done int64
	return func(n, total int64) {
		if done += n; progress != nil {
			progress(done, total)
		}
	}
}

func get(ctx context.Context, client *http.Client, u string, offset int64) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u, nil)
	if err != nil {
		return nil, err
	}
	if offset > 0 {
		req.Header.Set("Range", fmt.Sprintf("bytes=%d-", offset))
	}
	return client.Do(req)
}

// besideURL gets the signature beside a file; none when the server has none, or
// shows none.
func besideURL(ctx context.Context, client *http.Client, u string) ([][]byte, error) {
	resp, err := get(ctx, client, address(u, signature.Extension), 0)
	if err != nil {
		return nil, fmt.Errorf("signature: %w", err)
	}
	defer resp.Body.Close()
	err = transfer.Status(resp)
	if errors.Is(err, transfer.ErrNotFound) || errors.Is(err, transfer.ErrUnauthorized) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("signature: %w", err)
	}
	b, err := transfer.Limited(resp.Body, signature.MaxBytes)
	if err != nil {
		return nil, fmt.Errorf("signature: %w", err)
	}
	return [][]byte{b}, nil
}

// gitLimits bound what is fetched of a git repository: packages are small, and
// the sources beside them are not large.
var gitLimits = git.Limits{Pack: 128 << 20, Objects: 200_000, Content: 512 << 20, Files: 50_000}

func (f *Fetcher) fetchGit(ctx context.Context, r Ref, o Options) (*Fetched, error) {
	client, err := f.client(r.URL, o)
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "skillet-git-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	strict := transfer.Strict(client, gitLimits.Pack+gitLimits.Pack/8)
	at, err := git.Fetch(ctx, strict, git.Wanted{URL: r.URL, Revision: r.Revision, Subdir: r.Subdir}, gitLimits, dir)
	if err != nil {
		return nil, gitError(ctx, err)
	}
	p, err := bundle.ReadDir(at.Dir)
	if err != nil {
		return nil, unwrapped(err)
	}
	r.Revision = at.Commit
	return &Fetched{Package: p, Kind: KindGit, Source: r.String(), Location: r.Location()}, nil
}

// gitError says an error of git in the words of [transfer].
func gitError(ctx context.Context, err error) error {
	if c := context.Cause(ctx); c != nil {
		return c
	}
	for _, m := range []struct{ is, means error }{
		{git.ErrNoRepository, transfer.ErrNotFound},
		{git.ErrNoRevision, transfer.ErrNotFound},
		{git.ErrTooLarge, transfer.ErrTooLarge},
		{git.ErrDamaged, transfer.ErrTampered},
	} {
		if errors.Is(err, m.is) {
			return fmt.Errorf("%w: %w", m.means, err)
		}
	}
	return transfer.Classify(err)
}

func (f *Fetcher) fetchLayout(ctx context.Context, r Ref, o Options) (*Fetched, error) {
	at, err := filepath.Abs(r.Path)
	if err != nil {
		return nil, err
	}
	r.Path = at
	l := oci.OpenLayout(at)
	reference, err := f.reference(ctx, r, func(ctx context.Context) ([]string, error) { return l.Tags(ctx) })
	if err != nil {
		return nil, err
	}
	got, err := pulled(ctx, l, reference, o)
	if err != nil {
		return nil, err
	}
	if got.Signatures, err = oci.Signatures(ctx, l, got.Artifact); err != nil {
		return nil, err
	}
	r.Tag, r.Digest = "", got.Artifact
	got.Kind, got.Source, got.Location = KindLayout, r.String(), r.Location()
	return got, nil
}

// pulled reads an artifact, and demands that a tag that is a version tells the
// truth.
func pulled(ctx context.Context, s oci.Store, reference string, o Options) (*Fetched, error) {
	p, err := oci.Pull(ctx, s, reference, serial(o.Progress))
	if err != nil {
		return nil, err
	}
	if v, ok := versionOf(reference); ok {
		if err := wanted(p.Package, "", v.Version); err != nil {
			return nil, err
		}
	}
	return &Fetched{Package: p.Package, Artifact: p.Digest}, nil
}

// serial calls a function one at a time.
func serial(progress func(done, total int64)) oci.Meter {
	if progress == nil {
		return nil
	}
	var mu sync.Mutex
	return func(done, total int64) {
		mu.Lock()
		defer mu.Unlock()
		progress(done, total)
	}
}

// fetchRegistry gets an artifact from the first spot of a site that has it.
func (f *Fetcher) fetchRegistry(ctx context.Context, s site, r Ref, o Options) (*Fetched, error) {
	reference, err := f.reference(ctx, r, func(ctx context.Context) ([]string, error) { return f.tags(ctx, s) })
	if err != nil {
		return nil, err
	}
	var got *Fetched
	at, err := f.each(ctx, s, func(repo *oci.Remote) (err error) {
		got, err = pulled(ctx, repo, reference, o)
		return err
	})
	if err != nil {
		return nil, err
	}
	if got.Signatures, err = f.signatures(ctx, s, at, got.Artifact); err != nil {
		return nil, err
	}
	r.Tag, r.Digest = "", got.Artifact
	got.Kind, got.Source, got.Location = KindRegistry, r.String(), r.Location()
	if at != (spot{s.host, s.repository}) {
		got.From = at.String()
	}
	return got, nil
}

// signatures are those that the spot has from which an artifact came; if it has
// none, those another spot has: mirrors often keep artifacts alone.
func (f *Fetcher) signatures(ctx context.Context, s site, at spot, about manifests.Digest) ([][]byte, error) {
	others := []spot{at}
	for _, o := range s.spots() {
		if o != at {
			others = append(others, o)
		}
	}
	for i, o := range others {
		found, err := f.signaturesAt(ctx, s, o, about)
		if i == 0 && err != nil {
			return nil, err
		}
		if len(found) > 0 {
			return found, nil
		}
	}
	return nil, nil
}

func (f *Fetcher) signaturesAt(ctx context.Context, s site, at spot, about manifests.Digest) ([][]byte, error) {
	repo, err := f.connect(s, at.host).Repository(at.repository)
	if err != nil {
		return nil, err
	}
	return oci.Signatures(ctx, repo, about)
}
