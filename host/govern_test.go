package host_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/skillet-run/skillet/host/base/fault"

	"github.com/skillet-run/skillet/host"
	"github.com/skillet-run/skillet/host/app/govern"
	"github.com/skillet-run/skillet/host/app/invoke"
	"github.com/skillet-run/skillet/host/app/meaning"
	"github.com/skillet-run/skillet/host/base/task"
	"github.com/skillet-run/skillet/host/install"
	"github.com/skillet-run/skillet/host/record/approval"
	"github.com/skillet-run/skillet/host/record/registry"
	"github.com/skillet-run/skillet/manifests"
	"github.com/skillet-run/skillet/manifests/bundle"
	"github.com/skillet-run/skillet/policies/capability"
)

// governed opens a home whose parts are used through the services alone.
func governed(t *testing.T) *host.Host {
	t.Helper()
	h := open(t, t.TempDir(), &bytes.Buffer{})
	t.Cleanup(func() { h.Close(t.Context()) })
	return h
}

// makes makes a call of an installed skill.
func makes(t *testing.T, h *host.Host, skill, tool string) task.Result {
	t.Helper()
	target, err := h.Invoke().Find(t.Context(), ada, invoke.Address{Ref: manifests.Ref{Name: skill}, Tool: tool}, nil)
	if err != nil {
		return task.Result{Error: meaning.Of(err)}
	}
	a, err := h.Invoke().Invoke(t.Context(), invoke.Invocation{Target: target, By: ada})
	if err != nil {
		return task.Result{Error: meaning.Of(err)}
	}
	return a.Result
}

func wantKind(t *testing.T, what string, err error, kind fault.Kind) {
	t.Helper()
	if e := fault.AsError(err); e == nil || e.Kind != kind {
		t.Errorf("%s: %v, want one of kind %s", what, err, kind)
	}
}

// What is revoked does not run, and runs again when that is taken back.
func TestRevokeAndUndo(t *testing.T) {
	t.Parallel()
	h := governed(t)
	add(t, h, "calm", "", 0)
	signers := h.Govern().Signers
	ask := govern.RevokePackages{What: "calm", Reason: "it steals"}
	if _, err := signers.PlanRevoke(t.Context(), ada, govern.RevokePackages{What: "calm"}); err == nil {
		t.Error("planned without a reason")
	}
	plan, err := signers.PlanRevoke(t.Context(), ada, ask)
	must(t, err)
	if res := makes(t, h, "calm", ""); !res.OK || len(plan.Skills) != 1 {
		t.Fatalf("a plan changed something, or names %v: %v", plan.Skills, res.Error)
	}
	stale := plan
	stale.Skills = nil
	_, err = signers.Revoke(t.Context(), ada, stale)
	wantKind(t, "a plan of another state", err, fault.KindConflict)
	done, err := signers.Revoke(t.Context(), ada, plan)
	must(t, err)
	if res := makes(t, h, "calm", ""); res.OK || len(done.Isolated) != 1 {
		t.Errorf("it runs although it is revoked; isolated are %v", done.Isolated)
	}
	undone, err := signers.Unrevoke(t.Context(), ada, "calm")
	must(t, err)
	if res := makes(t, h, "calm", ""); !res.OK || len(undone.Released) != 1 {
		t.Errorf("it does not run again: %v; released are %v", res.Error, undone.Released)
	}
}

// What was granted can be narrowed to what was done with it, and that still works.
func TestGrantAndNarrow(t *testing.T) {
	t.Parallel()
	h, dir := governed(t), t.TempDir()
	must(t, os.WriteFile(filepath.Join(dir, "data"), []byte("12345678"), 0o600))
	pkg := reads(t, dir)
	accept(t, h, pkg)
	skill, wide := manifests.Ref{Name: "reads"}, capability.MustParse("fs.read:"+dir+"/**")
	grants := h.Govern().Grants

	all, err := grants.PlanRevoke(t.Context(), ada, govern.RevokeRequest{Skill: skill, All: true})
	must(t, err)
	_, err = grants.PlanRevoke(t.Context(), ada, govern.RevokeRequest{Skill: skill})
	wantKind(t, "revoke nothing", err, fault.KindUsage)
	_, err = grants.Revoke(t.Context(), ada, all)
	must(t, err)
	_, err = grants.Revoke(t.Context(), ada, all)
	wantKind(t, "revoke the same again", err, fault.KindConflict)

	plan, err := grants.Plan(t.Context(), ada, govern.GrantRequest{Skill: skill, Capabilities: []capability.Capability{wide}, Terms: govern.Terms{Scope: govern.ScopeAlways}})
	must(t, err)
	must(t, grants.Grant(t.Context(), ada, plan, govern.GrantConsent{}))
	if res := makes(t, h, "reads", "many"); !res.OK || len(res.Denials) > 0 {
		t.Fatalf("%v, %v", res.Error, res.Denials)
	}
	suggested, err := grants.Suggest(t.Context(), ada, govern.SuggestRequest{})
	must(t, err)
	narrowed, err := grants.Narrow(t.Context(), ada, suggested)
	must(t, err)
	if len(narrowed) != 1 || !narrowed[0].Applied || narrowed[0].Proposed.Covers(wide) {
		t.Errorf("%+v", narrowed)
	}
	_, err = grants.Narrow(t.Context(), ada, suggested)
	wantKind(t, "narrow the same again", err, fault.KindConflict)
	if res := makes(t, h, "reads", "many"); !res.OK || len(res.Denials) > 0 {
		t.Errorf("%v, %v", res.Error, res.Denials)
	}
}

// Whoever leaves fields of a grant out gets the smallest one, and is not taken to agree.
func TestGrantsAreSmall(t *testing.T) {
	t.Parallel()
	h := governed(t)
	add(t, h, "calm", "", 0)
	grants, skill := h.Govern().Grants, manifests.Ref{Name: "calm"}
	kv, everything := capability.MustParse("kv"), capability.MustParse("fs.read:/**")
	for _, req := range []govern.GrantRequest{
		{Skill: skill},
		{Skill: skill, Capabilities: []capability.Capability{kv}, Terms: govern.Terms{Scope: "ever"}},
		{Skill: skill, Capabilities: []capability.Capability{kv}, Terms: govern.Terms{Scope: govern.ScopeRun}},
		{Skill: skill, Capabilities: []capability.Capability{kv}, Terms: govern.Terms{Scope: govern.ScopeUntil}},
	} {
		_, err := grants.Plan(t.Context(), ada, req)
		wantKind(t, "plan", err, fault.KindUsage)
	}
	plan, err := grants.Plan(t.Context(), ada, govern.GrantRequest{Skill: skill, Capabilities: []capability.Capability{kv, everything}})
	must(t, err)
	plan.Unbounded = nil // which is found out again
	wantKind(t, "without agreeing", grants.Grant(t.Context(), ada, plan, govern.GrantConsent{}), fault.KindApproval)
	other := plan
	other.Digest = manifests.DigestOf(nil)
	wantKind(t, "another package", grants.Grant(t.Context(), ada, other, govern.GrantConsent{Unbounded: true}), fault.KindConflict)
	must(t, grants.Grant(t.Context(), ada, plan, govern.GrantConsent{Unbounded: true}))
	p, err := grants.Show(t.Context(), ada, skill, "")
	must(t, err)
	for _, g := range p.Grants {
		if g.Scope != govern.ScopeOnce || g.MaxUses != 1 {
			t.Errorf("%+v", g)
		}
	}
	if len(p.Grants) != 2 {
		t.Errorf("%d grants", len(p.Grants))
	}
}

// proposed proposes a package that a model wrote.
func proposed(t *testing.T, h *host.Host, pkg *bundle.Package) approval.Proposal {
	t.Helper()
	plan, err := h.Parts().Installer.Plan(t.Context(), install.Request{Package: pkg, Source: "task:t1", Origin: registry.OriginGenerated, ProposedBy: "model:m"})
	must(t, err)
	out, err := h.Parts().Installer.Submit(t.Context(), plan)
	wantKind(t, "submit", err, fault.KindApproval)
	return *out.Proposal
}

// What was rejected is installed by nobody who does not say so.
func TestRejectAndInstall(t *testing.T) {
	t.Parallel()
	h, pkg := governed(t), reads(t, t.TempDir())
	p := proposed(t, h, pkg)
	rejected, err := h.Govern().Proposals.Reject(t.Context(), ada, govern.Decision{ID: p.ID, Notes: "it reads"})
	if err != nil || rejected.Status != approval.StatusRejected {
		t.Fatalf("%+v, %v", rejected, err)
	}
	again := install.Request{Package: pkg, Source: "test", Directory: true, Origin: registry.OriginUser, ProposedBy: ada.Actor()}
	plan, err := h.Parts().Installer.Plan(t.Context(), again)
	must(t, err)
	_, err = h.Parts().Installer.Accept(t.Context(), ada, plan)
	wantKind(t, "install again", err, fault.KindDenied)
	again.Despite = []string{p.ID}
	plan, err = h.Parts().Installer.Plan(t.Context(), again)
	must(t, err)
	_, err = h.Parts().Installer.Accept(t.Context(), ada, plan)
	must(t, err)
}

// A proposal is approved once, also by two people at once.
func TestApproveOnce(t *testing.T) {
	t.Parallel()
	h := governed(t)
	p := proposed(t, h, reads(t, t.TempDir()))
	say := govern.Approval{ID: p.ID, Digest: string(p.Digest)}
	proposals := h.Govern().Proposals
	for what, other := range map[string]govern.Approval{
		"the digest that was shown is missing": {ID: p.ID}, "too short": {ID: p.ID, Digest: "abc"}, "its digest is": {ID: p.ID, Digest: strings.Repeat("0", 64)},
	} {
		if _, err := proposals.Approve(t.Context(), ada, other); err == nil || !strings.Contains(err.Error(), what) {
			t.Errorf("%s: %v", what, err)
		}
	}
	errs := make([]error, 2)
	var both sync.WaitGroup
	for i := range errs {
		both.Go(func() { _, errs[i] = proposals.Approve(t.Context(), ada, say) })
	}
	both.Wait()
	if (errs[0] == nil) == (errs[1] == nil) {
		t.Fatalf("of two at once: %v, %v", errs[0], errs[1])
	}
	for _, err := range errs {
		if err != nil {
			wantKind(t, "the second", err, fault.KindConflict)
		}
	}
	_, err := proposals.Approve(t.Context(), ada, say)
	wantKind(t, "once more", err, fault.KindConflict)
	granted, err := h.Govern().Grants.Show(t.Context(), ada, manifests.Ref{Name: "reads"}, "")
	must(t, err)
	for _, g := range granted.Grants {
		if g.Scope != govern.ScopeOnce {
			t.Errorf("nobody said for how long, and it is granted %s", g.Scope)
		}
	}
}
