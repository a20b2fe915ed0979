package host

import (
	"context"

	"github.com/skillet-run/skillet/host/closure"
	"github.com/skillet-run/skillet/host/script"
)

// Catalog is what versions of skills can be chosen from: what is installed, and
// what the sources of this home publish.
func (h *Host) Catalog(ctx context.Context, s closure.Settings) (*closure.Catalog, error) {
	s.Engines = script.Names()
	return closure.NewCatalog(ctx, h.Log.Named("closure"), h.Registry, h.Sources(), s)
}
