// Package orchestrator gets goals done: it takes a task in, finds what is
// remembered about it, asks an agent for a plan, does the steps of the plan side by
// side with tools and agents, looks whether the goal is met, tries in other ways when
// it is not, and reports.
//
// The work is durable. What a task has come to is one entry of the store, written
// after each step, and everything an agent asks of its host is numbered and kept:
// when the agent or the host dies, the agent is run again from the beginning and is
// answered with what was kept until it is where it was. A call of a tool that was
// begun and not finished is made again only when the tool is read-only or
// idempotent; otherwise its result says that nobody knows whether it had an effect.
//
// One process at a time works on a task: it holds a lock of the store, which is free
// again some seconds after the process died. What a former holder still wants to
// write is refused by the lock's fence.
//
// The package refuses to know grants. Nothing here gives one, and none of its ports
// can: a tool call is made in the name of an agent, with the tools and directories
// of its task, and whoever answers it decides what it may do. The only thing that a
// person decides here is whether a step of a plan may begin, and that takes an
// [approval.Human], which no agent can make.
//
// # Key layout
//
//	task/envelope/$id/$x      JSON: task.Task; never changes. The run says which one it is of
//	task/run/$id              JSON: task.Run; the truth about the task's state
//	task/doc/$id/$name        JSON: what an agent was given, so that it is given the same again
//	task/output/$id/$step     JSON: what a step answered
//	task/kept/$id/$scope/$n   JSON: the n-th thing that was asked in a step, and the answer
//	task/history              JSON: what earlier tasks cost, for estimates
//
// The lock of a task is task/$id.
package orchestrator

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/skillet-run/skillet/host/agents/event"
	"github.com/skillet-run/skillet/host/agents/llm"
	"github.com/skillet-run/skillet/host/agents/llm/budget"
	"github.com/skillet-run/skillet/host/agents/memory"
	"github.com/skillet-run/skillet/host/base/store"
	"github.com/skillet-run/skillet/host/base/task"
	agentdef "github.com/skillet-run/skillet/manifests/agent"
	"github.com/skillet-run/skillet/plugins/agent"
)

// Tools are what tasks may use. An answer never waits for a person: a call that
// needs one answers with an error of kind [fault.KindApproval].
type Tools interface {
	// List is the tools that a task may use, of those that it names.
	List(ctx context.Context, t task.Task) ([]Tool, error)
	// Call makes a call. It keeps to its Roots, AllowNetwork and AllowFS whatever
	// was granted, and refuses callers that are persons. What the skill asks of models
	// is paid by a budget; nil for those of the day and the month alone. begins is called
	// when everything is loaded, before the tool can have an effect: when it fails, the
	// tool is not run.
	Call(ctx context.Context, c task.ToolCall, pays *budget.Lease, begins func() error) task.Result
}

// A Tool is one that tasks may use.
type Tool struct {
	Skill string `json:"skill"`
	Tool  string `json:"tool"`
	// Name is what models call it. It is made of Skill and Tool here, and left empty
	// by who lists the tool.
	Name        string `json:"name"`
	Description string `json:"description"`
	// InputSchema is the JSON Schema of the input; nil for any object.
	InputSchema json.RawMessage `json:"input_schema,omitempty"`
	// ReadOnly and Idempotent are what the skill's manifest promises.
	ReadOnly   bool `json:"read_only,omitempty"`
	Idempotent bool `json:"idempotent,omitempty"`
	// Untrusted says that what it answers is from outside, such as a page.
	Untrusted bool `json:"untrusted,omitempty"`
}

// Agents are what does the work.
type Agents interface {
	// Definitions lists the agents there are.
	Definitions(ctx context.Context) ([]Definition, error)
	// Agent is the one that works by the definition of a name.
	Agent(ctx context.Context, name string) (agent.Agent, error)
}

// A Definition is that of an agent, with what no file can say.
type Definition struct {
	agentdef.Definition
	// AnyTool says that the agent may call every tool of its task, not only those that
	// its definition names. It is for agents that come with the host.
	AnyTool bool
}

// allows reports whether the agent may call a tool.
func (d Definition) allows(t Tool) bool { return d.AnyTool || d.Definition.Allows(t.Skill, t.Tool) }

// Models answer what agents think.
type Models interface {
	Generate(ctx context.Context, a llm.Ask) (llm.Answer, error)
}

// Budgets bound what tasks cost; a [*budget.Ledger] is one.
type Budgets interface {
	Task(ctx context.Context, id string, limit budget.Amount) (*budget.Lease, error)
}

// Memory is what was learnt; a [*memory.Memory] is one.
type Memory interface {
	Search(ctx context.Context, q memory.Query) ([]memory.Match, error)
	Add(ctx context.Context, drafts ...memory.Draft) ([]memory.Record, error)
	Tend(ctx context.Context) (memory.Outcome, bool, error)
}

// Proposals take what agents wrote to a person.
type Proposals interface {
	// Propose hands a skill in and returns the name of the proposal. Handing in the
	// same skill again returns the same proposal.
	Propose(ctx context.Context, taskID string, s agent.Skill) (string, error)
}

// A Notifier tells persons.
type Notifier interface {
	Notify(ctx context.Context, n Notice) error
}

// A Notice is something that the owner of a task should know.
type Notice struct {
	Task  string     `json:"task"`
	Owner string     `json:"owner"`
	Title string     `json:"title"`
	State task.State `json:"state"`
	Text  string     `json:"text"`
}

// Ports are what the orchestrator works with. Budget, Memory, Proposals and Notifier
// may be nil: then nothing bounds the tokens beside the settings of models, nothing
// is remembered, proposals are refused, and nobody is told.
type Ports struct {
	Models    Models
	Tools     Tools
	Agents    Agents
	Budget    Budgets
	Memory    Memory
	Proposals Proposals
	Notifier  Notifier
}

// Settings say how tasks are done. The zero value is usable.
type Settings struct {
	// Worker names this process in what others are told; empty for host and process id.
	Worker string
	// Lease is how long after its process died a task can be taken over; zero means
	// 15 seconds.
	Lease time.Duration
	// Grace is how long calls of tools may go on when the process is to end; zero
	// means 5 seconds.
	Grace time.Duration
	// Parallel is how many steps are done at once; zero means 4.
	Parallel int
	// MaxCalls is how many tool calls, and how many thoughts, a task may have; zero
	// means 500.
	MaxCalls int
	// MaxOutput is how many bytes of what a tool answers an agent is given; zero
	// means 64 KiB, and 256 KiB is the most.
	MaxOutput int
	// Memories is how many memories a task begins with; zero means 5.
	Memories int
	// MinConfidence is the confidence below which an answer does not count as one;
	// zero means 0.4.
	MinConfidence float64
	// MaxTask is what a task may cost that says nothing; zero of tokens means
	// 200,000, zero of money means no limit of its own.
	MaxTask task.Budget
	// ThinkingTokens is how many tokens the strategy thinking_mode has models think;
	// zero means 4096.
	ThinkingTokens int
	// ApproveFrom is the risk from which on calls wait for a person, whoever makes them;
	// empty for none but those that a plan says so of, and [task.RiskNever] for none at
	// all. Agents whose definition says so wait in any case.
	ApproveFrom task.Risk
	// Steady reports whether a model answers the same question always with the same, so
	// that nothing comes of asking it in other ways; nil for no model.
	Steady func(model string) bool
	// Redact takes secrets out of what a person is shown of calls; nil takes nothing out.
	Redact func(string) string
	// Agent does what no other agent is for, Planner plans, and Conversation talks;
	// empty for "general", "planner" and "conversation".
	Agent, Planner, Conversation string
	// Restarts is how often an agent is run again whose process died; zero means 3.
	Restarts int
}

func (s Settings) orDefault() Settings {
	host, _ := os.Hostname()
	s.Worker = cmp.Or(s.Worker, fmt.Sprintf("%s:%d", cmp.Or(host, "host"), os.Getpid()))
	s.Lease = cmp.Or(s.Lease, 15*time.Second)
	s.Grace = cmp.Or(s.Grace, 5*time.Second)
	s.Parallel = cmp.Or(s.Parallel, 4)
	s.MaxCalls = cmp.Or(s.MaxCalls, 500)
	s.MaxOutput = min(cmp.Or(s.MaxOutput, 64<<10), 256<<10)
	s.Memories = cmp.Or(s.Memories, 5)
	s.MinConfidence = cmp.Or(s.MinConfidence, 0.4)
	s.MaxTask.Tokens = cmp.Or(s.MaxTask.Tokens, 200_000)
	s.ThinkingTokens = cmp.Or(s.ThinkingTokens, 4096)
	s.Agent = cmp.Or(s.Agent, "general")
	s.Planner = cmp.Or(s.Planner, "planner")
	s.Conversation = cmp.Or(s.Conversation, "conversation")
	s.Restarts = cmp.Or(s.Restarts, 3)
	return s
}

// An Orchestrator gets goals done. It is safe for concurrent use, and several
// processes with one store may each have one.
type Orchestrator struct {
	log      hclog.Logger
	kv       store.KV
	locks    store.Locks
	bus      *event.Bus
	ports    Ports
	settings Settings
	meter    meter
}

// New makes an Orchestrator on a store. bus is told of everything that happens.
func New(log hclog.Logger, s store.Store, bus *event.Bus, p Ports, settings Settings) *Orchestrator {
	return &Orchestrator{log: log, kv: s.KV(), locks: s.Locks(), bus: bus, ports: p, settings: settings.orDefault()}
}
