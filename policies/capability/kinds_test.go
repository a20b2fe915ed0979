package capability

import (
	"os"
	"slices"
	"strings"
	"testing"
)

// Each row of the table says all of its action.
func TestKinds(t *testing.T) {
	t.Parallel()
	taken := map[string]Action{}
	for _, k := range Kinds() {
		c, err := Parse(k.Example)
		if err != nil || c.Action() != k.Action || c.String() != k.Example {
			t.Fatalf("the example of %s is %s, which is %s, %v", k.Action, k.Example, c, err)
		}
		if words := c.Words(); words == "" || k.Help == "" {
			t.Errorf("%s: words %q, help %q", k.Action, words, k.Help)
		}
		if k.Shape == ShapeURL && k.Action != HTTP {
			t.Errorf("%s has URLs, and everything that knows of URLs takes them for those of %s", k.Action, HTTP)
		}
		if got, ok := k.Action.Kind(); !ok || got.Action != k.Action || k.Action.Shape() != k.Shape {
			t.Errorf("%s is not found by its name", k.Action)
		}
		if k.Field == "" && len(k.AlsoIn) == 0 && k.Action != Native {
			t.Errorf("no manifest can ask for %s", k.Action)
		}
		if k.Field != "" && AskedIn(k.Field) != k.Action {
			t.Errorf("the field %s asks for %s and for %s", k.Field, k.Action, AskedIn(k.Field))
		}
		for _, word := range append([]string{string(k.Action)}, k.aliases...) {
			if other := taken[word]; other != "" {
				t.Errorf("%s may mean %s or %s", word, k.Action, other)
			}
			taken[word] = k.Action
		}
	}
	if _, ok := Action("").Kind(); ok || AskedIn("") != "" {
		t.Error("nothing is an action")
	}
}

// What may change something: a call that may is not made twice.
func TestChanges(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		"fs.read:/data/**": false, "fs.write:/data/**": true, "kv": true, "secret:github": false,
		"http:GET https://x.example/": false, "http:GET,HEAD,OPTIONS https://x.example/": false,
		"http:GET,POST https://x.example/": true, "http:* https://x.example/": true,
		"skill:csv": true, "session:js-repl/work": true, "model:fast": true, "notify": true, "clock": false, "random": false, "native": true,
	} {
		if got := MustParse(text).Changes(); got != want {
			t.Errorf("%s changes something: %v", text, got)
		}
	}
	if !(Capability{}).Changes() {
		t.Error("the zero capability is taken for harmless")
	}
}

// Its page has an example of each action, and of no other.
func TestPageListsEveryAction(t *testing.T) {
	t.Parallel()
	b, err := os.ReadFile("../../docs/capabilities.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(b), "| capability | lets a skill |\n")
	table, _, _ := strings.Cut(rest, "\n\n")
	var listed []Action
	for line := range strings.Lines(table) {
		cell, _, _ := strings.Cut(strings.TrimPrefix(line, "| "), " | ")
		for text := range strings.SplitSeq(cell, ", ") {
			if strings.Trim(text, "-") == "" {
				continue
			}
			c, err := Parse(strings.Trim(text, "`"))
			if err != nil {
				t.Error(err)
			}
			listed = append(listed, c.Action())
		}
	}
	want := Actions()
	slices.Sort(want)
	slices.Sort(listed)
	if !slices.Equal(slices.Compact(listed), want) {
		t.Errorf("the page lists %v, and the actions are %v", listed, want)
	}
}
