package approval

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/skillet-run/skillet/host/base/fault"
	"github.com/skillet-run/skillet/policies/limit"

	"github.com/skillet-run/skillet/host/record/registry"
	"github.com/skillet-run/skillet/manifests"
	"github.com/skillet-run/skillet/policies/capability"
)

// A Type says what a proposal wants to change.
type Type string

// The types of proposal.
const (
	TypeNewSkill     Type = "new_skill"     // a skill that was written for this host
	TypeModifySkill  Type = "modify_skill"  // another version of one
	TypeNewAgent     Type = "new_agent"     // the definition of an agent
	TypeModifyAgent  Type = "modify_agent"  // another definition of one, or none any more
	TypeConfigChange Type = "config_change" // other settings of the home
	TypeInstall      Type = "install"       // a package of somebody else's that asks for more than it has
	TypeCall         Type = "call"          // one tool call that a policy asks about
)

// Types are all of them.
func Types() []Type {
	return []Type{TypeNewSkill, TypeModifySkill, TypeNewAgent, TypeModifyAgent, TypeConfigChange, TypeInstall, TypeCall}
}

// Package reports whether proposals of this type hold a package.
func (t Type) Package() bool {
	return t == TypeNewSkill || t == TypeModifySkill || t == TypeInstall
}

// Document reports whether proposals of this type change a file of the home.
func (t Type) Document() bool {
	return t == TypeConfigChange || t == TypeNewAgent || t == TypeModifyAgent
}

// Check refuses types that cannot be proposed, with a [fault.KindUsage] error.
func (t Type) Check() error {
	if !slices.Contains(Types(), t) {
		return fault.Errorf(fault.KindUsage, "unknown type of proposal %q", t).
			WithHint("the types are: %v", Types())
	}
	return nil
}

// A Proposal is a change that waits for a person's decision.
type Proposal struct {
	ID     string `json:"id"`
	Type   Type   `json:"type"`
	Status Status `json:"status"`
	// Title is one line; Rationale is why, in the proposer's words.
	Title     string `json:"title"`
	Rationale string `json:"rationale,omitempty"`
	// Skill and Version name what would be installed, or what is called.
	Skill   string `json:"skill,omitempty"`
	Version string `json:"version,omitempty"`
	// Digest is the content digest of the package that was proposed, or that of
	// Config, Agent or Call. An approval holds for these bytes and no others.
	Digest manifests.Digest `json:"digest"`
	// Replaces is the version that was active when it was proposed; empty for
	// none. An approval holds only while that is so.
	Replaces string `json:"replaces,omitempty"`
	// Requested is what the package asks for, with the reasons it gives, and
	// Limits are the bounds of each call.
	Requested []Ask     `json:"requested"`
	Limits    limit.Set `json:"limits"`
	// Config is what a config_change changes, Agent what a new_agent or
	// modify_agent does, and Call what a call calls.
	Config *ConfigChange `json:"config,omitempty"`
	Agent  *AgentChange  `json:"agent,omitempty"`
	Call   *ToolCall     `json:"call,omitempty"`
	// Loop is what a person approved for the script that makes the call, beside this one call;
	// nil for nothing.
	Loop *Loop `json:"loop,omitempty"`
	// Origin and Source say where the package came from; ProposedBy says who
	// brought it: "human:ada", "model:NAME".
	Origin     string `json:"origin,omitempty"`
	Source     string `json:"source,omitempty"`
	ProposedBy string `json:"proposed_by"`
	// SourceKind, Signer, Artifact and Dependencies are what else is known of the
	// package; see [registry.Provenance].
	SourceKind   string                `json:"source_kind,omitempty"`
	Signer       string                `json:"signer,omitempty"`
	Artifact     manifests.Digest      `json:"artifact,omitempty"`
	Dependencies []registry.Dependency `json:"dependencies,omitempty"`
	// Needed, Asked and Beside, too. Links are installed versions that are resolved
	// otherwise once it is approved.
	Needed bool            `json:"needed,omitempty"`
	Asked  *registry.Asked `json:"asked,omitempty"`
	Beside bool            `json:"beside,omitempty"`
	Links  []registry.Link `json:"links,omitempty"`
	// Workspace is the absolute directory that relative paths of the manifest meant.
	// It is empty in proposals that are not of packages, and in those of earlier versions.
	Workspace string `json:"workspace,omitempty"`
	// CreatedAt is set when it is recorded; DecidedAt is zero until decided.
	CreatedAt time.Time `json:"created_at,omitzero"`
	// ExpiresAt is when a proposal that still waits expires.
	ExpiresAt time.Time `json:"expires_at,omitzero"`
	DecidedAt time.Time `json:"decided_at,omitzero"`
	DecidedBy string    `json:"decided_by,omitempty"`
	Notes     string    `json:"notes,omitempty"`
	// Scanned is how much a scan found in the package when it was proposed, and Tested how its
	// test cases went then; nil when nobody looked.
	Scanned *ScanCount `json:"scanned,omitempty"`
	Tested  *TestCount `json:"tested,omitempty"`
	// Trust is what is to be remembered of who signed the package when it is
	// approved, in the form of package trust; empty for nothing.
	Trust json.RawMessage `json:"trust,omitempty"`
	// Before is what was in force before it was applied, which is what reverting
	// it puts back; nil until then.
	Before *Before `json:"before,omitempty"`
	// Steps are what happened to it, oldest first.
	Steps []Step `json:"steps,omitempty"`
}

// A ScanCount is how much a scan found, by severity.
type ScanCount struct {
	Block int `json:"block"`
	Warn  int `json:"warn"`
	Info  int `json:"info"`
}

// A TestCount is how test cases went.
type TestCount struct {
	Passed  int `json:"passed"`
	Failed  int `json:"failed"`
	Skipped int `json:"skipped"`
}

// An Ask is one capability a package asks for.
type Ask struct {
	Capability capability.Capability `json:"capability"`
	Words      string                `json:"words"`
	Reason     string                `json:"reason,omitempty"`
	// New is true when an earlier version of the skill was not granted it.
	New bool `json:"new"`
	// Policies and Effect are what the policies say: "allow", "ask" or "deny".
	Effect   string   `json:"effect"`
	Policies []string `json:"policies,omitempty"`
}

// A FileChange is a file of the home before and after a change, byte for byte.
type FileChange struct {
	// Name is its path in the home, with slashes.
	Name string `json:"name"`
	// Before and After are the whole file; nil means that there is none.
	Before []byte `json:"before"`
	After  []byte `json:"after"`
}

// A ConfigChange is what a config_change changes: some settings, and with them
// the file they are in.
type ConfigChange struct {
	Settings []SettingChange `json:"settings"`
	FileChange
}

// An AgentChange is what a new_agent or modify_agent changes: the definition of
// one agent.
type AgentChange struct {
	Agent string `json:"agent"`
	// Builtin is the definition that comes with the program and that the file
	// replaces, or that holds again without it; nil when the program has none.
	Builtin []byte `json:"builtin,omitempty"`
	FileChange
}

// Definitions are the definitions that hold before and after the change; nil for
// none.
func (c AgentChange) Definitions() (before, after []byte) {
	before, after = c.Before, c.After
	if before == nil {
		before = c.Builtin
	}
	if after == nil {
		after = c.Builtin
	}
	return before, after
}

// File is the file that p changes; the zero value when it changes none.
func (p Proposal) File() FileChange {
	switch {
	case p.Config != nil:
		return p.Config.FileChange
	case p.Agent != nil:
		return p.Agent.FileChange
	}
	return FileChange{}
}

// ChangeDigest is the digest of the change of a file that p is about. Without one
// it is that of a change of nothing.
func (p Proposal) ChangeDigest() (manifests.Digest, error) {
	switch {
	case p.Config != nil:
		return DigestOf(*p.Config)
	case p.Agent != nil:
		return DigestOf(*p.Agent)
	}
	return DigestOf(ConfigChange{})
}

// A SettingChange is one setting with its values as they are written in the
// file.
type SettingChange struct {
	Key string `json:"key"`
	// Old is empty when the file does not set it.
	Old string `json:"old,omitempty"`
	New string `json:"new"`
	// Unset says that the file will not set it any more, and New is empty.
	Unset bool `json:"unset,omitempty"`
}

// Before is what was in force before a proposal was applied.
type Before struct {
	// Digest is the version that was active; empty for none.
	Digest manifests.Digest `json:"digest,omitempty"`
	// Grants are what it was granted then, those that held.
	Grants []Grant `json:"grants,omitempty"`
}

// A Step is one event of a proposal's life.
type Step struct {
	Event  Event     `json:"event"`
	Status Status    `json:"status"`
	Party  Party     `json:"party"`
	By     string    `json:"by"`
	At     time.Time `json:"at"`
	// Decision is its number in the audit log.
	Decision uint64 `json:"decision"`
	Notes    string `json:"notes,omitempty"`
}

// Capabilities is the set of what p asks for.
func (p Proposal) Capabilities() capability.Set {
	var cs []capability.Capability
	for _, a := range p.Requested {
		cs = append(cs, a.Capability)
	}
	return capability.NewSet(cs...)
}

// Ref is name@version of the skill that p is about; empty for none.
func (p Proposal) Ref() string {
	if p.Version == "" {
		return p.Skill
	}
	return p.Skill + "@" + p.Version
}

// Overdue reports whether p waits, and longer than it may.
func (p Proposal) Overdue(now time.Time) bool {
	return p.Status == StatusPending && !p.ExpiresAt.IsZero() && !now.Before(p.ExpiresAt)
}

// DigestOf returns the digest of a change other than of a package: of its canonical JSON.
func DigestOf[T ConfigChange | AgentChange | ToolCall](v T) (manifests.Digest, error) {
	b, err := json.Marshal(v)
	if err != nil {
		return "", fmt.Errorf("digest of a proposal: %w", err)
	}
	return CanonicalDigest(b), nil
}
