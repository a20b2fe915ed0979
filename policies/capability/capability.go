package capability

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// MaxLength is the longest text, in bytes, that Parse accepts.
const MaxLength = 2048

// Capability is an action on a resource pattern. It is immutable and may be
// compared with ==: two capabilities are equal when their canonical texts are.
// The zero value grants nothing, is covered by every capability and has the
// text "".
type Capability struct {
	action  Action
	methods string // http only: "*", or upper-case names, sorted, joined by commas
	site    site   // http only
	pattern string // path pattern, URL path pattern or name pattern; "" for none
}

// Parse reads the text of a capability, as the package comment describes it.
// The error is a *ParseError.
func Parse(text string) (Capability, error) {
	c, f := parse(text)
	if f == nil {
		return c, nil
	}
	return Capability{}, &ParseError{What: "capability", Text: text, Message: f.message, Suggestion: f.fix}
}

// MustParse is Parse for texts written in the source; it panics when the text
// is not a capability.
func MustParse(text string) Capability {
	c, err := Parse(text)
	if err != nil {
		panic(err)
	}
	return c
}

func parse(text string) (Capability, *fault) {
	if f := checkText(text); f != nil {
		return Capability{}, f
	}
	if strings.HasPrefix(text, "http://") {
		return Capability{}, faultf(validText(string(HTTP)+":GET "+text), "a URL alone is not a capability")
	}
	word, resource, hasResource := strings.Cut(text, ":")
	k := lookup(Action(word))
	switch {
	case k == nil:
		return Capability{}, unknownAction(text, word, resource)
	case k.Shape == ShapeNone && hasResource:
		return Capability{}, faultf(k.Example, "%s takes no resource", k.Action)
	case k.Shape != ShapeNone && !hasResource:
		return Capability{}, faultf("", "%s needs a resource after a colon, for example %s", k.Action, quote(k.Example))
	}
	return parseWhole(k, resource)
}

// parseWhole parses the resource of a known action and completes the fix of a
// fault, so that it is a capability or nothing.
func parseWhole(k *Kind, resource string) (Capability, *fault) {
	c, f := parseResource(k, resource)
	if f == nil {
		return c, nil
	}
	if f.fix != "" {
		f.fix = validText(string(k.Action) + ":" + f.fix)
	}
	return Capability{}, f
}

func parseResource(k *Kind, resource string) (Capability, *fault) {
	c := Capability{action: k.Action}
	var f *fault
	switch k.Shape {
	case ShapePath:
		c.pattern, f = parsePathPattern(resource)
	case ShapeURL:
		c.methods, c.site, c.pattern, f = parseURLPattern(resource)
	case ShapeName:
		c.pattern, f = parseNamePattern(resource)
	}
	return c, f
}

// checkText refuses what no part of a capability may hold. Invisible and
// direction-changing characters are refused because a person has to be able to
// see what is asked for.
func checkText(text string) *fault {
	switch {
	case text == "":
		return faultf("", "it is empty; write an action such as %s", quote(kinds[0].Example))
	case len(text) > MaxLength:
		return faultf("", "it is %d bytes long; the limit is %d", len(text), MaxLength)
	case !utf8.ValidString(text):
		return faultf("", "it is not valid UTF-8")
	}
	if trimmed := strings.TrimSpace(text); trimmed != text {
		return faultf(validText(trimmed), "it begins or ends with white space")
	}
	return checkPrintable(text)
}

func checkPrintable(text string) *fault {
	for _, r := range text {
		if !unicode.IsPrint(r) {
			return faultf("", "it holds the unprintable character %U", r)
		}
	}
	return nil
}

func unknownAction(text, word, resource string) *fault {
	return faultf(likelyMeant(text, word, resource), "unknown action %s; the actions are %s", quote(word), actionList())
}

// likelyMeant guesses the capability behind a text with an unknown action: a
// bare path or URL, or an action that is spelled wrongly.
func likelyMeant(text, word, resource string) string {
	if strings.HasPrefix(text, "/") {
		return validText(string(FSRead) + ":" + text)
	}
	if strings.HasPrefix(text, "https://") {
		return validText(string(HTTP) + ":GET " + text)
	}
	k := nearestKind(word)
	switch {
	case k == nil:
		return ""
	case k.Shape == ShapeNone:
		return k.Example
	}
	c, f := parseWhole(k, resource)
	if f != nil {
		return f.fix
	}
	return c.String()
}

// validText returns the canonical form of text when it is a capability, otherwise
// "". It looks for no suggestion itself.
func validText(text string) string {
	word, resource, hasResource := strings.Cut(text, ":")
	k := lookup(Action(word))
	if k == nil || hasResource == (k.Shape == ShapeNone) || len(text) > MaxLength || checkPrintable(text) != nil {
		return ""
	}
	c, f := parseResource(k, resource)
	if f != nil {
		return ""
	}
	return c.String()
}

func actionList() string {
	words := make([]string, len(kinds))
	for i := range kinds {
		words[i] = string(kinds[i].Action)
	}
	return strings.Join(words, ", ")
}

// String returns the canonical text, which Parse reads back to the same value.
func (c Capability) String() string {
	if r := c.Resource(); r != "" {
		return string(c.action) + ":" + r
	}
	return string(c.action)
}

// Action returns what the capability is for; "" for the zero value.
func (c Capability) Action() Action { return c.action }

// Resource returns the canonical resource, which is the text after the first
// colon. It is "" for an action with [ShapeNone] and for the zero value.
func (c Capability) Resource() string {
	if c.action == HTTP {
		return c.methods + " " + c.site.String() + c.pattern
	}
	return c.pattern
}

// Base returns, for a file capability, the longest path at its beginning that
// has no wildcard: "/data" for /data/** and for /data/*.csv, and the file
// itself for a literal path. It is "" for every other action.
func (c Capability) Base() string {
	if c.action.Shape() != ShapePath {
		return ""
	}
	star := strings.IndexByte(c.pattern, '*')
	if star < 0 {
		return c.pattern
	}
	return c.pattern[:max(1, strings.LastIndexByte(c.pattern[:star], '/'))]
}

// Endpoint returns, for an http capability, what it names: Method is "*" or a
// comma-separated list, and Host and Path may hold wildcards. It is false for
// every other action.
func (c Capability) Endpoint() (Endpoint, bool) {
	if c.action != HTTP {
		return Endpoint{}, false
	}
	return Endpoint{Method: c.methods, Scheme: c.site.scheme, Host: c.site.host, Port: int(c.site.port), Path: c.pattern}, true
}

// Covers reports whether c allows every request that d allows. It is never
// true wrongly.
func (c Capability) Covers(d Capability) bool {
	switch {
	case d.action == "":
		return true
	case c.action != d.action:
		return false
	}
	switch c.action.Shape() {
	case ShapePath:
		return pathCovers(c.pattern, d.pattern)
	case ShapeURL:
		return methodsCover(c.methods, d.methods) && c.site.covers(d.site) && prefixCovers(c.pattern, d.pattern)
	case ShapeName:
		return prefixCovers(c.pattern, d.pattern)
	default:
		return c.action != ""
	}
}

// Allows reports whether c allows r. It is false for every request whose
// Canonical is an error.
func (c Capability) Allows(r Request) bool {
	t, f := r.target()
	return f == nil && c.allows(t)
}

func (c Capability) allows(t target) bool {
	if c.action != t.action {
		return false
	}
	switch c.action.Shape() {
	case ShapePath:
		return pathMatches(c.pattern, t.resource)
	case ShapeURL:
		return methodsAllow(c.methods, t.method) && c.site.allows(t.site) && prefixMatches(c.pattern, t.resource)
	case ShapeName:
		return prefixMatches(c.pattern, t.resource)
	default:
		return c.action != ""
	}
}

// Changes reports whether c allows more than looking: whether its use may change
// something that outlives a call. It is true for the zero value: of what is not
// known the worst is taken.
func (c Capability) Changes() bool {
	k := lookup(c.action)
	switch {
	case k == nil || !k.Harmless:
		return true
	case k.Shape == ShapeURL:
		return !methodsCover(safeMethods, c.methods)
	}
	return false
}

// MarshalText returns the canonical text; it never fails.
func (c Capability) MarshalText() ([]byte, error) { return []byte(c.String()), nil }

// UnmarshalText reads what MarshalText wrote, the empty text of the zero value
// included. Any other error is a *ParseError.
func (c *Capability) UnmarshalText(text []byte) error {
	if len(text) == 0 {
		*c = Capability{}
		return nil
	}
	parsed, err := Parse(string(text))
	if err != nil {
		return err
	}
	*c = parsed
	return nil
}
