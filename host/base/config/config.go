// Package config reads the settings of a home. Each has a default, which is
// overridden by the home's config.yaml, then by an environment file, then by the
// environment, then by flags; then it is frozen. An unknown key is an error
// wherever it stands, and every value knows where it came from.
//
// It knows what the settings mean to people, not what the packages do with
// them.
package config

import (
	"slices"
	"time"

	"github.com/skillet-run/skillet/host/base/fault"
	"github.com/skillet-run/skillet/policies/limit"
)

// Settings are the settings of a home. Every field, other than a group of settings,
// has a "doc" tag: the text that `skillet config list` shows.
type Settings struct {
	// LogLevel is the least severe level that is logged.
	LogLevel string `koanf:"log_level" doc:"least severe level that is logged: trace, debug, info, warn, error, off"`
	// LogFormat is "text" or "json".
	LogFormat string `koanf:"log_format" doc:"form of the log on standard error: text or json"`
	// Ceilings bound what manifests and requests may ask for.
	limit.Ceilings `koanf:",squash,flatten"`
	// ModuleLimitFactor widens what modules may be, and CompileTimeoutSeconds bounds
	// compiling one.
	ModuleLimitFactor     int     `koanf:"module_limit_factor" doc:"how many times the usual bounds on a module are accepted, such as its size, functions, nesting and the estimated work to compile it"`
	CompileTimeoutSeconds float64 `koanf:"compile_timeout_seconds" doc:"the longest it may take to compile one module, in seconds"`
	// HTTPTimeoutSeconds bounds one HTTP request of a guest.
	HTTPTimeoutSeconds float64 `koanf:"http_timeout_seconds" doc:"the longest one HTTP request of a skill may take, in seconds"`
	// HTTPMaxMB bounds the body of one HTTP response.
	HTTPMaxMB int `koanf:"http_max_mb" doc:"the largest HTTP response body a skill may receive, in MB"`
	// SecretKey says where the identity that seals secrets is kept.
	SecretKey string `koanf:"secret_key" doc:"where the key that seals secrets is kept: auto, file, keyring"`
	// StoreBackend is what new stores are made with: one of [StoreBackends].
	StoreBackend string `koanf:"store_backend" doc:"what keeps the store: badger, a database for homes of any size, or file, one file that is read into memory; skillet store rebuild moves a home from one to the other"`
	// AuditSync says when the record of a call is on the disk: [SyncAuto], [SyncEach] or
	// [SyncGroup].
	AuditSync string `koanf:"audit_sync" doc:"when the record of a call is on the disk: each, before the call is answered; group, at most 10 ms later, so that a power cut may take the records of that time; auto, group where a service makes the calls and each elsewhere"`
	// StoreKeyFile names a file with the key that encrypts the store at rest.
	StoreKeyFile string `koanf:"store_key_file" doc:"file with 32 bytes as 64 hexadecimal digits that encrypts the store at rest; empty for none; set it before the first use of a home"`
	// LockWaitSeconds bounds how long a command waits for another.
	LockWaitSeconds float64 `koanf:"lock_wait_seconds" doc:"how long a command waits for another command's lock, in seconds"`
	// ProposalExpiryDays is how long a proposal waits for a person.
	ProposalExpiryDays float64 `koanf:"proposal_expiry_days" doc:"how long a proposal waits for a person before it expires, in days"`
	// MinFreeMB is the free space below which the store takes no more writes.
	MinFreeMB int `koanf:"min_free_mb" doc:"free disk space below which nothing more is written, in MB"`
	// DownloadTimeoutSeconds bounds fetching or publishing one package.
	DownloadTimeoutSeconds float64 `koanf:"download_timeout_seconds" doc:"the longest it may take to fetch or publish one package, in seconds"`
	// SessionMaxMB and SessionsTotalMB bound the state of one session, and of all.
	SessionMaxMB    int `koanf:"session_max_mb" doc:"the most that one session of a skill may keep, in MB"`
	SessionsTotalMB int `koanf:"sessions_total_mb" doc:"the most that all sessions together may keep, in MB"`
	// RecordCalls is how many recent calls of each installed skill are kept as
	// recordings; 0 keeps none. RecordCallsMB and RecordCallsDays bound how much
	// they take of each skill, and how old they become.
	RecordCalls     int     `koanf:"record_calls" doc:"how many recent calls of each installed skill are kept as recordings, on which updates are tried; 0 keeps none"`
	RecordCallsMB   int     `koanf:"record_calls_mb" doc:"the most that the kept recordings of one skill may take, in MB"`
	RecordCallsDays float64 `koanf:"record_calls_days" doc:"how long recordings of calls are kept, in days"`
	// Isolation says where installed skills run: [IsolationShared] or
	// [IsolationProcess]. IsolatedSkills run in processes of their own in any case, and
	// IsolatedProcesses bounds how many processes there are.
	Isolation         string `koanf:"isolation" doc:"where installed skills run: shared, in the process of the host; process, each in worker processes that run no other skill"`
	IsolatedSkills    string `koanf:"isolated_skills" doc:"skills that run in worker processes of their own although isolation is shared, separated by commas: names, or patterns such as acme-*"`
	IsolatedProcesses int    `koanf:"isolated_processes" doc:"how many worker processes run calls at the same time; as many wait for the next call of their skill"`
	// RateLimits are how often skills may be called; they can only be set in the
	// file.
	RateLimits []RateLimit `koanf:"rate_limits" doc:"how often skills may be called, a list: skill, tool, max_calls, per_seconds"`
	// Registries are where short names are looked for; they can only be set in
	// the file.
	Registries []Registry `koanf:"registries" doc:"registries that short names are looked for in, a list: name, url, names, mirrors, redirects, plain_http"`
	// RevocationLists are where lists of what is revoked are fetched from; they
	// can only be set in the file.
	RevocationLists []string `koanf:"revocation_lists" doc:"revocation lists that are fetched, a list of oci://, oci-layout: and https:// addresses"`
	// Releases is where the signed checksums of releases of this program are published; empty
	// where nobody asks for them.
	Releases string `koanf:"releases" doc:"where releases of this program are published: an oci://, oci-layout: or https:// address of their signed checksums, which are asked for by a person alone"`
	// Models says which models are asked, and Providers who answers for them.
	Models    Models    `koanf:"models"`
	Providers Providers `koanf:"providers" doc:"who answers requests for models: providers.NAME.kind and so on"`
	// Budget is what models may cost.
	Budget Budget `koanf:"budget"`
	// Tasks bound what is done at the same time.
	Tasks Tasks `koanf:"tasks"`
	// Memory says how much is remembered.
	Memory Memory `koanf:"memory"`
	// Code says whether scripts of callers are run.
	Code Code `koanf:"code"`
	// MCP says what models are shown.
	MCP MCP `koanf:"mcp"`
	// Service bounds what is asked of `skillet serve`.
	Service Service `koanf:"service"`
}

// What the setting audit_sync can be.
const (
	SyncAuto  = "auto"
	SyncEach  = "each"
	SyncGroup = "group"
)

// What the setting isolation can be.
const (
	IsolationShared  = "shared"
	IsolationProcess = "process"
)

// SyncWindow is how long the record of a call waits to be synced with [SyncGroup].
const SyncWindow = 10 * time.Millisecond

// StoreBackends are the names of what can keep the store; the first is the default.
func StoreBackends() []string { return []string{"badger", "file"} }

// Isolated are the patterns of the skills that run in processes of their own.
func (s Settings) Isolated() []string { return nameList(s.IsolatedSkills) }

// Defaults are the settings of a home without a configuration.
func Defaults() Settings {
	return Settings{
		LogLevel: "warn", LogFormat: "text",
		Ceilings:          limit.DefaultCeilings(),
		ModuleLimitFactor: 1, CompileTimeoutSeconds: 60,
		HTTPTimeoutSeconds: 30, HTTPMaxMB: 10,
		SecretKey: "auto", StoreBackend: StoreBackends()[0], AuditSync: SyncAuto, LockWaitSeconds: 30, ProposalExpiryDays: 30, MinFreeMB: 64,
		DownloadTimeoutSeconds: 600, SessionMaxMB: 64, SessionsTotalMB: 1024, RecordCallsMB: 32, RecordCallsDays: 30,
		Isolation: IsolationShared, IsolatedProcesses: 32,
		RateLimits: []RateLimit{}, Registries: []Registry{}, RevocationLists: []string{},
		Models: Models{CacheTTLSeconds: 3600, MemoryMB: 8192}, Providers: Providers{},
		Budget: Budget{
			Day: Allowance{Tokens: 5_000_000, USD: 10}, Month: Allowance{Tokens: 50_000_000, USD: 100}, Task: Allowance{Tokens: 500_000, USD: 2},
			AlertPercent: 80,
		},
		Tasks:   Tasks{Concurrency: 2, QueueLimit: 1000, TimeoutSeconds: 3600, TakeoverSeconds: 15, ApproveRisk: "high"},
		Memory:  Memory{Embedder: "hashing", MaxRecords: 200_000, ConsolidateAfterCount: 150_000, ConsolidateAfterHours: 24},
		Code:    Code{Enabled: true},
		MCP:     MCP{ToolsBudget: 4000},
		Service: Service{TokenRate: 2000, Rate: 10_000, InFlight: 256, Streams: 256, Connections: 1024},
	}
}

// A Value is one setting as people see it.
type Value struct {
	Key   string `json:"key"`
	Value any    `json:"value"`
	// Source is "default", the path of the file, the path and line of the
	// environment file, the environment variable, or [FlagSource].
	Source string `json:"source"`
	Doc    string `json:"doc"`
}

// A Config is the settings together with their sources. It does not change.
type Config struct {
	settings Settings
	values   []Value
}

// Settings are the values in force.
func (c *Config) Settings() Settings { return c.settings }

// List returns every setting in the order of [Settings]; those of a provider are
// listed when they are set.
func (c *Config) List() []Value { return slices.Clone(c.values) }

// Get returns one setting, and a [fault.KindNotFound] error that suggests the
// nearest key for one that does not exist.
func (c *Config) Get(key string) (Value, error) {
	i := slices.IndexFunc(c.values, func(v Value) bool { return v.Key == key })
	switch {
	case i >= 0:
		return c.values[i], nil
	case isGroup(key):
		return Value{}, notOne(fault.KindNotFound, key, "%s is a group of settings", key)
	case providerKey(key):
		return Value{}, fault.Errorf(fault.KindNotFound, "setting %s is not set", key).WithHint("%s shows what is set of each provider", fault.List(fault.Settings))
	}
	return Value{}, unknown(fault.KindNotFound, key, "setting %s does not exist", key)
}

// Code says whether scripts of callers are run, with the tools of skills as functions in them.
type Code struct {
	Enabled bool `koanf:"enabled" doc:"run scripts of programs and models, which can do nothing but call the tools that those may call: true or false"`
}

// MCP says what models are shown.
type MCP struct {
	ToolsBudget int `koanf:"tools_budget" doc:"how many tokens the definitions of all tools may have that a model is shown; above it is shown a search and a tool that runs scripts instead; 0 for those in any case"`
}

// Service bounds what is asked of the service.
type Service struct {
	TokenRate float64 `koanf:"token_rate" doc:"how many requests a second the service takes with one token; more are answered with 429"`
	Rate      float64 `koanf:"rate" doc:"how many requests a second the service takes in all; a tenth as many of those without a token that is known"`
	InFlight  int     `koanf:"in_flight" doc:"how many requests the service works on at the same time; less urgent ones are turned away before"`
	Streams   int     `koanf:"streams" doc:"how many streams of events the service keeps open"`

	Connections int `koanf:"connections" doc:"how many connections the service has over the network at the same time; others wait until one ends"`
}
