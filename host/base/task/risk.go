package task

import (
	"encoding/json"
	"slices"
)

// Risk is what could go wrong.
type Risk string

// The risks.
const (
	RiskLow    Risk = "low"    // nothing is changed
	RiskMedium Risk = "medium" // what is changed can be done again without harm
	RiskHigh   Risk = "high"   // it cannot
)

// RiskNever stands where a risk says from which one on a person is asked: nobody is.
const RiskNever Risk = "never"

// RiskOf is the risk of a call of a tool, by what the tool promises.
func RiskOf(readOnly, idempotent bool) Risk {
	switch {
	case readOnly:
		return RiskLow
	case idempotent:
		return RiskMedium
	}
	return RiskHigh
}

// Above reports whether r is worse than other. An unknown risk is below all others.
func (r Risk) Above(other Risk) bool { return r.level() > other.level() }

// Asks reports whether a person has to agree to a call of a risk, when r is the one
// from which on persons are asked. The empty r asks about nothing.
func (r Risk) Asks(about Risk) bool {
	return r != "" && r != RiskNever && !r.Above(about)
}

func (r Risk) level() int {
	return slices.Index([]Risk{RiskLow, RiskMedium, RiskHigh}, r)
}

// Reason says what makes a call one of the risk.
func (r Risk) Reason() string {
	switch r {
	case RiskLow:
		return "it only reads"
	case RiskMedium:
		return "it may change something, and can be repeated without harm"
	}
	return "it may change something, and done again it may do harm"
}

// A WaitingCall is a call of a tool that a person has to agree to before it is made.
type WaitingCall struct {
	// Place is where the call is kept: the step that makes it, and its number there.
	Place string `json:"place"`
	// Tool is what the agent calls it; SKILL:TOOL for one that a skill calls.
	Tool string `json:"tool"`
	// Input is what it is to be called with, as JSON, without secrets; when that is too
	// long, its beginning. InputBytes is how long it is.
	Input      string `json:"input"`
	InputBytes int    `json:"input_bytes"`
	Risk       Risk   `json:"risk"`
	// Reason says why a person has to agree.
	Reason string `json:"reason"`
}

// An AskedCall is a call of another skill that was not made, because a person has to
// agree to the call within which it was to be made.
type AskedCall struct {
	Skill string `json:"skill"`
	Tool  string `json:"tool"`
	// Input is what it was to be called with; null when that is not JSON, or longer than
	// 64 KiB.
	Input json.RawMessage `json:"input"`
	Risk  Risk            `json:"risk"`
}
