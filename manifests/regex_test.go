package manifests

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp/syntax"
	"strings"
	"testing"
)

// TestPatternStates demands that no automaton has more states than were foreseen.
func TestPatternStates(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "a", "^abc$", "a*", "a+?b", "(a|bc|[d-f]){3,7}", "a{1000}", "(?:a{10}){10}", "(?i)straße", `\pL{0,30}`, "a{3,}", "(?:a?){20}", ".{1,200}x"} {
		_, states, err := CompilePattern(text)
		tree, _ := syntax.Parse(text, syntax.Perl)
		prog, perr := syntax.Compile(tree.Simplify())
		if err != nil || perr != nil || len(prog.Inst) > states+2 || PatternStates(text) != states {
			t.Errorf("%q: %d states foreseen, has %d; %v", text, states, len(prog.Inst), err)
		}
	}
	var tooLarge *PatternSizeError
	if _, _, err := CompilePattern(strings.Repeat("a{1000}", 20)); !errors.As(err, &tooLarge) || tooLarge.States < 20_000 {
		t.Errorf("%v", err)
	}
}

// TestSchemaPatternsAreBounded: before these bounds, a schema of 256 KB took the
// host gigabytes of memory to read.
func TestSchemaPatternsAreBounded(t *testing.T) {
	t.Parallel()
	schema := func(n int, pattern string) json.RawMessage {
		var all []string
		for i := range n {
			all = append(all, fmt.Sprintf(`"p%d":{"type":"string","pattern":"%s%d"}`, i, pattern, i))
		}
		return json.RawMessage(`{"type":"object","properties":{` + strings.Join(all, ",") + `}}`)
	}
	if _, err := CompileSchema(schema(300, "^[a-z]{1,60}$")); err != nil {
		t.Errorf("usual patterns: %v", err)
	}
	for want, text := range map[string]json.RawMessage{
		"too large": schema(1, strings.Repeat("a{1000}", 2_500)),
		"together":  schema(1000, "a{999}b{999}"),
	} {
		if _, err := CompileSchema(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %.500v", want, err)
		}
	}
	// A text that is checked later counts for itself.
	s, err := CompileSchema(json.RawMessage(`{"type":"string","format":"regex"}`))
	for i := range 100 {
		if err := s.Check(json.RawMessage(fmt.Sprintf(`"a{1000}b{1000}%d"`, i))); err != nil {
			t.Fatal(err)
		}
	}
	if err != nil || s.Check(json.RawMessage(`"`+strings.Repeat("a{1000}", 100)+`"`)) == nil {
		t.Errorf("a huge expression in a value is compiled; %v", err)
	}
}
