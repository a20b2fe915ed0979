package review_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/skillet-run/skillet/host/engine/sandbox/wasmbin/wasmtest"
	"github.com/skillet-run/skillet/host/review/review"
	"github.com/skillet-run/skillet/manifests/bundle"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// version makes a package whose module calls the host functions that are named.
func version(t *testing.T, v, tools, members string, calls ...string) *bundle.Package {
	t.Helper()
	m := wasmtest.New()
	for _, c := range calls {
		module, name, _ := strings.Cut(c, ":")
		m.ImportFunc(strings.Replace(module, "skillet", "skillet:host/v1", 1), name, wasmtest.Sig("i32 i32 i32 i32", "i64"))
	}
	m.ExportFunc("run", m.Func(wasmtest.Signature{}, ""))
	p, err := bundle.FromFiles(map[string][]byte{
		"skill.json": fmt.Appendf(nil, `{"name":"a","version":%q,"description":"d","type":"code_inline","command":"m.wasm","tools":[%s]%s}`, v, tools, members),
		"m.wasm":     m.Bytes(),
	})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func tool(members string) string { return `{"name":"run"` + members + `}` }

func asks(permissions string) string { return `,"security":{"permissions":{` + permissions + `}}` }

// Every sort of difference, in words.
func TestUpgradesInWords(t *testing.T) {
	t.Parallel()
	const object = `{"type":"object","properties":{"text":{"type":"string"},"count":{"type":"integer"}},"required":["text"],"additionalProperties":false}`
	in := func(schema string) string { return tool(`,"input_schema":` + schema) }
	out := func(schema string) string { return tool(`,"output_schema":` + schema) }
	var b strings.Builder
	for _, c := range []struct {
		name                 string
		before, after        *bundle.Package
		signer, signerBefore string
	}{
		{name: "nothing", before: version(t, "1.0.0", tool(""), ""), after: version(t, "1.0.1", tool(""), "")},
		{
			name:   "capabilities added, widened, narrowed and removed",
			before: version(t, "1.0.0", tool(""), asks(`"file_read":["/data/a.txt"],"file_write":["/out/**"],"kv":{},"network":["https://old.example/*"]`)),
			after:  version(t, "2.0.0", tool(""), asks(`"file_read":["/data/**"],"file_write":["/out/x/**"],"notify":{},"network":["https://new.example/*"]`)),
		},
		{
			name:   "a relative path means the same on both sides",
			before: version(t, "1.0.0", tool(""), asks(`"file_read":["./docs"]`)),
			after:  version(t, "1.1.0", tool(""), asks(`"file_read":["./docs/**"]`)),
		},
		{
			name:   "a secret goes elsewhere",
			before: version(t, "1.0.0", tool(""), asks(`"network":["https://api.example/*"],"secrets":[{"name":"k","inject":{"url":"https://api.example/*","header":"Authorization"}}]`)),
			after:  version(t, "1.0.1", tool(""), asks(`"network":["https://api.example/*"],"secrets":[{"name":"k","inject":{"url":"https://api.example/*","header":"X-Echo"}}]`)),
		},
		{
			name:   "limits up and down",
			before: version(t, "1.0.0", tool(""), `,"security":{"resource_limits":{"max_memory_mb":64,"max_execution_time":10,"max_fuel":1000}}`),
			after:  version(t, "1.1.0", tool(""), `,"security":{"resource_limits":{"max_memory_mb":128,"max_execution_time":2.5,"max_fuel":1000}}`),
		},
		{name: "tools added and removed", before: version(t, "1.0.0", tool("")+`,{"name":"gone"}`, ""), after: version(t, "2.0.0", tool("")+`,{"name":"new"}`, "")},
		{name: "an input that demands more", before: version(t, "1.0.0", in(object), ""), after: version(t, "2.0.0", in(`{"type":"object","properties":{"text":{"type":"string"},"count":{"type":"integer"},"lang":{"type":"string"}},"required":["text","count","lang"],"additionalProperties":false}`), "")},
		{name: "an input that takes more", before: version(t, "1.0.0", in(object), ""), after: version(t, "1.1.0", in(`{"type":"object","properties":{"text":{"type":["string","null"]},"count":{"type":"integer"},"lang":{"type":"string"}},"required":[]}`), "")},
		{name: "an input of other kinds", before: version(t, "1.0.0", in(`{"type":"object","properties":{"m":{"enum":["a","b"]},"n":{"type":"integer","minimum":0},"l":{"type":"array","items":{"type":"string"}}}}`), ""), after: version(t, "2.0.0", in(`{"type":"object","properties":{"m":{"enum":["a"]},"n":{"type":"integer","minimum":1},"l":{"type":"array","items":{"type":"number"}}}}`), "")},
		{name: "an output that promises less", before: version(t, "1.0.0", out(object), ""), after: version(t, "2.0.0", out(`{"type":"object","properties":{"text":{"type":["string","null"]}}}`), "")},
		{name: "an output that promises more", before: version(t, "1.0.0", out(object), ""), after: version(t, "1.1.0", out(`{"type":"object","properties":{"text":{"type":"string"},"count":{"type":"integer"},"lang":{"type":"string"}},"required":["text","count","lang"],"additionalProperties":false}`), "")},
		{name: "schemas that come and go", before: version(t, "1.0.0", in(object), ""), after: version(t, "1.1.0", out(object), "")},
		{name: "only descriptions", before: version(t, "1.0.0", in(`{"type":"object","description":"x"}`), ""), after: version(t, "1.0.1", tool(`,"description":"new","input_schema":{"type":"object","description":"y"}`), "")},
		{name: "promises", before: version(t, "1.0.0", tool(`,"read_only":true`), ""), after: version(t, "1.1.0", tool(`,"idempotent":true`), "")},
		{
			name:   "calls of the module",
			before: version(t, "1.0.0", tool(""), "", "skillet:kv_get", "skillet:kv_put"),
			after:  version(t, "1.1.0", tool(""), "", "skillet:kv_get", "skillet:http_request", "skillet:notify"),
		},
		{name: "signed now", before: version(t, "1.0.0", tool(""), ""), after: version(t, "1.0.1", tool(""), ""), signer: "key:sha256:aa"},
		{name: "another signer", before: version(t, "1.0.0", tool(""), ""), after: version(t, "1.0.1", tool(""), ""), signer: "key:sha256:aa", signerBefore: "key:sha256:bb"},
		{name: "not signed any more", before: version(t, "1.0.0", tool(""), ""), after: version(t, "1.0.1", tool(""), ""), signerBefore: "key:sha256:bb"},
		{
			name:   "dependencies and data",
			before: version(t, "1.0.0", tool(""), `,"dependencies":{"csv":"^1.0.0","old":"1.0.0"},"provides":{"table":"1.0.0"}`+asks(`"kv":{}`)),
			after:  version(t, "2.0.0", tool("")+`,{"name":"move","input_schema":{"type":"object","required":["from","to"]}}`, `,"dependencies":{"csv":"^2.0.0","new":{"version":"1.0.0","optional":true}},"provides":{"table":"1.1.0"}`+asks(`"kv":{"schema_version":2,"migrate":"move"}`)),
		},
	} {
		u, err := review.CompareSides(
			review.Side{Package: c.before, Signer: c.signerBefore, Workspace: "/ws"}, review.Side{Package: c.after, Signer: c.signer, Workspace: "/ws"},
		)
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		fmt.Fprintf(&b, "# %s: %s to %s%s%s\n", c.name, u.From, u.To, when(u.Grows(), ", asks for more"), when(u.Breaks(), ", may break callers"))
		for _, line := range u.Lines() {
			fmt.Fprintln(&b, line)
		}
		fmt.Fprintln(&b)
	}
	golden(t, "upgrades", b.String())
}

func when(yes bool, text string) string {
	if yes {
		return text
	}
	return ""
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name+".golden")
	if *update {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s is not what is expected; go test -update rewrites it:\n%s", path, got)
	}
}

// What a module calls against what its manifest asks for: the whole table.
func TestImportsAgainstManifest(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		call, permission string
		refused          bool // without the permission
	}{
		{"skillet:http_request", `"network":["https://a.example/*"]`, true},
		{"extism:host/env:http_request", `"network":[]`, true},
		{"skillet:kv_get", `"kv":{}`, true},
		{"skillet:kv_list", `"kv":{}`, true},
		{"skillet:fs_read", `"file_read":["/a"]`, true},
		{"skillet:fs_write", `"file_write":["/a"]`, true},
		{"skillet:fs_stat", `"file_read":[]`, true},
		{"skillet:secret_exists", `"secrets":["k"]`, true},
		{"skillet:notify", `"notify":{}`, true},
		{"wasi_snapshot_preview1:path_open", `"file_read":["/a"]`, false}, // in every program of C and Go
		{"wasi_snapshot_preview1:clock_time_get", `"clock":{}`, false},
		{"wasi_snapshot_preview1:random_get", `"random":{}`, false},
		{"skillet:log", ``, false},
		{"extism:host/env:var_get", ``, false},
	} {
		module, name := c.call[:strings.LastIndex(c.call, ":")], c.call[strings.LastIndex(c.call, ":")+1:]
		check := func(what, permission string, calls bool, refused, flagged int) {
			t.Helper()
			m := wasmtest.New()
			if calls {
				m.ImportFunc(strings.Replace(module, "skillet", "skillet:host/v1", 1), name, wasmtest.Sig("", ""))
			}
			m.ExportFunc("run", m.Func(wasmtest.Signature{}, ""))
			p, err := bundle.FromFiles(map[string][]byte{
				"skill.json": fmt.Appendf(nil, `{"name":"a","version":"1.0.0","description":"d","type":"code_inline","command":"m.wasm","tools":[{"name":"run"}]%s}`, asks(permission)),
				"m.wasm":     m.Bytes(),
			})
			if err != nil {
				t.Fatal(err)
			}
			found, err := review.Imports(p)
			if err != nil {
				t.Fatal(err)
			}
			for _, f := range found {
				if f.Refused {
					refused--
				} else {
					flagged--
				}
				if f.Words == "" || f.Permission == "" || f.Refused && (f.WayOut == "" || len(f.Imports) == 0) {
					t.Errorf("%s %s: %+v", c.call, what, f)
				}
			}
			if refused != 0 || flagged != 0 {
				t.Errorf("%s %s: got %+v", c.call, what, found)
			}
		}
		check("without the permission", "", true, len(when(c.refused, "x")), 0)
		check("with the permission", c.permission, true, 0, 0)
		if c.permission != "" {
			check("asked for and not called", c.permission, false, 0, 1)
		}
	}
}
