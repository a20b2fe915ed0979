package runner

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"

	"github.com/skillet-run/skillet/host/base/fault"

	"github.com/skillet-run/skillet/host/base/task"
	"github.com/skillet-run/skillet/policies/capability"
)

// Bounds are what a call and the calls it makes keep to, whatever was granted.
// They only take away: nothing is allowed by them.
type Bounds struct {
	// Roots are absolute directories, outside of which no file is opened.
	Roots []string
	// Offline blocks all requests to the network.
	Offline bool
	// AskFrom is the risk from which on a call that is made from within another is not
	// made, because a person has to agree first; empty for none. The result of the outer
	// call says which one it was.
	AskFrom task.Risk
}

// maxAskedInput bounds how much of the input of a call is kept that was not made.
const maxAskedInput = 64 << 10

// bind applies the bounds of a run, once its tool is known. A tool that says that it
// changes nothing writes no file and sends only requests that change nothing. A call that
// a skill makes, of its own accord or as its fallback, may have to wait for a person.
func (r *Runner) bind(a *run) error {
	b := a.call.Bounds
	if b == nil {
		return nil
	}
	a.granted = a.bounded(a.granted)
	risk := task.RiskOf(a.tool.ReadOnly, a.tool.Idempotent)
	if a.part != asCall && a.part != asFallback || !b.AskFrom.Asks(risk) {
		return nil
	}
	call := task.AskedCall{Skill: a.manifest.Name, Tool: a.tool.Name, Risk: risk}
	if len(a.call.Input) <= maxAskedInput && json.Valid(a.call.Input) {
		call.Input = a.call.Input
	}
	for at := a.from; at != nil; at = at.from {
		at.asks(call)
	}
	return fault.Errorf(fault.KindApproval, "a person has to agree to %s:%s: %s", call.Skill, call.Tool, risk.Reason())
}

// asks notes a call that was not made, once.
func (a *run) asks(call task.AskedCall) {
	known := slices.ContainsFunc(a.result.Asked, func(c task.AskedCall) bool {
		return c.Skill == call.Skill && c.Tool == call.Tool && bytes.Equal(c.Input, call.Input)
	})
	if !known && len(a.result.Asked) < maxCalls {
		a.result.Asked = append(a.result.Asked, call)
	}
}

// safeMethods are the methods of HTTP that change nothing at the server (RFC 9110, section
// 9.2.1, and those that are defined as such elsewhere).
func safeMethods() []string { return []string{"GET", "HEAD", "OPTIONS", "PROPFIND", "QUERY", "REPORT"} }

// readOnly is what a set allows that changes neither files nor anything at a server.
func readOnly(s capability.Set) capability.Set {
	var all []capability.Capability
	for _, c := range s.All() {
		switch c.Action() {
		case capability.FSWrite:
		case capability.HTTP:
			if c, ok := safeHTTP(c); ok {
				all = append(all, c)
			}
		default:
			all = append(all, c)
		}
	}
	return capability.NewSet(all...)
}

// safeHTTP is a capability for HTTP without methods that change something; false when it
// has no others.
func safeHTTP(c capability.Capability) (capability.Capability, bool) {
	methods, address, _ := strings.Cut(c.Resource(), " ")
	safe := safeMethods()
	if methods != "*" {
		safe = slices.DeleteFunc(safe, func(m string) bool { return !slices.Contains(strings.Split(methods, ","), m) })
	}
	if len(safe) == 0 {
		return c, false
	}
	less, err := capability.Parse(string(capability.HTTP) + ":" + strings.Join(safe, ",") + " " + address)
	return less, err == nil
}

// beyond says why no grant helps a run with a request, and what does; empty for one within
// its bounds.
func (a *run) beyond(r capability.Request) (why string, hint fault.Hint) {
	says := a.call.Bounds != nil && a.tool.ReadOnly
	switch {
	case says && r.Action == capability.FSWrite:
		return "the tool says that it changes nothing, so it writes no file in a task, whatever was granted", hint
	case says && r.Action == capability.HTTP && !slices.Contains(safeMethods(), r.Method):
		return "the tool says that it changes nothing, so it sends no " + r.Method + " in a task, whatever was granted", hint
	}
	return a.call.Bounds.beyond(r)
}

// cut is what is left of a set within the bounds; a nil b takes nothing away.
func (b *Bounds) cut(s capability.Set) capability.Set {
	if b == nil {
		return s
	}
	var files, rest []capability.Capability
	for _, c := range s.All() {
		switch c.Action().Shape() {
		case capability.ShapePath:
			files = append(files, c)
		case capability.ShapeURL:
			if !b.Offline {
				rest = append(rest, c)
			}
		default:
			rest = append(rest, c)
		}
	}
	return capability.NewSet(files...).Intersect(b.files()).Union(capability.NewSet(rest...))
}

// files are the roots as capabilities. One whose name would be a pattern is left out.
func (b *Bounds) files() capability.Set {
	var all []capability.Capability
	for _, root := range b.Roots {
		if strings.ContainsAny(root, "*?[") {
			continue
		}
		for _, action := range capability.ActionsWith(capability.ShapePath) {
			c, err := capability.Parse(string(action) + ":" + strings.TrimSuffix(filepath.ToSlash(filepath.Clean(root)), "/") + "/**")
			if err == nil {
				all = append(all, c)
			}
		}
	}
	return capability.NewSet(all...)
}

// beyond says why no grant helps with a request, and what does; empty for one within the
// bounds.
func (b *Bounds) beyond(r capability.Request) (why string, hint fault.Hint) {
	switch {
	case b == nil:
	case r.Action.Shape() == capability.ShapeURL && b.Offline:
		return "this call sends no requests, whatever was granted: its task is offline", hint
	case r.Action.Shape() == capability.ShapePath:
		if _, within := b.files().Allows(r); !within {
			return "this call touches no file outside of " + b.places() + ", whatever was granted", b.withDirectory()
		}
	}
	return "", hint
}

// withDirectory says how a call gets a directory in which it may touch files, and in which
// relative paths begin; nothing of a task that has one. A nil b is of a call in no task.
func (b *Bounds) withDirectory() fault.Hint {
	switch {
	case b == nil:
		return fault.Hintf("relative paths begin in the workspace: name one with %s", fault.SetField(fault.FieldWorkspace))
	case len(b.Roots) == 0:
		return fault.Hintf("name a directory for the task with %s; relative paths begin in the first", fault.SetField(fault.FieldDir))
	}
	return fault.Hint{}
}

func (b *Bounds) places() string {
	if len(b.Roots) == 0 {
		return "its task, which has no directory"
	}
	return strings.Join(b.Roots, ", ")
}
