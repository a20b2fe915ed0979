package hostapi

import (
	"encoding/json"
	"fmt"
	"strings"
)

// emitReference writes the page for those who write a guest without one of the SDKs, or one more SDK.
func emitReference(a *Interface) ([]byte, error) {
	t := &text{}
	t.line("# The host interface `%s`\n", a.Module)
	t.line(`What a module can import from the host. The SDKs wrap it; this page is for those who use it directly. It is made from
[` + "`sdk/hostapi/interface.json`" + `](../sdk/hostapi/interface.json), as are the low-level parts of the SDKs: ` + "`make generate`" + `.

A tool is an export without parameters that returns an ` + "`i32`" + `: 0 for success, any other number for an error. Lengths and
addresses are ` + "`i32`" + `, unsigned. Every address must lie in the memory, also that of no bytes.
`)
	t.line("## Input, output and responses\n")
	t.line("They cost fuel by the byte and do not count as host calls.\n")
	t.line("| function | does |\n| --- | --- |")
	for _, f := range a.Transfer {
		t.line("| `%s` | %s |", f.signature(), f.Doc)
	}
	t.line(referenceShape, "(meta i32, meta_length i32, body i32, body_length i32) -> i64")
	t.line("## Errors\n")
	t.line("| kind | means |\n| --- | --- |")
	for _, k := range a.Kinds {
		t.line("| `%s` | %s |", k.Name, k.Doc)
	}
	t.line("\nEvery function may also answer `invalid` for request data that is not JSON object or has a member it does not know,\n" +
		"`limit` for request data that is too long, `io` when the host's own disk fails, and `timeout` when the time of the call is\n" +
		"over. The message of a refusal is always `denied`: what was tried, why it was refused and what would allow it is told to\n" +
		"the person, not to the skill.\n")
	t.line("## Limits\n")
	t.line("| limit | | what |\n| --- | --- | --- |")
	for _, l := range a.Limits {
		t.line("| `%s` | %d %s | %s |", l.Name, l.Value, l.Unit, l.Doc)
	}
	t.line("\n## Functions\n")
	for _, f := range a.Functions {
		t.line("- [`%s`](#%s) %s", f.Name, f.Name, f.Doc)
	}
	for _, f := range a.Functions {
		if err := a.referenceFunction(t, f); err != nil {
			return nil, err
		}
	}
	a.referenceTypes(t)
	return t.bytes(), nil
}

const referenceShape = `
All other functions have one shape:

    %s

` + "`meta`" + ` is a JSON object, ` + "`body`" + ` raw bytes. The result is the length of the response's JSON object, shifted left by 32, or
the length of the response's body. The guest makes room for both and takes them with ` + "`response_read`" + `. Only the response of the
last call waits. Members that are left out are zero; those that the function does not know are an error. A failure is
` + "`{\"error\":{\"kind\":\"not_found\",\"message\":\"no such file or directory\"}}`" + ` with no body.
`

// signature writes a transfer function as WebAssembly has it.
func (f Transfer) signature() string {
	var params []string
	for _, p := range f.Params {
		params = append(params, p.Name+" "+map[string]string{"pointer": "i32", "length": "i32", "i64": "i64"}[p.Type])
	}
	out := f.Name + "(" + strings.Join(params, ", ") + ")"
	if f.Result != "" {
		out += " -> " + f.Result
	}
	return out
}

// referenceFunction writes the section of a function.
func (a *Interface) referenceFunction(t *text, f Function) error {
	t.line("\n### %s\n", f.Name)
	t.line("%s", sentence(f.Doc))
	if f.Grant != "" {
		t.line("\nGrant: `%s`", f.Grant)
	} else {
		t.line("\nGrant: none; %s.", f.Free)
	}
	a.referenceFields(t, "request", f.Request)
	if f.RequestBody != "" {
		t.line("\nRequest body: %s.", f.RequestBody)
	}
	a.referenceFields(t, "response", f.Response)
	if f.ResponseBody != "" {
		t.line("\nResponse body: %s.", f.ResponseBody)
	}
	t.line("\n| error | when |\n| --- | --- |")
	for _, e := range f.Errors {
		t.line("| `%s` | %s |", e.Kind, e.When)
	}
	request, err := compact(f.Example.Request)
	if err != nil {
		return err
	}
	response, err := compact(f.Example.Response)
	if err != nil {
		return err
	}
	t.line("\n    %s\n    %s", request, response)
	return nil
}

// compact writes JSON in one line.
func compact(raw json.RawMessage) (string, error) {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(raw)
	return strings.TrimSpace(b.String()), err
}

// referenceFields writes a table of members.
func (a *Interface) referenceFields(t *text, of string, fields []Field) {
	if len(fields) == 0 {
		t.line("\nThe %s has no members.", of)
		return
	}
	t.line("\n| %s | type | |\n| --- | --- | --- |", of)
	for _, f := range fields {
		optional := ""
		if f.Optional {
			optional = ", optional"
		}
		t.line("| `%s` | %s%s | %s |", f.Name, a.referenceType(f), optional, f.Doc)
	}
}

// referenceType says a type in words.
func (a *Interface) referenceType(f Field) string {
	name := map[Base]string{Bool: "true or false", Int: "whole number", Uint: "whole number", Float: "number", Time: "time"}[f.Type.Base]
	if name == "" {
		name = string(f.Type.Base)
	}
	_, enum := a.Enum(f.Type.Base)
	_, record := a.Record(f.Type.Base)
	if enum || record {
		name = fmt.Sprintf("[%s](#%s)", name, name)
	}
	switch {
	case f.Type.Map && f.Type.List:
		return "object of lists of " + name
	case f.Type.Map:
		return "object of " + name
	case f.Type.List:
		return "list of " + name
	case f.Unit != "":
		return name + ", " + f.Unit
	}
	return name
}

// referenceTypes writes the sections of enums and records.
func (a *Interface) referenceTypes(t *text) {
	t.line("\n## Types\n\nTimes are strings as RFC 3339 has them, in UTC.")
	for _, e := range a.Enums {
		t.line("\n### %s\n\n%s\n", e.Name, sentence(e.Doc))
		t.line("| value | |\n| --- | --- |")
		for _, v := range e.Values {
			t.line("| `%s` | %s |", v.Name, v.Doc)
		}
	}
	for _, r := range a.Records {
		t.line("\n### %s\n\n%s", r.Name, sentence(r.Doc))
		a.referenceFields(t, "member", r.Fields)
	}
}
