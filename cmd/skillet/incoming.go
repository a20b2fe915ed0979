package main

import (
	"context"
	"iter"
	"runtime"

	"github.com/skillet-run/skillet/host"
	"github.com/skillet-run/skillet/manifests/bundle"
)

// An incoming is a package that may be installed.
type incoming struct {
	path string
	pkg  *bundle.Package
	err  error
}

// open is the package, or why there is none.
func (c incoming) open() (*bundle.Package, error) { return c.pkg, c.err }

// maxAhead is how many packages are read ahead at most: each is in memory whole.
const maxAhead = 4

// arrivals reads packages and has their modules compiled, a few at a time, and
// yields them in order. What is wrong with a module is left to say to who plans
// the installation.
func arrivals(ctx context.Context, h *host.Host, paths []string) iter.Seq[incoming] {
	return func(yield func(incoming) bool) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		ahead := make(chan struct{}, min(maxAhead, runtime.GOMAXPROCS(0)))
		ready := make([]chan incoming, len(paths))
		for i := range ready {
			ready[i] = make(chan incoming, 1)
		}
		go func() {
			for i, path := range paths {
				select {
				case ahead <- struct{}{}:
				case <-ctx.Done():
					return
				}
				go func() { ready[i] <- prepared(ctx, h, path, len(paths) > 1) }()
			}
		}()
		for i, path := range paths {
			c := incoming{path: path}
			select {
			case c = <-ready[i]:
			case <-ctx.Done():
				c.err = ctx.Err()
			}
			if !yield(c) || ctx.Err() != nil {
				return
			}
			<-ahead
		}
	}
}

// prepared reads a package; with compile it has its module compiled, so that the
// installation finds it done.
func prepared(ctx context.Context, h *host.Host, path string, compile bool) incoming {
	p, err := openPackage(path)
	if err == nil && compile && len(p.Manifest().Unsupported()) == 0 {
		_ = h.Runner.Check(ctx, p) // it says the same again, in its turn
	}
	return incoming{path, p, err}
}
