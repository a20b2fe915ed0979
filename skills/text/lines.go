package main

import (
	"iter"
	"strings"
)

// lines yields the lines of text without their ends. Line feed, carriage
// return, and both together end a line; a last line without an end counts too.
func lines(text string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for len(text) > 0 {
			i := strings.IndexAny(text, "\r\n")
			if i < 0 {
				yield(text)
				return
			}
			line := text[:i]
			if strings.HasPrefix(text[i:], "\r\n") {
				i++
			}
			text = text[i+1:]
			if !yield(line) {
				return
			}
		}
	}
}

func countLines(text string) int {
	n := 0
	for range lines(text) {
		n++
	}
	return n
}

// paragraphs yields the blocks of text between blank lines, each with its lines
// joined by spaces: where a line was wrapped says nothing about a sentence.
func paragraphs(text string) iter.Seq[string] {
	return func(yield func(string) bool) {
		var block []string
		for line := range lines(text) {
			line = strings.TrimSpace(line)
			if line != "" {
				block = append(block, line)
				continue
			}
			if len(block) > 0 && !yield(strings.Join(block, " ")) {
				return
			}
			block = block[:0]
		}
		if len(block) > 0 {
			yield(strings.Join(block, " "))
		}
	}
}
