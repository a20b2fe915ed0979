package hostapi

import (
	"fmt"
	"strings"
)

// zigName is the name of a function; log is taken by the shorter form of it.
func zigName(name string) string {
	if name == "log" {
		return "logLine"
	}
	return camel(name, nil)
}

// zigWord is an identifier, in quotes where it is a keyword.
func zigWord(name string) string {
	if name == "error" {
		return `@"error"`
	}
	return name
}

// zigType returns the type of a field and its default.
func (a *Interface) zigType(f Field) (typ, value string) {
	typ = map[Base]string{String: "[]const u8", Bool: "bool", Int: "i64", Uint: "u64", Float: "f64", Time: "[]const u8"}[f.Type.Base]
	value = map[Base]string{String: `""`, Bool: "false", Int: "0", Uint: "0", Float: "0", Time: `""`}[f.Type.Base]
	if e, ok := a.Enum(f.Type.Base); ok {
		typ, value = pascal(e.Name, nil), "."+zigWord(f.Default)
	} else if f.Default != "" {
		value = fmt.Sprintf("%q", f.Default)
	}
	if r, ok := a.Record(f.Type.Base); ok {
		typ = pascal(r.Name, nil)
	}
	switch {
	case f.Type.Map && f.Type.List:
		return "Map([]const " + typ + ")", ".{}"
	case f.Type.Map:
		return "Map(" + typ + ")", ".{}"
	case f.Type.List:
		return "[]const " + typ, "&.{}"
	case f.Nullable, f.Optional && f.Type.Base == Time:
		return "?" + typ, "null"
	}
	return typ, value
}

// zigStruct writes a struct. In a request, what is not optional has no default.
func (a *Interface) zigStruct(t *text, name, doc string, fields []Field, body string, isRequest bool) {
	t.comment("///", "%s", doc)
	if len(fields) == 0 && body == "" {
		t.line("pub const %s = struct {};\n", name)
		return
	}
	t.line("pub const %s = struct {", name)
	for _, f := range fields {
		typ, value := a.zigType(f)
		doc := f.Doc
		if f.Unit != "" {
			doc += ", in " + f.Unit
		}
		t.comment("    ///", "%s", doc)
		if isRequest && !f.Optional {
			t.line("    %s: %s,", f.Name, typ)
		} else {
			t.line("    %s: %s = %s,", f.Name, typ, value)
		}
	}
	if body != "" {
		t.comment("    ///", "%s", body)
		t.line("    body: []const u8 = \"\",")
	}
	t.line("};\n")
}

// emitZig writes imports, words, limits, requests, responses and functions.
func emitZig(a *Interface) ([]byte, error) {
	t := &text{}
	a.zigImports(t)
	t.line("/// Kind is what sort of error it is.\npub const Kind = enum {")
	for _, k := range a.Kinds {
		t.line("    /// %s\n    %s,", k.Doc, k.Name)
	}
	t.line("};\n\n/// Error has an error for each kind, and that of the allocator.\npub const Error = error{")
	for _, k := range a.Kinds {
		t.line("    %s,", pascal(k.Name, nil))
	}
	t.line("    OutOfMemory,\n};\n\n/// kindOf returns the kind of an error; memory that ran out is a limit, and anything else failed.")
	t.line("pub fn kindOf(err: anyerror) Kind {\n    return switch (err) {")
	for _, k := range a.Kinds {
		if k.Name != "failed" {
			t.line("        error.%s => .%s,", pascal(k.Name, nil), k.Name)
		}
	}
	t.line("        error.OutOfMemory => .limit,\n        else => .failed,\n    };\n}\n")
	t.line("/// errorOf returns the error of a kind.\npub fn errorOf(kind: Kind) Error {\n    return switch (kind) {")
	for _, k := range a.Kinds {
		t.line("        .%s => error.%s,", k.Name, pascal(k.Name, nil))
	}
	t.line("    };\n}\n")
	for _, e := range a.Enums {
		t.line("/// %s says %s.\npub const %s = enum {", pascal(e.Name, nil), e.Doc, pascal(e.Name, nil))
		for _, v := range e.Values {
			t.line("    /// %s\n    %s,", v.Doc, zigWord(v.Name))
		}
		t.line("};\n")
	}
	for _, l := range a.Limits {
		t.line("/// %s, in %s\npub const %s = %d;", l.Doc, l.Unit, l.Name, l.Value)
	}
	t.line("")
	for _, r := range a.Records {
		a.zigStruct(t, pascal(r.Name, nil), r.Doc, r.Fields, "", false)
	}
	for _, f := range a.Functions {
		a.zigFunction(t, f)
	}
	return t.bytes(), nil
}

// zigImports declares the host functions.
func (a *Interface) zigImports(t *text) {
	t.line("const imports = struct {")
	types := map[string]string{"pointer": "[*]const u8", "length": "usize", "i64": "i64", "i32": "i32", "": "void"}
	for _, f := range a.Transfer {
		var params []string
		for _, p := range f.Params {
			typ := types[p.Type]
			if p.Type == "pointer" && strings.HasSuffix(f.Name, "_read") {
				typ = "[*]u8"
			}
			params = append(params, p.Name+": "+typ)
		}
		t.line("    extern %q fn %s(%s) %s;", a.Module, f.Name, strings.Join(params, ", "), types[f.Result])
	}
	for _, f := range a.Functions {
		t.line("    extern %q fn %s(meta: [*]const u8, meta_length: usize, body: [*]const u8, body_length: usize) i64;", a.Module, f.Name)
	}
	t.line("};\n")
}

// zigFunction writes one function with its request and response.
func (a *Interface) zigFunction(t *text, f Function) {
	name := pascal(f.Name, nil)
	a.zigStruct(t, name+"Request", "what "+zigName(f.Name)+" takes", f.Request, "", true)
	result := "void"
	if len(f.Response) > 0 || f.ResponseBody != "" {
		result = name + "Response"
		a.zigStruct(t, result, "what "+zigName(f.Name)+" answers", f.Response, f.ResponseBody, false)
	}
	var errors []string
	for _, e := range f.Errors {
		errors = append(errors, "error."+pascal(e.Kind, nil))
	}
	t.comment("///", "%s %s. %s Errors: %s.", zigName(f.Name), f.Doc, needs(f), strings.Join(errors, ", "))
	param, body := "", `""`
	if f.RequestBody != "" {
		t.comment("///", "The body is %s.", f.RequestBody)
		param, body = ", body: []const u8", "body"
	}
	ask := "ask"
	t.line("pub fn %s(ask: %sRequest%s) Error!%s {", zigName(f.Name), name, param, result)
	for _, x := range f.Request {
		if _, enum := a.Enum(x.Type.Base); x.Default != "" && !enum {
			ask = "full"
			t.line("    var full = ask;\n    if (full.%s.len == 0) full.%s = %q;", x.Name, x.Name, x.Default)
		}
	}
	subject := zigSubject(f, ask)
	if result == "void" {
		t.line("    _ = try request(struct {}, %q, %s, %s, %s);\n}\n", f.Name, subject, ask, body)
		return
	}
	t.line("    return request(%s, %q, %s, %s, %s);\n}\n", result, f.Name, subject, ask, body)
}

// zigSubject writes the expression that errors begin with.
func zigSubject(f Function, ask string) string {
	format, args := "", []string{}
	for _, p := range f.subject() {
		format += p.text
		if p.field != "" {
			format, args = format+"{s}", append(args, ask+"."+p.field)
		}
	}
	if len(args) == 0 {
		return fmt.Sprintf("%q", format)
	}
	list := "{" + args[0] + "}"
	if len(args) > 1 {
		list = "{ " + strings.Join(args, ", ") + " }"
	}
	return fmt.Sprintf("try print(%q, .%s)", format, list)
}
