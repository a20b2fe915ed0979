package main

import (
	"context"
	"iter"
	"runtime"

	"github.com/skillet-run/skillet/host/fault"

	"github.com/skillet-run/skillet/host"
	sources "github.com/skillet-run/skillet/host/source"
	"github.com/skillet-run/skillet/manifests/bundle"
)

// An incoming is a package that may be installed.
type incoming struct {
	path string // as it was written: a path, an address or a name
	got  *sources.Fetched
	err  error
}

// open is the package, or why there is none.
func (c incoming) open() (*bundle.Package, error) {
	if c.err != nil {
		return nil, c.err
	}
	return c.got.Package, nil
}

// maxAhead is how many packages are read ahead at most: each is in memory whole.
const maxAhead = 4

// arrivals fetches packages and has their modules compiled, a few at a time, and
// yields them in order. What is wrong with a module is left to say to who plans
// the installation.
func (t *terminal) arrivals(ctx context.Context, h *host.Host, paths []string) iter.Seq[incoming] {
	return func(yield func(incoming) bool) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		ahead := make(chan struct{}, min(maxAhead, runtime.GOMAXPROCS(0)))
		ready := make([]chan incoming, len(paths))
		for i := range ready {
			ready[i] = make(chan incoming, 1)
		}
		progress := t.downloading(paths)
		go func() {
			for i, path := range paths {
				select {
				case ahead <- struct{}{}:
				case <-ctx.Done():
					return
				}
				go func() { ready[i] <- prepared(ctx, h, path, progress.of(i), len(paths) > 1) }()
			}
		}()
		for i, path := range paths {
			c := incoming{path: path}
			done := progress.show(i)
			select {
			case c = <-ready[i]:
			case <-ctx.Done():
				c.err = ctx.Err()
			}
			done()
			if !yield(c) || ctx.Err() != nil {
				return
			}
			<-ahead
		}
	}
}

// prepared fetches a package; with compile it has its module compiled, so that
// the installation finds it done.
func prepared(ctx context.Context, h *host.Host, path string, progress func(done, total int64), compile bool) incoming {
	got, err := fetchFrom(ctx, h, path, sources.Options{Progress: progress})
	if err == nil && compile && signedOrMade(got) && len(got.Package.Manifest().Unsupported()) == 0 {
		_ = h.Runner.Check(ctx, got.Package) // it says the same again, in its turn
	}
	return incoming{path, got, err}
}

// signedOrMade reports whether a package may well be accepted: what is not signed is
// not compiled before somebody accepted that.
func signedOrMade(got *sources.Fetched) bool { return got.MadeHere() || len(got.Signatures) > 0 }

func fetchFrom(ctx context.Context, h *host.Host, text string, o sources.Options) (*sources.Fetched, error) {
	r, err := sources.ParseArgument(text)
	if err != nil {
		return nil, err
	}
	got, err := h.Sources().Fetch(ctx, r, o)
	if e := fault.AsError(err); e != nil && r.Kind == sources.KindName && r.Constraint == "" && exists(text) {
		return nil, e.WithHint("there is a file of that name: to mean it, write ./%s", text)
	}
	return got, err
}

// fetch gets one package, and shows on a terminal how much of it came.
func (t *terminal) fetch(ctx context.Context, h *host.Host, text string, plain bool) (*sources.Fetched, error) {
	progress := t.downloading([]string{text})
	defer progress.show(0)()
	return fetchFrom(ctx, h, text, sources.Options{PlainHTTP: plain, Progress: progress.of(0)})
}
