package orchestrator

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/skillet-run/skillet/host/base/fault"

	"github.com/skillet-run/skillet/host/agents/event"
	"github.com/skillet-run/skillet/host/agents/llm"
	"github.com/skillet-run/skillet/host/agents/llm/budget"
	"github.com/skillet-run/skillet/host/agents/memory"
	"github.com/skillet-run/skillet/host/base/task"
	"github.com/skillet-run/skillet/plugins/agent"
	"github.com/skillet-run/skillet/plugins/provider"
)

// ErrDiverged: an agent that was run again did not ask what it had asked before, so
// that it cannot be answered with what was kept.
var ErrDiverged = errors.New("the agent does not ask what it asked before")

// A scope is what an agent may call back, for one step and one run of it. It answers
// with what is kept as long as there is something, and keeps what is new.
type scope struct {
	w     *work
	name  string // of the step
	agent string
	task  agent.Task
	tools []Tool
	lease *budget.Lease
	// again has calls whose effect is there already answered with what is known of it.
	again bool
	// single is the one call of a step without an agent, and approval says that a person
	// has to agree to it whatever its risk.
	single, approval bool
	// planning means that it may call only tools that change nothing.
	planning bool
	// thoughts is how often the agent may think; 0 for no bound of its own.
	thoughts int
	soft     context.Context

	mu     sync.Mutex
	next   int
	closed bool
	fatal  error // why nothing more is answered
	used   map[string]int
	thinks int
	waits  []task.WaitingCall // what waits for a person, why, and the proposal if there is one
	why    *fault.Error

	proposal string
}

// close has everything that the agent still asks fail.
func (s *scope) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
}

// stopped is why the agent was not answered any more; nil when it was.
func (s *scope) stopped() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.fatal
}

// give up on the scope: nothing more is answered.
func (s *scope) giveUp(err error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fatal == nil {
		s.fatal = err
	}
	return s.fatal
}

// take numbers what is asked, and finds what is kept under that number.
func (s *scope) take(kind, subject string, asked any) (k exchange, found bool, err error) {
	digest, err := digestOf(struct {
		Kind  string `json:"kind"`
		Asked any    `json:"asked"`
	}{kind, asked})
	if err != nil {
		return k, false, fault.Errorf(fault.KindUsage, "what the agent asks is not JSON: %w", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return k, false, errors.New("the agent's work on this step is over")
	}
	if s.fatal != nil {
		return k, false, s.fatal
	}
	s.next++
	s.w.mu.Lock()
	k, found = s.w.log[s.name][s.next]
	calls := len(s.w.log[s.name])
	s.w.mu.Unlock()
	switch {
	case found && k.Digest != digest:
		s.fatal = fault.Errorf(fault.KindConflict, "step %s: %w: number %d was %s %s, and is %s %s now", s.name, ErrDiverged, s.next, k.Kind, k.Subject, kind, subject).
			WithHint("the agent, its definition or its tools changed since; submit the task again")
		return k, false, s.fatal
	case found:
		return k, true, nil
	case calls >= 2*s.w.o.settings.MaxCalls:
		s.fatal = fault.Errorf(fault.KindLimit, "step %s: the agent asked %d things, and may not ask more", s.name, calls)
		return k, false, s.fatal
	}
	return exchange{Scope: s.name, Number: s.next, Kind: kind, Digest: digest, At: time.Now().UTC(), Subject: cut(subject, 200)}, false, nil
}

// ready is why nothing new may be asked; nil when it may.
func (s *scope) ready(ctx context.Context) error {
	if err := s.w.stopped(); err != nil {
		return s.giveUp(err)
	}
	if err := s.soft.Err(); err != nil {
		return s.giveUp(fault.Errorf(fault.KindLimit, "step %s: it took longer than it may", s.name))
	}
	return ctx.Err()
}

// join is a context that ends with either.
func join(ctx, with context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(with, func() { cancel(context.Cause(with)) })
	return ctx, func() { stop(); cancel(nil) }
}

// Think implements agent.Host.
func (s *scope) Think(ctx context.Context, t agent.Thought) (provider.Response, error) {
	t.Request = normalised(t.Request)
	k, found, err := s.take(askThink, t.Purpose, t)
	if err != nil {
		return provider.Response{}, err
	}
	if found && k.Done {
		s.count()
		return answered(k)
	}
	if err := s.ready(ctx); err != nil {
		return provider.Response{}, err
	}
	if err := s.mayThink(t); err != nil {
		return provider.Response{}, s.giveUp(err)
	}
	ctx, done := join(ctx, s.soft)
	defer done()
	pieces := s.w.pieces(s.name, s.agent)
	a, err := s.w.o.ports.Models.Generate(ctx, s.ask(t, pieces))
	pieces.flush()
	if err != nil {
		return provider.Response{}, s.unanswered(ctx, k, err)
	}
	a.Calls, a.Opaque = withoutEmpty(a.Calls), orNull(a.Opaque)
	k.Done, k.Response, k.Provider, k.MicroUSD = true, &a.Response, a.Provider, budget.MicroUSD(a.USD)
	if err := s.w.keep(k); err != nil {
		return provider.Response{}, s.giveUp(err)
	}
	return a.Response, nil
}

// asked is a call as it is recognised, whether its input is JSON or not.
func asked(c agent.Call) []string { return []string{c.Tool, string(c.Input)} }

// normalised is a request in which JSON that is left out is nil, however it came.
func normalised(r provider.Request) provider.Request {
	r.Schema = orNull(r.Schema)
	r.Tools = slices.Clone(r.Tools)
	for i := range r.Tools {
		r.Tools[i].InputSchema = orNull(r.Tools[i].InputSchema)
	}
	r.Messages = slices.Clone(r.Messages)
	for i := range r.Messages {
		m := &r.Messages[i]
		m.Calls, m.Opaque = withoutEmpty(m.Calls), orNull(m.Opaque)
	}
	return r
}

func withoutEmpty(calls []provider.ToolCall) []provider.ToolCall {
	calls = slices.Clone(calls)
	for i := range calls {
		calls[i].Input = orNull(calls[i].Input)
	}
	return calls
}

func orNull(b json.RawMessage) json.RawMessage {
	if len(b) == 0 {
		return nil
	}
	return b
}

// answered is what is kept of a thought.
func answered(k exchange) (provider.Response, error) {
	if err := k.failed(); err != nil {
		return provider.Response{}, err
	}
	return *k.Response, nil
}

// unanswered keeps that the host could not answer, because the agent may go on from
// there. When the work stops or there is no budget left, it does not.
func (s *scope) unanswered(ctx context.Context, k exchange, err error) error {
	if stop := s.w.stopped(); stop != nil {
		return s.giveUp(stop)
	}
	if ctx.Err() != nil {
		return s.giveUp(fmt.Errorf("step %s: %w", s.name, context.Cause(ctx)))
	}
	if errors.Is(err, budget.ErrExhausted) {
		return s.giveUp(err)
	}
	k.Done, k.Failure = true, fault.AsError(err)
	var of *provider.Error
	if errors.As(err, &of) {
		k.Class = of.Class
		k.Failure.Message = of.Message
	}
	k.Final = errors.Is(err, llm.ErrNoModel) || k.Class == provider.ClassAuth
	if err := s.w.keep(k); err != nil {
		return s.giveUp(err)
	}
	return k.failed()
}

func (s *scope) count() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.thinks++
}

// mayThink refuses a thought beyond what the agent may have, and tools in it that
// are not the task's: a model is told of nothing that cannot be called.
func (s *scope) mayThink(t agent.Thought) error {
	s.count()
	if s.thoughts > 0 && s.thinks > s.thoughts {
		return fault.Errorf(fault.KindLimit, "step %s: the agent %s reached its limit of %d iterations", s.name, s.agent, s.thoughts).
			WithHint("raise max_iterations of the agent")
	}
	for _, tool := range t.Request.Tools {
		if s.tool(tool.Name) == nil {
			return fault.Errorf(fault.KindDenied, "step %s: %q is not a tool of the task", s.name, cut(tool.Name, 64))
		}
	}
	return nil
}

// ask is what is asked of a model. The bounds of the agent hold whatever it asks.
func (s *scope) ask(t agent.Thought, p *pieces) llm.Ask {
	r := t.Request
	r.Model = ""
	if s.task.MaxTokens > 0 && (r.MaxTokens == 0 || r.MaxTokens > s.task.MaxTokens) {
		r.MaxTokens = s.task.MaxTokens
	}
	tier := llm.Tier(t.Tier)
	if !tier.Known() {
		tier = llm.Tier(s.task.Tier)
	}
	return llm.Ask{
		Tier: tier, Purpose: cut(t.Purpose, 64), Request: r, Lease: s.lease,
		Task: s.w.task.ID, Step: s.name, Agent: s.agent, Principal: s.w.task.Owner, Emit: p.emit,
	}
}

// tool is the tool of a name; nil when the agent has none.
func (s *scope) tool(name string) *Tool {
	i := slices.IndexFunc(s.tools, func(t Tool) bool { return t.Name == name })
	if i < 0 {
		return nil
	}
	return &s.tools[i]
}

// Call implements agent.Host.
func (s *scope) Call(ctx context.Context, c agent.Call) (agent.ToolResult, error) {
	k, found, err := s.take(askCall, c.Tool, asked(c))
	if err != nil {
		return agent.ToolResult{}, err
	}
	return s.settle(ctx, k, found, c)
}

// A numbered is a call that has its number, with what is kept of it.
type numbered struct {
	agent.Call
	k     exchange
	found bool
}

// Calls implements agent.Parallel: the calls are numbered in their order. Those that
// only read are made side by side, and one that may change something when all before
// it have ended and none after it has begun. When some need a person, none is made
// before that person has decided about them.
func (s *scope) Calls(ctx context.Context, calls []agent.Call) ([]agent.ToolResult, error) {
	all := make([]numbered, len(calls))
	for i, c := range calls {
		k, found, err := s.take(askCall, c.Tool, asked(c))
		if err != nil {
			return nil, err
		}
		all[i] = numbered{c, k, found}
	}
	if err := s.askFirst(ctx, all); err != nil {
		return nil, err
	}
	var results []agent.ToolResult
	for len(all) > 0 {
		n := s.together(all)
		some, err := s.sideBySide(ctx, all[:n])
		if err != nil {
			return nil, err
		}
		results, all = append(results, some...), all[n:]
	}
	return results, nil
}

// together is how many calls at the beginning of a list may be made side by side: one
// that may change something is alone.
func (s *scope) together(calls []numbered) int {
	n := slices.IndexFunc(calls, func(c numbered) bool {
		t := s.tool(c.Tool)
		return t != nil && !t.ReadOnly
	})
	switch n {
	case -1:
		return len(calls)
	case 0:
		return 1
	}
	return n
}

// sideBySide makes calls, as many at once as the settings say.
func (s *scope) sideBySide(ctx context.Context, calls []numbered) ([]agent.ToolResult, error) {
	results, errs := make([]agent.ToolResult, len(calls)), make([]error, len(calls))
	places := make(chan struct{}, s.w.o.settings.Parallel)
	var running sync.WaitGroup
	for i, c := range calls {
		places <- struct{}{}
		running.Go(func() {
			defer func() { <-places }()
			results[i], errs[i] = s.settle(ctx, c.k, c.found, c.Call)
		})
	}
	running.Wait()
	return results, errors.Join(errs...)
}

// settle answers a numbered call with what is kept, or makes it.
func (s *scope) settle(ctx context.Context, k exchange, found bool, c agent.Call) (agent.ToolResult, error) {
	switch {
	case found && k.Done:
		s.reuse(k.Reused, k.Subject, k.Input)
		return *k.Result, nil
	case found && k.Effect && !k.Waits:
		return s.uncertain(k)
	}
	if err := s.ready(ctx); err != nil {
		return agent.ToolResult{}, err
	}
	k, err := s.act(k, c)
	if err != nil {
		return agent.ToolResult{}, s.giveUp(err)
	}
	return *k.Result, nil
}

// uncertain answers a call that was begun by a process that died, and may not be
// made again.
func (s *scope) uncertain(k exchange) (agent.ToolResult, error) {
	k.doubt()
	if err := s.w.keep(k); err != nil {
		return agent.ToolResult{}, s.giveUp(err)
	}
	s.w.tell(event.StepUncertain, k.Subject+": "+k.Result.Text, event.Step{Step: s.name, Agent: s.agent, Tool: k.Subject})
	return *k.Result, nil
}

// doubt records that a call may or may not have had its effect.
func (k *exchange) doubt() {
	k.Done, k.Uncertain = true, true
	k.Result = &agent.ToolResult{
		Kind: string(fault.KindConflict),
		Text: "the call was begun and given up: it may or may not have had its effect, and is not made again",
	}
}

// reuse counts that an effect of another scope was answered with.
func (s *scope) reuse(from, tool, input string) {
	if from == "" {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.used == nil {
		s.used = map[string]int{}
	}
	s.used[tool+" "+input]++
}

// before is a call in another step that had the effect already which this one would
// have again; nil when there is none.
func (s *scope) before(tool, input string) *exchange {
	if !s.again {
		return nil
	}
	s.mu.Lock()
	n := s.used[tool+" "+input]
	s.mu.Unlock()
	s.w.mu.Lock()
	defer s.w.mu.Unlock()
	if had := s.w.log.had(s.name, tool, input); n < len(had) {
		return &had[n]
	}
	return nil
}

// Recall implements agent.Host.
func (s *scope) Recall(ctx context.Context, query string, limit int) ([]agent.Passage, error) {
	k, found, err := s.take(askRecall, query, []any{query, limit})
	if err != nil {
		return nil, err
	}
	if found && k.Done {
		return k.Passages, k.failed()
	}
	if err := s.ready(ctx); err != nil {
		return nil, err
	}
	k.Passages, err = s.w.recall(ctx, query, limit)
	if err != nil {
		return nil, s.unanswered(ctx, k, err)
	}
	k.Done = true
	if err := s.w.keep(k); err != nil {
		return nil, s.giveUp(err)
	}
	return k.Passages, nil
}

// maxMemory is how many bytes of a memory an agent is shown.
const maxMemory = 8 << 10

// Remember implements agent.Host. What memory does not take as it is, such as a text
// that is too long, is an error.
func (s *scope) Remember(ctx context.Context, m agent.Memory) error {
	k, found, err := s.take(askRemember, m.Area, m)
	if err != nil || found && k.Done {
		return errors.Join(err, k.failed())
	}
	if err := s.ready(ctx); err != nil || s.w.o.ports.Memory == nil {
		return err
	}
	d := memory.Draft{
		Text: strings.ToValidUTF8(m.Text, "\uFFFD"), Area: memory.Area(m.Area), Tags: m.Tags, Task: s.w.task.ID,
		Metadata: map[string]string{memory.By: "agent:" + s.agent},
	}
	if d.Area == "" {
		d.Area = memory.Main
	}
	if _, err := s.w.o.ports.Memory.Add(ctx, d); err != nil {
		return s.unanswered(ctx, k, fmt.Errorf("remember: %w", err))
	}
	k.Done = true
	if err := s.w.keep(k); err != nil {
		return s.giveUp(err)
	}
	return nil
}

// Progress implements agent.Host. It is told, and not kept.
func (s *scope) Progress(_ context.Context, p agent.Progress) error {
	s.mu.Lock()
	closed, fatal := s.closed, s.fatal
	s.mu.Unlock()
	if closed || fatal != nil {
		return errors.Join(fatal, errors.New("the agent's work on this step is over"))
	}
	if p.Percent != nil {
		percent := min(100, max(0, *p.Percent))
		p.Percent = &percent
		s.w.percent(s.name, percent)
	}
	s.w.tell(event.TaskProgress, p.Message, event.Step{Step: s.name, Agent: s.agent, Percent: p.Percent})
	return nil
}

// Propose implements agent.Host.
func (s *scope) Propose(ctx context.Context, sk agent.Skill) (string, error) {
	k, found, err := s.take(askPropose, "skill", sk)
	if err != nil {
		return "", err
	}
	if found && k.Done {
		return k.Name, k.failed()
	}
	if err := s.ready(ctx); err != nil {
		return "", err
	}
	if s.w.o.ports.Proposals == nil {
		err = fault.Errorf(fault.KindDenied, "nobody takes proposals")
	} else {
		k.Name, err = s.w.o.ports.Proposals.Propose(ctx, s.w.task.ID, sk)
	}
	if err != nil {
		return "", s.unanswered(ctx, k, err)
	}
	k.Done = true
	if err := s.w.keep(k); err != nil {
		return "", s.giveUp(err)
	}
	return k.Name, nil
}
