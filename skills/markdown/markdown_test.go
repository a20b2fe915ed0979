package main

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/skillet-run/skillet/policies/goldentest"
	skill "github.com/skillet-run/skillet/sdk/go"
)

func sample(t *testing.T) string {
	t.Helper()
	b, err := os.ReadFile("testdata/readme.md")
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestToTextGolden(t *testing.T) {
	t.Parallel()
	for _, links := range []string{"none", "inline"} {
		got, err := toText(toTextInput{Markdown: sample(t), Links: links})
		if err != nil {
			t.Fatal(err)
		}
		goldentest.File(t, "testdata/readme."+links+".txt", got.Text)
		if got.Title != "Tide tables for small harbours" || got.FrontMatter != "title: Tide tables\ntags: [sea, moon]\n" {
			t.Errorf("title %q, front matter %q", got.Title, got.FrontMatter)
		}
	}
}

func TestToHTMLGolden(t *testing.T) {
	t.Parallel()
	got, err := toHTML(toHTMLInput{Markdown: sample(t)})
	if err != nil {
		t.Fatal(err)
	}
	goldentest.File(t, "testdata/readme.html", got.HTML)
}

func TestToText(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, markdown, want string }{
		{"empty", "", ""},
		{"blank", " \n\n", ""},
		{"wrapped paragraph", "one\ntwo\n\nthree", "one two\n\nthree\n"},
		{"hard break", "one  \ntwo", "one\ntwo\n"},
		{"escapes and references", `\*a\* &lt;b&gt; &copy; &#x41; \\`, "*a* <b> © A \\\n"},
		{"code keeps references", "`&lt;` and `a\nb`", "&lt; and a b\n"},
		{"html is left out", "a <b>c</b>\n\n<div>x</div>\n\nd", "a c\n\nd\n"},
		{"numbers count on", "3. a\n3. b", "3. a\n4. b\n"},
		{"loose list", "- a\n\n- b", "- a\n\n- b\n"},
		{"item with code", "- a\n\n      x\n      y\n- b", "- a\n\n  x\n  y\n\n- b\n"},
		{"quote of a list", "> - a\n> - b", "> - a\n> - b\n"},
		{"link", "[text](http://a/)", "text\n"},
		{"not front matter", "---\nno end", "---\n\nno end\n"},
		{"no fields between dashes", "---\nFoo\n---\nbar", "---\n\nFoo\n\nbar\n"},
		{"windows line ends", "# a\r\n\r\nb\r\nc\r\n", "a\n\nb c\n"},
		{"byte order mark", "\ufeff# a", "a\n"},
		{"break of many stars", strings.Repeat("* ", 150), "---\n"},
		{"invalid utf-8", "a \xff b", "a \xff b\n"},
		{"nul", "a\x00b", "a\x00b\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got, err := toText(toTextInput{Markdown: tt.markdown}); err != nil || got.Text != tt.want {
				t.Errorf("toText(%q) = %q, %v; want %q", tt.markdown, got.Text, err, tt.want)
			}
		})
	}
}

func TestLinks(t *testing.T) {
	t.Parallel()
	tests := []struct{ markdown, want string }{
		{"[text](http://a/ \"t\")", "text (http://a/)\n"},
		{"[http://a/](http://a/)", "http://a/\n"},
		{"<http://a/>", "http://a/\n"},
		{"![alt](x.png)", "alt (x.png)\n"},
		{"[](http://a/?b&amp;c)", "(http://a/?b&c)\n"},
		{"[empty]()", "empty\n"},
		{"[a][r]\n\n[r]: /x", "a (/x)\n"},
	}
	for _, tt := range tests {
		if got, err := toText(toTextInput{Markdown: tt.markdown, Links: "inline"}); err != nil || got.Text != tt.want {
			t.Errorf("toText(%q) = %q, %v; want %q", tt.markdown, got.Text, err, tt.want)
		}
	}
}

func TestTitle(t *testing.T) {
	t.Parallel()
	tests := []struct{ markdown, want string }{
		{"", ""}, {"text", ""}, {"## b\n# a\n# c", "a"}, {"Name\n====", "Name"}, {"# [a](b) `c`", "a c"},
	}
	for _, tt := range tests {
		if got, err := toText(toTextInput{Markdown: tt.markdown, Links: "inline"}); err != nil || got.Title != tt.want {
			t.Errorf("title of %q = %q, %v; want %q", tt.markdown, got.Title, err, tt.want)
		}
	}
}

func TestHTMLIsSafe(t *testing.T) {
	t.Parallel()
	attacks := []string{
		"<script>alert(1)</script>", "a <img src=x onerror=alert(1)>", "[x](javascript:alert(1))",
		"[x](JaVaScRiPt:alert(1))", "![x](javascript:alert(1))", "<javascript:alert(1)>", "[x](data:text/html;base64,PHNjcmlwdD4=)",
		"[x](vbscript:x)", "[x](javascript&#58;alert(1))", "```\"onclick=alert(1)\nx\n```", "[a](http://x\"onclick=\"alert(1))",
		"<svg/onload=alert(1)>", "[x][y]\n\n[y]: javascript:alert(1)",
	}
	for _, attack := range attacks {
		got, err := toHTML(toHTMLInput{Markdown: attack})
		lower := strings.ToLower(got.HTML)
		for _, bad := range []string{"<script", "<img src=x", "<svg", "=\"javascript", "=\"vbscript", "=\"data:", "\"onclick="} {
			if err != nil || strings.Contains(lower, bad) {
				t.Errorf("toHTML(%q) = %q, %v", attack, got.HTML, err)
			}
		}
	}
}

func TestHeadingIDs(t *testing.T) {
	t.Parallel()
	for ids, want := range map[bool]string{false: "<h1>A b</h1>\n", true: "<h1 id=\"a-b\">A b</h1>\n"} {
		if got, err := toHTML(toHTMLInput{Markdown: "# A b", HeadingIDs: ids}); err != nil || got.HTML != want {
			t.Errorf("heading_ids %v: %q, %v; want %q", ids, got.HTML, err, want)
		}
	}
}

func TestErrors(t *testing.T) {
	t.Parallel()
	var staircase strings.Builder
	for i := range 120 {
		staircase.WriteString(strings.Repeat("  ", i) + "- a\n")
	}
	tests := []struct {
		name string
		in   toTextInput
		kind skill.Kind
	}{
		{"links", toTextInput{Links: "all"}, skill.Invalid},
		{"quotes on one line", toTextInput{Markdown: strings.Repeat(">", 5000)}, skill.Limit},
		{"lists on one line", toTextInput{Markdown: strings.Repeat("- ", 5000) + "x"}, skill.Limit},
		{"numbers on one line", toTextInput{Markdown: strings.Repeat("1. ", 5000) + "x"}, skill.Limit},
		{"lists line by line", toTextInput{Markdown: staircase.String()}, skill.Limit},
	}
	for _, tt := range tests {
		if _, err := toText(tt.in); skill.KindOf(err) != tt.kind {
			t.Errorf("%s: %v, want kind %s", tt.name, err, tt.kind)
		}
	}
	if _, err := toHTML(toHTMLInput{Markdown: strings.Repeat("> ", 5000)}); skill.KindOf(err) != skill.Limit {
		t.Errorf("html of nested quotes: %v, want kind limit", err)
	}
}

func FuzzMarkdown(f *testing.F) {
	sample, err := os.ReadFile("testdata/readme.md")
	if err != nil {
		f.Fatal(err)
	}
	for _, seed := range []string{string(sample), "", "---\n---", "\\", "&", "[a]: <", "|a\n|-\n|", "- [ ]\n  1)", "\xff\x00", "[^1]\n\n[^1]:"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, markdown string) {
		for _, links := range []string{"none", "inline"} {
			out, err := toText(toTextInput{Markdown: markdown, Links: links})
			if err != nil && skill.KindOf(err) != skill.Limit {
				t.Errorf("toText(%q): %v", markdown, err)
			}
			if _, err := json.Marshal(out); err != nil {
				t.Errorf("toText(%q): %v", markdown, err)
			}
		}
		if _, err := toHTML(toHTMLInput{Markdown: markdown}); err != nil && skill.KindOf(err) != skill.Limit {
			t.Errorf("toHTML(%q): %v", markdown, err)
		}
	})
}

func BenchmarkToText(b *testing.B) {
	source, err := os.ReadFile("testdata/readme.md")
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(source)))
	for b.Loop() {
		if _, err := toText(toTextInput{Markdown: string(source)}); err != nil {
			b.Fatal(err)
		}
	}
}
