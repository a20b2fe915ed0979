package orchestrator

import (
	"slices"
	"strings"
	"unicode"

	"github.com/skillet-run/skillet/host/base/task"
)

// words are the words of a text in lower case: letters, digits and apostrophes.
func words(text string) []string {
	return strings.FieldsFunc(strings.ToLower(text), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '\'' && r != '’'
	})
}

// says reports whether a phrase is in a text, both as words.
func says(text []string, phrase ...string) bool {
	for i := range text {
		if i+len(phrase) <= len(text) && slices.Equal(text[i:i+len(phrase)], phrase) {
			return true
		}
	}
	return false
}

// saysAny reports whether one of some words is in a text.
func saysAny(text []string, any ...string) bool {
	return slices.ContainsFunc(text, func(w string) bool { return slices.Contains(any, w) })
}

// classify says how much a goal asks for, and how sure that is, from 0 to 1. Of
// four signs of a complex goal and four of a simple one, more than half have to be
// there:
//
//	complex  more than 100 words; more than 3 line breaks; one of the words architect,
//	         design and build; "step by step"
//	simple   fewer than 20 words; "what is"; the word define; none of the words then,
//	         after and next
//
// and the confidence is the part of them that is. Everything else is medium, with a
// confidence of 0.5, but for a goal that begins with architect, design or build: an
// order to make something is complex, with at least 0.5.
func classify(goal string) (task.Complexity, float64) {
	w := words(goal)
	complexity := share(
		len(strings.Fields(goal)) > 100,
		strings.Count(goal, "\n") > 3,
		saysAny(w, "architect", "design", "build"),
		says(w, "step", "by", "step"),
	)
	simplicity := share(
		len(strings.Fields(goal)) < 20,
		says(w, "what", "is"),
		saysAny(w, "define"),
		!saysAny(w, "then", "after", "next"),
	)
	switch {
	case complexity > 0.5:
		return task.Complex, complexity
	case len(w) > 0 && saysAny(w[:1], "architect", "design", "build"):
		return task.Complex, 0.5
	case simplicity > 0.5:
		return task.Simple, simplicity
	}
	return task.Medium, 0.5
}

// share is the part of the signs that are there.
func share(signs ...bool) float64 {
	n := 0
	for _, s := range signs {
		if s {
			n++
		}
	}
	return float64(n) / float64(len(signs))
}
