package mcpserver

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/skillet-run/skillet/manifests"
)

// npmServers is where `make mcptools` installs servers of others, and the Node that runs them.
func npmServers(t *testing.T) (node, modules string) {
	t.Helper()
	tools := filepath.Join("..", "..", "..", ".tools")
	if dir := os.Getenv("SKILLET_TOOLS"); dir != "" {
		tools = dir
	}
	modules, err := filepath.Abs(filepath.Join(tools, "mcpservers", "node_modules"))
	if err != nil {
		t.Fatal(err)
	}
	node = filepath.Join(modules, "..", "..", "mcp", "node_modules", ".bin", "node")
	if _, err := os.Stat(modules); err != nil {
		t.Skip("the servers of npm are not here: make mcptools")
	}
	if _, err := os.Stat(node); err != nil {
		if node, err = exec.LookPath("node"); err != nil {
			t.Skip("there is no node here: make mcptools")
		}
	}
	return node, modules
}

// TestServersOfOthers calls the reference servers of the protocol, held as any is.
func TestServersOfOthers(t *testing.T) {
	t.Parallel()
	needConfinement(t)
	node, modules := npmServers(t)
	program, err := Resolve(node)
	if err != nil {
		t.Fatal(err)
	}
	digests := map[string]manifests.Digest{}
	for _, path := range []string{program, modules} {
		if digests[path], err = Digest(path); err != nil {
			t.Fatal(err)
		}
	}
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "a.txt"), []byte("hello"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		server, tool, arguments, want string
		args                          []string
		failed                        bool
	}{
		{"server-everything", "get_sum", `{"a":1,"b":2}`, "3", nil, false},
		{"server-everything", "get_structured_content", `{"location":"Chicago"}`, `"temperature"`, nil, false},
		{"server-filesystem", "read_text_file", `{"path":"` + dir + `/a.txt"}`, "hello", []string{dir}, false},
		{"server-filesystem", "read_text_file", `{"path":"/etc/passwd"}`, "denied", []string{dir}, true},
	} {
		pool := NewPool(hclog.NewNullLogger(), time.Hour)
		p := Program{
			Name: c.server, Command: program, Digest: digests[program], Pins: []manifests.Pin{{Path: modules, Digest: digests[modules]}}, Read: c.args,
			Args: append([]string{filepath.Join(modules, "@modelcontextprotocol", c.server, "dist", "index.js")}, c.args...),
		}
		o, err := pool.Offer(t.Context(), p)
		if err != nil || len(o.Odd) > 0 {
			t.Fatalf("%s: %v, %v", c.server, o.Odd, err)
		}
		i := slices.IndexFunc(o.Tools, func(x manifests.Tool) bool { return x.Name == c.tool })
		if i < 0 {
			t.Fatalf("%s has no %s", c.server, c.tool)
		}
		r, err := pool.Call(t.Context(), c.server, Key(p), func() (Program, error) { return p, nil }, o.Tools[i], []byte(c.arguments))
		if err != nil || r.Failed != c.failed || !strings.Contains(string(r.Output), c.want) {
			t.Errorf("%s %s: %s, %v", c.tool, c.arguments, r.Output, err)
		}
		pool.Close()
	}
}
