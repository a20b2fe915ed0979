package local

import (
	"strings"
	"testing"
)

// TestHonest: no goal of the list comes to calls that do not answer it and are told as
// its answer, and those that tools fit are solved.
func TestHonest(t *testing.T) {
	t.Parallel()
	tools, lex := bundled(t), newLexicon()
	cases := goalCases(t, "testdata/honest.txt")
	if len(cases) < 40 {
		t.Errorf("only %d goals", len(cases))
	}
	for _, c := range cases {
		p := lex.plan(c.goal, nil, tools)
		got := map[bool]string{true: "solved", false: "refused"}[p.reached()]
		if got != strings.TrimSpace(c.want) {
			t.Errorf("honest.txt:%d: %s: %s\n%s", c.line, c.goal, got, p.written(t))
		}
	}
}

// TestRefusalIsShort: a greeting is not answered with every tool there is.
func TestRefusalIsShort(t *testing.T) {
	t.Parallel()
	for _, goal := range []string{"hello", "Rename a.txt to b.txt", "Write me a poem about the files in docs"} {
		w := &run{planner: newLexicon().plan(goal, nil, bundled(t)), conversation: conversation{goal: goal}}
		answer := w.text()
		if len(answer) > 1000 || strings.Count(answer, "\n- ") > maxNear || !strings.Contains(answer, "tools: ") || !strings.Contains(answer, "files, ") {
			t.Errorf("%s: %d bytes:\n%s", goal, len(answer), answer)
		}
	}
}
