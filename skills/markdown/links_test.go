package main

import (
	"slices"
	"strings"
	"testing"

	skill "github.com/skillet-run/skillet/sdk/go"
)

func TestLinksOfADocument(t *testing.T) {
	t.Parallel()
	got, err := links(linksInput{Markdown: sample(t), BaseURL: "https://example.org/tide/"})
	if err != nil {
		t.Fatal(err)
	}
	const under = "Tide tables for small harbours"
	want := []docLink{
		{"build", "https://ci.example.org/tide", "", "inline", under},
		{"build", "https://ci.example.org/tide.svg", "", "image", under},
		{"harmonic constants", "https://example.org/constants?a=1&b=2", "Constants", "inline", under},
		{"https://example.org/harbours", "https://example.org/harbours", "", "autolink", under},
		{"sea@example.org", "mailto:sea@example.org", "", "autolink", under},
	}
	if !slices.Equal(got.Links, want) || got.Count != len(want) || got.Truncated || got.LeftOut != 0 {
		t.Errorf("links: %+v", got)
	}
}

func TestLinkKinds(t *testing.T) {
	t.Parallel()
	const reference = "\n\n[r]: /x \"T\""
	tests := []struct {
		name, markdown string
		want           []docLink
	}{
		{"none", "text", []docLink{}},
		{"inline", "[a *b* `c`](d \"e\")", []docLink{{"a b c", "d", "e", "inline", ""}}},
		{"full reference", "[a][r]" + reference, []docLink{{"a", "/x", "T", "reference", ""}}},
		{"collapsed reference", "[r][]" + reference, []docLink{{"r", "/x", "T", "reference", ""}}},
		{"shortcut reference", "[r]" + reference, []docLink{{"r", "/x", "T", "reference", ""}}},
		{"reference to an image", "![a][r]" + reference, []docLink{{"a", "/x", "T", "image", ""}}},
		{"bare", "www.example.org", []docLink{{"www.example.org", "http://www.example.org", "", "autolink", ""}}},
		{"headings", "[a](a)\n# One\n[b](b)\n## Two [c](c)\n[d](d)", []docLink{
			{"a", "a", "", "inline", ""}, {"b", "b", "", "inline", "One"},
			{"c", "c", "", "inline", "Two c"}, {"d", "d", "", "inline", "Two c"}}},
		{"lists, quotes and tables", "- [a](a)\n\n> [b](b)\n\n|x|\n|-|\n|[c](c)|", []docLink{
			{"a", "a", "", "inline", ""}, {"b", "b", "", "inline", ""}, {"c", "c", "", "inline", ""}}},
		{"not in code", "`[a](a)`\n\n    [b](b)\n", []docLink{}},
		{"a fragment and escapes", "[a](#x) [b](c?d&amp;e)", []docLink{{"a", "#x", "", "inline", ""}, {"b", "c?d&e", "", "inline", ""}}},
		{"front matter has none", "---\na: \"[b](c)\"\n---\n", []docLink{}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got, err := links(linksInput{Markdown: tt.markdown}); err != nil || !slices.Equal(got.Links, tt.want) {
				t.Errorf("links(%q) = %+v, %v; want %+v", tt.markdown, got.Links, err, tt.want)
			}
		})
	}
}

func TestLinkOptions(t *testing.T) {
	t.Parallel()
	const source = "[a](x) [b](/x) [c](https://e.org/a/x) [d](mailto:a@b.c) [e](#f)"
	tests := []struct {
		name  string
		in    linksInput
		want  string
		count int
	}{
		{"as they are", linksInput{}, "x /x https://e.org/a/x mailto:a@b.c #f", 5},
		{"resolved", linksInput{BaseURL: "https://e.org/a/"},
			"https://e.org/a/x https://e.org/x https://e.org/a/x mailto:a@b.c https://e.org/a/#f", 5},
		{"unique", linksInput{BaseURL: "https://e.org/a/", Unique: true},
			"https://e.org/a/x https://e.org/x mailto:a@b.c https://e.org/a/#f", 4},
		{"limited", linksInput{Limit: new(2)}, "x /x", 5},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			tt.in.Markdown = source
			got, err := links(tt.in)
			var all []string
			for _, l := range got.Links {
				all = append(all, l.URL)
			}
			if err != nil || strings.Join(all, " ") != tt.want || got.Count != tt.count || got.Truncated != (len(all) < tt.count) {
				t.Errorf("links(%+v) = %+v, %v", tt.in, got, err)
			}
		})
	}
}

func TestLinksLeftOut(t *testing.T) {
	t.Parallel()
	for _, source := range []string{"[a](javascript:alert(1))", "[a]( JavaScript:x )", "[a](vbscript:x)", "![a](data:image/png;base64,AA)", "[a]()", "[a](http://%zz)"} {
		if got, err := links(linksInput{Markdown: source, BaseURL: "https://e.org/"}); err != nil || len(got.Links) != 0 || got.LeftOut != 1 {
			t.Errorf("links(%q) = %+v, %v", source, got, err)
		}
	}
}

func TestLinkErrors(t *testing.T) {
	t.Parallel()
	var staircase strings.Builder
	for i := range 120 {
		staircase.WriteString(strings.Repeat("  ", i) + "- a\n")
	}
	tests := []struct {
		in   linksInput
		kind skill.Kind
	}{
		{linksInput{BaseURL: "/relative"}, skill.Invalid},
		{linksInput{BaseURL: "file:///etc"}, skill.Invalid},
		{linksInput{Limit: new(0)}, skill.Invalid},
		{linksInput{Limit: new(maxLinks + 1)}, skill.Invalid},
		{linksInput{Markdown: strings.Repeat("> ", 5000)}, skill.Limit},
		{linksInput{Markdown: staircase.String()}, skill.Limit},
	}
	for _, tt := range tests {
		if _, err := links(tt.in); skill.KindOf(err) != tt.kind {
			t.Errorf("links: %v, want kind %s", err, tt.kind)
		}
	}
}

func FuzzLinks(f *testing.F) {
	for _, seed := range []string{"[a](b \"c\")", "<a@b.c> www.x.y", "![a][b]\n[b]: <c>", "# [a](b)\n", "[a](\\&amp;)", "\xff\x00[](\xff)"} {
		f.Add(seed, "https://e.org/a?b#c")
	}
	f.Fuzz(func(t *testing.T, markdown, base string) {
		got, err := links(linksInput{Markdown: markdown, BaseURL: base, Limit: new(3)})
		if err != nil && skill.KindOf(err) != skill.Limit && skill.KindOf(err) != skill.Invalid {
			t.Errorf("links(%q, %q): %v", markdown, base, err)
		}
		for _, l := range got.Links {
			if l.URL == "" || strings.HasPrefix(strings.ToLower(l.URL), "javascript:") {
				t.Errorf("links(%q, %q) has %+v", markdown, base, l)
			}
		}
	})
}
