package local

import (
	"encoding/json"
	"reflect"
	"strings"

	"github.com/skillet-run/skillet/internal/lazyregexp"
	"github.com/skillet-run/skillet/plugins/provider"
)

// A conversation is what a request says, taken apart: what is wanted, and material.
type conversation struct {
	goal     string   // the user's last words
	before   []string // what the user wanted before that
	turn     int      // how many messages of the user there are
	passages []passage
	results  map[string]result   // by the calls they answer
	called   []provider.ToolCall // since the last words of the user
}

// A passage is material with where it is from.
type passage struct{ source, text string }

// A result is what a call came to.
type result struct {
	text   string
	failed bool
	number string // that the text has among the sources of an answer; empty for none
}

// conversationOf takes the messages of a request apart. Only what the user says
// outside of data is wanted by anybody.
func conversationOf(r provider.Request) conversation {
	c := conversation{results: map[string]result{}}
	for _, m := range r.Messages {
		switch m.Role {
		case provider.RoleUser:
			c.user(m.Text)
			c.called = nil
		case provider.RoleAssistant:
			c.called = append(c.called, m.Calls...)
		case provider.RoleTool:
			c.results[m.CallID] = resultOf(m)
		}
	}
	return c
}

func (c *conversation) user(text string) {
	var words []string
	for _, part := range provider.SplitData(text) {
		if part.Data {
			c.passages = append(c.passages, passage{part.Source, part.Text})
		} else {
			words = append(words, part.Text)
		}
	}
	if c.turn++; c.turn > 1 {
		c.before = append(c.before, c.goal)
	}
	c.goal = strings.TrimSpace(strings.Join(words, "\n"))
}

var sourceNumber = lazyregexp.New(`^Source \[(\d{1,4})\]:\s*$`)

// resultOf reads what a call came to: what is marked as data in it, and all of it
// when nothing is.
func resultOf(m provider.Message) result {
	r := result{failed: m.Failed}
	var data []string
	for _, part := range provider.SplitData(m.Text) {
		if part.Data {
			data = append(data, part.Text)
		} else if n := sourceNumber().FindStringSubmatch(strings.TrimSpace(part.Text)); n != nil {
			r.number = n[1]
		}
	}
	if r.text = strings.Join(data, "\n"); data == nil {
		r.text = m.Text
	}
	return r
}

// find finds the result of a call by its name, or by what was called: somebody else
// may have made the call.
func (c *conversation) find(id, tool string, input json.RawMessage) (result, string, bool) {
	if r, ok := c.results[id]; ok {
		return r, id, true
	}
	for _, call := range c.called {
		if r, ok := c.results[call.ID]; ok && call.Name == tool && sameJSON(call.Input, input) {
			return r, call.ID, true
		}
	}
	return result{}, "", false
}

func sameJSON(a, b json.RawMessage) bool {
	var x, y any
	return json.Unmarshal(a, &x) == nil && json.Unmarshal(b, &y) == nil && reflect.DeepEqual(x, y)
}

var agentLine = lazyregexp.New(`(?m)^- ([A-Za-z0-9_.-]+): `)

// agentsOf are the agents that instructions name for the steps of a plan.
func agentsOf(system string) []string {
	_, list, found := strings.Cut(system, "Agents a step may name:\n")
	if !found {
		return nil
	}
	list, _, _ = strings.Cut(list, "\n\n")
	var names []string
	for _, m := range agentLine().FindAllStringSubmatch(list, -1) {
		names = append(names, m[1])
	}
	return names
}
