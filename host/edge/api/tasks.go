package api

import (
	"context"
	"encoding/json"
	"net/http"
	"time"

	"github.com/skillet-run/skillet/host/app/govern"
	"github.com/skillet-run/skillet/host/app/work"
	pages "github.com/skillet-run/skillet/host/edge/page"
)

type listTasks struct {
	Window
	State string `query:"state" enum:"queued,running,waiting_approval,paused,completed,failed,cancelled" doc:"Those in this state, only."`
}

// TaskID names a task.
type TaskID struct {
	ID string `path:"task" maxLength:"64" doc:"The id of a task, or the beginning of one."`
}

// A TaskBody is a goal, with what may be used to reach it.
type TaskBody struct {
	Goal        string            `json:"goal" minLength:"1" maxLength:"100000" doc:"What is to be reached, in words."`
	Inputs      json.RawMessage   `json:"inputs,omitempty" doc:"An object with values for it."`
	Attachments []work.Attachment `json:"attachments,omitempty" nullable:"false" maxItems:"100" doc:"Texts that go with it."`
	Hints       []string          `json:"hints,omitempty" nullable:"false" maxItems:"100" doc:"Words that help to find what is remembered about it."`
	Constraints []string          `json:"constraints,omitempty" nullable:"false" maxItems:"100" doc:"What is asked for beside the goal."`
	Agent       string            `json:"agent,omitempty" maxLength:"200" doc:"The agent that does it; without it the host chooses."`
	Tools       []string          `json:"tools,omitempty" nullable:"false" maxItems:"1000" doc:"The tools that may be called, SKILL or SKILL:TOOL; without any, all."`
	Dirs        []string          `json:"dirs,omitempty" nullable:"false" maxItems:"100" doc:"The absolute directories of the work on the machine of the service; without any, no file is touched."`
	Online      bool              `json:"online,omitempty" doc:"Lets calls use the network, as far as that was granted."`
	Tokens      int64             `json:"tokens,omitempty" minimum:"0" doc:"The most tokens of models that it may use."`
	USD         float64           `json:"usd,omitempty" minimum:"0" doc:"The most that models may cost for it, in US dollars."`
	Seconds     float64           `json:"timeout_seconds,omitempty" minimum:"0" maximum:"31536000" doc:"In how much time it has to be done."`
	Planning    string            `json:"planning,omitempty" enum:"auto,always,never,only" doc:"Whether a plan is made first."`
	Priority    string            `json:"priority,omitempty" enum:"high,normal,low"`
	ApproveRisk string            `json:"approve_risk,omitempty" enum:"low,medium,high,never" doc:"The risk from which on calls wait for a person."`
}

func (w TaskBody) request(tools []string) work.TaskRequest {
	return work.TaskRequest{
		Goal: w.Goal, Inputs: w.Inputs, Attachments: w.Attachments, Hints: w.Hints, Constraints: w.Constraints, Agent: w.Agent, Tools: tools,
		Dirs: w.Dirs, Online: w.Online, Tokens: w.Tokens, USD: w.USD, Timeout: time.Duration(w.Seconds * float64(time.Second)),
		Planning: work.Planning(w.Planning), Priority: work.Priority(w.Priority), ApproveRisk: work.Risk(w.ApproveRisk), Queue: true,
	}
}

// A Reason says why a task ends.
type Reason struct {
	Reason string `json:"reason,omitempty" maxLength:"500"`
}

func tasks(a *API) {
	const tag = "tasks"
	steer, look := needs(govern.RightWork), needs(govern.RightWork, govern.RightRead)
	all := func() *work.Tasks { return a.s.Work.Tasks() }
	add(a, route{method: http.MethodPost, path: "/v1/tasks", id: "create-task", repeatable: true, tag: tag, status: http.StatusCreated, summary: "Takes in a goal, which is worked on when its turn comes", rights: steer},
		func(ctx context.Context, p govern.Pass, in *body[TaskBody]) (work.Run, error) {
			tools, err := p.Tools(in.Body.Tools)
			if err != nil {
				return work.Run{}, err
			}
			return all().Submit(ctx, p.By(), in.Body.request(tools))
		})
	add(a, route{method: http.MethodGet, path: "/v1/tasks", id: "list-tasks", tagged: true, tag: tag, summary: "Lists tasks, the newest first", rights: look},
		func(ctx context.Context, p govern.Pass, in *listTasks) (Page[work.Run], error) {
			found, err := all().List(ctx, p.By(), work.ListRequest{State: work.State(in.State), Limit: in.most()})
			return page(in.Window, found, err)
		})
	add(a, route{method: http.MethodGet, path: "/v1/tasks/{task}", id: "show-task", tagged: true, tag: tag, summary: "Shows a task, and how far it is", rights: look},
		func(ctx context.Context, p govern.Pass, in *TaskID) (work.TaskView, error) {
			return all().Show(ctx, p.By(), in.ID)
		})
	add(a, route{method: http.MethodPost, path: "/v1/tasks/{task}/pause", id: "pause-task", matches: "the task", class: urgent, tag: tag, summary: "Pauses a task until it is resumed", rights: steer},
		func(ctx context.Context, p govern.Pass, in *TaskID) (work.Run, error) {
			return all().Pause(ctx, p.By(), work.TaskChange{ID: in.ID, Seen: seenBy(ctx)})
		})
	add(a, route{method: http.MethodPost, path: "/v1/tasks/{task}/resume", id: "resume-task", matches: "the task", tag: tag, summary: "Resumes a task", rights: steer},
		func(ctx context.Context, p govern.Pass, in *TaskID) (work.Run, error) {
			return all().Resume(ctx, p.By(), work.TaskChange{ID: in.ID, Seen: seenBy(ctx)})
		})
	add(a, route{method: http.MethodPost, path: "/v1/tasks/{task}/cancel", id: "cancel-task", matches: "the task", class: urgent, tag: tag, summary: "Ends a task at once", rights: steer},
		func(ctx context.Context, p govern.Pass, in *struct {
			TaskID
			Body Reason
		}) (work.Run, error) {
			return all().Cancel(ctx, p.By(), work.TaskChange{ID: in.ID, Reason: in.Body.Reason, Seen: seenBy(ctx)})
		})
	details(a, route{method: http.MethodGet, path: "/v1/tasks/{task}/transcript", id: "task-transcript", tag: tag, summary: "Tells all that is known of a task, as JSON or as a page", rights: look},
		func(ctx context.Context, p govern.Pass, in *struct {
			TaskID
			Form
		}) (work.TaskDetails, error) {
			return all().Details(ctx, p.By(), in.ID)
		}, pages.Task)
	a.events(route{method: http.MethodGet, path: "/v1/tasks/{task}/events", id: "follow-task", class: stream, tag: tag, summary: "Streams the events of a task, until it stands still", rights: look})
}
