package host

import (
	"context"

	"github.com/skillet-run/skillet/host/fetch/source"
	"github.com/skillet-run/skillet/host/fetch/source/transfer"
	"github.com/skillet-run/skillet/internal/duration"
)

// Sources gets and publishes packages as the settings of this home say: from
// and to registries, files and other places. Files that are installed already
// are not downloaded again.
func (h *Host) Sources() *source.Fetcher { return h.sources }

func (h *Host) wireSources() {
	s := h.Config.Settings()
	registries := make([]source.Registry, len(s.Registries))
	for i, r := range s.Registries {
		registries[i] = source.Registry{
			Name: r.Name, URL: r.URL, Names: r.Names, Mirrors: r.Mirrors, Redirects: r.Redirects, PlainHTTP: r.PlainHTTP,
		}
	}
	h.sources = source.New(h.Log.Named("source"), h.store.Blobs(), source.Settings{
		Registries: registries, Downloads: h.path("cache", "downloads"), Timeout: duration.OfSeconds(s.DownloadTimeoutSeconds),
		Client: transfer.Settings{UserAgent: "skillet"},
		Engine: func(ctx context.Context, name string) (map[string][]byte, error) {
			return h.scripts.Engine(ctx, name)
		},
	})
}
