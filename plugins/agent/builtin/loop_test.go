package builtin_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/skillet-run/skillet/plugins/agent"
	"github.com/skillet-run/skillet/plugins/agent/agenttest"
	"github.com/skillet-run/skillet/plugins/agent/builtin"
	"github.com/skillet-run/skillet/plugins/provider"
)

func tools() []provider.Tool {
	path := json.RawMessage(`{"type":"object","properties":{"path":{"type":"string"},"text":{"type":"string"}},"required":["path"],"additionalProperties":false}`)
	return []provider.Tool{
		{Name: "files__read_text", Description: "Reads a file.", InputSchema: path},
		{Name: "files__write_text", Description: "Writes a file.", InputSchema: path},
		{Name: "http__get", Description: "Fetches a page.", InputSchema: json.RawMessage(`{"type":"object","properties":{"url":{"type":"string"}},"required":["url"]}`)},
		{Name: "text__statistics", Description: "Counts words.", InputSchema: json.RawMessage(`{"type":"object","properties":{"text":{"type":"string"}},"required":["text"]}`)},
	}
}

func answers(text string) func(context.Context, int, agent.Call) (agent.ToolResult, error) {
	return func(context.Context, int, agent.Call) (agent.ToolResult, error) {
		return agent.ToolResult{OK: true, Text: text, Untrusted: true}, nil
	}
}

// play runs a built-in agent against a script of answers.
func play(t *testing.T, task agent.Task, h *agenttest.Host) agent.Report {
	t.Helper()
	if task.Goal == "" {
		task.Goal = "Count the words of a.txt."
	}
	if task.Tools == nil {
		task.Tools = tools()
	}
	r, err := builtin.New(nil, "1.0.0").Run(t.Context(), task, h)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestLoopFeedsResultsBack(t *testing.T) {
	t.Parallel()
	h := &agenttest.Host{
		Model: agenttest.Script(agenttest.Wants(0, "files__read_text", `{"path":"a.txt"}`), agenttest.Says("Two words.")),
		Tool:  answers("one two"),
	}
	r := play(t, agent.Task{Agent: "general", Constraints: []string{"answer in English"}}, h)
	if !r.Done || r.Answer != "Two words." || r.Confidence != 0.9 {
		t.Errorf("%+v", r)
	}
	second := h.Thoughts()[1].Request
	last := second.Messages[len(second.Messages)-1]
	parts := provider.SplitData(last.Text)
	if last.Role != provider.RoleTool || last.CallID != "c0-0" || last.Failed || len(parts) != 1 || parts[0].Text != "one two" {
		t.Errorf("the result came as %+v", last)
	}
	if !strings.Contains(second.System, provider.DataRule) || !strings.Contains(second.System, "answer in English") {
		t.Errorf("the instructions: %s", second.System)
	}
	if first := h.Thoughts()[0].Request.Messages; len(first) != 1 || first[0].Text != "Count the words of a.txt." {
		t.Errorf("the goal is not the last message: %+v", first)
	}
}

func TestLoopPassesSettingsOn(t *testing.T) {
	t.Parallel()
	temperature := 0.3
	h := &agenttest.Host{}
	play(t, agent.Task{Agent: "mine", SystemPrompt: "Be brief.", Tier: "smart", MaxTokens: 99, Thinking: 7, Temperature: &temperature}, h)
	thought := h.Thoughts()[0]
	r := thought.Request
	if thought.Tier != "smart" || r.MaxTokens != 99 || r.Thinking != 7 || *r.Temperature != 0.3 || !strings.HasPrefix(r.System, "Be brief.") || len(r.Tools) != 4 {
		t.Errorf("%+v", thought)
	}
}

// TestLoopStops ends the loop in each way it can end without an answer.
func TestLoopStops(t *testing.T) {
	t.Parallel()
	filtered, cut := agenttest.Says("half"), agenttest.Says("half")
	filtered.Finish, cut.Finish = provider.FinishFilter, provider.FinishLength
	for name, c := range map[string]struct {
		model   func(context.Context, int, agent.Thought) (provider.Response, error)
		problem string // empty for done
		thought int
		called  int
	}{
		"iterations": {func(_ context.Context, n int, _ agent.Thought) (provider.Response, error) {
			return agenttest.Wants(n, "files__read_text", fmt.Sprintf(`{"path":"%d"}`, n)), nil
		}, "stopped after 5 thoughts", 5, 4},
		"no progress":  {agenttest.Script(agenttest.Wants(0, "files__read_text", `{"path":"a"}`)), "the same answers", 3, 3},
		"nothing":      {agenttest.Script(agenttest.Says(" ")), "answered nothing", 1, 0},
		"filtered":     {agenttest.Script(filtered), "held its answer back", 1, 0},
		"cut":          {agenttest.Script(cut), "", 1, 0},
		"unknown tool": {agenttest.Script(agenttest.Wants(0, "admin__grant", `{}`)), "the same answers", 3, 0},
		"no object":    {agenttest.Script(agenttest.Wants(0, "files__read_text", `[]`), agenttest.Says("so be it")), "", 2, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := &agenttest.Host{Model: c.model, Tool: answers("text")}
			r := play(t, agent.Task{Agent: "mine", Iterations: 5}, h)
			if r.Done != (c.problem == "") || !strings.Contains(r.Problem, c.problem) {
				t.Errorf("%+v", r)
			}
			if len(h.Thoughts()) != c.thought || len(h.Called()) != c.called {
				t.Errorf("%d thoughts, %d calls", len(h.Thoughts()), len(h.Called()))
			}
			if !r.Done && r.Confidence > 0.3 || name == "cut" && r.Confidence > 0.45 {
				t.Errorf("a confidence of %v", r.Confidence)
			}
		})
	}
}

// The same call twice in a turn is made once when it has the same identifier, and twice
// when it has not; what is no JSON is not called, and answered.
func TestLoopCallsOnce(t *testing.T) {
	t.Parallel()
	same := agenttest.Wants(0, "files__write_text", `{"path":"a"}`, "files__write_text", `{ "path": "a" }`)
	same.Calls[1].ID = same.Calls[0].ID
	for name, c := range map[string]struct {
		turn           provider.Response
		called, result int
	}{
		"the same call":    {same, 1, 1},
		"two calls":        {agenttest.Wants(0, "files__write_text", `{"path":"a"}`, "files__write_text", `{"path":"a"}`), 2, 2},
		"JSON that is cut": {agenttest.Wants(0, "files__write_text", `{"path":"a`), 0, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := &agenttest.Host{Model: agenttest.Script(c.turn, agenttest.Says("done")), Tool: answers("text")}
			r := play(t, agent.Task{Agent: "mine"}, h)
			results, sent := 0, h.Thoughts()[1].Request.Messages
			for _, m := range sent {
				if m.Role == provider.RoleTool {
					results++
				}
				for _, call := range m.Calls {
					if !json.Valid(call.Input) {
						t.Errorf("sent again: %s", call.Input)
					}
				}
			}
			if !r.Done || len(h.Called()) != c.called || results != c.result {
				t.Errorf("%+v, %d calls, %d results", r, len(h.Called()), results)
			}
			if c.called == 0 && !strings.Contains(sent[len(sent)-1].Text, "not a JSON object") {
				t.Errorf("told %+v", sent[len(sent)-1])
			}
		})
	}
}

func TestLoopSaysItsLastTurn(t *testing.T) {
	t.Parallel()
	h := &agenttest.Host{Model: agenttest.Script(agenttest.Wants(0, "http__get", `{"url":"x"}`), agenttest.Says("done"))}
	play(t, agent.Task{Agent: "mine", Iterations: 2}, h)
	for i, thought := range h.Thoughts() {
		if said := strings.Contains(thought.Request.System, "last turn"); said != (i == 1) {
			t.Errorf("thought %d: %v", i+1, said)
		}
	}
}

func TestLoopReportsWhatThereIs(t *testing.T) {
	t.Parallel()
	used := errors.New("the budget of the task is used up")
	h := &agenttest.Host{Tool: answers("one two"), Model: func(_ context.Context, n int, _ agent.Thought) (provider.Response, error) {
		if n > 0 {
			return provider.Response{}, used
		}
		return agenttest.Wants(0, "files__read_text", `{"path":"a"}`), nil
	}}
	r := play(t, agent.Task{Agent: "general"}, h)
	if r.Done || r.Problem != used.Error() || !strings.Contains(r.Answer, "one two") {
		t.Errorf("%+v", r)
	}
}

func TestLoopBoundsWhatAModelSends(t *testing.T) {
	t.Parallel()
	var pairs []string
	for i := range 20 {
		pairs = append(pairs, "files__read_text", fmt.Sprintf(`{"path":"%d"}`, i))
	}
	many := agenttest.Wants(0, pairs...)
	for i := range many.Calls {
		many.Calls[i].ID = "same"
	}
	h := &agenttest.Host{Model: agenttest.Script(many, agenttest.Says("done")), Tool: answers(strings.Repeat("x", 1<<20))}
	play(t, agent.Task{Agent: "general"}, h)
	if n := len(h.Called()); n != 16 {
		t.Errorf("%d calls of one turn", n)
	}
	ids := map[string]bool{}
	size := 0
	for _, m := range h.Thoughts()[1].Request.Messages {
		size += len(m.Text)
		for _, c := range m.Calls {
			ids[c.ID] = true
		}
	}
	if len(ids) != 20 || size > 16*(33<<10) {
		t.Errorf("%d identifiers, %d bytes", len(ids), size)
	}
}

func TestLoopShrinksOnce(t *testing.T) {
	t.Parallel()
	long := &provider.Error{Class: provider.ClassContextLength, Message: "too long"}
	h := &agenttest.Host{Tool: answers(strings.Repeat("word ", 5000)), Model: func(_ context.Context, n int, th agent.Thought) (provider.Response, error) {
		switch {
		case n == 0:
			return agenttest.Wants(0, "files__read_text", `{"path":"a"}`), nil
		case len(th.Request.Messages[2].Text) > 5000:
			return provider.Response{}, long
		}
		parts := provider.SplitData(th.Request.Messages[2].Text)
		if len(parts) != 1 || !parts[0].Data {
			t.Errorf("what is left is not marked: %.80q", th.Request.Messages[2].Text)
		}
		return agenttest.Says("done"), nil
	}}
	if r := play(t, agent.Task{Agent: "general"}, h); !r.Done || len(h.Thoughts()) != 3 {
		t.Errorf("%+v", r)
	}
	h.Model = func(context.Context, int, agent.Thought) (provider.Response, error) { return provider.Response{}, long }
	if r := play(t, agent.Task{Agent: "general"}, h); r.Done || !strings.Contains(r.Problem, "context_length") {
		t.Errorf("%+v", r)
	}
}

func TestConversationAcknowledgesFirst(t *testing.T) {
	t.Parallel()
	h := &agenttest.Host{}
	play(t, agent.Task{Agent: "conversation", Goal: "Hello!"}, h)
	if r := h.Records(); r[0].Progress == nil || !strings.Contains(r[0].Progress.Message, "Hello!") || r[1].Thought == nil {
		t.Errorf("%+v", r)
	}
	if h.Thoughts()[0].Tier != "conversation" {
		t.Error(h.Thoughts()[0].Tier)
	}
}

func TestTasksThatAreNone(t *testing.T) {
	t.Parallel()
	a := builtin.New(nil, "1.0.0")
	if _, err := a.Run(t.Context(), agent.Task{}, &agenttest.Host{}); err == nil {
		t.Error("a task without a goal was run")
	}
	if _, err := a.Plan(t.Context(), agent.Task{Goal: "g"}, nil); err == nil {
		t.Error("a task without a host was planned")
	}
}

func TestFileOps(t *testing.T) {
	t.Parallel()
	h := &agenttest.Host{
		Model: agenttest.Script(
			agenttest.Wants(0, "files__read_text", `{"path":"a.txt"}`), agenttest.Wants(1, "files__write_text", `{"path":"/etc/x","text":"y"}`),
			agenttest.Says("It could not be written.")),
		Tool: func(_ context.Context, n int, _ agent.Call) (agent.ToolResult, error) {
			if n == 1 {
				return agent.ToolResult{Kind: "denied", Text: "denied"}, nil
			}
			return agent.ToolResult{OK: true, Text: "text"}, nil
		},
	}
	r := play(t, agent.Task{Agent: "fileops"}, h)
	for _, tool := range h.Thoughts()[0].Request.Tools {
		if !strings.HasPrefix(tool.Name, "files__") {
			t.Errorf("it has the tool %s", tool.Name)
		}
	}
	all := strings.Join(r.Decisions, "\n")
	if !strings.Contains(all, `files__write_text: path "/etc/x"`) || !strings.Contains(all, "failed (denied)") || strings.Contains(all, "a.txt") {
		t.Errorf("decisions: %s", all)
	}
	if !strings.Contains(strings.Join(r.NextSteps, ""), "/etc/x") {
		t.Errorf("next steps: %s", r.NextSteps)
	}
	// what will change is said before it is
	said := false
	for _, record := range h.Records() {
		said = said || record.Progress != nil && strings.Contains(record.Progress.Message, "/etc/x")
		if record.Call != nil && record.Call.Tool == "files__write_text" && !said {
			t.Error("it wrote before it said so")
		}
	}
	if r := play(t, agent.Task{Agent: "fileops", Tools: tools()[2:]}, &agenttest.Host{}); r.Done || r.Problem == "" {
		t.Errorf("without tools for files: %+v", r)
	}
}
