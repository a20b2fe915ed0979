package main

import (
	"bytes"
	"strings"
	"unicode/utf8"
)

// maxLineText is the most bytes of a line that a match shows.
const maxLineText = 500

// lines adds the lines of data that match; it returns false when the limit cut
// the search short.
func (s *searcher) lines(path string, data []byte) bool {
	for number := 1; len(data) > 0; number++ {
		line, rest, _ := bytes.Cut(data, []byte("\n"))
		data = rest
		line = bytes.TrimSuffix(line, []byte("\r"))
		at := s.pattern.FindIndex(line)
		if at == nil {
			continue
		}
		if len(s.out.Matches) == s.limit {
			s.out.Truncated = true
			return false
		}
		s.out.Matches = append(s.out.Matches, match{
			Path:   path,
			Line:   number,
			Column: utf8.RuneCount(line[:at[0]]) + 1,
			Text:   excerpt(line, at[0]),
		})
	}
	return true
}

// excerpt returns a line as valid UTF-8, or of a long one the part around the
// match.
func excerpt(line []byte, at int) string {
	start, end := 0, len(line)
	if len(line) > maxLineText {
		start = max(0, min(at-maxLineText/4, len(line)-maxLineText))
		end = start + maxLineText
	}
	for start > 0 && start < at && !utf8.RuneStart(line[start]) {
		start++
	}
	for end < len(line) && end > start && !utf8.RuneStart(line[end]) {
		end--
	}
	text := strings.ToValidUTF8(string(line[start:end]), "\ufffd")
	if start > 0 {
		text = "…" + text
	}
	if end < len(line) {
		text += "…"
	}
	return text
}
