package api

import (
	"context"
	"encoding/json"
	"net/http"

	"github.com/skillet-run/skillet/host/app/govern"
	"github.com/skillet-run/skillet/host/app/invoke"
	"github.com/skillet-run/skillet/policies/limit"
)

// An Invocation is a call of a tool. All of it may be left out.
type Invocation struct {
	Input json.RawMessage `json:"input,omitempty" doc:"What the tool is given: JSON that fits its schema."`
	// Session is the one to go on with.
	Session   string     `json:"session,omitempty" maxLength:"200" doc:"The session to go on with, of a skill that has them."`
	Workspace string     `json:"workspace,omitempty" doc:"The absolute directory against which relative paths resolve."`
	Limits    CallLimits `json:"limits,omitzero" doc:"Limits of this call, up to what the host allows."`
	NoCache   bool       `json:"no_cache,omitempty" doc:"Runs the tool even if its answer was kept."`
}

// CallLimits lower or raise those of a manifest for one call.
type CallLimits limit.Request

// A CallResult is what came of a call that was made.
type CallResult struct {
	invoke.Result
	// Cuts are the limits that were asked for and that the host made smaller.
	Cuts []invoke.Cut `json:"limits_cut,omitempty" nullable:"false"`
}

type invokeTool struct {
	Named
	Tool string `path:"tool" maxLength:"200" doc:"The name of the tool."`
	Body Invocation
}

func calls(a *API) {
	add(a, route{
		method: http.MethodPost, path: "/v1/skills/{skill}/tools/{tool}/invoke", id: "invoke-tool", repeatable: true, tag: "calls", body: MaxInput,
		summary: "Calls a tool; the answer is 200 whenever the call was made, and ok says whether the tool answered", rights: needs(govern.RightCall),
	}, a.invoke)
}

func (a *API) invoke(ctx context.Context, p govern.Pass, in *invokeTool) (CallResult, error) {
	ref, err := in.ref()
	if err != nil {
		return CallResult{}, err
	}
	if err := p.Call(ref.Name, in.Tool); err != nil {
		return CallResult{}, err
	}
	ref.Tool = in.Tool
	t, err := a.s.Invoke.Find(ctx, p.By(), invoke.Address{Ref: ref, Tool: in.Tool}, nil)
	if err != nil {
		return CallResult{}, err
	}
	answer, err := a.s.Invoke.Invoke(ctx, invoke.Invocation{
		Target: t, By: p.By(), Input: in.Body.Input, Session: in.Body.Session, Workspace: in.Body.Workspace,
		Limits: limit.Request(in.Body.Limits).Set(), NoCache: in.Body.NoCache,
	})
	return CallResult{answer.Result, answer.Cuts}, err
}
