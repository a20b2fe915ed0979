package wire

import (
	"fmt"
	"strings"
)

// A Planner replies as a model would that knows its tools: it calls those of its
// Calls that are offered and not answered yet, and then answers from what they
// said. Use its method Reply as a script's.
type Planner struct {
	// Calls are made in their order, all at once. Name may be the end or a part of
	// the offered tool's name.
	Calls []Call
	// OneByOne makes one call each turn.
	OneByOne bool
	// Thinking is what it thinks first when it was told to think.
	Thinking string
	// Object answers a request that has a schema; nil answers with {}.
	Object func(Request) string
	// Answer makes the answer of the tools' results; nil joins them.
	Answer func(results []Message) string
}

// Reply implements Script.Reply.
func (p Planner) Reply(r Request) Turn {
	turn := Turn{Text: p.text(r)}
	if r.Thinking != "" && r.Thinking != "false" && r.Thinking != "none" && r.Thinking != "0" {
		turn.Thinking = p.Thinking
	}
	if calls := p.open(r); len(calls) > 0 && r.Schema == nil {
		turn.Text, turn.Calls = "", calls
	}
	return turn
}

func (p Planner) text(r Request) string {
	if r.Schema != nil && p.Object != nil {
		return p.Object(r)
	}
	if r.Schema != nil {
		return "{}"
	}
	results := Results(r)
	if p.Answer != nil {
		return p.Answer(results)
	}
	var b strings.Builder
	for _, m := range results {
		fmt.Fprintf(&b, "%s\n", m.Text)
	}
	if b.Len() == 0 {
		return "Nothing to do."
	}
	return "Done. " + strings.TrimSpace(b.String())
}

// open are the calls that are to be made now.
func (p Planner) open(r Request) []Call {
	made := len(Results(r))
	var calls []Call
	for i, c := range p.Calls {
		name, offered := offer(r.Tools, c.Name)
		if i < made || !offered {
			continue
		}
		calls = append(calls, Call{Name: name, Input: c.Input})
		if p.OneByOne {
			break
		}
	}
	return calls
}

func offer(tools []Tool, name string) (string, bool) {
	for _, t := range tools {
		if t.Name == name || strings.HasSuffix(t.Name, name) {
			return t.Name, true
		}
	}
	for _, t := range tools {
		if strings.Contains(t.Name, name) {
			return t.Name, true
		}
	}
	return "", false
}

// Results are the tools' answers in a request, those behind the last message of
// the user.
func Results(r Request) []Message {
	var results []Message
	for _, m := range r.Messages {
		switch m.Role {
		case "user":
			results = nil
		case "tool":
			results = append(results, m)
		}
	}
	return results
}
