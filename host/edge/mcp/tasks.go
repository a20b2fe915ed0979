package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/skillet-run/skillet/host/app/work"
	"github.com/skillet-run/skillet/host/base/fault"
)

// extTasks is the extension by which a call is answered later: its client gets a task, and asks how
// it stands until it has ended.
const extTasks = "io.modelcontextprotocol/tasks"

// A taskStatus is how a task of the extension stands.
type taskStatus string

// The statuses. All but the first two are final.
const (
	taskWorking   taskStatus = "working"
	taskInput     taskStatus = "input_required"
	taskCompleted taskStatus = "completed"
	taskFailed    taskStatus = "failed"
	taskCancelled taskStatus = "cancelled"
)

// How often a client is told to ask again, in milliseconds: while something is done, and while a
// person is waited for.
const (
	pollMS       = 1000
	pollPersonMS = 5000
)

// A taskResult is what a client is told of a task.
type taskResult struct {
	sdk.ResultBase
	ResultType     string              `json:"resultType"`
	TaskID         string              `json:"taskId"`
	Status         taskStatus          `json:"status"`
	StatusMessage  string              `json:"statusMessage,omitempty"`
	CreatedAt      time.Time           `json:"createdAt"`
	LastUpdatedAt  time.Time           `json:"lastUpdatedAt"`
	TTLMs          int64               `json:"ttlMs"`
	PollIntervalMs int                 `json:"pollIntervalMs,omitempty"`
	InputRequests  sdk.InputRequestMap `json:"inputRequests,omitempty"`
	Result         json.RawMessage     `json:"result,omitempty"`
	Error          json.RawMessage     `json:"error,omitempty"`
}

type taskParams struct {
	sdk.ParamsBase
	TaskID         string                     `json:"taskId"`
	InputResponses map[string]json.RawMessage `json:"inputResponses,omitempty"`
}

// An ack is an answer that says nothing but that something was heard.
type ack struct {
	sdk.ResultBase
	ResultType string `json:"resultType"`
}

// A promised is what is kept of a call that is answered later, beside its state.
type promised struct {
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments,omitempty"`
	Meta      sdk.Meta        `json:"_meta,omitempty"`
}

// An underway is a call that is made in this process for a task.
type underway struct {
	cancel context.CancelFunc
	mute   *atomic.Bool
}

// muteKey is the key of a context's *atomic.Bool that is true once no progress is told any more.
type muteKey struct{}

// isUnderway reports whether a call may outlive its request.
func isUnderway(ctx context.Context) bool { return ctx.Value(muteKey{}) != nil }

func muted(ctx context.Context) bool {
	m, ok := ctx.Value(muteKey{}).(*atomic.Bool)
	return ok && m.Load()
}

// serveTasks adds what the extension demands of a server.
func (s *tokenServer) serveTasks() {
	method(s, "tasks/get", s.getTask)
	method(s, "tasks/update", s.updateTask)
	method(s, "tasks/cancel", s.cancelTask)
	s.server.AddReceivingMiddleware(s.withTasks)
}

// withTasks lets calls be answered later for clients that take tasks.
func (s *tokenServer) withTasks(next sdk.MethodHandler) sdk.MethodHandler {
	return func(ctx context.Context, method string, req sdk.Request) (sdk.Result, error) {
		switch method {
		case "tools/call":
			if r, ok := req.(*sdk.CallToolRequest); ok && takesTasks(r) {
				return s.later(ctx, next, method, r)
			}
		case "tools/list":
			res, err := next(ctx, method, req)
			if l, ok := res.(*sdk.ListToolsResult); ok && !takesTasks(req) {
				l.Tools = slices.DeleteFunc(slices.Clone(l.Tools), func(t *sdk.Tool) bool { return t.Name == runTask })
			}
			return res, err
		case "tasks/get", "tasks/update", "tasks/cancel":
			if !takesTasks(req) {
				return nil, missesTasks()
			}
			if err := namesTask(req); err != nil {
				return nil, err
			}
			ctx = context.WithValue(ctx, requestKey{}, req)
		}
		return next(ctx, method, req)
	}
}

// requestKey is the key of a context's request about a task.
type requestKey struct{}

// takesTasks reports whether a client said with a request that it takes tasks.
func takesTasks(req sdk.Request) bool {
	var c struct {
		Extensions map[string]json.RawMessage `json:"extensions"`
	}
	if !capabilityOf(req, &c) {
		return false
	}
	_, ok := c.Extensions[extTasks]
	return ok
}

// capabilityOf reads what a client said of itself with a request, in the era in which it does.
func capabilityOf(req sdk.Request, v any) bool {
	p := req.GetParams()
	if p == nil {
		return false
	}
	meta := sdk.Meta(p.GetMeta())
	if version := textOf(meta, sdk.MetaKeyProtocolVersion); version < newEra {
		return false
	}
	b, err := json.Marshal(meta[sdk.MetaKeyClientCapabilities])
	return err == nil && json.Unmarshal(b, v) == nil
}

// answersForms reports whether a client takes forms for a person.
func answersForms(req sdk.Request) bool {
	var c struct {
		Elicitation *struct {
			Form *struct{} `json:"form"`
			URL  *struct{} `json:"url"`
		} `json:"elicitation"`
	}
	return capabilityOf(req, &c) && c.Elicitation != nil && (c.Elicitation.Form != nil || c.Elicitation.URL == nil)
}

// missesTasks is what a client is told that does not take tasks.
func missesTasks() error {
	data, err := json.Marshal(map[string]any{"requiredCapabilities": map[string]any{"extensions": map[string]any{extTasks: struct{}{}}}})
	if err != nil {
		return err
	}
	return &jsonrpc.Error{Code: sdk.CodeMissingRequiredClientCapabilities, Message: "Missing required client capability: " + extTasks, Data: data}
}

// namesTask refuses a request over HTTP whose header names another task than its body: who passes it
// on goes by the header.
func namesTask(req sdk.Request) error {
	x := req.GetExtra()
	p, ok := req.GetParams().(*taskParams)
	if x == nil || x.Header == nil || !ok || p == nil {
		return nil
	}
	if name := x.Header.Get("Mcp-Name"); name != p.TaskID {
		return &jsonrpc.Error{Code: sdk.CodeHeaderMismatch, Message: fmt.Sprintf("header mismatch: the header Mcp-Name has %.80q, and the body taskId %.80q", name, p.TaskID)}
	}
	return nil
}

// An outcome is what came of a call.
type outcome struct {
	res sdk.Result
	err error
}

// later makes a call. One that is not answered soon, or waits for a person, is answered with a task.
func (s *tokenServer) later(ctx context.Context, next sdk.MethodHandler, method string, r *sdk.CallToolRequest) (sdk.Result, error) {
	if r.Params.Name == runTask {
		return s.startGoal(ctx, r)
	}
	at := s.e.s.Decided()
	u, making := newUnderway(ctx)
	ended := make(chan outcome, 1)
	go func() {
		res, err := next(making, method, r)
		ended <- outcome{res, err}
	}()
	soon := time.NewTimer(s.e.set.TaskAfter)
	defer soon.Stop()
	select {
	case o := <-ended:
		u.cancel()
		if p, ok := pauseIn(o); ok {
			return s.promise(ctx, r, p, at)
		}
		return o.res, o.err
	case <-ctx.Done():
		if keyOf(r) == "" { // one with a key goes on
			u.cancel()
		}
		o := <-ended
		return o.res, o.err
	case <-soon.C:
	}
	t, err := s.promise(ctx, r, nil, at)
	if err != nil { // there is no room for a task
		defer context.AfterFunc(ctx, u.cancel)()
		o := <-ended
		return o.res, o.err
	}
	u.mute.Store(true)
	s.e.claim(t.TaskID, u)
	s.keep(t.TaskID, u, ended, at)
	return t, nil
}

// newUnderway begins a call that may outlive the request that asked for it.
func newUnderway(ctx context.Context) (*underway, context.Context) {
	u := &underway{mute: new(atomic.Bool)}
	making, cancel := context.WithCancel(context.WithValue(context.WithoutCancel(ctx), muteKey{}, u.mute))
	u.cancel = cancel
	return u, making
}

// pauseIn is what a call waits for, if it waits for a person.
func pauseIn(o outcome) (*pause, bool) {
	res, ok := o.res.(*sdk.CallToolResult)
	if !ok || res == nil {
		return nil, false
	}
	p, ok := res.StructuredContent.(pause)
	return &p, ok
}

// promise keeps a call that is answered later, and is what its client is told.
func (s *tokenServer) promise(ctx context.Context, r *sdk.CallToolRequest, waits *pause, at uint64) (*taskResult, error) {
	meta := sdk.Meta{}
	for _, name := range []string{metaKey, "traceparent", "tracestate"} {
		if v, ok := r.Params.Meta[name]; ok {
			meta[name] = v
		}
	}
	if key := keyOf(r); key != "" {
		meta[metaKey] = key
	}
	call, err := json.Marshal(promised{r.Params.Name, r.Params.Arguments, meta})
	if err != nil {
		return nil, err
	}
	q := work.HandleRequest{Of: s.owner, State: string(taskWorking), Call: call}
	if waits != nil {
		if q.Waits, err = json.Marshal(waits); err != nil {
			return nil, err
		}
	}
	h, err := s.e.s.Work.Handles().Create(context.WithoutCancel(ctx), s.pass().By(), q)
	if err != nil {
		return nil, err
	}
	if waits != nil {
		s.e.waitSince(h.ID, at)
	}
	t := s.viewOf(h, r)
	t.ResultType, t.InputRequests = "task", nil // which tasks/get has
	return t, nil
}

// keep has what comes of a call kept for its task.
func (s *tokenServer) keep(id string, u *underway, ended <-chan outcome, at uint64) {
	s.e.making.Go(func() {
		o := <-ended
		defer s.e.left(id)
		defer u.cancel()
		if s.e.isEnding() {
			return // the task says of itself that it was interrupted
		}
		if err := s.settle(id, o, at); err != nil && !errors.Is(err, errEnded) {
			s.e.log.Error("what came of a call is not kept", "task", id, "err", err)
		}
	})
}

// errEnded means that a task had ended before.
var errEnded = errors.New("the task has ended")

// settle writes what came of a call. What was cancelled meanwhile stays so.
func (s *tokenServer) settle(id string, o outcome, at uint64) error {
	p, waiting := pauseIn(o)
	state, answer, err := taskCompleted, []byte(nil), error(nil)
	switch {
	case waiting:
		s.e.waitSince(id, at)
		state = taskWorking
		answer, err = json.Marshal(p)
	case o.err != nil:
		state = taskFailed
		answer = protocolError(o.err)
	default:
		answer, err = json.Marshal(o.res)
	}
	if err != nil {
		return err
	}
	_, err = s.e.s.Work.Handles().Change(context.Background(), s.pass().By(), s.owner, id, func(h *work.Handle) error {
		if taskStatus(h.State) != taskWorking {
			return errEnded
		}
		h.State, h.Waits = string(state), nil
		if waiting {
			h.Waits = answer
		} else {
			h.Answer = answer
		}
		return nil
	})
	return err
}

// protocolError is an error as the protocol writes it.
func protocolError(err error) []byte {
	e := (*jsonrpc.Error)(nil)
	if !errors.As(err, &e) {
		e = &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: err.Error()}
	}
	b, err := json.Marshal(map[string]any{"code": e.Code, "message": e.Message})
	if err != nil {
		panic("mcp: " + err.Error()) // a number and a text can be written
	}
	return b
}

// waitSince notes what was decided when a call was found to wait: it is made again when more is.
func (e *Edge) waitSince(id string, at uint64) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.waiting[id] = at
}

// claim notes that a call is made for a task, unless one is.
func (e *Edge) claim(id string, u *underway) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.calls[id] != nil || e.ending {
		return false
	}
	e.calls[id] = u
	return true
}

func (e *Edge) left(id string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.calls, id)
}

func (e *Edge) isEnding() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.ending
}

// callOf is the call of a task that is made in this process; nil for none.
func (e *Edge) callOf(id string) *underway {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.calls[id]
}

// taskOf is a task of the token, and of no other.
func (s *tokenServer) taskOf(ctx context.Context, id string) (work.Handle, error) {
	h, err := s.e.s.Work.Handles().Get(ctx, s.pass().By(), s.owner, id)
	if e := fault.AsError(err); e != nil && e.Kind == fault.KindNotFound {
		return h, invalid("Task not found: %.80q", id)
	}
	return h, err
}

// getTask says how a task stands. A call that waited is made again when something was decided since,
// with what the token is for now.
func (s *tokenServer) getTask(ctx context.Context, p *taskParams) (*taskResult, error) {
	h, err := s.taskOf(ctx, p.TaskID)
	if err != nil {
		return nil, err
	}
	req, _ := ctx.Value(requestKey{}).(sdk.Request)
	if h.Task != "" {
		return s.goalView(ctx, h, req)
	}
	if taskStatus(h.State) == taskWorking && s.e.callOf(h.ID) == nil {
		if h, err = s.goOn(ctx, h, req); err != nil {
			return nil, err
		}
	}
	if s.e.callOf(h.ID) != nil {
		h.Waits = nil
	}
	return s.viewOf(h, req), nil
}

// goOn makes a call again that waited for a decision, or whose process ended in the middle of it, if
// it is one that may be made again.
func (s *tokenServer) goOn(ctx context.Context, h work.Handle, req sdk.Request) (work.Handle, error) {
	if h.Waits != nil && s.e.waitsStill(h.ID) {
		return h, nil
	}
	at := s.e.s.Decided()
	u, making := newUnderway(ctx)
	u.mute.Store(true)
	if !s.e.claim(h.ID, u) {
		return h, nil
	}
	r, h, err := s.begin(ctx, h.ID, req)
	if err != nil || r == nil {
		s.e.left(h.ID)
		u.cancel()
		return h, err
	}
	ended := make(chan outcome, 1)
	s.keep(h.ID, u, ended, at)
	go func() {
		res, err := s.handle(making, r)
		if res == nil {
			ended <- outcome{nil, err}
			return
		}
		if res.Content == nil {
			res.Content = []sdk.Content{}
		}
		ended <- outcome{res, err}
	}()
	return h, nil
}

// begin is the call of a task that is to be made again; nil for none. That it does not wait any more
// is written before it is made: nobody takes it for one that was not, if the process dies.
func (s *tokenServer) begin(ctx context.Context, id string, req sdk.Request) (*sdk.CallToolRequest, work.Handle, error) {
	var call promised
	again := false
	h, err := s.e.s.Work.Handles().Change(ctx, s.pass().By(), s.owner, id, func(h *work.Handle) error {
		if again = false; taskStatus(h.State) != taskWorking {
			return nil
		}
		if err := json.Unmarshal(h.Call, &call); err != nil {
			return err
		}
		if h.Waits == nil && call.Name != executeCode { // which does nothing twice
			return interrupted(h)
		}
		again, h.Waits = true, nil
		return nil
	})
	if err != nil || !again {
		h.ID = id
		return nil, h, err
	}
	session, _ := req.GetSession().(*sdk.ServerSession)
	r := &sdk.CallToolRequest{Session: session, Params: &sdk.CallToolParamsRaw{Name: call.Name, Arguments: call.Arguments, Meta: sdk.Meta{
		sdk.MetaKeyProtocolVersion:    newEra,
		sdk.MetaKeyClientCapabilities: map[string]any{"extensions": map[string]any{extTasks: map[string]any{}}},
	}}}
	for name, v := range call.Meta {
		r.Params.Meta[name] = v
	}
	return r, h, nil
}

// waitsStill reports whether nothing was decided since a call was found to wait.
func (e *Edge) waitsStill(id string) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	at, known := e.waiting[id]
	return known && at == e.s.Decided()
}

// interrupted says of a call that its process ended in the middle of it.
func interrupted(h *work.Handle) error {
	if taskStatus(h.State) == taskWorking {
		h.State = string(taskFailed)
		h.Answer = protocolError(errors.New("the host ended while the call was made: it may have had its effect, or not. Find out before you make it again"))
	}
	return nil
}

// viewOf is what a client is told of a call that is answered later.
func (s *tokenServer) viewOf(h work.Handle, req sdk.Request) *taskResult {
	t := taskView(h)
	switch t.Status {
	case taskCompleted:
		t.Result = h.Answer
	case taskFailed:
		t.Error, t.StatusMessage = h.Answer, messageIn(h.Answer)
	case taskWorking:
		var w pause
		if h.Waits != nil && json.Unmarshal(h.Waits, &w) == nil {
			t.waitFor(h, "decision-"+w.Proposal, w.Message, w.question("It goes on when it is decided."), req)
		}
	}
	return t
}

func taskView(h work.Handle) *taskResult {
	return &taskResult{
		ResultType: complete, TaskID: h.ID, Status: taskStatus(h.State), CreatedAt: h.Created, LastUpdatedAt: h.Updated,
		TTLMs: h.Until.Sub(h.Created).Milliseconds(), PollIntervalMs: pollMS,
	}
}

// waitFor says that a task waits for a person. The client is asked to tell them, once, if it can; what
// it answers decides nothing.
func (t *taskResult) waitFor(h work.Handle, key, message, question string, req sdk.Request) {
	t.StatusMessage, t.PollIntervalMs = message+" (a person has to decide)", pollPersonMS
	if slices.Contains(h.Answered, key) || req == nil || !answersForms(req) {
		t.StatusMessage = question
		return
	}
	t.Status = taskInput
	t.InputRequests = sdk.InputRequestMap{key: form(question)}
}

func messageIn(e []byte) string {
	var v struct{ Message string }
	_ = json.Unmarshal(e, &v) // it was written here
	return v.Message
}

// updateTask notes that a client has answered questions. It decides nothing.
func (s *tokenServer) updateTask(ctx context.Context, p *taskParams) (*ack, error) {
	h, err := s.taskOf(ctx, p.TaskID)
	if err != nil {
		return nil, err
	}
	asked := s.asksFor(ctx, h)
	if _, ok := p.InputResponses[asked]; ok && asked != "" {
		_, err = s.e.s.Work.Handles().Change(ctx, s.pass().By(), s.owner, h.ID, func(h *work.Handle) error {
			if !slices.Contains(h.Answered, asked) {
				h.Answered = append(h.Answered, asked)
			}
			return nil
		})
	}
	return &ack{ResultType: complete}, err
}

// asksFor is the name of the question of a task; empty for none.
func (s *tokenServer) asksFor(ctx context.Context, h work.Handle) string {
	if h.Task != "" {
		if v, err := s.e.s.Work.Tasks().Show(ctx, s.pass().By(), h.Task); err == nil {
			return goalQuestion(v.Run)
		}
		return ""
	}
	var w pause
	if h.Waits == nil || json.Unmarshal(h.Waits, &w) != nil {
		return ""
	}
	return "decision-" + w.Proposal
}

// cancelTask ends a task. One that has ended stays as it is.
func (s *tokenServer) cancelTask(ctx context.Context, p *taskParams) (*ack, error) {
	h, err := s.taskOf(ctx, p.TaskID)
	if err != nil {
		return nil, err
	}
	if h.Task != "" {
		_, err := s.e.s.Work.Tasks().Cancel(ctx, s.pass().By(), work.TaskChange{ID: h.Task, Reason: "its client cancelled it"})
		if e := fault.AsError(err); e != nil && e.Kind != fault.KindConflict {
			return nil, s.wrong(err)
		}
		return &ack{ResultType: complete}, nil
	}
	_, err = s.e.s.Work.Handles().Change(ctx, s.pass().By(), s.owner, h.ID, func(h *work.Handle) error {
		if taskStatus(h.State) != taskWorking {
			return errEnded
		}
		h.State, h.Waits = string(taskCancelled), nil
		return nil
	})
	if u := s.e.callOf(h.ID); u != nil {
		u.cancel()
	}
	if errors.Is(err, errEnded) {
		err = nil
	}
	return &ack{ResultType: complete}, err
}

// question is what a person is told who has to decide.
func (w pause) question(then string) string {
	return fmt.Sprintf("%s\nLook at it: %s\nThen decide: %s, or %s\nWhat is answered here decides nothing. %s", w.Message, w.Show, w.Approve, w.Reject, then)
}

// form is a form without fields, for a person to read.
func form(message string) *sdk.ElicitParams {
	return &sdk.ElicitParams{Mode: "form", Message: message, RequestedSchema: json.RawMessage(`{"type":"object","properties":{}}`)}
}
