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

// absorbs reports whether a set that holds c has no need of d. A capability that
// names a domain says more than one that only allows it.
func (c Capability) absorbs(d Capability) bool {
	return c.Covers(d) && (c.NamesDomain() || !d.NamesDomain())
}
