package token

import (
	"slices"
	"strings"
)

// A Role is what a token is for. It is a row of the table of roles.
type Role string

// The roles.
const (
	Viewer   Role = "viewer"   // looks at everything, and changes nothing
	Caller   Role = "caller"   // calls skills and has goals done
	Operator Role = "operator" // does both, and asks for changes
	Approver Role = "approver" // is a person's: decides, too
	Agent    Role = "agent"    // is an agent's: calls, remembers, asks for changes, and sees nothing of others
)

// A Right is one sort of thing that can be done.
type Right string

// The rights.
const (
	Find     Right = "find"     // see which skills there are
	Call     Right = "call"     // call tools of skills
	Work     Right = "work"     // have goals done, and steer tasks
	Read     Right = "read"     // see proposals, grants, policies, the audit log, figures
	Recall   Right = "recall"   // search what is remembered
	Remember Right = "remember" // add to it
	Propose  Right = "propose"  // ask for changes of what is installed
	Decide   Right = "decide"   // what only a person does
)

// rights is the table of roles.
var rights = map[Role][]Right{
	Viewer:   {Find, Read, Recall},
	Caller:   {Find, Call, Work},
	Operator: {Find, Call, Work, Read, Recall, Remember, Propose},
	Approver: {Find, Call, Work, Read, Recall, Remember, Propose, Decide},
	Agent:    {Find, Call, Work, Recall, Remember, Propose},
}

// Roles returns the roles, in the order in which they are shown.
func Roles() []Role { return []Role{Viewer, Caller, Operator, Approver, Agent} }

// Has reports whether the role has one of some rights.
func (r Role) Has(any ...Right) bool {
	return slices.ContainsFunc(any, func(one Right) bool { return slices.Contains(rights[r], one) })
}

// Scoped reports whether a token of the role may be for some skills alone: of a role that
// sees or decides about others that would be no bound.
func (r Role) Scoped() bool { return r == Caller || r == Agent }

// SeesAll reports whether a role sees what others asked for.
func (r Role) SeesAll() bool { return r.Has(Read) }

func roleNames() string {
	var names []string
	for _, r := range Roles() {
		names = append(names, string(r))
	}
	return strings.Join(names, ", ")
}
