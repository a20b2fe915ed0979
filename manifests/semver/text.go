package semver

import "strings"

// String returns s in words a person reads as a constraint, such as
// "^1.2.0 || 2.1.0". A constraint with that text allows exactly s whenever there
// is one; otherwise the prereleases are said apart: "^1.0.0 and prereleases
// >=1.0.0-rc.1 <2.0.0-0".
func (s Set) String() string {
	if s.IsEmpty() {
		return "no version"
	}
	if text, ok := s.constraint(); ok {
		return text
	}
	if len(s.prereleases) == 1 && s.prereleases[0] == firstPrerelease && s.releases.equal(line{firstRelease}) {
		return "any version"
	}
	prereleases := "prereleases " + strings.Join(s.prereleases.spans(), " || ")
	if len(s.releases) == 0 {
		return prereleases
	}
	return strings.Join(s.releases.spans(), " || ") + " and " + prereleases
}

// constraint returns a constraint that allows exactly s, if it finds one: first
// what the releases say, then with each span of prereleases as an alternative of
// its own, or as the lower bound of the releases behind it.
func (s Set) constraint() (text string, ok bool) {
	spans := s.releases.spans()
	for i := 0; i < len(s.prereleases); i += 2 {
		spans = s.addPrereleases(spans, i)
	}
	text = strings.Join(spans, " || ")
	r, problem := readRange(text, false)
	return text, problem == "" && text != "" && r.set.Equal(s)
}

// addPrereleases adds to spans the prereleases from bound i on: where they come
// right before a stretch of releases, or follow it, to that.
func (s Set) addPrereleases(spans []string, i int) []string {
	low, rest := s.prereleases[i], s.prereleases[i+1:]
	for j := 0; j < len(s.releases); j += 2 {
		first, behind := s.releases[j], s.releases[j+1:]
		switch {
		case first == low.release():
			spans[j/2] = span(low, behind)
			return spans
		case len(behind) > 0 && len(rest) > 0 && low == behind[0].floor() && rest[0].release() == behind[0]:
			spans[j/2] = span(first, rest)
			return spans
		}
	}
	return append(spans, span(low, rest))
}

// spans returns each stretch of l as a constraint.
func (l line) spans() []string {
	var out []string
	for i := 0; i < len(l); i += 2 {
		out = append(out, span(l[i], l[i+1:]))
	}
	return out
}

// span is the constraint from low on, up to the first of rest.
func span(low Version, rest line) string {
	if len(rest) == 0 {
		if low == firstRelease {
			return "*"
		}
		return ">=" + low.String()
	}
	high := rest[0]
	patch := Version{major: low.major, minor: low.minor, patch: low.patch + 1}
	switch high {
	case patch, Version{major: low.major, minor: low.minor, patch: low.patch, pre: low.pre + ".0"}:
		if high == patch && low.pre != "" {
			break
		}
		return low.String()
	case Version{major: low.major, minor: low.minor + 1}:
		if low.major > 0 || low.minor == 0 {
			return "~" + low.String()
		}
		return "^" + low.String()
	case Version{major: low.major + 1}:
		if low.major > 0 {
			return "^" + low.String()
		}
	}
	if low == firstRelease {
		return "<" + high.String()
	}
	return ">=" + low.String() + " <" + high.String()
}
