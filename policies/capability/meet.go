package capability

import "strings"

// meetBudget bounds the work of one intersection of two patterns. Patterns that
// need more are met by less than they share, never by more.
const meetBudget = 4096

// meet returns capabilities that together allow what both a and b allow.
func meet(a, b Capability) []Capability {
	switch {
	case a.action != b.action:
		return nil
	case a.Covers(b):
		return []Capability{b}
	case b.Covers(a):
		return []Capability{a}
	}
	switch a.action.Shape() {
	case ShapePath:
		return meetPaths(a, b)
	case ShapeURL:
		return meetURLs(a, b)
	default: // of two names or starts of names, one covers the other or they share nothing
		return nil
	}
}

func meetURLs(a, b Capability) []Capability {
	both := Capability{action: HTTP, methods: meetMethods(a.methods, b.methods)}
	switch {
	case a.site.covers(b.site):
		both.site = b.site
	case b.site.covers(a.site):
		both.site = a.site
	default:
		return nil
	}
	switch {
	case prefixCovers(a.pattern, b.pattern):
		both.pattern = b.pattern
	case prefixCovers(b.pattern, a.pattern):
		both.pattern = a.pattern
	}
	if both.methods == "" || both.pattern == "" {
		return nil
	}
	return []Capability{both}
}

func meetPaths(a, b Capability) []Capability {
	m := meeter{budget: meetBudget}
	var found []Capability
	for _, segments := range m.paths(segmentsOf(a.pattern), segmentsOf(b.pattern)) {
		pattern, f := parsePathPattern("/" + strings.Join(segments, "/"))
		if f == nil {
			found = append(found, Capability{action: a.action, pattern: pattern})
		}
	}
	return found
}

// meeter intersects patterns by following both at once, and counts its steps.
type meeter struct{ budget int }

func (m *meeter) spend() bool {
	m.budget--
	return m.budget >= 0
}

// paths intersects lists of segments.
func (m *meeter) paths(a, b []string) [][]string {
	switch {
	case !m.spend():
		return nil
	case len(a) == 0 || len(b) == 0:
		return endOfPaths(a, b)
	case a[0] == "**" && b[0] == "**":
		return prependAll("**", append(m.paths(a[1:], b), m.paths(a, b[1:])...))
	case a[0] == "**":
		return append(m.paths(a[1:], b), prependAll(b[0], m.paths(a, b[1:]))...)
	case b[0] == "**":
		return m.paths(b, a)
	}
	heads := m.segments(a[0], b[0])
	if len(heads) == 0 {
		return nil
	}
	rest := m.paths(a[1:], b[1:])
	var found [][]string
	for _, head := range heads {
		found = append(found, prependAll(head, rest)...)
	}
	return found
}

// endOfPaths is the intersection when one list is used up: the empty path, when
// the other can be empty too.
func endOfPaths(a, b []string) [][]string {
	rest := append(a[:len(a):len(a)], b...)
	if len(rest) == 0 || len(rest) == 1 && rest[0] == "**" {
		return [][]string{{}}
	}
	return nil
}

func prependAll(head string, tails [][]string) [][]string {
	out := make([][]string, 0, len(tails))
	for _, tail := range tails {
		out = append(out, append([]string{head}, tail...))
	}
	return out
}

// segments intersects two segments by character.
func (m *meeter) segments(a, b string) []string {
	switch {
	case !m.spend():
		return nil
	case a == "" || b == "":
		if a+b == "" || a+b == "*" {
			return []string{""}
		}
		return nil
	case a[0] == '*' && b[0] == '*':
		return prefixAll("*", append(m.segments(a[1:], b), m.segments(a, b[1:])...))
	case a[0] == '*':
		return append(m.segments(a[1:], b), prefixAll(b[:1], m.segments(a, b[1:]))...)
	case b[0] == '*':
		return m.segments(b, a)
	case a[0] != b[0]:
		return nil
	}
	return prefixAll(a[:1], m.segments(a[1:], b[1:]))
}

func prefixAll(head string, tails []string) []string {
	out := make([]string, 0, len(tails))
	for _, tail := range tails {
		out = append(out, head+tail)
	}
	return out
}
