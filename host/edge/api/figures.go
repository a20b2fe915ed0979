package api

import (
	"context"
	"net/http"
	"slices"
	"time"

	"github.com/skillet-run/skillet/host/app/govern"
	"github.com/skillet-run/skillet/host/app/invoke"
	"github.com/skillet-run/skillet/host/app/work"
)

type since struct {
	Since time.Time `query:"since" doc:"What happened since this time, only."`
}

// Figures are of what ran.
type Figures struct {
	Skills []work.SkillStats `json:"skills" nullable:"false"`
	// Models are by model, tier and day, and Tasks by agent, day and model.
	Models work.ModelStats `json:"models"`
	Tasks  work.TaskStats  `json:"tasks"`
	Events work.EventStats `json:"events"`
	Queue  work.QueueStats `json:"queue"`
}

// ProviderHealth says whether a provider answers.
type ProviderHealth struct {
	Provider string `json:"provider"`
	OK       bool   `json:"ok"`
	Models   int    `json:"models" doc:"How many it offers."`
	Problem  string `json:"problem,omitempty" doc:"Why it does not answer."`
}

// healthOf has each provider of some models once.
func healthOf(all []work.Listed) (each []ProviderHealth) {
	for _, m := range all {
		i := slices.IndexFunc(each, func(h ProviderHealth) bool { return h.Provider == m.Provider })
		if i < 0 {
			i, each = len(each), append(each, ProviderHealth{Provider: m.Provider, OK: m.Problem == "", Problem: m.Problem})
		}
		if m.Name != "" {
			each[i].Models++
		}
	}
	return each
}

// A ModelQuestion is a request for a model that is not made.
type ModelQuestion struct {
	Tier      string `json:"tier,omitempty" maxLength:"50"`
	Model     string `json:"model,omitempty" maxLength:"200" doc:"PROVIDER/MODEL."`
	Prompt    string `json:"prompt,omitempty" maxLength:"100000"`
	Tools     bool   `json:"tools,omitempty" doc:"It has tools."`
	Schema    bool   `json:"schema,omitempty" doc:"It wants JSON that fits a schema."`
	LocalOnly bool   `json:"local_only,omitempty" doc:"Nothing may leave the machine of the service."`
}

type listSessions struct {
	Window
	Skill string `query:"skill" maxLength:"200" doc:"Those of this skill, only."`
}

func figures(a *API) {
	add(a, route{method: http.MethodGet, path: "/v1/stats", id: "stats", tag: "stats", summary: "Shows figures of what ran", rights: needs(govern.RightRead)},
		func(ctx context.Context, p govern.Pass, in *since) (f Figures, err error) {
			u := a.s.Work.Usage()
			if f.Skills, err = u.Skills(ctx, p.By(), in.Since); err != nil {
				return f, err
			}
			if f.Models, err = u.Models(ctx, p.By(), in.Since); err != nil {
				return f, err
			}
			if f.Tasks, err = u.Tasks(ctx, p.By(), in.Since); err != nil {
				return f, err
			}
			if f.Events, err = u.Events(ctx, p.By(), in.Since); err != nil {
				return f, err
			}
			f.Queue, err = u.Queue(ctx, p.By())
			return f, err
		})
	add(a, route{method: http.MethodGet, path: "/v1/agents", id: "list-agents", tagged: true, tag: "agents", summary: "Lists the agents that tasks can be given to", rights: needs(govern.RightFind)},
		func(ctx context.Context, p govern.Pass, in *Window) (Page[work.AgentEntry], error) {
			all, err := a.s.Work.Agents().List(ctx, p.By())
			return page(*in, all, err)
		})
	add(a, route{method: http.MethodGet, path: "/v1/providers/health", id: "provider-health", tag: "providers", summary: "Tells of each provider whether it answers", rights: needs(govern.RightRead)},
		func(ctx context.Context, p govern.Pass, in *Window) (Page[ProviderHealth], error) {
			all, err := a.s.Work.Providers().List(ctx, p.By())
			return page(*in, healthOf(all), err)
		})
	add(a, route{method: http.MethodPost, path: "/v1/models/diagnose", id: "diagnose-models", tag: "providers", summary: "Tells which models a request would go to, in which order, and why; none is asked", rights: needs(govern.RightRead)},
		func(ctx context.Context, p govern.Pass, in *struct{ Body ModelQuestion }) (work.Diagnosis, error) {
			b := in.Body
			return a.s.Work.Providers().Diagnose(ctx, p.By(), work.DiagnoseRequest{
				Tier: work.Tier(b.Tier), Model: b.Model, Prompt: b.Prompt, Tools: b.Tools, Schema: b.Schema, LocalOnly: b.LocalOnly,
			})
		})
	add(a, route{method: http.MethodGet, path: "/v1/sessions", id: "list-sessions", tag: "sessions", summary: "Lists sessions of skills, of who asks", rights: needs(govern.RightCall)},
		func(ctx context.Context, p govern.Pass, in *listSessions) (Page[invoke.Session], error) {
			all, err := a.s.Invoke.Sessions(ctx, p.By(), in.Skill)
			return page(in.Window, slices.DeleteFunc(all, func(s invoke.Session) bool { return !p.Sees(s.Skill) }), err)
		})
	add(a, route{method: http.MethodGet, path: "/v1/providers", id: "list-providers", tag: "providers", summary: "Lists the models of all providers, and which of them do not answer", rights: needs(govern.RightRead)},
		func(ctx context.Context, p govern.Pass, in *Window) (Page[work.Listed], error) {
			all, err := a.s.Work.Providers().List(ctx, p.By())
			return page(*in, all, err)
		})
}
