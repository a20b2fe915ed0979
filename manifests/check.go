package manifests

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/textproto"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/skillet-run/skillet/manifests/semver"
	"github.com/skillet-run/skillet/policies/capability"
)

// A checker checks what the schema cannot say, and compiles the tools' schemas
// on the way.
type checker struct {
	m        *Manifest
	doc      *node // the document m was read from
	errs     Errors
	compiled map[string]*valueSchema
}

// report notes a problem of the field at path.
func (c *checker) report(at, suggestion, format string, args ...any) {
	c.errs = append(c.errs, Problem{Path: at, Message: fmt.Sprintf(format, args...), Suggestion: suggestion})
}

func (c *checker) check() {
	c.identity()
	c.kind()
	c.notMCP()
	c.command()
	c.args()
	c.tools()
	c.permissions()
	c.injections()
	c.state()
	c.resilience()
	c.performance()
	c.sessions()
	c.parameters()
	c.placeholders()
	c.misplaced()
	c.contextFiles()
	c.versions()
}

func (c *checker) identity() {
	if !isVersion(c.m.Version) {
		c.report("version", "write three numbers, such as 1.2.0", "%q is not a semantic version", c.m.Version)
	}
	for i, a := range c.m.Aliases {
		if a == c.m.Name {
			c.report("aliases"+indexStep(i), "remove it", "is the name of the skill itself")
		}
	}
}

// kind checks the fields a kind of skill cannot do without.
func (c *checker) kind() {
	m := c.m
	switch {
	case m.Type.IsPlugin():
		c.plugin()
	case m.Type.IsMCP():
		c.mcp()
	case m.Type.IsCode() && m.Command == "":
		c.report("command", "name the module in the package, such as main.wasm", "is missing; a %s skill runs it", m.Type)
	case m.Type.IsCode() && len(m.Tools) == 0:
		c.report("tools", `name an exported function, such as [{"name": "read_text"}]`, "is missing; without a tool nothing of a %s skill can be called", m.Type)
	case m.Type == KindConversation && m.Prompt == "" && m.PromptTemplate == "":
		c.report("prompt_template", "add it, or prompt", "is missing; a conversation skill is its prompt")
	case m.Type == KindPromptInline && m.Prompt == "":
		c.report("prompt", "add it", "is missing; a prompt_inline skill is its prompt")
	}
}

var interpreterName = regexp.MustCompile(`^[a-z0-9]+([._-][a-z0-9]+)*$`)

// isModule reports whether a command names a module in the package, rather
// than an interpreter.
func isModule(command string) bool { return path.Ext(command) == ".wasm" }

func (c *checker) command() {
	command := c.m.Command
	switch {
	case command == "" || c.m.Type.IsPlugin() || c.m.Type.IsMCP():
	case isModule(command):
		if !isPackagePath(command) {
			c.report("command", "write the path of a file in the package, such as bin/main.wasm", "%q is not a path in the package", command)
		}
	case !interpreterName.MatchString(command):
		c.report("command", "name a module that ends in .wasm; put arguments in args", "%q is neither a module nor the name of an interpreter", command)
	default:
		c.interpreter(command)
	}
}

// interpreter checks what goes with a command that is not a module: the script, and
// the interpreter as something the skill depends on, so that the one it was
// approved with is the one that runs it.
func (c *checker) interpreter(command string) {
	args := c.m.Args
	switch {
	case len(args) == 0:
		c.report("args", `name the script, such as ["main.js"]`, "is missing; %s runs a file of the package", command)
	case !isPackagePath(args[0]):
		c.report("args[0]", "write the path of a file in the package, such as main.js", "%q is not a path in the package", args[0])
	case len(args) > 1:
		c.report("args[1]", "remove it; a script gets its input as JSON", "would be ignored: a script has no arguments")
	}
	d, ok := c.m.Dependencies[command]
	switch {
	case !ok:
		c.report("dependencies", fmt.Sprintf(`add {%q: "*"}`, command), "does not name %s, which runs the script", command)
	case d.Optional:
		c.report(join("dependencies", keyStep(command))+".optional", "remove it", "cannot be: nothing else runs the script")
	}
}

// isPackagePath reports whether p is a relative, clean path with slashes.
func isPackagePath(p string) bool {
	return p == path.Clean(p) && !path.IsAbs(p) && p != ".." && !strings.HasPrefix(p, "../") && !strings.ContainsAny(p, `\:`)
}

func (c *checker) args() {
	if len(c.m.Args) == 0 || !isModule(c.m.Command) || c.m.Type.IsPlugin() || c.m.Type.IsMCP() {
		return
	}
	wasi := slices.ContainsFunc(c.m.Tools, func(t Tool) bool { return t.Export == ExportWASI })
	if !wasi {
		c.report("args", "remove them, or set a tool's export to _start", "would be ignored: only a WASI command (export _start) has arguments")
	}
}

func (c *checker) tools() {
	names, exports := map[string]int{}, map[string]int{}
	for i, t := range c.m.Tools {
		at := "tools" + indexStep(i)
		export := t.Export
		if export == "" {
			export = t.Name
		}
		c.unique(names, strings.ToLower(t.Name), i, at+".name", "name")
		if isModule(c.m.Command) {
			c.unique(exports, export, i, at+".export", "export")
		}
		if export == "_initialize" {
			c.report(at+".export", "name another function", "_initialize is called by the host, and is not a tool")
		}
		c.schema(at+".input_schema", t.InputSchema)
		c.schema(at+".output_schema", t.OutputSchema)
		c.objectRoot(at+".input_schema", t.InputSchema)
	}
}

func (c *checker) unique(seen map[string]int, key string, i int, at, what string) {
	if first, ok := seen[key]; ok {
		c.report(at, "give each tool its own", "has the %s of tools[%d]", what, first)
		return
	}
	seen[key] = i
}

// schema compiles a tool's schema and keeps it.
func (c *checker) schema(at string, text json.RawMessage) {
	if len(text) == 0 || c.compiled[string(text)] != nil {
		return
	}
	s, errs := compileSchema(text)
	for _, p := range errs {
		c.report(join(at, p.Path), p.Suggestion, "%s", p.Message)
	}
	if s == nil {
		return
	}
	if c.compiled == nil {
		c.compiled = map[string]*valueSchema{}
	}
	c.compiled[string(text)] = s
}

// objectRoot demands that an input is an object: that is what every caller
// sends, key=value pairs and MCP among them.
func (c *checker) objectRoot(at string, text json.RawMessage) {
	if len(text) == 0 {
		return
	}
	var root struct {
		Type json.RawMessage `json:"type"`
	}
	if err := json.Unmarshal(text, &root); err != nil || string(root.Type) != `"object"` {
		c.report(at, `write "type": "object" at its root, or leave the schema out to take any bytes`, "does not describe an object")
	}
}

func (c *checker) permissions() {
	const base = "security.permissions"
	p := c.m.Security.Permissions
	if p.ProcessSpawn {
		c.report(base+".process_spawn", "remove it; permissions.skills asks for other skills",
			"is refused: a WebAssembly skill runs inside the host and has no processes to start")
	}
	c.networkAccess(base + ".network_access")
	_, errs := c.m.requests("/workspace")
	c.errs = append(c.errs, errs...)
}

func (c *checker) networkAccess(at string) {
	p := c.m.Security.Permissions
	said := c.doc.get("security").get("permissions").get("network_access")
	switch {
	case said == nil:
	case p.NetworkAccess && len(p.Network) == 0:
		c.report(at, `list them, such as "network": ["https://api.example.com/v1/*"]`, "is true, and network names no address")
	case !p.NetworkAccess && len(p.Network) > 0:
		c.report(at, "remove one of the two", "is false, and network asks for %s", count(len(p.Network), "address"))
	}
}

// hostHeaders are the headers the host itself decides.
func hostHeaders() []string {
	return []string{"Host", "Content-Length", "Transfer-Encoding", "Connection", "Upgrade", "Te", "Trailer", "Proxy-Authorization", "Proxy-Connection", "Keep-Alive"}
}

func (c *checker) injections() {
	c.secretsOfSkills()
	for i, s := range c.m.Security.Permissions.Secrets {
		if s.Inject == nil {
			continue
		}
		at := fmt.Sprintf("security.permissions.secrets[%d].inject", i)
		if slices.Contains(hostHeaders(), textproto.CanonicalMIMEHeaderKey(s.Inject.Header)) {
			c.report(at+".header", "put the secret in a header such as Authorization", "%s is a header the host decides", s.Inject.Header)
		}
		c.injectionURL(at+".url", s.Inject.URL)
	}
}

// injectionURL demands that some requests the skill asks for get the secret.
func (c *checker) injectionURL(at, address string) {
	if _, err := capability.Parse("http:" + httpText(nil, address)); err != nil {
		p := capabilityProblem(err)
		c.report(at, p.Suggestion, "%s", p.Message)
		return
	}
	if into, err := capability.Parse("http:" + httpText(MethodsMCP(), address)); err == nil && c.m.canInject(into) {
		return
	}
	for _, n := range c.m.Security.Permissions.Network {
		into, err1 := capability.Parse("http:" + httpText(n.Methods, address))
		asked, err2 := capability.Parse("http:" + httpText(n.Methods, n.URL))
		if err1 == nil && err2 == nil && (asked.Covers(into) || into.Covers(asked)) {
			return
		}
	}
	c.report(at, "add the address to network", "would be ignored: network asks for no address it matches")
}

func (c *checker) contextFiles() {
	if c.m.ContextFiles == nil {
		return
	}
	c.globs("context_files.patterns", c.m.ContextFiles.Patterns)
	c.globs("context_files.exclude_patterns", c.m.ContextFiles.ExcludePatterns)
}

func (c *checker) globs(at string, globs []string) {
	for i, g := range globs {
		if !isGlob(g) {
			c.report(at+indexStep(i), "write one relative to the workspace, such as src/*.go", "%q is not a glob", g)
		}
	}
}

func (c *checker) constraint(at, text string) {
	var refused *semver.Error
	if _, err := semver.ParseRange(text); errors.As(err, &refused) {
		c.report(at, refused.Suggestion(), "%q is not a version constraint", refused.Text)
	}
}

func (c *checker) versions() {
	for name, d := range c.m.Dependencies {
		at := join("dependencies", keyStep(name))
		c.constraint(at, d.Version)
		if name == c.m.Name {
			c.report(at, "remove it", "is the skill itself")
		}
	}
	for name, version := range c.m.Provides {
		if !isVersion(version) {
			c.report(join("provides", keyStep(name)), "write three numbers, such as 1.2.0", "%q is not a semantic version", version)
		}
	}
}
