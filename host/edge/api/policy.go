package api

import (
	"context"
	"net/http"

	"github.com/skillet-run/skillet/host/app/govern"
)

type explain struct {
	Named
	Request string `query:"request" required:"true" minLength:"1" maxLength:"4000" doc:"What a run of the skill tries." example:"fs.read:/data/a.csv"`
}

func policy(a *API) {
	const tag = "policies"
	add(a, route{method: http.MethodGet, path: "/v1/policies", id: "list-policies", tag: tag, summary: "Lists the policies in force", rights: needs(govern.RightRead)},
		func(ctx context.Context, p govern.Pass, in *Window) (Page[govern.Policy], error) {
			all, err := a.s.Govern.Policies.List(ctx, p.By(), nil)
			return page(*in, all, err)
		})
	add(a, route{method: http.MethodGet, path: "/v1/skills/{skill}/explain", id: "explain-decision", tag: tag, summary: "Tells what would become of a request of a skill, and why", rights: needs(govern.RightRead)},
		func(ctx context.Context, p govern.Pass, in *explain) (govern.Explanation, error) {
			ref, err := in.ref()
			if err != nil {
				return govern.Explanation{}, err
			}
			return a.s.Govern.Policies.Explain(ctx, p.By(), govern.ExplainRequest{Skill: ref, Request: in.Request})
		})
}
