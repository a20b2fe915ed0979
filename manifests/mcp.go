package manifests

import (
	"net/url"
	"path"
	"slices"
	"strings"

	"github.com/skillet-run/skillet/policies/capability"
)

// An MCP is the server of a package of [KindMCP]: the program that the command of
// the manifest names, or one at a URL.
type MCP struct {
	URL string `json:"url,omitempty"`
	// ProgramDigest is that of the program, and Pins are what it is started with.
	ProgramDigest Digest `json:"program_digest,omitempty"`
	Pins          []Pin  `json:"pins,omitempty"`
	// Unconfined starts the program with all rights of the user.
	Unconfined bool `json:"unconfined,omitempty"`
	// Shadows are tools that may have the name of a tool of another skill.
	Shadows []string `json:"shadows,omitempty"`
}

// A Pin is a file, or a directory with all that is in it, that must be as it was.
type Pin struct {
	Path   string `json:"path"` // absolute
	Digest Digest `json:"digest"`
}

// MethodsMCP are the methods of HTTP by which a server of MCP is reached.
func MethodsMCP() []string { return []string{"POST", "DELETE"} }

// IsMCP reports whether a package of kind k is a server of MCP.
func (k Kind) IsMCP() bool { return k == KindMCP }

// mcp checks what makes a server out of a package.
func (c *checker) mcp() {
	m := c.m
	if m.MCP == nil {
		c.report("mcp", `write {"url": ...}, or {"program_digest": ...} beside command`, "is missing; a package of type mcp is a server")
		return
	}
	if len(m.Tools) == 0 {
		c.report("tools", "list those that may be called", "is missing; what is not listed is not called")
	}
	if m.MCP.URL != "" {
		c.mcpURL()
	} else {
		c.mcpProgram()
	}
	for i, name := range m.MCP.Shadows {
		if _, ok := m.Tool(name); !ok {
			c.report("mcp.shadows"+indexStep(i), "remove it", "%s is not a tool of the package", name)
		}
	}
	for _, f := range misplacedFields(m) {
		if f.set && f.code {
			c.report(f.path, "remove it", "would be ignored: a server has no prompt")
		}
	}
	for _, f := range mcpFields(m) {
		if f.set {
			c.report(f.path, "remove it", "would be ignored: %s", f.why)
		}
	}
}

func (c *checker) mcpURL() {
	m := c.m
	u, err := url.Parse(m.MCP.URL)
	switch {
	case err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "":
		c.report("mcp.url", "write an address such as https://example.com/mcp", "is not an address of http or https without a query")
	case strings.ContainsAny(m.MCP.URL, "*"):
		c.report("mcp.url", "write one address", "has a *")
	}
	for _, f := range []misplaced{
		{path: "command", set: m.Command != ""},
		{path: "args", set: len(m.Args) > 0},
		{path: "config", set: len(m.Config) > 0},
		{path: "mcp.program_digest", set: m.MCP.ProgramDigest != ""},
		{path: "mcp.pins", set: len(m.MCP.Pins) > 0},
		{path: "mcp.unconfined", set: m.MCP.Unconfined},
		{path: "security.permissions", set: m.Security.Permissions.asksBeyond("network", "secrets")},
	} {
		if f.set {
			c.report(f.path, "remove it", "would be ignored: nothing is started of a server at an address")
		}
	}
	for i, s := range m.Security.Permissions.Secrets {
		if s.Env != "" {
			c.report("security.permissions.secrets"+indexStep(i)+".env", "write inject", "would be ignored: the server is not started here")
		}
	}
}

func (c *checker) mcpProgram() {
	m := c.m
	switch {
	case m.Command == "":
		c.report("command", "name the program, such as /usr/bin/node, or write mcp.url", "is missing; the server is a program, or is at an address")
	case !path.IsAbs(m.Command) || path.Clean(m.Command) != m.Command:
		c.report("command", "write the whole path of the program", "%q is not an absolute path", m.Command)
	}
	if m.MCP.ProgramDigest == "" {
		c.report("mcp.program_digest", "write the digest of the program", "is missing; a program is started when it is the one that was approved")
	}
	for i, p := range m.MCP.Pins {
		if !path.IsAbs(p.Path) || path.Clean(p.Path) != p.Path || p.Path == "/" {
			c.report("mcp.pins"+indexStep(i)+".path", "write a whole path", "%q is not the absolute path of a file or directory", p.Path)
		}
	}
	p := m.Security.Permissions
	if p.asksBeyond("secrets", "file_read", "file_write") {
		c.report("security.permissions", "ask for files and secrets alone; a server that needs the network is at an address, or is unconfined", "would be ignored: nothing holds a program to addresses")
	}
	if m.MCP.Unconfined && p.asksBeyond("secrets") {
		c.report("security.permissions", "ask for secrets alone", "would be ignored: an unconfined program can reach all files")
	}
	c.wholePaths("security.permissions.file_read", p.FileRead)
	c.wholePaths("security.permissions.file_write", p.FileWrite)
	for i, s := range p.Secrets {
		if s.Inject != nil {
			c.report("security.permissions.secrets"+indexStep(i)+".inject", "write env", "would be ignored: a program is given its secrets in its environment")
		}
	}
	c.pluginEnvironment()
}

// wholePaths refuses patterns, which a program is not held to.
func (c *checker) wholePaths(at string, all []PathPermission) {
	for i, p := range all {
		if strings.ContainsAny(strings.TrimSuffix(p.Path, "/**"), "*") {
			c.report(at+indexStep(i)+".path", "name a directory, or a file", "%q is a pattern, and a program is held to whole directories and files", p.Path)
		}
	}
}

// mcpFields are the fields that mean nothing for a server.
func mcpFields(m *Manifest) []misplaced {
	l := m.Security.ResourceLimits
	l.MaxMemoryMB, l.MaxExecutionTime, l.MaxOutputKB = 0, 0, 0
	return []misplaced{
		{path: "snapshot", set: m.Snapshot != "", why: "a server has no module"},
		{path: "session_config", set: m.SessionConfig != nil, why: "a server keeps what it keeps"},
		{path: "security.resource_limits", set: l != ResourceLimits{}, why: "a server is held to max_memory_mb, max_execution_time and max_output_kb"},
		{path: "dependencies", set: len(m.Dependencies) > 0, why: "a server calls no skills"},
		{path: "provides", set: len(m.Provides) > 0, why: "no skill can depend on a server"},
	}
}

// notMCP refuses what only a server has.
func (c *checker) notMCP() {
	if c.m.Type.IsMCP() {
		return
	}
	if c.m.MCP != nil {
		c.report("mcp", `remove it, or set type to "mcp"`, "would be ignored: a %s package is not a server", c.m.Type)
	}
	for i, t := range c.m.Tools {
		if t.Annotations != nil {
			c.report("tools"+indexStep(i)+".annotations", "write read_only and idempotent", "would be ignored: they are what an MCP server says")
		}
	}
}

// mcpPermissions are those that follow from what the server is.
func (m *Manifest) mcpPermissions() []requestedPermission {
	switch {
	case !m.Type.IsMCP() || m.MCP == nil:
		return nil
	case m.MCP.URL != "":
		return []requestedPermission{{action: capability.HTTP, methods: MethodsMCP(), resource: m.MCP.URL, reason: "the MCP server is there", field: "mcp.url", implied: true}}
	case m.MCP.Unconfined:
		return []requestedPermission{{action: capability.Native, reason: "the MCP server is the program " + m.Command + ", which runs unconfined", field: "command"}}
	}
	return []requestedPermission{{action: capability.Native, reason: "the MCP server is the program " + m.Command + ", which is held to no network, and to the files below", field: "command"}}
}

// canInject reports whether a server at an address gets the secrets that go there.
func (m *Manifest) canInject(into capability.Capability) bool {
	return slices.ContainsFunc(m.mcpPermissions(), func(w requestedPermission) bool {
		c, p := w.capability("")
		return p == nil && w.action == capability.HTTP && (c.Covers(into) || into.Covers(c))
	})
}
