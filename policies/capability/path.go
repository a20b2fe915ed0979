package capability

import (
	"path"
	"strings"
)

// MaxSegments is the largest number of segments a file pattern may have; it
// bounds the work of comparing patterns that strangers wrote.
const MaxSegments = 64

// parsePathPattern checks a file pattern and returns its canonical form.
func parsePathPattern(text string) (string, *fault) {
	if f := checkPath(text); f != nil {
		return "", f
	}
	segments := segmentsOf(text)
	if len(segments) > MaxSegments {
		return "", faultf("", "it has %d segments; the limit is %d", len(segments), MaxSegments)
	}
	for i, s := range segments {
		if s != "**" && strings.Contains(s, "**") {
			segments[i] = strings.ReplaceAll(s, "**", "*")
			return "", faultf("/"+strings.Join(segments, "/"), `"**" has to be a whole segment`)
		}
	}
	return "/" + strings.Join(orderStars(segments), "/"), nil
}

// checkPath refuses what is not an absolute, clean, slash-separated path.
func checkPath(text string) *fault {
	switch {
	case text == "":
		return faultf("", "it has no path; write an absolute one, as in /data/**")
	case strings.HasPrefix(text, "~"), strings.HasPrefix(text, "$"):
		return faultf("", "%s is not expanded; write the whole path from /", quote(text[:1]))
	case strings.Contains(text, `\`):
		return faultf(strings.ReplaceAll(text, `\`, "/"), "it holds a backslash; segments are separated by /")
	case text[0] != '/':
		return faultf("", "the path is relative; write the whole path from /")
	case len(text) > 1 && text[len(text)-1] == '/':
		return faultf(path.Clean(text+"**"), "the path ends in /; name the directory alone or add ** for what is in it")
	case path.Clean(text) != text:
		return faultf(path.Clean(text), "the path is not clean: it holds an empty, . or .. segment")
	}
	return nil
}

// orderStars gives the one spelling of a run of wildcard segments: first every
// "*", then at most one "**". The order within such a run changes nothing.
func orderStars(segments []string) []string {
	out := segments[:0:0]
	deep := false
	for _, s := range segments {
		switch {
		case s == "**":
			deep = true
			continue
		case s != "*" && deep:
			out, deep = append(out, "**"), false
		}
		out = append(out, s)
	}
	if deep {
		out = append(out, "**")
	}
	return out
}
