package capability

import "strings"

// segmentMatches reports whether text matches pattern, where "*" is any run of
// characters. The pieces between stars are looked for leftmost first, which is
// right because a star may be of any length.
//
// Given a pattern as its text it also answers whether pattern covers that
// pattern: a star in the text can be taken in by a star only, since no piece
// holds one.
func segmentMatches(pattern, text string) bool {
	head, rest, starred := strings.Cut(pattern, "*")
	if !starred {
		return pattern == text
	}
	if !strings.HasPrefix(text, head) {
		return false
	}
	text = text[len(head):]
	for {
		piece, after, more := strings.Cut(rest, "*")
		if !more {
			return strings.HasSuffix(text, piece)
		}
		at := strings.Index(text, piece)
		if at < 0 {
			return false
		}
		text, rest = text[at+len(piece):], after
	}
}

// pathMatches reports whether an absolute clean path matches a path pattern.
// It walks both by segment and, after a mismatch, lets the last "**" take one
// segment more.
func pathMatches(pattern, path string) bool {
	p, s := pattern[1:], path[1:]
	retryP, retryS, canRetry := "", "", false
	for s != "" {
		segment, restS := cutSegment(s)
		want, restP := cutSegment(p)
		switch {
		case want == "**":
			p, retryP, retryS, canRetry = restP, restP, s, true
		case p != "" && segmentMatches(want, segment):
			p, s = restP, restS
		case canRetry:
			_, retryS = cutSegment(retryS)
			p, s = retryP, retryS
		default:
			return false
		}
	}
	return p == "" || p == "**"
}

func cutSegment(path string) (segment, rest string) {
	segment, rest, _ = strings.Cut(path, "/")
	return segment, rest
}

// segmentsOf splits a path pattern; the root has no segments.
func segmentsOf(pattern string) []string {
	if pattern == "/" {
		return nil
	}
	return strings.Split(pattern[1:], "/")
}

// pathCovers reports whether every path that matches d matches c.
//
// covered[j] says, for the row in hand, whether what is left of c covers
// d[j:]. The rows are computed from the end of c, and each rule by itself is
// sound:
//
//   - "**" in c may take nothing (the row below) or one more element of d,
//     whatever it is (the next column);
//   - "**" in d is either nothing or some segment followed by "**", so c has to
//     cover both, and only "*" covers some segment;
//   - two ordinary segments are compared by character.
func pathCovers(c, d string) bool {
	if !strings.Contains(d, "*") {
		return pathMatches(c, d)
	}
	cs, ds := segmentsOf(c), segmentsOf(d)
	below, row := make([]bool, len(ds)+1), make([]bool, len(ds)+1)
	below[len(ds)] = true
	for i := len(cs) - 1; i >= 0; i-- {
		row[len(ds)] = cs[i] == "**" && below[len(ds)]
		for j := len(ds) - 1; j >= 0; j-- {
			row[j] = coverStep(cs[i], ds[j], below[j], row[j+1], below[j+1])
		}
		below, row = row, below
	}
	return below[0]
}

// coverStep is one cell of pathCovers: skipC, skipD and skipBoth are the cells
// that drop the first element of c, of d and of both.
func coverStep(c, d string, skipC, skipD, skipBoth bool) bool {
	switch {
	case c == "**":
		return skipC || skipD
	case d == "**":
		return c == "*" && skipC && skipD
	default:
		return skipBoth && segmentMatches(c, d)
	}
}

// prefixMatches reports whether text is the pattern or, when the pattern ends
// in "*", begins with the rest of it. Texts never hold a star of their own.
func prefixMatches(pattern, text string) bool {
	if prefix, ok := strings.CutSuffix(pattern, "*"); ok {
		return strings.HasPrefix(text, prefix)
	}
	return pattern == text
}

// prefixCovers reports whether every text that matches d matches c.
func prefixCovers(c, d string) bool {
	if c == d {
		return true
	}
	prefix, ok := strings.CutSuffix(c, "*")
	return ok && strings.HasPrefix(strings.TrimSuffix(d, "*"), prefix)
}
