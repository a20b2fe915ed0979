package main

import (
	"net/url"

	"github.com/JohannesKaufmann/html-to-markdown/v2/converter"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/base"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/commonmark"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/strikethrough"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/table"
	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"

	skill "github.com/skillet-run/skillet/sdk/go"
)

type toMarkdownInput struct {
	HTML    string `json:"html"`
	Links   string `json:"links"`
	Images  *bool  `json:"images"`
	BaseURL string `json:"base_url"`
}

type toMarkdownOutput struct {
	Markdown string `json:"markdown"`
	Title    string `json:"title"`
}

// toMarkdown returns the page as GitHub Flavored Markdown.
func toMarkdown(in toMarkdownInput) (toMarkdownOutput, error) {
	o, err := newOptions(in.Links, true, in.Images == nil || *in.Images, in.BaseURL)
	if err != nil {
		return toMarkdownOutput{}, err
	}
	doc, err := parse(in.HTML)
	if err != nil {
		return toMarkdownOutput{}, err
	}
	name := title(doc)
	o.prepare(doc)
	c := converter.NewConverter(converter.WithPlugins(
		base.NewBasePlugin(), commonmark.NewCommonmarkPlugin(), strikethrough.NewStrikethroughPlugin(),
		table.NewTablePlugin(),
	))
	markdown, err := c.ConvertNode(doc)
	if err != nil {
		return toMarkdownOutput{}, skill.Errorf(skill.Failed, "convert html: %w", err)
	}
	out := toMarkdownOutput{Markdown: string(markdown), Title: name}
	if out.Markdown != "" {
		out.Markdown += "\n"
	}
	return out, nil
}

// prepare takes out of a tree what is not to be converted and makes the
// addresses of links and images absolute.
func (o options) prepare(parent *html.Node) {
	for n := parent.FirstChild; n != nil; {
		next := n.NextSibling
		switch {
		case n.Type == html.CommentNode, n.Type == html.ElementNode && unread(n), n.DataAtom == atom.Img && !o.images:
			parent.RemoveChild(n)
		case n.DataAtom == atom.A && !o.keepsAddress(n, "href"):
			n.Data, n.DataAtom, n.Attr = "span", atom.Span, nil
			o.prepare(n)
		case n.DataAtom == atom.Img && !o.keepsAddress(n, "src"):
			alt, _ := attribute(n, "alt")
			*n = html.Node{Type: html.TextNode, Data: alt, Parent: n.Parent, PrevSibling: n.PrevSibling, NextSibling: n.NextSibling}
		default:
			o.prepare(n)
		}
		n = next
	}
}

// keepsAddress resolves the address in an attribute and says whether there is
// one to keep.
func (o options) keepsAddress(n *html.Node, name string) bool {
	if !o.links {
		return false
	}
	for i, a := range n.Attr {
		if a.Key == name && a.Namespace == "" {
			n.Attr[i].Val = o.target(a.Val)
			return n.Attr[i].Val != ""
		}
	}
	return false
}

// target resolves an address like resolve, but keeps one within the page.
func (o options) target(address string) string {
	if u, err := url.Parse(address); err == nil && u.Fragment != "" && *u == (url.URL{Fragment: u.Fragment, RawFragment: u.RawFragment}) {
		return address
	}
	return o.resolve(address)
}
