package main

import (
	"regexp"
	"strings"
)

// Marks of Markdown, as far as prose has to be told from the rest.
var (
	heading    = regexp.MustCompile(`^#{1,6}(\s|$)`)
	underline  = regexp.MustCompile(`^(=+|-+)$`)
	rule       = regexp.MustCompile(`^([-*_]\s*){3,}$`)
	item       = regexp.MustCompile(`^([-*+]|\d{1,9}[.)])\s+(\[[ xX]\]\s+)?`)
	definition = regexp.MustCompile(`^\[[^\]]+\]:\s*\S`)
	markup     = regexp.MustCompile(`^</?[A-Za-z!][^>]*>?`)
	clue       = regexp.MustCompile("(?m)^ {0,3}(#{1,6} \\S|```|~~~)|\\]\\([^)\\s]+\\)")

	image    = regexp.MustCompile(`!\[[^\]]*\](\([^)]*\)|\[[^\]]*\])`)
	link     = regexp.MustCompile(`\[([^\]]*)\](?:\([^)]*\)|\[[^\]]*\])`)
	autolink = regexp.MustCompile(`<([A-Za-z][A-Za-z0-9+.-]*:[^>\s]*)>`)
	codeSpan = regexp.MustCompile("`+([^`]+)`+")
	stars    = regexp.MustCompile(`\*{1,3}([^\s*](?:[^*]*[^\s*])?)\*{1,3}`)
	emphasis = regexp.MustCompile(`(^|[\s(])_{1,3}([^\s_](?:[^_]*[^\s_])?)_{1,3}($|[\s).,;:!?])`)
	escaped  = regexp.MustCompile("\\\\([!-/:-@\\[-`{-~])")
)

// looksLikeMarkdown says whether a text has a heading, a fence or a link of
// Markdown.
func looksLikeMarkdown(text string) bool { return clue.MatchString(text) }

// prose returns the paragraphs and list items of a document in Markdown as they
// are read: without headings, code, tables, HTML, front matter and marks.
func prose(document string) []string {
	var p proseReader
	for line := range lines(withoutFrontMatter(document)) {
		p.line(line)
	}
	p.end()
	return p.blocks
}

// proseReader takes the lines of a document one by one.
type proseReader struct {
	blocks  []string
	current []string
	fence   string // what ends the code that the lines are in; empty outside of code
	blank   bool   // the line before was empty
	inItem  bool   // the last block is a list item, whose text may be indented
}

// kinds of lines that are not prose, and what each does to the paragraph before it.
func (p *proseReader) line(raw string) {
	line := strings.TrimSpace(strings.TrimLeft(raw, "> \t"))
	wasBlank := p.blank
	p.blank = line == ""
	switch {
	case p.fence != "":
		if strings.HasPrefix(line, p.fence) {
			p.fence = ""
		}
	case strings.HasPrefix(line, "```") || strings.HasPrefix(line, "~~~"):
		p.end()
		p.fence = line[:3]
	case underline.MatchString(line) && len(p.current) > 0 && !p.inItem:
		p.current = nil // it was a heading
	case line == "" || heading.MatchString(line) || rule.MatchString(line):
		p.end()
		p.inItem = p.inItem && line == ""
	case strings.HasPrefix(line, "|") || definition.MatchString(line) || markup.MatchString(line) && !autolink.MatchString(line):
		p.end()
	case wasBlank && !p.inItem && strings.HasPrefix(raw, "    "):
		p.blank = true // code by its indentation goes on
	case item.MatchString(line):
		p.end()
		p.inItem = true
		p.current = append(p.current, item.ReplaceAllString(line, ""))
	default:
		p.inItem = p.inItem && (len(p.current) > 0 || strings.HasPrefix(raw, " "))
		p.current = append(p.current, line)
	}
}

// end ends a paragraph.
func (p *proseReader) end() {
	if text := plain(strings.Join(p.current, " ")); hasContent(text) {
		p.blocks = append(p.blocks, text)
	}
	p.current = nil
}

// plain takes the marks out of a paragraph.
func plain(text string) string {
	text = image.ReplaceAllString(text, "")
	text = link.ReplaceAllString(text, "$1")
	text = autolink.ReplaceAllString(text, "$1")
	text = codeSpan.ReplaceAllString(text, "$1")
	text = stars.ReplaceAllString(text, "$1")
	text = emphasis.ReplaceAllString(text, "$1$2$3")
	return strings.Join(strings.Fields(escaped.ReplaceAllString(text, "$1")), " ")
}

// withoutFrontMatter takes the block between two lines of three dashes off the
// start of a document.
func withoutFrontMatter(document string) string {
	document = strings.TrimPrefix(document, "\ufeff")
	first, rest, found := strings.Cut(document, "\n")
	if !found || strings.TrimRight(first, " \r") != "---" {
		return document
	}
	for tail := rest; tail != ""; {
		line, after, _ := strings.Cut(tail, "\n")
		if line = strings.TrimRight(line, " \r"); line == "---" || line == "..." {
			return after
		}
		tail = after
	}
	return document
}
