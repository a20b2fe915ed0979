// Package agenttest has what agents are tested with: a [Host] that plays answers, and
// [Test], a suite that any agent passes, in whatever language it is written.
//
// It refuses to know what an agent is good at: it looks at what it does, not at
// whether the answer is any good.
package agenttest

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"

	"github.com/skillet-run/skillet/plugins/agent"
	"github.com/skillet-run/skillet/plugins/provider"
)

// Host is an [agent.Host] that plays answers and writes down what it was asked.
// The zero value has a model that answers "Done." and tools that answer nothing.
// Its fields must not be changed while it is used; its methods may be called
// concurrently.
type Host struct {
	// Model answers the n-th thought, counting from 0.
	Model func(ctx context.Context, n int, t agent.Thought) (provider.Response, error)
	// Tool answers the n-th call, counting from 0.
	Tool func(ctx context.Context, n int, c agent.Call) (agent.ToolResult, error)
	// Notes are what is remembered.
	Notes []agent.Passage
	// Refuse is what every method fails with, except Progress; nil refuses nothing.
	Refuse error
	// RefuseProposals is what Propose fails with.
	RefuseProposals error

	mu      sync.Mutex
	records []Record
	counts  map[string]int
}

// A Record is one thing that a host was asked: Method is the name of the method
// in lower case, and the field for it is not nil.
type Record struct {
	Method   string          `json:"method"`
	Thought  *agent.Thought  `json:"thought,omitempty"`
	Call     *agent.Call     `json:"call,omitempty"`
	Query    string          `json:"query,omitempty"`
	Memory   *agent.Memory   `json:"memory,omitempty"`
	Progress *agent.Progress `json:"progress,omitempty"`
	Skill    *agent.Skill    `json:"skill,omitempty"`
}

// Records are what the host was asked so far, in order.
func (h *Host) Records() []Record {
	h.mu.Lock()
	defer h.mu.Unlock()
	return append([]Record(nil), h.records...)
}

// Thoughts are the thoughts among the records.
func (h *Host) Thoughts() (all []agent.Thought) {
	for _, r := range h.Records() {
		if r.Thought != nil {
			all = append(all, *r.Thought)
		}
	}
	return all
}

// Calls are the calls of tools among the records.
func (h *Host) Called() (all []agent.Call) {
	for _, r := range h.Records() {
		if r.Call != nil {
			all = append(all, *r.Call)
		}
	}
	return all
}

// keep writes a record, and returns how many of its kind there were before.
func (h *Host) keep(ctx context.Context, r Record) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.counts == nil {
		h.counts = map[string]int{}
	}
	n := h.counts[r.Method]
	h.counts[r.Method]++
	h.records = append(h.records, r)
	if err := ctx.Err(); err != nil {
		return n, err
	}
	if h.Refuse != nil && r.Method != "progress" {
		return n, h.Refuse
	}
	return n, nil
}

// Think implements [agent.Host].
func (h *Host) Think(ctx context.Context, t agent.Thought) (provider.Response, error) {
	n, err := h.keep(ctx, Record{Method: "think", Thought: copied(&t)})
	switch {
	case err != nil:
		return provider.Response{}, err
	case h.Model == nil:
		return Says("Done."), nil
	}
	return h.Model(ctx, n, t)
}

// Call implements [agent.Host].
func (h *Host) Call(ctx context.Context, c agent.Call) (agent.ToolResult, error) {
	n, err := h.keep(ctx, Record{Method: "call", Call: copied(&c)})
	switch {
	case err != nil:
		return agent.ToolResult{}, err
	case h.Tool == nil:
		return agent.ToolResult{OK: true}, nil
	}
	return h.Tool(ctx, n, c)
}

// Calls implements [agent.Parallel]: the calls are numbered in their order.
func (h *Host) Calls(ctx context.Context, calls []agent.Call) ([]agent.ToolResult, error) {
	results := make([]agent.ToolResult, len(calls))
	for i, c := range calls {
		var err error
		if results[i], err = h.Call(ctx, c); err != nil {
			return nil, err
		}
	}
	return results, nil
}

// Recall implements [agent.Host].
func (h *Host) Recall(ctx context.Context, query string, limit int) ([]agent.Passage, error) {
	_, err := h.keep(ctx, Record{Method: "recall", Query: query})
	if err != nil {
		return nil, err
	}
	return h.Notes[:max(0, min(limit, len(h.Notes)))], nil
}

// Remember implements [agent.Host].
func (h *Host) Remember(ctx context.Context, m agent.Memory) error {
	_, err := h.keep(ctx, Record{Method: "remember", Memory: &m})
	return err
}

// Progress implements [agent.Host].
func (h *Host) Progress(ctx context.Context, p agent.Progress) error {
	_, err := h.keep(ctx, Record{Method: "progress", Progress: &p})
	return err
}

// Propose implements [agent.Host].
func (h *Host) Propose(ctx context.Context, s agent.Skill) (string, error) {
	n, err := h.keep(ctx, Record{Method: "propose", Skill: &s})
	if err == nil {
		err = h.RefuseProposals
	}
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("proposal-%d", n+1), nil
}

// copied is a copy that shares nothing with the original.
func copied[T any](v *T) *T {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err) // only for a value that is not JSON, which a test must not hand over
	}
	c := new(T)
	if err := json.Unmarshal(b, c); err != nil {
		panic(err)
	}
	return c
}

// Says is an answer in words.
func Says(text string) provider.Response {
	return provider.Response{Model: "scripted", Text: text, Finish: provider.FinishStop, Usage: provider.Usage{InputTokens: 1, OutputTokens: 1}}
}

// Wants is an answer that asks for calls of tools, as pairs of a name and an
// input. turn tells its identifiers from those of other turns.
func Wants(turn int, pairs ...string) provider.Response {
	r := provider.Response{Model: "scripted", Finish: provider.FinishTools, Usage: provider.Usage{InputTokens: 1, OutputTokens: 1}}
	for i := 0; i+1 < len(pairs); i += 2 {
		r.Calls = append(r.Calls, provider.ToolCall{ID: fmt.Sprintf("c%d-%d", turn, i/2), Name: pairs[i], Input: json.RawMessage(pairs[i+1])})
	}
	return r
}

// Script is a model that gives answers in order, and repeats the last one.
func Script(answers ...provider.Response) func(context.Context, int, agent.Thought) (provider.Response, error) {
	return func(_ context.Context, n int, _ agent.Thought) (provider.Response, error) {
		return answers[min(n, len(answers)-1)], nil
	}
}
