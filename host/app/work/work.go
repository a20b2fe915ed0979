// Package work is what an edge does with goals: it has tasks done by agents, answers
// conversations, and shows and changes what the work rests on: agents, providers of
// models, what is remembered, the queue, and the figures of what ran.
//
// Every method takes who asks. A person may ask for everything; an agent for its own tasks
// alone, and for nothing that a person has to decide. The zero principal is refused, with a
// [fault.KindDenied] error, before anything else is looked at.
package work

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"

	"github.com/skillet-run/skillet/host/base/fault"
	"github.com/skillet-run/skillet/internal/duration"
	"github.com/skillet-run/skillet/internal/histogram"
	"github.com/skillet-run/skillet/internal/nearest"

	"github.com/hashicorp/go-hclog"

	"github.com/skillet-run/skillet/host/agents/llm/budget"
	"github.com/skillet-run/skillet/host/agents/memory"
	"github.com/skillet-run/skillet/host/agents/orchestrator"
	"github.com/skillet-run/skillet/host/agents/queue"
	"github.com/skillet-run/skillet/host/app/invoke"
	"github.com/skillet-run/skillet/host/base/task"
	"github.com/skillet-run/skillet/host/install"
	"github.com/skillet-run/skillet/host/record/agents"
	"github.com/skillet-run/skillet/host/record/approval"
	"github.com/skillet-run/skillet/host/record/journal"
	"github.com/skillet-run/skillet/host/run/hostfn"
	"github.com/skillet-run/skillet/host/run/recording"
	"github.com/skillet-run/skillet/host/run/runner"
	"github.com/skillet-run/skillet/manifests"
	"github.com/skillet-run/skillet/plugins/agent/builtin"
	"github.com/skillet-run/skillet/plugins/provider/local"
	"github.com/skillet-run/skillet/policies/capability"
)

// Parts are what a [Service] works on. All but Notifier are needed.
type Parts struct {
	Models      *Models
	Definitions *agents.Agents
	Invoke      *invoke.Service
	Installer   *install.Installer
	// Calls is the audit log of calls. Those of Doctor are not calls of skills.
	Calls  *journal.Journal
	Doctor string
	// Recordings are those of recent calls.
	Recordings *recording.Archive
	// Redact takes secrets out of a text, and Explain says what an error means.
	Redact  func(string) string
	Explain func(error) *fault.Error
	// Metrics is what was counted of calls, and Groups how many records of calls were written
	// together.
	Metrics func() runner.Metrics
	Groups  func() histogram.Histogram
	// Notifier is told what becomes of tasks that no one watches; it may be nil.
	Notifier hostfn.Notifier
}

// A Service does the work of a home. It is safe for concurrent use, and opens nothing
// before it is needed.
type Service struct {
	parts Parts
	log   hclog.Logger

	mu           sync.Mutex
	orchestrator *orchestrator.Orchestrator
	remembered   *memory.Memory

	doing   sync.Mutex
	allowed map[string]approval.EphemeralGrant // by task, while this process works on it
	askers  map[string]askedBy
	watches map[string]bool // tasks whose events are watched
}

// New makes a Service, and what other services of the host see of it. Close it when done,
// before its parts.
func New(log hclog.Logger, p Parts) (*Service, *Inside) {
	s := &Service{parts: p, log: log, allowed: map[string]approval.EphemeralGrant{}, askers: map[string]askedBy{}, watches: map[string]bool{}}
	return s, &Inside{s}
}

// Inside is what other services of the host see, which have checked who asks. No edge gets
// one.
type Inside struct{ s *Service }

// Memory is what the home remembers.
func (i *Inside) Memory(ctx context.Context) (*memory.Memory, error) { return i.s.memory(ctx) }

// shownTasks is how many tasks are named, the newest.
const shownTasks = 50

// TaskNames says the first letters of the ids of the newest tasks, and what each is.
func (i *Inside) TaskNames(ctx context.Context, say func(word, about string)) error {
	o, err := i.s.open(ctx)
	if err != nil {
		return err
	}
	all, err := o.List(ctx, orchestrator.Filter{Limit: shownTasks})
	for _, r := range all {
		say(r.TaskID[:min(len(r.TaskID), 12)], string(r.State)+": "+r.Title)
	}
	return err
}

// AgentNames says the names of the agents, and what each is for.
func (i *Inside) AgentNames(ctx context.Context, say func(word, about string)) error {
	all, err := i.s.agents(ctx)
	for _, a := range all {
		if a.Definition != nil {
			say(a.Name, a.Definition.Description)
		}
	}
	return err
}

// ProviderNames says the names of the providers, sorted.
func (i *Inside) ProviderNames(ctx context.Context, say func(word, about string)) error {
	names, err := i.s.parts.Models.Names(ctx)
	for _, name := range names {
		say(name, "")
	}
	return err
}

// Close releases what was opened.
func (s *Service) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.remembered == nil {
		return nil
	}
	err := s.remembered.Close()
	s.remembered = nil
	return err
}

// Tasks are goals, and what becomes of them.
func (s *Service) Tasks() *Tasks { return &Tasks{s} }

// Calls are the runs of tools on record.
func (s *Service) Calls() *Calls { return &Calls{s} }

// Agents are what tasks are given to.
func (s *Service) Agents() *Agents { return &Agents{s} }

// Providers are what answers requests for models.
func (s *Service) Providers() *Providers { return &Providers{s} }

// Memories are what tasks learnt.
func (s *Service) Memories() *Memories { return &Memories{s} }

// Usage has figures of what ran.
func (s *Service) Usage() *Usage { return &Usage{s} }

// notAgent refuses agents, too.
func notAgent(by approval.Principal) error {
	if err := approval.CheckPrincipal(by); err != nil {
		return err
	}
	if _, is := by.(approval.Agent); is {
		return fault.Errorf(fault.KindDenied, "%s is an agent, and may not ask for this", by.Actor())
	}
	return nil
}

// allows refuses the zero principal, and one that would use what another person allowed.
func allows(by approval.Principal, o approval.EphemeralGrant) error {
	if err := approval.CheckPrincipal(by); err != nil {
		return err
	}
	if actor := o.Actor(); actor != "" && actor != by.Actor() {
		return fault.Errorf(fault.KindDenied, "what %s allows is not for %s to use", actor, by.Actor())
	}
	return nil
}

// memory is what the home remembers. It is read when it is first needed,
// which takes some two seconds for 100,000 records.
func (s *Service) memory(ctx context.Context) (*memory.Memory, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.openMemory(ctx)
}

func (s *Service) openMemory(ctx context.Context) (*memory.Memory, error) {
	if s.remembered != nil {
		return s.remembered, nil
	}
	settings := s.parts.Models.Config.Settings().Memory
	e, err := s.parts.Models.Embedder(ctx, settings.Embedder)
	if err == nil {
		s.remembered, err = memory.Open(ctx, s.log.Named("memory"), s.parts.Models.Store, s.parts.Models.Events, e, memorySettings(settings))
	}
	return s.remembered, err
}

// open is what gets goals done, with the agents, tools and models of the home.
func (s *Service) open(ctx context.Context) (*orchestrator.Orchestrator, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.orchestrator != nil {
		return s.orchestrator, nil
	}
	models, err := s.parts.Models.Router(ctx)
	if err != nil {
		return nil, err
	}
	ledger, err := s.parts.Models.Budget(ctx)
	if err != nil {
		return nil, err
	}
	remembered, err := s.openMemory(ctx)
	if err != nil {
		return nil, err
	}
	p := orchestrator.Ports{
		Models: models, Tools: toolCatalog{s}, Agents: agentCatalog{s}, Budget: ledger, Memory: remembered, Proposals: proposalSink{s},
	}
	if s.parts.Notifier != nil {
		p.Notifier = taskNotifier{s}
	}
	s.orchestrator = orchestrator.New(s.log.Named("task"), s.parts.Models.Store, s.parts.Models.Events, p, s.taskSettings())
	return s.orchestrator, nil
}

func (s *Service) taskSettings() orchestrator.Settings {
	set := s.parts.Models.Config.Settings()
	return orchestrator.Settings{
		Steady:      func(model string) bool { return model == local.Planner },
		ApproveFrom: task.Risk(set.Tasks.ApproveRisk), Redact: s.parts.Redact,
		MaxTask: task.Budget{Tokens: set.Budget.Task.Tokens, MicroUSD: budget.MicroUSD(set.Budget.Task.USD)},
		Lease:   duration.OfSeconds(set.Tasks.TakeoverSeconds),
		Agent:   builtin.General, Planner: builtin.Planner, Conversation: builtin.Conversation,
	}
}

// queue is the one that tasks wait in.
func (s *Service) queue() *queue.Queue {
	set := s.parts.Models.Config.Settings().Tasks
	return queue.New(s.log.Named("queue"), s.parts.Models.Store, s.parts.Models.Events, queue.Settings{Name: "tasks", Limit: set.QueueLimit, Concurrency: set.Concurrency})
}

// begin notes what a person allows a task's calls, and whether its events are watched,
// until the function that it returns is called.
func (s *Service) begin(id string, o approval.EphemeralGrant, watched bool) (end func()) {
	s.doing.Lock()
	defer s.doing.Unlock()
	if o.Actor() != "" {
		s.allowed[id] = o
	}
	if watched {
		s.watches[id] = true
	}
	return func() {
		s.doing.Lock()
		defer s.doing.Unlock()
		delete(s.allowed, id)
		delete(s.askers, id)
		delete(s.watches, id)
	}
}

// allows is what a person allowed a task's calls of a skill.
func (s *Service) allows(id string, m *manifests.Manifest) approval.EphemeralGrant {
	s.doing.Lock()
	defer s.doing.Unlock()
	return s.allowed[id].Only(func(c capability.Capability) bool { return m.AsksFor(c.Action()) })
}

// An askedBy is who is asked about calls of a task that are refused something.
type askedBy struct {
	by  approval.Principal
	ask invoke.Ask
}

func (s *Service) askedBy(id string, by approval.Principal, ask invoke.Ask) {
	var one sync.Mutex
	s.doing.Lock()
	defer s.doing.Unlock()
	s.askers[id] = askedBy{by, func(ctx context.Context, r *invoke.Retry, a invoke.Answer) (bool, error) {
		one.Lock()
		defer one.Unlock()
		return ask(ctx, r, a)
	}}
}

// asks asks whoever works on a task what a call that failed may be allowed, and reports
// whether it is to be made again.
func (s *Service) asks(ctx context.Context, id string, in *invoke.Invocation, a invoke.Answer) (bool, error) {
	s.doing.Lock()
	who := s.askers[id]
	s.doing.Unlock()
	if who.ask == nil || a.OK {
		return false, nil
	}
	r := invoke.Retry{Task: id, Allow: in.Allow}
	again, err := who.ask(ctx, &r, a)
	if err != nil || !again {
		return false, err
	}
	if err := errors.Join(allows(who.by, r.Allow), allows(who.by, r.ForTask)); err != nil {
		return false, err
	}
	if r.ForTask.Actor() != "" {
		s.doing.Lock()
		s.allowed[id] = r.ForTask
		s.doing.Unlock()
	}
	in.Allow = r.Allow
	return true, nil
}

func (s *Service) watched(id string) bool {
	s.doing.Lock()
	defer s.doing.Unlock()
	return s.watches[id]
}

// oneOf refuses a name that is none of those there are.
func oneOf[T ~string](what string, name T, all []T) error {
	if slices.Contains(all, name) {
		return nil
	}
	var names []string
	for _, a := range all {
		names = append(names, string(a))
	}
	e := fault.Errorf(fault.KindUsage, "%s %q not found", what, name)
	if best, ok := nearest.Name(string(name), names); ok {
		return e.WithHint("did you mean %s? there are %s", best, strings.Join(names, ", "))
	}
	return e.WithHint("there are %s", strings.Join(names, ", "))
}

// eachOneOf refuses names of which one is none of those there are.
func eachOneOf[T ~string](what string, names, all []T) error {
	for _, n := range names {
		if err := oneOf(what, n, all); err != nil {
			return err
		}
	}
	return nil
}
