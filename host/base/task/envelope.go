package task

import (
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/skillet-run/skillet/host/base/fault"
)

// Bounds of a task. A goal may come from anywhere.
const (
	MaxGoal        = 64 << 10  // bytes of a goal
	MaxInputs      = 128 << 10 // bytes of the inputs as JSON
	MaxAttachments = 32
	MaxAttached    = 192 << 10 // bytes of all attachments together
	MaxNames       = 128       // tools, roots, hints or constraints
	MaxName        = 2048      // bytes of one of those
)

// A Task is a goal that somebody submitted, with what may be used to reach it. It
// does not change after that.
type Task struct {
	// ID is set when it is submitted; see [NewID].
	ID string `json:"id"`
	// CreatedAt is in UTC.
	CreatedAt time.Time `json:"created_at"`
	// Type is "goal", or "conversation" for a turn of one; empty is "goal".
	Type Type `json:"type"`
	// Goal is what is to be reached, in words.
	Goal string `json:"goal"`
	// Inputs is a JSON object with values for it; nil for none.
	Inputs json.RawMessage `json:"inputs,omitempty"`
	// Attachments are texts that go with it.
	Attachments []Attachment `json:"attachments,omitempty"`
	// ContextHints are words that help to find what is remembered about it.
	ContextHints []string `json:"context_hints,omitempty"`
	// Priority is "high", "normal" or "low"; empty is "normal".
	Priority Priority `json:"priority"`

	// Owner is who wants it, "human:ada". It grants nothing.
	Owner string `json:"owner"`
	// Agent names the agent that does it; empty leaves that to the host.
	Agent string `json:"agent,omitempty"`
	// Tools are the tools that may be called, SKILL or SKILL:TOOL; empty for all
	// that are installed. What a tool may do was granted to its skill.
	Tools []string `json:"tools,omitempty"`
	// Roots are the absolute directories of the work: the first is where relative
	// paths begin, and no call touches a file outside of them. Without any, no
	// call touches a file.
	Roots []string `json:"roots,omitempty"`
	// Offline denies the network to all calls, whatever was granted.
	Offline bool `json:"offline,omitempty"`
	// Constraints are what is asked for beside the goal.
	Constraints []string `json:"constraints,omitempty"`
	// Budget bounds what it costs; the zero value leaves that to the host.
	Budget Budget `json:"budget,omitzero"`
	// Deadline is when it has to be done; zero for none.
	Deadline time.Time `json:"deadline,omitzero"`
	// Planning says whether a plan is made first: "auto", "always" or "never"; empty
	// is "auto".
	Planning Planning `json:"planning,omitempty"`
	// ApproveRisk is the risk from which on calls wait for a person: "low", "medium",
	// "high" or "never"; empty leaves that to the host. Only a person can ask for less
	// than the host does.
	ApproveRisk Risk `json:"approve_risk,omitempty"`
}

// A Type is a class of tasks.
type Type string

// The types.
const (
	TypeGoal         Type = "goal"
	TypeConversation Type = "conversation"
)

// A Priority orders tasks that wait.
type Priority string

// The priorities.
const (
	PriorityHigh   Priority = "high"
	PriorityNormal Priority = "normal"
	PriorityLow    Priority = "low"
)

// Planning says when a plan is made.
type Planning string

// The ways to plan.
const (
	PlanAuto   Planning = "auto" // when the goal is more than simple
	PlanAlways Planning = "always"
	PlanNever  Planning = "never"
	PlanOnly   Planning = "only" // always, and the task is paused before the plan is followed
)

// A Budget is what a task may cost.
type Budget struct {
	// Tokens of all models together, in and out; 0 leaves that to the host.
	Tokens int64 `json:"tokens,omitempty"`
	// MicroUSD is millionths of a US dollar; 0 leaves that to the host.
	MicroUSD int64 `json:"micro_usd,omitempty"`
}

// An Attachment is a text that goes with a task.
type Attachment struct {
	Name string `json:"name"`
	// MediaType is empty for plain text.
	MediaType string `json:"media_type,omitempty"`
	Text      string `json:"text"`
}

// NewID makes an id of a task: short enough to type, random enough that a home
// never has two (48 bits).
func NewID() string {
	var b [6]byte
	rand.Read(b[:])
	return hex.EncodeToString(b[:])
}

// Check fills in what was left out and refuses what breaks a rule, with a
// [fault.KindUsage] error.
func (t *Task) Check() error {
	t.Type = orElse(t.Type, TypeGoal)
	t.Priority = orElse(t.Priority, PriorityNormal)
	t.Planning = orElse(t.Planning, PlanAuto)
	for _, rule := range []struct {
		broken bool
		what   string
	}{
		{strings.TrimSpace(t.Goal) == "", "it has no goal"},
		{len(t.Goal) > MaxGoal, fmt.Sprintf("the goal has %d bytes; at most %d are accepted", len(t.Goal), MaxGoal)},
		{!utf8.ValidString(t.Goal), "the goal is not UTF-8"},
		{t.Owner == "", "it has no owner"},
		{t.Type != TypeGoal && t.Type != TypeConversation, fmt.Sprintf("unknown type %q; the types are goal and conversation", t.Type)},
		{t.Priority != PriorityHigh && t.Priority != PriorityNormal && t.Priority != PriorityLow, fmt.Sprintf("unknown priority %q; the priorities are high, normal and low", t.Priority)},
		{!slices.Contains([]Planning{PlanAuto, PlanAlways, PlanNever, PlanOnly}, t.Planning), fmt.Sprintf("unknown way to plan %q; it is auto, always, never, or only, which makes a plan and does not follow it yet", t.Planning)},
		{t.ApproveRisk != "" && t.ApproveRisk != RiskNever && t.ApproveRisk.level() < 0, fmt.Sprintf("unknown risk %q; the risks are low, medium, high and never", t.ApproveRisk)},
		{t.Budget.Tokens < 0 || t.Budget.MicroUSD < 0, "the budget is negative"},
		{len(t.Inputs) > MaxInputs, fmt.Sprintf("the inputs have %d bytes; at most %d are accepted", len(t.Inputs), MaxInputs)},
		{len(t.Inputs) > 0 && !isObject(t.Inputs), "the inputs are not a JSON object"},
	} {
		if rule.broken {
			return fault.Errorf(fault.KindUsage, "task: %s", rule.what)
		}
	}
	if err := t.checkAttachments(); err != nil {
		return err
	}
	return t.checkNames()
}

func (t *Task) checkAttachments() error {
	size := 0
	for _, a := range t.Attachments {
		if a.Name == "" || len(a.Name) > MaxName || !utf8.ValidString(a.Text) {
			return fault.Errorf(fault.KindUsage, "task: the attachment %.80q needs a name and a text of UTF-8", a.Name)
		}
		size += len(a.Name) + len(a.Text)
	}
	if len(t.Attachments) > MaxAttachments || size > MaxAttached {
		return fault.Errorf(fault.KindUsage, "task: %d attachments of %d bytes; at most %d of together %d bytes are accepted", len(t.Attachments), size, MaxAttachments, MaxAttached).
			WithHint("put larger files into the work's directory, where tools read them")
	}
	return nil
}

func (t *Task) checkNames() error {
	for what, names := range map[string][]string{"tool": t.Tools, "root": t.Roots, "hint": t.ContextHints, "constraint": t.Constraints} {
		if len(names) > MaxNames {
			return fault.Errorf(fault.KindUsage, "task: %d %ss; at most %d are accepted", len(names), what, MaxNames)
		}
		for _, n := range names {
			if n == "" || len(n) > MaxName || !utf8.ValidString(n) {
				return fault.Errorf(fault.KindUsage, "task: the %s %.80q has to have 1 to %d bytes of UTF-8", what, n, MaxName)
			}
		}
	}
	for _, r := range t.Roots {
		if !filepath.IsAbs(r) {
			return fault.Errorf(fault.KindUsage, "task: the root %s is not an absolute path", r)
		}
	}
	return nil
}

// Title is the beginning of the goal, in one line of at most 100 characters.
func (t *Task) Title() string {
	line := strings.Join(strings.Fields(t.Goal), " ")
	if r := []rune(line); len(r) > 100 {
		return string(r[:99]) + "…"
	}
	return line
}

// isObject reports whether b is one JSON object.
func isObject(b []byte) bool {
	var o map[string]json.RawMessage
	return json.Unmarshal(b, &o) == nil && o != nil
}

func orElse[T ~string](v, fallback T) T {
	if v == "" {
		return fallback
	}
	return v
}
