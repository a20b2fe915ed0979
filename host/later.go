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
	"github.com/skillet-run/skillet/host/run/hostfn"
)

// Author works for authors of skills.
func (h *Host) Author() *author.Service {
	return author.New(h.log.Named("author"), author.Parts{
		Environ: h.options.Environ, Open: h.options.development,
		Dir:   func() (string, error) { return h.home, nil },
		There: func() bool { return true },
		Home:  func(context.Context) (author.Home, error) { return h.authored(), nil },
	})
}

// wireScripts makes what builds scripts. The runner and the sources ask it.
func (h *Host) wireScripts() {
	h.scripts = author.NewScripts(author.ScriptsParts{
		Log: h.log, Cache: h.modules, Apart: h.apart, Workers: h.workers,
		Skills: h.skills, Registry: h.registry, Engines: h.path("cache", "npm"),
	})
}

// authored is the home, as far as authors need it.
func (h *Host) authored() author.Home {
	return author.Home{
		CatchUp: h.CatchUp, Scripts: h.scripts, Invoke: h.invoke, Tester: h.tester, Installer: h.installer, Apart: h.apart,
		Sign: h.govern.Keys.Sign, Close: h.Close,
	}
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
	if err == nil {
		_, err = os.Lstat(filepath.Join(dir, hostfn.HomeMarker))
	}
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
