package hostapi

import (
	"fmt"
	"strings"
)

// jsName is the name of a function; log is taken by the shorter form of it.
func jsName(name string) string {
	if name == "log" {
		return "logLine"
	}
	return camel(name, nil)
}

// jsType returns the type of a field in TypeScript.
func (a *Interface) jsType(f Field) string {
	typ := map[Base]string{String: "string", Bool: "boolean", Int: "number", Uint: "number", Float: "number", Time: "string"}[f.Type.Base]
	if typ == "" {
		typ = pascal(string(f.Type.Base), nil)
	}
	if f.Type.List {
		typ += "[]"
	}
	if f.Type.Map {
		typ = "Record<string, " + typ + ">"
	}
	return typ
}

// jsDoc writes a doc comment.
func jsDoc(t *text, indent, format string, args ...any) {
	doc := strings.ReplaceAll(fmt.Sprintf(format, args...), "*/", "* /")
	if short := indent + "/** " + doc + " */"; len(short) <= 110 {
		t.line("%s", short)
		return
	}
	t.line("%s/**", indent)
	t.comment(indent+" *", "%s", doc)
	t.line("%s */", indent)
}

// doc says what a field is, as a sentence.
func (f Field) doc() string {
	if f.Unit == "" {
		return sentence(f.Doc)
	}
	return sentence(f.Doc + ", in " + f.Unit)
}

// errorKinds lists the kinds of a function's errors.
func (f Function) errorKinds() string {
	var all []string
	for _, e := range f.Errors {
		all = append(all, e.Kind)
	}
	return strings.Join(all, ", ")
}

// emitJS writes the functions, limits and kinds in JavaScript.
func emitJS(a *Interface) ([]byte, error) {
	t := &text{}
	t.line("// Generated from sdk/hostapi/interface.json by `make generate`: what the host offers. host.d.ts explains it.")
	t.line("import { request } from \"./request.js\";\n")
	t.line("export const kinds = Object.freeze([%s]);", quotedWords(a.Kinds))
	t.line("export const limits = Object.freeze({")
	for _, l := range a.Limits {
		t.line("\t%s: %d,", camel(l.Name, nil), l.Value)
	}
	t.line("});\n")
	for _, r := range a.Records {
		t.line("const %s = (meta) => ({", camel(r.Name, nil))
		a.jsAnswer(t, "\t", r.Fields)
		t.line("});\n")
	}
	for _, f := range a.Functions {
		a.jsFunction(t, f)
	}
	return t.bytes(), nil
}

// quotedWords lists words for a literal.
func quotedWords(values []Value) string {
	var all []string
	for _, v := range values {
		all = append(all, fmt.Sprintf("%q", v.Name))
	}
	return strings.Join(all, ", ")
}

// jsFunction writes one function.
func (a *Interface) jsFunction(t *text, f Function) {
	params, body := "ask", ""
	if f.RequestBody != "" {
		params, body = "ask, content", ", content"
	}
	t.line("export function %s(%s) {", jsName(f.Name), params)
	for _, x := range f.Request {
		if _, enum := a.Enum(x.Type.Base); x.Default != "" && !enum {
			t.line("\tconst %s = ask.%s || %q;", camel(x.Name, nil), camel(x.Name, nil), x.Default)
		}
	}
	call := fmt.Sprintf("request(%q, %s, {", f.Name, a.jsSubject(f))
	if len(f.Response) == 0 && f.ResponseBody == "" {
		t.line("\t%s", call)
	} else {
		t.line("\tconst { %s } = %s", answered(f), call)
	}
	for _, x := range f.Request {
		t.line("\t\t%s: %s,", x.Name, a.jsAsked(x))
	}
	t.line("\t}%s);", body)
	if len(f.Response) > 0 || f.ResponseBody != "" {
		t.line("\treturn {")
		a.jsAnswer(t, "\t\t", f.Response)
		if f.ResponseBody != "" {
			t.line("\t\tbody,")
		}
		t.line("\t};")
	}
	t.line("}\n")
}

// answered says which parts of an answer a function has a use for.
func answered(f Function) string {
	var all []string
	if len(f.Response) > 0 {
		all = append(all, "meta")
	}
	if f.ResponseBody != "" {
		all = append(all, "body")
	}
	return strings.Join(all, ", ")
}

// jsAsked is the expression for a field of a request.
func (a *Interface) jsAsked(x Field) string {
	if _, enum := a.Enum(x.Type.Base); x.Default != "" && !enum {
		return camel(x.Name, nil)
	}
	return "ask." + camel(x.Name, nil)
}

// jsSubject is the expression that errors begin with.
func (a *Interface) jsSubject(f Function) string {
	out := ""
	for _, p := range f.subject() {
		out += p.text
		for _, x := range f.Request {
			if x.Name == p.field && x.Optional && x.Default == "" {
				out += "${" + a.jsAsked(x) + ` ?? ""}`
			} else if x.Name == p.field {
				out += "${" + a.jsAsked(x) + "}"
			}
		}
	}
	return "`" + out + "`"
}

// jsAnswer writes the members of what is answered. What the host leaves out is what it means.
func (a *Interface) jsAnswer(t *text, indent string, fields []Field) {
	for _, x := range fields {
		value := "meta." + x.Name
		_, record := a.Record(x.Type.Base)
		switch {
		case record && x.Type.List:
			value = fmt.Sprintf("(%s ?? []).map(%s)", value, camel(string(x.Type.Base), nil))
		case x.Type.Map:
			value += " ?? {}"
		case x.Type.List:
			value += " ?? []"
		default:
			value += " ?? " + map[Base]string{String: `""`, Bool: "false", Time: "null"}[x.Type.Base]
			if strings.HasSuffix(value, " ?? ") {
				value += "0"
			}
		}
		t.line("%s%s: %s,", indent, camel(x.Name, nil), value)
	}
}

// emitJSTypes writes the declarations for TypeScript.
func emitJSTypes(a *Interface) ([]byte, error) {
	t := &text{}
	t.line("// Generated from sdk/hostapi/interface.json by `make generate`: what the host offers.\n")
	t.line("/** What is sent: text goes as UTF-8. */\nexport type Content = string | ArrayBuffer | ArrayBufferView;\n")
	a.jsChoice(t, "Kind", "what sort of error it is", a.Kinds)
	for _, e := range a.Enums {
		a.jsChoice(t, pascal(e.Name, nil), e.Doc, e.Values)
	}
	jsDoc(t, "", "The kinds of errors, all of them.")
	t.line("export const kinds: readonly Kind[];\n")
	jsDoc(t, "", "What no setting of the host changes.")
	t.line("export const limits: {")
	for _, l := range a.Limits {
		jsDoc(t, "\t", "%s", sentence(l.Doc+", in "+l.Unit))
		t.line("\treadonly %s: %d;", camel(l.Name, nil), l.Value)
	}
	t.line("};\n")
	for _, r := range a.Records {
		a.jsInterface(t, pascal(r.Name, nil), sentence(r.Doc), r.Fields, "", false)
	}
	for _, f := range a.Functions {
		a.jsDeclaration(t, f)
	}
	return t.bytes(), nil
}

// jsChoice writes a type of a few words.
func (a *Interface) jsChoice(t *text, name, doc string, values []Value) {
	t.line("/**\n * Says %s:\n *", doc)
	for _, v := range values {
		t.line(" * - `%s`: %s", v.Name, v.Doc)
	}
	var all []string
	for _, v := range values {
		all = append(all, fmt.Sprintf("%q", v.Name))
	}
	t.line(" */\nexport type %s = %s;\n", name, strings.Join(all, " | "))
}

// jsInterface writes the type of an object.
func (a *Interface) jsInterface(t *text, name, doc string, fields []Field, body string, isRequest bool) {
	jsDoc(t, "", "%s", doc)
	t.line("export interface %s {", name)
	for _, f := range fields {
		jsDoc(t, "\t", "%s", f.doc())
		optional, typ := "", a.jsType(f)
		switch {
		case isRequest && f.Optional && f.Nullable:
			optional, typ = "?", typ+" | null"
		case isRequest && f.Optional:
			optional = "?"
		case !isRequest && f.Optional && f.Type.Base == Time:
			typ += " | null"
		}
		t.line("\t%s%s: %s;", camel(f.Name, nil), optional, typ)
	}
	if body != "" {
		jsDoc(t, "\t", "%s", sentence(body))
		t.line("\tbody: Uint8Array;")
	}
	t.line("}\n")
}

// jsDeclaration declares one function.
func (a *Interface) jsDeclaration(t *text, f Function) {
	name := pascal(jsName(f.Name), nil)
	a.jsInterface(t, name+"Request", "What {@link "+jsName(f.Name)+"} takes.", f.Request, "", true)
	result := "void"
	if len(f.Response) > 0 || f.ResponseBody != "" {
		result = name + "Response"
		a.jsInterface(t, result, "What {@link "+jsName(f.Name)+"} answers.", f.Response, f.ResponseBody, false)
	}
	body, param := "", ""
	if f.RequestBody != "" {
		body, param = " What is sent: "+f.RequestBody+".", ", content?: Content | null"
	}
	jsDoc(t, "", "%s %s Errors: %s.%s", sentence(f.Doc), needs(f), f.errorKinds(), body)
	t.line("export function %s(ask: %sRequest%s): %s;\n", jsName(f.Name), name, param, result)
}
