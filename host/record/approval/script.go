package approval

import (
	"encoding/json"

	"github.com/skillet-run/skillet/manifests"
)

// A Script is the script of a caller that makes a call.
type Script struct {
	// Run is the run of the script, and Number that of the call in it, from 1.
	Run    string `json:"run,omitempty"`
	Number int    `json:"call,omitempty"`
	// Language is that of the script, and Digest that of its bytes.
	Language string           `json:"language"`
	Digest   manifests.Digest `json:"digest"`
	// Actor is who runs it.
	Actor string `json:"actor"`
	// Once names the making of the call: when it is made again under the same name, because the
	// process died before anything happened, it counts once. Empty counts each.
	Once string `json:"-"`
}

// identity is what makes a script another one: who runs it, and its bytes. Where it stands does not.
func (s *Script) identity() *Script {
	if s == nil {
		return nil
	}
	return &Script{Language: s.Language, Digest: s.Digest, Actor: s.Actor}
}

// A ScriptView is a script that waits, for the person who decides about its call.
type ScriptView struct {
	Script
	// Code is all of it, and Data what it was given; nil for nothing.
	Code string          `json:"code"`
	Data json.RawMessage `json:"data,omitempty"`
	// Calls are those that it has made so far.
	Calls []ScriptCall `json:"calls" nullable:"false"`
}

// A ScriptCall is a call that a script has made.
type ScriptCall struct {
	Skill string `json:"skill"`
	Tool  string `json:"tool"`
	// Input is what it gave, nil when that was long, and Answer the beginning of what it was
	// answered, as text.
	Input  json.RawMessage `json:"input,omitempty"`
	Answer string          `json:"answer,omitempty"`
	// Error says why it failed; empty when it did not.
	Error string `json:"error,omitempty"`
}
