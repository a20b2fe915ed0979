package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/skillet-run/skillet/host/app/invoke"
	"github.com/skillet-run/skillet/host/base/fault"
	"github.com/skillet-run/skillet/host/base/trace"
	"github.com/skillet-run/skillet/manifests"
)

// handle answers a call of a tool.
func (s *tokenServer) handle(ctx context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
	t, err := s.tool(r.Params.Name)
	if err != nil {
		return nil, err
	}
	ctx, span := trace.Serve(ctx, "tools/call "+t.shown.Name, func(name string) string { return textOf(r.Params.Meta, strings.ToLower(name)) })
	res, err := s.once(ctx, t, r)
	span.End(err)
	return res, err
}

// tool is a tool that is shown.
func (s *tokenServer) tool(name string) (tool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t, ok := s.shown.tools[name]
	if !ok {
		return t, invalid("unknown tool %q", name)
	}
	return t, nil
}

func invalid(format string, args ...any) error {
	return &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: fmt.Sprintf(format, args...)}
}

// textOf is a text that is told beside a request; empty for none.
func textOf(meta sdk.Meta, name string) string {
	text, _ := meta[name].(string)
	return text
}

// asked makes a call for which a client may have been asked something before. What it says to
// that decides nothing, and is not read.
func (s *tokenServer) asked(ctx context.Context, t tool, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
	again := r.Params.RequestState != ""
	if again && !s.e.signed(s.owner, r.Params) {
		return nil, invalid("requestState is not that of this call")
	}
	if t.own != nil {
		return t.own(ctx, r, again)
	}
	input, err := t.inputOf(r.Params.Arguments)
	if err != nil {
		return s.failed(fault.Wrap(fault.KindUsage, err), ""), nil
	}
	a, err := s.make(ctx, t, input, r)
	switch {
	case err != nil && a.RunID == "":
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return s.failed(s.e.s.Explain(err), ""), nil
	case !a.OK:
		return s.unanswered(a.Result, r, again), nil
	}
	return t.answer(a.Result), nil
}

// make makes a call.
func (s *tokenServer) make(ctx context.Context, t tool, input []byte, r *sdk.CallToolRequest) (invoke.Answer, error) {
	p := s.pass()
	if err := p.Call(t.skill, t.name); err != nil {
		if refused := s.e.s.Refused(ctx, p, "tools/call "+t.shown.Name, err); refused != nil {
			s.e.log.Error("a refused call is not on record", "tool", t.shown.Name, "err", refused)
		}
		return invoke.Answer{}, err
	}
	target, err := s.e.s.Invoke.Find(ctx, p.By(), invoke.Address{Ref: manifests.Ref{Name: t.skill}, Tool: t.name}, nil)
	if err != nil {
		return invoke.Answer{}, err
	}
	logged, end := progress(ctx, r)
	defer end()
	return s.e.s.Invoke.Invoke(ctx, invoke.Invocation{
		Target: target, By: p.By(), Input: input, Logged: logged, Bounds: s.bounds, Workspace: s.workspace,
	})
}

// maxLines is how many lines of a log wait to be told. Those beyond are not told: a call does
// not wait for its client.
const maxLines = 100

// progress tells a client of each line that a call logs, if it wants to know, until end is
// called, which waits for what was not told yet.
func progress(ctx context.Context, r *sdk.CallToolRequest) (logged func(invoke.LogLine), end func()) {
	token := r.Params.GetProgressToken()
	if token == nil {
		return nil, func() {}
	}
	lines := make(chan string, maxLines)
	var telling sync.WaitGroup
	telling.Go(func() {
		n := 0.0
		for text := range lines {
			if n++; muted(ctx) {
				continue // a task has no progress
			}
			_ = r.Session.NotifyProgress(ctx, &sdk.ProgressNotificationParams{ProgressToken: token, Progress: n, Message: text}) // who has gone needs none
		}
	})
	logged = func(l invoke.LogLine) {
		select {
		case lines <- l.Message:
		default:
		}
	}
	return logged, func() { close(lines); telling.Wait() }
}

// answer is what a tool answered. Structured is what is an object, as its schema is.
func (t tool) answer(res invoke.Result) *sdk.CallToolResult {
	r := &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: textIn(res.Data)}}, Meta: metaOf(res)}
	if strings.HasPrefix(string(res.Data), "{") {
		r.StructuredContent = res.Data
	}
	return r
}

// textIn is an answer as text: a JSON string is that string.
func textIn(data json.RawMessage) string {
	var text string
	if json.Unmarshal(data, &text) == nil {
		return text
	}
	return string(data)
}

// metaRun names the run of a call in the audit log.
const metaRun = "run.skillet/run"

func metaOf(res invoke.Result) sdk.Meta {
	return sdk.Meta{metaSkill: res.Skill, metaRun: string(res.RunID)}
}

// A pause is what a call waits for that needs a person.
type pause struct {
	Status   string `json:"status"` // "paused"
	Message  string `json:"message"`
	Proposal string `json:"proposal"`
	// Show and Approve are what the person runs.
	Show    string `json:"show"`
	Approve string `json:"approve"`
	Reject  string `json:"reject"`
	Then    string `json:"then"`
	RunID   string `json:"run_id"`
}

// A failure is what is told of a call that failed.
type failure struct {
	Status  string     `json:"status"` // "failed"
	Kind    fault.Kind `json:"kind"`
	Message string     `json:"message"`
	Hint    string     `json:"hint,omitempty"`
	RunID   string     `json:"run_id,omitempty"`
}

// unanswered is what a client is told of a call that did not answer.
func (s *tokenServer) unanswered(res invoke.Result, r *sdk.CallToolRequest, again bool) *sdk.CallToolResult {
	id := proposalOf(res.Error)
	if id == "" {
		f := s.failed(s.e.s.Explain(res.Error), string(res.RunID))
		f.Meta = metaOf(res)
		return f
	}
	out := s.paused(res.Error.Message, id, string(res.RunID), r, again)
	if out.InputRequests == nil {
		out.Meta = metaOf(res)
	}
	return out
}

// paused is what a client is told of what waits for a proposal.
func (s *tokenServer) paused(message, id, run string, r *sdk.CallToolRequest, again bool) *sdk.CallToolResult {
	say := func(r fault.Remedy) string { return s.e.s.Say("{0}", []fault.Remedy{r}) }
	p := pause{
		Status: "paused", Message: message, Proposal: id, RunID: run, Then: "make the same call again",
		Show: say(fault.ShowProposal(id)), Approve: say(fault.Approve(id)), Reject: say(fault.Reject(id)),
	}
	if !again && canBeAsked(r) {
		return s.e.ask(s.owner, r.Params, p)
	}
	return told(fmt.Sprintf("%s\nA person has to decide: %s shows it, %s approves it. Then %s.", p.Message, p.Show, p.Approve, p.Then), p)
}

// proposalOf is the proposal that a call waits for; empty for none.
func proposalOf(e *fault.Error) string {
	if e == nil || e.Kind != fault.KindApproval {
		return ""
	}
	for _, r := range e.Remedies {
		if id := r.Param(fault.ParamProposal); id != "" {
			return id
		}
	}
	return ""
}

// failed is a call that failed, with what can be done about it.
func (s *tokenServer) failed(e *fault.Error, run string) *sdk.CallToolResult {
	f := failure{Status: "failed", Kind: e.Kind, Message: e.Message, RunID: run, Hint: s.e.hint(e)}
	text := f.Message
	if f.Hint != "" {
		text += "\nhint: " + f.Hint
	}
	return told(text, f)
}

// hint says what can be done about an error; empty for nothing.
func (e *Edge) hint(of *fault.Error) string {
	if of.Hint == "" && len(of.Remedies) == 0 {
		return ""
	}
	return e.s.Say(of.Hint, of.Remedies)
}

// told is an answer that is not the tool's, and does not have to fit its schema.
func told(text string, v any) *sdk.CallToolResult {
	return &sdk.CallToolResult{IsError: true, Content: []sdk.Content{&sdk.TextContent{Text: text}}, StructuredContent: v}
}
