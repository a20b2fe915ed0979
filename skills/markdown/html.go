package main

import (
	"bytes"

	skill "github.com/skillet-run/skillet/sdk/go"
)

type toHTMLInput struct {
	Markdown   string `json:"markdown"`
	HeadingIDs bool   `json:"heading_ids"`
}

type toHTMLOutput struct {
	HTML        string `json:"html"`
	FrontMatter string `json:"front_matter"`
}

// toHTML renders a document as an HTML fragment. HTML inside the Markdown is
// left out and links with dangerous schemes lose their target, so the result
// runs no script of the author's.
func toHTML(in toHTMLInput) (toHTMLOutput, error) {
	front, body := splitFrontMatter(in.Markdown)
	if err := checkDepth(body); err != nil {
		return toHTMLOutput{}, err
	}
	var buf bytes.Buffer
	if err := converter(in.HeadingIDs).Convert([]byte(body), &buf); err != nil {
		return toHTMLOutput{}, skill.Errorf(skill.Failed, "render markdown: %w", err)
	}
	return toHTMLOutput{HTML: buf.String(), FrontMatter: front}, nil
}
