package main

import (
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/registry"

	"github.com/skillet-run/skillet/manifests/bundle"
)

// registries are OCI registries on this machine: one that is open to everybody,
// and one that lets in who says the password. Each returns its HOST:PORT.
func registries(t *testing.T) (open, guarded string) {
	t.Helper()
	start := func(h http.Handler) string {
		s := httptest.NewServer(h)
		t.Cleanup(s.Close)
		return strings.TrimPrefix(s.URL, "http://")
	}
	quiet := func() http.Handler {
		return registry.New(registry.Logger(log.New(io.Discard, "", 0)), registry.WithReferrersSupport(true))
	}
	behind := quiet()
	return start(quiet()), start(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if user, word, _ := r.BasicAuth(); user != "ada" || word != "hunter2hunter2" {
			w.Header().Set("WWW-Authenticate", `Basic realm="registry"`)
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		behind.ServeHTTP(w, r)
	}))
}

// What is behind the last colon of an address may be a tool, and may be part of
// the address.
func TestIsSource(t *testing.T) {
	t.Parallel()
	digest := "sha256:" + strings.Repeat("0a", 32)
	for arg, want := range map[string]struct{ text, tool string }{
		"oci://h:5000/a/text":                       {"oci://h:5000/a/text", ""},
		"oci://h:5000/a/text:1.0.0":                 {"oci://h:5000/a/text:1.0.0", ""},
		"oci://h:5000/a/text:stable":                {"oci://h:5000/a/text:stable", ""},
		"oci://h:5000/a/text:1.0.0:count":           {"oci://h:5000/a/text:1.0.0", "count"},
		"oci://h/text@" + digest:                    {"oci://h/text@" + digest, ""},
		"oci://h/text@" + digest + ":count":         {"oci://h/text@" + digest, "count"},
		"oci-layout:dir":                            {"oci-layout:dir", ""},
		"oci-layout:dir:1.0.0":                      {"oci-layout:dir:1.0.0", ""},
		"oci-layout:dir:1.0.0:count":                {"oci-layout:dir:1.0.0", "count"},
		"https://h:1/text.skill":                    {"https://h:1/text.skill", ""},
		"https://h:1/text.skill:count":              {"https://h:1/text.skill", "count"},
		"https://h/text.skill#" + digest:            {"https://h/text.skill#" + digest, ""},
		"https://h/text.skill#" + digest + ":count": {"https://h/text.skill#" + digest, "count"},
		"git+https://h/r":                           {"git+https://h/r", ""},
		"git+https://h:1/r#v1:text":                 {"git+https://h:1/r#v1:text", ""},
		"git+https://h/r#v1:text:count":             {"git+https://h/r#v1:text", "count"},
		"git+https://h/r#v1::count":                 {"git+https://h/r#v1:", "count"},
	} {
		text, tool, ok := isSource(arg)
		if !ok || text != want.text || tool != want.tool {
			t.Errorf("%s: %q and %q, %v", arg, text, tool, ok)
		}
		if _, err := parseSource(text); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
	for _, arg := range []string{"text", "text:count", "text@1.0.0:count", "./text:count", "x.skill:count", "a.wasm"} {
		if _, _, ok := isSource(arg); ok {
			t.Errorf("%s is taken for an address", arg)
		}
	}
}

// writeEcho writes a package whose tool echo gives back its input.
func writeEcho(w io.Writer) error {
	p, err := bundle.FromFiles(map[string][]byte{
		"skill.json": []byte(`{"name":"csv","version":"1.0.0","description":"d","type":"code_inline","command":"main.wasm","tools":[{"name":"echo"}]}`),
		"main.wasm":  echo(),
	})
	if err != nil {
		return err
	}
	return p.WriteArchive(w)
}
