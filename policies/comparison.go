package policies

import (
	"fmt"
	"slices"
	"strings"

	cedar "github.com/cedar-policy/cedar-go"
	"github.com/cedar-policy/cedar-go/x/exp/ast"

	"github.com/skillet-run/skillet/internal/lazyregexp"
	"github.com/skillet-run/skillet/policies/capability"
)

// actionInstall is the action of a package that asks for a capability.
const actionInstall = "install"

// A comparison is an attribute that a condition compares with a text: by == or !=,
// with contains of a set of texts, or with like.
type comparison struct {
	attribute string
	want      string
	like      bool   // want is a pattern
	text      string // as it stands in the policy
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
		case ast.NodeTypeLike:
			if name, ok := attributeOf(n.Arg); ok {
				text := string(n.Value.MarshalCedar())
				all = append(all, comparison{attribute: name, want: strings.Trim(text, `"`), like: true, text: text})
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
	text, isText := textOf(n.Right)
	if !isAttribute || !isText {
		return nil
	}
	return []comparison{newComparison(name, text)}
}

func newComparison(attribute, want string) comparison {
	return comparison{attribute: attribute, want: want, text: string(cedar.String(want).MarshalCedar())}
}

func memberships(n ast.BinaryNode) []comparison {
	name, isAttribute := attributeOf(n.Right)
	set, isSet := n.Left.(ast.NodeTypeSet)
	if !isAttribute || !isSet {
		return nil
	}
	var all []comparison
	for _, e := range set.Elements {
		if text, ok := textOf(e); ok {
			all = append(all, newComparison(name, text))
		}
	}
	return all
}

// attributeOf is the name of an attribute of context or principal: no two of them
// have the same.
func attributeOf(n ast.IsNode) (string, bool) {
	access, ok := n.(ast.NodeTypeAccess)
	if !ok {
		return "", false
	}
	_, ok = access.Arg.(ast.NodeTypeVariable)
	return string(access.Value), ok
}

func textOf(n ast.IsNode) (string, bool) {
	v, ok := n.(ast.NodeValue)
	if !ok {
		return "", false
	}
	text, ok := v.Value.(cedar.String)
	return string(text), ok
}

// words are the attributes with few values.
var words = map[string][]string{
	"scheme": {"http", "https"},
	"home":   {homeInside, homeAbove, homeOutside, homeUnknown},
	"origin": {OriginUser, OriginBundled, OriginGenerated, OriginDevelopment, OriginPath},
}

// plainly offers texts where the judges of entities offer entities.
var plainly = strings.NewReplacer("write Host::", "write ", "write Name::", "write ", "write Path::", "write ")

// problem says why an attribute never has the value, and what it has.
func (c comparison) problem(actions []string) string {
	if c.like {
		return c.patternProblem(actions)
	}
	patterns := (actions == nil || slices.Contains(actions, actionInstall)) && strings.Contains(c.want, "*")
	switch {
	case words[c.attribute] != nil:
		return c.oneOf(words[c.attribute])
	case c.attribute == "wants":
		return c.oneOf(wanted())
	case c.attribute == "method":
		return c.cased(strings.ToUpper, "upper")
	case c.attribute == "capability" || c.attribute == "grant":
		return c.capabilityProblem()
	case c.attribute == "digest":
		return c.digestProblem()
	case patterns:
		return ""
	}
	return plainly.Replace(c.resourceProblem(actions))
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
	return ""
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

var digestForm = lazyregexp.New(`^(sha256:[0-9a-f]{64})?$`)

func (c comparison) digestProblem() string {
	if digestForm().MatchString(c.want) {
		return ""
	}
	return `a digest is "sha256:" and 64 hexadecimal digits in lower case`
}

// patternProblem judges the letters of a pattern, and how it begins and ends.
func (c comparison) patternProblem(actions []string) string {
	if strings.Contains(c.want, `\`) { // an escape, which may stand for anything
		return ""
	}
	switch c.attribute {
	case "method":
		return c.cased(strings.ToUpper, "upper")
	case "host", "scheme":
		return c.cased(strings.ToLower, "lower")
	case "folded":
		if why := c.cased(Fold, "lower"); why != "" {
			return why
		}
		return c.pathPatternProblem(true)
	case "path":
		return c.pathPatternProblem(onlyFiles(actions))
	}
	return ""
}

func (c comparison) pathPatternProblem(file bool) string {
	switch {
	case c.want == "" || c.want[0] != '/' && c.want[0] != '*':
		return `a path begins with "/"`
	case strings.Contains(c.want, "//"):
		return "a path holds no empty segment"
	case file && len(c.want) > 1 && strings.HasSuffix(c.want, "/"):
		return fmt.Sprintf(`a path does not end in "/"; write %q for what is in a directory`, c.want+"*")
	}
	return ""
}
