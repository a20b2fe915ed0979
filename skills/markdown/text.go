package main

import (
	"strings"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/text"

	skill "github.com/skillet-run/skillet/sdk/go"
)

type toTextInput struct {
	Markdown string `json:"markdown"`
	Links    string `json:"links"`
}

type toTextOutput struct {
	Text        string `json:"text"`
	Title       string `json:"title"`
	FrontMatter string `json:"front_matter"`
}

// toText returns what a reader of the rendered document would read: no markup,
// but list bullets, code and the marks of quotes.
func toText(in toTextInput) (toTextOutput, error) {
	withLinks, err := linkOption(in.Links)
	if err != nil {
		return toTextOutput{}, err
	}
	front, body := splitFrontMatter(in.Markdown)
	if err := checkDepth(body); err != nil {
		return toTextOutput{}, err
	}
	source := []byte(body)
	doc := converter(false).Parser().Parse(text.NewReader(source))
	w := textWriter{source: source, links: withLinks}
	out := toTextOutput{Text: w.blocks(doc, "\n\n"), Title: w.title(doc), FrontMatter: front}
	if w.tooDeep {
		return toTextOutput{}, skill.Errorf(skill.Limit, "markdown: blocks nest deeper than %d levels", maxDepth)
	}
	if out.Text != "" {
		out.Text += "\n"
	}
	return out, nil
}

// linkOption says whether the option asks for the targets of links.
func linkOption(option string) (inline bool, err error) {
	switch option {
	case "", "none":
		return false, nil
	case "inline":
		return true, nil
	default:
		return false, skill.Errorf(skill.Invalid, "links: must be none or inline, not %q", option)
	}
}

// title returns the text of the first heading of the highest level there is.
func (w *textWriter) title(doc ast.Node) string {
	var best *ast.Heading
	for n := doc.FirstChild(); n != nil; n = n.NextSibling() {
		if h, ok := n.(*ast.Heading); ok && (best == nil || h.Level < best.Level) {
			best = h
		}
	}
	if best == nil {
		return ""
	}
	plain := textWriter{source: w.source}
	return strings.TrimSpace(plain.inlines(best))
}
