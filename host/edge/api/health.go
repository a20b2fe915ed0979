package api

import (
	"context"
	"net/http"

	"github.com/skillet-run/skillet/host/app/govern"
)

// Health says how the service is.
type Health struct {
	Status  string `json:"status" enum:"ok" doc:"ok; a service that is not answers with a problem."`
	Version string `json:"version"`
}

func health(a *API) {
	well := Health{"ok", a.set.Version}
	add(a, route{method: http.MethodGet, path: "/v1/health/live", id: "live", tag: "health", summary: "Tells whether the process answers"},
		func(context.Context, govern.Pass, *struct{}) (Health, error) { return well, nil })
	add(a, route{method: http.MethodGet, path: "/v1/health/ready", id: "ready", tag: "health", paced: true, summary: "Tells whether calls can be made"},
		func(ctx context.Context, _ govern.Pass, _ *struct{}) (Health, error) {
			if err := a.ready(ctx); err != nil {
				p := a.problem(err)
				p.Status, p.Title = http.StatusServiceUnavailable, http.StatusText(http.StatusServiceUnavailable)
				return Health{}, p
			}
			return well, nil
		})
}
