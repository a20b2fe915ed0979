package api

import (
	"context"
	"net/http"
	"time"

	"github.com/skillet-run/skillet/host/app/govern"
	"github.com/skillet-run/skillet/host/app/work"
)

type since struct {
	Since time.Time `query:"since" doc:"What happened since this time, only."`
}

// Figures are of what ran.
type Figures struct {
	Skills []work.SkillStats `json:"skills" nullable:"false"`
	Events work.EventStats   `json:"events"`
	Queue  work.QueueStats   `json:"queue"`
}

func figures(a *API) {
	add(a, route{method: http.MethodGet, path: "/v1/stats", id: "stats", tag: "stats", summary: "Shows figures of what ran", rights: needs(govern.RightRead)},
		func(ctx context.Context, p govern.Pass, in *since) (f Figures, err error) {
			u := a.s.Work.Usage()
			if f.Skills, err = u.Skills(ctx, p.By(), in.Since); err != nil {
				return f, err
			}
			if f.Events, err = u.Events(ctx, p.By(), in.Since); err != nil {
				return f, err
			}
			f.Queue, err = u.Queue(ctx, p.By())
			return f, err
		})
	add(a, route{method: http.MethodGet, path: "/v1/agents", id: "list-agents", tag: "agents", summary: "Lists the agents that tasks can be given to", rights: needs(govern.RightFind)},
		func(ctx context.Context, p govern.Pass, in *Window) (Page[work.AgentEntry], error) {
			all, err := a.s.Work.Agents().List(ctx, p.By())
			return page(*in, all, err)
		})
	add(a, route{method: http.MethodGet, path: "/v1/providers", id: "list-providers", tag: "providers", summary: "Lists the models of all providers, and which of them do not answer", rights: needs(govern.RightRead)},
		func(ctx context.Context, p govern.Pass, in *Window) (Page[work.Listed], error) {
			all, err := a.s.Work.Providers().List(ctx, p.By())
			return page(*in, all, err)
		})
}
