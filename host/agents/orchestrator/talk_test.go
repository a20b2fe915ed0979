package orchestrator

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/skillet-run/skillet/host/agents/event"
	"github.com/skillet-run/skillet/host/agents/llm/budget"
	"github.com/skillet-run/skillet/host/base/task"
)

func TestTalk(t *testing.T) {
	for _, said := range []string{
		"hello", "Hello!", "Hi there", "good morning", "Hey, how are you?", "thanks a lot, thank you very much", "OK", "what can you do?", "Who are you?", "help me please",
		"Goodbye, and thank you!", "hello world",
	} {
		if _, ok := talk(said); !ok {
			t.Errorf("%q is not plain talk", said)
		}
	}
	for _, said := range []string{
		"", "?", "What is the sea?", "hello, summarise README.md", "help me to count the words of README.md", "say hello to Ada", "you", "thank Ada for the report",
	} {
		if reply, ok := talk(said); ok {
			t.Errorf("%q is answered with %q", said, reply)
		}
	}
}

// Plain talk is answered with examples of what works, by nobody, and makes no task.
func TestTalkMakesNoTask(t *testing.T) {
	l := newLab(t, nil, Settings{})
	l.tools = []Tool{
		{Skill: "text", Tool: "count_words", ReadOnly: true, InputSchema: json.RawMessage(`{"examples":[{"text":"a\nb"},{"text":"It is late."}]}`)},
		{Skill: "text", Tool: "shorten", ReadOnly: true, InputSchema: json.RawMessage(`{"examples":[{"text":"Rain fell.","sentences":1}]}`)},
		{Skill: "query", Tool: "run", ReadOnly: true, InputSchema: json.RawMessage(`{"examples":[{"expression":".a","data":{"a":1}}]}`)},
		{Skill: "mail", Tool: "send", InputSchema: json.RawMessage(`{"examples":[{"text":"Dear all"}]}`)},
		{Skill: "web", Tool: "get", ReadOnly: true, Untrusted: true, InputSchema: json.RawMessage(`{"examples":[{"url":"https://example.com"}]}`)},
	}
	var kinds []string
	reply, err := l.Converse(t.Context(), Turn{Task: task.Task{Goal: "hello", Owner: "human:ada"}}, func(u Update) error {
		kinds = append(kinds, u.Kind+u.TaskID)
		return nil
	})
	if err != nil || reply.Run != nil || strings.Join(kinds, " ") != "answer" {
		t.Fatalf("%+v, %v, %v", reply, kinds, err)
	}
	if want := "Hello. For example, say:\n- count words of \"It is late.\"\n- shorten of \"Rain fell.\""; reply.Answer != want {
		t.Errorf("%q, want %q", reply.Answer, want)
	}
	if all, err := l.List(t.Context(), Filter{}); err != nil || len(all) != 0 {
		t.Errorf("%+v, %v", all, err)
	}
}

// A budget that is a step's own leaves others to try; one of the task, or of the day, does
// not. That is no matter of words.
func TestHopelessBudget(t *testing.T) {
	for _, c := range []struct {
		err  error
		want bool
	}{
		{&budget.Refusal{Budget: "research of task T1", Part: "research"}, false},
		{&budget.Refusal{Budget: "all of task T1"}, true},
		{&budget.Refusal{Budget: "day"}, true},
		{budget.ErrExhausted, true},
		{errors.New("the budget of research of task T1"), false},
	} {
		if got := hopelessError(c.err); got != c.want {
			t.Errorf("%v: %v", c.err, got)
		}
	}
}

// What a task tells is read by the types that it was written by, and nothing is lost.
func TestEventsAreTyped(t *testing.T) {
	l := newLab(t, nil, Settings{})
	id := l.submit(nil)
	l.run(id)
	all, err := l.Logs(t.Context(), id, 0)
	if err != nil || len(all) < 5 {
		t.Fatalf("%d events, %v", len(all), err)
	}
	seen := map[event.Type]bool{}
	for _, e := range all {
		p, err := e.Payload()
		if err != nil {
			t.Error(err)
		}
		if len(e.Data) == 0 {
			continue
		}
		if text, err := json.Marshal(p); err != nil || string(text) != string(e.Data) {
			t.Errorf("%s: %s, read as %T: %s, %v", e.Type, e.Data, p, text, err)
		}
		seen[e.Type] = true
	}
	if !seen[event.TaskCreated] || !seen[event.StepStarted] {
		t.Errorf("only %v have data", seen)
	}
}
