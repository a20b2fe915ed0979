package testcase

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
)

// A Difference is one way in which something is not what was expected. Its texts
// may be the skill's own: make them safe before showing them.
type Difference struct {
	// Path says where, such as "output.rows[0].name".
	Path string `json:"path"`
	// Expected and Got are shortened.
	Expected string `json:"expected"`
	Got      string `json:"got"`
	// Diff are the lines in which two texts differ, when they have several.
	Diff []string `json:"diff,omitempty"`

	before, after string
}

// Texts are the two texts in full, where a difference is one of texts.
func (d Difference) Texts() (expected, got string, ok bool) {
	return d.before, d.after, d.before != "" || d.after != ""
}

// OfTexts is the difference of two texts.
func OfTexts(at, expected, got string) Difference {
	return Difference{Path: at, Expected: brief(expected), Got: brief(got), before: expected, after: got}
}

// String returns the difference on one line.
func (d Difference) String() string {
	return fmt.Sprintf("%s: expected %s, got %s", d.Path, d.Expected, d.Got)
}

// maxBrief is how much of a value a difference shows, in characters.
const maxBrief = 200

// brief writes a value as JSON, shortened.
func brief(v any) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil { // which no decoded JSON has
		return clip(fmt.Sprint(v))
	}
	return clip(strings.TrimSuffix(b.String(), "\n"))
}

// brief writes what is wanted.
func (w *want) brief() string {
	switch {
	case len(w.matchers) > 0:
		return "a value that fits"
	case w.object:
		return "an object"
	case w.list:
		return fmt.Sprintf("a list of %d", len(w.items))
	}
	return brief(w.scalar)
}

// clip cuts a text to maxBrief characters.
func clip(text string) string {
	if len(text) <= maxBrief {
		return text
	}
	n := 0
	for i := range text {
		if n++; n == maxBrief {
			return strings.ToValidUTF8(text[:i], "") + "…"
		}
	}
	return text
}
