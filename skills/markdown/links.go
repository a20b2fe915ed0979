package main

import (
	"net/url"
	"strings"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/text"

	skill "github.com/skillet-run/skillet/sdk/go"
)

const (
	defaultLinks = 1000
	maxLinks     = 20000
)

type linksInput struct {
	Markdown string `json:"markdown"`
	BaseURL  string `json:"base_url"`
	Unique   bool   `json:"unique"`
	Limit    *int   `json:"limit"`
}

type linksOutput struct {
	Links     []docLink `json:"links"`
	Count     int       `json:"count"`
	LeftOut   int       `json:"left_out"`
	Truncated bool      `json:"truncated"`
}

// docLink is a link or an image of a document.
type docLink struct {
	Text    string `json:"text"`
	URL     string `json:"url"`
	Title   string `json:"title"`
	Kind    string `json:"kind"`
	Heading string `json:"heading"`
}

// The kinds of links: how they are written.
const (
	inlineLink    = "inline"
	referenceLink = "reference"
	autoLink      = "autolink"
	imageLink     = "image"
)

// links returns the links and images of a document as they come, each with the
// heading that it is under.
func links(in linksInput) (linksOutput, error) {
	base, err := parseBase(in.BaseURL)
	if err != nil {
		return linksOutput{}, err
	}
	limit := defaultLinks
	if in.Limit != nil {
		limit = *in.Limit
	}
	if limit < 1 || limit > maxLinks {
		return linksOutput{}, skill.Errorf(skill.Invalid, "limit: must be from 1 to %d, not %d", maxLinks, limit)
	}
	_, body := splitFrontMatter(in.Markdown)
	if err := checkDepth(body); err != nil {
		return linksOutput{}, err
	}
	f := linkFinder{textWriter: textWriter{source: []byte(body)}, base: base, limit: limit, out: linksOutput{Links: []docLink{}}}
	if in.Unique {
		f.seen = make(map[string]bool)
	}
	return f.find(converter(false).Parser().Parse(text.NewReader(f.source)))
}

// parseBase returns what relative addresses are relative to; nil leaves them.
func parseBase(base string) (*url.URL, error) {
	if base == "" {
		return nil, nil
	}
	u, err := url.Parse(base)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, skill.Errorf(skill.Invalid, "base_url: must be an absolute http or https address, not %q", base)
	}
	return u, nil
}

// linkFinder walks a document.
type linkFinder struct {
	textWriter
	base    *url.URL
	limit   int
	seen    map[string]bool // addresses there were; nil when all are wanted
	heading string
	out     linksOutput
}

func (f *linkFinder) find(doc ast.Node) (linksOutput, error) {
	err := ast.Walk(doc, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if n.Type() == ast.TypeBlock {
			f.depth += map[bool]int{true: 1, false: -1}[entering]
		}
		if f.depth > maxDepth {
			return ast.WalkStop, skill.Errorf(skill.Limit, "markdown: blocks nest deeper than %d levels", maxDepth)
		}
		if entering {
			f.node(n)
		}
		return ast.WalkContinue, nil
	})
	if err != nil {
		return linksOutput{}, err
	}
	return f.out, nil
}

func (f *linkFinder) node(n ast.Node) {
	switch n := n.(type) {
	case *ast.Heading:
		f.heading = strings.TrimSpace(f.inlines(n))
	case *ast.Link:
		kind := inlineLink
		if n.Reference != nil {
			kind = referenceLink
		}
		f.add(kind, f.inlines(n), unescape(n.Destination), unescape(n.Title))
	case *ast.Image:
		f.add(imageLink, f.inlines(n), unescape(n.Destination), unescape(n.Title))
	case *ast.AutoLink:
		address := string(n.URL(f.source))
		if n.AutoLinkType == ast.AutoLinkEmail && !strings.HasPrefix(strings.ToLower(address), "mailto:") {
			address = "mailto:" + address
		}
		f.add(autoLink, string(n.Label(f.source)), address, "")
	}
}

// add notes a link, unless it leads nowhere, runs a script, or is not wanted twice.
func (f *linkFinder) add(kind, label, address, title string) {
	target := f.resolve(address)
	switch {
	case target == "":
		f.out.LeftOut++
		return
	case f.seen[target]:
		return
	case f.seen != nil:
		f.seen[target] = true
	}
	f.out.Count++
	if f.out.Truncated = f.out.Count > f.limit; f.out.Truncated {
		return
	}
	f.out.Links = append(f.out.Links, docLink{strings.TrimSpace(label), target, title, kind, f.heading})
}

// resolve returns where a link leads, or "" when it leads nowhere or would run a
// script.
func (f *linkFinder) resolve(address string) string {
	u, err := url.Parse(strings.TrimSpace(address))
	if err != nil || *u == (url.URL{}) || u.Scheme == "javascript" || u.Scheme == "vbscript" || u.Scheme == "data" {
		return ""
	}
	if f.base != nil {
		u = f.base.ResolveReference(u)
	}
	return u.String()
}
