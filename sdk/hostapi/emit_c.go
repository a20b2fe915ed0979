package hostapi

import (
	"fmt"
	"strings"
)

// cConstant is the name of a constant.
func cConstant(words ...string) string { return "SKILLET_" + strings.ToUpper(strings.Join(words, "_")) }

// emitCWords writes the enumerations, with their names in JSON, and the limits.
func emitCWords(a *Interface) ([]byte, error) {
	t := &text{}
	t.line("// skillet_kind is what sort of error it is.\ntypedef enum {")
	t.line("\tSKILLET_NO_ERROR,")
	cWords(t, nil, a.Kinds)
	t.line("} skillet_kind;\n")
	cNames(t, "skillet_kind", nil, a.Kinds)
	t.line("// skillet_kind_of returns the kind with a name; for one that is unknown SKILLET_FAILED.")
	t.line("SKILLET_FN skillet_kind skillet_kind_of(skillet_str name) {")
	for _, k := range a.Kinds {
		t.line("\tif (skillet_is(name, %q)) return %s;", k.Name, cConstant(k.Name))
	}
	t.line("\treturn SKILLET_FAILED;\n}\n")
	for _, e := range a.Enums {
		t.comment("//", "skillet_%s says %s. Unset leaves it to the host.", e.Name, e.Doc)
		t.line("typedef enum {\n\t%s,", cConstant(e.Name, "unset"))
		cWords(t, []string{e.Name}, e.Values)
		t.line("} skillet_%s;\n", e.Name)
		cNames(t, "skillet_"+e.Name, []string{e.Name}, e.Values)
		t.line("// skillet_%s_of finds the value with a name; it is false when there is none.", e.Name)
		t.line("SKILLET_FN bool skillet_%s_of(skillet_str name, skillet_%s *to) {", e.Name, e.Name)
		for _, v := range e.Values {
			t.line("\tif (skillet_is(name, %q)) return *to = %s, true;", v.Name, cConstant(e.Name, v.Name))
		}
		t.line("\treturn false;\n}\n")
	}
	t.line("// What no setting of the host changes.\nenum {")
	for _, l := range a.Limits {
		t.line("\t%s = %d, // %s, in %s", cConstant(l.Name), l.Value, l.Doc, l.Unit)
	}
	t.line("};")
	return t.bytes(), nil
}

// cWords writes the constants of an enumeration.
func cWords(t *text, prefix []string, values []Value) {
	for _, v := range values {
		t.line("\t%s, // %s", cConstant(append(prefix[:len(prefix):len(prefix)], v.Name)...), v.Doc)
	}
}

// cNames writes the function that returns the name of a value.
func cNames(t *text, typ string, prefix []string, values []Value) {
	t.line("// %s_name returns the name of a value; of none it is empty.", typ)
	t.line("SKILLET_FN const char *%s_name(%s v) {\n\tswitch (v) {", typ, typ)
	for _, v := range values {
		t.line("\tcase %s: return %q;", cConstant(append(prefix[:len(prefix):len(prefix)], v.Name)...), v.Name)
	}
	t.line("\tdefault: return \"\";\n\t}\n}\n")
}

// emitCTransfer declares the imports with shapes of their own.
func emitCTransfer(a *Interface) ([]byte, error) {
	t := &text{}
	types := map[string]string{"pointer": "void *", "length": "uint32_t ", "i64": "int64_t ", "i32": "int32_t", "": "void"}
	for _, f := range a.Transfer {
		var params []string
		for _, p := range f.Params {
			params = append(params, types[p.Type]+p.Name)
			if p.Type == "pointer" && !strings.HasSuffix(f.Name, "_read") {
				params[len(params)-1] = "const " + params[len(params)-1]
			}
		}
		if len(params) == 0 {
			params = []string{"void"}
		}
		t.comment("//", "skillet_import_%s %s.", f.Name, f.Doc)
		t.line("SKILLET_C SKILLET_IMPORT(%q) %s skillet_import_%s(%s);\n", f.Name, strings.TrimSpace(types[f.Result]), f.Name, strings.Join(params, ", "))
	}
	return t.bytes(), nil
}

// cType returns the type of a field, and whether there is a count beside it.
func (a *Interface) cType(f Field) (typ string, counted bool) {
	base, ok := map[Base]string{String: "skillet_str", Bool: "bool", Int: "int64_t", Uint: "uint64_t", Float: "double", Time: "skillet_str"}[f.Type.Base]
	if !ok {
		base = "skillet_" + string(f.Type.Base)
	}
	switch {
	case f.Type.Map:
		return "const skillet_pair *", true
	case f.Type.List, f.Nullable:
		return "const " + base + " *", f.Type.List
	}
	return base + " ", false
}

// cUnset is how C++ initialises a member that a designated initialiser does not name; without
// it the compiler warns of each. In C it is nothing.
const cUnset = " SKILLET_UNSET"

// cFields writes the members of a struct; unset is behind those that may be left out.
func (a *Interface) cFields(t *text, fields []Field, body, unset string) {
	for _, f := range fields {
		typ, counted := a.cType(f)
		doc := f.Doc
		if f.Unit != "" {
			doc += ", in " + f.Unit
		}
		if f.Nullable {
			doc += "; null leaves it out"
		}
		unset := unset
		if !f.Optional && !f.Nullable {
			unset = "" // to leave it out is a mistake
		}
		t.line("\t%s%s%s; // %s", typ, f.Name, unset, doc)
		if counted {
			t.line("\tsize_t %s_count%s;", f.Name, unset)
		}
	}
	if body != "" {
		t.line("\tskillet_str body%s; // %s", unset, body)
	}
}

// emitCFunctions writes records, requests, responses and the functions between them.
func emitCFunctions(a *Interface) ([]byte, error) {
	t := &text{}
	for _, r := range a.Records {
		t.comment("//", "skillet_%s is %s.", r.Name, r.Doc)
		t.line("typedef struct {")
		a.cFields(t, r.Fields, "", "")
		t.line("} skillet_%s;\n", r.Name)
		t.line("SKILLET_FN bool skillet_get_%s_list(const skillet_value *object, const char *name, const skillet_%s **to, size_t *count, skillet_error *err) {", r.Name, r.Name)
		t.line("\tconst skillet_value *v;\n\tif (!skillet_get_array(object, name, &v, err)) return false;\n\tif (v == 0) return true;")
		t.line("\tskillet_%s *all = (skillet_%s *)skillet_alloc(v->count * sizeof *all);\n\tsize_t n = 0;", r.Name, r.Name)
		t.line("\tfor (const skillet_value *e = v->first; e != 0; e = e->next, n++) {\n\t\tall[n] = SKILLET_ZERO(skillet_%s);", r.Name)
		t.line("\t\tif (!(%s)) return false;", a.cDecode(r.Fields, "e", "all[n]."))
		t.line("\t}\n\t*to = all;\n\t*count = n;\n\treturn true;\n}\n")
	}
	for _, f := range a.Functions {
		a.cFunction(t, f)
	}
	return t.bytes(), nil
}

// cFunction writes one function.
func (a *Interface) cFunction(t *text, f Function) {
	name := "skillet_" + f.Name
	answers := len(f.Response) > 0 || f.ResponseBody != ""
	t.comment("//", "%s_request is what %s takes. What is zero is left out.", name, name)
	t.line("typedef struct %s_request {", name)
	a.cFields(t, f.Request, f.RequestBody, cUnset)
	t.line("} %s_request;\n", name)
	response := ""
	if answers {
		t.comment("//", "%s_response is what %s answers.", name, name)
		t.line("typedef struct {")
		a.cFields(t, f.Response, f.ResponseBody, "")
		t.line("} %s_response;\n", name)
		response = name + "_response *response, "
	}
	t.line("SKILLET_C SKILLET_IMPORT(%q) int64_t skillet_import_%s(const void *meta, uint32_t meta_length, const void *body, uint32_t body_length);\n", f.Name, f.Name)
	t.comment("//", "%s %s. %s Errors: %s.", name, f.Doc, needs(f), cErrors(f))
	t.line("SKILLET_FN bool %s(const %s_request *request, %sskillet_error *err) {", name, name, response)
	t.line("\t%s_request ask = *request;\n\tskillet_buffer meta = {0};\n\tconst skillet_value *answer;", name)
	a.cDefaults(t, f)
	t.line("\tskillet_begin_object(&meta);")
	for _, x := range f.Request {
		t.line("\t%s", a.cEncode(x))
	}
	body, content := "SKILLET_STR(\"\")", "&nothing"
	if f.RequestBody != "" {
		body = "ask.body"
	}
	t.line("\tskillet_end_object(&meta);\n\tskillet_str subject = %s;", cSubject(f))
	if answers {
		t.line("\t*response = SKILLET_ZERO(%s_response);", name)
	}
	if f.ResponseBody != "" {
		content = "&response->body"
	} else {
		t.line("\tskillet_str nothing;")
	}
	call := fmt.Sprintf("skillet_request(skillet_import_%s, subject, &meta, %s, &answer, %s, err)", f.Name, body, content)
	if len(f.Response) == 0 {
		t.line("\treturn %s;\n}\n", call)
		return
	}
	t.line("\tif (!%s) return false;", call)
	t.line("\treturn (%s) || skillet_malformed(subject, err);\n}\n", a.cDecode(f.Response, "answer", "response->"))
}

// needs says what grant a function takes, as a sentence.
func needs(f Function) string {
	if f.Grant == "" {
		return "It needs no grant."
	}
	return "It needs the grant " + f.Grant + "."
}

// cErrors lists the kinds of a function.
func cErrors(f Function) string {
	var all []string
	for _, e := range f.Errors {
		all = append(all, cConstant(e.Kind))
	}
	return strings.Join(all, ", ")
}

// cDefaults fills in what is sent for a member that is empty.
func (a *Interface) cDefaults(t *text, f Function) {
	for _, x := range f.Request {
		switch _, enum := a.Enum(x.Type.Base); {
		case x.Default == "":
		case enum:
			t.line("\tif (ask.%s == %s) ask.%s = %s;", x.Name, cConstant(string(x.Type.Base), "unset"), x.Name, cConstant(string(x.Type.Base), x.Default))
		default:
			t.line("\tif (ask.%s.len == 0) ask.%s = SKILLET_STR(%q);", x.Name, x.Name, x.Default)
		}
	}
}

// cEncode writes the statement that adds a field to a request.
func (a *Interface) cEncode(f Field) string {
	verb := map[Base]string{String: "string", Bool: "bool", Int: "int", Uint: "uint", Float: "float", Time: "string"}[f.Type.Base]
	value, there := "ask."+f.Name, "ask."+f.Name
	if verb == "string" {
		there += ".len != 0"
	} else {
		there += " != 0"
	}
	if _, enum := a.Enum(f.Type.Base); enum {
		verb, value = "string", fmt.Sprintf("skillet_text(skillet_%s_name(ask.%s))", f.Type.Base, f.Name)
	}
	switch {
	case f.Type.Map, f.Type.List:
		verb = map[bool]map[bool]string{true: {true: "lists", false: "pairs"}, false: {true: "strings"}}[f.Type.Map][f.Type.List]
		value, there = value+", ask."+f.Name+"_count", "ask."+f.Name+"_count != 0"
	case f.Nullable:
		value = "*" + value
	}
	out := fmt.Sprintf("skillet_add_%s(&meta, %q, %s);", verb, f.Name, value)
	if f.Optional {
		out = "if (" + there + ") " + out
	}
	return out
}

// cDecode writes the expression that reads fields of an object.
func (a *Interface) cDecode(fields []Field, object, to string) string {
	var all []string
	for _, f := range fields {
		verb := map[Base]string{String: "string", Bool: "bool", Int: "int", Uint: "uint", Float: "float", Time: "string"}[f.Type.Base]
		target := "&" + to + f.Name
		if _, record := a.Record(f.Type.Base); record {
			verb = string(f.Type.Base) + "_list"
		}
		switch {
		case f.Type.Map:
			verb, target = "pairs", fmt.Sprintf("%v, %s, %s_count", f.Type.List, target, target)
		case f.Type.List && verb == "string":
			verb, target = "strings", target+", "+target+"_count"
		case f.Type.List:
			target += ", " + target + "_count"
		}
		all = append(all, fmt.Sprintf("skillet_get_%s(%s, %q, %s, err)", verb, object, f.Name, target))
	}
	return strings.Join(all, " &&\n\t\t")
}

// cSubject writes the expression that errors begin with.
func cSubject(f Function) string {
	format, args := "", ""
	for _, p := range f.subject() {
		format += p.text
		if p.field != "" {
			format, args = format+"%t", args+", ask."+p.field
		}
	}
	if args == "" {
		return fmt.Sprintf("SKILLET_STR(%q)", format)
	}
	return fmt.Sprintf("skillet_textf(%q%s)", format, args)
}

// emitCPP writes the functions for C++.
func emitCPP(a *Interface) ([]byte, error) {
	t := &text{}
	for _, f := range a.Functions {
		name, result := "skillet_"+f.Name, "Status"
		t.comment("//", "%s %s. %s", f.Name, f.Doc, needs(f))
		if len(f.Response) > 0 || f.ResponseBody != "" {
			result = "Result<" + name + "_response>"
			t.line("inline %s %s(const %s_request &request) {\n\tskillet_error err = {};\n\t%s_response response;", result, f.Name, name, name)
			t.line("\tif (!%s(&request, &response, &err)) return Status(err);\n\treturn response;\n}\n", name)
			continue
		}
		t.line("inline %s %s(const %s_request &request) {\n\tskillet_error err = {};\n\t%s(&request, &err);\n\treturn err;\n}\n", result, f.Name, name, name)
	}
	return t.bytes(), nil
}
