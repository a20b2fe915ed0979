// Package manifests reads the manifest of a skill: the document that says what
// a skill is called, which tools it has, what it asks for and how far it may
// go.
//
// [Parse] reads skill.json, skill.yaml or SKILL.md strictly: an unknown field,
// a duplicate key, a value of the wrong type or a limit above its ceiling is an
// error that names the field, the line and what would be right. [Schema] is the
// documentation of every field; [Fields] says for each whether this host
// enforces it, shows it, or refuses it.
//
// The package knows documents only. It opens no file, runs no module, resolves
// no dependency, asks no policy and grants nothing: [Manifest.Requests] says
// what a skill asks for, and others decide.
package manifests

import (
	"encoding/json"

	"github.com/skillet-run/skillet/policies/limit"
)

// The names a manifest file may have, in the order in which they are looked
// for. A directory that has only [FileSkillMD] is a skill of
// [KindConversation].
const (
	FileJSON    = "skill.json"
	FileYAML    = "skill.yaml"
	FileYML     = "skill.yml"
	FileSkillMD = "SKILL.md"
)

// FileNames returns the names a manifest file may have: [FileJSON], [FileYAML]
// and [FileYML]. [FileSkillMD] stands in for them when none of them is there.
func FileNames() []string { return []string{FileJSON, FileYAML, FileYML} }

// A Kind says how a skill is run.
type Kind string

// The kinds of skill.
const (
	// KindCodeInline is a WebAssembly module; each call starts from the same
	// pristine state.
	KindCodeInline Kind = "code_inline"
	// KindCodeSession is a WebAssembly module whose state lives on between the
	// calls of a named session.
	KindCodeSession Kind = "code_session"
	// KindConversation is a prompt, with files as context, for a conversation
	// with a model.
	KindConversation Kind = "conversation"
	// KindPromptInline is a prompt template with checked parameters.
	KindPromptInline Kind = "prompt_inline"
	// KindProvider is a program that answers model and embedding requests, and
	// KindAgent one that plans and acts. Both are plugins: native processes.
	KindProvider Kind = "provider"
	KindAgent    Kind = "agent"
	// KindMCP is a server of the Model Context Protocol, whose tools are those of
	// the package: a program that runs as a process of its own, or one at a URL.
	KindMCP Kind = "mcp"
)

// IsCode reports whether a skill of kind k runs a WebAssembly module.
func (k Kind) IsCode() bool { return k == KindCodeInline || k == KindCodeSession }

// IsPrompt reports whether a skill of kind k is text for a model.
func (k Kind) IsPrompt() bool { return k == KindConversation || k == KindPromptInline }

// IsPlugin reports whether a package of kind k is a program that runs as a
// process of its own, outside the sandbox.
func (k Kind) IsPlugin() bool { return k == KindProvider || k == KindAgent }

// Scope is where a skill belongs. It is shown, and changes nothing.
type Scope string

// The scopes.
const (
	ScopeWorkspace Scope = "workspace"
	ScopeUser      Scope = "user"
)

// SnapshotNone is the value of [Manifest.Snapshot] with which every call
// initialises the module anew.
const SnapshotNone = "none"

// ExportWASI is the export of a WASI command. A tool with this export reads
// JSON on standard input and writes JSON on standard output.
const ExportWASI = "_start"

// A Manifest is one skill's manifest. The zero value is not valid: a Manifest
// comes from [Parse], or is filled in and checked with [Manifest.Validate]. It
// must not be changed after that. Every field is described in [Schema].
type Manifest struct {
	// SchemaRef is where an editor finds the schema; it is not read.
	SchemaRef string `json:"$schema,omitempty"`

	Name        string   `json:"name"`
	Description string   `json:"description"`
	Version     string   `json:"version"` // semantic version 2.0.0, no leading "v"
	Aliases     []string `json:"aliases,omitempty"`
	Scope       Scope    `json:"scope,omitempty"`
	Author      string   `json:"author,omitempty"`
	License     string   `json:"license,omitempty"`
	Homepage    string   `json:"homepage,omitempty"`

	Type    Kind     `json:"type"`
	Command string   `json:"command,omitempty"` // path of the module in the package, or an interpreter
	Args    []string `json:"args,omitempty"`    // arguments of a WASI command, after argv[0]
	Tools   []Tool   `json:"tools,omitempty"`
	// Snapshot is "none" when every call must initialise the module anew, or
	// empty when the host may start calls from the state after initialisation.
	Snapshot string `json:"snapshot,omitempty"`
	// Config are values that an Extism guest reads with config_get, unless a
	// caller gives others.
	Config map[string]string `json:"config,omitempty"`

	Security      Security       `json:"security,omitzero"`
	Resilience    Resilience     `json:"resilience,omitzero"`
	Performance   Performance    `json:"performance,omitzero"`
	SessionConfig *SessionConfig `json:"session_config,omitempty"`
	// MCP is the server of a package of [KindMCP]; nil for every other.
	MCP *MCP `json:"mcp,omitempty"`

	Prompt         string        `json:"prompt,omitempty"`
	PromptTemplate string        `json:"prompt_template,omitempty"`
	Parameters     []Parameter   `json:"parameters,omitempty"`
	ContextFiles   *ContextFiles `json:"context_files,omitempty"`
	Model          string        `json:"model,omitempty"`
	ContextWindow  int           `json:"context_window,omitempty"` // tokens; 0 = the model's own
	OutputFormat   string        `json:"output_format,omitempty"`  // "text", "markdown" or "json"

	// Dependencies maps the name of a skill, or of an interface that some skill
	// provides, to what is needed of it; Provides maps the name of an interface to
	// the version of it that this skill offers.
	Dependencies map[string]Dependency `json:"dependencies,omitempty"`
	Provides     map[string]string     `json:"provides,omitempty"`
	Development  *Development          `json:"development,omitempty"`
	Metadata     Metadata              `json:"metadata,omitzero"`

	// AgentSkill has what only a SKILL.md says. It is nil for every other
	// manifest, and no part of the JSON form.
	AgentSkill *AgentSkill `json:"-"`

	lines    map[string]int          // line of each field, by path
	compiled map[string]*valueSchema // compiled tool schemas, by their text
}

// A Tool is one callable export of the module.
type Tool struct {
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
	// Export is the function of the module that is called. [Parse] sets it to
	// Name when the document leaves it out.
	Export string `json:"export,omitempty"`
	// InputSchema and OutputSchema are JSON Schemas (draft 2020-12 unless
	// "$schema" says otherwise). An empty one accepts any bytes, JSON or not.
	InputSchema  json.RawMessage `json:"input_schema,omitempty"`
	OutputSchema json.RawMessage `json:"output_schema,omitempty"`
	// Idempotent promises that calling the tool twice with the same input does
	// no more than calling it once, and ReadOnly that it changes nothing. A tool
	// that promises either may be tried again; the answer of one that promises
	// both may be kept. The zero value promises nothing.
	Idempotent bool `json:"idempotent,omitempty"`
	ReadOnly   bool `json:"read_only,omitempty"`
	// Annotations are what an MCP server says of the tool beside that; nil for every
	// other package.
	Annotations *Annotations `json:"annotations,omitempty"`
}

// Annotations are hints of an MCP server about a tool. Nobody relies on them: they are
// shown, and are part of what was approved. Nil is a hint that was not given.
type Annotations struct {
	Title       string `json:"title,omitempty"`
	Destructive *bool  `json:"destructive,omitempty"`
	OpenWorld   *bool  `json:"open_world,omitempty"`
}

// A Dependency is what a skill needs of another. In a document it is an object,
// or just its version constraint as text.
type Dependency struct {
	// Version is a constraint as package semver reads it, such as "^1.2.0".
	Version string `json:"version"`
	// Optional says that the skill works without it.
	Optional bool `json:"optional,omitempty"`
	// Isolated says that the skill gets a copy of its own, whose version, and
	// whose dependencies, need not be the ones others use.
	Isolated bool `json:"isolated,omitempty"`
}

// Security is what a skill asks for and how far it may go.
type Security struct {
	Permissions    Permissions    `json:"permissions,omitzero"`
	ResourceLimits ResourceLimits `json:"resource_limits,omitzero"`
}

// A PathPermission asks for files. Path is absolute, or relative to the
// workspace; without a glob it means the file, or the directory and all below.
type PathPermission struct {
	Path   string `json:"path"`
	Reason string `json:"reason,omitempty"`
}

// A NetworkPermission asks for HTTP requests to addresses that match URL.
type NetworkPermission struct {
	URL string `json:"url"`
	// Methods are the HTTP methods asked for; empty means GET, "*" means all.
	Methods []string `json:"methods,omitempty"`
	Reason  string   `json:"reason,omitempty"`
}

// A SecretPermission asks to use a secret the person has stored. The skill can
// learn that it exists and never what it is.
type SecretPermission struct {
	Name   string `json:"name"`
	Reason string `json:"reason,omitempty"`
	// Inject says where the host puts the secret; nil when the skill only asks
	// whether it exists.
	Inject *Injection `json:"inject,omitempty"`
	// Env is the environment variable in which a plugin is given the secret; empty
	// for every skill.
	Env string `json:"env,omitempty"`
}

// An Injection makes the host add a secret to requests as a header.
type Injection struct {
	// URL is the pattern of addresses that get the header, as in
	// [NetworkPermission].
	URL string `json:"url"`
	// Header is the name of the header, such as "Authorization".
	Header string `json:"header"`
	// Prefix stands before the secret in the header, such as "Bearer ".
	Prefix string `json:"prefix,omitempty"`
}

// Words says where the secret goes, for the person who decides: "in the header
// Authorization of requests to https://api.example.com/*".
func (i Injection) Words() string { return "in the header " + i.Header + " of requests to " + i.URL }

// A NamePermission asks for a skill or a model by name; a "*" at the end
// matches any rest.
type NamePermission struct {
	Name   string `json:"name"`
	Reason string `json:"reason,omitempty"`
}

// A KVPermission asks for the skill's own key-value store.
type KVPermission struct {
	Reason string `json:"reason,omitempty"`
	// MaxMB is the quota in MiB; 0 is the default of [limit.KV].
	MaxMB int `json:"max_mb,omitempty"`
	// SchemaVersion is the version of the skill's stored data; 0 = 1.
	SchemaVersion int `json:"schema_version,omitempty"`
	// Migrate names the tool that brings data of an older schema version to
	// SchemaVersion; empty when none can.
	Migrate string `json:"migrate,omitempty"`
}

// A ReasonedPermission asks for something that has no resource.
type ReasonedPermission struct {
	Reason string `json:"reason,omitempty"`
}

// ResourceLimits bound one call. A zero field means its default; see
// [Manifest.Limits].
type ResourceLimits = limit.Fields

// Resilience says what happens when a call fails.
type Resilience struct {
	RetryConfig    *RetryConfig    `json:"retry_config,omitempty"`
	CircuitBreaker *CircuitBreaker `json:"circuit_breaker,omitempty"`
	// Timeout bounds the wall time of a call in seconds, with all its attempts
	// and pauses; max_execution_time bounds each attempt, and the smaller one
	// wins. 0 = no bound of its own.
	Timeout float64 `json:"timeout,omitempty"`
	// FallbackCommand is what runs when a call failed; [Manifest.Fallback]
	// reads it.
	FallbackCommand string       `json:"fallback_command,omitempty"`
	HealthCheck     *HealthCheck `json:"health_check,omitempty"`
}

// RetryConfig says when a failed call is tried again; see
// [Manifest.Retries] for what a zero field means.
type RetryConfig struct {
	MaxAttempts     int      `json:"max_attempts,omitempty"`     // first try included
	BackoffStrategy Backoff  `json:"backoff_strategy,omitempty"` // how the longest pause grows
	BaseDelay       float64  `json:"base_delay,omitempty"`       // seconds of the first pause, at the longest
	MaxDelay        float64  `json:"max_delay,omitempty"`        // seconds of any pause, at the longest
	RetryOn         []Reason `json:"retry_on,omitempty"`
}

// A Backoff is how the longest pause between two attempts grows.
type Backoff string

// The strategies, with the longest pause before attempt n+1 for a base delay b.
const (
	BackoffConstant    Backoff = "constant"    // b
	BackoffLinear      Backoff = "linear"      // n*b
	BackoffExponential Backoff = "exponential" // b, 2b, 4b, 8b, ...
)

// A Reason is a sort of failure after which a call may be tried again.
type Reason string

// The reasons.
const (
	ReasonTimeout       Reason = "timeout"        // the time of an attempt, or of something it waited for, ran out
	ReasonNetworkError  Reason = "network_error"  // input or output failed: the network, or a disk
	ReasonResourceLimit Reason = "resource_limit" // another limit was reached: memory, fuel, a quota
)

// CircuitBreaker says when calls are refused after repeated failures; see
// [Manifest.Breaker] for what a zero field means.
type CircuitBreaker struct {
	FailureThreshold int     `json:"failure_threshold,omitempty"` // failures in a row
	RecoveryTimeout  float64 `json:"recovery_timeout,omitempty"`  // seconds
	HalfOpenProbes   int     `json:"half_open_probes,omitempty"`  // successes in a row that end it
}

// HealthCheck says how to find out whether a skill works.
type HealthCheck struct {
	Enabled bool `json:"enabled,omitempty"`
	// Interval is how many seconds an outcome stands before the skill is
	// checked again; 0 = not at all.
	Interval float64 `json:"interval,omitempty"`
	// Tool is called with Input; without one the module is loaded, and nothing
	// called.
	Tool  string          `json:"tool,omitempty"`
	Input json.RawMessage `json:"input,omitempty"`
}

// Performance says what a skill may use up over many calls, and what may be
// kept of them.
type Performance struct {
	Caching   *Caching   `json:"caching,omitempty"`
	Execution *Execution `json:"execution,omitempty"`
	RateLimit *RateLimit `json:"rate_limit,omitempty"`
}

// Caching keeps the answers of tools that are both read-only and idempotent.
type Caching struct {
	ResultCacheTTL float64 `json:"result_cache_ttl,omitempty"`  // seconds
	MaxCacheSizeMB int     `json:"max_cache_size_mb,omitempty"` // MiB; 0 = [DefaultCacheMB]
}

// Execution bounds how many calls of a skill run at once in one host process.
type Execution struct {
	MaxConcurrentCalls int `json:"max_concurrent_calls,omitempty"` // 0 = no bound of its own
	// ExecutionQueueSize is how many more calls may wait; nil = [DefaultQueue].
	ExecutionQueueSize *int `json:"execution_queue_size,omitempty"`
}

// RateLimit allows MaxCalls calls in a burst, and as many again in each
// PerSeconds seconds.
type RateLimit struct {
	MaxCalls   int     `json:"max_calls,omitempty"`
	PerSeconds float64 `json:"per_seconds,omitempty"`
}

// SessionConfig bounds the sessions of a skill of [KindCodeSession]; see
// [Manifest.Sessions] for what a zero field means.
type SessionConfig struct {
	SessionTimeout   float64 `json:"session_timeout,omitempty"` // seconds without a call
	MaxSessions      int     `json:"max_sessions,omitempty"`    // of one owner
	CleanupOnExit    *bool   `json:"cleanup_on_exit,omitempty"`
	StatePersistence *bool   `json:"state_persistence,omitempty"`
}

// A Parameter is one placeholder of a prompt.
type Parameter struct {
	Name        string          `json:"name"`
	Type        string          `json:"type"` // "string", "integer", "number", "boolean" or "enum"
	Description string          `json:"description,omitempty"`
	Values      []string        `json:"values,omitempty"`  // of an enum
	Pattern     string          `json:"pattern,omitempty"` // regular expression (RE2) of a string
	Required    bool            `json:"required,omitempty"`
	Default     json.RawMessage `json:"default,omitempty"`
}

// ContextFiles selects the files that go into a conversation.
type ContextFiles struct {
	Patterns        []string `json:"patterns,omitempty"`
	ExcludePatterns []string `json:"exclude_patterns,omitempty"`
	MaxFiles        int      `json:"max_files,omitempty"`
	MaxFileSizeKB   int      `json:"max_file_size_kb,omitempty"` // KiB
}

// Development holds settings for working on the skill: what `skillet dev` does.
// An installed skill has no use for them.
type Development struct {
	SessionIsolation bool `json:"session_isolation,omitempty"` // an empty home each time
	// HotReload has each build that passes replace the version that serves; nil =
	// true.
	HotReload *bool `json:"hot_reload,omitempty"`
	DebugMode bool  `json:"debug_mode,omitempty"` // show the host's log
	// TestFramework says which tests are run; nil = the test cases, all of them.
	TestFramework *TestFramework `json:"test_framework,omitempty"`
}

// TestFramework says which tests of the skill are run.
type TestFramework struct {
	UnitTests        bool `json:"unit_tests,omitempty"`        // those of the language
	IntegrationTests bool `json:"integration_tests,omitempty"` // the test cases of the package
	MockServices     bool `json:"mock_services,omitempty"`     // those cases, too, that answer for others
}

// Metadata describes a skill to people and searches.
type Metadata struct {
	Tags     []string `json:"tags,omitempty"`
	Category string   `json:"category,omitempty"`
	Maturity string   `json:"maturity,omitempty"` // "experimental", "beta", "stable" or "deprecated"
}

// An AgentSkill is what a SKILL.md says beyond the fields of a [Manifest]
// (Agent Skills specification, https://agentskills.io/specification).
type AgentSkill struct {
	// AllowedTools are the tools the skill would like to be pre-approved. They
	// are shown; a package never approves anything.
	AllowedTools []string
	// Compatibility says what the skill needs around it.
	Compatibility string
	// Metadata is the free mapping of the front matter; what is not text in it is
	// JSON.
	Metadata map[string]string
	// Scripts are the programs in the folder; see [ParseFolder].
	Scripts []Script
	// Others are the names of its fields that the specification does not have. They
	// are shown, and nothing follows from them.
	Others []string
}

// Interpreted reports whether the skill is code that an interpreter runs: its
// command is the interpreter's name, and the first of its args the script.
func (m *Manifest) Interpreted() bool {
	return m.Type.IsCode() && m.Command != "" && !isModule(m.Command)
}

// Tool returns the tool called name, and whether there is one.
func (m *Manifest) Tool(name string) (Tool, bool) {
	for _, t := range m.Tools {
		if t.Name == name {
			return t, true
		}
	}
	return Tool{}, false
}

// Callable returns the tool that a call of that name uses, the prompt of a skill that is one
// among them; an empty name means its only one.
func (m *Manifest) Callable(name string) (Tool, bool) {
	if p, ok := m.PromptTool(); ok && (name == "" || name == p.Name) {
		return p, true
	}
	if name != "" {
		return m.Tool(name)
	}
	return m.DefaultTool()
}

// DefaultTool returns the only tool of the skill; false when it has none or
// several. A tool that migrates is not counted: nobody calls it.
func (m *Manifest) DefaultTool() (Tool, bool) {
	var found []Tool
	for _, t := range m.Tools {
		if kv := m.Security.Permissions.KV; kv == nil || kv.Migrate != t.Name {
			found = append(found, t)
		}
	}
	if len(found) != 1 {
		return Tool{}, false
	}
	return found[0], true
}
