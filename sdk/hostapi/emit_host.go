package hostapi

import (
	"go/format"
	"strings"
)

// emitHost writes what the host knows of the functions: their names, what they are good for, and what each takes a
// grant for.
func emitHost(a *Interface) ([]byte, error) {
	t := &text{}
	t.line("%s\npackage guestapi\n", goHeader)
	t.line("// Module is the name guests import the functions from.\nconst Module = %q\n", a.Module)
	t.line("// transfer are the functions that move the input, the output and the responses.\nvar transfer = [...]string{")
	for _, f := range a.Transfer {
		t.line("%q,", f.Name)
	}
	t.line("}\n\n// functions are those that reach beyond the guest.\nvar functions = [...]Function{")
	for _, f := range a.Functions {
		action, resource := f.grant()
		t.line("{Name: %q, Words: %q, Action: %q, Resource: %q},", f.Name, f.Words, action, resource)
	}
	t.line("}")
	return format.Source(t.bytes())
}

// grant splits the capability that a function takes into its action and the request field that is the whole
// resource; empty when there is none, or it is made of several.
func (f Function) grant() (action, resource string) {
	action, resource, _ = strings.Cut(f.Grant, ":")
	field, open := strings.CutPrefix(resource, "{")
	field, closed := strings.CutSuffix(field, "}")
	if !open || !closed || strings.ContainsAny(field, "{}") {
		return action, ""
	}
	return action, field
}
