package main

import (
	"net/url"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"

	skill "github.com/skillet-run/skillet/sdk/go"
)

// options is what both tools can be told about a document.
type options struct {
	links   bool     // keep the targets of links
	images  bool     // keep images: their text, and with links their address
	baseURL *url.URL // what relative addresses are relative to; nil leaves them
}

// newOptions checks the options of a call. linksByDefault is what an empty
// links means.
func newOptions(links string, linksByDefault, images bool, base string) (options, error) {
	o := options{links: linksByDefault, images: images}
	switch links {
	case "":
	case "none", "inline":
		o.links = links == "inline"
	default:
		return o, skill.Errorf(skill.Invalid, "links: must be none or inline, not %q", links)
	}
	if base == "" {
		return o, nil
	}
	u, err := url.Parse(base)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return o, skill.Errorf(skill.Invalid, "base_url: must be an absolute http or https address, not %q", base)
	}
	o.baseURL = u
	return o, nil
}

// resolve returns the address a link leads to, or "" when it leads nowhere else
// or runs a script.
func (o options) resolve(address string) string {
	u, err := url.Parse(strings.TrimSpace(address))
	if err != nil || u.Scheme == "javascript" || u.Scheme == "vbscript" || u.Scheme == "data" {
		return ""
	}
	if u.Scheme == "" && u.Host == "" && u.Path == "" && u.RawQuery == "" {
		return ""
	}
	if o.baseURL != nil {
		u = o.baseURL.ResolveReference(u)
	}
	return u.String()
}

// parse reads a document the way browsers do, which never fails but for
// elements nested deeper than 512 levels.
func parse(document string) (*html.Node, error) {
	doc, err := html.Parse(strings.NewReader(document))
	if err != nil {
		return nil, skill.Errorf(skill.Invalid, "html: %w", err)
	}
	return doc, nil
}

// title returns the text of the first title element of HTML.
func title(doc *html.Node) string {
	for n := range doc.Descendants() {
		if n.DataAtom == atom.Title && n.Namespace == "" && n.FirstChild != nil {
			return strings.Join(strings.Fields(n.FirstChild.Data), " ")
		}
	}
	return ""
}

// attribute returns the value of an attribute, and whether it is there.
func attribute(n *html.Node, name string) (string, bool) {
	for _, a := range n.Attr {
		if a.Namespace == "" && a.Key == name {
			return a.Val, true
		}
	}
	return "", false
}

// unread says whether an element is not for reading: scripts, styles, embedded
// and hidden content.
func unread(n *html.Node) bool {
	switch n.DataAtom {
	case atom.Script, atom.Style, atom.Template, atom.Noscript, atom.Head, atom.Iframe, atom.Object, atom.Embed,
		atom.Svg, atom.Canvas, atom.Audio, atom.Video, atom.Map, atom.Select, atom.Datalist:
		return true
	}
	if _, hidden := attribute(n, "hidden"); hidden {
		return true
	}
	style, _ := attribute(n, "style")
	return strings.Contains(strings.ToLower(strings.Join(strings.Fields(style), "")), "display:none")
}
