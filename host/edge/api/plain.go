package api

import (
	"context"
	"encoding/json"
	"net/http"
	"time"

	"github.com/skillet-run/skillet/host/app/govern"
	"github.com/skillet-run/skillet/host/app/work"
	"github.com/skillet-run/skillet/manifests"
)

// The routes below /api have tasks, approvals and figures in a shorter form, for programs that
// were written for it. They do what the routes below /v1 do.

// PlainTask is a task in its shorter form.
type PlainTask struct {
	ID          string      `json:"task_id"`
	Status      work.State  `json:"status"`
	Input       string      `json:"user_input,omitempty"`
	Output      string      `json:"output"`
	Model       string      `json:"model_used,omitempty" doc:"The model that answered last."`
	Tokens      PlainTokens `json:"tokens"`
	MS          float64     `json:"execution_time_ms"`
	AgentType   string      `json:"agent_type,omitempty"`
	CreatedAt   time.Time   `json:"created_at"`
	CompletedAt time.Time   `json:"completed_at,omitzero"`
}

// PlainTokens are those that models took.
type PlainTokens struct {
	Input  int64 `json:"input"`
	Output int64 `json:"output"`
}

func plainTask(r work.Run, goal string) PlainTask {
	t := PlainTask{
		ID: r.TaskID, Status: r.State, Input: goal, AgentType: r.Agent, CreatedAt: r.CreatedAt, CompletedAt: r.FinishedAt,
		Tokens: PlainTokens{r.Telemetry.InputTokens, r.Telemetry.OutputTokens}, MS: r.Telemetry.DurationMS,
	}
	if n := len(r.Telemetry.Models); n > 0 {
		t.Model = r.Telemetry.Models[n-1]
	}
	if r.Report != nil {
		t.Output = r.Report.Answer
	}
	return t
}

// A PlainProposal is a proposal in its shorter form.
type PlainProposal struct {
	ID        string           `json:"proposal_id"`
	Type      string           `json:"type"`
	Title     string           `json:"title"`
	Rationale string           `json:"rationale,omitempty"`
	Digest    manifests.Digest `json:"digest" doc:"What an approval has to name."`
	CreatedAt time.Time        `json:"created_at"`
}

// PlainStats are figures of tasks in their shorter form.
type PlainStats struct {
	Period struct {
		Start time.Time `json:"start"`
		End   time.Time `json:"end"`
	} `json:"period"`
	Tasks struct {
		Total       int     `json:"total"`
		Successful  int     `json:"successful"`
		Failed      int     `json:"failed"`
		SuccessRate float64 `json:"success_rate" doc:"Of those that were completed or failed."`
	} `json:"tasks"`
	ByModel map[string]PlainModel `json:"by_model"`
	ByAgent map[string]int        `json:"by_agent"`
}

// PlainModel is what was asked of a model.
type PlainModel struct {
	Tasks  int     `json:"tasks"`
	Input  int64   `json:"tokens_in"`
	Output int64   `json:"tokens_out"`
	USD    float64 `json:"cost_usd,omitempty"`
}

func plainStats(since, until time.Time, tasks work.TaskStats, models work.ModelStats) (s PlainStats) {
	s.Period.Start, s.Period.End = since, until
	t := tasks.Total
	s.Tasks.Total, s.Tasks.Successful, s.Tasks.Failed = t.Tasks, t.Completed, t.Failed
	if ended := t.Completed + t.Failed; ended > 0 {
		s.Tasks.SuccessRate = float64(t.Completed) / float64(ended)
	}
	s.ByModel, s.ByAgent = map[string]PlainModel{}, map[string]int{}
	for _, m := range models.Models {
		s.ByModel[m.Name] = PlainModel{Input: m.InputTokens, Output: m.OutputTokens, USD: float64(m.MicroUSD) / 1e6}
	}
	for _, m := range tasks.Models {
		of := s.ByModel[m.Name]
		of.Tasks = m.Tasks
		s.ByModel[m.Name] = of
	}
	for _, a := range tasks.Agents {
		s.ByAgent[a.Name] = a.Tasks
	}
	return s
}

func plain(a *API) {
	const tag = "plain"
	steer, look := needs(govern.RightWork), needs(govern.RightWork, govern.RightRead)
	add(a, route{method: http.MethodPost, path: "/api/tasks", id: "plain-create-task", repeatable: true, tag: tag, status: http.StatusCreated, summary: "Takes in a goal, as POST /v1/tasks does", rights: steer},
		func(ctx context.Context, p govern.Pass, in *struct {
			Body struct {
				Input   string          `json:"input" minLength:"1" maxLength:"100000" doc:"What is to be reached, in words."`
				Context json.RawMessage `json:"context,omitempty" doc:"An object with values for it."`
			}
		}) (PlainTask, error) {
			tools, err := p.Tools(nil)
			if err != nil {
				return PlainTask{}, err
			}
			r, err := a.s.Work.Tasks().Submit(ctx, p.By(), TaskBody{Goal: in.Body.Input, Inputs: in.Body.Context}.request(tools))
			return plainTask(r, in.Body.Input), err
		})
	add(a, route{method: http.MethodGet, path: "/api/tasks/{task}", id: "plain-show-task", tag: tag, summary: "Shows a task, and what came of it", rights: look},
		func(ctx context.Context, p govern.Pass, in *TaskID) (PlainTask, error) {
			v, err := a.s.Work.Tasks().Show(ctx, p.By(), in.ID)
			return plainTask(v.Run, v.Task.Goal), err
		})
	add(a, route{method: http.MethodGet, path: "/api/tasks", id: "plain-list-tasks", tag: tag, summary: "Lists tasks, the newest first", rights: look}, a.plainTasks)
	add(a, route{method: http.MethodGet, path: "/api/approvals", id: "plain-list-approvals", tag: tag, summary: "Lists the proposals that wait, the oldest first", rights: needs(govern.RightRead)}, a.plainApprovals)
	add(a, route{method: http.MethodPost, path: "/api/approvals/{proposal}/approve", id: "plain-approve", class: urgent, tag: tag, summary: "Approves a proposal, and carries it out", rights: needs(govern.RightDecide)},
		func(ctx context.Context, p govern.Pass, in *struct {
			ProposalID
			Body struct {
				Digest manifests.Digest `json:"digest" minLength:"8" doc:"The digest that they were shown, or at least its first eight digits."`
				Notes  string           `json:"notes,omitempty" maxLength:"2000"`
			}
		}) (govern.Outcome, error) {
			return a.s.Govern.Proposals.Approve(ctx, p.Person(), govern.Approval{ID: in.ID, Digest: string(in.Body.Digest), Notes: in.Body.Notes})
		})
	add(a, route{method: http.MethodPost, path: "/api/approvals/{proposal}/reject", id: "plain-reject", class: urgent, tag: tag, summary: "Turns a proposal down", rights: needs(govern.RightDecide)},
		func(ctx context.Context, p govern.Pass, in *struct {
			ProposalID
			Body struct {
				Reason string `json:"reason,omitempty" maxLength:"2000"`
			}
		}) (govern.Proposal, error) {
			return a.s.Govern.Proposals.Reject(ctx, p.Person(), govern.Decision{ID: in.ID, Notes: in.Body.Reason})
		})
	add(a, route{method: http.MethodGet, path: "/api/stats", id: "plain-stats", tag: tag, summary: "Shows figures of the last days", rights: needs(govern.RightRead)}, a.plainStats)
}

// PlainTasks are tasks in their shorter form.
type PlainTasks struct {
	Tasks []PlainTask `json:"tasks" nullable:"false"`
}

func (a *API) plainTasks(ctx context.Context, p govern.Pass, in *struct {
	Limit  int    `query:"limit" minimum:"1" maximum:"1000" default:"20"`
	Status string `query:"status" enum:"queued,running,waiting_approval,paused,completed,failed,cancelled" doc:"Those in this state, only."`
	Agent  string `query:"agent_type" maxLength:"200" doc:"Those of this agent, only."`
}) (PlainTasks, error) {
	all, err := a.s.Work.Tasks().List(ctx, p.By(), work.ListRequest{State: work.State(in.Status)})
	found := PlainTasks{Tasks: []PlainTask{}}
	for _, r := range all {
		if len(found.Tasks) < in.Limit && (in.Agent == "" || r.Agent == in.Agent) {
			found.Tasks = append(found.Tasks, plainTask(r, r.Title))
		}
	}
	return found, err
}

// PlainPending are proposals that wait, in their shorter form.
type PlainPending struct {
	Pending []PlainProposal `json:"pending" nullable:"false"`
}

func (a *API) plainApprovals(ctx context.Context, p govern.Pass, _ *struct{}) (PlainPending, error) {
	all, err := a.s.Govern.Proposals.List(ctx, p.By(), govern.ListProposals{})
	waiting := PlainPending{Pending: []PlainProposal{}}
	for _, w := range all {
		waiting.Pending = append(waiting.Pending, PlainProposal{w.ID, string(w.Type), w.Title, w.Rationale, w.Digest, w.CreatedAt})
	}
	return waiting, err
}

func (a *API) plainStats(ctx context.Context, p govern.Pass, in *struct {
	Days int `query:"days" minimum:"1" maximum:"3650" default:"7"`
}) (PlainStats, error) {
	now := time.Now().UTC()
	since := now.AddDate(0, 0, -in.Days)
	tasks, err := a.s.Work.Usage().Tasks(ctx, p.By(), since)
	if err != nil {
		return PlainStats{}, err
	}
	models, err := a.s.Work.Usage().Models(ctx, p.By(), since)
	return plainStats(since, now, tasks, models), err
}
