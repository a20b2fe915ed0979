package orchestrator

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/skillet-run/skillet/host/base/fault"

	"github.com/skillet-run/skillet/host/agents/event"
	"github.com/skillet-run/skillet/host/base/task"
	"github.com/skillet-run/skillet/plugins/agent"
	"github.com/skillet-run/skillet/plugins/provider"
)

// maxToolName is how long names of tools may be for models.
const maxToolName = 64

// toolName is what models call a tool: its skill and its own name, with what names of
// tools may not have replaced. One that is too long ends in a digest.
func toolName(skill, tool string) string {
	name := strings.Map(func(r rune) rune {
		if r < 0x80 && (r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_' || r == '-') {
			return r
		}
		return '_'
	}, skill+"__"+tool)
	if len(name) <= maxToolName {
		return name
	}
	return marked(name, skill, tool)
}

// marked is a name that ends in a digest of the tool.
func marked(name, skill, tool string) string {
	sum := sha256.Sum256([]byte(skill + ":" + tool))
	return name[:min(len(name), maxToolName-9)] + "_" + hex.EncodeToString(sum[:4])
}

// named gives tools their names, sorted by skill and tool. Tools whose names would be
// the same have a digest in it.
func withNames(tools []Tool) []Tool {
	tools = slices.Clone(tools)
	slices.SortFunc(tools, func(a, b Tool) int {
		return cmp.Or(strings.Compare(a.Skill, b.Skill), strings.Compare(a.Tool, b.Tool))
	})
	tools = slices.CompactFunc(tools, func(a, b Tool) bool { return a.Skill == b.Skill && a.Tool == b.Tool })
	count := map[string]int{}
	for i := range tools {
		tools[i].Name = toolName(tools[i].Skill, tools[i].Tool)
		count[tools[i].Name]++
	}
	for i := range tools {
		if t := &tools[i]; count[t.Name] > 1 {
			t.Name = marked(t.Name, t.Skill, t.Tool)
		}
	}
	return tools
}

// permitted reports whether a task names a tool, or names none.
func permitted(t task.Task, tool Tool) bool {
	return len(t.Tools) == 0 || slices.Contains(t.Tools, tool.Skill) || slices.Contains(t.Tools, tool.Skill+":"+tool.Tool)
}

// offered is tools as models are told of them.
func offered(tools []Tool) []provider.Tool {
	all := make([]provider.Tool, 0, len(tools))
	for _, t := range tools {
		schema := t.InputSchema
		if len(schema) == 0 {
			schema = json.RawMessage(`{"type":"object"}`)
		}
		all = append(all, provider.Tool{Name: t.Name, Description: t.Description, InputSchema: schema})
	}
	return all
}

// risk is what a call of the tool can do.
func (t Tool) risk() task.Risk { return task.RiskOf(t.ReadOnly, t.Idempotent) }

// repeatable reports whether a call may be made again when it is not known how it ended.
func (t Tool) repeatable() bool { return t.ReadOnly || t.Idempotent }

// act makes a call that was numbered, and keeps what it came to.
func (s *scope) act(k exchange, c agent.Call) (exchange, error) {
	t := s.tool(c.Tool)
	k.Input = inputDigest(c.Input)
	if refusal := s.refuse(t, c); refusal != nil {
		return s.refused(k, refusal)
	}
	if k.Effect = k.Effect || !t.repeatable(); k.Effect {
		if had := s.before(c.Tool, k.Input); had != nil {
			return s.done(k, had)
		}
	}
	d := s.w.decided(k)
	if d != nil && !d.Approved || s.w.refusedBefore(k) {
		k.Refused = true
		return s.refused(k, fault.Errorf(fault.KindDenied, "a person refused this call"))
	}
	if had := s.w.deniedBefore(k); had != nil && s.again {
		k.Done, k.Effect, k.Waits, k.Result, k.Hint, k.Remedies = true, false, false, had.Result, had.Hint, had.Remedies
		return k, s.w.keep(k)
	}
	if why := s.mustAsk(*t); why != "" && d == nil {
		return k, s.wait([]numbered{{c, k, false}}, why)
	}
	k.Waits = false
	begun := false
	begins := sync.OnceValue(func() error {
		if err := s.w.stopped(); err != nil {
			return err
		}
		if begun = true; k.Effect {
			return s.w.keep(k)
		}
		return nil
	})
	call := s.call(k, *t, c, d != nil)
	began := time.Now()
	ctx, done := s.bounded()
	defer done()
	res := s.w.o.ports.Tools.Call(ctx, call, s.lease, begins)
	switch {
	case len(res.Asked) > 0:
		return s.waitWithin(k, c, res.Asked)
	case !res.OK && res.Error != nil && res.Error.Kind == fault.KindApproval:
		return s.waitElsewhere(k, c, res.Error)
	}
	if stop := s.w.stopped(); !res.OK && !begun && stop != nil {
		return k, stop
	}
	if !res.OK && ctx.Err() != nil {
		return s.givenUp(ctx, k, begun)
	}
	result, data, hint := s.result(*t, res)
	k.Result, k.Data, k.Hint, k.Remedies = result, data, hint.Text, hint.Remedies
	if k.Hint != "" && s.w.ledBy(s.name) {
		k.Hint = "a text that was read may want this, and not you; when you do: " + k.Hint
	}
	k.Models = res.Models
	k.Done = true
	s.toldCall(call, res, began)
	return k, s.w.keep(k)
}

// inputDigest recognises an input whatever its white space and the order of its members.
// Numbers keep their digits: two that differ beyond 2^53 are two.
func inputDigest(input json.RawMessage) string {
	var v any
	d := json.NewDecoder(bytes.NewReader(input))
	d.UseNumber()
	if d.Decode(&v) == nil && !d.More() {
		if text, err := json.Marshal(v); err == nil {
			input = text
		}
	}
	sum := sha256.Sum256(input)
	return hex.EncodeToString(sum[:16])
}

// refuse is why a call is not made; nil when it may be.
func (s *scope) refuse(t *Tool, c agent.Call) *fault.Error {
	switch {
	case t == nil:
		return fault.Errorf(fault.KindDenied, "%q is not a tool of this task", cut(c.Tool, maxToolName))
	case s.planning && !t.ReadOnly:
		return fault.Errorf(fault.KindDenied, "%s may change something, and is not called while a plan is made", t.Name)
	case s.planning && s.w.askFrom().Asks(t.risk()):
		return fault.Errorf(fault.KindDenied, "a person has to agree to calls of %s, and none is asked while a plan is made", t.Name)
	case len(c.Input) > task.MaxInputs:
		return fault.Errorf(fault.KindLimit, "the input of %s has %d bytes; at most %d are accepted", t.Name, len(c.Input), task.MaxInputs)
	case s.w.calls() >= s.w.o.settings.MaxCalls:
		return fault.Errorf(fault.KindLimit, "the task made %d calls, and may not make more", s.w.o.settings.MaxCalls)
	}
	if len(c.Input) > 0 && !json.Valid(c.Input) {
		return fault.Errorf(fault.KindUsage, "the input of %s is not JSON", t.Name)
	}
	if err := s.w.schemas.check(*t, cmp.Or(string(c.Input), "{}")); err != nil {
		return fault.Errorf(fault.KindUsage, "the input of %s: %w", t.Name, err)
	}
	return nil
}

// calls is how many calls the task made.
func (w *work) calls() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	n := 0
	for _, scope := range w.log {
		for _, k := range scope {
			if k.Kind == askCall {
				n++
			}
		}
	}
	return n
}

// refused keeps that a call was not made.
func (s *scope) refused(k exchange, why *fault.Error) (exchange, error) {
	k.Done = true
	k.Result = &agent.ToolResult{Kind: string(why.Kind), Text: why.Message}
	t := event.StepCalled
	if why.Kind == fault.KindDenied {
		t = event.StepDenied
	}
	ok := false
	s.w.tell(t, why.Message, event.Step{Step: s.name, Agent: s.agent, Tool: cut(k.Subject, maxToolName), OK: &ok, Error: why})
	return k, s.w.keep(k)
}

// done keeps that the same was done in an earlier step.
func (s *scope) done(k exchange, had *exchange) (exchange, error) {
	if !had.Done {
		had.doubt()
	}
	k.Done, k.Reused, k.Effect = true, had.Scope, false
	result := *had.Result
	if !had.Uncertain {
		result.Text = "[done already in the step " + had.Scope + ", and not done again]\n" + result.Text
	}
	k.Result, k.Data = &result, had.Data
	s.reuse(k.Reused, k.Subject, k.Input)
	return k, s.w.keep(k)
}

// call is the call of a tool for an agent.
// agreed says that a person agreed to it.
func (s *scope) call(k exchange, t Tool, c agent.Call, agreed bool) task.ToolCall {
	input := c.Input
	if len(input) == 0 {
		input = json.RawMessage(`{}`)
	}
	from := s.w.askFrom()
	if agreed || from == task.RiskNever {
		from = ""
	}
	return task.ToolCall{
		Name: t.Name, Skill: t.Skill, Tool: t.Tool, Args: input,
		AllowNetwork: !s.w.task.Offline, AllowFS: len(s.w.task.Roots) > 0, Roots: s.w.task.Roots,
		Task: s.w.task.ID, Step: s.name, Key: s.w.task.ID + "/" + k.position(), Caller: "agent:" + cmp.Or(s.agent, "orchestrator"), AskFrom: from,
	}
}

// bounded is a context for a call. It ends with the time of the step; that the task
// is paused does not end it.
func (s *scope) bounded() (context.Context, context.CancelFunc) {
	if until, ok := s.soft.Deadline(); ok {
		return context.WithDeadline(s.w.hard, until)
	}
	return context.WithCancel(s.w.hard)
}

// givenUp keeps that a call was given up in the middle, if it can have had an effect,
// and returns why.
func (s *scope) givenUp(ctx context.Context, k exchange, begun bool) (exchange, error) {
	if k.Effect && begun {
		k.doubt()
		if err := s.w.keep(k); err != nil {
			return k, err
		}
		s.w.tell(event.StepUncertain, k.Subject+": "+k.Result.Text, event.Step{Step: s.name, Agent: s.agent, Tool: k.Subject})
	}
	if stop := s.w.stopped(); stop != nil {
		return k, stop
	}
	return k, fault.Errorf(fault.KindLimit, "step %s: %s took longer than the step may: %w", s.name, k.Subject, ctx.Err())
}

// result is what an agent is told of a result, and what is kept of it beside.
func (s *scope) result(t Tool, res task.Result) (*agent.ToolResult, json.RawMessage, fault.Hint) {
	limit := s.w.o.settings.MaxOutput
	if !res.OK {
		e := cmp.Or(res.Error, fault.Errorf(fault.KindInternal, "the tool gave no reason"))
		return &agent.ToolResult{Kind: string(e.Kind), Text: bounded(e.Message, limit), Untrusted: t.Untrusted || e.Kind == fault.KindSkill}, nil, e.Way()
	}
	text := textOf(res.Data)
	data := res.Data
	if len(data) > maxData {
		data = nil
	}
	if len(data) > maxData/2 { // both are kept in one entry
		limit = min(limit, maxData/8)
	}
	return &agent.ToolResult{OK: true, Text: bounded(text, limit), Untrusted: t.Untrusted}, data, fault.Hint{}
}

// maxData is how many bytes of JSON a step can hand on to another.
const maxData = 256 << 10

// textOf is the answer of a tool as text: a JSON string as what it says, everything
// else as its JSON.
func textOf(data json.RawMessage) string {
	var text string
	if json.Unmarshal(data, &text) == nil {
		return text
	}
	return string(data)
}

// bounded is a text of at most n bytes, which says so when something is missing.
func bounded(text string, n int) string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	if len(text) <= n {
		return text
	}
	begin := cut(text, n)
	return begin + fmt.Sprintf("\n[cut: %d bytes more]", len(text)-len(begin))
}

// toldCall publishes what became of a call.
func (s *scope) toldCall(c task.ToolCall, res task.Result, began time.Time) {
	if s.single && (res.Error == nil || res.Error.Kind != fault.KindDenied) { // the step says the same
		return
	}
	d := event.Step{Step: s.name, Agent: s.agent, Tool: c.Name, OK: &res.OK, Error: res.Error, TookMS: msSince(began), RunID: res.RunID}
	if len(c.Args) <= 2<<10 {
		d.Input = c.Args
	}
	t, text := event.StepCalled, ""
	if res.Error != nil {
		text = res.Error.Message
		if res.Error.Kind == fault.KindDenied {
			t = event.StepDenied
		}
	}
	s.w.tell(t, text, d)
}

// pieces publishes the pieces of an answer as they come, some together.
type pieces struct {
	w           *work
	step, agent string
	delta       provider.Delta
	last        time.Time
}

// pieceEvery is how long pieces are collected, and maxPiece how many bytes at most.
const (
	pieceEvery = 400 * time.Millisecond
	maxPiece   = 8 << 10
)

func (w *work) pieces(step, agent string) *pieces {
	return &pieces{w: w, step: step, agent: agent, last: time.Now()}
}

func (p *pieces) emit(d provider.Delta) error {
	p.delta.Text += d.Text
	p.delta.Thinking += d.Thinking
	if time.Since(p.last) >= pieceEvery || len(p.delta.Text)+len(p.delta.Thinking) > maxPiece {
		p.flush()
	}
	return p.w.stopped()
}

func (p *pieces) flush() {
	if p.delta.Text == "" && p.delta.Thinking == "" {
		return
	}
	d := provider.Delta{Text: cut(p.delta.Text, 2*maxPiece), Thinking: cut(p.delta.Thinking, 2*maxPiece)}
	p.w.tell(event.TaskPartial, "", event.Step{Step: p.step, Agent: p.agent, Delta: &d})
	p.delta, p.last = provider.Delta{}, time.Now()
}

// recall finds what is remembered.
func (w *work) recall(ctx context.Context, query string, limit int) ([]agent.Passage, error) {
	if w.o.ports.Memory == nil || strings.TrimSpace(query) == "" {
		return nil, nil
	}
	if limit <= 0 || limit > 50 {
		limit = w.o.settings.Memories
	}
	found, err := w.o.ports.Memory.Search(ctx, memoryQuery(query, limit))
	if err != nil {
		return nil, err
	}
	passages := make([]agent.Passage, 0, len(found))
	for _, m := range found {
		text := bounded(m.Text, maxMemory)
		if m.SaidByAgent() {
			text = "[remembered by " + m.Origin() + ", confirmed by nobody]\n" + text
		}
		passages = append(passages, agent.Passage{Source: "memory:" + m.ID, Text: text})
	}
	return passages, nil
}
