package main

import (
	"strconv"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

type toTextInput struct {
	HTML    string `json:"html"`
	Links   string `json:"links"`
	Images  bool   `json:"images"`
	BaseURL string `json:"base_url"`
}

type toTextOutput struct {
	Text  string `json:"text"`
	Title string `json:"title"`
}

// toText returns what a reader of the page would read, with bullets for lists
// and bars between the cells of tables.
func toText(in toTextInput) (toTextOutput, error) {
	o, err := newOptions(in.Links, false, in.Images, in.BaseURL)
	if err != nil {
		return toTextOutput{}, err
	}
	doc, err := parse(in.HTML)
	if err != nil {
		return toTextOutput{}, err
	}
	r := reader{options: o}
	r.children(doc)
	return toTextOutput{Text: r.out.finish(), Title: title(doc)}, nil
}

// reader walks a document and writes its text. The parser bounds how deeply
// elements nest, and with that the recursion.
type reader struct {
	options
	out   layout
	lists []list // the lists around the current node, the innermost last
	row   row    // the table row around the current node
}

// row is a table row that is being written.
type row struct {
	mark  int // where it begins
	cells int // cells that have begun
}

// list is a list whose items are being written.
type list struct {
	ordered bool
	next    int
}

func (r *reader) children(n *html.Node) {
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		r.node(c)
	}
}

func (r *reader) node(n *html.Node) {
	switch n.Type {
	case html.TextNode:
		r.out.text(n.Data)
	case html.ElementNode:
		if !unread(n) {
			r.element(n)
		}
	}
}

func (r *reader) element(n *html.Node) {
	margin := margins(n.DataAtom)
	if margin > 0 {
		r.out.block(margin)
	}
	switch n.DataAtom {
	case atom.Br:
		r.out.lineBreak()
	case atom.Hr:
		r.out.text("---")
	case atom.Pre, atom.Textarea:
		r.out.verbatim++
		r.children(n)
		r.out.verbatim--
	case atom.Blockquote:
		r.indented("> ", "> ", n)
	case atom.Ul, atom.Ol:
		r.list(n)
	case atom.Li:
		r.item(n)
	case atom.Tr:
		outer := r.row
		r.row = row{mark: r.out.mark()}
		r.children(n)
		r.row = outer
	case atom.Td, atom.Th:
		if r.row.cells++; r.row.cells > 1 {
			r.out.cell(r.row.mark)
		}
		r.children(n)
	case atom.A:
		r.link(n)
	case atom.Img:
		r.image(n)
	default:
		r.children(n)
	}
	if margin > 0 {
		r.out.block(margin)
	}
}

// margins returns how many line breaks an element wants before and after it: 0
// in a line, 1 on lines of its own, 2 with a blank line around it.
func margins(a atom.Atom) int {
	switch a {
	case atom.P, atom.H1, atom.H2, atom.H3, atom.H4, atom.H5, atom.H6, atom.Blockquote, atom.Pre, atom.Hr,
		atom.Table, atom.Dl, atom.Figure, atom.Fieldset, atom.Ul, atom.Ol, atom.Menu:
		return 2
	case atom.Div, atom.Section, atom.Article, atom.Header, atom.Footer, atom.Nav, atom.Main, atom.Aside,
		atom.Address, atom.Form, atom.Li, atom.Tr, atom.Caption, atom.Dt, atom.Dd, atom.Figcaption, atom.Legend,
		atom.Details, atom.Summary, atom.Dialog, atom.Center, atom.Hgroup, atom.Textarea, atom.Body:
		return 1
	default:
		return 0
	}
}

// indented writes the children of n with a prefix before their first line and
// another before the rest.
func (r *reader) indented(first, rest string, n *html.Node) {
	r.out.push(first, rest)
	r.children(n)
	r.out.pop()
}

func (r *reader) list(n *html.Node) {
	start := 1
	if s, ok := attribute(n, "start"); ok {
		if v, err := strconv.Atoi(s); err == nil {
			start = v
		}
	}
	r.lists = append(r.lists, list{ordered: n.DataAtom == atom.Ol, next: start})
	r.out.tight++
	r.children(n)
	r.out.tight--
	r.lists = r.lists[:len(r.lists)-1]
}

// item writes a list item behind its bullet or number.
func (r *reader) item(n *html.Node) {
	marker := "- "
	if len(r.lists) > 0 {
		l := &r.lists[len(r.lists)-1]
		if l.ordered {
			marker = strconv.Itoa(l.next) + ". "
		}
		l.next++
	}
	r.indented(marker, spaces(len(marker)), n)
}

// link writes the text of a link and, where asked for, what it leads to, unless
// that is what the text says.
func (r *reader) link(n *html.Node) {
	start := r.out.mark()
	r.children(n)
	href, ok := attribute(n, "href")
	if !ok || !r.links {
		return
	}
	if target := r.resolve(href); target != "" && !strings.HasSuffix(r.out.since(start), target) {
		r.out.text(" (" + target + ")")
	}
}

// image writes the text that stands for an image.
func (r *reader) image(n *html.Node) {
	if !r.images {
		return
	}
	alt, _ := attribute(n, "alt")
	r.out.text(alt)
	src, _ := attribute(n, "src")
	if target := r.resolve(src); r.links && target != "" {
		r.out.text(" (" + target + ")")
	}
}
