package hostapi

import (
	"fmt"
	"strings"
)

// emitRust writes words, limits, requests, responses, functions and imports.
func emitRust(a *Interface) ([]byte, error) {
	t := &text{}
	t.line("//! Generated from sdk/hostapi/interface.json by `make generate`: what the host offers.\n")
	t.line("use crate::{request, Json, Map, Result};")
	t.line("use alloc::format;\nuse alloc::string::String;\nuse alloc::vec::Vec;\n")
	a.rustChoice(t, "Kind", "What sort of error it is.", a.Kinds, "failed")
	for _, e := range a.Enums {
		a.rustChoice(t, pascal(e.Name, nil), "Says "+e.Doc+".", e.Values, a.defaultOf(e))
	}
	for _, l := range a.Limits {
		t.comment("///", "%s, in %s", sentence(l.Doc), l.Unit)
		t.line("pub const %s: i64 = %d;\n", strings.ToUpper(l.Name), l.Value)
	}
	for _, r := range a.Records {
		a.rustAnswer(t, pascal(r.Name, nil), sentence(r.Doc), r.Fields, "")
	}
	for _, f := range a.Functions {
		a.rustFunction(t, f)
	}
	a.rustImports(t)
	return t.bytes(), nil
}

// defaultOf returns the word that a field of an enum has when it is left out.
func (a *Interface) defaultOf(e Enum) string {
	for _, f := range a.Functions {
		for _, x := range f.Request {
			if x.Type.Base == Base(e.Name) && x.Default != "" {
				return x.Default
			}
		}
	}
	return e.Values[0].Name
}

// rustChoice writes an enum; the default comes first.
func (a *Interface) rustChoice(t *text, name, doc string, values []Value, first string) {
	t.line("choice! {")
	t.comment("    ///", "%s", doc)
	t.line("    pub enum %s {", name)
	for _, usual := range []bool{true, false} {
		for _, v := range values {
			if (v.Name == first) == usual {
				t.comment("        ///", "%s", sentence(v.Doc))
				t.line("        %s = %q,", pascal(v.Name, nil), v.Name)
			}
		}
	}
	t.line("    }\n}\n")
}

// rustType returns the type of a field that is owned.
func (a *Interface) rustType(f Field) string {
	typ := map[Base]string{String: "String", Bool: "bool", Int: "i64", Uint: "u64", Float: "f64", Time: "String"}[f.Type.Base]
	if typ == "" {
		typ = pascal(string(f.Type.Base), nil)
	}
	if f.Type.List {
		typ = "Vec<" + typ + ">"
	}
	if f.Type.Map {
		typ = "Map<" + typ + ">"
	}
	if f.Nullable || f.Optional && f.Type.Base == Time {
		typ = "Option<" + typ + ">"
	}
	return typ
}

// borrowed says that a field of a request is a text that the caller keeps.
func (f Field) borrowed() bool {
	return (f.Type.Base == String || f.Type.Base == Time) && !f.Type.List && !f.Type.Map && !f.Nullable
}

func (f Field) rustDoc() string {
	doc := sentence(f.Doc)
	if f.Unit != "" {
		doc = strings.TrimSuffix(doc, ".") + ", in " + f.Unit + "."
	}
	return doc
}

// rustRequest writes the struct of a request, and how it becomes JSON.
func (a *Interface) rustRequest(t *text, f Function) (name string) {
	name = pascal(f.Name, nil) + "Request"
	life := ""
	for _, x := range f.Request {
		if x.borrowed() {
			life = "<'a>"
		}
	}
	t.comment("///", "What [`%s`] takes.", rustName(f))
	t.line("#[derive(Clone, Debug, Default)]\npub struct %s%s {", name, life)
	for _, x := range f.Request {
		typ := a.rustType(x)
		if x.borrowed() {
			typ = "&'a str"
		}
		t.comment("    ///", "%s", x.rustDoc())
		t.line("    pub %s: %s,", x.Name, typ)
	}
	t.line("}\n")
	anon := strings.ReplaceAll(life, "'a", "'_")
	t.line("impl %s%s {\n    fn json(&self) -> String {\n        let mut out = String::new();", name, anon)
	for i, x := range f.Request {
		a.rustMember(t, x, i == 0)
	}
	t.line("        out.push('}');\n        out\n    }\n}\n")
	return name + anon
}

// rustMember writes the code that appends a member.
func (a *Interface) rustMember(t *text, x Field, first bool) {
	before := map[bool]string{true: "{", false: ","}[first]
	value := "self." + x.Name + ".write(&mut out);"
	if x.borrowed() {
		value = "crate::json::string(&mut out, self." + x.Name + ");"
		if x.Default != "" {
			value = fmt.Sprintf("crate::json::string(&mut out, if self.%s.is_empty() { %q } else { self.%s });", x.Name, x.Default, x.Name)
		}
	}
	if x.Nullable {
		t.line("        if let Some(value) = &self.%s {\n            out.push_str(%q);\n            value.write(&mut out);\n        }", x.Name, before+`"`+x.Name+`":`)
		return
	}
	t.line("        out.push_str(%q);\n        %s", before+`"`+x.Name+`":`, value)
}

// rustAnswer writes a struct that is read from JSON, with a body or without.
func (a *Interface) rustAnswer(t *text, name, doc string, fields []Field, body string) {
	t.line("object! {")
	t.comment("    ///", "%s", doc)
	t.line("    pub struct %s {", name)
	for _, x := range fields {
		t.comment("        ///", "%s", x.rustDoc())
		t.line("        pub %s: %s,", x.Name, a.rustType(x))
	}
	if body != "" {
		t.comment("        ///", "%s", sentence(body))
		t.line("        pub body: crate::Bytes,")
	}
	t.line("    }\n}\n")
}

// rustName is the name of a function; log is taken by the shorter form of it.
func rustName(f Function) string {
	if f.Name == "log" {
		return "log_line"
	}
	return f.Name
}

// rustFunction writes one function with its request and response.
func (a *Interface) rustFunction(t *text, f Function) {
	ask := a.rustRequest(t, f)
	result := "()"
	if len(f.Response) > 0 || f.ResponseBody != "" {
		result = pascal(f.Name, nil) + "Response"
		a.rustAnswer(t, result, "What [`"+rustName(f)+"`] answers.", f.Response, f.ResponseBody)
	}
	var errors []string
	for _, e := range f.Errors {
		errors = append(errors, "[`Kind::"+pascal(e.Kind, nil)+"`]")
	}
	t.comment("///", "%s %s Errors: %s.", sentence(f.Doc), needs(f), strings.Join(errors, ", "))
	param, body := "", "&[]"
	if f.RequestBody != "" {
		t.comment("///", "The body is %s.", f.RequestBody)
		param, body = ", body: &[u8]", "body"
	}
	t.line("pub fn %s(ask: %s%s) -> Result<%s> {", rustName(f), ask, param, result)
	t.line("    let subject = %s;", rustSubject(f))
	call := fmt.Sprintf("request(imports::%s, &subject, &ask.json(), %s)", f.Name, body)
	switch {
	case result == "()":
		t.line("    %s.map(|_| ())\n}\n", call)
	case f.ResponseBody == "":
		t.line("    let (answer, _) = %s?;\n    %s::read(&answer, \"\").map_err(|e| crate::malformed(&subject, e))\n}\n", call, result)
	default:
		t.line("    let (answer, body) = %s?;\n    let mut read = %s::read(&answer, \"\").map_err(|e| crate::malformed(&subject, e))?;", call, result)
		t.line("    read.body = crate::Bytes(body);\n    Ok(read)\n}\n")
	}
}

// rustSubject writes the expression that errors begin with.
func rustSubject(f Function) string {
	format, args := "", ""
	for _, p := range f.subject() {
		format += p.text
		if p.field != "" {
			value := "ask." + p.field
			for _, x := range f.Request {
				if x.Name == p.field && x.Default != "" {
					value = fmt.Sprintf("if ask.%s.is_empty() { %q } else { ask.%s }", x.Name, x.Default, x.Name)
				}
			}
			format, args = format+"{}", args+", "+value
		}
	}
	if args == "" {
		return fmt.Sprintf("String::from(%q)", format)
	}
	return fmt.Sprintf("format!(%q%s)", format, args)
}

// rustImports declares the host functions, and what stands for them elsewhere.
func (a *Interface) rustImports(t *text) {
	t.line("#[cfg(target_arch = \"wasm32\")]\npub(crate) mod imports {\n    #[link(wasm_import_module = %q)]\n    extern \"C\" {", a.Module)
	for _, f := range a.Transfer {
		var params []string
		for _, p := range f.Params {
			typ := map[string]string{"pointer": "*const u8", "length": "usize", "i64": "i64"}[p.Type]
			if p.Type == "pointer" && strings.HasSuffix(f.Name, "_read") {
				typ = "*mut u8"
			}
			params = append(params, p.Name+": "+typ)
		}
		result := ""
		if f.Result != "" {
			result = " -> " + f.Result
		}
		t.line("        pub fn %s(%s)%s;", f.Name, strings.Join(params, ", "), result)
	}
	const shape = "(meta: *const u8, meta_length: usize, body: *const u8, body_length: usize) -> i64"
	for _, f := range a.Functions {
		t.line("        pub fn %s%s;", f.Name, shape)
	}
	t.line("    }\n}\n\n#[cfg(not(target_arch = \"wasm32\"))]\npub(crate) mod imports {")
	for _, f := range a.Functions {
		t.line("    pub unsafe extern \"C\" fn %s(_: *const u8, _: usize, _: *const u8, _: usize) -> i64 {\n        0\n    }", f.Name)
	}
	t.line("}")
}
