package runner

import (
	"fmt"
	"time"

	"github.com/skillet-run/skillet/host/record/registry"
)

// What is kept of skills between calls, under "runner/". OWNER is skill/NAME for
// an installed skill, dev/NAME for one its author is working on, and path/HEX for
// a package that was run from a path. HEX is a package's digest. All of it may be
// lost: it is found out again.
//
//	runner/about/OWNER/breaker/HEX -> JSON: the circuit breaker of one version
//	runner/about/OWNER/health/HEX  -> JSON: its last health check
//	runner/about/OWNER/rate        -> JSON: the token bucket of its manifest
//	runner/about/OWNER/rate/SKILL-PATTERN[/TOOL-PATTERN/TOOL] -> JSON: that of a person's rate
//	runner/about/OWNER/canary/SEQ  -> JSON: the figures of a trial, by the decision that began it
//	runner/cache/OWNER             -> JSON: how much is kept in
//	runner/cached/OWNER/HASH       -> an answer, behind the times it was made and ends
const (
	aboutKeys  = "runner/about/"
	cacheKeys  = "runner/cache/"
	cachedKeys = "runner/cached/"
)

// owner says whose a target is.
func owner(t Target) string {
	name := t.Package.Manifest().Name // has no slash
	switch t.Origin {
	case registry.OriginPath:
		return "path/" + t.Package.Digest().Hex()
	case registry.OriginDevelopment:
		return "dev/" + name
	}
	return "skill/" + name
}

func breakerKey(t Target) string {
	return aboutKeys + owner(t) + "/breaker/" + t.Package.Digest().Hex()
}

func healthKey(t Target) string {
	return aboutKeys + owner(t) + "/health/" + t.Package.Digest().Hex()
}

func rateKey(t Target) string { return aboutKeys + owner(t) + "/rate" }

// ceil is a length of time for people: not shorter, and without fractions that
// nobody reads.
func ceil(d time.Duration) time.Duration {
	unit := time.Millisecond
	if d >= 10*time.Second {
		unit = time.Second
	}
	return (d + unit - 1).Truncate(unit)
}

// count is a number of things.
func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// times is how often something happened.
func times(n int) string {
	switch n {
	case 1:
		return "once"
	case 2:
		return "twice"
	}
	return fmt.Sprintf("%d times", n)
}
