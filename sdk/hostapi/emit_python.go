package hostapi

import (
	"fmt"
	"strings"
)

// pyType returns the type of a field in Python.
func (a *Interface) pyType(f Field) string {
	typ := map[Base]string{String: "str", Bool: "bool", Int: "int", Uint: "int", Float: "float", Time: "str"}[f.Type.Base]
	if typ == "" {
		typ = pascal(string(f.Type.Base), nil)
	}
	if f.Type.List {
		typ = "list[" + typ + "]"
	}
	if f.Type.Map {
		typ = "dict[str, " + typ + "]"
	}
	return typ
}

// pyZero is the value that stands for a member that is left out.
func (a *Interface) pyZero(f Field) string {
	switch {
	case f.Default != "":
		return fmt.Sprintf("%q", f.Default)
	case f.Type.Map:
		return "{}"
	case f.Type.List:
		return "[]"
	case f.Nullable, f.Type.Base == Time:
		return "None"
	}
	return map[Base]string{String: `""`, Bool: "False", Int: "0", Uint: "0", Float: "0.0"}[f.Type.Base]
}

// emitPython writes the functions, limits and kinds in Python.
func emitPython(a *Interface) ([]byte, error) {
	t := &text{}
	t.line("# Generated from sdk/hostapi/interface.json by `make generate`: what the host offers. host.pyi explains it.")
	t.line("from collections import namedtuple\nfrom ._request import request\n")
	t.line("KINDS = (%s)\n", quotedWords(a.Kinds))
	for _, l := range a.Limits {
		t.line("%s = %d", strings.ToUpper(l.Name), l.Value)
	}
	for _, r := range a.Records {
		a.pyTuple(t, pascal(r.Name, nil), r.Fields, "")
		name := "_" + r.Name
		t.line("\n\ndef %s(meta):", name)
		t.line("    return %s(%s)", pascal(r.Name, nil), a.pyAnswer(r.Fields, ""))
	}
	for _, f := range a.Functions {
		if f.answers() {
			a.pyTuple(t, pascal(f.Name, nil)+"Response", f.Response, f.ResponseBody)
		}
		a.pyFunction(t, f)
	}
	return t.bytes(), nil
}

// answers says whether there is anything in a function's answer.
func (f Function) answers() bool { return len(f.Response) > 0 || f.ResponseBody != "" }

// pyTuple writes the class of what is answered.
func (a *Interface) pyTuple(t *text, name string, fields []Field, body string) {
	var all []string
	for _, x := range fields {
		all = append(all, fmt.Sprintf("%q", x.Name))
	}
	if body != "" {
		all = append(all, `"body"`)
	}
	t.line("\n\n%s = namedtuple(%q, [%s])", name, name, strings.Join(all, ", "))
}

// pyParameters are those of a function: what it needs, the content, and what may be left out.
func (a *Interface) pyParameters(f Function, types bool) string {
	var needed, optional []string
	for _, x := range f.Request {
		typ, zero := "", a.pyZero(x)
		if x.Type.Map {
			zero = "None"
		}
		if types {
			typ = ": " + a.pyType(x)
			if zero == "None" {
				typ += " | None"
			}
			zero = " = " + zero
		} else {
			zero = "=" + zero
		}
		if x.Optional {
			optional = append(optional, x.Name+typ+zero)
		} else {
			needed = append(needed, x.Name+typ)
		}
	}
	if f.RequestBody != "" {
		needed = append(needed, map[bool]string{true: `content: Content = b""`, false: `content=b""`}[types])
	}
	return strings.Join(append(needed, optional...), ", ")
}

// pyFunction writes one function.
func (a *Interface) pyFunction(t *text, f Function) {
	t.line("\n\ndef %s(%s):", f.Name, a.pyParameters(f, false))
	var members []string
	for _, x := range f.Request {
		switch {
		case x.Nullable:
		case x.Default != "" || x.Type.Map:
			members = append(members, fmt.Sprintf("%q: %s or %s", x.Name, x.Name, a.pyZero(x)))
		default:
			members = append(members, fmt.Sprintf("%q: %s", x.Name, x.Name))
		}
	}
	t.line("    ask = {%s}", strings.Join(members, ", "))
	for _, x := range f.Request {
		if x.Nullable {
			t.line("    if %s is not None:\n        ask[%q] = %s", x.Name, x.Name, x.Name)
		}
	}
	content := ""
	if f.RequestBody != "" {
		content = ", content"
	}
	call := fmt.Sprintf("request(%q, %s, ask%s)", f.Name, pySubject(f), content)
	if !f.answers() {
		t.line("    %s", call)
		return
	}
	body, answer := "_", ""
	if f.ResponseBody != "" {
		body, answer = "body", "body"
	}
	meta := "meta"
	if len(f.Response) == 0 {
		meta = "_"
	}
	t.line("    %s, %s = %s", meta, body, call)
	t.line("    return %sResponse(%s)", pascal(f.Name, nil), a.pyAnswer(f.Response, answer))
}

// pySubject is the expression that errors begin with.
func pySubject(f Function) string {
	out := ""
	for _, p := range f.subject() {
		out += p.text
		if p.field != "" {
			out += "{ask['" + p.field + "']}"
		}
	}
	if strings.Contains(out, "{") {
		return `f"` + out + `"`
	}
	return `"` + out + `"`
}

// pyAnswer lists the members of what is answered. What the host leaves out is what it means.
func (a *Interface) pyAnswer(fields []Field, body string) string {
	var all []string
	for _, x := range fields {
		value := fmt.Sprintf("meta.get(%q)", x.Name)
		if zero := a.pyZero(x); zero != "None" {
			value = fmt.Sprintf("meta.get(%q, %s)", x.Name, zero)
		}
		if _, record := a.Record(x.Type.Base); record && x.Type.List {
			value = fmt.Sprintf("[_%s(e) for e in %s]", x.Type.Base, value)
		}
		all = append(all, value)
	}
	if body != "" {
		all = append(all, body)
	}
	return strings.Join(all, ", ")
}

// emitPythonTypes writes the stubs for type checkers and editors.
func emitPythonTypes(a *Interface) ([]byte, error) {
	t := &text{}
	t.line("# Generated from sdk/hostapi/interface.json by `make generate`: what the host offers.")
	t.line("from typing import Literal, NamedTuple\n")
	t.line("# What is sent: text goes as UTF-8.\nContent = str | bytes | bytearray | memoryview | None\n")
	pyChoice(t, "Kind", "what sort of error it is", a.Kinds)
	for _, e := range a.Enums {
		pyChoice(t, pascal(e.Name, nil), e.Doc, e.Values)
	}
	t.line("KINDS: tuple[Kind, ...]\n")
	for _, l := range a.Limits {
		t.comment("#", "%s", sentence(l.Doc+", in "+l.Unit))
		t.line("%s: int", strings.ToUpper(l.Name))
	}
	for _, r := range a.Records {
		a.pyClass(t, pascal(r.Name, nil), sentence(r.Doc), r.Fields, "")
	}
	for _, f := range a.Functions {
		a.pyDeclaration(t, f)
	}
	return t.bytes(), nil
}

// pyChoice writes a type of a few words.
func pyChoice(t *text, name, doc string, values []Value) {
	t.line("# %s says %s:", name, doc)
	for _, v := range values {
		t.comment("#", "- %s: %s", v.Name, v.Doc)
	}
	t.line("%s = Literal[%s]\n", name, quotedWords(values))
}

// pyClass writes the type of what is answered.
func (a *Interface) pyClass(t *text, name, doc string, fields []Field, body string) {
	t.line("\nclass %s(NamedTuple):\n    \"\"\"%s\"\"\"\n", name, doc)
	for _, f := range fields {
		t.comment("    #", "%s", f.doc())
		typ := a.pyType(f)
		if f.Optional && f.Type.Base == Time {
			typ += " | None"
		}
		t.line("    %s: %s", f.Name, typ)
	}
	if body != "" {
		t.comment("    #", "%s", sentence(body))
		t.line("    body: bytes")
	}
}

// pyDeclaration declares one function.
func (a *Interface) pyDeclaration(t *text, f Function) {
	result := "None"
	if f.answers() {
		result = pascal(f.Name, nil) + "Response"
		a.pyClass(t, result, "What "+f.Name+" answers.", f.Response, f.ResponseBody)
	}
	t.line("\ndef %s(%s) -> %s:", f.Name, a.pyParameters(f, true), result)
	t.line("    \"\"\"%s", sentence(f.Doc))
	t.line("")
	t.comment("   ", "%s Errors: %s.", needs(f), f.errorKinds())
	for _, x := range f.Request {
		t.comment("   ", "%s: %s", x.Name, x.doc())
	}
	if f.RequestBody != "" {
		t.comment("   ", "content: %s", sentence(f.RequestBody))
	}
	t.line("    \"\"\"")
}
