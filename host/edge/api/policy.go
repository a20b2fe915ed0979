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
	Request string `query:"request" required:"true" minLength:"1" maxLength:"4000" doc:"What a run of the skill tries, or call:TOOL." example:"fs.read:/data/a.csv"`
	Run     string `query:"run" maxLength:"100" doc:"The run on record in whose call it is asked; otherwise it is a call now, by who asks."`
}

// A PolicyCheck is a request that is not made.
type PolicyCheck struct {
	Skill   string   `json:"skill" minLength:"1" maxLength:"200" doc:"NAME or NAME@VERSION."`
	Request string   `json:"request" minLength:"1" maxLength:"4000" doc:"What a run of the skill tries." example:"fs.read:/data/a.csv"`
	Allow   []string `json:"allow,omitempty" nullable:"false" maxItems:"100" doc:"Capabilities that are taken for granted, too."`
	Call    InCall   `json:"call,omitempty" doc:"The call in which it is asked."`
}

// An InCall is the call in which policies are asked.
type InCall struct {
	Run     string `json:"run,omitempty" maxLength:"100" doc:"A run on record, whose call it is. Its input is not on record."`
	Tool    string `json:"tool,omitempty" maxLength:"200" doc:"The tool that is called."`
	Input   string `json:"input,omitempty" maxLength:"1000000" doc:"What it is called with, as it is given." example:"{\"path\": \"/data/a.csv\"}"`
	Caller  string `json:"caller,omitempty" maxLength:"200" doc:"Who calls, as KIND:NAME; otherwise who asks." example:"agent:general"`
	At      string `json:"at,omitempty" maxLength:"40" doc:"When it is called; otherwise now." example:"2026-11-28T18:30"`
	Task    string `json:"task,omitempty" maxLength:"100" doc:"The task that it is for."`
	Session string `json:"session,omitempty" maxLength:"200" doc:"The session that it goes on with."`
}

func (c InCall) call() (call govern.ExplainCall, err error) {
	call = govern.ExplainCall{Run: c.Run, Tool: c.Tool, Caller: c.Caller, Task: c.Task, Session: c.Session}
	if c.Input != "" {
		call.Input = []byte(c.Input)
	}
	if c.At != "" {
		if call.At, err = govern.ReadTime(c.At); err != nil {
			return call, fault.Wrap(fault.KindUsage, err)
		}
	}
	return call, nil
}

func (c PolicyCheck) request() (req govern.ExplainRequest, err error) {
	req.Request = c.Request
	if req.Skill, err = (Named{c.Skill}).ref(); err != nil {
		return req, err
	}
	if req.Call, err = c.Call.call(); err != nil {
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
			return a.s.Govern.Policies.Explain(ctx, p.By(), govern.ExplainRequest{Skill: ref, Request: in.Request, Call: govern.ExplainCall{Run: in.Run}})
		})
}
