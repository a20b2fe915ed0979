// Package source says where packages come from, and gets them: directories,
// .skill files, HTTPS addresses, git repositories, OCI registries and layout
// folders, and short names that configured registries stand for. It also
// publishes packages.
//
// What it returns is a package that was checked whole, with the signatures that
// were found beside it. Whether those are good and whose they are, whether the
// package may be installed, and what it may do, is for others to say.
package source

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/skillet-run/skillet/host/base/fault"

	"github.com/hashicorp/go-hclog"

	"github.com/skillet-run/skillet/host/base/store"
	"github.com/skillet-run/skillet/host/fetch/catalog"
	"github.com/skillet-run/skillet/host/fetch/source/mcpskill"
	"github.com/skillet-run/skillet/host/fetch/source/oci"
	"github.com/skillet-run/skillet/host/fetch/source/transfer"
	"github.com/skillet-run/skillet/manifests"
	"github.com/skillet-run/skillet/manifests/bundle"
)

// A Registry is one that short names are looked for in.
type Registry struct {
	// Name is what people call it.
	Name string
	// URL is oci://HOST[:PORT][/PREFIX].
	URL string
	// Names are patterns of [path.Match] of the skills it serves; empty for
	// every skill that no other registry names.
	Names []string
	// Mirrors are URLs like the one above, asked before it, in order.
	Mirrors []string
	// Redirects are the HOST[:PORT]s it may redirect to, besides public ones.
	Redirects []string
	// PlainHTTP says that it and its mirrors have no TLS, or that nothing is said
	// without. If nil, a registry on this machine is asked whether it speaks TLS, and
	// any other is reached with TLS.
	PlainHTTP *bool
}

// Settings of a [Fetcher]. The zero value knows no registries.
type Settings struct {
	Registries []Registry
	// Downloads is the directory in which the beginnings of large downloads are
	// kept; empty to keep none.
	Downloads string
	// Timeout bounds one operation; 0 = 10 minutes.
	Timeout time.Duration
	Client  transfer.Settings
	// Engine makes the files of the package of an interpreter; nil makes none.
	Engine func(ctx context.Context, name string) (map[string][]byte, error)
	// Catalog has the packages that come with the program; nil for none.
	Catalog *catalog.Catalog
}

const defaultTimeout = 10 * time.Minute

// A Fetcher gets and publishes packages. It is safe for concurrent use.
type Fetcher struct {
	log         hclog.Logger
	blobs       store.Blobs
	settings    Settings
	credentials *oci.Credentials

	mu      sync.Mutex
	clients map[string]*http.Client // by place: connections are used again
	secure  map[string]bool         // whether a HOST[:PORT] of this machine speaks TLS
}

// New makes a Fetcher. blobs are files this machine has already, which are not
// downloaded again; nil for none.
func New(log hclog.Logger, blobs store.Blobs, s Settings) *Fetcher {
	if s.Timeout <= 0 {
		s.Timeout = defaultTimeout
	}
	return &Fetcher{log: log, blobs: blobs, settings: s, credentials: &oci.Credentials{}, clients: map[string]*http.Client{}, secure: map[string]bool{}}
}

// Options of one operation. The zero value is fine.
type Options struct {
	// PlainHTTP allows this one place to be reached without TLS.
	PlainHTTP bool
	// Progress is told how many bytes of how many came; total is -1 when nobody
	// knows. It is called by several goroutines, one at a time. nil for none.
	Progress func(done, total int64)
}

// Fetched is a package with all that is known about where it comes from.
type Fetched struct {
	Package *bundle.Package
	Kind    Kind
	// Source is what gives the same bytes again: [Parse] reads it, and it names
	// digests and commits where there are such.
	Source string
	// Location is the source without what says which version.
	Location string
	// From is where the bytes really came from, when that is not the source: a
	// mirror, or the address behind the registry of a short name. It is empty
	// otherwise.
	From string
	// Version is the version of the package.
	Version string
	// Artifact is what signatures are about: the digest of the OCI manifest, or
	// of the .skill file; empty for a directory and for git.
	Artifact manifests.Digest
	// Archive is the .skill file as it was read, for signatures that need it;
	// nil for other kinds.
	Archive []byte
	// Signatures are the Sigstore bundles that were found. Nobody has verified
	// them.
	Signatures [][]byte
	// Listed is true when the catalog of this program lists these bytes, wherever they
	// came from: whoever made the program vouches for them.
	Listed bool
	// Notes say what a person should know of a package that was made of something
	// else: what of that is not honoured.
	Notes []string
}

// MadeHere reports whether it was made on this machine, by whoever names it or by
// this program: such packages are not signed.
func (g *Fetched) MadeHere() bool { return g.Kind == KindDirectory || g.Kind == KindEngine }

// Fetch gets the package that a reference means. Errors name the place and what
// was wanted, and wrap one of this package's, of [transfer]'s, of [oci]'s or of
// [bundle]'s, or [manifests.Errors]. All but the last, and those of the file
// system, are [fault.Error]s.
func (f *Fetcher) Fetch(ctx context.Context, r Ref, o Options) (*Fetched, error) {
	ctx, cancel := f.bounded(ctx)
	defer cancel()
	got, err := f.fetch(ctx, r, o)
	if err != nil {
		verb := "fetch "
		if r.Kind == KindDirectory || r.Kind == KindFile {
			verb = "open package "
		}
		return nil, f.explain(verb+r.String(), r, err)
	}
	got.Version, got.Listed = got.Package.Manifest().Version, f.settings.Catalog.Lists(got.Artifact)
	return got, nil
}

func (f *Fetcher) fetch(ctx context.Context, r Ref, o Options) (*Fetched, error) {
	switch r.Kind {
	case KindDirectory, KindFile:
		return f.fetchPath(ctx, r, o)
	case KindURL:
		return f.fetchURL(ctx, r, o)
	case KindGit:
		return f.fetchGit(ctx, r, o)
	case KindMCP:
		return f.fetchMCP(ctx, r, o)
	case KindLayout:
		return f.fetchLayout(ctx, r, o)
	case KindRegistry:
		return f.fetchRegistry(ctx, f.site(r, o), r, o)
	case KindName:
		return f.fetchName(ctx, r, o)
	case KindEngine:
		return f.fetchEngine(ctx, r)
	case KindBuiltin:
		return f.fetchBuiltin(r)
	}
	return nil, fmt.Errorf("%w: a reference of the kind %q", ErrRef, r.Kind)
}

// errDeadline is why an operation that takes too long ends.
var errDeadline = fmt.Errorf("%w: it took longer than is allowed in all", transfer.ErrTimeout)

func (f *Fetcher) bounded(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, f.settings.Timeout, errDeadline)
}

// explain says what an error means for who asked.
func (f *Fetcher) explain(what string, r Ref, err error) error {
	if errors.Is(err, context.Canceled) {
		return fmt.Errorf("%s: %w", what, err)
	}
	if known := (*fault.Error)(nil); errors.As(err, &known) {
		return fmt.Errorf("%s: %w", what, err)
	}
	if r.Kind == KindDirectory && errors.Is(err, bundle.ErrNoModule) {
		return Unbuilt(r.Path, fmt.Errorf("%s: %w", what, err))
	}
	if r.Kind == KindGit && errors.Is(err, bundle.ErrNoModule) {
		return fault.Wrap(fault.KindUsage, fmt.Errorf("%s: %w", what, err)).Hinted(buildClone(r))
	}
	for _, m := range []struct {
		is   error
		kind fault.Kind
		hint fault.Hint
	}{
		{ErrRef, fault.KindUsage, fault.Hintf("it may be a directory, a .skill file, NAME@VERSION, https://, git+https://, mcp+https://, oci:// or oci-layout:")},
		{ErrNoRegistry, fault.KindUsage, f.noRegistry(r.Name)},
		{catalog.ErrNotListed, fault.KindNotFound, fault.Hintf("%s lists what comes with this program", fault.Search(""))},
		{ErrNoVersion, fault.KindNotFound, fault.Hintf("%s shows the versions that are published", fault.Search("NAME"))},
		{ErrMismatch, fault.KindVerification, fault.Hintf("the server sends something other than it announces: tell whoever runs it, or use another source")},
		{mcpskill.ErrNoSkills, fault.KindUsage, fault.Hintf("it may have tools, which are something else; ask whoever runs it for another address")},
		{mcpskill.ErrAmbiguous, fault.KindUsage, fault.Hintf("name the one you mean by its address: mcp+%s#skill://...", r.URL)},
		{oci.ErrNotSkill, fault.KindUsage, fault.Hintf("it is not a skill; %s publishes skills", fault.Publish())},
		{oci.ErrMalformed, fault.KindVerification, fault.Hintf("tell whoever published it: %s makes artifacts that are accepted", fault.Publish())},
		{oci.ErrExists, fault.KindConflict, fault.Hintf("give the package another version, or say %s to have these bytes instead", fault.SetField(fault.FieldReplace))},
		{bundle.ErrNoManifest, fault.KindUsage, fault.Hintf("a package has a skill.json, skill.yaml or SKILL.md; of a git repository, name the directory with it: #REVISION:DIR")},
		{bundle.ErrTooLarge, fault.KindVerification, fault.Hintf("it is larger than any package this host accepts")},
		{bundle.ErrUnsafe, fault.KindVerification, fault.Hintf("get the package from its author again, packed by %s", fault.Pack())},
		{bundle.ErrDamaged, fault.KindVerification, fault.Hintf("it is not a package, or was damaged on its way: get it again")},
		{bundle.ErrNoModule, fault.KindUsage, fault.Hintf("it was packed without its module: who packs it runs %s first, and then %s", fault.Build(""), fault.Pack())},
	} {
		if errors.Is(err, m.is) {
			return fault.Wrap(m.kind, fmt.Errorf("%s: %w", what, err)).Hinted(m.hint)
		}
	}
	if r.Kind == KindMCP && errors.Is(err, transfer.ErrProtocol) {
		return fault.Wrap(fault.KindVerification, fmt.Errorf("%s: %w", what, err)).WithHint("it may be no server of skills, or one that does not keep to the protocol: tell whoever runs it")
	}
	explained := transfer.Explain(what, err)
	host := r.Host
	if r.Kind == KindMCP {
		host = "mcp+" + r.URL
	}
	if e := (*fault.Error)(nil); errors.Is(err, transfer.ErrUnauthorized) && host != "" && errors.As(explained, &e) {
		return e.WithHint("%s stores credentials for it; what others may not see is often answered like that, too", fault.LogIn(host))
	}
	return explained
}

// buildClone says how to get the module of a skill whose repository has its source alone.
func buildClone(r Ref) fault.Hint {
	clone := strings.TrimSuffix(path.Base(strings.TrimSuffix(r.URL, "/.git")), ".git")
	dir := "./" + path.Join(clone, r.Subdir)
	revision := ""
	if r.Revision != "" {
		revision = "check out " + r.Revision + ", "
	}
	return fault.Hintf("the repository has its source: `git clone %s %s`, "+revision+"then %s and %s", r.URL, clone, fault.Build(dir), fault.Install(dir))
}

// ErrMismatch means that a place serves another skill, or another version, than
// it was asked for.
var ErrMismatch = errors.New("another package than was asked for")

// wanted demands that a package is the one that was asked for. Empty texts ask
// for nothing.
func wanted(p *bundle.Package, name, version string) error {
	m := p.Manifest()
	if name != "" && m.Name != name || version != "" && m.Version != version {
		return fmt.Errorf("%w: it is %s@%s, and should be %s", ErrMismatch, m.Name, m.Version, strings.TrimPrefix(name+"@"+version, "@"))
	}
	return nil
}

// A site is a repository, and its mirrors.
type site struct {
	registry Registry
	// host and repository are the canonical ones.
	host, repository string
	// plain is as in [Registry].
	plain *bool
}

// plainly is how a registry is reached.
func (o Options) plainly(reg Registry) *bool {
	if o.PlainHTTP {
		return &o.PlainHTTP
	}
	return reg.PlainHTTP
}

// site is where an address of a registry leads: the settings of a registry with
// that host hold for it, mirrors for what is below its prefix.
func (f *Fetcher) site(r Ref, o Options) site {
	s := site{host: r.Host, repository: r.Repository, plain: o.plainly(Registry{})}
	for _, reg := range f.settings.Registries {
		host, prefix := split(reg.URL)
		below := prefix == "" || strings.HasPrefix(r.Repository, prefix+"/")
		if host != r.Host || s.registry.Name != "" && !below {
			continue
		}
		s.registry, s.plain = reg, o.plainly(reg)
		if !below {
			s.registry.Mirrors = nil
			continue
		}
		break
	}
	return s
}

// split takes the URL of a registry apart.
func split(u string) (host, prefix string) {
	host, prefix, _ = strings.Cut(strings.TrimPrefix(u, "oci://"), "/")
	return host, strings.Trim(prefix, "/")
}

// A spot is one address at which a repository is.
type spot struct{ host, repository string }

func (s spot) String() string { return "oci://" + s.host + "/" + s.repository }

// spots are the mirrors of a site, and itself.
func (s site) spots() []spot {
	own := spot{s.host, s.repository}
	_, prefix := split(s.registry.URL)
	rest := strings.TrimPrefix(strings.TrimPrefix(s.repository, prefix), "/")
	var all []spot
	for _, m := range s.registry.Mirrors {
		host, at := split(m)
		all = append(all, spot{host, path.Join(at, rest)})
	}
	return append(all, own)
}

// connect is how a spot of a site is reached.
func (f *Fetcher) connect(s site, host string) oci.Connection {
	p := transfer.Endpoint{Host: dialled(host), PlainHTTP: f.plain(s, host), Redirects: s.registry.Redirects}
	c := oci.Connection{
		Endpoint: p, Client: f.clientFor(p), Credentials: f.credentials,
		Downloads: f.downloads(),
	}
	if f.blobs != nil {
		c.Known = f.blobs.Get
	}
	return c
}

// plain reports whether a spot of a site is reached without TLS. A registry on this
// machine often has none; which it is, is asked once, before anything is sent to it.
func (f *Fetcher) plain(s site, host string) bool {
	switch {
	case s.plain != nil:
		return *s.plain
	case !transfer.Loopback(host):
		return false
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	secure, known := f.secure[host]
	if !known {
		secure = transfer.SpeaksTLS(host)
		f.secure[host] = secure
	}
	return !secure
}

// maxClients is how many places connections are kept to.
const maxClients = 32

// clientFor is the client for a place, the same each time.
func (f *Fetcher) clientFor(p transfer.Endpoint) *http.Client {
	key := fmt.Sprint(p)
	f.mu.Lock()
	defer f.mu.Unlock()
	if c, ok := f.clients[key]; ok {
		return c
	}
	if len(f.clients) >= maxClients {
		for k, c := range f.clients {
			c.CloseIdleConnections()
			delete(f.clients, k)
		}
	}
	c := transfer.NewClient(f.settings.Client, p)
	f.clients[key] = c
	return c
}

// dialled is the host that requests for a registry are sent to: Docker Hub has
// another for its name.
func dialled(host string) string {
	if host == "docker.io" {
		return "registry-1.docker.io"
	}
	return host
}

func (f *Fetcher) downloads() transfer.Downloads {
	if f.settings.Downloads == "" {
		return transfer.Downloads{}
	}
	return transfer.NewDownloads(f.settings.Downloads)
}

// each tries the spots of a site in order until do has an answer, and says
// which one had it.
func (f *Fetcher) each(ctx context.Context, s site, do func(*oci.Remote) error) (spot, error) {
	var failed []error
	all := s.spots()
	for _, at := range all {
		repo, err := f.connect(s, at.host).Repository(at.repository)
		if err == nil {
			err = do(repo)
		}
		if err == nil {
			return at, nil
		}
		if ctx.Err() != nil {
			return at, context.Cause(ctx)
		}
		if len(all) > 1 {
			f.log.Warn("a mirror or registry has no answer", "at", at.String(), "error", err)
			err = fmt.Errorf("%s: %w", at, err)
		}
		failed = append(failed, err)
	}
	return spot{}, worst(failed)
}

// worst is the error of a site, when none of its spots had an answer: that of
// the registry itself unless it is not to be reached; and all are told.
func worst(failed []error) error {
	own := failed[len(failed)-1]
	if len(failed) == 1 {
		return own
	}
	texts := make([]string, 0, len(failed))
	for _, err := range slices.Backward(failed) {
		texts = append(texts, err.Error())
	}
	return &joined{strings.Join(texts, "; "), own}
}

// joined is an error with the text of several, and the meaning of one.
type joined struct {
	text string
	is   error
}

func (j *joined) Error() string { return j.text }
func (j *joined) Unwrap() error { return j.is }

// address is the URL of a file with its name extended, before the query.
func address(u, extension string) string {
	parsed, err := url.Parse(u)
	if err != nil {
		return u + extension
	}
	parsed.Path += extension
	if parsed.RawPath != "" {
		parsed.RawPath += extension
	}
	return parsed.String()
}
