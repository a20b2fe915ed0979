package adopt

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/skillet-run/skillet/host/base/fault"

	"github.com/skillet-run/skillet/host/engine/sandbox/wasmbin/wasmtest"
	"github.com/skillet-run/skillet/manifests"
)

// nothing is a module with one tool.
func nothing() []byte {
	m := wasmtest.New()
	m.ExportFunc("nothing", m.Func(wasmtest.Signature{}, ""))
	return m.Bytes()
}

// write writes a manifest beside a module called a.wasm.
func write(t testing.TB, name, text string) string {
	t.Helper()
	dir := t.TempDir()
	for file, data := range map[string]string{name: text, "a.wasm": string(nothing())} {
		if err := os.WriteFile(filepath.Join(dir, file), []byte(data), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return filepath.Join(dir, name)
}

func asked(t testing.TB, p *Plugin) []string {
	t.Helper()
	rs, err := p.Package.Manifest().Requests("/ws")
	if err != nil {
		t.Fatal(err)
	}
	all := []string{}
	for _, r := range rs {
		if r.Reason == "" {
			t.Errorf("%s has no reason", r.Capability)
		}
		all = append(all, r.Capability.String())
	}
	return all
}

func TestPermissions(t *testing.T) {
	t.Parallel()
	for members, want := range map[string]string{
		`"allowed_hosts":["a.example"]`:                      "http:* https://a.example/* http:* http://a.example/*; 1", // of the ports
		`"allowed_hosts":["A.example:8080"]`:                 "http:* https://a.example:8080/* http:* http://a.example:8080/*",
		`"allowed_hosts":["127.0.0.1"]`:                      "http:* https://127.0.0.1/* http:* http://127.0.0.1/*; 1",
		`"allowed_hosts":["127.0.0.1:80","[::1]:81"]`:        "http:* https://127.0.0.1:80/* http:* http://127.0.0.1/* http:* https://[::1]:81/* http:* http://[::1]:81/*",
		`"allowed_hosts":["*.a.example"]`:                    "http:* https://*.a.example/* http:* http://*.a.example/*; 2",
		`"allowed_hosts":["*"]`:                              "; 1",
		`"allowed_hosts":["a?.example","x/y","u@v","a b"]`:   "; 4",
		`"allowed_hosts":["https://a.example"]`:              "; 1",
		`"allowed_hosts":["a.example/path","a.example#x"]`:   "; 2",
		`"allowed_paths":{"/data":"/data"}`:                  "fs.read:/data/** fs.write:/data/**",
		`"allowed_paths":{"ro:/data":"/data/"}`:              "fs.read:/data/**",
		`"allowed_paths":{"./data":"data"}`:                  "fs.read:/ws/data/** fs.write:/ws/data/**",
		`"allowed_paths":{"/data":"/mnt","..":"..","~":"~"}`: "; 3",
		`"allowed_paths":{"/d*":"/d*"}`:                      "; 1",
		`"timeout_ms":500,"memory":{"max_pages":16}`:         "",
		`"memory":{"max_pages":17,"max_var_bytes":1}`:        "; 2",
		`"timeout_ms":1000000000`:                            "; 1",
	} {
		p, err := Extism(t.Context(), write(t, "a.json", `{"wasm":[{"path":"a.wasm"}],`+members+`}`), nil)
		if err != nil {
			t.Errorf("%s: %v", members, err)
			continue
		}
		got := strings.Join(asked(t, p), " ")
		if n := len(p.Notes); n > 0 {
			got += fmt.Sprint("; ", n)
		}
		if got != want {
			t.Errorf("%s: asks for %s, want %s; notes %q", members, got, want, p.Notes)
		}
	}
}

func TestLimits(t *testing.T) {
	t.Parallel()
	p, err := Extism(t.Context(), write(t, "a.json", `{"wasm":[{"path":"a.wasm"}],"timeout_ms":2500,"memory":{"max_pages":48},"config":{"a":"b","c":null}}`), nil)
	if err != nil {
		t.Fatal(err)
	}
	m := p.Package.Manifest()
	if l := m.Limits(); l.MemoryBytes != 3<<20 || l.Seconds != 2.5 || len(m.Config) != 1 || m.Config["a"] != "b" || len(p.Notes) != 0 {
		t.Errorf("%+v, %v, %q", l, m.Config, p.Notes)
	}
}

func TestModules(t *testing.T) {
	t.Parallel()
	wasm := nothing()
	digest := manifests.DigestOf(wasm).Hex()
	data := base64.StdEncoding.EncodeToString(wasm)
	get := func(_ context.Context, address string, want manifests.Digest) ([]byte, error) {
		if address != "https://example.com/a.wasm" || want != "" && want.Hex() != digest {
			return nil, fmt.Errorf("asked for %s %s", address, want)
		}
		return wasm, nil
	}
	for module, kind := range map[string]fault.Kind{
		`{"path":"a.wasm"}`: "",
		`{"path":"a.wasm","hash":"` + strings.ToUpper(digest) + `"}`: "",
		`{"path":"a.wasm","hash":"` + strings.Repeat("0", 64) + `"}`: fault.KindVerification,
		`{"path":"a.wasm","hash":"x"}`:                               fault.KindUsage,
		`{"path":"b.wasm"}`:                                          fault.KindNotFound,
		`{"path":"."}`:                                               fault.KindNotFound,
		`{"data":"` + data + `"}`:                                    "",
		`{"data":"?"}`:                                               fault.KindUsage,
		`{"data":"AAAA"}`:                                            fault.KindVerification,
		`{"url":"https://example.com/a.wasm","hash":"` + digest + `","method":"GET"}`: "",
		`{"url":"https://example.com/a.wasm","method":"POST"}`:                        fault.KindUsage,
		`{"url":"https://example.com/a.wasm","headers":{"a":"b"}}`:                    fault.KindUsage,
		`{"name":"main"}`: fault.KindUsage,
		`{"path":"a.wasm"},{"path":"a.wasm","name":"other"}`: fault.KindUsage,
	} {
		_, err := Extism(t.Context(), write(t, "a.json", `{"wasm":[`+module+`]}`), get)
		if got := fault.AsError(err); kind == "" && err != nil || kind != "" && (err == nil || got.Kind != kind || got.Way().String() == "") {
			t.Errorf("%s: %v, want %q", module, err, kind)
		}
	}
	if _, err := Extism(t.Context(), write(t, "a.json", `{"wasm":[{"url":"https://example.com/a.wasm"}]}`), nil); err == nil {
		t.Error("a module is fetched by nobody")
	}
}

func TestNames(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]string{
		"/x/count_Vowels.json": "count-vowels", "/x/My Plugin/manifest.json": "my-plugin", "/manifest.json": "extism-plugin", "/x/__.json": "x",
	} {
		if got := pluginName(path); got != want {
			t.Errorf("%s: %s, want %s", path, got, want)
		}
	}
	for path, want := range map[string]bool{"a.json": true, "a.TOML": true, "x/skill.json": false, "a.skill": false, "a": false} {
		if got := IsExtism(path); got != want {
			t.Errorf("%s: %v", path, got)
		}
	}
}

// FuzzExtism demands that every manifest is refused, or gives a package that asks
// for no more hosts and paths than it names.
func FuzzExtism(f *testing.F) {
	for _, seed := range []string{
		`{"wasm":[{"path":"a"}]}`, `{"wasm":[{"data":"AA=="}],"memory":{"max_pages":3},"config":{"a":null},"timeout_ms":5}`,
		`{"wasm":[{"url":"u"}],"allowed_hosts":["*","*.a.b","c:1"],"allowed_paths":{"ro:/a":"/a","b":"b"}}`, `[]`, `{`, `{"wasm":[],"x":1}`,
		`{"wasm":[{"path":"a"}],"allowed_hosts":["a/*","*/","[::1]","a,b"]}`,
	} {
		f.Add([]byte(seed))
	}
	wasm := nothing()
	f.Fuzz(func(t *testing.T, data []byte) {
		e, err := parseExtism(data)
		if err != nil {
			if fault.AsError(err).Kind != fault.KindUsage {
				t.Fatal(err)
			}
			return
		}
		p, err := e.plugin("demo", "demo.json", wasm)
		var refused manifests.Errors
		if errors.As(err, &refused) { // text that nobody can see, such as in a value of config
			return
		}
		if err != nil {
			t.Fatalf("%s: %v", data, err)
		}
		all := asked(t, p)
		if most := 2 * (len(e.AllowedHosts) + len(e.AllowedPaths)); len(all) > most {
			t.Fatalf("asks for %q", all)
		}
		for _, n := range p.Package.Manifest().Security.Permissions.Network {
			host := strings.TrimSuffix(strings.SplitN(n.URL, "://", 2)[1], "/*")
			if !slices.Contains(e.AllowedHosts, host) {
				t.Fatalf("asks for %s", n.URL)
			}
		}
		if !json.Valid(data) {
			t.Fatalf("%q was read", data)
		}
	})
}

// TestCommand takes the functions that toolchains export beside _start for none.
func TestCommand(t *testing.T) {
	t.Parallel()
	for exports, want := range map[string]string{
		"_start":                                "run",
		"_start __main_void __original_main":    "run",
		"__wasm_call_ctors _start other":        "other run",
		"_initialize __wasm_call_ctors __other": "__other",
	} {
		m := wasmtest.New()
		for _, name := range strings.Fields(exports) {
			m.ExportFunc(name, m.Func(wasmtest.Signature{}, ""))
		}
		path := filepath.Join(t.TempDir(), "a.wasm")
		if err := os.WriteFile(path, m.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
		p, err := Module(path)
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, tool := range p.Manifest().Tools {
			names = append(names, tool.Name)
		}
		if got := strings.Join(names, " "); got != want {
			t.Errorf("%s: tools %s, want %s", exports, got, want)
		}
	}
}
