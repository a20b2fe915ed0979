package main

import (
	"slices"
	"strings"
	"testing"

	"github.com/rivo/uniseg"

	skill "github.com/skillet-run/skillet/sdk/go"
)

const rivers = `---
title: Rivers
---
# Rivers

A river carries water from the hills to the sea. Rain falls on the hills and feeds the river.
The [sea](https://example.com/sea) gives its water back to the sky as **rain**.

` + "```\nriver := water + hills + sea + rain\n```\n" + `
| river | length |
|---|---|
| Tay | 193 km |

- Dr. Gray measured the water of the river for years.
- Lunch was served at noon.
`

func TestSummarize(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		in   summarizeInput
		want string
	}{
		{"empty", summarizeInput{}, ""},
		{"no words", summarizeInput{Text: "--- !!!"}, ""},
		{"one word", summarizeInput{Text: "Yes!"}, "Yes!"},
		{"fewer sentences than asked for", summarizeInput{Text: "The sun is out. We go outside now."},
			"The sun is out. We go outside now."},
		{"markdown", summarizeInput{Text: rivers, Sentences: new(2)},
			"A river carries water from the hills to the sea. Rain falls on the hills and feeds the river."},
		{"as plain text the marks stay", summarizeInput{Text: "# One heading here\n\n*Two* stars are here.", Format: "text"},
			"# One heading here *Two* stars are here."},
		{"said twice is taken once", summarizeInput{Sentences: new(2), Format: "text",
			Text: "The cat eats the fish. The cat eats the fish. A dog chases the cat. Unrelated words stand here."},
			"The cat eats the fish. A dog chases the cat."},
		{"nothing but the same", summarizeInput{Text: strings.Repeat("The cat eats fish. ", 9)}, "The cat eats fish."},
		{"an abbreviation is no sentence", summarizeInput{Text: "Dr. Gray measured the river.", Sentences: new(1)},
			"Dr. Gray measured the river."},
		{"too long ones are left out", summarizeInput{MaxChars: new(20), Text: "The cat eats the fish of the cat. A cat eats."},
			"A cat eats."},
		{"cut", summarizeInput{MaxChars: new(12), Text: "The cat eats the fish."}, "The cat…"},
		{"cut within a word", summarizeInput{MaxChars: new(3), Text: "Caterpillars eat leaves"}, "Ca…"},
		{"chinese", summarizeInput{Sentences: new(1), Text: "河水流向大海。雨水流入河水。午饭很好吃。"}, "河水流向大海。"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := summarize(tt.in)
			if err != nil || got.Summary != tt.want || got.Sentences == nil {
				t.Errorf("summary %q, %v; want %q", got.Summary, err, tt.want)
			}
		})
	}
}

func TestProse(t *testing.T) {
	t.Parallel()
	tests := []struct {
		markdown string
		want     []string
	}{
		{"", nil},
		{"a\nb\n\nc", []string{"a b", "c"}},
		{"Title\n=====\nText", []string{"Text"}},
		{"## Title ##\nText\n***\nMore", []string{"Text", "More"}},
		{"> quoted\n> text", []string{"quoted text"}},
		{"1. one\n   more\n2. two\n\n   still two", []string{"one more", "two", "still two"}},
		{"- [x] done", []string{"done"}},
		{"a\n\n    code\n\n    code\n\nb", []string{"a", "b"}},
		{"~~~\n```\nx\n~~~\nb", []string{"b"}},
		{"```\nnever closed", nil},
		{"<div align=center>\nb\n</div>", []string{"b"}},
		{"[![badge](b.svg)](https://e.org) text", []string{"text"}},
		{"[r]: https://e.org\n[text][r] and <https://e.org/>", []string{"text and https://e.org/"}},
		{"`a_b_c` and _em_, __strong__ ***both*** 2 * 3 * 4 a_b_c \\*", []string{"a_b_c and em, strong both 2 * 3 * 4 a_b_c *"}},
		{"---\nno: end", []string{"no: end"}},
	}
	for _, tt := range tests {
		if got := prose(tt.markdown); !slices.Equal(got, tt.want) {
			t.Errorf("prose(%q) = %q, want %q", tt.markdown, got, tt.want)
		}
	}
}

func TestSummarizeOptions(t *testing.T) {
	t.Parallel()
	tests := []struct {
		in   summarizeInput
		want string
	}{
		{summarizeInput{Sentences: new(0)}, "sentences: must be from 1 to 100, not 0"},
		{summarizeInput{MaxChars: new(0)}, "max_chars: must be from 1 to 1000000, not 0"},
		{summarizeInput{Format: "html"}, `format: must be auto, text or markdown, not "html"`},
	}
	for _, tt := range tests {
		if _, err := summarize(tt.in); err == nil || err.Error() != tt.want || skill.KindOf(err) != skill.Invalid {
			t.Errorf("summarize(%+v) = %v, want %s", tt.in, err, tt.want)
		}
	}
}

func FuzzSummarize(f *testing.F) {
	for _, seed := range []string{rivers, "", "a. b. c", "\xff\x00", "- \n> #\n```", "你好。再见。", "[](\n![", "***_`"} {
		f.Add(seed, 3, 40)
	}
	f.Fuzz(func(t *testing.T, text string, count, chars int) {
		count, chars = 1+abs(count)%maxSentences, 1+abs(chars)%1000
		got, err := summarize(summarizeInput{Text: text, Sentences: &count, MaxChars: &chars})
		if err != nil {
			t.Fatalf("summarize(%q): %v", text, err)
		}
		if len(got.Sentences) > count || len(got.Sentences) > got.Total || uniseg.GraphemeClusterCount(got.Summary) > chars {
			t.Errorf("summarize(%q, %d, %d) = %+v", text, count, chars, got)
		}
		last := 0
		for _, s := range got.Sentences {
			if s.Position <= last || s.Position > got.Total || s.Score < 0 || s.Score > 1 {
				t.Errorf("summarize(%q): sentence %+v behind %d", text, s, last)
			}
			last = s.Position
		}
	})
}

func abs(n int) int { return max(n, -(n + 1)) }

func BenchmarkSummarize(b *testing.B) {
	text := strings.Repeat("The quick brown fox jumps over the lazy dog. Ähnliches gilt für Füchse.\n\n", 1000)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		if _, err := summarize(summarizeInput{Text: text}); err != nil {
			b.Fatal(err)
		}
	}
}
