// Package policies decides, by Cedar policies, whether a query is allowed,
// denied or needs a person, and says why.
package policies

import "github.com/skillet-run/skillet/policies/capability"

// Effect is the answer of a Decision.
type Effect int

const (
	Deny Effect = iota
	Ask
	Allow
)

func (e Effect) String() string { return [...]string{"deny", "ask", "allow"}[e] }

// Phase says when a query is made.
type Phase int

const (
	PhaseCall Phase = iota
	PhaseInstall
)

// Where a skill came from.
const (
	OriginUser        = "user"
	OriginBundled     = "bundled"
	OriginGenerated   = "generated"
	OriginDevelopment = "development"
	OriginPath        = "path"
)

// Principal is the skill that asks.
type Principal struct{ Skill, Version, Digest, Signer, Origin string }

// Query is one question.
type Query struct {
	Phase      Phase
	Principal  Principal
	Request    capability.Request
	Capability capability.Capability
	Granted    bool
	GrantedBy  string
	Approved   bool
	Bytes      int64
	Home       string // absolute path of $SKILLET_HOME; required for file requests
}

// Decision is the answer and its reasons.
type Decision struct {
	Effect   Effect
	Policies []string
	Reason   string
}

// Policy describes one loaded policy.
type Policy struct {
	ID     string
	Effect Effect
	Reason string
	File   string
	Text   string
}

// Set is an immutable set of policies.
type Set struct{}

func Default() (*Set, error)           { return &Set{}, nil }
func Load(dir string) (*Set, error)    { return &Set{}, nil }
func (s *Set) Decide(q Query) Decision { return Decision{} }
func (s *Set) List() []Policy          { return nil }
func Explain(d Decision) string        { return "" }
