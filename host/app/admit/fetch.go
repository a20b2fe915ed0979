package admit

import (
	"context"
	"os"
	"runtime"

	"github.com/skillet-run/skillet/host/base/fault"
	"github.com/skillet-run/skillet/host/fetch/source"
	"github.com/skillet-run/skillet/host/record/approval"
	"github.com/skillet-run/skillet/manifests/bundle"
)

// Fetch says what is to be fetched.
type Fetch struct {
	// Names are paths, names or addresses of packages.
	Names []string
	// Progress makes what is told how many bytes of how many came of name i; total is
	// -1 when nobody knows. Nil is for nobody.
	Progress func(i int) func(done, total int64)
	// PlainHTTP allows their places to be reached without TLS.
	PlainHTTP bool
}

// A Batch are packages that were named together. They are fetched and their modules
// compiled, a few at a time, ahead of who asks for them. Close it.
type Batch struct {
	s      *Service
	f      Fetch
	next   int
	ahead  chan struct{}
	ready  []chan *Arrival
	cancel context.CancelFunc
	closed <-chan struct{}
	// named is what the names mean, once that was needed.
	named  []*Arrival
	looked bool
}

// An Arrival is a package that was fetched, or why it was not.
type Arrival struct {
	// Name is how it was named.
	Name string

	got   *source.Fetched
	made  bool // by this program, see [Service.Propose]
	err   error
	batch *Batch
}

// Err says why there is no package; nil when there is one.
func (a *Arrival) Err() error { return a.err }

// Package is what was fetched; nil when nothing was.
func (a *Arrival) Package() *bundle.Package {
	if a.err != nil {
		return nil
	}
	return a.got.Package
}

// maxAhead is how many packages are read ahead at most: each is in memory whole.
const maxAhead = 4

// Fetch begins to fetch packages.
func (s *Service) Fetch(ctx context.Context, by approval.Principal, f Fetch) (*Batch, error) {
	if err := approval.CheckPrincipal(by); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	b := &Batch{s: s, f: f, ahead: make(chan struct{}, min(maxAhead, runtime.GOMAXPROCS(0))), ready: make([]chan *Arrival, len(f.Names)), cancel: cancel, closed: ctx.Done()}
	for i := range b.ready {
		b.ready[i] = make(chan *Arrival, 1)
	}
	go b.run(ctx)
	return b, nil
}

func (b *Batch) run(ctx context.Context) {
	for i := range b.f.Names {
		select {
		case b.ahead <- struct{}{}:
		case <-ctx.Done():
			return
		}
		go func() { b.ready[i] <- b.fetch(ctx, i) }()
	}
}

// fetch gets one of several packages, and has its module compiled, so that its plan
// finds it done. What is wrong with a module is left to say to who plans.
func (b *Batch) fetch(ctx context.Context, i int) *Arrival {
	var progress func(done, total int64)
	if b.f.Progress != nil {
		progress = b.f.Progress(i)
	}
	a := b.s.arrive(ctx, b.f.Names[i], progress, b.f.PlainHTTP)
	a.batch = b
	if a.err == nil && len(b.f.Names) > 1 && signedOrMade(a.got) && len(a.got.Package.Manifest().Unsupported()) == 0 {
		_ = b.s.parts.Runner.Check(ctx, a.got.Package) // it says the same again, in its turn
	}
	return a
}

// Next waits for the next package, in the order of the names. It is nil after the last
// one. What was returned before is taken to be dealt with: others are fetched then.
func (b *Batch) Next(ctx context.Context) *Arrival {
	if b.next > 0 {
		select {
		case <-b.ahead:
		default:
		}
	}
	if b.next == len(b.f.Names) || ctx.Err() != nil {
		return nil
	}
	a := &Arrival{Name: b.f.Names[b.next], batch: b}
	select {
	case a = <-b.ready[b.next]:
	case <-b.closed:
		a.err = context.Canceled
	case <-ctx.Done():
		a.err = ctx.Err()
	}
	b.next++
	return a
}

// Close ends what is being fetched.
func (b *Batch) Close() { b.cancel() }

// others are all packages that were named together, a as it is. What is wrong with one
// of them is said when it is its turn.
func (b *Batch) others(ctx context.Context, a *Arrival) []*Arrival {
	switch {
	case b == nil:
		return nil
	case b.looked:
		return b.named
	}
	b.looked = true
	for _, name := range b.f.Names {
		o := a
		if name != a.Name {
			o = b.s.arrive(ctx, name, nil, b.f.PlainHTTP)
		}
		if o.err == nil {
			b.named = append(b.named, o)
		}
	}
	return b.named
}

// signedOrMade reports whether a package may well be accepted: what is not signed is
// not compiled before somebody accepted that.
func signedOrMade(got *source.Fetched) bool {
	return got.MadeHere() || got.Listed || len(got.Signatures) > 0
}

// arrive fetches one package.
func (s *Service) arrive(ctx context.Context, name string, progress func(done, total int64), plainHTTP bool) *Arrival {
	a := &Arrival{Name: name}
	r, err := source.ParseArgument(name)
	if err != nil {
		a.err = err
		return a
	}
	a.got, a.err = s.parts.Sources.Fetch(ctx, r, source.Options{Progress: progress, PlainHTTP: plainHTTP})
	if e := fault.AsError(a.err); e != nil && (e.Kind == fault.KindUsage || e.Kind == fault.KindNotFound) && r.Kind == source.KindName && r.Constraint == "" && exists(name) {
		a.err = e.WithHint("there is a file of that name: to mean it, write ./%s", name)
	}
	return a
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}
