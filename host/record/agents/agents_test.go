package agents_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/skillet-run/skillet/host/base/fault"

	"github.com/skillet-run/skillet/host/base/store"
	"github.com/skillet-run/skillet/host/record/agents"
	"github.com/skillet-run/skillet/host/record/approval"
	"github.com/skillet-run/skillet/host/record/journal"
	"github.com/skillet-run/skillet/host/record/ledger"
)

var ada = approval.NewHuman("ada")

type parts struct {
	*agents.Agents
	ledger *ledger.Ledger
	file   string
}

func assemble(t *testing.T) parts {
	t.Helper()
	home := t.TempDir()
	j, err := journal.Open(filepath.Join(home, "journal"), journal.Options{})
	if err != nil {
		t.Fatal(err)
	}
	s := store.Memory()
	t.Cleanup(func() { s.Close() })
	l := ledger.New(j, s.KV(), approval.Projection())
	return parts{agents.New(l, approval.NewStore(l, s.KV(), nil, approval.Settings{Home: home}), home, func(string) ([]byte, bool) { return nil, false }), l, filepath.Join(home, "agents", "notes.yaml")}
}

const (
	first  = "name: notes\ndescription: Writes notes.\nmodel_tier: fast\nsystem_prompt: Write.\n"
	second = first + "tools: [text]\n"
)

func (p parts) propose(t *testing.T, text string) approval.Proposal {
	t.Helper()
	got, err := p.Propose(t.Context(), agents.Request{Text: []byte(text), File: "mine.yaml", ProposedBy: "model:m", Rationale: "because"})
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func wantKind(t *testing.T, what string, err error, want fault.Kind) {
	t.Helper()
	if err == nil || fault.AsError(err).Kind != want || fault.AsError(err).Way().String() == "" {
		t.Errorf("%s: %v, want an error of the kind %s with a hint", what, err, want)
	}
}

// An agent is proposed, approved, defined anew, taken away and put back.
func TestLife(t *testing.T) {
	p := assemble(t)
	prop := p.propose(t, first)
	if again := p.propose(t, first); again.ID != prop.ID {
		t.Error("the same definition waits twice")
	}
	if prop.Type != approval.TypeNewAgent || prop.Status != approval.StatusPending {
		t.Errorf("proposed: %+v", prop)
	}
	_, err := p.Get("notes")
	wantKind(t, "an agent that waits", err, fault.KindNotFound)
	_, err = p.Approve(t.Context(), approval.Human{}, prop, "", nil)
	wantKindOnly(t, "nobody approves", err, fault.KindDenied)
	if prop, err = p.Approve(t.Context(), ada, prop, "", nil); err != nil || prop.Status != approval.StatusApplied {
		t.Fatalf("approved: %+v, %v", prop, err)
	}
	if d, err := p.Get("notes"); err != nil || len(d.Tools) != 0 {
		t.Errorf("%+v, %v", d, err)
	}
	_, err = p.Propose(t.Context(), agents.Request{Text: []byte(first), File: "x"})
	wantKind(t, "nothing new", err, fault.KindConflict)
	change := p.propose(t, second)
	if change.Type != approval.TypeModifyAgent || string(change.Agent.Before) != first {
		t.Errorf("proposed: %+v", change)
	}
	if change, err = p.Approve(t.Context(), ada, change, "", nil); err != nil {
		t.Fatal(err)
	}
	gone, err := p.ProposeRemoval(t.Context(), "notes", ada.Actor(), "")
	if err != nil {
		t.Fatal(err)
	}
	if gone, err = p.Approve(t.Context(), ada, gone, "", nil); err != nil {
		t.Fatal(err)
	}
	if all, err := p.List(); err != nil || len(all) != 0 {
		t.Errorf("%v, %v", all, err)
	}
	for _, back := range []approval.Proposal{gone, change} {
		if _, err := p.Revert(t.Context(), ada, back, ""); err != nil {
			t.Fatal(err)
		}
	}
	if b, err := os.ReadFile(p.file); err != nil || string(b) != first {
		t.Errorf("%q, %v", b, err)
	}
}

func wantKindOnly(t *testing.T, what string, err error, want fault.Kind) {
	t.Helper()
	if err == nil || fault.AsError(err).Kind != want {
		t.Errorf("%s: %v, want an error of the kind %s", what, err, want)
	}
}

func TestRefused(t *testing.T) {
	p := assemble(t)
	_, err := p.Propose(t.Context(), agents.Request{Text: []byte("name: ../x\n"), File: "x.yaml"})
	wantKind(t, "no definition", err, fault.KindUsage)
	for _, name := range []string{"notes", "../config", ".", "a/b"} {
		_, err := p.ProposeRemoval(t.Context(), name, "x", "")
		wantKind(t, name, err, fault.KindNotFound)
	}
	if err := os.MkdirAll(filepath.Dir(p.file), 0o700); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"broken": "name: [", "other": first, "notes": first} {
		if err := os.WriteFile(filepath.Join(filepath.Dir(p.file), name+".yaml"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	_, err = p.Get("other")
	wantKind(t, "a file that defines another", err, fault.KindVerification)
	_, err = p.Get("note")
	wantKind(t, "nearly", err, fault.KindNotFound)
	all, err := p.List()
	if err != nil || len(all) != 3 || all[0].Problem == "" || all[1].Definition == nil || all[2].Problem == "" {
		t.Errorf("%+v, %v", all, err)
	}
}

// A command that died between the decision and the file is finished by the next.
func TestFinish(t *testing.T) {
	p := assemble(t)
	prop := p.propose(t, first)
	err := p.ledger.Commit(t.Context(), func(context.Context) (ledger.Decision, error) {
		c, err := ada.Approved(prop, "")
		return ledger.Decision{Kind: "approve", Actor: ada.Actor(), Changes: c}, err
	})
	if err != nil {
		t.Fatal(err)
	}
	if done, err := p.Finish(t.Context()); err != nil || len(done) != 1 || done[0].Status != approval.StatusApplied {
		t.Errorf("%+v, %v", done, err)
	}
	if _, err := p.Get("notes"); err != nil {
		t.Error(err)
	}
}
