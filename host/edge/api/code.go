package api

import (
	"context"
	"encoding/json"
	"net/http"

	"github.com/skillet-run/skillet/host/app/code"
	"github.com/skillet-run/skillet/host/app/govern"
	"github.com/skillet-run/skillet/policies/limit"
)

// A Script is a script to run, or to go on with.
type Script struct {
	Language string          `json:"language,omitempty" enum:"javascript,python" doc:"That of the script; javascript unless it is said."`
	Code     string          `json:"code,omitempty" maxLength:"262144" doc:"The script: it can compute, and call tools of skills, as in tools.csv.stats({...}). It may be left out to go on with a run."`
	Data     json.RawMessage `json:"data,omitempty" doc:"JSON that the script has as data."`
	Run      string          `json:"run_id,omitempty" maxLength:"100" doc:"The run to go on with, which waits or was broken off."`
	Doubt    code.Doubt      `json:"doubt,omitempty" enum:"again,done,fail" doc:"What becomes of a call of which nobody knows whether it was made."`
	Limits   CallLimits      `json:"limits,omitzero" doc:"Limits of the script with all its calls, up to what the host allows."`
}

type runScript struct {
	Key  string `header:"Idempotency-Key" pattern:"^[\\x21-\\x7e]{1,200}$" doc:"Names this script: sent again with the same key, it is not carried out again but answered as it ended, for seven days, also by another process."`
	Body Script
}

func scripts(a *API) {
	add(a, route{
		method: http.MethodPost, path: "/v1/code", id: "run-script", tag: "calls", body: MaxInput,
		summary: "Runs a script that calls tools; the answer is 200 whenever it was run, and status says how it stands", rights: needs(govern.RightCall),
	}, a.runScript)
}

func (a *API) runScript(ctx context.Context, p govern.Pass, in *runScript) (code.Result, error) {
	b := in.Body
	return a.s.Code.Execute(ctx, p.By(), code.Request{
		Language: b.Language, Code: b.Code, Data: b.Data, Run: b.Run, Key: in.Key, Doubt: b.Doubt, Limits: limit.Request(b.Limits).Set(), May: p.Call,
	})
}
