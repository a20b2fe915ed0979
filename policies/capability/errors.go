package capability

import (
	"fmt"
	"strconv"
	"unicode/utf8"
)

// ParseError tells why a text is not a capability, or why a request cannot be
// matched against one. Callers test for it with errors.As.
type ParseError struct {
	// What was read: "capability" or "request".
	What string
	// Text is what was given, in full.
	Text string
	// Message says what is wrong with it, without the text.
	Message string
	// Suggestion is a valid text near to what was meant, or "" when there is
	// no good guess.
	Suggestion string
}

// Error returns one line that quotes the text, says what is wrong with it and
// offers the suggestion.
func (e *ParseError) Error() string {
	line := fmt.Sprintf("parse %s %s: %s", e.What, quote(e.Text), e.Message)
	if e.Suggestion != "" {
		line += "; did you mean " + quote(e.Suggestion) + "?"
	}
	return line
}

// fault is a ParseError in the making: the functions that read parts of a text
// know what is wrong and how that part should look, but not the whole text.
type fault struct {
	message string
	fix     string
}

func faultf(fix, format string, args ...any) *fault {
	return &fault{message: fmt.Sprintf(format, args...), fix: fix}
}

// quote makes a text safe and short enough for one line of a terminal.
func quote(text string) string {
	const longest = 160
	if len(text) > longest {
		cut := longest
		for cut > 0 && !utf8.RuneStart(text[cut]) {
			cut--
		}
		text = text[:cut] + "..."
	}
	return strconv.QuoteToGraphic(text)
}
