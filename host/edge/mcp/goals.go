package mcp

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/skillet-run/skillet/host/app/govern"
	"github.com/skillet-run/skillet/host/app/work"
	"github.com/skillet-run/skillet/host/base/fault"
)

// runTask is the tool that has a goal worked on, for clients that take tasks: each is a task of the
// home.
const runTask = "run_task"

func (s *tokenServer) goalTool() tool {
	shown := ownTool(runTask, "Have a goal worked on", "Gives a goal to an agent of the host, which works on it with the tools that you may call. It is answered with a task.",
		object(map[string]any{
			"goal":   text("What is to be reached, in words."),
			"inputs": map[string]any{"type": "object", "description": "Values for it."},
			"agent":  text("The agent that does it; without it the host chooses."),
			"tools":  map[string]any{"type": "array", "items": map[string]any{"type": "string"}, "description": "SKILL or SKILL:TOOL; without any, all."},
			"online": map[string]any{"type": "boolean", "description": "Lets tools use the network, as far as that was granted."},
		}, "goal"), false)
	refuse := func(context.Context, *sdk.CallToolRequest, bool) (*sdk.CallToolResult, error) {
		return nil, missesTasks()
	}
	return tool{own: refuse, shown: shown}
}

// startGoal takes in a goal, which becomes a task of the home.
func (s *tokenServer) startGoal(ctx context.Context, r *sdk.CallToolRequest) (sdk.Result, error) {
	if _, err := s.tool(runTask); err != nil {
		return nil, err
	}
	q, err := s.goalOf(r)
	if err != nil {
		return s.refusedGoal(err), nil
	}
	p := s.pass()
	run, err := s.e.s.Work.Tasks().Submit(ctx, p.By(), q)
	if err != nil {
		return s.refusedGoal(err), nil
	}
	h, err := s.e.s.Work.Handles().Create(context.WithoutCancel(ctx), p.By(), work.HandleRequest{Of: s.owner, Task: run.TaskID, State: string(taskWorking)})
	if err != nil {
		_, cancelled := s.e.s.Work.Tasks().Cancel(context.WithoutCancel(ctx), p.By(), work.TaskChange{ID: run.TaskID, Reason: "nobody would find it"})
		if cancelled != nil {
			s.e.log.Error("a task that nobody finds is not cancelled", "task", run.TaskID, "err", cancelled)
		}
		return s.refusedGoal(err), nil
	}
	t := taskView(h)
	t.ResultType, t.StatusMessage = "task", "the task "+run.TaskID+" was taken in"
	return t, nil
}

func (s *tokenServer) refusedGoal(err error) *completed {
	return &completed{CallToolResult: s.failed(s.e.s.Explain(err), "")}
}

// completed is a result of a tool that is told outside of the SDK's own call of tools.
type completed struct{ *sdk.CallToolResult }

// MarshalJSON implements [json.Marshaler].
func (c completed) MarshalJSON() ([]byte, error) {
	b, err := json.Marshal(c.CallToolResult)
	if err != nil {
		return nil, err
	}
	return append([]byte(`{"resultType":"`+complete+`",`), b[1:]...), nil
}

// goalOf is the goal that is asked for, within what the token is for.
func (s *tokenServer) goalOf(r *sdk.CallToolRequest) (work.TaskRequest, error) {
	var asked struct {
		Goal   string          `json:"goal"`
		Inputs json.RawMessage `json:"inputs"`
		Agent  string          `json:"agent"`
		Tools  []string        `json:"tools"`
		Online bool            `json:"online"`
	}
	if err := argumentsOf(r, &asked); err != nil {
		return work.TaskRequest{}, err
	}
	p := s.pass()
	if err := p.May(govern.RightWork); err != nil {
		return work.TaskRequest{}, err
	}
	tools, err := p.Tools(asked.Tools)
	q := work.TaskRequest{Goal: asked.Goal, Inputs: asked.Inputs, Agent: asked.Agent, Tools: tools, Online: asked.Online, Queue: true}
	if s.bounds != nil {
		q.Dirs, q.Online = s.bounds.Roots, asked.Online && !s.bounds.Offline
	}
	return q, err
}

// goalView is what a client is told of the task of a goal.
func (s *tokenServer) goalView(ctx context.Context, h work.Handle, req sdk.Request) (*taskResult, error) {
	v, err := s.e.s.Work.Tasks().Show(ctx, s.pass().By(), h.Task)
	if e := fault.AsError(err); e != nil && e.Kind == fault.KindNotFound {
		return nil, invalid("Task not found: %.80q, it was removed", h.ID)
	}
	if err != nil {
		return nil, s.wrong(err)
	}
	t := taskView(h)
	t.Status, t.LastUpdatedAt, t.StatusMessage = taskWorking, v.Run.UpdatedAt, goalMessage(v.Run)
	switch v.Run.State {
	case work.Cancelled:
		t.Status = taskCancelled
	case work.Completed, work.Failed:
		t.Status = taskCompleted
		t.Result, err = json.Marshal(goalResult(v.Run))
	case work.WaitingApproval:
		t.waitFor(h, goalQuestion(v.Run), t.StatusMessage, s.goalForm(v.Run), req)
	}
	return t, err
}

// goalMessage says how a task stands, in words.
func goalMessage(r work.Run) string {
	message := fmt.Sprintf("the task %s is %s", r.TaskID, strings.ReplaceAll(string(r.State), "_", " "))
	if r.Reason != "" {
		message += ": " + r.Reason
	}
	return message
}

// goalResult is what came of a goal, as a tool would answer it.
func goalResult(r work.Run) *sdk.CallToolResult {
	out := &sdk.CallToolResult{IsError: r.State == work.Failed, Content: []sdk.Content{}}
	report := r.Report
	if report == nil {
		return out
	}
	text := report.Answer
	if text == "" {
		text = report.Summary
	}
	out.Content = []sdk.Content{&sdk.TextContent{Text: text}}
	out.StructuredContent = map[string]any{
		"task": r.TaskID, "state": r.State, "summary": report.Summary, "answer": report.Answer, "partial": report.Partial, "next_steps": report.NextSteps,
	}
	return out
}

// waitingSteps are the steps of a task that a person has to agree to.
func waitingSteps(r work.Run) []work.Step {
	var all []work.Step
	for _, p := range r.Steps {
		if p.State == work.StepWaiting {
			all = append(all, p)
		}
	}
	return all
}

// goalQuestion names what a task asks a person; empty for nothing.
func goalQuestion(r work.Run) string {
	if r.State != work.WaitingApproval {
		return ""
	}
	sum := sha256.New()
	for _, p := range waitingSteps(r) {
		fmt.Fprintf(sum, "%q %q %d;", p.ID, p.Proposal, len(r.Approvals))
	}
	return "decision-" + hex.EncodeToString(sum.Sum(nil)[:8])
}

// goalForm is what a person is told who has to agree to steps of a task.
func (s *tokenServer) goalForm(r work.Run) string {
	say := func(one fault.Remedy) string { return s.e.s.Say("{0}", []fault.Remedy{one}) }
	lines := []string{goalMessage(r)}
	for _, p := range waitingSteps(r) {
		lines = append(lines, fmt.Sprintf("%s: %s", p.ID, p.Title))
		if p.Proposal != "" {
			lines = append(lines, "Look at it: "+say(fault.ShowProposal(p.Proposal)), "Then decide: "+say(fault.Approve(p.Proposal))+", or "+say(fault.Reject(p.Proposal)))
		}
	}
	return strings.Join(append(lines, "Follow it: "+say(fault.FollowTask(r.TaskID)), "What is answered here decides nothing. It goes on when it is decided."), "\n")
}
