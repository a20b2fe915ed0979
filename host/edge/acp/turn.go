package acp

import (
	"context"
	"strings"

	sdk "github.com/coder/acp-go-sdk"

	"github.com/skillet-run/skillet/host/app/work"
)

// Prompt answers a turn, and tells meanwhile what is done for it.
func (a *agent) Prompt(ctx context.Context, q sdk.PromptRequest) (sdk.PromptResponse, error) {
	a.working.Add(1)
	defer a.working.Done()
	s, err := a.session(q.SessionId)
	if err != nil {
		return sdk.PromptResponse{}, err
	}
	s.turn.Lock()
	defer s.turn.Unlock()
	t := turn{a: a, s: s, ctx: ctx}
	if err := t.answer(q); ctx.Err() != nil {
		return sdk.PromptResponse{StopReason: sdk.StopReasonCancelled}, nil
	} else if err != nil {
		return sdk.PromptResponse{}, sdk.NewInternalError(map[string]any{"error": a.o.Clean(err.Error())})
	}
	return sdk.PromptResponse{StopReason: sdk.StopReasonEndTurn}, nil
}

// A turn is what a person said, and what is done about it.
type turn struct {
	a   *agent
	s   *session
	ctx context.Context
}

func (t turn) answer(q sdk.PromptRequest) error {
	if t.s.ignored > 0 {
		t.s.ignored = 0
		if err := t.thinks(t.a.o.NoServers); err != nil {
			return err
		}
	}
	use := t.a.o.Use
	use.Goal, use.Attachments = textOf(q.Prompt)
	use.Dirs = append(use.Dirs, t.s.dirs...)
	if use.Goal == "" {
		return t.says("Nothing was said in words, and pictures and sounds are not read here.")
	}
	defer t.s.works("")
	reply, err := t.a.o.Work.Tasks().Chat(t.ctx, t.a.o.Person, work.ChatRequest{Message: use, Before: t.s.before, Allow: t.a.o.Allow, Tell: t.tell})
	if err != nil {
		return err
	}
	t.s.before = reply.Before
	if reply.Run != nil && reply.Run.State == work.WaitingApproval {
		return t.decide(*reply.Run)
	}
	return nil
}

func (t turn) update(u sdk.SessionUpdate) error {
	return t.a.conn.SessionUpdate(context.WithoutCancel(t.ctx), sdk.SessionNotification{SessionId: t.s.id, Update: u})
}

func (t turn) says(text string) error {
	return t.update(sdk.UpdateAgentMessageText(t.a.o.Clean(strings.TrimSpace(text))))
}

func (t turn) thinks(text string) error {
	return t.update(sdk.UpdateAgentThoughtText(t.a.o.Clean(strings.TrimSpace(text)) + "\n"))
}

// tell tells what happens.
func (t turn) tell(u work.Update) error {
	if u.TaskID != "" {
		t.s.works(u.TaskID)
	}
	switch {
	case u.Event != nil:
		return t.event(*u.Event)
	case u.Kind == "answer":
		return t.says(u.Text)
	}
	return t.thinks(u.Text)
}

// stepEnds are how steps end, as an editor shows calls of tools.
var stepEnds = map[work.EventType]sdk.ToolCallStatus{
	work.StepCompleted: sdk.ToolCallStatusCompleted, work.StepFailed: sdk.ToolCallStatusFailed,
	work.StepDenied: sdk.ToolCallStatusFailed, work.StepUncertain: sdk.ToolCallStatusFailed,
}

// event tells an event: steps as calls of tools, others in words.
func (t turn) event(e work.Event) error {
	of := e.Step()
	if e.Type == work.StepStarted && of.Tool != "" {
		return t.update(sdk.StartToolCall(sdk.ToolCallId(of.Step), t.a.o.Clean(of.Tool), sdk.WithStartKind(sdk.ToolKindExecute), sdk.WithStartStatus(sdk.ToolCallStatusInProgress), sdk.WithStartRawInput(of.Input)))
	}
	if status, ends := stepEnds[e.Type]; ends && of.Tool != "" {
		opts := []sdk.ToolCallUpdateOpt{sdk.WithUpdateStatus(status)}
		if of.Error != nil {
			opts = append(opts, sdk.WithUpdateContent([]sdk.ToolCallContent{sdk.ToolContent(sdk.TextBlock(t.a.o.Clean(of.Error.Message)))}))
		}
		return t.update(sdk.UpdateToolCall(sdk.ToolCallId(of.Step), opts...))
	}
	if lines := t.a.o.Words(e); len(lines) > 0 {
		return t.thinks(strings.Join(lines, "\n"))
	}
	return nil
}

// decide asks the person about the steps of a task that wait, if the editor does ask them, and goes
// on with the task until it ends or waits for something else.
func (t turn) decide(r work.Run) error {
	for r.State == work.WaitingApproval {
		again, err := t.askAll(&r)
		if err != nil {
			return err
		}
		if !again {
			return t.says(t.a.o.Waits(r))
		}
		r, err = t.a.o.Work.Tasks().Do(t.ctx, t.a.o.Person, work.DoRequest{ID: r.TaskID, Allow: t.a.o.Allow, Watch: t.event})
		if err != nil {
			return err
		}
	}
	if r.Report == nil {
		return nil
	}
	if r.Report.Answer == "" {
		return t.says(r.Report.Summary)
	}
	return t.says(r.Report.Answer)
}

// askAll asks about each step that waits, and reports whether the task goes on.
func (t turn) askAll(r *work.Run) (again bool, err error) {
	if !t.a.o.Decides {
		return false, nil
	}
	for _, step := range r.Steps {
		if !work.Undecided(step) {
			continue
		}
		yes, answered, err := t.ask(step)
		if err != nil || !answered {
			return false, err
		}
		*r, err = t.a.o.Work.Tasks().Decide(t.ctx, t.a.o.Person, work.Decision{ID: r.TaskID, Step: step.ID, Approved: yes, Notes: "answered in the editor", Hold: true})
		if err != nil {
			return false, err
		}
	}
	return r.State == work.Queued, nil
}

// The answers that a person can give: to this step, and to nothing that comes later.
const (
	allowOnce  sdk.PermissionOptionId = "allow"
	rejectOnce sdk.PermissionOptionId = "reject"
)

// ask asks the person about a step. What is not one of the answers is none.
func (t turn) ask(step work.Step) (yes, answered bool, err error) {
	title, lines := t.a.o.Clean(step.Title), t.a.o.Calls(step)
	kind, status := sdk.ToolKindExecute, sdk.ToolCallStatusPending
	res, err := t.a.conn.RequestPermission(t.ctx, sdk.RequestPermissionRequest{
		SessionId: t.s.id,
		ToolCall: sdk.ToolCallUpdate{
			ToolCallId: sdk.ToolCallId(step.ID), Title: &title, Kind: &kind, Status: &status,
			Content: []sdk.ToolCallContent{sdk.ToolContent(sdk.TextBlock(strings.Join(lines, "\n")))},
		},
		Options: []sdk.PermissionOption{
			{Kind: sdk.PermissionOptionKindAllowOnce, Name: "Let it begin", OptionId: allowOnce},
			{Kind: sdk.PermissionOptionKindRejectOnce, Name: "Go on without it", OptionId: rejectOnce},
		},
	})
	if err != nil || res.Outcome.Selected == nil {
		return false, false, err
	}
	id := res.Outcome.Selected.OptionId
	return id == allowOnce, id == allowOnce || id == rejectOnce, nil
}
