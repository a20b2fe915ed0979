package orchestrator

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/skillet-run/skillet/host/base/store"
	"github.com/skillet-run/skillet/host/base/task"
)

// The estimate of the tokens of output that a task takes: a base by complexity,
// mixed with what similar tasks took, and a margin.
const (
	baseSimple  = 200
	baseMedium  = 500
	baseComplex = 1500

	weightHistory = 0.7
	weightBase    = 0.3
	margin        = 1.2
	// exhaustedFactor is how much more a task counts that had no tokens left.
	exhaustedFactor = 1.5
)

// inOut is how many tokens in and out of models a task may take for each token of
// output that is expected, before no other way is tried any more. An agent that
// thinks n times is sent what it has so far n times, results of tools among it, so
// what goes in is many times what comes out: 5 rounds of 2,000 tokens for 240 of
// output are 41 times as many.
const inOut = 40

// A taskCost is what an earlier task cost, from which the next one is estimated.
type taskCost struct {
	Words      []string        `json:"words"`
	Complexity task.Complexity `json:"complexity"`
	// Tokens are those of output.
	Tokens    int64     `json:"tokens"`
	ActiveMS  float64   `json:"active_ms"`
	Exhausted bool      `json:"exhausted,omitempty"`
	Task      string    `json:"task"`
	At        time.Time `json:"at"`
}

// maxPast is how many earlier tasks are known, and maxWords how many words of each.
const (
	maxPast  = 200
	maxWords = 40
	// likeness is the part of the words of two goals that are in both, from which on
	// they are similar (Jaccard, 1901).
	likeness = 0.4
)

// topic is the different words of a goal that are longer than two letters, sorted.
func topic(goal string) []string {
	w := slices.DeleteFunc(words(goal), func(w string) bool { return len([]rune(w)) < 3 })
	w = slices.Compact(slices.Sorted(slices.Values(w)))
	return w[:min(len(w), maxWords)]
}

// jaccard is the part of the words of two topics that are in both.
func jaccard(a, b []string) float64 {
	both := 0
	for _, w := range a {
		if _, ok := slices.BinarySearch(b, w); ok {
			both++
		}
	}
	if all := len(a) + len(b) - both; all > 0 {
		return float64(both) / float64(all)
	}
	return 0
}

// similar is the earlier tasks that are like a goal.
func similar(goal string, history []taskCost) []taskCost {
	w := topic(goal)
	var like []taskCost
	for _, p := range history {
		if jaccard(w, p.Words) >= likeness {
			like = append(like, p)
		}
	}
	return like
}

// estimate is the tokens of output that a goal will take.
func estimate(c task.Complexity, like []taskCost) int64 {
	tokens := map[task.Complexity]int64{task.Simple: baseSimple, task.Medium: baseMedium, task.Complex: baseComplex}[c]
	if len(like) > 0 {
		var sum float64
		for _, p := range like {
			if sum += float64(p.Tokens); p.Exhausted {
				sum += float64(p.Tokens) * (exhaustedFactor - 1)
			}
		}
		tokens = int64(weightHistory*sum/float64(len(like)) + weightBase*float64(tokens))
	}
	return int64(float64(tokens) * margin)
}

// assess says how much a task asks for, and what it should and may cost.
func assess(r *task.Run, t task.Task, history []taskCost, s Settings) {
	r.Complexity, r.Confidence = classify(t.Goal)
	like := similar(t.Goal, history)
	r.Estimate, r.Similar = estimate(r.Complexity, like), len(like)
	for _, p := range like {
		r.ExpectedMS += p.ActiveMS / float64(len(like))
	}
	r.Budget = task.Budget{Tokens: cmp.Or(t.Budget.Tokens, s.MaxTask.Tokens), MicroUSD: cmp.Or(t.Budget.MicroUSD, s.MaxTask.MicroUSD)}
	r.SoftTokens = min(r.Estimate*inOut, r.Budget.Tokens)
	if t.Budget.Tokens > 0 { // who names a figure means it
		r.SoftTokens = t.Budget.Tokens
	}
}

// history is what earlier tasks cost.
func (o *Orchestrator) history(ctx context.Context) ([]taskCost, error) {
	h, _, _, err := read[[]taskCost](ctx, o.kv, historyKey)
	return h, err
}

// learn keeps what a task cost, once.
func (o *Orchestrator) learn(ctx context.Context, p taskCost) error {
	for range changeTries {
		h, revision, _, err := read[[]taskCost](ctx, o.kv, historyKey)
		if err != nil {
			return err
		}
		if slices.ContainsFunc(h, func(q taskCost) bool { return q.Task == p.Task }) {
			return nil
		}
		h = append(h, p)
		h = h[max(0, len(h)-maxPast):]
		if err := write(ctx, o.kv, historyKey, h, revision); !errors.Is(err, store.ErrConflict) {
			return err
		}
	}
	return fmt.Errorf("keep what task %s cost: %w", p.Task, store.ErrConflict)
}

// route is the agent for a goal, of those there are.
func route(t task.Task, defs []Definition, s Settings) string {
	known := func(name string) bool {
		return slices.ContainsFunc(defs, func(d Definition) bool { return d.Name == name })
	}
	if t.Agent != "" {
		return t.Agent
	}
	if t.Type == task.TypeConversation && known(s.Conversation) {
		return s.Conversation
	}
	w := words(t.Goal)
	for _, r := range routes() {
		if known(r.agent) && r.fits(w, strings.ToLower(t.Goal)) {
			return r.agent
		}
	}
	return s.Agent
}

// A row of routes is an agent and the goals that it is for.
type row struct {
	agent string
	fits  func(w []string, goal string) bool
}

// routes are the agents that are chosen by what a goal says, in order.
func routes() []row {
	return []row{
		{"code", func(w []string, _ string) bool {
			return saysAny(w, "write", "create", "generate", "make", "develop", "fix") && saysAny(w, "skill", "script", "code", "program", "function")
		}},
		{"research", func(w []string, goal string) bool {
			return strings.Contains(goal, "https://") || strings.Contains(goal, "http://") || saysAny(w, "research") || says(w, "search", "the", "web")
		}},
		{"fileops", func(w []string, _ string) bool {
			return len(w) > 0 && saysAny(w[:1], "list", "find", "search", "rename", "move", "copy", "delete") && saysAny(w, "file", "files", "directory", "directories", "folder", "folders")
		}},
	}
}
