package api

import (
	"context"
	"net/http"

	"github.com/skillet-run/skillet/host/app/govern"
	"github.com/skillet-run/skillet/host/base/fault"
	"github.com/skillet-run/skillet/policies/capability"
)

type explain struct {
	Named
	Request string `query:"request" required:"true" minLength:"1" maxLength:"4000" doc:"What a run of the skill tries." example:"fs.read:/data/a.csv"`
}

// A PolicyCheck is a request that is not made.
type PolicyCheck struct {
	Skill   string   `json:"skill" minLength:"1" maxLength:"200" doc:"NAME or NAME@VERSION."`
	Request string   `json:"request" minLength:"1" maxLength:"4000" doc:"What a run of the skill tries." example:"fs.read:/data/a.csv"`
	Allow   []string `json:"allow,omitempty" nullable:"false" maxItems:"100" doc:"Capabilities that are taken for granted, too."`
}

func (c PolicyCheck) request() (req govern.ExplainRequest, err error) {
	req.Request = c.Request
	if req.Skill, err = (Named{c.Skill}).ref(); err != nil {
		return req, err
	}
	for _, text := range c.Allow {
		allowed, err := capability.Parse(text)
		if err != nil {
			return req, fault.Wrap(fault.KindUsage, err)
		}
		req.Allow = append(req.Allow, allowed)
	}
	return req, nil
}

func policy(a *API) {
	const tag = "policies"
	add(a, route{method: http.MethodGet, path: "/v1/policies", id: "list-policies", tagged: true, tag: tag, summary: "Lists the policies in force", rights: needs(govern.RightRead)},
		func(ctx context.Context, p govern.Pass, in *Window) (Page[govern.Policy], error) {
			all, err := a.s.Govern.Policies.List(ctx, p.By(), nil)
			return page(*in, all, err)
		})
	add(a, route{method: http.MethodPost, path: "/v1/policies/check", id: "check-policy", tag: tag, summary: "Tells what would become of a request of a skill, with some capabilities taken for granted", rights: needs(govern.RightRead)},
		func(ctx context.Context, p govern.Pass, in *struct{ Body PolicyCheck }) (govern.Explanation, error) {
			req, err := in.Body.request()
			if err != nil {
				return govern.Explanation{}, err
			}
			return a.s.Govern.Policies.Explain(ctx, p.By(), req)
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
