package policies

import (
	"cmp"
	"fmt"
	"net/netip"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	cedar "github.com/cedar-policy/cedar-go"
	"github.com/cedar-policy/cedar-go/x/exp/ast"

	"github.com/skillet-run/skillet/internal/lazyregexp"
	"github.com/skillet-run/skillet/policies/capability"
)

// actionInstall is the action of a package that asks for a capability.
const actionInstall = "install"

// A comparison is an attribute that a condition compares with a text, a number or an
// address: by == or !=, with contains, containsAny or containsAll of sets, or with like.
type comparison struct {
	attribute string
	want      string
	like      func(cedar.String) bool // what the pattern want matches; nil for no pattern
	text      string                  // as it stands in the policy
}

// comparisonsOf are the comparisons in a policy's conditions.
func comparisonsOf(p *ast.Policy) []comparison {
	var all []comparison
	inspect(p, func(n ast.IsNode) {
		switch n := n.(type) {
		case ast.NodeTypeEquals:
			all = append(all, equalities(n.BinaryNode)...)
		case ast.NodeTypeNotEquals:
			all = append(all, equalities(n.BinaryNode)...)
		case ast.NodeTypeContains:
			all = append(all, memberships(n.BinaryNode)...)
		case ast.NodeTypeContainsAny:
			all = append(all, memberships(n.BinaryNode)...)
		case ast.NodeTypeContainsAll:
			all = append(all, memberships(n.BinaryNode)...)
		case ast.NodeTypeLike:
			if name, ok := attributeOf(n.Arg); ok {
				text := string(n.Value.MarshalCedar())
				all = append(all, comparison{attribute: name, want: strings.Trim(text, `"`), like: n.Value.Match, text: text})
			}
		}
	})
	return all
}

func equalities(n ast.BinaryNode) []comparison {
	if _, ok := attributeOf(n.Left); !ok {
		n.Left, n.Right = n.Right, n.Left
	}
	name, isAttribute := attributeOf(n.Left)
	want, text, isValue := valueOf(n.Right)
	if !isAttribute || !isValue {
		return nil
	}
	return []comparison{{attribute: name, want: want, text: text}}
}

// memberships are the comparisons of what is in one set, or is one value, with what
// is in the other.
func memberships(n ast.BinaryNode) (all []comparison) {
	for _, left := range elementsOf(n.Left) {
		for _, right := range elementsOf(n.Right) {
			all = append(all, equalities(ast.BinaryNode{Left: left, Right: right})...)
		}
	}
	return all
}

func elementsOf(n ast.IsNode) []ast.IsNode {
	if set, ok := n.(ast.NodeTypeSet); ok {
		return set.Elements
	}
	return []ast.IsNode{n}
}

// attributeOf is the name of an attribute of context or principal: no two of them
// have the same.
func attributeOf(n ast.IsNode) (string, bool) {
	access, ok := n.(ast.NodeTypeAccess)
	if !ok {
		return "", false
	}
	if up, nested := access.Arg.(ast.NodeTypeAccess); nested && isContext(up.Arg) && up.Value != "arguments" {
		return string(up.Value + "." + access.Value), true
	}
	_, ok = access.Arg.(ast.NodeTypeVariable)
	return string(access.Value), ok
}

// valueOf is a text, a number, or the text of an address, and how it is written.
func valueOf(n ast.IsNode) (want, text string, ok bool) {
	if call, isCall := n.(ast.NodeTypeExtensionCall); isCall && call.Name == "ip" && len(call.Args) == 1 {
		n = call.Args[0]
	}
	v, _ := n.(ast.NodeValue)
	switch v := v.Value.(type) {
	case cedar.String:
		return string(v), string(v.MarshalCedar()), true
	case cedar.Long:
		return v.String(), v.String(), true
	}
	return "", "", false
}

// words are the attributes with few values.
var words = map[string][]string{
	"scheme": {"http", "https"},
	"home":   {homeInside, homeAbove, homeOutside, homeUnknown},
	"origin": {OriginUser, OriginBundled, OriginGenerated, OriginDevelopment, OriginPath},

	"now.weekday":    weekdays(),
	"caller.kind":    CallerKinds(),
	"arguments_from": Sources(),
}

// most are the attributes of a time that have bounds.
var most = map[string][2]int64{"now.hour": {0, 23}, "now.minute": {0, 59}, "now.day": {1, 31}, "now.month": {1, 12}}

// plainly offers texts where the judges of entities offer entities.
var plainly = strings.NewReplacer("write Host::", "write ", "write Name::", "write ", "write Path::", "write ")

// problem says why an attribute never has the value, and what it has.
func (c comparison) problem(actions []string) string {
	if c.like != nil {
		return c.patternProblem(actions)
	}
	patterns := (actions == nil || slices.Contains(actions, actionInstall)) && strings.Contains(c.want, "*")
	switch {
	case words[c.attribute] != nil:
		return c.oneOf(words[c.attribute])
	case c.attribute == "now.date":
		return c.dateProblem()
	case most[c.attribute] != [2]int64{}:
		return c.within(most[c.attribute])
	case c.attribute == "wants":
		return c.oneOf(wanted())
	case c.attribute == "method":
		return cmp.Or(c.cased(strings.ToUpper, "upper"), c.methodProblem())
	case c.attribute == "capability" || c.attribute == "grant":
		return c.capabilityProblem()
	case forms[c.attribute].whole != nil:
		return c.formed()
	case c.attribute == "port":
		return c.portProblem()
	case c.attribute == "address":
		return c.addressProblem()
	case patterns:
		return ""
	}
	return plainly.Replace(c.resourceProblem(actions))
}

func (c comparison) dateProblem() string {
	if _, err := time.Parse(time.DateOnly, c.want); err != nil {
		return "a date is written as 2026-11-28"
	}
	return ""
}

func (c comparison) within(bounds [2]int64) string {
	if n, err := strconv.ParseInt(c.want, 10, 64); err != nil || n < bounds[0] || n > bounds[1] {
		return fmt.Sprintf("context.%s is from %d to %d", c.attribute, bounds[0], bounds[1])
	}
	return ""
}

// resourceProblem judges what is the id of a resource, too.
func (c comparison) resourceProblem(actions []string) string {
	switch c.attribute {
	case "host":
		return hostProblem(c.want, false)
	case "name":
		return nameProblem(c.want, actions)
	case "folded":
		if why := c.cased(Fold, "lower"); why != "" {
			return why
		}
		return pathProblem(c.want, false)
	case "path":
		return c.pathProblem(actions)
	}
	return ""
}

func wanted() []string {
	all := []string{""}
	for _, a := range capability.Actions() {
		all = append(all, string(a))
	}
	return all
}

func (c comparison) oneOf(values []string) string {
	if slices.Contains(values, c.want) {
		return ""
	}
	return fmt.Sprintf("context.%s is one of %q", c.attribute, values)
}

// cased judges a text that an attribute only has in one case.
func (c comparison) cased(to func(string) string, word string) string {
	if to(c.want) == c.want {
		return ""
	}
	return fmt.Sprintf("context.%s is in %s case; write %q", c.attribute, word, to(c.want))
}

// pathProblem judges the path of a file or of a URL: both begin with a slash, and
// that of a URL may end in one.
func (c comparison) pathProblem(actions []string) string {
	switch {
	case onlyFiles(actions):
		return pathProblem(c.want, false)
	case !strings.HasPrefix(c.want, "/"):
		return `a path begins with "/"`
	}
	return c.queryProblem(actions)
}

// onlyFiles reports whether a policy is about files that a running skill opens.
func onlyFiles(actions []string) bool {
	return len(actions) > 0 && !slices.ContainsFunc(actions, func(a string) bool {
		return capability.Action(a).Shape() != capability.ShapePath
	})
}

func (c comparison) capabilityProblem() string {
	if c.want == "" {
		return ""
	}
	parsed, err := capability.Parse(c.want)
	switch {
	case err != nil:
		return problemOf(err).Error()
	case parsed.String() != c.want:
		return fmt.Sprintf("it is written %q", parsed)
	}
	return ""
}

func (c comparison) methodProblem() string {
	if _, err := capability.Parse("http:" + c.want + " https://example.com/"); err != nil {
		return problemOf(err).Error()
	}
	return ""
}

func (c comparison) portProblem() string {
	if n, err := strconv.ParseUint(c.want, 10, 16); err == nil && n > 0 {
		return ""
	}
	return "a port is a number from 1 to 65535"
}

// addressProblem judges an address: one that is compared with a range is not in it.
func (c comparison) addressProblem() string {
	if p, err := netip.ParsePrefix(c.want); err == nil && !p.IsSingleIP() {
		return fmt.Sprintf("a host is one address; write `context.address.isInRange(ip(%q))`", c.want)
	}
	return ""
}

// A form is how the values of an attribute of a skill are written.
type form struct {
	whole  func() *regexp.Regexp
	starts []string // what they can begin with
	words  string
}

var forms = map[string]form{
	"digest": {lazyregexp.New(`^(sha256:[0-9a-f]{64})?$`), []string{"sha256:"}, `a digest is "sha256:" and 64 hexadecimal digits in lower case`},
	"signer": {lazyregexp.New(`^(key:sha256:[0-9a-f]{64}|keyless:[^/]+/.+)?$`), []string{"key:sha256:", "keyless:"},
		`a signer is "key:sha256:" and 64 hexadecimal digits, or "keyless:ISSUER/IDENTITY"`},
	"version": {lazyregexp.New(`^((0|[1-9][0-9]*)(\.(0|[1-9][0-9]*)){2}(-[0-9A-Za-z.-]+)?(\+[0-9A-Za-z.-]+)?)?$`), strings.Split("0123456789", ""),
		`a version is written whole, such as "1.2.0", or with like, such as "1.2.*"`},
}

func (c comparison) formed() string {
	f := forms[c.attribute]
	if f.whole().MatchString(c.want) {
		return ""
	}
	return f.words
}

// begins judges how a pattern of an attribute with a form begins.
func (c comparison) begins() string {
	fixed, _, _ := strings.Cut(c.want, "*")
	for _, start := range forms[c.attribute].starts {
		if strings.HasPrefix(fixed, start) || strings.HasPrefix(start, fixed) {
			return ""
		}
	}
	return forms[c.attribute].words
}

// patternProblem judges the letters of a pattern, and how it begins and ends.
func (c comparison) patternProblem(actions []string) string {
	if strings.Contains(c.want, `\`) { // an escape, which may stand for anything
		return ""
	}
	switch c.attribute {
	case "method":
		return c.cased(strings.ToUpper, "upper")
	case "host":
		return cmp.Or(c.cased(strings.ToLower, "lower"), c.hostPatternProblem())
	case "scheme":
		return cmp.Or(c.cased(strings.ToLower, "lower"), c.anyOf(words[c.attribute]))
	case "home", "origin":
		return c.anyOf(words[c.attribute])
	case "wants":
		return c.anyOf(wanted())
	case "capability", "grant":
		return c.actionProblem()
	case "digest", "signer", "version":
		return c.begins()
	case "name":
		return c.namePatternProblem(actions)
	case "folded":
		if why := c.cased(Fold, "lower"); why != "" {
			return why
		}
		return c.pathPatternProblem(true)
	case "path":
		return cmp.Or(c.pathPatternProblem(onlyFiles(actions)), c.queryProblem(actions))
	}
	return ""
}

// anyOf judges a pattern of an attribute with few values.
func (c comparison) anyOf(values []string) string {
	if slices.ContainsFunc(values, func(v string) bool { return c.like(cedar.String(v)) }) {
		return ""
	}
	return fmt.Sprintf("context.%s is one of %q", c.attribute, values)
}

var hostWithPort = lazyregexp.New(`^[^:]*:[0-9]+$`)

func (c comparison) hostPatternProblem() string {
	switch {
	case strings.Contains(c.want, "/"):
		return "a host has no scheme and no path; the scheme is `context.scheme`"
	case strings.HasSuffix(c.want, ".") || hostWithPort().MatchString(c.want):
		return "a host has no dot at its end and no port; the port is `context.port`"
	}
	return ""
}

// actionProblem judges the action that a pattern of capabilities names.
func (c comparison) actionProblem() string {
	action, _, whole := strings.Cut(c.want, ":")
	if !whole || strings.Contains(action, "*") || slices.Contains(wanted(), action) {
		return ""
	}
	return fmt.Sprintf("a capability begins with an action: one of %q", wanted()[1:])
}

// namePatternProblem judges the letters of a pattern for names that have small ones.
func (c comparison) namePatternProblem(actions []string) string {
	if len(actions) == 0 || slices.ContainsFunc(actions, func(a string) bool { return !namesAreLower(a) }) {
		return ""
	}
	if strings.Contains(c.want, "@") {
		return "a name has no version; the one of the skill that asks is `principal.version`"
	}
	return c.cased(strings.ToLower, "lower")
}

// namesAreLower reports whether the names of an action have no capital letters.
func namesAreLower(action string) bool {
	k, ok := capability.Action(action).Kind()
	if !ok || k.Shape != capability.ShapeName {
		return false
	}
	_, name, _ := strings.Cut(k.Example, ":")
	return nameProblemOf(strings.ToUpper(name), k.Action) != ""
}

// queryProblem judges the path of a URL: the query is not part of it.
func (c comparison) queryProblem(actions []string) string {
	if onlyWeb := len(actions) == 1 && capability.Action(actions[0]).Shape() == capability.ShapeURL; onlyWeb && strings.ContainsAny(c.want, "?#") {
		return "context.path is the path of a URL alone, without query and fragment"
	}
	return ""
}

func (c comparison) pathPatternProblem(file bool) string {
	switch {
	case c.want == "" || c.want[0] != '/' && c.want[0] != '*':
		return `a path begins with "/"`
	case strings.Contains(c.want, "//"):
		return "a path holds no empty segment"
	case file && slices.ContainsFunc(strings.Split(c.want, "/"), func(name string) bool { return name == "." || name == ".." }):
		return `a path holds no "." and no ".." segment`
	case file && len(c.want) > 1 && strings.HasSuffix(c.want, "/"):
		return fmt.Sprintf(`a path does not end in "/"; write %q for what is in a directory`, c.want+"*")
	}
	return ""
}
