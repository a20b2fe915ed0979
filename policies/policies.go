// Package policies decides whether a skill may do something, by Cedar policies,
// and says why.
//
// A decision is a pure function of the loaded policies and the query: nothing is
// looked up, remembered or logged. The package does not know who granted what
// or how a refusal is shown; it is told whether a grant covers the request and
// answers allow, deny or ask, with the ids of the policies that decided and
// their reasons.
//
// The rules of Cedar hold: what no policy permits is denied, and one forbid
// outweighs every permit. Two things are added. A policy that cannot be
// evaluated denies, because Cedar would skip it even when it is a forbid. And a
// forbid with the annotation @approval("required") asks: when only such forbids
// stand in the way, and context.approved being true would lift them, the answer
// is to ask a person.
//
// Policies come from the embedded defaults directory and from a directory of the
// person's own; a person's policy can add to the defaults but not lift one of
// their forbids. Each carries these annotations:
//
//	@id("...")               required, unique: names the policy in every decision
//	@reason("...")           what a person reads when it decides
//	@approval("required")    on a forbid: ask instead of denying
package policies

import (
	"net/netip"
	"strings"

	"github.com/skillet-run/skillet/policies/capability"
)

// Effect is the answer of a decision. The zero value is Deny.
type Effect int

const (
	// Deny refuses, and no approval would change that.
	Deny Effect = iota
	// Ask refuses until a person approves.
	Ask
	// Allow permits.
	Allow
)

// String returns "deny", "ask" or "allow".
func (e Effect) String() string {
	switch e {
	case Ask:
		return "ask"
	case Allow:
		return "allow"
	default:
		return "deny"
	}
}

// Phase says at which moment a query is made. The zero value is PhaseCall.
type Phase int

const (
	// PhaseCall is a running skill that tries Query.Request.
	PhaseCall Phase = iota
	// PhaseInstall is a package that asks for Query.Capability.
	PhaseInstall
	// PhaseProcess is a skill that is about to run in a process with other skills.
	// Unless the answer is Allow, it runs in processes of its own.
	PhaseProcess
	// PhaseTool is a tool that is about to be called, with Query.Call.
	PhaseTool
)

// ShareProcess is the action of [PhaseProcess], as it is written in policies and in
// place of a request. It is not a capability: nobody asks for it, and nobody grants it.
const ShareProcess = "share-process"

// ActionCall is the action of [PhaseTool], as it is written in policies, and before a colon
// and the tool in place of a request: "call:write_file". It is not a capability either.
const ActionCall = "call"

// Where a skill came from: the values of Principal.Origin.
const (
	OriginUser        = "user"        // a person installed it
	OriginBundled     = "bundled"     // it came with Skillet
	OriginGenerated   = "generated"   // a model wrote it
	OriginDevelopment = "development" // its author is working on it
	OriginPath        = "path"        // it was run from a file, not installed
)

// Principal is the skill that asks.
type Principal struct {
	Skill   string // name
	Version string // "" for a bare module
	Digest  string // "sha256:..." of the package
	Signer  string // "" for an unsigned package
	Origin  string // one of the Origin constants; anything else installs nothing
}

// Query is one question. The zero value is denied.
type Query struct {
	Phase     Phase
	Principal Principal
	// Request is what a running skill tries (PhaseCall).
	Request capability.Request
	// Capability is what a package asks for (PhaseInstall); the zero value is a
	// package that asks for nothing.
	Capability capability.Capability
	// Granted tells that a grant covers the request, and GrantedBy which, as the
	// text of its capability.
	Granted   bool
	GrantedBy string
	// Approved tells that a person has approved this very query. It lifts what
	// asks, never what denies.
	Approved bool
	// Address is where the host of a request over HTTP was found to be, when a
	// connection to it is made; the zero value before that. The request then has to
	// be allowed with the name and that address, and also as if it had named the
	// host by the address.
	Address netip.Addr
	// Bytes is how much would be written or sent; 0 when that is not known.
	Bytes int64
	// Home is the absolute path of Skillet's home with symbolic links resolved,
	// like the paths in requests. Without it every request for a file is denied,
	// because the home could not be kept apart.
	Home string
	// Call is what is known of the call in which it is asked, for PhaseCall and
	// PhaseTool. A policy that looks at it denies when it is nil.
	Call *Call

	dialled bool // it is about the address in the place of the name
}

// Decision is an answer with its reasons. The zero value denies.
type Decision struct {
	Effect Effect
	// Policies are the ids of the policies that decided, sorted. It is empty
	// when no policy permits the request, and when the query is malformed.
	Policies []string
	// Reason is a phrase for a person: the reasons of the deciding policies, or
	// what is wrong with the query.
	Reason string
}

// Policy describes one loaded policy.
type Policy struct {
	ID string
	// Effect is Allow for a permit, Deny for a forbid and Ask for a forbid that
	// asks.
	Effect Effect
	Reason string // "" when the policy gives none
	File   string // path, or defaults/name.cedar for an embedded policy
	Line   int    // of its first annotation, counted from 1
	Text   string // as it was written
}

// NoPermit is the Reason of a decision when no policy permits what was asked.
const NoPermit = "no policy permits this"

// Explain returns a decision as one line for a person, such as
// "deny: credentials are never opened to a skill (policy no-credentials)".
func Explain(d Decision) string {
	line := d.Effect.String()
	if d.Reason != "" {
		line += ": " + d.Reason
	}
	switch len(d.Policies) {
	case 0:
		return line
	case 1:
		return line + " (policy " + d.Policies[0] + ")"
	default:
		return line + " (policies " + strings.Join(d.Policies, ", ") + ")"
	}
}
