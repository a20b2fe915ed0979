package testcase

import (
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/skillet-run/skillet/manifests"
	"github.com/skillet-run/skillet/policies/capability"
)

// A checker checks what the schema cannot say.
type checker struct {
	doc  manifests.Document
	c    *Case
	errs manifests.Errors
	seen map[string]bool // sections
	left *int            // states of regular expressions that the file may still have
}

// report notes a problem of the field at path.
func (k *checker) report(path, suggestion, format string, args ...any) {
	k.errs = append(k.errs, k.doc.Problem(path, suggestion, format, args...))
}

// atLine notes a problem of a section.
func (k *checker) atLine(s section, suggestion, format string, args ...any) {
	k.errs = append(k.errs, manifests.Problem{Line: s.line, Message: fmt.Sprintf(format, args...), Suggestion: suggestion})
}

// sectionJSON is the text of a section as JSON.
func (k *checker) sectionJSON(s section) json.RawMessage {
	if !json.Valid([]byte(s.text)) {
		k.atLine(s, "", "the section %s is not JSON", s.name)
		return json.RawMessage("null")
	}
	return json.RawMessage(s.text)
}

// quoted is a text as JSON.
func quoted(text string) json.RawMessage {
	b, err := json.Marshal(text)
	if err != nil { // a string cannot fail
		return json.RawMessage(`""`)
	}
	return b
}

func (k *checker) check() {
	k.inputs()
	k.clock()
	k.expectations()
	k.grants()
	k.contents()
	k.patterns()
	k.mocks()
	k.serve()
	k.paths()
}

// one reports a problem unless at most one of several fields is there.
func (k *checker) one(fields map[string]bool) (set []string) {
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		if fields[name] {
			set = append(set, name)
		}
	}
	if len(set) > 1 {
		k.report(set[1], "keep one of the two", "does not go together with %s", set[0])
	}
	return set
}

func (k *checker) inputs() {
	c := k.c
	k.one(map[string]bool{
		"input": c.Input != nil, "input_text": c.InputText != nil, "input_base64": c.InputBase64 != nil, "input_file": c.InputFile != "",
	})
}

func (k *checker) expectations() {
	c := k.c
	failure := c.ErrorKind != "" || c.ErrorMessage != nil
	set := k.one(map[string]bool{
		"expect": c.Expect != nil, "expect_exact": c.ExpectExact != nil, "expect_text": c.ExpectText != nil,
		"expect_base64": c.ExpectBase64 != nil, "expect_file": c.ExpectFile != "", "expect_schema": c.ExpectSchema != nil,
	})
	if len(set) > 0 && failure {
		k.report(set[0], "an answer is expected, or an error", "does not go together with error_kind and error_message")
	}
	other := c.Denials != nil || c.Logs != nil || c.Notifications != nil || c.FilesAfter != nil || c.KVAfter != nil || c.MaxFuel > 0 || c.MaxMemoryMB > 0
	if len(set) == 0 && !failure && !other {
		k.report("", `say what has to come of it: "expect" for the answer, or "error_kind"`, "the case expects nothing")
	}
	if _, err := manifests.CompileSchema(c.ExpectSchema); c.ExpectSchema != nil && err != nil {
		k.report("expect_schema", "", "is not a JSON Schema: %v", err)
	}
}

// clock demands that a case with a clock grants it.
func (k *checker) clock() {
	if !k.c.Clock.IsZero() && !slices.Contains(k.c.Grants, string(capability.Clock)) {
		k.report("clock", "add clock to grants", "would be ignored: without the grant clock every skill sees the same time")
	}
}

// grants are read with made-up values for what is filled in.
func (k *checker) grants() {
	fill := strings.NewReplacer(Workspace, "/workspace", Server, "http://server.example").Replace
	for i, g := range k.c.Grants {
		if _, err := capability.Parse(fill(g)); err != nil {
			k.report(manifests.IndexPath("grants", i), "", "%v", err)
		}
	}
}

// contents checks everything that is written as a text or an object.
func (k *checker) contents() {
	for field, m := range map[string]map[string]Content{"files": k.c.Files, "kv": k.c.KV} {
		for _, name := range slices.Sorted(maps.Keys(m)) {
			x := m[name]
			k.content(manifests.KeyPath(field, name), map[string]bool{"text": x.Text != nil, "json": x.JSON != nil, "base64": x.Base64 != nil, "file": x.File != ""}, true)
			k.dataFile(manifests.KeyPath(field, name)+".file", x.File)
		}
	}
	k.dataFile("input_file", k.c.InputFile)
	k.dataFile("expect_file", k.c.ExpectFile)
}

// content demands one of several fields of the object at path, or at most one.
func (k *checker) content(path string, fields map[string]bool, needed bool) {
	set := 0
	for _, there := range fields {
		if there {
			set++
		}
	}
	names := strings.Join(slices.Sorted(maps.Keys(fields)), ", ")
	switch {
	case set > 1:
		k.report(path, "keep one of them", "has several of %s", names)
	case set == 0 && needed:
		k.report(path, "write a text, or an object with one of "+names, "has no content")
	}
}

// dataFile checks a path in the package.
func (k *checker) dataFile(at, name string) {
	if name != "" && !isLocal(name) {
		k.report(at, "write a path in the package, such as tests/data/page.html", "%q leads out of the package", name)
	}
}

// isLocal reports whether a path is relative, clean and leads nowhere else.
func isLocal(name string) bool {
	return name != "" && name == path.Clean(name) && !path.IsAbs(name) && name != "." && name != ".." &&
		!strings.HasPrefix(name, "../") && !strings.ContainsAny(name, "\\\x00")
}

// paths checks the names of files in the workspace.
func (k *checker) paths() {
	for _, name := range slices.Sorted(maps.Keys(k.c.Files)) {
		k.workspacePath("files", name)
	}
	for _, name := range slices.Sorted(maps.Keys(k.c.FilesAfter)) {
		k.workspacePath("files_after", name)
	}
}

func (k *checker) workspacePath(field, name string) {
	if !isLocal(name) {
		k.report(manifests.KeyPath(field, name), "write a relative path without . and .., such as data/a.txt", "is not a path in the workspace")
	}
}

// patterns compiles every pattern.
func (k *checker) patterns() {
	c := k.c
	k.pattern("expect", c.Expect, Subset)
	k.pattern("expect_exact", c.ExpectExact, Exact)
	k.textPattern("expect_text", c.ExpectText)
	k.textPattern("error_message", c.ErrorMessage)
	for i, l := range c.Logs {
		at := manifests.IndexPath("logs", i)
		k.textPattern(at+".message", l.Message)
		k.eachText(at+".fields", l.Fields)
	}
	for i, n := range c.Notifications {
		at := manifests.IndexPath("notifications", i)
		k.textPattern(at+".title", n.Title)
		k.textPattern(at+".text", n.Text)
	}
	k.eachText("files_after", c.FilesAfter)
	for _, name := range slices.Sorted(maps.Keys(c.KVAfter)) {
		k.pattern(manifests.KeyPath("kv_after", name), c.KVAfter[name], Subset)
	}
}

// maxFileStates is how many states the automata of all regular expressions in one
// file may have together: they are compiled when it is read.
const maxFileStates = 2_000_000

// affordable refuses the pattern with which a file has too many regular expressions.
func (k *checker) affordable(at string, raw json.RawMessage) bool {
	v, err := decode(raw)
	if err != nil || *k.left < 0 {
		return err != nil // which is said elsewhere
	}
	n := regexStates(v)
	k.c.states += n
	if *k.left -= n; *k.left < 0 {
		k.report(at, "write fewer or simpler ones", "the regular expressions of the file are too large together")
		return false
	}
	return true
}

// regexStates is how many states the automata of the regular expressions in a
// pattern have at most. Of those that are refused by themselves none count.
func regexStates(v any) int {
	n := 0
	switch v := v.(type) {
	case []any:
		for _, x := range v {
			n += regexStates(x)
		}
	case map[string]any:
		for name, x := range v {
			n += regexStates(x)
			if text, ok := x.(string); ok && name == "$regex" && len(text) <= maxRegex {
				n += manifests.PatternStates(text)
			}
		}
	}
	return n
}

func (k *checker) eachText(at string, m map[string]json.RawMessage) {
	for _, name := range slices.Sorted(maps.Keys(m)) {
		k.textPattern(manifests.KeyPath(at, name), m[name])
	}
}

func (k *checker) pattern(at string, raw json.RawMessage, m Mode) {
	if !k.affordable(at, raw) {
		return
	}
	_, err := CompilePattern(raw, m)
	if err == nil {
		return
	}
	e, ok := err.(*PatternError)
	if !ok {
		k.report(at, "", "%v", err)
		return
	}
	if e.Path != "" && !strings.HasPrefix(e.Path, "[") {
		at += "."
	}
	k.report(at+e.Path, e.Suggestion, "%s", e.Message)
}

// textPattern checks the pattern of a text: a text, a matcher, or null for what
// must not be there.
func (k *checker) textPattern(at string, raw json.RawMessage) {
	if len(raw) > 0 && raw[0] != '"' && raw[0] != '{' && string(raw) != "null" {
		k.report(at, `write a text, or a matcher such as {"$contains": "..."}`, "is not a pattern of a text")
		return
	}
	k.pattern(at, raw, Subset)
}

func (k *checker) mocks() {
	for i, m := range k.c.Mocks {
		at := manifests.IndexPath("mocks", i)
		switch {
		case (m.HTTP == nil) == (m.Call == ""):
			k.report(at, `write "http" for a request, or "call" for another host function`, "does not say which call it answers, or says it twice")
		case (m.Respond == nil) == (m.Error == nil):
			k.report(at, `write "respond" or "error"`, "says neither what it answers nor how it fails, or both")
		case m.Call == "http_request":
			k.report(at+".call", `write "http": {"url": ...} instead`, "requests have a form of their own")
		case m.HTTP != nil && (m.Request != nil || m.Body != nil):
			k.report(at, "write it under http", "request and body are those of a call")
		}
		if m.HTTP != nil {
			k.request(at+".http", *m.HTTP)
		}
		k.pattern(at+".request", m.Request, Subset)
		k.textPattern(at+".body", m.Body)
		if m.Respond != nil {
			k.answer(at+".respond", m)
		}
	}
}

func (k *checker) request(at string, r HTTPRequest) {
	k.textPattern(at+".url", r.URL)
	k.eachText(at+".headers", r.Headers)
	k.textPattern(at+".body", r.Body)
	k.pattern(at+".json", r.JSON, Subset)
	if r.Body != nil && r.JSON != nil {
		k.report(at+".json", "keep one of the two", "does not go together with body")
	}
}

func (k *checker) answer(at string, m Mock) {
	a := m.Respond
	if m.Call != "" && (a.Status != 0 || a.Headers != nil) {
		k.report(at, "write meta for the data of the answer", "status and headers are those of a request")
	}
	if m.HTTP != nil && a.Meta != nil {
		k.report(at+".meta", "write status and headers", "is for other functions than requests")
	}
	k.payload(at, a.Payload)
}

func (k *checker) payload(at string, p Payload) {
	k.content(at, map[string]bool{"body": p.Body != nil, "json": p.JSON != nil, "base64": p.Base64 != nil, "file": p.File != ""}, false)
	k.dataFile(at+".file", p.File)
}

func (k *checker) serve() {
	for _, name := range slices.Sorted(maps.Keys(k.c.Serve)) {
		at := manifests.KeyPath("serve", name)
		if !strings.HasPrefix(name, "/") {
			k.report(at, "begin it with a slash, such as /page", "is not a path of a server")
		}
		k.payload(at, k.c.Serve[name].Payload)
	}
}
