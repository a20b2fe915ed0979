package capability

import (
	"slices"
	"strings"

	"github.com/skillet-run/skillet/internal/nearest"
)

// methods are the HTTP methods a capability can name: RFC 9110 without CONNECT
// and TRACE, which would reach past the server that was granted; PATCH (RFC
// 5789), QUERY, and those of WebDAV (RFC 4918, RFC 3253).
var methods = [...]string{
	"COPY", "DELETE", "GET", "HEAD", "LOCK", "MKCOL", "MOVE", "OPTIONS", "PATCH", "POST",
	"PROPFIND", "PROPPATCH", "PUT", "QUERY", "REPORT", "UNLOCK",
}

// safeMethods are those that change nothing (RFC 9110, section 9.2.1).
const safeMethods = "GET,HEAD,OPTIONS"

// parseMethods returns the canonical form of "*" or a comma-separated list.
func parseMethods(text string) (string, *fault) {
	if text == "*" {
		return text, nil
	}
	names := strings.Split(strings.ToUpper(text), ",")
	for i, name := range names {
		if f := checkMethod(name); f != nil {
			names[i] = f.fix
			f.fix = strings.Join(names, ",")
			return "", f
		}
	}
	slices.Sort(names)
	return strings.Join(slices.Compact(names), ","), nil
}

// checkMethod refuses what is not an upper-case method a capability can name.
func checkMethod(name string) *fault {
	if slices.Contains(methods[:], name) {
		return nil
	}
	if name == "CONNECT" || name == "TRACE" {
		return faultf("GET", "the method %s is never granted", name)
	}
	return faultf(nearestMethod(name), "unknown method %s; the methods are %s, or * for all of them", quote(name), strings.Join(methods[:], ", "))
}

func nearestMethod(name string) string {
	best, bestDistance := "GET", 3
	for _, m := range methods {
		if d := nearest.Distance(name, m); d < bestDistance {
			best, bestDistance = m, d
		}
	}
	return best
}

// methodsAllow reports whether one method is in a canonical list.
func methodsAllow(list, method string) bool {
	if list == "*" {
		return true
	}
	for name := range strings.SplitSeq(list, ",") {
		if name == method {
			return true
		}
	}
	return false
}

// methodsCover reports whether every method of d is in c.
func methodsCover(c, d string) bool {
	if c == "*" || c == d {
		return true
	}
	if d == "*" {
		return false
	}
	for name := range strings.SplitSeq(d, ",") {
		if !methodsAllow(c, name) {
			return false
		}
	}
	return true
}

// meetMethods returns the methods that are in both lists, "" when none is.
func meetMethods(a, b string) string {
	switch {
	case a == "*":
		return b
	case b == "*":
		return a
	}
	var both []string
	for name := range strings.SplitSeq(a, ",") {
		if methodsAllow(b, name) {
			both = append(both, name)
		}
	}
	return strings.Join(both, ",")
}
