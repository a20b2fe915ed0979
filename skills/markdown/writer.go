package main

import (
	"bufio"
	"bytes"
	"html"
	"strconv"
	"strings"

	"github.com/yuin/goldmark/ast"
	extast "github.com/yuin/goldmark/extension/ast"
	renderer "github.com/yuin/goldmark/renderer/html"
)

// textWriter turns the tree of a document into text, block by block.
type textWriter struct {
	source  []byte
	links   bool // write the targets of links
	depth   int
	tooDeep bool
}

// blocks returns the texts of the children of a block, with sep between them.
func (w *textWriter) blocks(parent ast.Node, sep string) string {
	if w.depth == maxDepth {
		w.tooDeep = true
		return ""
	}
	w.depth++
	defer func() { w.depth-- }()
	var parts []string
	for n := parent.FirstChild(); n != nil; n = n.NextSibling() {
		if s := w.block(n); s != "" {
			parts = append(parts, s)
		}
	}
	return strings.Join(parts, sep)
}

// block returns the text of one block without a line break at its end.
func (w *textWriter) block(n ast.Node) string {
	switch n := n.(type) {
	case *ast.CodeBlock, *ast.FencedCodeBlock:
		return strings.TrimRight(string(n.Lines().Value(w.source)), "\n")
	case *ast.HTMLBlock:
		return ""
	case *ast.ThematicBreak:
		return "---"
	case *ast.Blockquote:
		return prefixed(w.blocks(n, "\n\n"), "> ", "> ")
	case *ast.List:
		return w.list(n)
	case *extast.Table:
		return w.blocks(n, "\n")
	case *extast.TableRow, *extast.TableHeader:
		return w.row(n)
	case *extast.FootnoteList:
		return w.blocks(n, "\n")
	case *extast.Footnote:
		return prefixed(w.blocks(n, "\n\n"), "["+strconv.Itoa(n.Index)+"] ", "    ")
	default:
		return strings.TrimSpace(w.inlines(n))
	}
}

// list returns the items of a list, each behind its bullet or number.
func (w *textWriter) list(l *ast.List) string {
	sep := "\n"
	if !l.IsTight {
		sep = "\n\n"
	}
	var items []string
	number := l.Start
	for item := l.FirstChild(); item != nil; item = item.NextSibling() {
		marker := "- "
		if l.IsOrdered() {
			marker = strconv.Itoa(number) + ". "
		}
		number++
		content := w.blocks(item, sep)
		items = append(items, prefixed(content, marker, strings.Repeat(" ", len(marker))))
	}
	return strings.Join(items, sep)
}

// prefixed puts first before the first line of s and rest before the others; no
// line ends with white space because of it.
func prefixed(s, first, rest string) string {
	lines := strings.Split(s, "\n")
	for i, line := range lines {
		prefix := rest
		if i == 0 {
			prefix = first
		}
		lines[i] = strings.TrimRight(prefix+line, " ")
	}
	return strings.Join(lines, "\n")
}

// row returns the cells of a table row with bars between them.
func (w *textWriter) row(n ast.Node) string {
	var cells []string
	for cell := n.FirstChild(); cell != nil; cell = cell.NextSibling() {
		cells = append(cells, strings.TrimSpace(w.inlines(cell)))
	}
	return strings.TrimRight(strings.Join(cells, " | "), " ")
}

// inlines returns the text inside a block or inline node.
func (w *textWriter) inlines(parent ast.Node) string {
	var b strings.Builder
	w.writeInlines(&b, parent)
	return b.String()
}

func (w *textWriter) writeInlines(b *strings.Builder, parent ast.Node) {
	for n := parent.FirstChild(); n != nil; n = n.NextSibling() {
		w.writeInline(b, n)
	}
}

func (w *textWriter) writeInline(b *strings.Builder, n ast.Node) {
	switch n := n.(type) {
	case *ast.Text:
		w.writeText(b, n)
	case *ast.String:
		b.Write(n.Value)
	case *ast.AutoLink:
		b.Write(n.Label(w.source))
	case *ast.RawHTML, *extast.FootnoteBacklink:
	case *ast.Link:
		w.writeTarget(b, n, n.Destination)
	case *ast.Image:
		w.writeTarget(b, n, n.Destination)
	case *extast.TaskCheckBox:
		b.WriteString(map[bool]string{false: "[ ] ", true: "[x] "}[n.IsChecked])
	case *extast.FootnoteLink:
		b.WriteString("[" + strconv.Itoa(n.Index) + "]")
	default:
		w.writeInlines(b, n)
	}
}

// writeText writes a run of text. A line break of the source is a space, as it
// is in the rendered document.
func (w *textWriter) writeText(b *strings.Builder, n *ast.Text) {
	value := n.Segment.Value(w.source)
	if n.IsRaw() || n.Parent().Kind() == ast.KindCodeSpan {
		b.WriteString(strings.ReplaceAll(string(value), "\n", " "))
	} else {
		b.WriteString(unescape(value))
	}
	switch {
	case n.HardLineBreak():
		b.WriteByte('\n')
	case n.SoftLineBreak():
		b.WriteByte(' ')
	}
}

// writeTarget writes the text of a link and, where asked for, what it points
// to, unless that is what the text says already.
func (w *textWriter) writeTarget(b *strings.Builder, n ast.Node, target []byte) {
	label := w.inlines(n)
	b.WriteString(label)
	url := unescape(target)
	if !w.links || url == "" || url == label {
		return
	}
	if label != "" {
		b.WriteByte(' ')
	}
	b.WriteString("(" + url + ")")
}

// unescape resolves backslash escapes and character references. The library
// does so only while it writes HTML, so this takes its HTML back to text.
func unescape(value []byte) string {
	if !bytes.ContainsAny(value, "\\&") {
		return string(value)
	}
	var buf bytes.Buffer
	w := bufio.NewWriter(&buf)
	renderer.DefaultWriter.Write(w, value)
	if err := w.Flush(); err != nil {
		return string(value)
	}
	return html.UnescapeString(buf.String())
}
