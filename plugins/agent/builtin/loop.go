package builtin

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/skillet-run/skillet/plugins/agent"
	"github.com/skillet-run/skillet/plugins/provider"
)

// maxAtOnce is the most calls of one turn; those beyond are answered with that.
const maxAtOnce = 16

// maxStale is how many turns may bring nothing but what was answered before.
const maxStale = 2

// A loop is a conversation with a model that may call tools. In each turn the
// model is asked; the calls it wants are made together, in its order, see
// [agent.CallAll]; their results are what it is asked with next.
type loop struct {
	*work
	tools    []provider.Tool
	messages []provider.Message
	notes    []string          // for the next request
	answered map[string]string // by tool and input
	stale    int
	shrunk   bool
	lastText string // the last text of the model
	heard    string // the last answer of a tool

	// shown is how an answer is shown to the model, and before is told of each call
	// that is about to be made. Roles replace them.
	shown  func(c provider.ToolCall, r agent.ToolResult) string
	before func(ctx context.Context, c provider.ToolCall) error
	// after is told of each answer.
	after func(c provider.ToolCall, r agent.ToolResult)
}

func (w *work) loop() *loop {
	w.tally.given = len(w.task.Context) > 0
	return &loop{
		work: w, tools: w.task.Tools, messages: w.opening(shownPlain), answered: map[string]string{},
		shown:  func(c provider.ToolCall, r agent.ToolResult) string { return provider.MarkData(c.Name, clip(r.Text)) },
		before: func(context.Context, provider.ToolCall) error { return nil },
		after:  func(provider.ToolCall, agent.ToolResult) {},
	}
}

// An outcome is how a loop ended. problem is empty when the model ended it.
type outcome struct {
	answer  string
	problem string
}

// report runs the loop and says what became of it.
func (l *loop) report(ctx context.Context) (agent.Report, error) {
	o, err := l.run(ctx)
	if err != nil {
		return l.failed(err, l.partial())
	}
	return l.reportOf(o), nil
}

func (l *loop) reportOf(o outcome) agent.Report {
	if o.problem == "" && strings.HasPrefix(o.answer, provider.LowConfidence) {
		l.tally.doubted = true
		o.answer = strings.TrimSpace(strings.TrimPrefix(o.answer, provider.LowConfidence))
		r := l.work.report(false, o.answer)
		r.Problem = "the answer says itself that it does not reach all of the goal"
		return r
	}
	l.tally.stopped = o.problem != ""
	r := l.work.report(o.problem == "", o.answer)
	if r.Problem = o.problem; r.Problem != "" {
		r.NextSteps = append(r.NextSteps, "Ask again with a smaller goal, or with more iterations.")
	}
	return r
}

// run has turns until the model answers, or something ends the work.
func (l *loop) run(ctx context.Context) (outcome, error) {
	for {
		r, err := l.ask(ctx, "act")
		if err != nil {
			return outcome{}, err
		}
		if len(r.Calls) == 0 {
			return l.ended(r), nil
		}
		if l.thoughts >= l.limit {
			return outcome{l.partial(), fmt.Sprintf("stopped after %s: it still wanted to call %s", times(l.thoughts, "thought"), r.Calls[0].Name)}, nil
		}
		if err := l.act(ctx, r); err != nil {
			return outcome{}, err
		}
		if l.stale >= maxStale {
			return outcome{l.partial(), "stopped: the same calls brought the same answers again"}, nil
		}
	}
}

// ended is the outcome of an answer without calls.
func (l *loop) ended(r provider.Response) outcome {
	answer := strings.TrimSpace(r.Text)
	l.tally.cut = l.tally.cut || r.Finish == provider.FinishLength
	switch {
	case r.Finish == provider.FinishFilter:
		return outcome{answer, "the model held its answer back"}
	case answer == "":
		return outcome{l.partial(), "the model answered nothing"}
	}
	return outcome{answer: answer}
}

// partial is what there is of an answer when nobody gave one.
func (l *loop) partial() string {
	if l.lastText != "" {
		return l.lastText
	}
	if l.heard != "" {
		return "What the last tool answered:\n" + head(l.heard, 4000)
	}
	return ""
}

const lastTurn = "This is your last turn: call no tools. Answer with what you have, and say what is missing."

// ask has one thought. When the conversation has become too long for the model,
// it is asked once more with less of what tools answered.
func (l *loop) ask(ctx context.Context, purpose string) (provider.Response, error) {
	notes := l.notes
	if l.thoughts+1 >= l.limit && l.limit > 1 {
		notes = append(slices.Clone(notes), lastTurn)
	}
	r, err := l.think(ctx, purpose, provider.Request{System: l.system(notes...), Messages: l.messages, Tools: l.tools})
	var e *provider.Error
	if errors.As(err, &e) && e.Class == provider.ClassContextLength && !l.shrunk && l.shrink() {
		l.shrunk = true
		l.decide("What tools answered was cut, because it was too long for the model.")
		return l.ask(ctx, purpose)
	}
	if text := strings.TrimSpace(r.Text); text != "" {
		l.lastText = text
	}
	return r, err
}

// shrink cuts what tools answered and what is known from before. It reports
// whether there was anything to cut.
func (l *loop) shrink() (cut bool) {
	const keep = 1000
	l.messages = slices.Clone(l.messages)
	for i := range l.messages[:len(l.messages)-1] {
		m := &l.messages[i]
		if m.Role == provider.RoleAssistant || m.Text == l.task.Goal || len(m.Text) <= 2*keep {
			continue
		}
		m.Text, cut = shorter(m.Text, keep), true
	}
	if last := &l.messages[len(l.messages)-1]; last.Role == provider.RoleTool && len(last.Text) > 4*keep {
		last.Text, cut = shorter(last.Text, 2*keep), true
	}
	return cut
}

// shorter keeps the beginning of each piece of data in a text, and its mark.
func shorter(text string, keep int) string {
	var b strings.Builder
	for _, p := range provider.SplitData(text) {
		if p.Data {
			p.Text = provider.MarkData(p.Source, head(p.Text, keep)+"\n(cut)")
		}
		b.WriteString(p.Text + "\n")
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// act makes the calls of a turn and writes them and their answers down.
func (l *loop) act(ctx context.Context, r provider.Response) error {
	r.Calls = once(r.Calls)
	calls := l.cleaned(r.Calls)
	results := make([]agent.ToolResult, len(calls))
	var wanted []agent.Call
	var at []int
	for i, c := range calls {
		if results[i].Text = l.wrong(i, c, r.Calls[i]); results[i].Text != "" {
			results[i].Kind = "usage"
			continue
		}
		if err := l.before(ctx, c); err != nil {
			return err
		}
		wanted, at = append(wanted, agent.Call{Tool: c.Name, Input: c.Input}), append(at, i)
	}
	made, err := agent.CallAll(ctx, l.host, wanted)
	if err != nil {
		return err
	}
	for i, m := range made {
		results[at[i]] = m
	}
	l.write(r, calls, results)
	return nil
}

// once leaves out a call that came again within a turn, under the same identifier: it is
// the same call, and what it changes is not changed twice.
func once(calls []provider.ToolCall) []provider.ToolCall {
	var all []provider.ToolCall
	for _, c := range calls {
		again := slices.ContainsFunc(all, func(o provider.ToolCall) bool {
			return c.ID != "" && o.ID == c.ID && o.Name == c.Name && compact(o.Input) == compact(c.Input)
		})
		if !again {
			all = append(all, c)
		}
	}
	return all
}

// cleaned are calls with identifiers that are theirs alone, and inputs that are
// JSON: the conversation is sent again, and a provider refuses what is not.
func (l *loop) cleaned(calls []provider.ToolCall) []provider.ToolCall {
	seen := map[string]bool{}
	for _, m := range l.messages {
		for _, c := range m.Calls {
			seen[c.ID] = true
		}
	}
	calls = slices.Clone(calls)
	for i := range calls {
		if c := &calls[i]; c.ID == "" || seen[c.ID] {
			c.ID = fmt.Sprintf("call-%d-%d", l.thoughts, i)
		}
		seen[calls[i].ID] = true
		if !isObject(calls[i].Input) {
			calls[i].Input = json.RawMessage("{}")
		}
	}
	return calls
}

// wrong says why a call is not made; empty for one that is.
func (l *loop) wrong(i int, c, asked provider.ToolCall) string {
	switch {
	case i >= maxAtOnce:
		return fmt.Sprintf("not called: a turn may have %d calls", maxAtOnce)
	case !slices.ContainsFunc(l.tools, func(t provider.Tool) bool { return t.Name == c.Name }):
		return "not called: unknown tool"
	case len(bytes.TrimSpace(asked.Input)) > 0 && !isObject(asked.Input):
		return "not called: the input is not a JSON object"
	}
	return ""
}

func (l *loop) write(r provider.Response, calls []provider.ToolCall, results []agent.ToolResult) {
	l.messages = append(l.messages, provider.Message{Role: provider.RoleAssistant, Text: r.Text, Calls: calls, Opaque: r.Opaque})
	fresh := false
	for i, c := range calls {
		result := results[i]
		l.count(c, result)
		key := c.Name + " " + compact(c.Input)
		now := fmt.Sprint(result.OK, result.Text)
		was, again := l.answered[key]
		text := l.shown(c, result)
		if again = again && was == now; again {
			text += "\nThis is what the same call answered before. Do something else, or answer."
		}
		fresh = fresh || !again
		l.answered[key] = now
		l.messages = append(l.messages, provider.Message{Role: provider.RoleTool, CallID: c.ID, Failed: !result.OK, Text: text})
	}
	if l.stale++; fresh {
		l.stale = 0
	}
}

func (l *loop) count(c provider.ToolCall, r agent.ToolResult) {
	l.tally.calls++
	if r.OK {
		l.heard = r.Text
	} else {
		l.tally.failed++
		l.decide("%s failed%s: %s", c.Name, kindOf(r), r.Text)
	}
	l.after(c, r)
}

func kindOf(r agent.ToolResult) string {
	if r.Kind == "" {
		return ""
	}
	return " (" + brief(r.Kind) + ")"
}

func isObject(b json.RawMessage) bool {
	var o map[string]json.RawMessage
	return json.Unmarshal(b, &o) == nil && o != nil
}

// compact is JSON in one form, with the members of objects in order.
func compact(b json.RawMessage) string {
	var v any
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	if d.Decode(&v) != nil {
		return string(b)
	}
	c, err := json.Marshal(v)
	if err != nil {
		return string(b)
	}
	return string(c)
}

func times(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
