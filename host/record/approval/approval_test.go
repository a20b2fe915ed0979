package approval_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/skillet-run/skillet/host/base/fault"

	"github.com/skillet-run/skillet/host/base/store"
	"github.com/skillet-run/skillet/host/record/approval"
	"github.com/skillet-run/skillet/host/record/journal"
	"github.com/skillet-run/skillet/host/record/ledger"
	"github.com/skillet-run/skillet/host/record/registry"
	"github.com/skillet-run/skillet/manifests"
	"github.com/skillet-run/skillet/policies"
	"github.com/skillet-run/skillet/policies/capability"
)

var ada = approval.NewHuman("ada")

// parts are a Store over a store in memory.
type parts struct {
	*approval.Store
	ledger *ledger.Ledger
	kv     store.KV
}

func assemble(t *testing.T, expiry time.Duration) parts {
	t.Helper()
	j, err := journal.Open(t.TempDir(), journal.Options{})
	if err != nil {
		t.Fatal(err)
	}
	s := store.Memory()
	t.Cleanup(func() { s.Close() })
	ps, err := policies.Default()
	if err != nil {
		t.Fatal(err)
	}
	l := ledger.New(j, s.KV(), registry.Projection(), approval.Projection())
	return parts{approval.NewStore(l, s.KV(), func() (*policies.Set, error) { return ps, nil }, approval.Settings{Home: "/home", Expiry: expiry}), l, s.KV()}
}

var digest = manifests.DigestOf([]byte("package"))

// callProposal proposes a call with the given input.
func (p parts) callProposal(t *testing.T, input string) approval.Proposal {
	t.Helper()
	c := approval.NewToolCall("net", digest, "get", []byte(input))
	got, err := p.ProposeCall(t.Context(), approval.Proposal{
		ID: approval.NewID(), Type: approval.TypeCall, Title: "call", Skill: "net", Version: "1.0.0", Call: &c,
		Requested: []approval.Ask{{Capability: capability.MustParse("http:GET https://x.example/*")}}, ProposedBy: "human:bob",
	})
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func (p parts) take(t *testing.T, tool, input string) approval.CallApproval {
	t.Helper()
	l, err := p.TakeCallApproval(t.Context(), approval.Granted{}, func() approval.ToolCall { return approval.NewToolCall("net", digest, tool, []byte(input)) })
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// A call that was approved may be made once, with the same input however it is
// written, and with no other.
func TestLeases(t *testing.T) {
	p := assemble(t, 0)
	prop := p.callProposal(t, `{"a":1,"b":2}`)
	if again := p.callProposal(t, `{"a":1,"b":2}`); again.ID != prop.ID {
		t.Error("the same call waits twice")
	}
	if p.take(t, "get", `{"a":1,"b":2}`).ID() != "" {
		t.Error("a lease before the approval")
	}
	prop, err := p.ApproveCall(t.Context(), ada, prop, "once")
	if err != nil || prop.Status != approval.StatusApplied || prop.DecidedBy != "human:ada" || len(prop.Steps) != 2 {
		t.Fatalf("%+v, %v", prop, err)
	}
	for _, other := range []string{`{"a":1,"b":3}`, `{"a":1}`, `{"a":1,"b":2,"c":3}`, ``} {
		if l := p.take(t, "get", other); l.ID() != "" || !l.Set().IsEmpty() {
			t.Errorf("another input %s has the lease", other)
		}
	}
	if p.take(t, "put", `{"a":1,"b":2}`).ID() != "" {
		t.Error("another tool has the lease")
	}
	l := p.take(t, "get", ` { "b":2.0, "a":1 } `)
	if l.ID() != prop.ID || !l.Set().Covers(capability.MustParse("http:GET https://x.example/y")) {
		t.Errorf("got %+v", l)
	}
	if p.take(t, "get", `{"a":1,"b":2}`).ID() != "" {
		t.Error("the lease was used twice")
	}
	if _, err := p.ApproveCall(t.Context(), ada, prop, ""); fault.AsError(err).Kind != fault.KindConflict {
		t.Errorf("approved twice: %v", err)
	}
	if _, err := p.RevertCall(t.Context(), ada, prop, ""); fault.AsError(err).Kind != fault.KindConflict {
		t.Errorf("reverted what was done: %v", err)
	}
}

func TestOneOfManyHasTheLease(t *testing.T) {
	p := assemble(t, 0)
	if _, err := p.ApproveCall(t.Context(), ada, p.callProposal(t, `{}`), ""); err != nil {
		t.Fatal(err)
	}
	var had atomic.Int64
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			l, err := p.TakeCallApproval(context.Background(), approval.Granted{}, func() approval.ToolCall { return approval.NewToolCall("net", digest, "get", []byte(`{}`)) })
			if err != nil {
				t.Error(err)
			}
			if l.ID() != "" {
				had.Add(1)
			}
		})
	}
	all.Wait()
	if had.Load() != 1 {
		t.Errorf("%d calls had it", had.Load())
	}
}

func TestLeasesAreTakenBack(t *testing.T) {
	p := assemble(t, 0)
	prop, err := p.ApproveCall(t.Context(), ada, p.callProposal(t, `{}`), "")
	if err != nil {
		t.Fatal(err)
	}
	var nobody approval.Human
	if _, err := p.RevertCall(t.Context(), nobody, prop, ""); fault.AsError(err).Kind != fault.KindDenied {
		t.Errorf("nobody reverts: %v", err)
	}
	if prop, err = p.RevertCall(t.Context(), ada, prop, "no"); err != nil || prop.Status != approval.StatusStale {
		t.Fatalf("%+v, %v", prop, err)
	}
	if p.take(t, "get", `{}`).ID() != "" {
		t.Error("the lease is still there")
	}
}

func TestLateIsTooLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := assemble(t, time.Hour)
		prop, other := p.callProposal(t, `{"a":1}`), p.callProposal(t, `{"a":2}`)
		if _, err := p.ApproveCall(t.Context(), ada, other, ""); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Hour)
		if !prop.Overdue(time.Now()) {
			t.Error("it is not overdue")
		}
		if _, err := p.ApproveCall(t.Context(), ada, prop, ""); fault.AsError(err).Kind != fault.KindConflict {
			t.Errorf("approved too late: %v", err)
		}
		if p.take(t, "get", `{"a":2}`).ID() != "" {
			t.Error("a lease holds for ever")
		}
	})
}

func TestWhatASkillAsksForIsBounded(t *testing.T) {
	p := assemble(t, 0)
	for i := range 10 {
		p.callProposal(t, fmt.Sprint(i))
	}
	c := approval.NewToolCall("net", digest, "get", []byte("11"))
	_, err := p.ProposeCall(t.Context(), approval.Proposal{ID: approval.NewID(), Type: approval.TypeCall, Skill: "net", Call: &c})
	if fault.AsError(err).Kind != fault.KindLimit {
		t.Errorf("got %v", err)
	}
}

func TestTypes(t *testing.T) {
	p := assemble(t, 0)
	for _, kind := range approval.Types() {
		if _, err := p.Proposed(approval.Proposal{ID: "id", Type: kind}); err != nil {
			t.Errorf("%s: %v", kind, err)
		}
	}
	if _, err := p.Proposed(approval.Proposal{ID: "id", Type: "new_world"}); err == nil || fault.AsError(err).Way().String() == "" {
		t.Errorf("got %v", err)
	}
}

// Proposals and decisions of form 1, as they are in stores and journals.
func TestFormOneIsRead(t *testing.T) {
	p := assemble(t, 0)
	made := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	put := func(key, value string) {
		t.Helper()
		if _, err := p.kv.Put(t.Context(), key, []byte(value), store.AnyRevision); err != nil {
			t.Fatal(err)
		}
	}
	for _, s := range []string{"pending", "approved", "rejected", "stale"} {
		put("proposal/"+s, fmt.Sprintf(`{"v":1,"value":{"id":%q,"type":"new_skill","status":%q,"title":"t","skill":"s","version":"1.0.0",
			"digest":"sha256:%064d","requested":[],"limits":{},"origin":"user","proposed_by":"human:ada","created_at":"2026-01-02T03:04:05Z"}}`, s, s, 7))
	}
	put("grant/"+digest.Hex()+"/g", fmt.Sprintf(`{"v":1,"value":{"id":"g","skill":"s","digest":%q,"capability":"kv","scope":"once","max_uses":1,"granted_by":"human:ada"}}`, digest))
	for id, want := range map[string]approval.Status{
		"pending": approval.StatusPending, "approved": approval.StatusApplied, "rejected": approval.StatusRejected, "stale": approval.StatusStale,
	} {
		got, err := p.Proposal(t.Context(), id)
		if err != nil || got.Status != want || !got.ExpiresAt.Equal(made.Add(approval.DefaultExpiry)) {
			t.Errorf("%s: %+v, %v", id, got, err)
		}
	}
	gs, err := p.Grants(t.Context(), digest)
	if err != nil || len(gs) != 1 || !gs[0].Holds(approval.Use{}, time.Now()) {
		t.Errorf("grants: %+v, %v", gs, err)
	}
	at := ledger.Stamp{Seq: 3, Time: made, Actor: "human:ada"}
	for _, c := range []ledger.Change{
		{Kind: "proposal.made", Data: json.RawMessage(`{"id":"old","type":"modify_skill","status":"pending","requested":[]}`)},
		{Kind: "proposal.decided", Data: json.RawMessage(`{"id":"old","status":"approved","notes":"fine"}`)},
	} {
		if err := approval.Projection().Apply(t.Context(), p.kv, at, c); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := p.Proposal(t.Context(), "old"); err != nil || got.Status != approval.StatusApplied || got.Notes != "fine" || got.DecidedBy != "human:ada" {
		t.Errorf("a decision of form 1: %+v, %v", got, err)
	}
	put("proposal/new", `{"v":3,"value":{}}`)
	if _, err := p.Proposals(t.Context()); err == nil {
		t.Error("a form that is not known was read")
	}
}

// The same decision is applied again after a crash, and what cannot happen is
// refused before it is written.
func TestDecisionsAreAppliedOnce(t *testing.T) {
	p := assemble(t, 0)
	prop := p.callProposal(t, `{}`)
	changes, err := ada.Enacted(prop, "yes")
	if err != nil {
		t.Fatal(err)
	}
	at := ledger.Stamp{Seq: 9, Time: time.Now(), Actor: "human:ada"}
	for range 2 {
		for _, c := range changes {
			if err := approval.Projection().Apply(t.Context(), p.kv, at, c); err != nil {
				t.Fatal(err)
			}
		}
	}
	got, err := p.Proposal(t.Context(), prop.ID)
	if err != nil || got.Status != approval.StatusApplied || len(got.Steps) != 2 {
		t.Errorf("%+v, %v", got, err)
	}
	forged, err := ledger.NewChange("proposal.decided", map[string]string{"id": prop.ID, "event": "approve", "party": "host", "status": "approved"})
	if err != nil {
		t.Fatal(err)
	}
	err = p.ledger.Commit(t.Context(), func(context.Context) (ledger.Decision, error) {
		return ledger.Decision{Kind: "approve", Actor: "host:x", Changes: []ledger.Change{forged}}, nil
	})
	if err == nil || errors.Is(err, ledger.ErrPending) {
		t.Errorf("a decision of the host's was written: %v", err)
	}
}

// What is left of what was granted for a call follows the grants, and is never more.
func TestStill(t *testing.T) {
	p := assemble(t, 0)
	s := registry.Skill{Name: "net", Version: "1.0.0", Digest: digest}
	grant := func(c string, terms approval.Terms) {
		t.Helper()
		change, err := ada.Grant(s.Name, digest, capability.MustParse(c), terms)
		if err == nil {
			err = p.ledger.Commit(t.Context(), func(context.Context) (ledger.Decision, error) {
				return ledger.Decision{Kind: "grant", Actor: ada.Actor(), Changes: []ledger.Change{change}}, nil
			})
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	revoke := func(c string) {
		t.Helper()
		if _, err := p.Revoke(t.Context(), ada.Actor(), s, []capability.Capability{capability.MustParse(c)}); err != nil {
			t.Fatal(err)
		}
	}
	ends := time.Now().Add(time.Hour)
	grant("fs.read:/data/**", approval.Terms{})
	grant("kv", approval.Terms{MaxUses: 1})
	grant("notify", approval.Terms{Session: "work"})
	grant("clock", approval.Terms{ExpiresAt: ends})
	granted, err := p.ConsumeGrants(t.Context(), s, approval.Use{Session: "work"})
	if err != nil || !granted.Until().Equal(ends) {
		t.Fatalf("%v, until %v", err, granted.Until())
	}
	want := func(what string, caps ...string) {
		t.Helper()
		still, err := p.CurrentGrants(t.Context(), granted)
		if got := still.Set().Strings(); err != nil || !slices.Equal(got, caps) {
			t.Errorf("%s: %q, %v; want %q", what, got, err, caps)
		}
	}
	want("at first, with what it used up", "clock", "fs.read:/data/**", "kv", "notify")
	grant("random", approval.Terms{})
	want("with something new", "clock", "fs.read:/data/**", "kv", "notify")
	revoke("fs.read:/data/**")
	revoke("kv")
	want("with two taken back", "clock", "notify")
	grant("fs.read:/data/a", approval.Terms{})
	grant("kv", approval.Terms{MaxUses: 1})
	want("with a part given again, and a use for another run", "clock", "fs.read:/data/a", "notify")
	revoke("clock")
	grant("clock", approval.Terms{ExpiresAt: time.Now().Add(-time.Second)})
	want("with one that expired", "fs.read:/data/a", "notify")
}
