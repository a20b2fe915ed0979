package look

import (
	"regexp"
	"testing"
)

func TestForStream(t *testing.T) {
	for _, test := range []struct {
		terminal bool
		env      map[string]string
		on       bool
	}{
		{true, nil, true},
		{false, nil, false},
		{true, map[string]string{"NO_COLOR": "1"}, false},
		{true, map[string]string{"TERM": "dumb"}, false},
		{true, map[string]string{"CLICOLOR": "0"}, false},
		{false, map[string]string{"CLICOLOR_FORCE": "1"}, true},
		{false, map[string]string{"CLICOLOR_FORCE": "0"}, false},
		{true, map[string]string{"TERM": "dumb", "CLICOLOR_FORCE": "1"}, true},
		{false, map[string]string{"NO_COLOR": "1", "CLICOLOR_FORCE": "1"}, false},
	} {
		if got := For(test.terminal, func(name string) string { return test.env[name] }); got.On() != test.on {
			t.Errorf("a terminal %v with %v: %v", test.terminal, test.env, got.On())
		}
	}
}

var escapes = regexp.MustCompile("\x1b\\[[0-9]*m")

// Paint changes nothing but how text looks, and nothing at all without colours.
func TestPaintKeepsText(t *testing.T) {
	on := Style{on: true}
	for _, text := range []string{
		"", "  ok    store", "+ may read /data", "- may read", "~ tool changed", "  FAIL  policies", "  hint: `skillet doctor`", "a line", "-x", "active",
		`{"a": "b: \"c\" 1", "n": -1.5e3, "t": true, "x": [null, "", {}]}`,
	} {
		for name, got := range map[string]string{"line": on.Line(text), "word": on.Word(text), "JSON": string(on.JSON([]byte(text)))} {
			if plain := escapes.ReplaceAllString(got, ""); plain != text {
				t.Errorf("%s of %q is %q", name, text, plain)
			}
		}
		if (Style{}).Line(text) != text || (Style{}).Word(text) != text || string((Style{}).JSON([]byte(text))) != text {
			t.Errorf("%q is painted without colours", text)
		}
	}
	if got, want := string(on.JSON([]byte(`{"a": "b"}`))), "{\x1b[34m\"a\"\x1b[0m: \x1b[32m\"b\"\x1b[0m}"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got := on.Line("  FAIL  x"); got != "  \x1b[31mFAIL\x1b[0m  x" {
		t.Errorf("%q", got)
	}
}
