package policies

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/skillet-run/skillet/policies/capability"
)

// What no request has is refused where it stands, with the form to write.
func TestRefusesWhatNeverMatches(t *testing.T) {
	t.Parallel()
	const file, web, any = `action == Action::"fs.read"`, `action == Action::"http"`, `action`
	for _, c := range []struct{ action, condition, want string }{
		{file, `resource in Path::"/data/"`, `write Path::"/data"`},
		{file, `resource in Path::"//data"`, `write Path::"/data"`},
		{file, `resource in Path::"/data/."`, `write Path::"/data"`},
		{file, `resource in Path::"/x/../data"`, `write Path::"/data"`},
		{file, `resource in Path::"data"`, "written whole, from /"},
		{file, `resource in Path::"~/data"`, "written whole, from /"},
		{file, `resource in Path::"C:\\data"`, "written whole, from /"},
		{file, `resource in Path::""`, "written whole, from /"},
		{file, `resource in Path::"/data/*"`, "resource in Path::\"/data\"` for everything in a directory, or `context.path like \"/data/*\"`"},
		{file, `resource in Path::"/a\u{7}b"`, "no path of a request has"},
		{file, `[Path::"/data/"].contains(resource)`, `write Path::"/data"`},
		{file, `context.path == "/data/"`, `write "/data"`},
		{file, `context.path like "/data/"`, `write "/data/*"`},
		{file, `context.path like "data/*"`, `begins with "/"`},
		{file, `context.folded like "/Data/*"`, `write "/data/*"`},
		{file, `context.folded == "/Data"`, `write "/data"`},
		{file, `context.home == "within"`, `"inside"`},
		{file, `context.origin == "users"`, `"user"`},
		{web, `resource in Host::"LocalHost"`, `write Host::"localhost"`},
		{web, `resource in Host::"localhost."`, `write Host::"localhost"`},
		{web, `resource in Host::".example.com"`, `write Host::"example.com"`},
		{web, `resource in Host::"localhost:18182"`, "write Host::\"localhost\" and `context.port == 18182`"},
		{web, `resource in Host::"*.example.com"`, "`resource in Host::\"example.com\"`"},
		{web, `resource in Host::"http://localhost"`, `write Host::"localhost"`},
		{web, `resource in Host::"example.com/v1"`, `write Host::"example.com"`},
		{web, `resource in Host::"[::1]"`, `write Host::"::1"`},
		{web, `resource in Host::"::ffff:127.0.0.1"`, `write Host::"127.0.0.1"`},
		{web, `resource in Host::"0x7f.1"`, "without port"},
		{web, `resource in Host::"bücher.example"`, "lower-case ASCII"},
		{web, `resource in Host::"10.0.0.0/8"`, `context.address.isInRange(ip("10.0.0.0/8"))`},
		{web, `context.host == "Example.com"`, `write "example.com"`},
		{web, `context.method == "get"`, `write "GET"`},
		{web, `context.method != "get"`, `write "GET"`},
		{web, `["POST", "put"].contains(context.method)`, `write "PUT"`},
		{web, `context.scheme == "HTTPS"`, `"https"`},
		{web, `context.grant == "http:get https://example.com"`, "http"},
		{`action == Action::"secret"`, `resource == Name::"GitHub"`, `write Name::"github"`},
		{`action == Action::"secret"`, `resource == Name::"git*"`, "`context.name like \"git*\"`"},
		{`action == Action::"secret"`, `context.name == "GitHub"`, `write "github"`},
		{`action == Action::"skill"`, `resource == Name::"Http"`, `write Name::"http"`},
		{`action == Action::"session"`, `resource == Name::"work"`, "SKILL/NAME"},
		{`action == Action::"model"`, `resource == Name::"a b"`, "not a name"},
		{`action == Action::"kv"`, `resource == Name::"mine"`, `write Name::""`},
		{`action == Action::"install"`, `resource == Path::"/data/"`, "/"},
		{`action == Action::"install"`, `context.wants == "read"`, `"fs.read"`},
		{`action == Action::"install"`, `context.capability == "fs.read:/data/"`, "/"},
		{file, `["/data/"].containsAny([context.path])`, `write "/data"`},
		{file, `[context.path].containsAll(["/x", "/data/"])`, `write "/data"`},
		{file, `[context.path].contains("/data/")`, `write "/data"`},
		{file, `context.path like "*/a/../*"`, "segment"},
		{file, `context.folded like "/a/./*"`, "segment"},
		{file, `context.folded like "*/straße/*"`, `write "*/strasse/*"`},
		{file, `context.origin like "Gener*"`, `"generated"`},
		{file, `context.home like "in "`, `"inside"`},
		{web, `context.host like "https://*"`, "no scheme"},
		{web, `context.host like "*.example.com."`, "no dot at its end"},
		{web, `context.host like "*:8080"`, "`context.port`"},
		{web, `context.method == "GETT"`, "unknown method"},
		{web, `context.scheme like "ftp*"`, `"https"`},
		{web, `context.port == 70000`, "1 to 65535"},
		{web, `[443, 0].contains(context.port)`, "1 to 65535"},
		{web, `context has address && context.address == ip("127.0.0.0/8")`, "isInRange"},
		{web, `context.path like "*?key=*"`, "without query"},
		{web, `context.path == "/v1?key=1"`, "without query"},
		{web, `context.grant like "HTTP:*"`, "one of"},
		{`action == Action::"install"`, `context.wants like "FS*"`, `"fs.read"`},
		{`action == Action::"install"`, `context.capability like "HTTP:*"`, "one of"},
		{`action == Action::"secret"`, `context.name like "Git*"`, `write "git*"`},
		{`action == Action::"skill"`, `context.name like "http@*"`, "no version"},
		{any, `principal.version == "v1.0.0"`, "written whole"},
		{any, `principal.version == "1.0"`, "written whole"},
		{any, `principal.version like "^1*"`, "written whole"},
		{any, `principal.signer == "acme"`, "key:sha256:"},
		{any, `principal.signer like "KEY:*"`, "key:sha256:"},
		{any, `principal.digest like "SHA256:*"`, "64 hexadecimal digits"},
		{any, `principal == Skill::"My_Skill"`, "lower-case letters"},
		{any, `principal == Skill::"Files"`, `write Skill::"files"`},
		{any, `principal == Skill::"files@1.0.0"`, `write Skill::"files"`},
		{any, `principal.digest == "SHA256:AB"`, "64 hexadecimal digits"},
	} {
		err := checkText(t, fmt.Sprintf("@id(\"x\")\nforbid (principal, %s, resource)\nwhen { %s };", c.action, c.condition))
		var e *LoadError
		if !errors.As(err, &e) {
			t.Errorf("%s: loaded, want a refusal", c.condition)
			continue
		}
		if e.Line != 3 || !strings.Contains(e.Message, c.want) || !strings.Contains(e.Message, "policy x never matches") {
			t.Errorf("%s: %v, want %s on line 3", c.condition, err, c.want)
		}
	}
}

func TestRefusesAScopeThatNeverMatches(t *testing.T) {
	t.Parallel()
	for scope, want := range map[string]string{
		`principal == Skill::"Files", action, resource`:                                             `Skill::"files"`,
		`principal, action == Action::"fs.read", resource in Path::"/data/"`:                        `Path::"/data"`,
		`principal, action == Action::"fs.read", resource == Path::"/data/"`:                        `Path::"/data"`,
		`principal, action == Action::"http", resource is Host in Host::"Example.com"`:              `Host::"example.com"`,
		`principal, action in [Action::"fs.read", Action::"fs.write"], resource in Path::"/data/*"`: `Path::"/data"`,
	} {
		if err := checkText(t, "@id(\"x\")\nforbid ("+scope+");"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", scope, err, want)
		}
	}
}

func TestAcceptsWhatMatches(t *testing.T) {
	t.Parallel()
	for _, policy := range []string{
		`forbid (principal, action == Action::"fs.read", resource in Path::"/data")`,
		`forbid (principal, action == Action::"fs.read", resource in Path::"/")`,
		`forbid (principal, action == Action::"fs.read", resource in Path::"/Users/Ada/My Files")`,
		`forbid (principal, action == Action::"http", resource in Host::"com")`,
		`forbid (principal, action == Action::"http", resource == Host::"::1")`,
		`forbid (principal, action == Action::"http", resource == Host::"xn--bcher-kva.example")`,
		`forbid (principal, action == Action::"http", resource) when { context.path == "/v1/" && context.path like "*/admin/" }`,
		`forbid (principal, action == Action::"kv", resource == Name::"")`,
		`forbid (principal, action, resource == Name::"github")`,
		`forbid (principal, action == Action::"model", resource == Name::"ollama/Qwen3:4b")`,
		`forbid (principal, action == Action::"session", resource == Name::"js-repl/work")`,
		`forbid (principal, action == Action::"install", resource == Path::"/data/**")`,
		`forbid (principal, action == Action::"install", resource in Host::"*.example.com")`,
		`forbid (principal, action == Action::"install", resource) when { context has host && context.host == "*.example.com" }`,
		`forbid (principal, action == Action::"install", resource == Name::"git*")`,
		`forbid (principal == Skill::"html-to-text", action, resource)`,
		`forbid (principal, action, resource) when { ["1.0.0", "2.0.0-rc.1+x", ""].contains(principal.version) || principal.version like "1.*" }`,
		`forbid (principal, action, resource) when { principal.signer == "" || principal.signer like "keyless:token.actions*" || principal.signer like "key:*" }`,
		`forbid (principal, action == Action::"http", resource) when { context.host like "*:*" || context.host like "10.*" || context.port == 8080 }`,
		`forbid (principal, action == Action::"http", resource) when { context has address && context.address == ip("127.0.0.1") }`,
		`forbid (principal, action == Action::"http", resource) when { ["GET", "HEAD"].contains(context.method) || context.grant like "http:* https://a.example*" }`,
		`forbid (principal, action == Action::"fs.read", resource) when { context.path like "*/what?*" || context.path like "*/..data/*" || context.origin like "gen*" }`,
		`forbid (principal, action in [Action::"secret", Action::"model"], resource) when { context.name like "Qwen*" }`,
	} {
		if err := checkText(t, `@id("x") `+policy+";"); err != nil {
			t.Errorf("%s: %v", policy, err)
		}
	}
}

func checkText(t *testing.T, text string) error {
	t.Helper()
	file := filepath.Join(t.TempDir(), "x.cedar")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := Check(file)
	return err
}

// A policy may name what an action is asked about: the name in its example, or
// nothing for an action that has none.
func TestNamesOfEveryAction(t *testing.T) {
	t.Parallel()
	for _, k := range capability.Kinds() {
		if !hasName(string(k.Action)) {
			continue
		}
		_, name, _ := strings.Cut(k.Example, ":")
		if why := nameProblem(name, []string{string(k.Action)}); why != "" {
			t.Errorf("%s is asked about %q, and a policy that says so is refused: %s", k.Action, name, why)
		}
		if why := nameProblem(name, nil); why != "" {
			t.Errorf("a policy for every action may not name %q: %s", name, why)
		}
		if why := nameProblem("*", []string{string(k.Action)}); why == "" {
			t.Errorf("a policy names * as what %s is asked about, which no request has", k.Action)
		}
	}
}
