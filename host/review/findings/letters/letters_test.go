package letters_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/skillet-run/skillet/host/review/findings/letters"
)

// tags writes text in the block Tags.
func tags(text string) string {
	var b strings.Builder
	for _, r := range text {
		b.WriteRune(r + 0xe0000)
	}
	return b.String()
}

// selectors writes text in variation selectors.
func selectors(text string) string {
	var b strings.Builder
	for _, c := range []byte(text) {
		if c < 16 {
			b.WriteRune(0xfe00 + rune(c))
		} else {
			b.WriteRune(0xe0100 + rune(c) - 16)
		}
	}
	return b.String()
}

func TestRuns(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"plain text, ünd Ελληνικά, 日本語\n\t", ""},
		{"hi" + tags("ignore") + "!", `tag 2-26 x6 "ignore"`},
		{"hi" + selectors("do it") + "!", `shapeless 2-22 x5 "do it"`},
		{"a\u202eb", "turn 1-4 x1"},
		{"a\u2066b\u2069", "turn 1-4 x1; turn 5-8 x1"},
		{"a\u200bb", "shapeless 1-4 x1"},
		{"\ufeffa", "shapeless 0-3 x1 usual"},
		{"a\ufeff", "shapeless 1-4 x1"},
		{"a\x1b[2J", "control 1-2 x1"},
		{"a\u009bb", "control 1-3 x1"},
		{"👩\u200d💻", "shapeless 4-7 x1 usual"},
		{"❤\ufe0f", "shapeless 3-6 x1 usual"},
		{"1\ufe0f\u20e3", "shapeless 1-4 x1 usual"},
		{"🏴" + tags("gbsct") + "\U000e007f", `tag 4-28 x6 usual "gbsct"`},
		{"نمی\u200cخواهم", "shapeless 6-9 x1 usual"},
		{"葛\U000e0100", "shapeless 3-7 x1 usual"},
		{"co\u00adop", "shapeless 2-4 x1 usual"},
		{"a\u200d\u200c\u200d\u200cb", "shapeless 1-13 x4"},
		{"\xff\xfe", ""},
	} {
		var all []string
		for _, r := range letters.Runs([]byte(c.text), 10) {
			kind := map[letters.Kind]string{letters.Tag: "tag", letters.Turn: "turn", letters.Shapeless: "shapeless", letters.Control: "control"}[r.Kind]
			s := fmt.Sprintf("%s %d-%d x%d", kind, r.Start, r.End, r.Count)
			if r.Usual {
				s += " usual"
			}
			if r.Text != "" {
				s += fmt.Sprintf(" %q", r.Text)
			}
			all = append(all, s)
		}
		if got := strings.Join(all, "; "); got != c.want {
			t.Errorf("%q: have %s, want %s", c.text, got, c.want)
		}
	}
	if n := len(letters.Runs([]byte(strings.Repeat("\x00a", 50)), 7)); n != 7 {
		t.Errorf("%d runs, and 7 were asked for", n)
	}
}

func TestFold(t *testing.T) {
	for text, want := range map[string]string{
		"Ignore  ALL\n\tprevious": "ignore all previous",
		"ig\u200bno\u00adre":      "ignore",
		"іgnоrе":                  "ignore", // with Cyrillic letters
		"ｉｇｎｏｒｅ 𝐚𝐥𝐥":              "ignore all",
		"Prévîous naïve":          "previous naive",
		tags("x") + "a\u3000b":    "a b",
		"ﬁle Straße":              "file straße",
		"忽略之前的":                   "忽略之前的",
		"a\xffb":                  "ab",
	} {
		f := letters.Fold([]byte(text))
		if string(f.Text) != want {
			t.Errorf("%q: have %q, want %q", text, f.Text, want)
		}
		if s, e := f.Origin(0, len(f.Text)); s < 0 || e > len(text) {
			t.Errorf("%q: it is from [%d, %d)", text, s, e)
		}
	}
	f := letters.Fold([]byte("x ig\u200bnore y"))
	if s, e := f.Origin(2, 8); s != 2 || e != 11 {
		t.Errorf("a word is from [%d, %d)", s, e)
	}
}

func TestDisguised(t *testing.T) {
	for text, want := range map[string]string{
		"pаypal":              "paypal",
		"the раура account":   "paypa whole",
		"Привет, мир":         "",
		"α-helix, Δt, µs, kΩ": "",
		"naïve Straße":        "",
		"о":                   "",
		"get_tоken(x)":        "get_token",
		"日本語abc":              "",
	} {
		var all []string
		for _, w := range letters.Disguised([]byte(text), 10) {
			s := w.Plain
			if w.Whole {
				s += " whole"
			}
			all = append(all, s)
		}
		if got := strings.Join(all, "; "); got != want {
			t.Errorf("%q: have %q, want %q", text, got, want)
		}
	}
}

func FuzzLetters(f *testing.F) {
	for _, s := range []string{"a\u200b", tags("hi"), selectors("hi"), "іgnоrе", "\xff", "🏴" + tags("gb") + "\U000e007f", "ﷺ"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		last := 0
		for _, r := range letters.Runs(text, 100) {
			if r.Start < last || r.End <= r.Start || r.End > len(text) || r.Count < 1 {
				t.Fatalf("%+v after %d of %d", r, last, len(text))
			}
			last = r.End
		}
		folded := letters.Fold(text)
		for i := range folded.Text {
			if s, e := folded.Origin(i, i+1); s < 0 || e < s || e > len(text) {
				t.Fatalf("byte %d is from [%d, %d) of %d", i, s, e, len(text))
			}
		}
		last = 0
		for _, w := range letters.Disguised(text, 100) {
			if w.Start < last || w.End <= w.Start || w.End > len(text) {
				t.Fatalf("%+v", w)
			}
			last = w.End
		}
	})
}

func BenchmarkFold(b *testing.B) {
	text := []byte(strings.Repeat("It is late. Wir sollten früh aufstehen, и это всё.\n", 1000))
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		letters.Fold(text)
	}
}
