package main

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	skill "github.com/skillet-run/skillet/sdk/go"
)

// parsed decodes a tool input the way a call does.
func parsed[T any](t *testing.T, input string) T {
	t.Helper()
	var in T
	if err := json.Unmarshal([]byte(input), &in); err != nil {
		t.Fatalf("input %s: %v", input, err)
	}
	return in
}

func TestQuery(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, input string
		want        []string
		truncated   bool
	}{
		{"field", `{"data":{"a":{"b":[1,2]}},"expression":".a.b[]"}`, []string{"1", "2"}, false},
		{"null data", `{"data":null,"expression":"."}`, []string{"null"}, false},
		{"nothing", `{"data":{},"expression":"empty"}`, nil, false},
		{"map and select", `{"data":[{"n":"a","v":1},{"n":"b","v":5}],"expression":"map(select(.v>2)|.n)"}`, []string{`["b"]`}, false},
		{"text", `{"text":"{\"x\": true}","expression":".x"}`, []string{"true"}, false},
		{"byte order mark", `{"text":"\ufeff7","expression":"."}`, []string{"7"}, false},
		{"json lines", `{"text":"{\"x\":1}\n{\"x\":2}\n","expression":".x"}`, []string{"1", "2"}, false},
		{"empty text", `{"text":"","expression":"."}`, nil, false},
		{"limit", `{"data":[1,2,3],"expression":".[]","limit":2}`, []string{"1", "2"}, true},
		{"endless but limited", `{"data":1,"expression":"repeat(.)","limit":3}`, []string{"1", "1", "1"}, true},
		{"variables", `{"data":[1,2,3],"expression":"map(select(. >= $min)) | . + $more","variables":{"min":2,"more":["x"]}}`, []string{`[2,3,"x"]`}, false},
		{"big numbers stay exact", `{"data":{"id":12345678901234567890123},"expression":".id"}`, []string{"12345678901234567890123"}, false},
		{"halt", `{"data":1,"expression":".,halt,2"}`, []string{"1"}, false},
		{"no environment", `{"data":1,"expression":"env|length"}`, []string{"0"}, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := query(parsed[queryInput](t, tt.input))
			if err != nil || got.Truncated != tt.truncated || got.Count != len(tt.want) {
				t.Fatalf("query(%s) = %s, %v", tt.input, got.Results, err)
			}
			for i, r := range got.Results {
				if string(r) != tt.want[i] {
					t.Errorf("result %d = %s, want %s", i, r, tt.want[i])
				}
			}
		})
	}
}

func TestQueryErrors(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, input string
		kind        skill.Kind
		contains    string
	}{
		{"no source", `{"expression":"."}`, skill.Invalid, "data or text"},
		{"two sources", `{"data":1,"text":"1","expression":"."}`, skill.Invalid, "only one"},
		{"bad expression", `{"data":1,"expression":".["}`, skill.Invalid, "expression: "},
		{"unknown function", `{"data":1,"expression":"nope(1)"}`, skill.Invalid, "nope/1"},
		{"bad text", `{"text":"{]","expression":"."}`, skill.Invalid, "text: not valid JSON"},
		{"run time error", `{"data":{"a":1},"expression":".[0]"}`, skill.Invalid, "expression: "},
		{"error call", `{"data":1,"expression":"error(\"own\")"}`, skill.Invalid, "own"},
		{"halt with error", `{"data":"bad","expression":"halt_error"}`, skill.Invalid, "expression: "},
		{"limit", `{"data":1,"expression":".","limit":0}`, skill.Invalid, "limit: must be from 1"},
		{"steps option", `{"data":1,"expression":".","max_steps":0}`, skill.Invalid, "max_steps: must be from 1"},
		{"endless", `{"data":1,"expression":"last(repeat(.))","max_steps":10000}`, skill.Limit, "max_steps"},
		{"endless recursion", `{"data":1,"expression":"def f: f; f","max_steps":10000}`, skill.Limit, "max_steps"},
		{"too much caught", `{"data":1,"expression":"try last(repeat(.)) catch .","max_steps":10000}`, skill.Limit, "max_steps"},
		{"input", `{"data":1,"expression":"input"}`, skill.Invalid, "input"},
		{"module", `{"data":1,"expression":"import \"m\" as m; 1"}`, skill.Invalid, "module"},
		{"variable name", `{"data":1,"expression":".","variables":{"a b":1}}`, skill.Invalid, "variable"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, err := query(parsed[queryInput](t, tt.input))
			if skill.KindOf(err) != tt.kind || !strings.Contains(err.Error(), tt.contains) {
				t.Errorf("query(%s) = %v (%s), want %q (%s)", tt.input, err, skill.KindOf(err), tt.contains, tt.kind)
			}
		})
	}
}

func TestQueryDeepData(t *testing.T) {
	t.Parallel()
	deep := strings.Repeat("[", 20_000) + strings.Repeat("]", 20_000)
	_, err := query(queryInput{Text: &deep, Expression: "."})
	if skill.KindOf(err) != skill.Invalid {
		t.Errorf("query of 20,000 nested arrays = %v, want an error of kind invalid", err)
	}
}

func FuzzQuery(f *testing.F) {
	for _, seed := range [][2]string{
		{`{"a":[1,2]}`, ".a[]"}, {"1 2 3", ". * 2"}, {"{]", "."}, {`"x"`, `test("(x")`}, {"1e999", "."}, {"[]", "def f: f; f"}, {"null", "[limit(3;repeat(1))]"},
	} {
		f.Add(seed[0], seed[1])
	}
	f.Fuzz(func(t *testing.T, text, expression string) {
		// These multiply memory rather than steps; only the host bounds them.
		if slices.ContainsFunc([]string{"*", "range", "combinations", "limit", "pad", "tojson", "[1", "setpath"}, func(s string) bool { return strings.Contains(expression, s) }) {
			t.Skip()
		}
		out, err := query(queryInput{Text: &text, Expression: expression, MaxSteps: new(20_000)})
		if err != nil && err.Error() == "" {
			t.Errorf("query(%q, %q): an error without a message", text, expression)
		}
		for _, r := range out.Results {
			if !json.Valid(r) {
				t.Errorf("query(%q, %q): result %q is not valid JSON", text, expression, r)
			}
		}
	})
}
