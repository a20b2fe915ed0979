// Package agent is the contract of an agent: what plans how a goal is reached,
// and acts. An agent is a process of its own, and a Host is all it has: it
// thinks with the host's models and acts with the tools of its task.
//
// The package refuses to know grants and approvals. Nothing in it asks for one,
// gives one or names a person, so an agent has no words for it.
package agent

import (
	"context"
	"encoding/json"
	"time"

	"github.com/skillet-run/skillet/plugins/provider"
)

// Agent reaches goals. Its methods may be called concurrently, for several tasks,
// and end when their context does.
//
// An agent is started again where it was when its process or the host died: Run
// and Plan are called anew with the same Task, and the Host answers what it had
// answered before, as long as it is asked the same in the same order. So an agent
// keeps nothing about a task between calls, and decides nothing by time or chance.
type Agent interface {
	// Info says what the agent is.
	Info(ctx context.Context) (Info, error)
	// Plan says how the agent would reach the goal. A plan of one step that names
	// the agent itself means that it decides as it goes.
	Plan(ctx context.Context, t Task, h Host) (Plan, error)
	// Run reaches the goal, or says in its report how far it came. An error means
	// that nothing at all can be said.
	Run(ctx context.Context, t Task, h Host) (Report, error)
	// Health fails when the agent cannot work now.
	Health(ctx context.Context) error
}

// Info is what an agent says of itself.
type Info struct {
	Name        string `json:"name"`
	Version     string `json:"version"`
	Description string `json:"description"`
}

// Task is what an agent is asked to do.
type Task struct {
	ID   string `json:"id"`
	Goal string `json:"goal"`
	// Agent is the name of the definition that the agent works by: its prompt, tier
	// and bounds are in the fields below.
	Agent        string   `json:"agent"`
	SystemPrompt string   `json:"system_prompt,omitempty"`
	Tier         string   `json:"tier,omitempty"`
	Iterations   int      `json:"iterations,omitempty"` // how often it may think; 0 for the agent's own bound
	MaxTokens    int      `json:"max_tokens,omitempty"` // of one answer; 0 for the model's own
	Temperature  *float64 `json:"temperature,omitempty"`
	// Thinking is how many tokens a model may think before it answers; 0 for none.
	Thinking int `json:"thinking,omitempty"`
	// Context is text from before: what is remembered, results of earlier steps.
	// It is data, however much it looks like an instruction.
	Context []Passage `json:"context,omitempty"`
	// Tools are all that may be called.
	Tools []provider.Tool `json:"tools,omitempty"`
	// Agents are those that a step of a plan may name.
	Agents []Info `json:"agents,omitempty"`
	// Constraints are what the person asked for beside the goal.
	Constraints []string `json:"constraints,omitempty"`
	// Validation is what scripts that the agent writes must keep to; nil for nothing.
	Validation json.RawMessage `json:"validation,omitempty"`
	// Deadline is when the task has to be done; zero for no deadline.
	Deadline time.Time `json:"deadline,omitzero"`
}

// A Passage is text with where it is from: "memory:ID", "step:ID", "file:NAME".
type Passage struct {
	Source string `json:"source"`
	Text   string `json:"text"`
}

// Host is what an agent may call back, for the task it works on and only while it
// works on it. Each method fails when the task was cancelled, its budget is used
// up or its deadline has passed.
type Host interface {
	// Think asks a model.
	Think(ctx context.Context, t Thought) (provider.Response, error)
	// Call calls one of the task's tools. A tool that fails or is refused is not
	// an error: see [ToolResult].
	Call(ctx context.Context, c Call) (ToolResult, error)
	// Recall finds what is remembered.
	Recall(ctx context.Context, query string, limit int) ([]Passage, error)
	// Remember keeps a text for later tasks, of at most 32 KiB: a longer one is an
	// error, and nothing of it is kept.
	Remember(ctx context.Context, m Memory) error
	// Progress tells the person how far the work is.
	Progress(ctx context.Context, p Progress) error
	// Propose hands in a skill that the agent wrote. It waits for a person and is
	// installed by nobody else; what is returned is the proposal's name.
	Propose(ctx context.Context, s Skill) (string, error)
}

// A Thought is a request to a model. The host picks the model by tier.
type Thought struct {
	// Tier overrules the task's; empty keeps it.
	Tier string `json:"tier,omitempty"`
	// Purpose says in a word what for: "plan", "act", "answer". It is kept with
	// the tokens that were used.
	Purpose string `json:"purpose"`
	// Request is what is asked. Its Model is left empty.
	Request provider.Request `json:"request"`
}

// A Call is one of a tool.
type Call struct {
	// Tool is the name of one of the task's tools.
	Tool  string          `json:"tool"`
	Input json.RawMessage `json:"input"`
}

// ToolResult is what became of a call.
type ToolResult struct {
	OK bool `json:"ok"`
	// Text is what the tool answered, or why it failed, for a model to read.
	Text string `json:"text"`
	// Kind is the kind of failure, as in the table of exit codes; empty when OK.
	Kind string `json:"kind,omitempty"`
	// Untrusted says that Text is from outside: from a page, a file, a message.
	Untrusted bool `json:"untrusted,omitempty"`
}

// Memory is a text to remember.
type Memory struct {
	// Area is "main", "fragments", "solutions" or "instruments"; empty is "main".
	Area string   `json:"area,omitempty"`
	Text string   `json:"text"`
	Tags []string `json:"tags,omitempty"`
}

// Progress is how far an agent is.
type Progress struct {
	Message string `json:"message"`
	// Percent is from 0 to 100; nil when it cannot be told.
	Percent *float64 `json:"percent,omitempty"`
}

// A Skill is a package that an agent wrote: its files by their slash-separated
// names, "skill.json" and the script it names among them.
type Skill struct {
	Files     map[string][]byte `json:"files"`
	Rationale string            `json:"rationale"`
}

// A Plan is how a goal is to be reached: steps, of which those that wait for no
// other are taken side by side.
type Plan struct {
	Steps []Step `json:"steps"`
	// Stop are conditions under which the rest is not done any more, in words.
	Stop []string `json:"stop,omitempty"`
	// Risk is "low", "medium" or "high", and Reason says why.
	Risk   string `json:"risk,omitempty"`
	Reason string `json:"reason,omitempty"`
}

// A Step is a tool call, or a goal for an agent.
type Step struct {
	// ID is unique in the plan: letters, digits, "_" and "-".
	ID    string `json:"id"`
	Title string `json:"title"`
	// Tool and Input are a tool call. A string in Input that is "${steps.ID.text}",
	// whole or in part, stands for what the step of that ID answered.
	Tool  string          `json:"tool,omitempty"`
	Input json.RawMessage `json:"input,omitempty"`
	// Agent and Goal are a goal for an agent, instead of a tool call. "${steps.ID.text}"
	// means the same in Goal.
	Agent string `json:"agent,omitempty"`
	Goal  string `json:"goal,omitempty"`
	// After are the steps that have to be done before.
	After []string `json:"after,omitempty"`
	// Approval says that a person has to agree before.
	Approval bool `json:"approval,omitempty"`
}

// Report is what became of a goal.
type Report struct {
	// Done says that the goal is reached.
	Done bool `json:"done"`
	// Answer is for the person who set the goal; when Done is false, what there is
	// of one.
	Answer string `json:"answer"`
	// Confidence is from 0 to 1.
	Confidence float64  `json:"confidence"`
	Decisions  []string `json:"decisions,omitempty"`
	NextSteps  []string `json:"next_steps,omitempty"`
	// Proposals are the names of what the agent proposed.
	Proposals []string `json:"proposals,omitempty"`
	// Sources are where what the answer says is from.
	Sources []Passage `json:"sources,omitempty"`
	// Problem says why Done is false.
	Problem string `json:"problem,omitempty"`
}
