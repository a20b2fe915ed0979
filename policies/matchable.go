package policies

import (
	"fmt"
	"net/netip"
	"path"
	"regexp"
	"slices"
	"strings"

	cedar "github.com/cedar-policy/cedar-go"
	"github.com/cedar-policy/cedar-go/x/exp/ast"

	"github.com/skillet-run/skillet/internal/lazyregexp"
	"github.com/skillet-run/skillet/policies/capability"
)

// A policy can fit the schema and still name what no request ever has, such as
// Path::"/data/" or Host::"Example.com". It would never match, and a rule for
// safety would be missing without a word. So everything a policy compares with is
// held against the form that requests have.

// A mismatch is something that a policy names and no request has.
type mismatch struct {
	text    string // as it stands in the policy
	message string
}

// mismatches are those of a policy, in the order of its text.
func (p *policy) mismatches() []mismatch {
	var found []mismatch
	actions := scopeActions(p.ast())
	note := func(text, why string) {
		if why != "" {
			found = append(found, mismatch{text, fmt.Sprintf("policy %s never matches %s: %s", p.ID, text, why)})
		}
	}
	for _, uid := range entitiesOf(p.ast()) {
		note(uid.String(), entityProblem(uid, actions))
	}
	for _, c := range comparisonsOf(p.ast()) {
		note(c.text, c.problem(actions))
	}
	return found
}

// scopeActions are the actions that a policy is for; nil for all of them.
func scopeActions(p *ast.Policy) []string {
	var names []string
	switch scope := p.Action.(type) {
	case ast.ScopeTypeEq:
		names = append(names, string(scope.Entity.ID))
	case ast.ScopeTypeIn:
		names = append(names, string(scope.Entity.ID))
	case ast.ScopeTypeInSet:
		for _, uid := range scope.Entities {
			names = append(names, string(uid.ID))
		}
	}
	return names
}

// installOnly reports whether a policy is only about what packages ask for, where
// resources may be patterns.
func installOnly(actions []string) bool { return len(actions) == 1 && actions[0] == actionInstall }

// entitiesOf are the entities that a policy names, each once and actions left out:
// those are in the schema.
func entitiesOf(p *ast.Policy) []cedar.EntityUID {
	all := append(scopeEntities(p.Principal), scopeEntities(p.Resource)...)
	inspect(p, func(n ast.IsNode) {
		if v, ok := n.(ast.NodeValue); ok {
			if uid, ok := v.Value.(cedar.EntityUID); ok && uid.Type != "Action" {
				all = append(all, uid)
			}
		}
	})
	var once []cedar.EntityUID
	for _, uid := range all {
		if !slices.Contains(once, uid) {
			once = append(once, uid)
		}
	}
	return once
}

func scopeEntities(scope ast.IsScopeNode) []cedar.EntityUID {
	switch s := scope.(type) {
	case ast.ScopeTypeEq:
		return []cedar.EntityUID{s.Entity}
	case ast.ScopeTypeIn:
		return []cedar.EntityUID{s.Entity}
	case ast.ScopeTypeIsIn:
		return []cedar.EntityUID{s.Entity}
	case ast.ScopeTypeInSet:
		return slices.Clone(s.Entities)
	}
	return nil
}

// inspect looks at every node of a policy's conditions.
func inspect(p *ast.Policy, look func(ast.IsNode)) {
	for _, condition := range p.Conditions {
		ast.Inspect(ast.NewNode(condition.Body), func(n ast.IsNode) bool {
			look(n)
			return true
		})
	}
}

// entityProblem says why no request has an entity, and what to write.
func entityProblem(uid cedar.EntityUID, actions []string) string {
	id := string(uid.ID)
	switch uid.Type {
	case "Skill":
		return skillProblem(id)
	case "Path":
		return pathProblem(id, installOnly(actions))
	case "Host":
		return hostProblem(id, installOnly(actions))
	case "Name":
		return nameProblem(id, actions)
	}
	return ""
}

var (
	skillForm   = lazyregexp.New(`^[a-z0-9]+(-[a-z0-9]+)*$`)
	sessionForm = lazyregexp.New(`^[a-z0-9-]+/[a-z0-9][a-z0-9._-]*$`)
	toolForm    = lazyregexp.New(`^[A-Za-z_][A-Za-z0-9_]*$`)
	secretForm  = lazyregexp.New(`^[a-z0-9][a-z0-9._-]*$`)
)

const maxSkillName = 64

func skillProblem(name string) string {
	if skillForm().MatchString(name) && len(name) <= maxSkillName {
		return ""
	}
	why := "the name of a skill is made of lower-case letters, digits and single hyphens"
	if before, _, found := strings.Cut(name, "@"); found && skillForm().MatchString(before) {
		return fmt.Sprintf("%s; write Skill::%q, and principal.version for its version", why, before)
	}
	return why + meant("Skill", strings.ToLower(name), func(s string) bool { return skillForm().MatchString(s) })
}

// meant offers an id that would be right.
func meant(entity, id string, right func(string) bool) string {
	if !right(id) {
		return ""
	}
	return fmt.Sprintf("; write %s::%q", entity, id)
}

func isPath(file string) bool {
	_, err := capability.Request{Action: capability.FSRead, Resource: file}.Canonical()
	return err == nil
}

// pathProblem judges a path. Only a package asks for patterns of paths.
func pathProblem(file string, install bool) string {
	if install {
		return patternProblem(capability.FSRead, file)
	}
	tidy := path.Clean(strings.ReplaceAll(file, `\`, "/"))
	fix := meant("Path", tidy, isPath)
	switch {
	case strings.Contains(file, "*"):
		return fmt.Sprintf("a path holds no wildcard; write `resource in Path::%q` for everything in a directory, or `context.path like %q`", fixedPart(file), file)
	case isPath(file):
		return ""
	case !strings.HasPrefix(file, "/"):
		return "a path is written whole, from /" + fix
	case len(file) > 1 && strings.HasSuffix(file, "/"):
		return `a path does not end in "/", a directory's neither` + fix
	case tidy != file:
		return `a path holds no empty, "." or ".." segment and no backslash` + fix
	}
	return "it holds a character that no path of a request has"
}

// fixedPart is the directory that a pattern of paths is about.
func fixedPart(pattern string) string {
	before, _, _ := strings.Cut(pattern, "*")
	return path.Clean("/" + before[:strings.LastIndexByte(before, '/')+1])
}

// patternProblem judges what a package can ask for.
func patternProblem(action capability.Action, pattern string) string {
	c, err := capability.Parse(string(action) + ":" + pattern)
	switch {
	case err != nil:
		return problemOf(err).Error()
	case c.Resource() != pattern:
		return fmt.Sprintf("it is asked for as %q", c.Resource())
	}
	return ""
}

// canonicalHost is the host of requests to an address without path, or "" when no
// request goes there.
func canonicalHost(address string) string {
	if addr, err := netip.ParseAddr(address); err == nil && addr.Is6() {
		address = "[" + address + "]"
	}
	if !strings.Contains(address, "://") {
		address = "https://" + address
	}
	e, err := capability.Request{Action: capability.HTTP, Resource: address}.Endpoint()
	if err != nil {
		return ""
	}
	return e.Host
}

// hostProblem judges a host. Only a package asks for patterns of hosts.
func hostProblem(host string, install bool) string {
	domain, wild := strings.CutPrefix(host, "*.")
	if canonicalHost(host) == host || install && wild && canonicalHost(domain) == domain {
		return ""
	}
	fix := hostMeant(host)
	switch {
	case wild && canonicalHost(domain) == domain:
		return fmt.Sprintf("a host holds no wildcard; write `resource in Host::%q` for a domain and the hosts in it", domain)
	case strings.Contains(host, "://"):
		return "a host has no scheme" + fix + "; the scheme is `context.scheme`"
	}
	if p, err := netip.ParsePrefix(host); err == nil {
		return fmt.Sprintf("a host is one address; write `context has address && context.address.isInRange(ip(%q))`", p.String())
	}
	return "a host is a name in lower-case ASCII or an address, without port, path, wildcard and dot at its end" + fix + portMeant(host)
}

func hostMeant(host string) string {
	scheme, rest, found := strings.Cut(host, "://")
	if !found {
		scheme, rest = "https", host
	}
	rest, _, _ = strings.Cut(rest, "/")
	name := canonicalHost(scheme + "://" + strings.Trim(strings.TrimPrefix(rest, "*"), "."))
	if name == "" {
		name = canonicalHost(strings.Trim(strings.ToLower(rest), "."))
	}
	return meant("Host", name, func(s string) bool { return s != "" })
}

// portMeant says where a port belongs that somebody wrote behind a host.
func portMeant(host string) string {
	if e, err := (capability.Request{Action: capability.HTTP, Resource: "https://" + host}).Endpoint(); err == nil && e.Host != host && strings.HasSuffix(host, fmt.Sprintf(":%d", e.Port)) {
		return fmt.Sprintf(" and `context.port == %d`", e.Port)
	}
	return ""
}

// nameProblem judges a name: it is enough that one of the actions can have it.
// Only a package asks for patterns of names.
func nameProblem(name string, actions []string) string {
	if (actions == nil || slices.Contains(actions, ActionCall)) && toolForm().MatchString(name) {
		return ""
	}
	if len(actions) == 1 && actions[0] == ActionCall {
		return toolProblem(name)
	}
	named := slices.DeleteFunc(slices.Clone(actions), func(a string) bool { return !hasName(a) })
	switch {
	case actions == nil:
		named = withNames()
	case len(named) == 0 && name == "":
		return ""
	case len(named) == 0:
		return patternProblem(capability.Model, name)
	}
	problem := ""
	for _, a := range named {
		if problem = nameProblemOf(name, capability.Action(a)); problem == "" {
			return ""
		}
	}
	return problem
}

func toolProblem(name string) string {
	if strings.Contains(name, "*") {
		return starInName(name)
	}
	return "it is not the name of a tool"
}

// hasName reports whether the resource of an action is a Name.
func hasName(action string) bool {
	shape := capability.Action(action).Shape()
	return action != actionInstall && (shape == capability.ShapeName || shape == capability.ShapeNone)
}

// withNames are the actions whose resource is a Name: those that have none, which is
// the empty name, and then those that have one, whose problem says more.
func withNames() []string {
	var all []string
	for _, shape := range []capability.Shape{capability.ShapeNone, capability.ShapeName} {
		for _, a := range capability.ActionsWith(shape) {
			all = append(all, string(a))
		}
	}
	return all
}

// nameProblemOf judges a name for one action of a call. Of an action that is not
// named here each name is right that a request can have.
func nameProblemOf(name string, action capability.Action) string {
	switch action {
	case capability.Skill:
		return formProblem(name, skillForm, "the name of a skill is made of lower-case letters, digits and single hyphens")
	case capability.Session:
		return formProblem(name, sessionForm, "a session is named SKILL/NAME, in lower case")
	case capability.Secret:
		return formProblem(name, secretForm, "the name of a secret is made of lower-case letters, digits and . _ -")
	}
	switch {
	case action.Shape() == capability.ShapeName:
		return namedProblem(action, name)
	case name == "":
		return ""
	}
	return fmt.Sprintf("%s has no name; write Name::\"\", or leave the resource open", action)
}

func namedProblem(action capability.Action, name string) string {
	if _, err := (capability.Request{Action: action, Resource: name}).Canonical(); err == nil {
		return ""
	}
	if strings.Contains(name, "*") {
		return starInName(name)
	}
	return "it is not a name that a request has"
}

func formProblem(name string, form func() *regexp.Regexp, want string) string {
	if form().MatchString(name) {
		return ""
	}
	if strings.Contains(name, "*") {
		return starInName(name)
	}
	return want + meant("Name", strings.ToLower(name), form().MatchString)
}

func starInName(name string) string {
	return fmt.Sprintf("a name holds no wildcard; write `context.name like %q`", name)
}
