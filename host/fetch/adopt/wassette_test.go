package adopt

import (
	"strings"
	"testing"

	"github.com/skillet-run/skillet/host/base/fault"

	"github.com/skillet-run/skillet/policies/capability"
)

func policy(t testing.TB, permissions string) *Policy {
	t.Helper()
	p, err := parseWassette([]byte("version: \"1.0\"\npermissions:\n"+permissions), "/ws")
	if err != nil {
		t.Fatalf("%s: %v", permissions, err)
	}
	return p
}

func TestWassette(t *testing.T) {
	t.Parallel()
	for permissions, want := range map[string]string{
		`  storage: {allow: [{uri: "fs://a", access: [read]}]}`:                                         "fs.read:/ws/a/**",
		`  storage: {allow: [{uri: "fs:///a/*.csv", access: [read, write]}]}`:                           "fs.read:/a/*.csv fs.write:/a/*.csv",
		`  storage: {allow: [{uri: "fs://a", access: [read]}, {uri: "fs://a/**", access: [read]}]}`:     "fs.read:/ws/a/**",
		`  storage: {allow: [{uri: "fs://../a", access: [read]}]}`:                                      "; 1",
		`  storage: {allow: [{uri: "fs://~/a", access: [read]}]}`:                                       "; 1",
		`  storage: {allow: [{uri: "s3://a", access: [read]}]}`:                                         "; 1",
		`  storage: {allow: [{uri: "fs://", access: [read]}]}`:                                          "; 1",
		`  storage: {allow: [{uri: "fs://a/**b", access: [read]}]}`:                                     "; 1",
		`  storage: {deny: [{uri: "fs://a", access: [read]}]}`:                                          "",
		`  network: {allow: [{host: a.example}]}`:                                                       "http:* https://a.example/* http:* http://a.example/*",
		`  network: {allow: [{host: "https://A.example"}]}`:                                             "http:* https://a.example/*",
		`  network: {allow: [{host: "https://a.example/"}]}`:                                            "http:* https://a.example/*",
		`  network: {allow: [{host: "a.example:8080"}]}`:                                                "http:* https://a.example:8080/* http:* http://a.example:8080/*",
		`  network: {allow: [{host: "ftp://a.example"}]}`:                                               "; 1",
		`  network: {allow: [{host: "https://a.example/path"}]}`:                                        "; 1",
		`  network: {allow: [{host: "*"}, {host: "a*.example"}, {host: "a b"}, {host: "u@a.example"}]}`: "; 4",
		`  network: {allow: [{cidr: 10.0.0.0/8}, {defaults: true}]}`:                                    "; 2",
		`  environment: {allow: [{key: A}, {key: B}]}`:                                                  "; 2",
		`  resources: {cpu: 1}`:                                                                         "; 1",
		"  runtime: {docker: {}}\n  ipc: {allow: []}":                                                   "; 2",
		"  runtime:\n  storage:\n  network: {allow: }":                                                  "",
	} {
		p := policy(t, permissions)
		if got := summary(p); got != want {
			t.Errorf("%s: %s, want %s; refused %v", permissions, got, want, p.Refused)
		}
	}
}

// summary are the capabilities, and how many lines are refused.
func summary(p *Policy) string {
	var all []string
	for _, permit := range p.Permits {
		all = append(all, permit.Capability.String())
	}
	text := strings.Join(all, " ")
	if n := len(p.Refused); n > 0 {
		text += "; " + string(rune('0'+n))
	}
	return text
}

// What is forbidden is never granted, even where that takes more away than the
// policy does.
func TestWassetteDeny(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		section, allow, deny string
		allowed              bool
	}{
		{"storage", "fs://a/**", "fs://a/b/**", false},
		{"storage", "fs://a/b/**", "fs://a/**", false},
		{"storage", "fs://a/**", "fs://*/b", false},
		{"storage", "fs://a/**", "fs://b/**", true},
		{"storage", "fs://ab/**", "fs://a/**", true},
		{"storage", "fs://a/**", "s3://x", false},
		{"network", "api.a.example", "*.a.example", false},
		{"network", "*.a.example", "api.a.example", false},
		{"network", "a.example", "https://a.example/", false},
		{"network", "a.example", "a.example:8080", false},
		{"network", "a.example", "*", false},
		{"network", "a.example", "a*", false},
		{"network", "a.example", "a.example.", false},
		{"network", "a.example", "A.example.:443", false},
		{"network", "a.example", "https://a.example./", false},
		{"network", "a.example", "*.example.", false},
		{"network", "a.example", "a.example/path", false},
		{"network", "a.example", "user@a.example", false},
		{"network", "a.example", "a.example?x", false},
		{"network", "a.example", "b.example", true},
		{"network", "xa.example", "a.example", true},
	} {
		entry := func(value string) string {
			if c.section == "network" {
				return `[{host: "` + value + `"}]`
			}
			return `[{uri: "` + value + `", access: [read]}]`
		}
		p := policy(t, "  "+c.section+": {allow: "+entry(c.allow)+", deny: "+entry(c.deny)+"}")
		if allowed := len(p.Permits) > 0; allowed != c.allowed || allowed == (len(p.Refused) > 0) {
			t.Errorf("%s without %s: %+v", c.allow, c.deny, p)
		}
	}
	p := policy(t, `  network: {allow: [{host: a.example}], deny: [{cidr: 0.0.0.0/0}]}`)
	if len(p.Permits) != 0 || len(p.Refused) != 1 {
		t.Errorf("a range of addresses: %+v", p)
	}
}

func TestWassetteIsStrict(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"", "{}", "[]", "- a", "version: 1.0\npermissions: {}", "version: \"2.0\"\npermissions: {}", "version: \"1.0\"",
		"version: \"1.0\"\npermissions: {}\nmore: 1", "version: \"1.0\"\npermissions: {files: {}}",
		"version: \"1.0\"\npermissions: {storage: {allow: [{uri: a}]}}", "version: \"1.0\"\npermissions: {storage: {allow: [{uri: a, access: [exec]}]}}",
		"version: \"1.0\"\npermissions: {network: {allow: [{host: a, cidr: b}]}}", "version: \"1.0\"\npermissions: {environment: {deny: []}}",
		"version: \"1.0\"\nversion: \"1.0\"\npermissions: {}", "a: &x [*x]",
	} {
		_, err := parseWassette([]byte(text), "/ws")
		if e := fault.AsError(err); err == nil || e.Kind != fault.KindUsage || e.Way().String() == "" {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// FuzzWassette demands that every policy is refused, or gives capabilities that
// say what they allow, each with its line.
func FuzzWassette(f *testing.F) {
	for _, seed := range []string{
		`storage: {allow: [{uri: "fs://a/**", access: [read, write]}], deny: [{uri: "fs://b", access: [read]}]}`,
		`network: {allow: [{host: "*.a"}, {cidr: 1.2.3.4/8}, {defaults: true}], deny: [{host: "*"}]}`,
		`environment: {allow: [{key: A}]}`, `resources: {memory: 1}`, `runtime:`, `ipc: {allow: [{uri: "pipe://x"}]}`,
	} {
		f.Add([]byte("version: \"1.0\"\npermissions:\n  " + seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		p, err := parseWassette(data, "/ws")
		if err != nil {
			if fault.AsError(err).Kind != fault.KindUsage {
				t.Fatal(err)
			}
			return
		}
		for _, permit := range p.Permits {
			c := permit.Capability
			if again, err := capability.Parse(c.String()); err != nil || again != c || permit.Line == 0 || permit.From == "" {
				t.Fatalf("%+v: %v", permit, err)
			}
			if a := c.Action(); a != capability.FSRead && a != capability.FSWrite && a != capability.HTTP {
				t.Fatalf("permits %s", c)
			}
		}
		for _, r := range p.Refused {
			if r.Line == 0 || r.Message == "" || r.Suggestion == "" {
				t.Fatalf("%+v", r)
			}
		}
	})
}
