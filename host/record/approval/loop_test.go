package approval_test

import (
	"testing"
	"time"

	"github.com/skillet-run/skillet/host/base/fault"
	"github.com/skillet-run/skillet/host/record/approval"
	"github.com/skillet-run/skillet/manifests"
	"github.com/skillet-run/skillet/policies/capability"
)

// scriptCall is a call of a script.
func scriptCall(code, actor, once, input string) approval.ToolCall {
	c := approval.NewToolCall("net", digest, "get", []byte(input))
	c.Script = &approval.Script{Run: "run", Number: 1, Language: "javascript", Digest: manifests.DigestOf([]byte(code)), Actor: actor, Once: once}
	return c
}

func (p parts) takeFor(t *testing.T, c approval.ToolCall) approval.CallApproval {
	t.Helper()
	l, err := p.TakeCallApproval(t.Context(), approval.Granted{}, func() approval.ToolCall { return c })
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// A loop counts each call once, is for one script of one caller, and is what it was when the
// store is made again from the journal.
func TestLoop(t *testing.T) {
	t.Parallel()
	p := assemble(t, time.Hour)
	c := scriptCall("code", "agent:bot", "", `{"n":1}`)
	made, err := p.ProposeCall(t.Context(), approval.Proposal{
		ID: approval.NewID(), Type: approval.TypeCall, Title: "call", Skill: "net", Version: "1.0.0", Call: &c, ProposedBy: "agent:bot",
		Requested: []approval.Ask{{Capability: capability.MustParse("http:POST https://x.example/1"), Policies: []string{"ask"}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	forms, err := approval.ParsePattern("n=?")
	if err != nil {
		t.Fatal(err)
	}
	for what, terms := range map[string]approval.Terms{
		"too many": {MaxUses: approval.MaxLoop + 1}, "none": {MaxUses: -1}, "a run": {MaxUses: 2, Run: "x"}, "over": {MaxUses: 2, ExpiresAt: time.Now().Add(-time.Second)},
	} {
		if _, err := p.ApproveLoop(t.Context(), ada, made, terms, ""); fault.AsError(err) == nil || fault.AsError(err).Kind != fault.KindUsage {
			t.Errorf("%s: %v", what, err)
		}
	}
	if _, err := p.ApproveLoop(t.Context(), approval.Human{}, made, approval.Terms{}, ""); fault.AsError(err) == nil || fault.AsError(err).Kind != fault.KindDenied {
		t.Errorf("nobody: %v", err)
	}
	lent, err := p.ApproveLoop(t.Context(), ada, made, approval.Terms{MaxUses: 3, For: []approval.Pattern{forms}}, "read it")
	if err != nil || lent.Status != approval.StatusApplied || lent.Loop == nil || time.Until(lent.Loop.ExpiresAt) > 24*time.Hour {
		t.Fatalf("%+v %v", lent, err)
	}
	for what, other := range map[string]approval.ToolCall{
		"another script": scriptCall("code ", "agent:bot", "", `{"n":1}`),
		"another caller": scriptCall("code", "agent:other", "", `{"n":1}`),
		"another input":  scriptCall("code", "agent:bot", "", `{"n":10}`),
		"two readings":   scriptCall("code", "agent:bot", "", `{"n":1,"n":10}`),
		"no script":      approval.NewToolCall("net", digest, "get", []byte(`{"n":1}`)),
	} {
		if l := p.takeFor(t, other); l.ID() != "" {
			t.Errorf("%s is let through", what)
		}
	}
	uses := func() int {
		now, err := p.Proposal(t.Context(), lent.ID)
		if err != nil {
			t.Fatal(err)
		}
		return now.Loop.Uses
	}
	for n, once := range []string{"run/1/0", "run/1/0", "", ""} { // the first of which is made again
		l := p.takeFor(t, scriptCall("code", "agent:bot", once, `{"n":2}`))
		if l.ID() != lent.ID || len(l.Policies()) != 1 || uses() != max(n, 1) {
			t.Errorf("call %d: %+v, %d counted", n, l, uses())
		}
		if _, err := p.ledger.Rebuild(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if l := p.takeFor(t, c); l.ID() != "" || uses() != 3 {
		t.Errorf("one more is let through, of %d", uses())
	}
	if _, err := p.RevertCall(t.Context(), ada, lent, ""); fault.AsError(err) == nil || fault.AsError(err).Kind != fault.KindConflict {
		t.Errorf("what is used up is taken back: %v", err)
	}
}
