package manifests

import (
	"fmt"
	"strings"
)

// A Problem is one thing that is wrong with a document, or one field of it that
// this host cannot honour.
type Problem struct {
	// Path names the field, such as "security.permissions.network[0].url". It
	// is empty for the document as a whole.
	Path string
	// Line is the line of the document, from 1; 0 when it is not known.
	Line int
	// Message says what is wrong.
	Message string
	// Suggestion says what would be right; it may be empty.
	Suggestion string
}

// String returns p on one line: line, path, message, suggestion.
func (p Problem) String() string {
	var b strings.Builder
	if p.Line > 0 {
		fmt.Fprintf(&b, "line %d: ", p.Line)
	}
	if p.Path != "" {
		b.WriteString(p.Path + ": ")
	}
	b.WriteString(p.Message)
	if p.Suggestion != "" {
		b.WriteString("; " + p.Suggestion)
	}
	return b.String()
}

// Errors are all problems of one document, in the order of its lines. It is
// never empty where it is returned as an error.
type Errors []Problem

// Error returns one line per problem.
func (e Errors) Error() string {
	lines := make([]string, len(e))
	for i, p := range e {
		lines[i] = p.String()
	}
	return strings.Join(lines, "\n")
}
