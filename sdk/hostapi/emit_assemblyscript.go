package hostapi

import (
	"fmt"
	"strings"
)

// emitAssemblyScript writes imports, words, limits, requests, responses and functions.
func emitAssemblyScript(a *Interface) ([]byte, error) {
	t := &text{}
	t.line("// Generated from sdk/hostapi/interface.json by `make generate`: what the host offers.")
	t.line("import { Reader, Writer } from \"./json\";\nimport { answerTo, malformed } from \"./request\";")
	t.line("import { done, failed, Failure, Result, Some } from \"./result\";\n")
	a.asImports(t)
	asChoice(t, "Kind", "what sort of error it is", a.Kinds, "failed")
	for _, e := range a.Enums {
		asChoice(t, pascal(e.Name, nil), e.Doc, e.Values, "")
	}
	for _, l := range a.Limits {
		jsDoc(t, "", "%s", sentence(l.Doc+", in "+l.Unit))
		t.line("export const %s: i32 = %d;", strings.ToUpper(l.Name), l.Value)
	}
	t.line("")
	for _, r := range a.Records {
		a.asResponse(t, pascal(r.Name, nil), sentence(r.Doc), r.Fields, "")
	}
	for _, f := range a.Functions {
		a.asFunction(t, f)
	}
	return t.bytes(), nil
}

// asImports declares the host functions.
func (a *Interface) asImports(t *text) {
	types := map[string]string{"pointer": "usize", "length": "i32", "i64": "i64", "i32": "i32", "": "void"}
	for _, f := range a.Transfer {
		var params []string
		for _, p := range f.Params {
			params = append(params, camel(p.Name, nil)+": "+types[p.Type])
		}
		jsDoc(t, "", "%s", sentence(f.Doc))
		t.line("// @ts-ignore: decorator\n@external(%q, %q)", a.Module, f.Name)
		t.line("export declare function %s(%s): %s;\n", f.Name, strings.Join(params, ", "), types[f.Result])
	}
	for _, f := range a.Functions {
		t.line("// @ts-ignore: decorator\n@external(%q, %q)", a.Module, f.Name)
		t.line("declare function host_%s(meta: usize, metaLength: i32, body: usize, bodyLength: i32): i64;\n", f.Name)
	}
}

// asChoice writes an enum with the names of its values, and how they are found. other is what an unknown name is;
// without one it is -1.
func asChoice(t *text, name, doc string, values []Value, other string) {
	jsDoc(t, "", "Says %s.", doc)
	t.line("export enum %s {", name)
	for _, v := range values {
		jsDoc(t, "  ", "%s", sentence(v.Doc))
		t.line("  %s,", pascal(v.Name, nil))
	}
	t.line("}\n")
	low := strings.ToLower(name)
	jsDoc(t, "", "The name of a %s.", low)
	t.line("export function %sName(value: %s): string {\n  switch (value) {", low, name)
	for _, v := range values[:len(values)-1] {
		t.line("    case %s.%s: return %q;", name, pascal(v.Name, nil), v.Name)
	}
	t.line("    default: return %q;\n  }\n}\n", values[len(values)-1].Name)
	typ, unknown := "i32", "-1"
	if other != "" {
		typ, unknown = name, name+"."+pascal(other, nil)
	}
	jsDoc(t, "", "The %s with a name; for one that is unknown %s.", low, unknown)
	t.line("export function %sOf(name: string): %s {", low, typ)
	for _, v := range values {
		if v.Name != other {
			t.line("  if (name == %q) return %s.%s;", v.Name, name, pascal(v.Name, nil))
		}
	}
	t.line("  return %s;\n}\n", unknown)
}

// asType returns the type of a field, its value when it is left out, and the method that reads or writes it.
func (a *Interface) asType(f Field) (typ, value, method string) {
	if e, ok := a.Enum(f.Type.Base); ok {
		return pascal(e.Name, nil), pascal(e.Name, nil) + "." + pascal(f.Default, nil), "text"
	}
	if r, ok := a.Record(f.Type.Base); ok {
		return pascal(r.Name, nil) + "[]", "[]", "objects"
	}
	base := map[Base]string{String: "string", Bool: "bool", Int: "i64", Uint: "u64", Float: "f64", Time: "string"}[f.Type.Base]
	method = map[Base]string{String: "text", Bool: "flag", Int: "int", Uint: "uint", Float: "float", Time: "text"}[f.Type.Base]
	switch {
	case f.Type.Map && f.Type.List:
		return "Map<string, " + base + "[]>", "new Map<string, " + base + "[]>()", "lists"
	case f.Type.Map:
		return "Map<string, " + base + ">", "new Map<string, " + base + ">()", "map"
	case f.Type.List:
		return base + "[]", "[]", method + "s"
	case f.Nullable:
		return "Some<" + base + "> | null", "null", method
	case f.Optional && f.Type.Base == Time:
		return base + " | null", "null", "maybeText"
	}
	return base, map[string]string{"string": fmt.Sprintf("%q", f.Default), "bool": "false"}[base] + map[bool]string{true: "0"}[base != "string" && base != "bool"], method
}

// asRequest writes the class of a request, whose constructor takes what cannot be left out.
func (a *Interface) asRequest(t *text, name string, f Function) {
	jsDoc(t, "", "What {@link %s} takes.", jsName(f.Name))
	t.line("export class %s {", name)
	var needed []string
	for _, x := range f.Request {
		typ, value, _ := a.asType(x)
		if !x.Optional {
			needed = append(needed, "public "+camel(x.Name, nil)+": "+typ)
			continue
		}
		jsDoc(t, "  ", "%s", x.doc())
		t.line("  %s: %s = %s;", camel(x.Name, nil), typ, value)
	}
	for _, x := range f.Request {
		if !x.Optional {
			jsDoc(t, "  ", "%s: %s", camel(x.Name, nil), x.doc())
		}
	}
	t.line("  constructor(%s) {}\n}\n", strings.Join(needed, ", "))
}

// asResponse writes the class of what is answered, and how it is read.
func (a *Interface) asResponse(t *text, name, doc string, fields []Field, body string) {
	jsDoc(t, "", "%s", doc)
	t.line("export class %s {", name)
	for _, x := range fields {
		typ, value, _ := a.asType(x)
		jsDoc(t, "  ", "%s", x.doc())
		t.line("  %s: %s = %s;", camel(x.Name, nil), typ, value)
	}
	if body != "" {
		jsDoc(t, "  ", "%s", sentence(body))
		t.line("  body: Uint8Array = new Uint8Array(0);")
	}
	t.line("}\n")
	if len(fields) == 0 {
		return
	}
	t.line("function read%s(from: Reader): %s {\n  const to = new %s();", name, name, name)
	for _, x := range fields {
		_, _, method := a.asType(x)
		if r, ok := a.Record(x.Type.Base); ok {
			t.line("  const %s = from.objects(%q);", x.Name, x.Name)
			t.line("  for (let i = 0; i < %s.length; i++) to.%s.push(read%s(%s[i]));", x.Name, camel(x.Name, nil), pascal(r.Name, nil), x.Name)
			continue
		}
		t.line("  to.%s = from.%s(%q);", camel(x.Name, nil), method, x.Name)
	}
	t.line("  return to;\n}\n")
}

// asFunction writes one function with its request and response.
func (a *Interface) asFunction(t *text, f Function) {
	name := pascal(jsName(f.Name), nil)
	a.asRequest(t, name+"Request", f)
	result := "Failure | null"
	if f.answers() {
		a.asResponse(t, name+"Response", "What {@link "+jsName(f.Name)+"} answers.", f.Response, f.ResponseBody)
		result = "Result<" + name + "Response>"
	}
	content, param, body := "", "", "0, 0"
	if f.RequestBody != "" {
		content, param, body = " What is sent: "+f.RequestBody+".", ", content: Uint8Array", "content.dataStart, content.length"
	}
	jsDoc(t, "", "%s %s Errors: %s.%s", sentence(f.Doc), needs(f), f.errorKinds(), content)
	t.line("export function %s(ask: %sRequest%s): %s {\n  const json = new Writer();", jsName(f.Name), name, param, result)
	for _, x := range f.Request {
		a.asMember(t, x)
	}
	t.line("  const meta = json.finish(), subject = %s;", asSubject(f))
	t.line("  const answer = answerTo(subject, host_%s(meta.dataStart, meta.length, %s));", f.Name, body)
	if !f.answers() {
		t.line("  return answer.failure;\n}\n")
		return
	}
	t.line("  if (answer.failure !== null) return failed<%sResponse>(answer.failure!);", name)
	if len(f.Response) == 0 {
		t.line("  const to = new %sResponse();", name)
	} else {
		t.line("  const from = answer.meta!, to = read%sResponse(from);", name)
		t.line("  if (from.failure !== null) return failed<%sResponse>(malformed(subject, from.failure!.message));", name)
	}
	if f.ResponseBody != "" {
		t.line("  to.body = answer.body;")
	}
	t.line("  return done<%sResponse>(to);\n}\n", name)
}

// asMember writes the code that writes a member of a request.
func (a *Interface) asMember(t *text, x Field) {
	_, _, method := a.asType(x)
	value := "ask." + camel(x.Name, nil)
	_, enum := a.Enum(x.Type.Base)
	switch {
	case x.Nullable:
		t.line("  const %s = %s;\n  if (%s !== null) json.%s(%q, %s.value);", x.Name, value, x.Name, method, x.Name, x.Name)
		return
	case enum:
		value = string(x.Type.Base) + "Name(" + value + ")"
	case x.Default != "":
		t.line("  if (%s == \"\") %s = %q;", value, value, x.Default)
	}
	t.line("  json.%s(%q, %s);", method, x.Name, value)
}

// asSubject is the expression that errors begin with.
func asSubject(f Function) string {
	var all []string
	for _, p := range f.subject() {
		if p.text != "" {
			all = append(all, fmt.Sprintf("%q", p.text))
		}
		if p.field != "" {
			all = append(all, "ask."+camel(p.field, nil))
		}
	}
	return strings.Join(all, " + ")
}
