package orchestrator

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/skillet-run/skillet/host/base/fault"

	"github.com/hashicorp/go-hclog"

	"github.com/skillet-run/skillet/host/agents/event"
	"github.com/skillet-run/skillet/host/agents/llm"
	"github.com/skillet-run/skillet/host/agents/llm/budget"
	"github.com/skillet-run/skillet/host/agents/memory"
	"github.com/skillet-run/skillet/host/agents/memory/hashing"
	"github.com/skillet-run/skillet/host/base/store"
	"github.com/skillet-run/skillet/host/base/task"
	agentdef "github.com/skillet-run/skillet/manifests/agent"
	"github.com/skillet-run/skillet/plugins/agent"
	"github.com/skillet-run/skillet/plugins/provider"
)

// A script is an agent that does what a test says.
type script struct {
	run  func(ctx context.Context, t agent.Task, h agent.Host) (agent.Report, error)
	plan func(ctx context.Context, t agent.Task, h agent.Host) (agent.Plan, error)
}

func (s script) Info(context.Context) (agent.Info, error) { return agent.Info{Name: "script"}, nil }
func (s script) Health(context.Context) error             { return nil }

func (s script) Run(ctx context.Context, t agent.Task, h agent.Host) (agent.Report, error) {
	if s.run == nil {
		return agent.Report{Done: true, Answer: "done", Confidence: 0.9}, nil
	}
	return s.run(ctx, t, h)
}

func (s script) Plan(ctx context.Context, t agent.Task, h agent.Host) (agent.Plan, error) {
	if s.plan == nil {
		return agent.Plan{}, errors.New("this agent makes no plans")
	}
	return s.plan(ctx, t, h)
}

// A lab is an orchestrator with a real store, bus, budget and memory, and with agents,
// tools and models that do what a test says.
type lab struct {
	*Orchestrator
	t     *testing.T
	store store.Store
	bus   *event.Bus
	mem   *memory.Memory

	mu     sync.Mutex
	agents map[string]script
	defs   map[string]Definition
	tools  []Tool
	calls  []task.ToolCall
	answer func(task.ToolCall) task.Result
	spend  func(*budget.Lease) task.Result      // what a skill does that asks models
	load   func(context.Context)                // before it begins
	wait   func(context.Context, task.ToolCall) // before it answers
	think  func(llm.Ask) (llm.Answer, error)
	asks   []llm.Ask
	told   []Notice
	props  []agent.Skill
}

func newLab(t *testing.T, s store.Store, settings Settings) *lab {
	t.Helper()
	if s == nil {
		s = store.Memory()
		t.Cleanup(func() { s.Close() })
	}
	log := hclog.NewNullLogger()
	l := &lab{t: t, store: s, bus: event.NewBus(log, s), agents: map[string]script{}, defs: map[string]Definition{}}
	t.Cleanup(l.bus.Close)
	var err error
	if l.mem, err = memory.Open(t.Context(), log, s, l.bus, hashing.New(64), memory.Settings{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.mem.Close() })
	l.tool("look", Tool{ReadOnly: true})
	l.tool("put", Tool{Idempotent: true})
	l.tool("send", Tool{})
	l.tool("page", Tool{ReadOnly: true, Untrusted: true})
	l.agent("general", script{})
	if settings.Lease == 0 {
		settings.Lease = 400 * time.Millisecond
	}
	l.Orchestrator = New(log, s, l.bus, Ports{
		Models: l, Tools: bench{l}, Agents: l, Memory: l.mem, Proposals: l, Notifier: l,
		Budget: budget.Open(log, s.KV(), l.bus, budget.Settings{}),
	}, settings)
	return l
}

func (l *lab) tool(name string, t Tool) {
	t.Skill, t.Tool, t.Description = "lab", name, "does "+name
	t.InputSchema = json.RawMessage(`{"type":"object","properties":{"n":{"type":["number","string"]},"text":{"type":"string"},"list":{}},"additionalProperties":false}`)
	l.tools = append(l.tools, t)
}

func (l *lab) agent(name string, s script, tools ...string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.agents[name] = s
	l.defs[name] = Definition{Definition: agentdef.Definition{
		Name: name, Description: name, Tier: agentdef.TierBalanced, SystemPrompt: "You are " + name + ".", Tools: tools,
	}, AnyTool: len(tools) == 0}
}

func (l *lab) define(name string, change func(*Definition)) {
	d := l.defs[name]
	change(&d)
	l.defs[name] = d
}

// bench is the Tools of a lab: List is that of tasks in a lab itself.
type bench struct{ *lab }

func (b bench) List(context.Context, task.Task) ([]Tool, error) { return slices.Clone(b.tools), nil }

func (l *lab) Definitions(context.Context) ([]Definition, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	var all []Definition
	for _, name := range slices.Sorted(maps.Keys(l.defs)) {
		all = append(all, l.defs[name])
	}
	return all, nil
}

func (l *lab) Agent(_ context.Context, name string) (agent.Agent, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	a, ok := l.agents[name]
	if !ok {
		return nil, fmt.Errorf("no agent %s", name)
	}
	return a, nil
}

func (l *lab) Generate(_ context.Context, a llm.Ask) (llm.Answer, error) {
	l.mu.Lock()
	l.asks = append(l.asks, a)
	think := l.think
	l.mu.Unlock()
	if think != nil {
		return think(a)
	}
	return said("ok"), nil
}

// said is an answer of a model.
func said(text string) llm.Answer {
	return llm.Answer{Provider: "lab", Response: provider.Response{
		Model: "m", Text: text, Finish: provider.FinishStop, Usage: provider.Usage{InputTokens: 10, OutputTokens: 5},
	}}
}

// Call implements Tools.
func (l *lab) Call(ctx context.Context, c task.ToolCall, pays *budget.Lease, begins func() error) task.Result {
	if l.load != nil {
		l.load(ctx)
	}
	if err := begins(); err != nil {
		return task.Result{Error: fault.AsError(err)}
	}
	l.mu.Lock()
	l.calls = append(l.calls, c)
	answer := l.answer
	l.mu.Unlock()
	if l.wait != nil {
		l.wait(ctx, c)
	}
	if l.spend != nil {
		return l.spend(pays)
	}
	if answer != nil {
		return answer(c)
	}
	return ok(fmt.Sprintf(`{"tool":%q,"args":%s}`, c.Tool, c.Args))
}

func ok(data string) task.Result { return task.Result{OK: true, Data: json.RawMessage(data)} }

func failing(k fault.Kind, message string) task.Result {
	return task.Result{Error: fault.Errorf(k, "%s", message)}
}

func (l *lab) Propose(_ context.Context, _ string, s agent.Skill) (string, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.props = append(l.props, s)
	return fmt.Sprintf("p%d", len(l.props)), nil
}

func (l *lab) Notify(_ context.Context, n Notice) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.told = append(l.told, n)
	return nil
}

// called are the tools that were called, in order.
func (l *lab) called() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	var names []string
	for _, c := range l.calls {
		names = append(names, c.Tool)
	}
	return names
}

func (l *lab) submit(change func(*task.Task)) string {
	l.t.Helper()
	t := task.Task{Goal: "count the words of the page", Owner: "human:ada", Roots: []string{"/work"}, Planning: task.PlanNever}
	if change != nil {
		change(&t)
	}
	r, err := l.Submit(l.t.Context(), t)
	if err != nil {
		l.t.Fatal(err)
	}
	return r.TaskID
}

func (l *lab) run(id string) task.Run {
	l.t.Helper()
	r, err := l.Run(l.t.Context(), id)
	if err != nil {
		l.t.Fatalf("%v (%+v)", err, r)
	}
	return r
}

// plans makes the planner answer with a plan of steps.
func (l *lab) plans(p agent.Plan) {
	l.agent("planner", script{plan: func(context.Context, agent.Task, agent.Host) (agent.Plan, error) { return p, nil }})
}

func planned(t *task.Task) { t.Planning = task.PlanAlways }

func call(h agent.Host, tool, input string) (agent.ToolResult, error) {
	return h.Call(context.Background(), agent.Call{Tool: tool, Input: json.RawMessage(input)})
}

func thought(h agent.Host, text string) (provider.Response, error) {
	return h.Think(context.Background(), agent.Thought{Purpose: "act", Request: provider.Request{Messages: []provider.Message{{Role: provider.RoleUser, Text: text}}}})
}

// eventTypes are the types of a task's events, in order, each once in a row.
func (l *lab) eventTypes(id string) []string {
	l.t.Helper()
	all, err := l.Logs(l.t.Context(), id, 0)
	if err != nil {
		l.t.Fatal(err)
	}
	var types []string
	for _, e := range all {
		types = append(types, string(e.Type))
	}
	return slices.Compact(types)
}

func wantState(t *testing.T, r task.Run, s task.State) {
	t.Helper()
	if r.State != s {
		var why []string
		for _, st := range r.Steps {
			why = append(why, fmt.Sprintf("%s %s %v", st.ID, st.State, st.Error))
		}
		t.Fatalf("the task is %s (%s), want %s; steps: %s; report %+v", r.State, r.Reason, s, strings.Join(why, "; "), r.Report)
	}
}

func seconds(n int) time.Duration { return time.Duration(n) * time.Second }
