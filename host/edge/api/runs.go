package api

import (
	"context"
	"net/http"
	"time"

	"github.com/skillet-run/skillet/host/app/govern"
	"github.com/skillet-run/skillet/host/app/work"
	pages "github.com/skillet-run/skillet/host/edge/page"
)

type listRuns struct {
	Window
	Skill  string    `query:"skill" maxLength:"200" doc:"Those of NAME or NAME@VERSION, only."`
	Task   string    `query:"task" maxLength:"64" doc:"Those that were made for the task with this id, only."`
	Denied bool      `query:"denied" doc:"Those in which something was refused, only."`
	Failed bool      `query:"failed" doc:"Those that did not answer, only."`
	Since  time.Time `query:"since" doc:"Leaves out what ended before this time."`
	Until  time.Time `query:"until" doc:"Leaves out what ended at this time or later."`
}

// RunID names a run.
type RunID struct {
	ID string `path:"run" minLength:"8" maxLength:"64" doc:"The id of a run, or the beginning of one."`
}

func runs(a *API) {
	const tag = "runs"
	look := needs(govern.RightCall, govern.RightRead)
	add(a, route{method: http.MethodGet, path: "/v1/runs", id: "list-runs", tag: tag, summary: "Lists calls of tools that are on record, the newest first", rights: look},
		func(ctx context.Context, p govern.Pass, in *listRuns) (Page[work.Call], error) {
			all, err := a.s.Work.Calls().List(ctx, p.By(), work.CallsRequest{
				Skill: in.Skill, Task: in.Task, Denied: in.Denied, Failed: in.Failed, Since: in.Since, Until: in.Until, Limit: in.most(),
			})
			return page(in.Window, all, err)
		})
	add(a, route{method: http.MethodGet, path: "/v1/runs/{run}", id: "show-run", tag: tag, summary: "Shows what is on record of a call of a tool", rights: look},
		func(ctx context.Context, p govern.Pass, in *RunID) (work.Call, error) {
			return a.s.Work.Calls().Show(ctx, p.By(), in.ID)
		})
	details(a, route{method: http.MethodGet, path: "/v1/runs/{run}/transcript", id: "run-transcript", tag: tag, summary: "Tells all that is known of a call of a tool, as JSON or as a page", rights: look},
		func(ctx context.Context, p govern.Pass, in *struct {
			RunID
			Form
		}) (work.CallDetails, error) {
			return a.s.Work.Calls().Details(ctx, p.By(), in.ID)
		}, pages.Run)
}
