package skills_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// testCase is one entry of a tests/*.json file.
type testCase struct {
	Name      string            `json:"name"`
	Tool      string            `json:"tool"`
	Grants    []string          `json:"grants"`
	Files     map[string]string `json:"files"`
	Serve     map[string]reply  `json:"serve"`
	Input     json.RawMessage   `json:"input"`
	Expect    json.RawMessage   `json:"expect"`
	ErrorKind string            `json:"error_kind"`

	workspace string
}

// reply is what the web server of a case answers for one path.
type reply struct {
	Status  int               `json:"status"`
	Headers map[string]string `json:"headers"`
	Body    string            `json:"body"`
	Base64  string            `json:"base64"`
}

// cases reads all cases of the package, as it would be installed.
func (b built) cases(t testing.TB) []testCase {
	t.Helper()
	var all []testCase
	for _, f := range b.pkg.Files() {
		if !strings.HasPrefix(f.Path, "tests/") || !strings.HasSuffix(f.Path, ".json") {
			continue
		}
		content, err := b.pkg.Read(f.Path)
		if err != nil {
			t.Fatal(err)
		}
		var cases []testCase
		dec := json.NewDecoder(bytes.NewReader(content))
		dec.DisallowUnknownFields()
		if err := dec.Decode(&cases); err != nil {
			t.Fatalf("%s/%s: %v", b.dir, f.Path, err)
		}
		for _, c := range cases {
			if c.Name == "" || c.Input == nil || (c.Expect == nil) == (c.ErrorKind == "") {
				t.Errorf("%s/%s: case %q needs a name, an input, and either expect or error_kind", b.dir, f.Path, c.Name)
			}
		}
		all = append(all, cases...)
	}
	return all
}

// firstAnswered returns the first case that needs no grant and answers.
func (b built) firstAnswered(t testing.TB) testCase {
	t.Helper()
	for _, c := range b.cases(t) {
		if c.ErrorKind == "" && c.Grants == nil {
			return c
		}
	}
	t.Skipf("%s has no case without grants that answers", b.dir)
	return testCase{}
}

// prepare makes the files of a case, starts its server, and fills in where they
// are.
func (c testCase) prepare(t *testing.T) testCase {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	c.workspace = dir
	for name, content := range c.Files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	fill := strings.NewReplacer("${workspace}", dir, "${server}", c.server(t)).Replace
	c.Input, c.Expect = json.RawMessage(fill(string(c.Input))), json.RawMessage(fill(string(c.Expect)))
	grants := make([]string, len(c.Grants))
	for i, g := range c.Grants {
		grants[i] = fill(g)
	}
	c.Grants = grants
	return c
}

// server starts the web server of a case and returns its address.
func (c testCase) server(t *testing.T) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answer, ok := c.Serve[r.URL.Path]
		if !ok {
			http.NotFound(w, r)
			return
		}
		answer.write(w)
	}))
	t.Cleanup(s.Close)
	return s.URL
}

func (a reply) write(w http.ResponseWriter) {
	for name, value := range a.Headers {
		w.Header().Set(name, value)
	}
	if a.Status != 0 {
		w.WriteHeader(a.Status)
	}
	body := []byte(a.Body)
	if a.Base64 != "" {
		body, _ = base64.StdEncoding.DecodeString(a.Base64)
	}
	_, _ = w.Write(body)
}

func decoded(t *testing.T, text []byte) any {
	t.Helper()
	var v any
	if err := json.Unmarshal(text, &v); err != nil {
		t.Fatalf("%q: %v", text, err)
	}
	return v
}

// mismatch says where got does not fit want, or returns "". An object fits when
// it has the wanted members, an array when it has the wanted items in order and
// no others.
func mismatch(at string, want, got any) string {
	switch want := want.(type) {
	case map[string]any:
		have, ok := got.(map[string]any)
		if !ok {
			return fmt.Sprintf("%s is %v, want an object", at, got)
		}
		for name := range want {
			if diff := mismatch(at+"."+name, want[name], have[name]); diff != "" {
				return diff
			}
		}
	case []any:
		have, ok := got.([]any)
		if !ok || len(have) != len(want) {
			return fmt.Sprintf("%s is %v, want %d items", at, got, len(want))
		}
		for i := range want {
			if diff := mismatch(fmt.Sprintf("%s[%d]", at, i), want[i], have[i]); diff != "" {
				return diff
			}
		}
	default:
		if got != want {
			return fmt.Sprintf("%s is %#v, want %#v", at, got, want)
		}
	}
	return ""
}
