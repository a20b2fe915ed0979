package main

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/skillet-run/skillet/policies/goldentest"
	skill "github.com/skillet-run/skillet/sdk/go"
)

func page(t *testing.T) string {
	t.Helper()
	b, err := os.ReadFile("testdata/page.html")
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestGolden(t *testing.T) {
	t.Parallel()
	const base = "https://tide.example/a/"
	for _, links := range []string{"none", "inline"} {
		plain, err := toText(toTextInput{HTML: page(t), Links: links, Images: links == "inline", BaseURL: base})
		if err != nil {
			t.Fatal(err)
		}
		goldentest.File(t, "testdata/page."+links+".txt", plain.Text)
		marked, err := toMarkdown(toMarkdownInput{HTML: page(t), Links: links, BaseURL: base})
		if err != nil {
			t.Fatal(err)
		}
		goldentest.File(t, "testdata/page."+links+".md", marked.Markdown)
		if want := "Tide tables – harbours"; plain.Title != want || marked.Title != want {
			t.Errorf("titles %q and %q, want %q", plain.Title, marked.Title, want)
		}
	}
}

func TestToText(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, html, want string }{
		{"empty", "", ""},
		{"blank", " \n<p> </p>", ""},
		{"white space", " a\n\n b\t<b> c</b>d ", "a b cd\n"},
		{"no-break space", "a&nbsp;&nbsp;b", "a  b\n"},
		{"blocks and margins", "<div>a</div><div>b</div><p>c</p>d", "a\nb\n\nc\n\nd\n"},
		{"line breaks", "a<br>b<br><br>c<br><br><br><br>d", "a\nb\n\nc\n\nd\n"},
		{"preformatted", "<pre>a\n  b\n\n\nc\n</pre>d", "a\n  b\n\n\nc\n\nd\n"},
		{"nested lists", "<ul><li>a<ol><li>b<li>c</ol><li>d</ul>", "- a\n  1. b\n  2. c\n- d\n"},
		{"item without a list", "<li>a", "- a\n"},
		{"list in an item only", "<ul><li><ul><li>x</ul></ul>", "- - x\n"},
		{"bad start", "<ol start=x><li>a</ol>", "1. a\n"},
		{"quote", "a<blockquote><p>b</p><p>c</p></blockquote>d", "a\n\n> b\n>\n> c\n\nd\n"},
		{"item with paragraphs", "<ul><li><p>a</p><p>b</p></ul>", "- a\n  b\n"},
		{"table", "<table><tr><th>a<th>b<tr><td>1<td>2</table>", "a | b\n1 | 2\n"},
		{"empty cells", "<table><tr><td><td><td>x<tr><td>1<td><td>3</table>", "| | x\n1 | | 3\n"},
		{"cells of blocks", "<table><tr><td><p>a</p><td><p>b</p></table>", "a\n\nb\n"},
		{"table in a table", "<table><tr><td><table><tr><td>1<td>2</table><td>x</table>", "1 | 2\n\nx\n"},
		{"scripts and styles", "a<script>b</script><style>c</style><noscript>d</noscript>e", "ae\n"},
		{"hidden", "a<p hidden>b</p><span style='DISPLAY: None;'>c</span>", "a\n"},
		{"comment", "a<!-- b -->c", "ac\n"},
		{"unclosed", "<p>a<b>b<p>c", "ab\n\nc\n"},
		{"not html", "3 < 4 && 5 > 4", "3 < 4 && 5 > 4\n"},
		{"nul", "a\x00b", "ab\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got, err := toText(toTextInput{HTML: tt.html}); err != nil || got.Text != tt.want {
				t.Errorf("toText(%q) = %q, %v; want %q", tt.html, got.Text, err, tt.want)
			}
		})
	}
}

func TestLinksAndImages(t *testing.T) {
	t.Parallel()
	tests := []struct{ html, text, markdown string }{
		{`<a href="/b?x=1&amp;y">t</a>`, "t (https://e.org/b?x=1&y)\n", "[t](https://e.org/b?x=1&y)\n"},
		{`<a href="https://e.org/">https://e.org/</a>`, "https://e.org/\n", "[https://e.org/](https://e.org/)\n"},
		{`<a href="javascript:alert(1)">t</a>`, "t\n", "t\n"},
		{`<a href=" JavaScript:alert(1)">t</a>`, "t\n", "t\n"},
		{`<a href="data:text/html,x">t</a>`, "t\n", "t\n"},
		{`<a href="#x">t</a>`, "t\n", "[t](#x)\n"},
		{`<a name="x">t</a>`, "t\n", "t\n"},
		{`<a href="%zz">t</a>`, "t\n", "t\n"},
		{`<a href="mailto:a@b.c">t</a>`, "t (mailto:a@b.c)\n", "[t](mailto:a@b.c)\n"},
		{`x<img src="i.png" alt="alt">`, "xalt (https://e.org/a/i.png)\n", "x![alt](https://e.org/a/i.png)\n"},
		{`<img src="data:image/png;base64,AA" alt="alt">`, "alt\n", "alt\n"},
	}
	for _, tt := range tests {
		text, err := toText(toTextInput{HTML: tt.html, Links: "inline", Images: true, BaseURL: "https://e.org/a/"})
		if err != nil || text.Text != tt.text {
			t.Errorf("toText(%s) = %q, %v; want %q", tt.html, text.Text, err, tt.text)
		}
		markdown, err := toMarkdown(toMarkdownInput{HTML: tt.html, BaseURL: "https://e.org/a/"})
		if err != nil || markdown.Markdown != tt.markdown {
			t.Errorf("toMarkdown(%s) = %q, %v; want %q", tt.html, markdown.Markdown, err, tt.markdown)
		}
	}
}

func TestMarkdownOptions(t *testing.T) {
	t.Parallel()
	const source = `<p><a href="/x">a <b>b</b></a> <img src="i.png" alt="alt"> <del>d</del></p>`
	tests := []struct {
		in   toMarkdownInput
		want string
	}{
		{toMarkdownInput{}, "[a **b**](/x) ![alt](i.png) ~~d~~\n"},
		{toMarkdownInput{Links: "none"}, "a **b** alt ~~d~~\n"},
		{toMarkdownInput{Images: new(false)}, "[a **b**](/x) ~~d~~\n"},
	}
	for _, tt := range tests {
		tt.in.HTML = source
		if got, err := toMarkdown(tt.in); err != nil || got.Markdown != tt.want {
			t.Errorf("toMarkdown(%+v) = %q, %v; want %q", tt.in, got.Markdown, err, tt.want)
		}
	}
	if got, err := toMarkdown(toMarkdownInput{}); err != nil || got.Markdown != "" {
		t.Errorf("toMarkdown of nothing = %q, %v", got.Markdown, err)
	}
}

func TestErrors(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		in   toTextInput
		want string
	}{
		{"links", toTextInput{Links: "all"}, "links: must be none or inline"},
		{"relative base", toTextInput{BaseURL: "/a"}, "base_url: must be an absolute"},
		{"base of another scheme", toTextInput{BaseURL: "file:///etc"}, "base_url: must be an absolute"},
		{"no base", toTextInput{BaseURL: "http://a b/"}, "base_url: must be an absolute"},
		{"deep", toTextInput{HTML: strings.Repeat("<div>", 600)}, "html: "},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, err := toText(tt.in)
			if skill.KindOf(err) != skill.Invalid || !strings.HasPrefix(err.Error(), tt.want) {
				t.Errorf("toText: %v, want %s", err, tt.want)
			}
			_, err = toMarkdown(toMarkdownInput{HTML: tt.in.HTML, Links: tt.in.Links, BaseURL: tt.in.BaseURL})
			if skill.KindOf(err) != skill.Invalid || !strings.HasPrefix(err.Error(), tt.want) {
				t.Errorf("toMarkdown: %v, want %s", err, tt.want)
			}
		})
	}
}

func FuzzHTML(f *testing.F) {
	sample, err := os.ReadFile("testdata/page.html")
	if err != nil {
		f.Fatal(err)
	}
	for _, seed := range []string{string(sample), "", "<table><td><li><pre>\r\n", "<a href=x><img src=y><a>", "<svg><title>", "\xff\x00<", "<ul><ol start=-5><li>"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, source string) {
		text, err := toText(toTextInput{HTML: source, Links: "inline", Images: true, BaseURL: "https://e.org/"})
		if err != nil && skill.KindOf(err) != skill.Invalid {
			t.Errorf("toText(%q): %v", source, err)
		}
		if strings.Contains(text.Text, "(javascript:") && !strings.Contains(source, "(javascript:") {
			t.Errorf("toText(%q) = %q", source, text.Text)
		}
		markdown, err := toMarkdown(toMarkdownInput{HTML: source})
		if err != nil && skill.KindOf(err) != skill.Invalid {
			t.Errorf("toMarkdown(%q): %v", source, err)
		}
		if _, err := json.Marshal(markdown); err != nil {
			t.Errorf("toMarkdown(%q): %v", source, err)
		}
	})
}

func BenchmarkToText(b *testing.B) {
	source, err := os.ReadFile("testdata/page.html")
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(source)))
	for b.Loop() {
		if _, err := toText(toTextInput{HTML: string(source)}); err != nil {
			b.Fatal(err)
		}
	}
}
