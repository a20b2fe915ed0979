package install_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/skillet-run/skillet/host/base/fault"

	"github.com/hashicorp/go-hclog"

	"github.com/skillet-run/skillet/host/base/store"
	"github.com/skillet-run/skillet/host/engine/sandbox"
	"github.com/skillet-run/skillet/host/engine/sandbox/wasmbin/wasmtest"
	"github.com/skillet-run/skillet/host/install"
	"github.com/skillet-run/skillet/host/record/approval"
	"github.com/skillet-run/skillet/host/record/journal"
	"github.com/skillet-run/skillet/host/record/ledger"
	"github.com/skillet-run/skillet/host/record/registry"
	"github.com/skillet-run/skillet/host/record/trust"
	"github.com/skillet-run/skillet/host/run/hostfn"
	"github.com/skillet-run/skillet/host/run/runner"
	"github.com/skillet-run/skillet/manifests"
	"github.com/skillet-run/skillet/manifests/bundle"
	"github.com/skillet-run/skillet/policies"
	"github.com/skillet-run/skillet/policies/capability"
)

// parts are the real parts of a host over a store in memory.
type parts struct {
	*install.Installer
	registry  *registry.Registry
	approvals *approval.Store
	trust     *trust.Store
	ledger    *ledger.Ledger
	store     store.Store
	journal   *journal.Journal
	rules     *policies.Set // in force
}

func assemble(t *testing.T) *parts {
	t.Helper()
	ctx, log := t.Context(), hclog.NewNullLogger()
	j, err := journal.Open(t.TempDir(), journal.Options{})
	if err != nil {
		t.Fatal(err)
	}
	calls, err := journal.Open(t.TempDir(), journal.Options{})
	if err != nil {
		t.Fatal(err)
	}
	s := store.Memory()
	t.Cleanup(func() { s.Close() })
	rt, err := sandbox.New(ctx, log, sandbox.Options{Functions: hostfn.Functions()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { rt.Close(context.Background()) })
	ps, err := policies.Default()
	if err != nil {
		t.Fatal(err)
	}
	p := &parts{store: s, journal: j, rules: ps, registry: registry.New(s.KV(), s.Blobs())}
	p.ledger = ledger.New(j, s.KV(), registry.Projection(), approval.Projection(), trust.Projection())
	p.trust = trust.New(p.ledger, s.KV())
	inForce := func() (*policies.Set, error) { return p.rules, nil }
	p.approvals = approval.NewStore(p.ledger, s.KV(), inForce, approval.Settings{Home: "/home/x/.skillet"})
	run := runner.New(log, s.KV(), rt, ps, nil, nil, calls, runner.Settings{Home: "/home/x/.skillet"})
	p.Installer = install.New(p.ledger, p.registry, p.approvals, p.trust, inForce, run, nil, "/home/x/.skillet")
	return p
}

// state is how everything stands now.
func (p *parts) state(t *testing.T) *install.State {
	t.Helper()
	s, err := p.State(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// nothing is a module with one tool that does nothing.
func nothing() []byte {
	m := wasmtest.New()
	m.ExportFunc("nothing", m.Func(wasmtest.Signature{}, ""))
	return m.Bytes()
}

// pack makes a package that asks for the given network addresses.
func pack(t *testing.T, name, version string, urls ...string) *bundle.Package {
	t.Helper()
	type network struct {
		URL    string `json:"url"`
		Reason string `json:"reason"`
	}
	var ns []network
	for _, u := range urls {
		ns = append(ns, network{u, "it needs " + u})
	}
	b, err := json.Marshal(ns)
	if err != nil {
		t.Fatal(err)
	}
	manifest := fmt.Sprintf(`{"name":%q,"version":%q,"description":"for tests","type":"code_inline","command":"main.wasm",
		"tools":[{"name":"nothing","description":"does nothing"}],"security":{"permissions":{"network":%s}}}`, name, version, b)
	if len(urls) == 0 {
		manifest = strings.Replace(manifest, `,"security":{"permissions":{"network":null}}`, "", 1)
	}
	p, err := bundle.FromFiles(map[string][]byte{"skill.json": []byte(manifest), "main.wasm": nothing()})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

var ada = approval.NewHuman("ada")

func request(p *bundle.Package, origin registry.Origin) install.Request {
	return install.Request{Package: p, Source: "/src", Directory: true, Origin: origin, ProposedBy: "human:ada", Person: ada, Workspace: "/ws"}
}

func (p *parts) plan(t *testing.T, pkg *bundle.Package, origin registry.Origin) install.Plan {
	t.Helper()
	plan, err := p.Plan(t.Context(), request(pkg, origin))
	if err != nil {
		t.Fatal(err)
	}
	return plan
}

func (p *parts) accept(t *testing.T, pkg *bundle.Package) {
	t.Helper()
	if _, err := p.Accept(t.Context(), ada, p.plan(t, pkg, registry.OriginUser)); err != nil {
		t.Fatal(err)
	}
}

func (p *parts) propose(t *testing.T, pkg *bundle.Package) approval.Proposal {
	t.Helper()
	out, err := p.Submit(t.Context(), p.plan(t, pkg, registry.OriginGenerated))
	wantKind(t, err, fault.KindApproval)
	if !errors.Is(err, install.ErrWaits) || out.Proposal == nil || out.Skill != nil {
		t.Fatalf("got %+v, %v", out, err)
	}
	return *out.Proposal
}

func (p *parts) granted(t *testing.T, pkg *bundle.Package) []string {
	t.Helper()
	set, err := p.approvals.Granted(t.Context(), pkg.Digest(), time.Now())
	if err != nil {
		t.Fatal(err)
	}
	return set.Set().Strings()
}

func (p *parts) active(t *testing.T, name string) string {
	t.Helper()
	s, err := p.registry.Lookup(t.Context(), manifests.Ref{Name: name})
	if errors.Is(err, registry.ErrNotFound) {
		return ""
	}
	if err != nil {
		t.Fatal(err)
	}
	return s.Version
}

func wantKind(t *testing.T, err error, want fault.Kind) {
	t.Helper()
	if e := fault.AsError(err); e == nil || e.Kind != want {
		t.Fatalf("got %v (%+v), want kind %s", err, e, want)
	}
}

func want[T any](t *testing.T, what string, got, wanted T) {
	t.Helper()
	if fmt.Sprint(got) != fmt.Sprint(wanted) {
		t.Errorf("%s: got %v, want %v", what, got, wanted)
	}
}

const api = "https://api.example.com/v1/*"

func TestPackageThatAsksForNothingNeedsNobody(t *testing.T) {
	p := assemble(t)
	out, err := p.Submit(t.Context(), p.plan(t, pack(t, "calm", "1.0.0"), registry.OriginUser))
	if err != nil || out.Skill == nil || out.Unchanged {
		t.Fatalf("got %+v, %v", out, err)
	}
	want(t, "active", p.active(t, "calm"), "1.0.0")
	again, err := p.Submit(t.Context(), p.plan(t, pack(t, "calm", "1.0.0"), registry.OriginUser))
	if err != nil || !again.Unchanged {
		t.Errorf("the second time: %+v, %v", again, err)
	}
}

func TestConsentGrantsWhatWasAsked(t *testing.T) {
	p := assemble(t)
	pkg := pack(t, "net", "1.0.0", api)
	plan := p.plan(t, pkg, registry.OriginUser)
	want(t, "effect", plan.Effect, "ask")
	if len(plan.New()) != 1 || plan.Asks[0].Reason == "" || plan.Asks[0].Words == "" {
		t.Errorf("asks: %+v", plan.Asks)
	}
	p.accept(t, pkg)
	want(t, "granted", p.granted(t, pkg), []string{"http:GET " + api})
}

func TestWithoutConsentItWaits(t *testing.T) {
	p := assemble(t)
	plan := p.plan(t, pack(t, "net", "1.0.0", api), registry.OriginUser)
	_, err := p.Submit(t.Context(), plan)
	wantKind(t, err, fault.KindApproval)
	want(t, "active", p.active(t, "net"), "")
	if _, err = p.Submit(t.Context(), plan); !errors.Is(err, install.ErrWaits) {
		t.Fatal(err)
	}
	ps, err := p.approvals.Proposals(t.Context())
	if err != nil || len(ps) != 1 {
		t.Errorf("the same bytes were proposed twice: %v, %v", ps, err)
	}
}

func TestInstallingSettlesTheProposalOfTheSameBytes(t *testing.T) {
	p := assemble(t)
	pkg := pack(t, "net", "1.0.0", api)
	if _, err := p.Submit(t.Context(), p.plan(t, pkg, registry.OriginUser)); !errors.Is(err, install.ErrWaits) {
		t.Fatal(err)
	}
	p.accept(t, pkg)
	ps, err := p.approvals.Proposals(t.Context())
	if err != nil || len(ps) != 1 || ps[0].Status != approval.StatusStale {
		t.Errorf("got %+v, %v", ps, err)
	}
}

func TestGeneratedAlwaysWaits(t *testing.T) {
	p := assemble(t)
	proposal := p.propose(t, pack(t, "calm", "1.0.0"))
	want(t, "active", p.active(t, "calm"), "")
	out, err := p.Approve(t.Context(), ada, proposal.ID, install.Consent{Digest: proposal.Digest.Short(), Notes: "looked at it"})
	if err != nil {
		t.Fatal(err)
	}
	want(t, "active", p.active(t, "calm"), "1.0.0")
	want(t, "status", out.Proposal.Status, approval.StatusApplied)
	want(t, "decided by", out.Proposal.DecidedBy, "human:ada")
	want(t, "notes", out.Proposal.Notes, "looked at it")
}

func TestNobodyButAPersonDecides(t *testing.T) {
	p := assemble(t)
	proposal := p.propose(t, pack(t, "net", "1.0.0", api))
	var nobody approval.Human
	_, err := p.Approve(t.Context(), nobody, proposal.ID, install.Consent{})
	wantKind(t, err, fault.KindDenied)
	_, err = p.Reject(t.Context(), nobody, proposal.ID, "")
	wantKind(t, err, fault.KindDenied)
	_, err = p.Accept(t.Context(), nobody, p.plan(t, pack(t, "other", "1.0.0", api), registry.OriginUser))
	wantKind(t, err, fault.KindDenied)
	p.accept(t, pack(t, "calm", "1.0.0"))
	s, err := p.registry.Lookup(t.Context(), manifests.Ref{Name: "calm"})
	if err != nil {
		t.Fatal(err)
	}
	err = p.approvals.Grant(t.Context(), nobody, s, []capability.Capability{capability.MustParse("kv")}, approval.Terms{})
	wantKind(t, err, fault.KindDenied)
	want(t, "active", p.active(t, "net")+p.active(t, "other"), "")
}

func TestDecisionsHappenOnce(t *testing.T) {
	p := assemble(t)
	yes, no := p.propose(t, pack(t, "a", "1.0.0")), p.propose(t, pack(t, "b", "1.0.0"))
	if _, err := p.Approve(t.Context(), ada, yes.ID, install.Consent{}); err != nil {
		t.Fatal(err)
	}
	if _, err := p.Reject(t.Context(), ada, no.ID, "no need"); err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{yes.ID, no.ID} {
		_, err := p.Approve(t.Context(), ada, id, install.Consent{})
		wantKind(t, err, fault.KindConflict)
		_, err = p.Reject(t.Context(), ada, id, "")
		wantKind(t, err, fault.KindConflict)
	}
	_, err := p.Approve(t.Context(), ada, "ffffffff", install.Consent{})
	wantKind(t, err, fault.KindNotFound)
	want(t, "b", p.active(t, "b"), "")
}

func TestApprovalHoldsForTheBytesThatWereShown(t *testing.T) {
	p := assemble(t)
	proposal := p.propose(t, pack(t, "a", "1.0.0"))
	_, err := p.Approve(t.Context(), ada, proposal.ID, install.Consent{Digest: "0123456789ab"})
	wantKind(t, err, fault.KindVerification)
	other := p.propose(t, pack(t, "a", "1.0.1"))
	if other.ID == proposal.ID {
		t.Error("other bytes are the same proposal")
	}
	if _, err := p.Approve(t.Context(), ada, other.ID, install.Consent{}); err != nil {
		t.Fatal(err)
	}
	_, err = p.Approve(t.Context(), ada, proposal.ID, install.Consent{})
	wantKind(t, err, fault.KindConflict) // stale: the person decided about its successor
}

func TestDamagedProposalCannotBeApproved(t *testing.T) {
	p := assemble(t)
	pkg := pack(t, "a", "1.0.0")
	proposal := p.propose(t, pkg)
	if err := p.store.Blobs().Delete(t.Context(), string(pkg.Files()[0].Digest)); err != nil {
		t.Fatal(err)
	}
	_, err := p.Approve(t.Context(), ada, proposal.ID, install.Consent{})
	wantKind(t, err, fault.KindVerification)
	want(t, "active", p.active(t, "a"), "")
}

// A grant was given to bytes that somebody looked at: others do not inherit it
// by calling themselves the next version, or an earlier one.
func TestUpgradeIsAskedAboutAgain(t *testing.T) {
	p := assemble(t)
	first := pack(t, "net", "1.0.0", api, "https://old.example/*")
	p.accept(t, first)
	for _, version := range []string{"1.1.0", "0.9.0"} {
		plan := p.plan(t, pack(t, "net", version, api), registry.OriginUser)
		want(t, "effect", plan.Effect, "ask")
		want(t, "new", len(plan.New()), 0)
		out, err := p.Submit(t.Context(), plan)
		wantKind(t, err, fault.KindApproval)
		want(t, "replaces", out.Proposal.Replaces, "1.0.0")
		want(t, "active", p.active(t, "net"), "1.0.0")
	}
	second := pack(t, "net", "1.1.0", api)
	p.accept(t, second)
	want(t, "active", p.active(t, "net"), "1.1.0")
	want(t, "granted", p.granted(t, second), []string{"http:GET " + api})
	want(t, "the old version keeps its own", len(p.granted(t, first)), 2)
	third := p.plan(t, pack(t, "net", "1.2.0", api, "https://more.example/*"), registry.OriginUser)
	want(t, "effect of asking for more", third.Effect, "ask")
	want(t, "new", len(third.New()), 1)
}

// What asks for nothing may replace what was granted something, and has nothing.
func TestUpgradeThatAsksForNothing(t *testing.T) {
	p := assemble(t)
	p.accept(t, pack(t, "net", "1.0.0", api))
	calm := pack(t, "net", "1.1.0")
	if _, err := p.Submit(t.Context(), p.plan(t, calm, registry.OriginUser)); err != nil {
		t.Fatal(err)
	}
	want(t, "granted", len(p.granted(t, calm)), 0)
}

func TestGeneratedUpgradeIsAskedAboutAgain(t *testing.T) {
	p := assemble(t)
	p.accept(t, pack(t, "net", "1.0.0", api))
	want(t, "effect", p.plan(t, pack(t, "net", "1.1.0", api), registry.OriginGenerated).Effect, "ask")
}

func TestVersionNeverChanges(t *testing.T) {
	p := assemble(t)
	p.accept(t, pack(t, "net", "1.0.0"))
	_, err := p.Plan(t.Context(), request(pack(t, "net", "1.0.0", api), registry.OriginUser))
	wantKind(t, err, fault.KindConflict)
}

func TestForbiddenByPolicy(t *testing.T) {
	p := assemble(t)
	_, err := p.Plan(t.Context(), request(pack(t, "meta", "1.0.0", "http://169.254.169.254/*"), registry.OriginUser))
	wantKind(t, err, fault.KindDenied)
}

func TestModuleMustFitItsManifest(t *testing.T) {
	p := assemble(t)
	manifest := []byte(`{"name":"a","version":"1.0.0","description":"d","type":"code_inline","command":"main.wasm","tools":[{"name":"missing","description":"d"}]}`)
	for name, wasm := range map[string][]byte{"no such export": nothing(), "no module": []byte("\x00asm\x01\x00\x00\x00\x01\xff\xff\xff\xff\x0f")} {
		pkg, err := bundle.FromFiles(map[string][]byte{"skill.json": manifest, "main.wasm": wasm})
		if err != nil {
			t.Fatal(err)
		}
		_, err = p.Plan(t.Context(), request(pkg, registry.OriginUser))
		if e := fault.AsError(err); e == nil || e.Kind != fault.KindVerification {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestRemove(t *testing.T) {
	p := assemble(t)
	one, two := pack(t, "net", "1.0.0", api), pack(t, "net", "2.0.0", api)
	p.accept(t, one)
	p.accept(t, two)
	if _, err := p.Remove(t.Context(), "human:ada", manifests.Ref{Name: "net", Version: "2.0.0"}); err != nil {
		t.Fatal(err)
	}
	want(t, "active", p.active(t, "net"), "1.0.0")
	want(t, "grants of the removed version", len(p.granted(t, two)), 0)
	if _, err := p.registry.Package(t.Context(), one.Digest()); err != nil {
		t.Errorf("the other version lost its bytes: %v", err)
	}
	if _, err := p.Remove(t.Context(), "human:ada", manifests.Ref{Name: "net"}); err != nil {
		t.Fatal(err)
	}
	blobs, err := p.store.Blobs().List(t.Context())
	if err != nil || len(blobs) != 0 {
		t.Errorf("left behind: %v, %v", blobs, err)
	}
	_, err = p.Remove(t.Context(), "human:ada", manifests.Ref{Name: "net"})
	wantKind(t, err, fault.KindNotFound)
	p.accept(t, one)
	want(t, "granted after installing it again", len(p.granted(t, one)), 1)
}

func TestGrantTerms(t *testing.T) {
	p := assemble(t)
	pkg := pack(t, "a", "1.0.0")
	p.accept(t, pkg)
	s, err := p.registry.Lookup(t.Context(), manifests.Ref{Name: "a"})
	if err != nil {
		t.Fatal(err)
	}
	kv, notify := capability.MustParse("kv"), capability.MustParse("notify")
	for c, terms := range map[capability.Capability]approval.Terms{kv: {MaxUses: 2}, notify: {ExpiresAt: time.Now().Add(-time.Second)}} {
		if err := p.approvals.Grant(t.Context(), ada, s, []capability.Capability{c}, terms); err != nil {
			t.Fatal(err)
		}
	}
	for run, wanted := range [][]string{{"kv"}, {"kv"}, {}} {
		set, err := p.approvals.ConsumeGrants(t.Context(), s, approval.Use{})
		if err != nil {
			t.Fatal(err)
		}
		want(t, fmt.Sprintf("run %d", run), set.Set().Strings(), wanted)
	}
	ended, err := p.approvals.Revoke(t.Context(), "human:ada", s, nil)
	if err != nil || len(ended) != 2 {
		t.Errorf("revoked %v, %v", ended, err)
	}
	_, err = p.approvals.Revoke(t.Context(), "human:ada", s, []capability.Capability{kv})
	wantKind(t, err, fault.KindNotFound)
}

// The journal alone is enough: a store built from it has the same state.
func TestRebuiltStateIsTheSame(t *testing.T) {
	p := assemble(t)
	p.accept(t, pack(t, "net", "1.0.0", api))
	p.accept(t, pack(t, "net", "2.0.0", api))
	proposal := p.propose(t, pack(t, "gen", "1.0.0", api))
	p.propose(t, pack(t, "gen", "1.0.1", api))
	if _, err := p.Approve(t.Context(), ada, proposal.ID, install.Consent{}); err != nil {
		t.Fatal(err)
	}
	if _, err := p.Remove(t.Context(), "human:ada", manifests.Ref{Name: "net", Version: "2.0.0"}); err != nil {
		t.Fatal(err)
	}
	fresh := store.Memory()
	defer fresh.Close()
	if _, err := ledger.New(p.journal, fresh.KV(), registry.Projection(), approval.Projection(), trust.Projection()).Rebuild(t.Context()); err != nil {
		t.Fatal(err)
	}
	want(t, "state", dump(t, fresh.KV()), dump(t, p.store.KV()))
}

func dump(t *testing.T, kv store.KV) string {
	t.Helper()
	entries, err := kv.List(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	for _, e := range entries {
		fmt.Fprintf(&b, "%s = %s\n", e.Key, e.Value)
	}
	return b.String()
}
