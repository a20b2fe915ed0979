package manifests

import (
	"fmt"
	"strconv"
)

// checkText refuses characters that make a text look like something else to
// the person who reads it: control characters reach a terminal as commands,
// bidirectional overrides turn words around, and tag characters are read by
// models and by nobody else.
func checkText(doc *node) Errors {
	var errs Errors
	doc.visit("", doc.line, func(path string, line int, n *node) {
		for _, f := range n.fields {
			if r, bad := deceptive(f.name); bad {
				errs = append(errs, deceptiveProblem(join(path, keyStep(f.name)), f.line, r))
			}
		}
		text, _ := n.scalar.(string)
		if r, bad := deceptive(text); bad {
			errs = append(errs, deceptiveProblem(path, line, r))
		}
	})
	return errs[:min(len(errs), maxProblems)]
}

func deceptiveProblem(path string, line int, r rune) Problem {
	return Problem{
		Path:       path,
		Line:       line,
		Message:    fmt.Sprintf("has the character %s, which cannot be seen", strconv.QuoteRuneToASCII(r)),
		Suggestion: "remove it",
	}
}

// deceptive returns the first character of text that a reader would not see
// and that may change what they see.
func deceptive(text string) (rune, bool) {
	for _, r := range text {
		switch {
		case r == '\n' || r == '\t' || r == '\r':
		case r < 0x20, 0x7f <= r && r <= 0x9f, // C0, DEL and C1 controls
			0x202a <= r && r <= 0x202e, 0x2066 <= r && r <= 0x2069, // bidirectional overrides and isolates
			0xe0000 <= r && r <= 0xe007f: // tags
			return r, true
		}
	}
	return 0, false
}
