package semver

import (
	"strconv"
	"strings"
)

// A partial is a version of which the last numbers may be missing or x.
type partial struct {
	version       Version // 0 for what is missing
	parts         int     // how many numbers or x there are
	firstWildcard int     // the index of the first that is missing or x; 3 = none
	wildcardsLast bool    // no number follows an x
}

// parsePartial reads a partial in the form of semver.org, without a prefix.
func parsePartial(text string) (p partial, ok bool) {
	core, build, hasBuild := strings.Cut(text, "+")
	core, pre, hasPre := strings.Cut(core, "-")
	numbers := strings.SplitN(core, ".", 4)
	if len(numbers) > 3 || hasBuild && !isIdentifiers(build, false) {
		return p, false
	}
	if hasPre && (len(numbers) < 3 || !isIdentifiers(pre, true)) {
		return p, false
	}
	p = partial{parts: len(numbers), firstWildcard: len(numbers), wildcardsLast: true}
	for i, n := range numbers {
		if !p.setPart(i, n) {
			return p, false
		}
	}
	if p.firstWildcard == 3 { // a prerelease after an x is ignored
		p.version.pre, p.version.build = pre, build
	}
	return p, true
}

// setPart takes the number or x with index i.
func (p *partial) setPart(i int, text string) bool {
	if text == "x" || text == "X" || text == "*" {
		p.firstWildcard = min(p.firstWildcard, i)
		return true
	}
	n, ok := parseNumber(text)
	if p.firstWildcard < i {
		p.wildcardsLast = false
		return ok
	}
	*[]*uint64{&p.version.major, &p.version.minor, &p.version.patch}[i] = n
	return ok
}

func parseNumber(text string) (uint64, bool) {
	if !isNumeric(text) || len(text) > 1 && text[0] == '0' {
		return 0, false
	}
	n, err := strconv.ParseUint(text, 10, 64)
	return n, err == nil && n <= MaxNumber
}

// isIdentifiers reports whether text is a list of identifiers with dots between
// (semver 2.0.0, sections 9 and 10). Numbers in a prerelease have no leading
// zeros.
func isIdentifiers(text string, prerelease bool) bool {
	for id := range strings.SplitSeq(text, ".") {
		if id == "" || strings.IndexFunc(id, outsideIdentifier) >= 0 {
			return false
		}
		if prerelease && len(id) > 1 && id[0] == '0' && isNumeric(id) {
			return false
		}
	}
	return true
}

func outsideIdentifier(r rune) bool {
	return r != '-' && (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z')
}
