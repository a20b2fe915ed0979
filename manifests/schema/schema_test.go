package schema_test

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/skillet-run/skillet/host/base/fault"

	"github.com/skillet-run/skillet/host/base/task"
	"github.com/skillet-run/skillet/manifests"
	"github.com/skillet-run/skillet/manifests/schema"
	"github.com/skillet-run/skillet/plugins/agent"
)

// node is a part of a schema, as far as this test looks.
type node struct {
	ID          string           `json:"$id"`
	Ref         string           `json:"$ref"`
	Description string           `json:"description"`
	Properties  map[string]*node `json:"properties"`
	Items       *node            `json:"items"`
	Required    []string         `json:"required"`
	Closed      *bool            `json:"additionalProperties"`
	Defs        map[string]*node `json:"$defs"`
}

var (
	timeType = reflect.TypeFor[time.Time]()
	rawType  = reflect.TypeFor[json.RawMessage]()
)

// Every field of the Go types is in their schema, described, and the other way round.
func TestTypesAgree(t *testing.T) {
	for name, c := range map[string]struct {
		text []byte
		of   reflect.Type
	}{
		"task.schema.json":        {schema.Task(), reflect.TypeFor[task.Task]()},
		"tool-call.schema.json":   {schema.ToolCall(), reflect.TypeFor[task.ToolCall]()},
		"tool-result.schema.json": {schema.ToolResult(), reflect.TypeFor[task.Result]()},
		"report.schema.json":      {schema.Report(), reflect.TypeFor[task.Report]()},
		"plan.schema.json":        {schema.Plan(), reflect.TypeFor[agent.Plan]()},
	} {
		root := &node{}
		var closed struct {
			Closed json.RawMessage `json:"additionalProperties"`
		}
		if err := json.Unmarshal(c.text, &closed); err != nil || string(closed.Closed) != "false" {
			t.Errorf("%s: takes unknown fields: %v", name, err)
		}
		if err := json.Unmarshal(stripMaps(t, c.text), root); err != nil {
			t.Fatal(name, err)
		}
		if root.ID != schema.Base+name {
			t.Errorf("%s calls itself %s", name, root.ID)
		}
		compare(t, name, root, root, c.of, map[reflect.Type]bool{})
	}
	if n := len(schema.All()); n != 5 {
		t.Errorf("%d schemas", n)
	}
}

// stripMaps leaves out additionalProperties that are schemas.
func stripMaps(t *testing.T, text []byte) []byte {
	var v any
	if err := json.Unmarshal(text, &v); err != nil {
		t.Fatal(err)
	}
	var walk func(any)
	walk = func(v any) {
		switch v := v.(type) {
		case map[string]any:
			if _, isBool := v["additionalProperties"].(bool); !isBool {
				delete(v, "additionalProperties")
			}
			for _, m := range v {
				walk(m)
			}
		case []any:
			for _, m := range v {
				walk(m)
			}
		}
	}
	walk(v)
	out, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func compare(t *testing.T, at string, root, n *node, of reflect.Type, seen map[reflect.Type]bool) {
	if def, ok := strings.CutPrefix(n.Ref, "#/$defs/"); ok {
		n = root.Defs[def]
	}
	for of.Kind() == reflect.Pointer || of.Kind() == reflect.Slice && of != rawType {
		if of.Kind() == reflect.Slice && n.Items != nil {
			n = n.Items
			if def, ok := strings.CutPrefix(n.Ref, "#/$defs/"); ok {
				n = root.Defs[def]
			}
		}
		of = of.Elem()
	}
	if of.Kind() != reflect.Struct || of == timeType || seen[of] {
		return
	}
	seen[of] = true
	fields := map[string]reflect.Type{}
	for i := range of.NumField() {
		f := of.Field(i)
		tag, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if tag != "-" && f.IsExported() {
			fields[tag] = f.Type
		}
	}
	if want, got := slices.Sorted(maps.Keys(fields)), slices.Sorted(maps.Keys(n.Properties)); !slices.Equal(want, got) {
		t.Errorf("%s: %s has the fields %v, its schema %v", at, of, want, got)
		return
	}
	if n.Closed == nil || *n.Closed {
		t.Errorf("%s: takes unknown fields", at)
	}
	for name, p := range n.Properties {
		if p.Description == "" && p.Ref == "" {
			t.Errorf("%s.%s is not described", at, name)
		}
		compare(t, at+"."+name, root, p, fields[name], seen)
	}
}

func filled(t *testing.T) map[string]any {
	at := time.Date(2026, 2, 16, 10, 30, 0, 0, time.UTC)
	failed := &fault.Error{Kind: fault.KindDenied, Message: "m", Hint: "h", Class: fault.ClassDenied, RetryAfterMS: 3}
	done := task.Task{
		ID: task.NewID(), CreatedAt: at, Goal: "count the words", Inputs: json.RawMessage(`{"n":1}`),
		Attachments: []task.Attachment{{Name: "a.md", MediaType: "text/markdown", Text: "x"}}, ContextHints: []string{"words"},
		Owner: "human:ada", Agent: "code", Tools: []string{"text"}, Roots: []string{"/w"}, Offline: true,
		Constraints: []string{"be short"}, Budget: task.Budget{Tokens: 5, MicroUSD: 6}, Deadline: at,
	}
	if err := done.Check(); err != nil {
		t.Fatal(err)
	}
	return map[string]any{
		"task.schema.json": done,
		"tool-call.schema.json": task.ToolCall{
			Name: "text__statistics", Skill: "text", Tool: "statistics", Args: json.RawMessage(`{"text":"a"}`), TimeoutMS: 5, AllowFS: true,
			ExpectedOutputSchema: json.RawMessage(`{}`), Task: done.ID, Step: "one", Key: "k", Caller: "agent:code", Roots: []string{"/w"},
		},
		"tool-result.schema.json": task.Result{
			OK: true, Data: json.RawMessage(`{"words":1}`), Error: failed, StartedAt: at, FinishedAt: at, DurationMS: 0.5, Fuel: 3,
			Attempts: []task.Attempt{{Error: failed, Reason: "timeout"}}, Fallback: &task.Fallback{Command: "a", Because: failed},
			Calls: []task.Nested{{RunID: "r", Calls: []task.Nested{{}}}}, Session: &task.Session{Name: "s", ExpiresAt: at},
			Logs: []task.LogLine{{Level: "info", Message: "m", Fields: map[string]string{"a": "b"}}}, Denials: []task.Denial{{Request: "r", Reason: "x", Count: 1}},
		},
		"report.schema.json": task.Report{
			TaskID: done.ID, State: task.Failed, Partial: true, Confidence: 0.5, Artifacts: []task.Artifact{{Kind: "proposal", Name: "p"}},
			Steps: []task.StepReport{{ID: "one", State: task.StepUncertain}}, Denials: []task.DeniedCall{{Step: "one", Tool: "t", Reason: "r"}},
			Recovery: []task.Recovery{{Strategy: task.Decompose, At: at, Because: "b", Steps: []string{"r-1"}}}, Error: failed, StartedAt: at, FinishedAt: at,
		},
		"plan.schema.json": agent.Plan{
			Steps: []agent.Step{
				{ID: "read", Title: "read it", Tool: "files__read_text", Input: json.RawMessage(`{"path":"a"}`)},
				{ID: "think", Title: "think", Agent: "code", Goal: "g", After: []string{"read"}, Approval: true},
			}, Stop: []string{"nothing there"}, Risk: "low", Reason: "it reads",
		},
	}
}

// What the host writes fits, and what is not in the schema does not.
func TestExamplesFit(t *testing.T) {
	for name, v := range filled(t) {
		s, err := manifests.CompileSchema(schema.All()[name])
		if err != nil {
			t.Fatal(name, err)
		}
		text, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Check(text); err != nil {
			t.Errorf("%s: %v\n%s", name, err, text)
		}
		unknown := append([]byte(`{"grant":"everything",`), text[1:]...)
		if err := s.Check(unknown); err == nil {
			t.Errorf("%s takes an unknown field", name)
		}
	}
	s, err := manifests.CompileSchema(schema.Task())
	if err != nil {
		t.Fatal(err)
	}
	for _, bad := range []string{`{}`, `{"goal":""}`, `{"goal":"x","priority":"now"}`, `{"goal":"x","budget":{"tokens":-1}}`, `{"goal":"x","inputs":[]}`} {
		if s.Check([]byte(bad)) == nil {
			t.Errorf("%s fits", bad)
		}
	}
}
