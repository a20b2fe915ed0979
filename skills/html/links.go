package main

import (
	"net/url"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"

	skill "github.com/skillet-run/skillet/sdk/go"
)

const (
	defaultLinks = 1000
	maxLinks     = 20000
)

type linksInput struct {
	HTML    string `json:"html"`
	BaseURL string `json:"base_url"`
	Unique  bool   `json:"unique"`
	Limit   *int   `json:"limit"`
}

type linksOutput struct {
	Links     []pageLink `json:"links"`
	Count     int        `json:"count"`
	LeftOut   int        `json:"left_out"`
	Truncated bool       `json:"truncated"`
}

// pageLink is a link or an image of a page.
type pageLink struct {
	Text  string `json:"text"`
	URL   string `json:"url"`
	Title string `json:"title"`
	Kind  string `json:"kind"`
}

// The kinds of links.
const (
	inlineLink = "inline"
	imageLink  = "image"
)

// links returns the links and images of a page as they come, without those that
// a reader does not see.
func links(in linksInput) (linksOutput, error) {
	o, err := newOptions("", true, true, in.BaseURL)
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
	doc, err := parse(in.HTML)
	if err != nil {
		return linksOutput{}, err
	}
	o.baseURL = documentBase(doc, o.baseURL)
	f := linkFinder{options: o, limit: limit, out: linksOutput{Links: []pageLink{}}}
	if in.Unique {
		f.seen = make(map[string]bool)
	}
	f.children(doc)
	return f.out, nil
}

// documentBase returns what the addresses of a page are relative to: the first
// base element that has an address says so (HTML, section 4.2.3), and is
// relative to the address of the page itself.
func documentBase(doc *html.Node, page *url.URL) *url.URL {
	for n := range doc.Descendants() {
		if n.DataAtom != atom.Base || n.Namespace != "" {
			continue
		}
		href, ok := attribute(n, "href")
		if !ok {
			continue
		}
		u, err := url.Parse(strings.TrimSpace(href))
		if err != nil {
			return page
		}
		if page != nil {
			u = page.ResolveReference(u)
		}
		if u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
			return page
		}
		return u
	}
	return page
}

// linkFinder walks a page.
type linkFinder struct {
	options
	limit int
	seen  map[string]bool // addresses there were; nil when all are wanted
	out   linksOutput
}

func (f *linkFinder) children(n *html.Node) {
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		if c.Type == html.ElementNode && unread(c) {
			continue
		}
		switch c.DataAtom {
		case atom.A:
			f.element(c, inlineLink, "href", visibleText(c))
		case atom.Img:
			alt, _ := attribute(c, "alt")
			f.element(c, imageLink, "src", alt)
		}
		f.children(c)
	}
}

// element notes the link of an element, unless it has none, leads nowhere, runs
// a script, or is not wanted twice.
func (f *linkFinder) element(n *html.Node, kind, name, label string) {
	address, ok := attribute(n, name)
	if !ok {
		return
	}
	target := f.target(address)
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
	title, _ := attribute(n, "title")
	f.out.Links = append(f.out.Links, pageLink{strings.Join(strings.Fields(label), " "), target, title, kind})
}

// target returns where a link leads. Unlike a text of the page, a list of its
// links has those to its own parts.
func (f *linkFinder) target(address string) string {
	address = strings.TrimSpace(address)
	u, err := url.Parse(address)
	if err != nil || len(address) < 2 || address[0] != '#' {
		return f.resolve(address)
	}
	if f.baseURL != nil {
		u = f.baseURL.ResolveReference(u)
	}
	return u.String()
}

// visibleText returns the text in an element, with the text of images in it.
func visibleText(n *html.Node) string {
	var b strings.Builder
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		switch {
		case c.Type == html.TextNode:
			b.WriteString(c.Data)
		case c.Type != html.ElementNode || unread(c):
		case c.DataAtom == atom.Img:
			alt, _ := attribute(c, "alt")
			b.WriteString(" " + alt + " ")
		default:
			if b.WriteString(visibleText(c)); margins(c.DataAtom) > 0 || c.DataAtom == atom.Br {
				b.WriteByte(' ')
			}
		}
	}
	return b.String()
}
