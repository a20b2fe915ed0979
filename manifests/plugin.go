package manifests

import (
	"path"
	"regexp"
	"slices"
	"strings"
)

// PluginInterpreters are the programs of the machine that may run a plugin's script.
func PluginInterpreters() []string { return []string{"python3", "node"} }

// A Platform is a system and a processor, as Go names them.
type Platform struct{ OS, Arch string }

// String is "linux/amd64".
func (p Platform) String() string { return p.OS + "/" + p.Arch }

// Platforms are those that a plugin can be made for.
func Platforms() []Platform {
	var all []Platform
	for _, os := range []string{"linux", "darwin", "windows", "freebsd"} {
		for _, arch := range []string{"amd64", "arm64"} {
			all = append(all, Platform{os, arch})
		}
	}
	return all
}

// A Program is what a plugin is started with.
type Program struct {
	// Interpreter is one of [PluginInterpreters], found on the machine; empty when
	// File is a program itself.
	Interpreter string
	// File is the program or the script: a path in the package.
	File string
	// Args are the arguments behind it.
	Args []string
}

// Program is what the plugin is started with on a system and a processor, as Go
// names them; ok is false for everything that is not a plugin.
func (m *Manifest) Program(os, arch string) (p Program, ok bool) {
	if !m.Type.IsPlugin() {
		return Program{}, false
	}
	if slices.Contains(PluginInterpreters(), m.Command) && len(m.Args) > 0 {
		return Program{m.Command, m.Args[0], m.Args[1:]}, true
	}
	exe := ""
	if os == "windows" {
		exe = ".exe"
	}
	file := strings.NewReplacer("{os}", os, "{arch}", arch, "{exe}", exe).Replace(m.Command)
	return Program{"", file, m.Args}, true
}

var (
	environmentName = regexp.MustCompile(`^[A-Z_][A-Z0-9_]*$`)
	commandParts    = regexp.MustCompile(`\{[^{}]*\}`)
)

// plugin checks what makes a program out of a package.
func (c *checker) plugin() {
	m := c.m
	switch {
	case m.Command == "":
		c.report("command", "name the program in the package, such as my-provider-{os}-{arch}{exe}", "is missing; a plugin is a program")
	case slices.Contains(PluginInterpreters(), m.Command):
		if len(m.Args) == 0 || !isPackagePath(m.Args[0]) {
			c.report("args", `name the script, such as ["provider.py"]`, "does not begin with a file of the package for %s to run", m.Command)
		}
	case !isPackagePath(m.Command):
		c.report("command", "write the path of a file in the package", "%q is not a path in the package", m.Command)
	case path.Ext(m.Command) == ".wasm":
		c.report("command", `name a program, or set type to "code_inline"`, "%s is a module, and a plugin is a native program", m.Command)
	}
	for _, part := range commandParts.FindAllString(m.Command, -1) {
		if !slices.Contains([]string{"{os}", "{arch}", "{exe}"}, part) {
			c.report("command", "write {os}, {arch} or {exe}", "has %s, which stands for nothing", part)
		}
	}
	c.pluginEnvironment()
	for _, f := range misplacedFields(m) {
		if f.set && f.code { // what code has no use for is about prompts
			c.report(f.path, "remove it", "would be ignored: a plugin has no prompt")
		}
	}
	for _, f := range pluginFields(m) {
		if f.set {
			c.report(f.path, f.out, "would be ignored: %s", f.why)
		}
	}
}

func (c *checker) pluginEnvironment() {
	given := map[string]bool{}
	for name := range c.m.Config {
		given[name] = true
		if !environmentName.MatchString(name) {
			c.report(join("config", keyStep(name)), "write upper-case letters, digits and _", "is not a name of an environment variable")
		}
	}
	for i, s := range c.m.Security.Permissions.Secrets {
		at := "security.permissions.secrets" + indexStep(i)
		switch {
		case s.Env == "":
			c.report(at+".env", "name an environment variable, such as OPENAI_API_KEY", "is missing; a plugin is given its secrets in its environment")
		case given[s.Env]:
			c.report(at+".env", "name another", "%s is given already", s.Env)
		}
		given[s.Env] = true
	}
}

// secretsOfSkills refuses secrets that a skill would see.
func (c *checker) secretsOfSkills() {
	for i, s := range c.m.Security.Permissions.Secrets {
		if s.Env != "" && !c.m.Type.IsPlugin() && !c.m.Type.IsMCP() {
			c.report("security.permissions.secrets"+indexStep(i)+".env", "write inject, which has the host add it to requests", "would be ignored: a skill never sees a secret")
		}
	}
}

// pluginFields are the fields that mean nothing for a plugin, beside those of prompts.
func pluginFields(m *Manifest) []misplaced {
	const native = "a plugin is a native process that nothing bounds in this way"
	p, l := m.Security.Permissions, m.Security.ResourceLimits
	l.MaxMemoryMB = 0
	return []misplaced{
		{path: "tools", set: len(m.Tools) > 0, why: "a plugin is called by its contract", out: "remove it"},
		{path: "snapshot", set: m.Snapshot != "", why: native, out: "remove it"},
		{path: "security.permissions", set: p.asksBeyond("secrets"), why: native, out: "ask for secrets alone: its program can do whatever you can, and the person who installs it is told so"},
		{path: "security.resource_limits", set: l != ResourceLimits{}, why: native, out: "leave max_memory_mb alone, and remove the rest"},
		{path: "resilience", set: !m.Resilience.isZero(), why: "the host starts a plugin again by itself", out: "remove it"},
		{path: "performance", set: m.Performance != (Performance{}), why: native, out: "remove it"},
		{path: "session_config", set: m.SessionConfig != nil, why: native, out: "remove it"},
		{path: "dependencies", set: len(m.Dependencies) > 0, why: "a plugin calls no skills by itself", out: "remove it"},
		{path: "provides", set: len(m.Provides) > 0, why: "no skill can depend on a plugin", out: "remove it"},
	}
}
