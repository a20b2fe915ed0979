package closure

import (
	"context"
	"errors"

	"github.com/skillet-run/skillet/host/fetch/resolve"
	"github.com/skillet-run/skillet/host/record/registry"
	"github.com/skillet-run/skillet/manifests"
	"github.com/skillet-run/skillet/manifests/semver"
)

// Outdated says what of the home is not the newest: what updating everything
// would choose, and what is published.
func (c *Catalog) Outdated(ctx context.Context) ([]resolve.Update, error) {
	h, err := c.Home(ctx)
	if err != nil {
		return nil, err
	}
	far := c.reaching(true)
	fresh, err := resolve.Resolve(ctx, far, resolve.Request{Roots: h.roots, Prefer: h.Graph, RenewAll: true})
	var conflict *resolve.Conflict
	if errors.As(err, &conflict) {
		return nil, c.conflicting(conflict, Question{})
	}
	if err != nil {
		return nil, withKind(err)
	}
	published := map[string][]semver.Version{}
	for _, n := range h.Graph.Nodes {
		if published[n.Name], err = far.Versions(ctx, n.Name); err != nil {
			return nil, err
		}
	}
	return resolve.Outdated(h.Graph, fresh, published), nil
}

// Newest is the newest version of a skill at the place it came from, and the newest
// of those that a person asked for; empty where there is none.
func (c *Catalog) Newest(ctx context.Context, s registry.Skill) (newest, asked string, err error) {
	r, err := rangeOf(s.Asked)
	if err != nil {
		return "", "", err
	}
	items, err := c.published(ctx, s.Name)
	if err != nil {
		return "", "", err
	}
	for _, it := range items {
		v := it.version.String()
		if it.version.IsPrerelease() && !r.TakesPrereleases() {
			continue
		}
		if newest == "" || manifests.CompareVersions(v, newest) > 0 {
			newest = v
		}
		if r.Allows(it.version) && (asked == "" || manifests.CompareVersions(v, asked) > 0) {
			asked = v
		}
	}
	return newest, asked, nil
}
