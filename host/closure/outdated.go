package closure

import (
	"context"
	"errors"

	"github.com/skillet-run/skillet/host/resolve"
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
		return nil, c.conflicting(conflict)
	}
	if err != nil {
		return nil, told(err)
	}
	published := map[string][]semver.Version{}
	for _, n := range h.Graph.Nodes {
		if published[n.Name], err = far.Versions(ctx, n.Name); err != nil {
			return nil, err
		}
	}
	return resolve.Outdated(h.Graph, fresh, published), nil
}
