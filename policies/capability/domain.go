package capability

import (
	"strings"

	"golang.org/x/net/publicsuffix"
)

// NamesDomain reports whether c says whose hosts it is about. It is false for an
// http capability whose host is a pattern right below a public suffix
// (publicsuffix.org), such as *.github.io: each name that fits is somebody
// else's. It is true for every other capability.
func (c Capability) NamesDomain() bool {
	domain, pattern := strings.CutPrefix(c.site.host, "*.")
	if c.action != HTTP || !pattern {
		return true
	}
	suffix, _ := publicsuffix.PublicSuffix(domain)
	return suffix != domain
}

// Unbounded reports whether c allows an action on everything there is: every file,
// every secret, hosts of anybody's, or whatever a program can do.
func (c Capability) Unbounded() bool {
	switch c.action {
	case FSRead, FSWrite:
		return c.pattern == "/**"
	case Secret, Skill, Session, Model:
		return c.pattern == "*"
	case HTTP:
		return !c.NamesDomain()
	case Native:
		return true
	}
	return false
}

// absorbs reports whether a set that holds c has no need of d. A capability that
// names a domain says more than one that only allows it.
func (c Capability) absorbs(d Capability) bool {
	return c.Covers(d) && (c.NamesDomain() || !d.NamesDomain())
}
