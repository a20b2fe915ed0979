package policies

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	cedar "github.com/cedar-policy/cedar-go"
	"github.com/cedar-policy/cedar-go/types"
	"github.com/cedar-policy/cedar-go/x/exp/ast"
	"github.com/cedar-policy/cedar-go/x/exp/schema/resolved"
	"github.com/cedar-policy/cedar-go/x/exp/schema/validate"

	"github.com/skillet-run/skillet/internal/nearest"
)

// The arguments of a call have no type that a schema could know, and Cedar checks policies
// against types. So a policy says itself what they are: an argument that is compared with a
// number is one, and one whose attributes are looked at is a record. All are optional, so
// that a policy has to ask with "has" first. What is called with another type than that is
// an error of the evaluation, which denies.

// A sort is the type of an argument, as far as a policy says.
type sort string

const (
	sortOpen    sort = ""
	sortText    sort = "text"
	sortNumber  sort = "a whole number"
	sortDecimal sort = "a decimal"
	sortBool    sort = "true or false"
	sortSet     sort = "a set"
	sortRecord  sort = "an object"
)

// argumentUse is what a policy says of an argument.
type argumentUse struct {
	name    string // as in the policy
	sort    sort
	members map[types.String]*argumentUse
	element *argumentUse // of a set
	problem string
}

func (u *argumentUse) is(s sort) {
	switch {
	case u.sort == sortOpen:
		u.sort = s
	case u.sort != s && s != sortOpen && u.problem == "":
		u.problem = fmt.Sprintf("%s cannot be %s and %s", u.name, u.sort, s)
	}
}

func (u *argumentUse) member(name types.String) *argumentUse {
	u.is(sortRecord)
	if u.members == nil {
		u.members = map[types.String]*argumentUse{}
	}
	if u.members[name] == nil {
		u.members[name] = &argumentUse{name: u.name + "." + string(name)}
	}
	return u.members[name]
}

// of is the use of the argument that a node names; nil for any other node.
func (u *argumentUse) of(n ast.IsNode) *argumentUse {
	access, ok := n.(ast.NodeTypeAccess)
	switch {
	case !ok:
		return nil
	case isContext(access.Arg) && access.Value == "arguments":
		return u
	}
	if up := u.of(access.Arg); up != nil {
		return up.member(access.Value)
	}
	return nil
}

// sortIs notes that a node is of a sort, if it is an argument.
func (u *argumentUse) sortIs(n ast.IsNode, s sort) {
	if a := u.of(n); a != nil {
		a.is(s)
	}
}

// holds notes that a node is a set of what the other one is, if it is an argument.
func (u *argumentUse) holds(n, other ast.IsNode) {
	a := u.of(n)
	if a == nil {
		return
	}
	if a.is(sortSet); a.element == nil {
		a.element = &argumentUse{name: "an element of " + a.name}
	}
	a.element.is(sortOf(other))
}

// look notes what one node says of arguments.
func (u *argumentUse) look(n ast.IsNode) {
	switch n := n.(type) {
	case ast.NodeTypeAccess:
		u.of(n)
	case ast.NodeTypeHas:
		if a := u.of(n.Arg); a != nil {
			a.member(n.Value)
		}
	case ast.NodeTypeLike:
		u.sortIs(n.Arg, sortText)
	case ast.NodeTypeEquals:
		u.alike(n.BinaryNode)
	case ast.NodeTypeNotEquals:
		u.alike(n.BinaryNode)
	case ast.NodeTypeContains:
		u.holds(n.Left, n.Right)
		if set, ok := n.Left.(ast.NodeTypeSet); ok && len(set.Elements) > 0 {
			u.sortIs(n.Right, sortOf(set.Elements[0]))
		}
	case ast.NodeTypeContainsAll:
		u.sets(n.BinaryNode)
	case ast.NodeTypeContainsAny:
		u.sets(n.BinaryNode)
	case ast.NodeTypeIsEmpty:
		u.sortIs(n.Arg, sortSet)
	case ast.NodeTypeNegate:
		u.sortIs(n.Arg, sortNumber)
	case ast.NodeTypeNot:
		u.sortIs(n.Arg, sortBool)
	case ast.NodeTypeAnd:
		u.both(n.BinaryNode, sortBool)
	case ast.NodeTypeOr:
		u.both(n.BinaryNode, sortBool)
	case ast.NodeTypeIfThenElse:
		u.sortIs(n.If, sortBool)
	case ast.NodeTypeExtensionCall:
		u.decimals(n)
	default:
		u.numbers(n)
	}
}

func (u *argumentUse) numbers(n ast.IsNode) {
	switch n := n.(type) {
	case ast.NodeTypeLessThan:
		u.both(n.BinaryNode, sortNumber)
	case ast.NodeTypeLessThanOrEqual:
		u.both(n.BinaryNode, sortNumber)
	case ast.NodeTypeGreaterThan:
		u.both(n.BinaryNode, sortNumber)
	case ast.NodeTypeGreaterThanOrEqual:
		u.both(n.BinaryNode, sortNumber)
	case ast.NodeTypeAdd:
		u.both(n.BinaryNode, sortNumber)
	case ast.NodeTypeSub:
		u.both(n.BinaryNode, sortNumber)
	case ast.NodeTypeMult:
		u.both(n.BinaryNode, sortNumber)
	}
}

func (u *argumentUse) decimals(n ast.NodeTypeExtensionCall) {
	if !slices.Contains([]types.Path{"lessThan", "lessThanOrEqual", "greaterThan", "greaterThanOrEqual"}, n.Name) {
		return
	}
	for _, a := range n.Args {
		u.sortIs(a, sortDecimal)
	}
}

func (u *argumentUse) both(n ast.BinaryNode, s sort) {
	u.sortIs(n.Left, s)
	u.sortIs(n.Right, s)
}

func (u *argumentUse) alike(n ast.BinaryNode) {
	for _, side := range [][2]ast.IsNode{{n.Left, n.Right}, {n.Right, n.Left}} {
		if set, ok := side[1].(ast.NodeTypeSet); ok && len(set.Elements) > 0 {
			u.holds(side[0], set.Elements[0])
			continue
		}
		u.sortIs(side[0], sortOf(side[1]))
	}
}

func (u *argumentUse) sets(n ast.BinaryNode) {
	for _, side := range [][2]ast.IsNode{{n.Left, n.Right}, {n.Right, n.Left}} {
		if set, ok := side[1].(ast.NodeTypeSet); ok && len(set.Elements) > 0 {
			u.holds(side[0], set.Elements[0])
		}
		u.sortIs(side[0], sortSet)
	}
}

// numbersInContext are the attributes of context that are whole numbers.
var numbersInContext = []types.String{"bytes", "port", "epoch", "year", "month", "day", "hour", "minute"}

// sortOf is what a node is that an argument is compared with: a text where that is not plain.
func sortOf(n ast.IsNode) sort {
	switch n := n.(type) {
	case ast.NodeValue:
		switch n.Value.(type) {
		case cedar.Long:
			return sortNumber
		case cedar.Boolean:
			return sortBool
		}
	case ast.NodeTypeExtensionCall:
		if n.Name == "decimal" {
			return sortDecimal
		}
	case ast.NodeTypeAccess:
		if new(argumentUse).of(n) != nil {
			return sortOpen
		}
		if slices.Contains(numbersInContext, n.Value) {
			return sortNumber
		}
	}
	return sortText
}

// firstProblem is what contradicts itself; empty for nothing.
func (u *argumentUse) firstProblem() string {
	if u == nil || u.problem != "" {
		if u == nil {
			return ""
		}
		return u.problem
	}
	for _, name := range slices.Sorted(maps.Keys(u.members)) {
		if p := u.members[name].firstProblem(); p != "" {
			return p
		}
	}
	return u.element.firstProblem()
}

func (u *argumentUse) resolved() resolved.IsType {
	switch {
	case u == nil:
		return resolved.StringType{}
	case u.sort == sortNumber:
		return resolved.LongType{}
	case u.sort == sortBool:
		return resolved.BoolType{}
	case u.sort == sortDecimal:
		return resolved.ExtensionType("decimal")
	case u.sort == sortSet:
		return resolved.SetType{Element: u.element.resolved()}
	case u.sort != sortRecord:
		return resolved.StringType{}
	}
	members := resolved.RecordType{}
	for name, m := range u.members {
		members[name] = resolved.Attribute{Type: m.resolved(), Optional: true}
	}
	return members
}

// validatorFor is what a policy is checked by: against the schema, in which the arguments
// are what the policy says they are.
func (l *loader) validatorFor(p *policy) (v *validate.Validator, problem string) {
	if callKeysOf(p.ast())&wantsArguments == 0 {
		return l.validator, ""
	}
	use := &argumentUse{name: "context.arguments", sort: sortRecord}
	for _, c := range p.ast().Conditions {
		use.sortIs(c.Body, sortBool)
	}
	inspect(p.ast(), use.look)
	if problem := use.firstProblem(); problem != "" {
		return nil, fmt.Sprintf("policy %s: %s", p.ID, problem)
	}
	schema := *l.schema
	schema.Actions = maps.Clone(schema.Actions)
	for uid, a := range schema.Actions {
		if a.AppliesTo == nil || a.AppliesTo.Context["arguments"].Type == nil {
			continue
		}
		to := *a.AppliesTo
		to.Context = maps.Clone(to.Context)
		to.Context["arguments"] = resolved.Attribute{Type: use.resolved()}
		a.AppliesTo = &to
		schema.Actions[uid] = a
	}
	return validate.New(&schema), ""
}

// unknownKey says which attribute of context a policy names that no action has, and which one
// may be meant. Cedar takes "has" of an unknown attribute for false, and the rule would be missing.
func (l *loader) unknownKey(p *policy) string {
	problem := ""
	note := func(arg ast.IsNode, name types.String) {
		if known := l.attributesOf(arg); problem == "" && known != nil && !slices.Contains(known, string(name)) {
			problem = fmt.Sprintf("%s has no attribute `%s`%s", nameOf(arg), name, didYouMean(string(name), known))
		}
	}
	inspect(p.ast(), func(n ast.IsNode) {
		switch n := n.(type) {
		case ast.NodeTypeAccess:
			note(n.Arg, n.Value)
		case ast.NodeTypeHas:
			note(n.Arg, n.Value)
		}
	})
	return problem
}

func nameOf(n ast.IsNode) string {
	if access, ok := n.(ast.NodeTypeAccess); ok {
		return "context." + string(access.Value)
	}
	return "context"
}

// attributesOf are the attributes that context, or a record in it, has for any action; nil
// for anything else.
func (l *loader) attributesOf(n ast.IsNode) []string {
	access, within := n.(ast.NodeTypeAccess)
	if within && (!isContext(access.Arg) || access.Value == "arguments") || !within && !isContext(n) {
		return nil
	}
	var all []string
	for _, a := range l.schema.Actions {
		if a.AppliesTo == nil {
			continue
		}
		record := a.AppliesTo.Context
		if within {
			record, _ = record[access.Value].Type.(resolved.RecordType)
		}
		for name := range record {
			if !slices.Contains(all, string(name)) {
				all = append(all, string(name))
			}
		}
	}
	slices.Sort(all)
	return all
}

func didYouMean(name string, known []string) string {
	if best, ok := nearest.Name(name, known); ok {
		return fmt.Sprintf("; did you mean `%s`?", best)
	}
	return "; it has " + strings.Join(known, ", ")
}
