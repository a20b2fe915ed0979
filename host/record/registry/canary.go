package registry

import (
	"context"
	"encoding/json"
	"strings"
	"time"

	"github.com/skillet-run/skillet/host/base/store"
	"github.com/skillet-run/skillet/host/record/ledger"
	"github.com/skillet-run/skillet/manifests"
)

// A Canary is a new version on trial: it gets a share of the calls that are made
// to the skill without naming a version.
type Canary struct {
	// Digest is the version on trial, and Stable the one it is measured against.
	Digest manifests.Digest `json:"digest"`
	Stable manifests.Digest `json:"stable"`
	// Version and StableVersion are theirs.
	Version       string `json:"version"`
	StableVersion string `json:"stable_version"`
	// Percent of the calls go to it, 1 to 99.
	Percent int `json:"percent"`
	// Calls is how many of its calls it takes until it is promoted.
	Calls int `json:"calls"`
	// Replays says what the version did on recorded calls before the trial; empty
	// when there were none.
	Replays string `json:"replays,omitempty"`
	// Seq is the decision that began it. It names the figures of this trial.
	Seq uint64    `json:"seq,omitempty"`
	By  string    `json:"by,omitempty"`
	At  time.Time `json:"at,omitzero"`
}

// A Verdict is how a trial ended.
type Verdict string

// The verdicts.
const (
	VerdictPromoted   Verdict = "promoted"    // the version on trial is active
	VerdictRolledBack Verdict = "rolled_back" // it was worse, and gets no calls any more
	VerdictEnded      Verdict = "ended"       // a person ended the trial without either
)

// Words say what became of the version on trial: "was rolled back".
func (v Verdict) Words() string { return "was " + strings.ReplaceAll(string(v), "_", " ") }

// A Trial is the report of a canary that ended.
type Trial struct {
	Canary
	Verdict Verdict `json:"verdict"`
	Reason  string  `json:"reason,omitempty"`
	// Report has the figures in the form of who measured them.
	Report  json.RawMessage `json:"report,omitempty"`
	EndedBy string          `json:"ended_by,omitempty"`
	EndedAt time.Time       `json:"ended_at,omitzero"`
}

// canaryStart is the data of a canary.started change.
type canaryStart struct {
	Name string `json:"name"`
	Canary
}

// CanaryStarted is the change that begins a trial of an installed version.
func CanaryStarted(name string, c Canary) (ledger.Change, error) {
	return ledger.NewChange(kindCanaryStarted, canaryStart{name, c})
}

func applyCanaryStarted(ctx context.Context, kv store.KV, at ledger.Stamp, c canaryStart) error {
	c.Seq, c.By, c.At = at.Seq, at.Actor, at.Time
	return change(ctx, kv, c.Name, func(s *standing) { s.Canary = &c.Canary })
}

// canaryEnd is the data of a canary.ended change.
type canaryEnd struct {
	Name    string          `json:"name"`
	Verdict Verdict         `json:"verdict"`
	Reason  string          `json:"reason,omitempty"`
	Report  json.RawMessage `json:"report,omitempty"`
}

// CanaryEnded is the change that ends the trial of a skill. After
// [VerdictPromoted] the version on trial is the active one.
func CanaryEnded(name string, v Verdict, reason string, report json.RawMessage) (ledger.Change, error) {
	return ledger.NewChange(kindCanaryEnded, canaryEnd{name, v, reason, report})
}

func applyCanaryEnded(ctx context.Context, kv store.KV, at ledger.Stamp, c canaryEnd) error {
	return change(ctx, kv, c.Name, func(s *standing) {
		if s.Canary == nil { // applied before
			return
		}
		trial := &Trial{Canary: *s.Canary, Verdict: c.Verdict, Reason: c.Reason, Report: c.Report, EndedBy: at.Actor, EndedAt: at.Time}
		if c.Verdict == VerdictPromoted {
			s.avoid("", s.Canary.Version, at)
			s.activate(s.Canary.Digest, false)
		}
		s.Canary, s.Trial = nil, trial
	})
}
