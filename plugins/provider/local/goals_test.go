package local

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/skillet-run/skillet/manifests"
	"github.com/skillet-run/skillet/plugins/provider"
)

// bundled are the tools of the skills in this tree, named as agents see them.
func bundled(t testing.TB) []provider.Tool {
	t.Helper()
	var all []provider.Tool
	for _, name := range manifests.FileNames() {
		files, err := filepath.Glob("../../../skills/*/" + name)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			text, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			m, err := manifests.Parse(text, f)
			if err != nil {
				t.Fatal(err)
			}
			for _, x := range m.Tools {
				if x.Name != "" && x.InputSchema != nil {
					all = append(all, provider.Tool{Name: toolName(m.Name, x.Name), Description: x.Description, InputSchema: x.InputSchema})
				}
			}
		}
	}
	if len(all) < 20 {
		t.Fatalf("only %d tools", len(all))
	}
	return all
}

var otherLetters = regexp.MustCompile(`[^A-Za-z0-9_-]`)

func toolName(skill, tool string) string {
	return otherLetters.ReplaceAllString(skill+"__"+tool, "_")
}

// A goalCase is a goal with the calls it should come to, one a line.
type goalCase struct {
	goal string
	want string
	line int
}

func goalCases(t testing.TB, file string) []goalCase {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var all []goalCase
	for i, line := range strings.Split(string(text), "\n") {
		switch line = strings.TrimSpace(line); {
		case line == "" || strings.HasPrefix(line, "#"):
		case strings.HasPrefix(line, ">"):
			all = append(all, goalCase{goal: strings.ReplaceAll(strings.TrimSpace(line[1:]), `\n`, "\n"), line: i + 1})
		default:
			all[len(all)-1].want += line + "\n"
		}
	}
	return all
}

// written is a plan in the form of the files of goals, with the members of inputs
// in order of their names.
func (p *planner) written(t testing.TB) string {
	t.Helper()
	var b strings.Builder
	for _, s := range p.steps {
		input, err := s.input(func(r *ref) (json.RawMessage, error) {
			return json.Marshal(fmt.Sprintf("<%d.%s", r.step+1, r.field))
		})
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&b, "%s %s\n", s.tool.Name, sorted(t, string(input)))
	}
	return b.String()
}

func sorted(t testing.TB, object string) string {
	t.Helper()
	var v any
	if err := json.Unmarshal([]byte(object), &v); err != nil {
		t.Fatalf("%s: %v", object, err)
	}
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func (c goalCase) wanted(t testing.TB) string {
	t.Helper()
	var b strings.Builder
	for line := range strings.Lines(c.want) {
		name, input, _ := strings.Cut(strings.TrimSpace(line), " ")
		fmt.Fprintf(&b, "%s %s\n", name, sorted(t, input))
	}
	return b.String()
}

// TestGoals plans every goal of the list for the tools of the bundled skills.
func TestGoals(t *testing.T) {
	t.Parallel()
	tools, lex := bundled(t), newLexicon()
	cases := goalCases(t, "testdata/goals.txt")
	if len(cases) < 40 {
		t.Errorf("only %d goals", len(cases))
	}
	for _, c := range cases {
		if got := lex.plan(c.goal, nil, tools).written(t); got != c.wanted(t) {
			t.Errorf("goals.txt:%d: %s\ngot\n%swant\n%s", c.line, c.goal, got, c.wanted(t))
		}
	}
}

// TestHeldOut counts how many goals of the second list come to the calls they
// should. It is no list to tune with: only getting worse is an error.
func TestHeldOut(t *testing.T) {
	t.Parallel()
	tools, lex := bundled(t), newLexicon()
	cases := goalCases(t, "testdata/heldout.txt")
	hits := 0
	for _, c := range cases {
		got := lex.plan(c.goal, nil, tools).written(t)
		if got == c.wanted(t) {
			hits++
			continue
		}
		if testing.Verbose() {
			t.Logf("heldout.txt:%d: %s\ngot\n%swant\n%s", c.line, c.goal, got, c.wanted(t))
		}
	}
	t.Logf("%d of %d goals", hits, len(cases))
}
