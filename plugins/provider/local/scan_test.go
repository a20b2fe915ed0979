package local

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/skillet-run/skillet/manifests"
	"github.com/skillet-run/skillet/plugins/provider"
)

func TestScan(t *testing.T) {
	t.Parallel()
	tests := []struct {
		goal string
		want string // the literals, as kind:text
	}{
		{"nothing here", ""},
		{`say "a b" and 'c d' and “e” or it's Bob's`, "quoted:a b quoted:c d quoted:e"},
		{"run `x | y` or ```go\nfmt.Println()\n```", "quoted:x | y quoted:fmt.Println()\n"},
		{"see https://e.org/a?b=c(d). And (https://e.org/f)!", "web:https://e.org/a?b=c(d) web:https://e.org/f"},
		{"read ./a.md, docs/b, ../c.txt: ~/d.pdf; .gitignore.", "path:./a.md path:docs/b path:../c.txt path:~/d.pdf path:.gitignore"},
		{"e.g. this and/or that, i.e. v1 at 10 a.m. in Node", ""},
		{"mail bob@example.com", ""},
		{"fetch example.org/x and *.go", "web:https://example.org/x glob:*.go"},
		{`limit=3 city="New York" {"a": [1, 2]} [1,`, `pair:3 pair:New York value:{"a":[1,2]}`},
		{"2024-01-31 was 1.5 times", "number:1.5"},
		{"\xff\x00 `never \"closed", ""},
	}
	names := map[kind]string{quoted: "quoted", web: "web", pathName: "path", glob: "glob", pair: "pair", value: "value"}
	for _, tt := range tests {
		var got []string
		for _, x := range newLexicon().scan(tt.goal) {
			if x.literal() {
				got = append(got, names[x.kind]+":"+x.text)
			} else if x.kind == number && strings.Contains(x.text, ".") {
				got = append(got, "number:"+x.text)
			}
		}
		if s := strings.Join(got, " "); s != tt.want {
			t.Errorf("%q: %q, want %q", tt.goal, s, tt.want)
		}
	}
}

func TestClauses(t *testing.T) {
	t.Parallel()
	tests := []struct {
		goal string
		want []string
	}{
		{"", nil},
		{"Hello! Thanks.", nil},
		{"Summarise README.md and list its links", []string{"Summarise README.md", "list its links"}},
		{"Compare a.md and b.md, then count the words", []string{"Compare a.md and b.md", "count the words"}},
		{"Could you please\nread a.md\nfor me?", []string{"read a.md for me"}},
		{"1. Read a.md.\n2. Email it to Bob.", []string{"Read a.md", "Email it to Bob"}},
		{"Sort x.csv by name and age, descending", []string{"Sort x.csv by name and age, descending"}},
	}
	for _, tt := range tests {
		var got []string
		for _, c := range newLexicon().clauses(tt.goal) {
			got = append(got, c.text())
		}
		if !reflect.DeepEqual(got, tt.want) {
			t.Errorf("%q: %q, want %q", tt.goal, got, tt.want)
		}
	}
}

func TestStem(t *testing.T) {
	t.Parallel()
	for _, same := range [][]string{
		{"convert", "converts", "converted", "converting"}, {"describe", "describes", "described", "describing"},
		{"search", "searches", "searching"}, {"directory", "directories"}, {"recursive", "recursively"}, {"fetch", "fetches"},
	} {
		for _, w := range same[1:] {
			if a, b := stem(same[0]), stem(w); a != b && a+"e" != b {
				t.Errorf("%s is %s, %s is %s", same[0], a, w, b)
			}
		}
	}
}

func TestExtract(t *testing.T) {
	t.Parallel()
	const object = `{"type":"object","properties":{"name":{"type":"string"},"age":{"type":"integer","minimum":0},"is_admin":{"type":"boolean"},` +
		`"level":{"enum":["low","high"]},"tags":{"type":"array","items":{"type":"string"}},"note":{"type":"string"}},"required":["name"]}`
	tests := []struct{ name, schema, text, want, problem string }{
		{"lines", object, "Who is it?\n- **Name**: Ann Lee\n- age: 41\nis admin: yes\nLevel = HIGH\ntags: a, b",
			`{"name":"Ann Lee","age":41,"is_admin":true,"level":"high","tags":["a","b"]}`, ""},
		{"an object in the text", object, `It is {"x":1} or {"name":"Bo","age":7.5,"level":"other"}`, `{"name":"Bo"}`, ""},
		{"wrong kinds are not taken", object, "name: x\nage: old\nage: -3\nage: 12\nis_admin: maybe", `{"name":"x","age":12}`, ""},
		{"in data", object, "Fill in.\n" + provider.MarkData("file:x", "name: Cy"), `{"name":"Cy"}`, ""},
		{"missing", object, "Nobody is named.", "", "missing: name"},
		{"no object", `{"type":"array"}`, "x", "", "only schemas of objects"},
		{"no schema", `[]`, "x", "", "only schemas of objects"},
	}
	for _, tt := range tests {
		r := provider.Request{Model: Planner, Schema: json.RawMessage(tt.schema), Messages: []provider.Message{{Role: provider.RoleUser, Text: tt.text}}}
		a, err := New().Generate(t.Context(), r, nil)
		if tt.problem != "" {
			if e, ok := err.(*provider.Error); !ok || e.Class != provider.ClassInvalid || !strings.Contains(e.Message, tt.problem) {
				t.Errorf("%s: %v, %s", tt.name, err, a.Text)
			}
			continue
		}
		if err != nil || a.Text != tt.want {
			t.Errorf("%s: %s, %v; want %s", tt.name, a.Text, err, tt.want)
			continue
		}
		if s, err := manifests.CompileSchema([]byte(tt.schema)); err != nil || s.Check([]byte(a.Text)) != nil {
			t.Errorf("%s: %s does not fit: %v", tt.name, a.Text, err)
		}
	}
}

// Any goal comes to a plan of whole inputs, the same each time.
func FuzzGoal(f *testing.F) {
	for i, c := range goalCases(f, "testdata/goals.txt") {
		if i%4 == 0 {
			f.Add(c.goal)
		}
	}
	for _, s := range []string{"", "and and and", "to to to x.md", "where is >", "``````", "{[", "sort by by by", "\xff", "a=\"", "'’“", "save to a.txt", "'s"} {
		f.Add(s)
	}
	tools, p := bundled(f), New()
	f.Fuzz(func(t *testing.T, goal string) {
		r := provider.Request{Model: Planner, Tools: tools, Messages: []provider.Message{{Role: provider.RoleUser, Text: goal}}}
		a, err := p.Generate(t.Context(), r, nil)
		if err != nil {
			t.Fatal(err)
		}
		if (len(a.Calls) == 0) == (a.Text == "") {
			t.Errorf("%q: %d calls and %q", goal, len(a.Calls), a.Text)
		}
		for _, c := range a.Calls {
			if !json.Valid(c.Input) {
				t.Errorf("%q: %s %s", goal, c.Name, c.Input)
			}
		}
		if again, err := p.Generate(t.Context(), r, nil); err != nil || !reflect.DeepEqual(a, again) {
			t.Errorf("%q: another answer, %v", goal, err)
		}
	})
}

// FuzzResult has tools answer anything.
func FuzzResult(f *testing.F) {
	for _, s := range []string{`{"text":"x"}`, `{"text":"x`, `{"a":1,"text":"\u00`, "[done]\n{\"text\":\"y\"}", `{"status":500}`, `{"status":"x"}`, "{", `{"columns":["a"],"rows":[["b","c"]]}`,
		`{"links":[{"url":"x"},1,null]}`, "\xff", "{\"text\":\"a\\\n(cut: x)"} {
		f.Add(s, true)
	}
	tools, p := bundled(f), New()
	f.Fuzz(func(t *testing.T, text string, mark bool) {
		r := provider.Request{Model: Planner, Tools: tools, Messages: []provider.Message{{Role: provider.RoleUser, Text: "Summarise a.md and list its links"}}}
		for range 4 {
			a, err := p.Generate(t.Context(), r, nil)
			if err != nil {
				t.Fatal(err)
			}
			if len(a.Calls) == 0 {
				return
			}
			r.Messages = append(r.Messages, provider.Message{Role: provider.RoleAssistant, Calls: a.Calls})
			for _, c := range a.Calls {
				if !strings.HasPrefix(c.Name, "files__read_text") && !strings.HasPrefix(c.Name, "text__summarize") && !strings.HasPrefix(c.Name, "markdown__links") {
					t.Errorf("%q made it call %s", text, c.Name)
				}
				m := provider.Message{Role: provider.RoleTool, CallID: c.ID, Text: text}
				if mark {
					m.Text = provider.MarkData(c.Name, text)
				}
				r.Messages = append(r.Messages, m)
			}
		}
		t.Errorf("%q: no end", text)
	})
}

func BenchmarkPlan50Tools(b *testing.B) {
	tools := bundled(b)
	for i := 0; len(tools) < 50; i++ {
		x := tools[i]
		x.Name = "more_" + x.Name
		tools = append(tools, x)
	}
	r := provider.Request{Model: Planner, Tools: tools[:50], Messages: []provider.Message{{Role: provider.RoleUser, Text: "Summarise README.md, list its links and save the summary to out.txt"}}}
	p := New()
	for b.Loop() {
		if _, err := p.Generate(b.Context(), r, nil); err != nil {
			b.Fatal(err)
		}
	}
}
