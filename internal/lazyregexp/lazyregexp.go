// Package lazyregexp compiles regular expressions when they are first used. A
// program that is started for one command has no time for all it could need:
// compiling one takes up to 0.1 ms, and there are dozens.
package lazyregexp

import (
	"regexp"
	"sync"
)

// New returns what compiles an expression of package regexp when it is first
// called, and returns the same one from then on. It panics then if there is
// none: a test must use each. It is safe for concurrent use.
func New(expression string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expression) })
}
