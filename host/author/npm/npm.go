// Package npm fetches packages of the npm registry that are pinned: by name,
// version and the SHA-512 of the archive. It refuses to know what versions there
// are, what a package depends on, and any script that it has: it hands out files.
package npm

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha512"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	"github.com/skillet-run/skillet/host/base/fault"

	"github.com/hashicorp/go-hclog"

	"github.com/skillet-run/skillet/host/base/store/atomicfile"
)

// DefaultRegistry is where packages are fetched from unless told otherwise.
const DefaultRegistry = "https://registry.npmjs.org"

// Bounds of an archive.
const (
	// MaxArchive is the largest archive that is fetched, in bytes.
	MaxArchive = 32 << 20
	// MaxFile is the largest file that is taken out of one, in bytes.
	MaxFile = 32 << 20
	// maxUnpacked is how much of an archive is unpacked to look for a file.
	maxUnpacked = 256 << 20
	timeout     = 2 * time.Minute
)

// Package is one version of a package, with the hash of its archive.
type Package struct {
	Name, Version string
	// Integrity is "sha512-" and the hash in base64, as lock files write it
	// (W3C Subresource Integrity).
	Integrity string
}

// String returns name@version.
func (p Package) String() string { return p.Name + "@" + p.Version }

// sum returns the hash of the archive.
func (p Package) sum() ([]byte, error) {
	text, ok := strings.CutPrefix(p.Integrity, "sha512-")
	sum, err := base64.StdEncoding.DecodeString(text)
	if !ok || err != nil || len(sum) != sha512.Size {
		return nil, fmt.Errorf("fetch %s: %q is not a SHA-512 in base64", p, p.Integrity)
	}
	return sum, nil
}

// Settings are where packages come from.
type Settings struct {
	// Registry is the URL of the registry; empty means [DefaultRegistry].
	Registry string
	// Dir is where archives are kept; empty keeps none.
	Dir string
	// Shared is npm's own cache directory, which is read and never written; empty
	// for none.
	Shared string
}

// FromEnvironment returns what npm itself would use, by the variables
// npm_config_registry and npm_config_cache and the home directory.
func FromEnvironment(getenv func(string) string, dir string) Settings {
	s := Settings{Registry: getenv("npm_config_registry"), Dir: dir, Shared: getenv("npm_config_cache")}
	if home := getenv("HOME"); s.Shared == "" && home != "" {
		s.Shared = filepath.Join(home, ".npm")
	}
	return s
}

// Fetcher fetches packages. It is safe for concurrent use.
type Fetcher struct {
	log      hclog.Logger
	settings Settings
	client   *http.Client
}

// New returns a fetcher.
func New(log hclog.Logger, s Settings) *Fetcher {
	if s.Registry == "" {
		s.Registry = DefaultRegistry
	}
	return &Fetcher{log: log, settings: s, client: &http.Client{Timeout: timeout}}
}

// File returns a file of a package by its path in the archive, such as
// "package/index.js". The archive is taken from where it is kept, or fetched; in
// either case its hash is checked first. Errors are [fault.Error]s: of
// [fault.KindNotFound] when the registry cannot be reached, and of
// [fault.KindVerification] for an archive that is not what was pinned.
func (f *Fetcher) File(ctx context.Context, p Package, name string) ([]byte, error) {
	archive, err := f.archive(ctx, p)
	if err != nil {
		return nil, err
	}
	b, err := extract(archive, name)
	if err != nil {
		return nil, fault.Wrap(fault.KindVerification, fmt.Errorf("read %s of %s: %w", name, p, err))
	}
	return b, nil
}

// archive returns the archive of a package, verified.
func (f *Fetcher) archive(ctx context.Context, p Package) ([]byte, error) {
	sum, err := p.sum()
	if err != nil {
		return nil, fault.Wrap(fault.KindInternal, err)
	}
	for _, file := range f.archiveFiles(sum) {
		b, err := os.ReadFile(file)
		if err == nil && matches(b, sum) {
			return b, nil
		}
		if err == nil {
			f.log.Warn("a kept archive is damaged, and fetched again", "package", p.String(), "file", file)
		}
	}
	b, err := f.fetch(ctx, p)
	if err != nil {
		return nil, err
	}
	if !matches(b, sum) {
		return nil, fault.Errorf(fault.KindVerification, "fetch %s: %s sent other bytes than were pinned (SHA-512)", p, f.settings.Registry).
			WithHint("point npm_config_registry at a registry that serves the package unchanged")
	}
	f.keep(p, sum, b)
	return b, nil
}

func matches(b, sum []byte) bool {
	got := sha512.Sum512(b)
	return bytes.Equal(got[:], sum)
}

// archiveFiles are the files where an archive may be: our own, and npm's, which names
// what it keeps by its hash.
func (f *Fetcher) archiveFiles(sum []byte) (files []string) {
	name := hex.EncodeToString(sum)
	if f.settings.Dir != "" {
		files = append(files, filepath.Join(f.settings.Dir, name+".tgz"))
	}
	if f.settings.Shared != "" {
		files = append(files, filepath.Join(f.settings.Shared, "_cacache", "content-v2", "sha512", name[:2], name[2:4], name[4:]))
	}
	return files
}

// keep writes an archive to our own directory. That it could not costs time the
// next time, and nothing else.
func (f *Fetcher) keep(p Package, sum, b []byte) {
	if f.settings.Dir == "" {
		return
	}
	err := os.MkdirAll(f.settings.Dir, 0o700)
	if err == nil {
		err = atomicfile.Write(filepath.Join(f.settings.Dir, hex.EncodeToString(sum)+".tgz"), b)
	}
	if err != nil {
		f.log.Warn("an archive was not kept", "package", p.String(), "error", err)
	}
}

// address is where a registry has the archive of a package.
func (f *Fetcher) address(p Package) (string, error) {
	base, err := url.Parse(f.settings.Registry)
	if err != nil || base.Host == "" || base.Scheme != "https" && base.Scheme != "http" {
		return "", fault.Errorf(fault.KindUsage, "fetch %s: the registry %q is not a web address", p, f.settings.Registry).
			WithHint("set npm_config_registry to one, or leave it unset for " + DefaultRegistry)
	}
	return base.JoinPath(p.Name, "-", path.Base(p.Name)+"-"+p.Version+".tgz").String(), nil
}

// fetch downloads an archive. Its bytes are not checked yet.
func (f *Fetcher) fetch(ctx context.Context, p Package) ([]byte, error) {
	address, err := f.address(p)
	if err != nil {
		return nil, err
	}
	f.log.Info("fetching a package", "package", p.String(), "from", address)
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, fault.Wrap(fault.KindUsage, err)
	}
	response, err := f.client.Do(request)
	if err != nil {
		return nil, unavailable(p, err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return nil, unavailable(p, fmt.Errorf("%s answers %s", address, response.Status))
	}
	b, err := io.ReadAll(io.LimitReader(response.Body, MaxArchive+1))
	if err != nil {
		return nil, unavailable(p, err)
	}
	if len(b) > MaxArchive {
		return nil, fault.Errorf(fault.KindVerification, "fetch %s: the archive is larger than %d MB", p, MaxArchive>>20)
	}
	return b, nil
}

func unavailable(p Package, err error) error {
	e := fault.Wrap(fault.KindNotFound, fmt.Errorf("fetch %s: %w", p, err)).
		WithHint("it is needed once, from the npm registry: set npm_config_registry to a mirror, or take it into npm's cache with: npm cache add %s", p)
	e.Class = fault.ClassTransient
	return e
}

var errNoFile = errors.New("the archive has no such file")

// extract returns one regular file of a gzipped tar archive.
func extract(archive []byte, name string) ([]byte, error) {
	z, err := gzip.NewReader(bytes.NewReader(archive))
	if err != nil {
		return nil, err
	}
	files := tar.NewReader(io.LimitReader(z, maxUnpacked))
	for {
		h, err := files.Next()
		if errors.Is(err, io.EOF) {
			return nil, errNoFile
		}
		if err != nil {
			return nil, err
		}
		if h.Typeflag != tar.TypeReg || h.Name != name {
			continue
		}
		if h.Size > MaxFile {
			return nil, fmt.Errorf("it has %d bytes, more than %d", h.Size, MaxFile)
		}
		return io.ReadAll(files)
	}
}
