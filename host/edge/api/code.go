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

// A SkillOfScript says what a skill is called that is made of the run of a script.
type SkillOfScript struct {
	Name        string `json:"name,omitempty" maxLength:"64" doc:"That of the skill; without it, it is made of the script."`
	Version     string `json:"version,omitempty" maxLength:"128" doc:"1.0.0 unless it is said."`
	Description string `json:"description,omitempty" maxLength:"2048" doc:"What it does; without it, it says what the script calls."`
	Rationale   string `json:"rationale,omitempty" maxLength:"2000" doc:"Why it should be installed."`
	Dry         bool   `json:"dry_run,omitempty" doc:"Makes it, and proposes nothing."`
}

type proposeScript struct {
	Run  string `path:"run" maxLength:"100" doc:"The id of a run that has ended well, or last for the newest of the caller's."`
	Body SkillOfScript
}

func scripts(a *API) {
	add(a, route{
		method: http.MethodPost, path: "/v1/code", id: "run-script", tag: "calls", body: MaxInput,
		summary: "Runs a script that calls tools; the answer is 200 whenever it was run, and status says how it stands", rights: needs(govern.RightCall),
	}, a.runScript)
	add(a, route{
		method: http.MethodPost, path: "/v1/code/{run}/propose", id: "propose-script", tag: "changes",
		summary: "Makes a skill of a script that ran, and proposes it: it waits for a person", rights: needs(govern.RightPropose),
	}, func(ctx context.Context, p govern.Pass, in *proposeScript) (code.Made, error) {
		b := in.Body
		return a.s.Code.Propose(ctx, p.By(), code.Propose{Run: in.Run, Name: b.Name, Version: b.Version, Description: b.Description, Rationale: b.Rationale, Dry: b.Dry})
	})
}

func (a *API) runScript(ctx context.Context, p govern.Pass, in *runScript) (code.Result, error) {
	b := in.Body
	return a.s.Code.Execute(ctx, p.By(), code.Request{
		Language: b.Language, Code: b.Code, Data: b.Data, Run: b.Run, Key: in.Key, Doubt: b.Doubt, Limits: limit.Request(b.Limits).Set(), May: p.Call,
	})
}
