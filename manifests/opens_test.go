package manifests_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/skillet-run/skillet/manifests"
)

// What a schema refers to is in the schema: no file is opened for it, and no server
// asked, whoever wrote it.
func TestSchemasOpenNothing(t *testing.T) {
	t.Parallel()
	const secret = "SECRET-OF-SOMEBODY"
	file := filepath.Join(t.TempDir(), "secret.json")
	if err := os.WriteFile(file, []byte(`{"const": "`+secret+`"}`), 0o644); err != nil {
		t.Fatal(err)
	}
	var asked atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked.Add(1)
		_, _ = w.Write([]byte(`{"const": "` + secret + `"}`))
	}))
	t.Cleanup(server.Close)
	url := "file://" + filepath.ToSlash(file)
	for _, schema := range []string{
		`{"$ref": "` + url + `"}`, `{"$ref": "` + server.URL + `"}`, `{"$ref": "` + filepath.ToSlash(file) + `"}`,
		`{"$id": "` + url + `", "$ref": "#/const"}`, `{"$id": "file:///", "properties": {"a": {"$ref": "` + strings.TrimPrefix(filepath.ToSlash(file), "/") + `"}}}`,
		`{"$schema": "` + url + `"}`, `{"$schema": "` + server.URL + `"}`, `{"$dynamicRef": "` + url + `#a"}`,
		`{"allOf": [{"$ref": "` + url + `#/const"}]}`, `{"$defs": {"a": {"$id": "` + url + `"}}, "$ref": "secret.json"}`,
	} {
		text, err := json.Marshal(map[string]any{
			"name": "a", "version": "1.0.0", "description": "d", "type": "code_inline", "command": "main.wasm",
			"tools": []any{map[string]any{"name": "t", "description": "d", "input_schema": json.RawMessage(`{"type": "object", "properties": {"a": ` + schema + `}}`)}},
		})
		if err != nil {
			t.Fatal(err)
		}
		m, err := manifests.Parse(text, manifests.FileJSON)
		if err == nil {
			tool, _ := m.Tool("t")
			err = m.ValidateInput(tool, json.RawMessage(`{"a": 1}`))
		}
		if err == nil || strings.Contains(err.Error(), secret) {
			t.Errorf("%s: %v", schema, err)
		}
	}
	if asked.Load() > 0 {
		t.Error("a server was asked")
	}
}
