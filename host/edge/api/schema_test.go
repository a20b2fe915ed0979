package api_test

import (
	"bytes"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// schemas has the schemas of answers, of the server's own document.
type schemas struct {
	paths    map[string]map[string]any // by path, then method
	mu       sync.Mutex                // the compiler is for one goroutine
	compiler *jsonschema.Compiler
}

const documentURL = "https://skillet.test/openapi.json"

func schemasOf(t testing.TB, document []byte) *schemas {
	t.Helper()
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(document))
	if err != nil {
		t.Fatal(err)
	}
	s := &schemas{paths: map[string]map[string]any{}, compiler: jsonschema.NewCompiler()}
	if err := s.compiler.AddResource(documentURL, v); err != nil {
		t.Fatal(err)
	}
	for path, methods := range v.(map[string]any)["paths"].(map[string]any) {
		s.paths[path] = methods.(map[string]any)
	}
	return s
}

// path is the path in the document that a request has; empty for none.
func (s *schemas) path(method, path string) string {
	path, _, _ = strings.Cut(path, "?")
	have := strings.Split(path, "/")
	best := ""
	for template, methods := range s.paths {
		want := strings.Split(template, "/")
		fits := len(have) == len(want) && methods[strings.ToLower(method)] != nil
		for i := 0; fits && i < len(want); i++ {
			fits = have[i] == want[i] || strings.HasPrefix(want[i], "{") && have[i] != ""
		}
		if fits && (best == "" || strings.Count(template, "{") < strings.Count(best, "{")) {
			best = template
		}
	}
	return best
}

// check checks that an answer is one that the document has.
func (s *schemas) check(t testing.TB, method, path string, a answer) {
	t.Helper()
	template, media, _ := s.path(method, path), "", false
	if template == "" {
		return
	}
	media, _, _ = strings.Cut(a.header.Get("Content-Type"), ";")
	if strings.HasPrefix(media, "text/") || media == "application/jsonl" || a.status == http.StatusMisdirectedRequest || a.status == http.StatusNotModified {
		return
	}
	escape := strings.NewReplacer("~", "~0", "/", "~1")
	at := documentURL + "#/paths/" + strings.NewReplacer("{", "%7B", "}", "%7D").Replace(escape.Replace(template)) + "/" + strings.ToLower(method) +
		"/responses/" + strconv.Itoa(a.status) + "/content/" + escape.Replace(media) + "/schema"
	s.mu.Lock()
	schema, err := s.compiler.Compile(at)
	s.mu.Unlock()
	if err != nil {
		t.Errorf("%s %s: %d of %s is not in the document: %v", method, path, a.status, media, err)
		return
	}
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(a.body))
	if err == nil {
		err = schema.Validate(v)
	}
	if err != nil {
		t.Errorf("%s %s: the answer is not what the document says: %v\n%s", method, path, err, a.body)
	}
}
