package local

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/skillet-run/skillet/plugins/provider"
)

// A run is a plan with what its calls have answered so far.
type run struct {
	*planner
	conversation
	state []progress // by step
}

// progress is how far a step is.
type progress struct {
	input   json.RawMessage // nil as long as it waits for others
	answer  *result
	id      string // of the call that was answered
	problem string // why it is not called
	partial bool   // it worked on the beginning of a text only
}

// id is the name of the call of a step. It is unique in a conversation, because each
// message of the user begins with numbers of its own.
func (w *run) id(step int) string { return fmt.Sprintf("t%d-s%d", w.turn, step+1) }

// follow goes through the steps in order, which each come behind those they need.
func (w *run) follow() {
	w.state = make([]progress, len(w.steps))
	for i := range w.steps {
		w.state[i] = w.progress(i)
	}
}

var errWaits = errors.New("waits for another call")

func (w *run) progress(i int) (p progress) {
	s := &w.steps[i]
	p.input, p.problem, p.partial = w.fill(s)
	if p.input == nil {
		return p
	}
	if r, id, ok := w.find(w.id(i), s.tool.Name, p.input); ok {
		p.answer, p.id = &r, id
	}
	return p
}

// fill makes the input of a step. It is nil when the step waits, or when problem says
// why there will be none.
func (w *run) fill(s *step) (input json.RawMessage, problem string, partial bool) {
	input, err := s.input(func(r *ref) (json.RawMessage, error) {
		text, cut, err := w.value(r)
		if err != nil {
			return nil, err
		}
		if cut && (s.tool.has(rolePath) || s.tool.has(roleURL)) {
			return nil, fmt.Errorf("what %s answered came here cut off, and is not handed on to a tool that may keep it", w.steps[r.step].tool.Name)
		}
		partial = partial || cut
		return json.Marshal(text)
	})
	switch {
	case errors.Is(err, errWaits):
		return nil, "", false
	case err != nil:
		return nil, err.Error(), false
	}
	return input, "", partial
}

// value is the text that a reference stands for, and whether its end is missing.
func (w *run) value(r *ref) (text string, cut bool, err error) {
	p, name := w.state[r.step], w.steps[r.step].tool.Name
	switch {
	case p.problem != "":
		return "", false, fmt.Errorf("%s was not called", name)
	case p.answer == nil:
		return "", false, errWaits
	case p.answer.failed:
		return "", false, fmt.Errorf("%s failed", name)
	}
	a := parseAnswer(p.answer.text)
	if a.status >= 400 {
		return "", false, fmt.Errorf("%s answered with the status %d", name, a.status)
	}
	text, ok := a.field(r.field)
	if !ok {
		return "", false, fmt.Errorf("what %s answered has no %s", name, r.field)
	}
	return text, a.cut || p.partial, nil
}

// calls are those that can be made now. One that writes comes behind all that is wanted
// before it, and what is wanted behind it comes after it.
func (w *run) calls() []provider.ToolCall {
	var all []provider.ToolCall
	waits := false
	for i, p := range w.state {
		over := p.answer != nil || p.problem != ""
		if w.steps[i].tool.writes && !over && (waits || p.input == nil) {
			return all
		}
		waits = waits || !over && p.input == nil
		if p.input != nil && p.answer == nil {
			all = append(all, provider.ToolCall{ID: w.id(i), Name: w.steps[i].tool.Name, Input: p.input})
		}
	}
	return all
}

// A reply is what a tool answered, as far as it is an object.
type reply struct {
	text    string
	members []member
	status  int
	cut     bool // the end is missing
}

// parseAnswer reads what a tool answered. A host may have put a line in brackets
// before it.
func parseAnswer(text string) reply {
	a := reply{text: text}
	body := strings.TrimSpace(text)
	if first, rest, ok := strings.Cut(body, "\n"); ok && strings.HasPrefix(first, "[") && strings.HasSuffix(first, "]") && strings.HasPrefix(rest, "{") {
		body = rest
	}
	a.members = membersOf(json.RawMessage(body))
	a.cut = strings.HasPrefix(body, "{") && !json.Valid([]byte(body))
	if a.cut {
		a.rescue(body)
	}
	for _, m := range a.members {
		if m.name == "status" && json.Unmarshal(m.value, &a.status) != nil {
			a.status = 0
		}
	}
	return a
}

// rescue reads the member in which an object was cut off, if it is a text: it is ended where
// it was cut, or a few bytes before, where half a character or escape is left.
func (a *reply) rescue(body string) {
	for _, mark := range []string{"\n(cut", "\n[cut"} {
		if i := strings.LastIndex(body, mark); i > 0 {
			body = body[:i]
		}
	}
	for drop := range min(12, len(body)) {
		if ended := body[:len(body)-drop] + `"}`; json.Valid([]byte(ended)) {
			a.members = membersOf(json.RawMessage(ended))
			return
		}
	}
}

// field is a member as text; without a name, or of what is not an object, all of it.
func (a reply) field(name string) (string, bool) {
	if name == "" || a.members == nil {
		return a.text, true
	}
	for _, m := range a.members {
		if m.name != name {
			continue
		}
		var text string
		if json.Unmarshal(m.value, &text) == nil {
			return text, true
		}
		return string(m.value), true
	}
	return a.other()
}

// other is the text of an answer whose fields have other names than was thought.
func (a reply) other() (string, bool) {
	for _, name := range []string{"text", "content", "contents", "markdown", "html", "result", "output", "summary", "body"} {
		for _, m := range a.members {
			var text string
			if m.name == name && json.Unmarshal(m.value, &text) == nil {
				return text, true
			}
		}
	}
	return "", false
}
