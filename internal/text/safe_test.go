package text

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestPlain(t *testing.T) {
	for in, want := range map[string]string{
		"a\x1b[2Jb": "a\uFFFD[2Jb", "tab\tand\nline": "tab and line", "\u202Etxt.exe": "\uFFFDtxt.exe", "\r": "\uFFFD",
		"日本語": "日本語", "\u009b2J": "\uFFFD2J", "\xff": "\uFFFD", "a\u2028b": "a\uFFFDb",
	} {
		if got := Plain(in); got != want {
			t.Errorf("%q became %q, want %q", in, got, want)
		}
	}
	if got := PlainLines("a\n\tb\x1b"); got != "a\n\tb\uFFFD" {
		t.Errorf("got %q", got)
	}
}

func FuzzPlain(f *testing.F) {
	f.Add("a\x1b]0;title\x07\u202e\r\n\x9b")
	f.Fuzz(func(t *testing.T, s string) {
		if got := Plain(s); strings.ContainsFunc(got, func(r rune) bool { return r != Harmless(r) }) || !utf8.ValidString(got) {
			t.Errorf("%q became %q", s, got)
		}
	})
}

func FuzzEscaped(f *testing.F) {
	f.Add("a\x1b[2J\u202e\u009b")
	f.Fuzz(func(t *testing.T, s string) {
		want, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		got := Escaped(string(want))
		var a, b string
		if json.Unmarshal(want, &a) != nil || json.Unmarshal([]byte(got), &b) != nil || a != b {
			t.Errorf("%q means %q, and %q means %q", want, a, got, b)
		}
		if strings.ContainsFunc(got, func(r rune) bool { return r != Harmless(r) }) {
			t.Errorf("%q has control characters", got)
		}
	})
}
