package manifests

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/skillet-run/skillet/policies/capability"
)

// A RequestedCapability is one capability a skill asks for.
type RequestedCapability struct {
	// Capability is what it asks for.
	Capability capability.Capability
	// Reason is why, in the words of its author; it may be empty.
	Reason string
	// Field is the field of the manifest that asks, such as
	// "security.permissions.file_read[0]".
	Field string
	// Inject is where the host would put the secret that is asked for; nil when
	// nowhere, and for everything that is not a secret.
	Inject *Injection
}

// Requests returns the capabilities m asks for, in the order of the fields of
// [Permissions]. workspace is the absolute directory, with slashes, against
// which relative paths are resolved; it may be empty when there are none. The
// error wraps [Errors].
func (m *Manifest) Requests(workspace string) ([]RequestedCapability, error) {
	asked, errs := m.requests(workspace)
	if len(errs) > 0 {
		return nil, fmt.Errorf("read the permissions of %s: %w", m.Name, errs.locate(m.lines))
	}
	return asked, nil
}

func (m *Manifest) requests(workspace string) ([]RequestedCapability, Errors) {
	var asked []RequestedCapability
	var errs Errors
	for _, w := range m.requestedPermissions() {
		c, p := w.capability(workspace)
		if p != nil {
			p.Path = w.field
			errs = append(errs, *p)
			continue
		}
		if w.implied && slices.ContainsFunc(asked, func(a RequestedCapability) bool { return a.Capability.Covers(c) }) {
			continue
		}
		asked = append(asked, RequestedCapability{c, w.reason, w.field, w.inject})
	}
	return asked, errs
}

// AsksFor reports whether m speaks of an action in its permissions. An empty list
// does: it says that the skill works on whatever a person grants it.
func (m *Manifest) AsksFor(a capability.Action) bool {
	return a == capability.FSRead && m.ContextFiles != nil || m.asksByItself(a) || m.Security.Permissions.AsksFor(a)
}

// asksByItself reports whether m asks for an action by what it is.
func (m *Manifest) asksByItself(a capability.Action) bool {
	return a == capability.Native && m.Type.IsPlugin() || slices.ContainsFunc(m.mcpPermissions(), func(w requestedPermission) bool { return w.action == a })
}

// AsksFor reports whether p speaks of an action, by its own field or by another one
// that shows that a skill may need it; see [capability.Kind].
func (p Permissions) AsksFor(a capability.Action) bool {
	k, known := a.Kind()
	return known && slices.ContainsFunc(p.sections(), func(s section) bool {
		return s.there && (s.field == k.Field || slices.Contains(k.AlsoIn, s.field))
	})
}

// A requestedPermission is an entry of the permissions before it is a capability.
type requestedPermission struct {
	action   capability.Action
	methods  []string // of http
	resource string
	reason   string
	field    string
	inject   *Injection // of secret
	implied  bool       // it need not be said again when something covers it
}

// requestedPermissions lists all entries of the permissions.
func (m *Manifest) requestedPermissions() []requestedPermission {
	var all []requestedPermission
	for _, s := range m.Security.Permissions.sections() {
		for _, w := range s.entries {
			w.action = capability.AskedIn(s.field)
			all = append(all, w)
		}
	}
	if m.Type.IsPlugin() {
		all = append(all, requestedPermission{action: capability.Native, reason: "a plugin is a program", field: "type"})
	}
	return slices.Concat(all, m.mcpPermissions(), m.contextPermissions())
}

// capability reads w as a capability.
func (w requestedPermission) capability(workspace string) (capability.Capability, *Problem) {
	text := string(w.action)
	switch w.action.Shape() {
	case capability.ShapePath:
		at, p := resolvePath(w.resource, workspace)
		if p != nil {
			return capability.Capability{}, p
		}
		text += ":" + at
	case capability.ShapeURL:
		text += ":" + httpText(w.methods, w.resource)
	default:
		if w.resource != "" {
			text += ":" + w.resource
		}
	}
	c, err := capability.Parse(text)
	if err != nil {
		return c, capabilityProblem(err)
	}
	return c, nil
}

// httpText is the resource of an http capability.
func httpText(methods []string, address string) string {
	if len(methods) == 0 {
		return "GET " + address
	}
	return strings.Join(methods, ",") + " " + address
}

func capabilityProblem(err error) *Problem {
	var parse *capability.ParseError
	if !errors.As(err, &parse) {
		return &Problem{Message: err.Error()}
	}
	p := &Problem{Message: parse.Message}
	if _, resource, ok := strings.Cut(parse.Suggestion, ":"); ok {
		_, address, http := strings.Cut(resource, " ")
		if http {
			resource = address
		}
		p.Suggestion = fmt.Sprintf("did you mean %q?", resource)
	}
	return p
}

// resolvePath makes an absolute pattern of a path of the manifest: a relative
// one lies in the workspace, and one whose last name has no glob means the file
// or the directory with everything below it.
func resolvePath(text, workspace string) (string, *Problem) {
	names := strings.Split(text, "/")
	switch {
	case strings.HasPrefix(text, "~"):
		return "", &Problem{Message: fmt.Sprintf("%q starts with ~, which has no meaning here", text), Suggestion: "write an absolute path, or one relative to the workspace"}
	case slices.Contains(names, ".."):
		return "", &Problem{Message: fmt.Sprintf("%q goes up with ..", text), Suggestion: "write an absolute path, or one that stays in the workspace"}
	case strings.Contains(text, `\`):
		return "", &Problem{Message: fmt.Sprintf("%q has a backslash", text), Suggestion: "write / between names"}
	case path.IsAbs(text):
		return withBelow(path.Clean(text)), nil
	case !path.IsAbs(workspace):
		return "", &Problem{Message: fmt.Sprintf("%q is relative and no workspace is set", text), Suggestion: "give a workspace, or write an absolute path"}
	case strings.Contains(workspace, "*"):
		return "", &Problem{Message: fmt.Sprintf("%q is relative to the workspace %q, whose name has a *", text, workspace), Suggestion: "use another workspace, or write an absolute path"}
	}
	return withBelow(path.Join(workspace, text)), nil
}

func withBelow(pattern string) string {
	if strings.Contains(path.Base(pattern), "*") {
		return pattern
	}
	return path.Join(pattern, "**")
}
