package host

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/hashicorp/go-hclog"

	"github.com/skillet-run/skillet/host/app/author"
	"github.com/skillet-run/skillet/host/record/approval"
	"github.com/skillet-run/skillet/host/run/hostfn"
	"github.com/skillet-run/skillet/manifests"
	"github.com/skillet-run/skillet/manifests/bundle"
	"github.com/skillet-run/skillet/manifests/signature"
)

// Author works for authors of skills.
func (h *Host) Author() *author.Service {
	return author.New(h.Log.Named("author"), author.Parts{
		Environ: h.options.Environ, Open: h.options.development,
		Dir:   func() (string, error) { return h.Home, nil },
		There: func() bool { return true },
		Home:  func(context.Context) (author.Home, error) { return h.authored(), nil },
	})
}

// wireScripts makes what builds scripts. The runner and the sources ask it.
func (h *Host) wireScripts() {
	h.scripts = author.NewScripts(author.ScriptsParts{
		Log: h.Log, Shelf: h.shelf, Apart: h.apart, Workers: h.workers,
		Skills: h.skills, Registry: h.Registry, Engines: h.path("cache", "npm"),
	})
}

// authored is the home, as far as authors need it.
func (h *Host) authored() author.Home {
	return author.Home{
		CatchUp: h.CatchUp, Scripts: h.scripts, Invoke: h.invoke, Tester: h.Tester, Installer: h.Installer, Apart: h.apart,
		Sign: h.signPackage, Close: h.Close,
	}
}

// signPackage signs a package in the form of artifact, and in any other.
func (h *Host) signPackage(ctx context.Context, by approval.Human, p *bundle.Package, artifact manifests.Digest) (author.Signature, error) {
	key, made, err := h.govern.Keys.Ensure(ctx, by)
	if err != nil {
		return author.Signature{}, err
	}
	m := p.Manifest()
	b, err := key.Sign(
		signature.Subject{Name: m.Name, Digest: artifact},
		signature.Subject{Name: m.Name + "@" + m.Version, Digest: p.Digest()},
	)
	return author.Signature{Bundle: b, Signer: key.Identity(), Made: made}, err
}

// development opens the home in which a skill is developed.
func (o Options) development(ctx context.Context, dir string, debug bool) (author.Home, error) {
	const level = "SKILLET_LOG_LEVEL="
	said := slices.ContainsFunc(o.Environ, func(v string) bool { return strings.HasPrefix(v, level) && v != level })
	if debug && !said {
		o.Environ = append(slices.Clone(o.Environ), level+"debug")
	}
	o.Home = dir
	h, err := Open(ctx, o)
	if err != nil {
		return author.Home{}, err
	}
	return h.authored(), nil
}

// A Later is a home that is opened when something first needs it: much of what authors do
// needs none. It is safe for concurrent use. Close it when done.
type Later struct {
	options Options
	find    func() (string, error)

	mu   sync.Mutex
	host *Host
}

// OpenLater opens the home that find finds, when it is needed. The Home of the options is
// not looked at.
func OpenLater(o Options, find func() (string, error)) *Later { return &Later{options: o, find: find} }

// Author works for authors of skills.
func (l *Later) Author() *author.Service {
	return author.New(hclog.New(&hclog.LoggerOptions{Output: l.options.LogOutput, Level: hclog.Warn}), author.Parts{
		Environ: l.options.Environ, Open: l.options.development, Dir: l.find, There: l.there,
		Home: func(ctx context.Context) (author.Home, error) {
			h, err := l.open(ctx)
			if err != nil {
				return author.Home{}, err
			}
			return h.authored(), nil
		},
	})
}

// there reports whether a home is there. A directory is one when it is marked.
func (l *Later) there() bool {
	dir, err := l.find()
	if err != nil {
		return false
	}
	_, err = os.Lstat(filepath.Join(dir, hostfn.HomeMarker))
	return err == nil
}

func (l *Later) open(ctx context.Context) (*Host, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.host != nil {
		return l.host, nil
	}
	o := l.options
	var err error
	if o.Home, err = l.find(); err != nil {
		return nil, err
	}
	l.host, err = Open(ctx, o)
	return l.host, err
}

// Close closes the home, if it was opened.
func (l *Later) Close(ctx context.Context) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.host == nil {
		return nil
	}
	h := l.host
	l.host = nil
	return h.Close(context.WithoutCancel(ctx))
}
