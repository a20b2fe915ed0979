package manifests_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/skillet-run/skillet/manifests"
)

// TestMCPRequests: what a server asks for follows from where it is.
func TestMCPRequests(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"complete-mcp.json":     "fs.read:/srv/issues/** secret:issues native",
		"complete-mcp-url.json": "secret:issues http:DELETE,POST https://mcp.example.com/mcp",
	} {
		asked, err := complete(t, name).Requests("/work")
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, r := range asked {
			got = append(got, r.Capability.String())
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s asks for %q, want %q", name, got, want)
		}
	}
}

// TestMCPRefused: what would be ignored of a server is refused.
func TestMCPRefused(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, field, value, want string }{
		{"complete-mcp.json", "command", `"node"`, "absolute path"},
		{"complete-mcp.json", "tools", `[]`, "what is not listed is not called"},
		{"complete-mcp.json", "mcp", `{"program_digest":"sha256:` + strings.Repeat("0", 64) + `","unconfined":true}`, "can reach all files"},
		{"complete-mcp.json", "mcp", `{}`, "program_digest"},
		{"complete-mcp.json", "mcp", `null`, "mcp"},
		{"complete-mcp.json", "prompt", `"x"`, "no prompt"},
		{"complete-mcp.json", "snapshot", `"none"`, "no module"},
		{"complete-mcp.json", "security", `{"permissions":{"network":["https://example.com/*"]}}`, "nothing holds a program to addresses"},
		{"complete-mcp.json", "security", `{"permissions":{"file_read":["/data/*.csv"]}}`, "is a pattern"},
		{"complete-mcp-url.json", "command", `"/bin/true"`, "nothing is started"},
		{"complete-mcp-url.json", "mcp", `{"url":"ftp://example.com"}`, "http or https"},
		{"complete-mcp-url.json", "security", `{"permissions":{"secrets":[{"name":"x","inject":{"url":"https://other.example.com/*","header":"X-Key"}}]}}`, "no address it matches"},
		{"complete.json", "mcp", `{"url":"https://example.com/mcp"}`, "is not a server"},
	} {
		var doc map[string]json.RawMessage
		if err := json.Unmarshal(readFile(t, "testdata", c.name), &doc); err != nil {
			t.Fatal(err)
		}
		doc[c.field] = json.RawMessage(c.value)
		text, err := json.Marshal(doc)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := manifests.Parse(text, "skill.json"); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s with %s %s: %v, want %q", c.name, c.field, c.value, err, c.want)
		}
	}
}
