package source

import (
	"context"
	"net/url"
	"sync"

	"github.com/skillet-run/skillet/host/fetch/source/transfer"
)

// Asked are the places that did not answer in one run of something that asks for many
// packages: they are not asked again in it. The zero value knows of none. It is safe for
// concurrent use.
type Asked struct {
	mu     sync.Mutex
	silent map[string]error // by HOST[:PORT]
}

type askedKey struct{}

// In returns a context in which a [Fetcher] asks no place that did not answer, and says of
// it what it said the first time.
func (a *Asked) In(ctx context.Context) context.Context {
	return context.WithValue(ctx, askedKey{}, a)
}

// askedIn is what was asked in a context; nil when that is not remembered.
func askedIn(ctx context.Context) *Asked {
	a, _ := ctx.Value(askedKey{}).(*Asked)
	return a
}

// error is that of a place that did not answer; nil for others.
func (a *Asked) error(host string) error {
	if a == nil {
		return nil
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.silent[host]
}

// note remembers that a place did not answer.
func (a *Asked) note(host string, err error) {
	if a == nil {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.silent == nil {
		a.silent = map[string]error{}
	}
	a.silent[host] = err
}

// ask asks a place, unless it did not answer before.
func ask(ctx context.Context, host string, do func() error) error {
	a := askedIn(ctx)
	if err := a.error(host); err != nil {
		return err
	}
	err := do()
	if err != nil && ctx.Err() == nil && transfer.Silent(err) {
		a.note(host, err)
	}
	return err
}

// fetchFrom gets a package from the host of an address, unless that did not answer before.
func (f *Fetcher) fetchFrom(ctx context.Context, r Ref, o Options, fetch func(context.Context, Ref, Options) (*Fetched, error)) (got *Fetched, err error) {
	u, err := url.Parse(r.URL)
	if err != nil {
		return nil, err
	}
	err = ask(ctx, u.Host, func() error {
		got, err = fetch(ctx, r, o)
		return err
	})
	return got, err
}
