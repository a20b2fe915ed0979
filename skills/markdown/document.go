package main

import (
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"

	skill "github.com/skillet-run/skillet/sdk/go"
)

// maxDepth bounds how deeply blocks may nest. Documents of people stay below
// ten; the work grows with depth times length.
const maxDepth = 100

// converter returns the reader of GitHub Flavored Markdown with footnotes. Raw
// HTML and dangerous links are left out of what it writes.
func converter(headingIDs bool) goldmark.Markdown {
	var options []parser.Option
	if headingIDs {
		options = append(options, parser.WithAutoHeadingID())
	}
	return goldmark.New(
		goldmark.WithExtensions(extension.GFM, extension.Footnote),
		goldmark.WithParserOptions(options...),
	)
}

// splitFrontMatter takes the block between two lines of three dashes off the
// start of a document, as static site generators and SKILL.md have it. Without fields
// it is text under a thematic break.
func splitFrontMatter(document string) (front, body string) {
	document = strings.TrimPrefix(document, "\ufeff")
	first, rest, found := cutLine(document)
	if !found || first != "---" {
		return "", document
	}
	for tail := rest; tail != ""; {
		line, after, _ := cutLine(tail)
		if line == "---" || line == "..." {
			if front = rest[:len(rest)-len(tail)]; !hasFields(front) {
				return "", document
			}
			return front, after
		}
		tail = after
	}
	return "", document
}

// hasFields reports whether the first line of a text that is not empty and no comment
// is a field, or there is no such line.
func hasFields(front string) bool {
	for line := range strings.Lines(front) {
		line = strings.TrimSpace(line)
		if line != "" && !strings.HasPrefix(line, "#") {
			return strings.Contains(line, ":")
		}
	}
	return true
}

// cutLine returns the first line without white space at its end, what follows
// it, and whether a line break ended it.
func cutLine(s string) (line, rest string, found bool) {
	line, rest, found = strings.Cut(s, "\n")
	return strings.TrimRight(line, " \t\r"), rest, found
}

// checkDepth refuses documents with a line that opens too many blocks at once,
// before the parser spends its time on them.
func checkDepth(document string) error {
	for line := range strings.Lines(document) {
		if markers(line) > maxDepth {
			return skill.Errorf(skill.Limit, "markdown: quotes and lists nest deeper than %d levels", maxDepth)
		}
	}
	return nil
}

// markers counts the quote and list markers at the start of a line. A line of
// nothing but dashes or stars is a break between sections.
func markers(line string) int {
	if strings.Trim(line, "-* \t\r\n") == "" {
		return 0
	}
	n := 0
	for i := 0; i < len(line); i++ {
		switch c := line[i]; {
		case c == ' ' || c == '\t':
		case c == '>':
			n++
		case strings.IndexByte("-+*.)", c) >= 0 && i+1 < len(line) && (line[i+1] == ' ' || line[i+1] == '\t'):
			n++
		case c >= '0' && c <= '9':
		default:
			return n
		}
	}
	return n
}
