package install_test

import (
	"bytes"
	"context"
	"crypto"
	"crypto/ed25519"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/skillet-run/skillet/host/base/fault"

	"github.com/skillet-run/skillet/host/base/store"
	"github.com/skillet-run/skillet/host/engine/sandbox/wasmbin/wasmtest"
	"github.com/skillet-run/skillet/host/install"
	"github.com/skillet-run/skillet/host/record/approval"
	"github.com/skillet-run/skillet/host/record/ledger"
	"github.com/skillet-run/skillet/host/record/registry"
	"github.com/skillet-run/skillet/host/record/trust"
	"github.com/skillet-run/skillet/manifests"
	"github.com/skillet-run/skillet/manifests/bundle"
	"github.com/skillet-run/skillet/manifests/signature"
	"github.com/skillet-run/skillet/policies/capability"
)

// signer and another are who sign packages here; nil is nobody.
var signer, another = newSigner(1), newSigner(2)

func newSigner(seed byte) crypto.Signer {
	return ed25519.NewKeyFromSeed(bytes.Repeat([]byte{seed}, ed25519.SeedSize))
}

func identity(by crypto.Signer) string {
	k, err := signature.NewKey(by.Public())
	if err != nil {
		panic(err)
	}
	return string(k.Signer())
}

// signedBy makes a request one for a package of a registry that somebody signed. The
// person accepts whatever there is to accept.
func signedBy(req install.Request, by crypto.Signer) install.Request {
	m := req.Package.Manifest()
	req.Source, req.SourceKind, req.Directory = "oci://registry.example/"+m.Name+":"+m.Version, "oci", false
	req.Artifact = manifests.DigestOf([]byte(req.Package.Digest()))
	req.Accepted = []trust.Flag{trust.TrustSigner, trust.AllowUnsigned}
	if by == nil {
		return req
	}
	b, err := signature.Sign(by, signature.Subject{Digest: req.Artifact}, signature.PackageSubject(m.Name, m.Version, req.Package.Digest()))
	if err != nil {
		panic(err)
	}
	req.Signatures = [][]byte{b}
	return req
}

// signed plans a package of a trusted signer.
func (p *parts) signed(t *testing.T, by crypto.Signer, pkg *bundle.Package) install.Plan {
	t.Helper()
	plan, err := p.Plan(t.Context(), signedBy(request(pkg, registry.OriginUser), by))
	if err != nil {
		t.Fatal(err)
	}
	return plan
}

func (p *parts) take(t *testing.T, plan install.Plan) {
	t.Helper()
	if _, err := p.Accept(t.Context(), ada, plan); err != nil {
		t.Fatal(err)
	}
}

const more = "https://more.example/*"

// A signer who is trusted answers for what the person gave to the version before:
// the same and less is carried over, everything else is asked about.
func TestSameSignerIsAskedAboutWhatIsNew(t *testing.T) {
	t.Parallel()
	for what, c := range map[string]struct {
		first, second crypto.Signer
		urls          []string
		origin        registry.Origin
		waits         bool
		new           int
	}{
		"the same":          {signer, signer, []string{api}, registry.OriginUser, false, 0},
		"narrower":          {signer, signer, []string{"https://api.example.com/v1/only"}, registry.OriginUser, false, 0},
		"nothing":           {signer, signer, nil, registry.OriginUser, false, 0},
		"wider":             {signer, signer, []string{"https://api.example.com/*"}, registry.OriginUser, true, 1},
		"more":              {signer, signer, []string{api, more}, registry.OriginUser, true, 1},
		"another signer":    {signer, another, []string{api}, registry.OriginUser, true, 0},
		"not signed now":    {signer, nil, []string{api}, registry.OriginUser, true, 0},
		"signed now":        {nil, signer, []string{api}, registry.OriginUser, true, 0},
		"never signed":      {nil, nil, []string{api}, registry.OriginUser, true, 0},
		"written by models": {signer, signer, []string{api}, registry.OriginGenerated, true, 0},
	} {
		p := assemble(t)
		p.take(t, p.signed(t, c.first, pack(t, "net", "1.0.0", api)))
		req := signedBy(request(pack(t, "net", "1.1.0", c.urls...), c.origin), c.second)
		plan, err := p.Plan(t.Context(), req)
		if err != nil {
			t.Fatal(err)
		}
		want(t, what+": waits", plan.Waits(), c.waits)
		want(t, what+": new", len(plan.New()), c.new)
		if !c.waits {
			p.take(t, plan)
			want(t, what+": granted", len(p.granted(t, req.Package)), len(c.urls))
		}
	}
}

// What is carried over ends when it would have ended.
func TestCarriedGrantKeepsItsTerms(t *testing.T) {
	t.Parallel()
	p := assemble(t)
	p.take(t, p.signed(t, signer, pack(t, "net", "1.0.0")))
	s := p.skill(t, "net")
	until := time.Now().Add(time.Hour).UTC().Truncate(time.Second)
	c := capability.MustParse("http:GET " + api)
	if err := p.approvals.Grant(t.Context(), ada, s, []capability.Capability{c}, approval.Terms{ExpiresAt: until}); err != nil {
		t.Fatal(err)
	}
	next := pack(t, "net", "1.1.0", api)
	plan := p.signed(t, signer, next)
	want(t, "waits", plan.Waits(), false)
	p.take(t, plan)
	gs, err := p.approvals.Grants(t.Context(), next.Digest())
	if err != nil || len(gs) != 1 || !gs[0].ExpiresAt.Equal(until) {
		t.Errorf("got %+v, %v", gs, err)
	}
}

// A grant for some runs was for runs of that version, whoever signed the next.
func TestGrantForSomeRunsIsNotCarried(t *testing.T) {
	t.Parallel()
	p := assemble(t)
	p.take(t, p.signed(t, signer, pack(t, "net", "1.0.0")))
	c := capability.MustParse("http:GET " + api)
	if err := p.approvals.Grant(t.Context(), ada, p.skill(t, "net"), []capability.Capability{c}, approval.Terms{MaxUses: 5}); err != nil {
		t.Fatal(err)
	}
	want(t, "waits", p.signed(t, signer, pack(t, "net", "1.1.0", api)).Waits(), true)
}

func TestInstalledVersionsAreRemembered(t *testing.T) {
	t.Parallel()
	p := assemble(t)
	plan := p.signed(t, signer, pack(t, "net", "1.0.0", api))
	p.take(t, plan)
	s := p.skill(t, "net")
	want(t, "signer", s.Signer, identity(signer))
	want(t, "kind of source", s.SourceKind, "oci")
	want(t, "artifact", s.Artifact, manifests.DigestOf([]byte(s.Digest)))
}

func (p *parts) rollback(t *testing.T, ref string) (install.Rollback, error) {
	t.Helper()
	r, err := manifests.ParseRef(ref)
	if err != nil {
		t.Fatal(err)
	}
	return p.Rollback(t.Context(), ada, r, false)
}

func TestRollback(t *testing.T) {
	t.Parallel()
	p := assemble(t)
	_, err := p.rollback(t, "net")
	wantKind(t, err, fault.KindNotFound)
	versions := []string{"1.0.0", "1.1.0", "2.0.0", "1.9.0"} // in this order
	for _, v := range versions {
		p.accept(t, pack(t, "net", v, api))
	}
	for _, c := range []struct{ ref, active string }{
		{"net", "2.0.0"}, {"net", "1.1.0"}, {"net@1.9.0", "1.9.0"}, {"net", "1.1.0"}, {"net", "1.0.0"},
	} {
		r, err := p.rollback(t, c.ref)
		if err != nil {
			t.Fatalf("%s: %v", c.ref, err)
		}
		want(t, c.ref, p.active(t, "net"), c.active)
		want(t, "said", r.To.Version, c.active)
		want(t, "granted", len(p.granted(t, pack(t, "net", c.active, api))), 1)
	}
	_, err = p.rollback(t, "net")
	wantKind(t, err, fault.KindNotFound) // nothing before it
	_, err = p.rollback(t, "net@1.0.0")
	wantKind(t, err, fault.KindConflict) // active already
	_, err = p.rollback(t, "net@3.0.0")
	wantKind(t, err, fault.KindNotFound)
	_, err = p.Rollback(t.Context(), approval.Human{}, manifests.Ref{Name: "net", Version: "2.0.0"}, false)
	wantKind(t, err, fault.KindDenied)
	want(t, "active", p.active(t, "net"), "1.0.0")
}

// What was disabled, removed or damaged is not what one goes back to.
func TestRollbackSkipsWhatDoesNotRun(t *testing.T) {
	t.Parallel()
	p := assemble(t)
	for _, v := range []string{"1.0.0", "1.1.0", "1.2.0", "1.3.0"} {
		p.accept(t, pack(t, "net", v))
	}
	if _, err := p.Disable(t.Context(), "human:ada", manifests.Ref{Name: "net", Version: "1.2.0"}, "bad"); err != nil {
		t.Fatal(err)
	}
	if _, err := p.Remove(t.Context(), "human:ada", manifests.Ref{Name: "net", Version: "1.1.0"}); err != nil {
		t.Fatal(err)
	}
	_, err := p.rollback(t, "net@1.2.0")
	wantKind(t, err, fault.KindDenied)
	if _, err := p.rollback(t, "net"); err != nil {
		t.Fatal(err)
	}
	want(t, "active", p.active(t, "net"), "1.0.0")

	for _, f := range pack(t, "net", "1.3.0").Files() {
		if f.Path == "skill.json" {
			if err := p.store.Blobs().Delete(t.Context(), string(f.Digest)); err != nil {
				t.Fatal(err)
			}
		}
	}
	_, err = p.rollback(t, "net@1.3.0")
	wantKind(t, err, fault.KindVerification)
	want(t, "active", p.active(t, "net"), "1.0.0")
}

func TestDisabledIsNotRun(t *testing.T) {
	t.Parallel()
	p := assemble(t)
	p.accept(t, pack(t, "net", "1.0.0"))
	p.accept(t, pack(t, "net", "2.0.0"))
	runs := func(what string, one, two bool) {
		t.Helper()
		all, err := p.registry.Versions(t.Context(), "net")
		if err != nil {
			t.Fatal(err)
		}
		want(t, what+": 2.0.0 runs", all[0].CheckEnabled() == nil, two)
		want(t, what+": 1.0.0 runs", all[1].CheckEnabled() == nil, one)
	}
	do := func(_ []registry.Skill, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	runs("at first", true, true)
	do(p.Disable(t.Context(), "human:ada", manifests.Ref{Name: "net"}, "slow"))
	runs("disabled", false, false)
	do(p.Enable(t.Context(), ada, manifests.Ref{Name: "net"}))
	runs("enabled", true, true)
	do(p.Disable(t.Context(), "human:ada", manifests.Ref{Name: "net", Version: "1.0.0"}, ""))
	runs("one of them", false, true)
	err := func() error { s, _ := p.registry.Versions(t.Context(), "net"); return s[1].CheckEnabled() }()
	if e := fault.AsError(err); e.Kind != fault.KindDenied || e.Way().String() != "[enable net@1.0.0] allows it again" {
		t.Errorf("got %+v", e)
	}
	do(p.Enable(t.Context(), ada, manifests.Ref{Name: "net", Version: "1.0.0"}))
	runs("again", true, true)

	isolated(t, p, "net", "2.0.0")
	runs("revoked", true, false)
	_, err = p.Enable(t.Context(), ada, manifests.Ref{Name: "net"})
	wantKind(t, err, fault.KindDenied)
	_, err = p.Enable(t.Context(), approval.Human{}, manifests.Ref{Name: "net", Version: "1.0.0"})
	wantKind(t, err, fault.KindDenied)
	if _, err := p.rollback(t, "net"); err != nil {
		t.Fatal(err)
	}
	want(t, "active", p.active(t, "net"), "1.0.0")
}

// isolated puts a version into quarantine.
func isolated(t *testing.T, p *parts, name, version string) {
	t.Helper()
	s, err := p.registry.Lookup(t.Context(), manifests.Ref{Name: name, Version: version})
	if err != nil {
		t.Fatal(err)
	}
	err = p.ledger.Commit(t.Context(), func(context.Context) (ledger.Decision, error) {
		c, err := install.Isolate(s, "its key was\nstolen")
		return ledger.Decision{Kind: "revoke", Actor: "human:ada", Subject: s.Ref(), Changes: []ledger.Change{c}}, err
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestRevokedVersionsAreIsolatedOnce(t *testing.T) {
	t.Parallel()
	p := assemble(t)
	one, two := pack(t, "net", "1.0.0"), pack(t, "other", "1.0.0")
	p.accept(t, one)
	p.accept(t, two)
	reasons := map[manifests.Digest]string{one.Digest(): "its key was stolen", manifests.DigestOf(nil): "not here"}
	for _, n := range []int{1, 0} {
		all, err := p.IsolateAll(t.Context(), "human:ada", reasons)
		if err != nil || len(all) != n {
			t.Errorf("got %+v, %v", all, err)
		}
	}
	if err := p.skill(t, "net").CheckEnabled(); !errors.Is(err, registry.ErrDisabled) {
		t.Errorf("it runs: %v", err)
	}
	if err := p.skill(t, "other").CheckEnabled(); err != nil {
		t.Error(err)
	}
}

// Who signed a package is remembered in the decision that installs it, and a
// package that was revoked meanwhile is not installed.
func TestSignerIsRememberedWithTheInstallation(t *testing.T) {
	t.Parallel()
	p := assemble(t)
	p.take(t, p.signed(t, signer, pack(t, "net", "1.0.0")))
	known, err := p.trust.Known(t.Context(), "net")
	if err != nil || string(known.Skill.Signer) != identity(signer) {
		t.Fatalf("got %+v, %v", known.Skill, err)
	}
	next := pack(t, "net", "1.1.0")
	plan := p.signed(t, signer, next)
	if _, err := p.trust.Revoke(t.Context(), ada, trust.Entry{Content: next.Digest(), Reason: "it is bad"}); err != nil {
		t.Fatal(err)
	}
	if _, err := p.Accept(t.Context(), ada, plan); fault.AsError(err).Kind != fault.KindVerification {
		t.Errorf("got %v", err)
	}
	want(t, "active", p.skill(t, "net").Version, "1.0.0")
}

// What waits as a proposal is remembered when it is approved, by whoever did.
func TestSignerOfAProposal(t *testing.T) {
	t.Parallel()
	p := assemble(t)
	pkg := pack(t, "net", "1.0.0", api)
	out, err := p.Submit(t.Context(), p.signed(t, signer, pkg))
	if !errors.Is(err, install.ErrWaits) {
		t.Fatal(err)
	}
	if known, err := p.trust.Known(t.Context(), "net"); err != nil || known.Skill.Name != "" {
		t.Fatalf("it is remembered already: %+v, %v", known.Skill, err)
	}
	if _, err := p.Approve(t.Context(), ada, out.Proposal.ID, install.Consent{}); err != nil {
		t.Fatal(err)
	}
	if known, err := p.trust.Known(t.Context(), "net"); err != nil || string(known.Skill.Signer) != identity(signer) {
		t.Errorf("got %+v, %v", known.Skill, err)
	}
	want(t, "signer", p.skill(t, "net").Signer, identity(signer))
}

// Nobody has to be asked about a package that asks for nothing, but what is to be
// remembered of its signer needs a person.
func TestSignerWithoutAPersonWaits(t *testing.T) {
	t.Parallel()
	p := assemble(t)
	req := signedBy(request(pack(t, "net", "1.0.0"), registry.OriginUser), signer)
	req.Person = approval.Human{}
	plan, err := p.Plan(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Submit(t.Context(), plan); !errors.Is(err, install.ErrWaits) {
		t.Errorf("got %v", err)
	}
	req.Person = ada
	plan, err = p.Plan(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Submit(t.Context(), plan); err != nil {
		t.Errorf("got %v", err)
	}
}

func TestPin(t *testing.T) {
	t.Parallel()
	p := assemble(t)
	_, err := p.Pin(t.Context(), "human:ada", "net", "")
	wantKind(t, err, fault.KindNotFound)
	p.accept(t, pack(t, "net", "1.0.0"))
	if _, err := p.Pin(t.Context(), "human:ada", "net", "works"); err != nil {
		t.Fatal(err)
	}
	if s := p.skill(t, "net"); s.Pinned == nil || s.Pinned.Reason != "works" || s.Pinned.By != "human:ada" {
		t.Errorf("got %+v", s.Pinned)
	}
	for range 2 {
		if _, err := p.Unpin(t.Context(), "human:ada", "net"); err != nil {
			t.Fatal(err)
		}
	}
	if s := p.skill(t, "net"); s.Pinned != nil {
		t.Errorf("got %+v", s.Pinned)
	}
}

// The journal alone is enough, whatever was decided.
func TestRebuiltLifecycleIsTheSame(t *testing.T) {
	t.Parallel()
	p := assemble(t)
	for _, v := range []string{"1.0.0", "1.1.0", "1.2.0"} {
		p.accept(t, pack(t, "net", v))
		p.accept(t, pack(t, "other", v))
	}
	check := func(_ any, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	check(p.rollback(t, "net"))
	check(p.Pin(t.Context(), "human:ada", "net", "r"))
	check(p.Disable(t.Context(), "human:ada", manifests.Ref{Name: "net", Version: "1.0.0"}, "r"))
	check(p.Disable(t.Context(), "human:ada", manifests.Ref{Name: "other"}, "r"))
	check(p.Enable(t.Context(), ada, manifests.Ref{Name: "other"}))
	check(p.AcceptCanary(t.Context(), ada, p.plan(t, pack(t, "net", "1.3.0"), registry.OriginUser), install.Share{Percent: 10}))
	check(p.EndCanary(t.Context(), ada, "net", registry.VerdictPromoted))
	check(p.Remove(t.Context(), "human:ada", manifests.Ref{Name: "other"}))
	check(p.Remove(t.Context(), "human:ada", manifests.Ref{Name: "net", Version: "1.1.0"}))
	check(nil, p.Purge(t.Context(), "human:ada", "other"))
	fresh := store.Memory()
	defer fresh.Close()
	if _, err := ledger.New(p.journal, fresh.KV(), registry.Projection(), approval.Projection(), trust.Projection()).Rebuild(t.Context()); err != nil {
		t.Fatal(err)
	}
	want(t, "state", dump(t, fresh.KV()), dump(t, p.store.KV()))
	want(t, "active", p.active(t, "net"), "1.3.0")
}

func TestCanaryIsInstalledBeside(t *testing.T) {
	t.Parallel()
	p := assemble(t)
	_, err := p.AcceptCanary(t.Context(), ada, p.plan(t, pack(t, "net", "1.0.0"), registry.OriginUser), install.Share{Percent: 10})
	wantKind(t, err, fault.KindConflict) // nothing to measure it against
	p.accept(t, pack(t, "net", "1.0.0"))
	next := p.plan(t, pack(t, "net", "1.1.0", api), registry.OriginUser)
	for _, percent := range []int{0, -1, 100} {
		_, err := p.AcceptCanary(t.Context(), ada, next, install.Share{Percent: percent})
		wantKind(t, err, fault.KindUsage)
	}
	_, err = p.AcceptCanary(t.Context(), approval.Human{}, next, install.Share{Percent: 10})
	wantKind(t, err, fault.KindDenied)
	out, err := p.AcceptCanary(t.Context(), ada, next, install.Share{Percent: 10})
	if err != nil {
		t.Fatal(err)
	}
	if c := out.Skill.Canary; out.Skill.Active || c == nil || c.Version != "1.1.0" || c.StableVersion != "1.0.0" || c.Calls != install.DefaultCanaryCalls || c.Seq == 0 {
		t.Errorf("got %+v", out.Skill)
	}
	want(t, "active", p.active(t, "net"), "1.0.0")
	want(t, "granted", len(p.granted(t, pack(t, "net", "1.1.0", api))), 1)
	_, err = p.AcceptCanary(t.Context(), ada, p.plan(t, pack(t, "net", "1.2.0"), registry.OriginUser), install.Share{Percent: 10})
	wantKind(t, err, fault.KindConflict) // one at a time

	r, err := p.rollback(t, "net")
	if err != nil || r.Canary == nil {
		t.Fatalf("got %+v, %v", r, err)
	}
	s := p.skill(t, "net")
	want(t, "active after it was rolled back", s.Version, "1.0.0")
	if s.Canary != nil || s.Trial == nil || s.Trial.Verdict != registry.VerdictRolledBack || s.Trial.EndedBy != "human:ada" {
		t.Errorf("got %+v, %+v", s.Canary, s.Trial)
	}
	_, err = p.EndCanary(t.Context(), ada, "net", registry.VerdictPromoted)
	wantKind(t, err, fault.KindConflict)
}

// The figures of a trial that is over decide nothing.
func TestCanaryIsConcludedOnce(t *testing.T) {
	t.Parallel()
	p := assemble(t)
	p.accept(t, pack(t, "net", "1.0.0"))
	out, err := p.AcceptCanary(t.Context(), ada, p.plan(t, pack(t, "net", "1.1.0"), registry.OriginUser), install.Share{Percent: 10})
	if err != nil {
		t.Fatal(err)
	}
	c := *out.Skill.Canary
	stale := c
	stale.Seq--
	for _, c := range []registry.Canary{stale, c, c} {
		if err := p.Conclude(t.Context(), "net", c, registry.VerdictPromoted, "good", []byte(`{"calls":7}`)); err != nil {
			t.Fatal(err)
		}
		want(t, "promoted", p.active(t, "net") == "1.1.0", c != stale)
	}
	if s := p.skill(t, "net"); s.Trial == nil || s.Trial.EndedBy != "host:canary" || string(s.Trial.Report) != `{"calls":7}` {
		t.Errorf("got %+v", s.Trial)
	}
	if _, err := p.rollback(t, "net"); err != nil {
		t.Fatal(err)
	}
	want(t, "active", p.active(t, "net"), "1.0.0")
}

// Versions of different schemas of their data would ruin it for each other.
func TestCanaryOfAnotherSchemaIsRefused(t *testing.T) {
	t.Parallel()
	p := assemble(t)
	schema := func(version string, n int) *bundle.Package {
		return with(t, "a", version, permissions(fmt.Sprintf(`"kv":{"reason":"r","schema_version":%d}`, n)))
	}
	p.accept(t, schema("1.0.0", 1))
	_, err := p.AcceptCanary(t.Context(), ada, p.plan(t, schema("2.0.0", 2), registry.OriginUser), install.Share{Percent: 10})
	wantKind(t, err, fault.KindConflict)
	if _, err := p.AcceptCanary(t.Context(), ada, p.plan(t, schema("1.1.0", 1), registry.OriginUser), install.Share{Percent: 10}); err != nil {
		t.Fatal(err)
	}
}

func TestVerify(t *testing.T) {
	t.Parallel()
	p := assemble(t)
	pkg := pack(t, "net", "1.0.0", api)
	p.accept(t, pkg)
	s := p.skill(t, "net")
	v, err := p.Verify(t.Context(), s)
	if err != nil || !v.OK || v.Files != 2 || v.Grants != 1 || len(v.Problems) != 0 {
		t.Fatalf("got %+v, %v", v, err)
	}
	for _, f := range pkg.Files() {
		if err := p.store.Blobs().Delete(t.Context(), string(f.Digest)); err != nil {
			t.Fatal(err)
		}
		v, err := p.Verify(t.Context(), s)
		if err != nil || v.OK || len(v.Problems) != 1 {
			t.Errorf("without %s: %+v, %v", f.Path, v, err)
		}
		if err := p.registry.Keep(t.Context(), pkg); err != nil {
			t.Fatal(err)
		}
	}
}

// A module that calls what its manifest does not ask for is not installed,
// whatever a person says.
func TestModuleThatCallsMoreThanItAsksFor(t *testing.T) {
	t.Parallel()
	p := assemble(t)
	for name, c := range map[string]struct {
		calls, asks string
		refused     bool
		warnings    int
	}{
		"asked for":       {"kv_put", `"kv":{"reason":"r"}`, false, 0},
		"not asked for":   {"kv_put", `"notify":{"reason":"r"}`, true, 0},
		"not used":        {"notify", `"kv":{"reason":"r"},"notify":{"reason":"r"}`, false, 1},
		"asks no address": {"http_request", `"network":[]`, false, 0},
	} {
		plan, err := p.Plan(t.Context(), request(calling(t, c.calls, c.asks), registry.OriginUser))
		if c.refused {
			if e := fault.AsError(err); e == nil || e.Kind != fault.KindVerification || e.Way().String() == "" {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		want(t, name, len(plan.Warnings), c.warnings)
	}
}

// calling makes a package whose module imports one host function.
func calling(t *testing.T, function, asks string) *bundle.Package {
	t.Helper()
	m := wasmtest.New()
	m.ImportFunc("skillet:host/v1", function, wasmtest.Sig("i32 i32 i32 i32", "i64"))
	m.ExportFunc("nothing", m.Func(wasmtest.Signature{}, ""))
	p, err := bundle.FromFiles(map[string][]byte{
		"skill.json": fmt.Appendf(nil, `{"name":"c","version":"1.0.0","description":"d","type":"code_inline","command":"main.wasm",
			"tools":[{"name":"nothing","description":"d"}],%s}`, permissions(asks)),
		"main.wasm": m.Bytes(),
	})
	if err != nil {
		t.Fatal(err)
	}
	return p
}
