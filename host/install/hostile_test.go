package install_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/skillet-run/skillet/host/base/fault"

	"github.com/skillet-run/skillet/host/base/store"
	"github.com/skillet-run/skillet/host/install"
	"github.com/skillet-run/skillet/host/record/approval"
	"github.com/skillet-run/skillet/host/record/ledger"
	"github.com/skillet-run/skillet/host/record/registry"
	"github.com/skillet-run/skillet/host/record/trust"
	"github.com/skillet-run/skillet/manifests"
	"github.com/skillet-run/skillet/manifests/bundle"
	"github.com/skillet-run/skillet/policies"
	"github.com/skillet-run/skillet/policies/capability"
)

// with makes a package whose manifest has more members.
func with(t *testing.T, name, version, members string) *bundle.Package {
	t.Helper()
	p, err := bundle.FromFiles(map[string][]byte{
		"skill.json": fmt.Appendf(nil, `{"name":%q,"version":%q,"description":"for tests","type":"code_inline","command":"main.wasm",
			"tools":[{"name":"nothing","description":"does nothing"}],%s}`, name, version, members),
		"main.wasm": nothing(),
	})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func permissions(text string) string { return `"security":{"permissions":{` + text + `}}` }

func secretTo(url, header string) string {
	return permissions(fmt.Sprintf(`"network":[{"url":"https://api.example.com/*"},{"url":"https://logs.example.net/*"}],
		"secrets":[{"name":"github","inject":{"url":%q,"header":%q}}]`, url, header))
}

func (p *parts) skill(t *testing.T, name string) registry.Skill {
	t.Helper()
	s, err := p.registry.Lookup(t.Context(), manifests.Ref{Name: name})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestSecretThatGoesElsewhereIsNew(t *testing.T) {
	p := assemble(t)
	p.accept(t, with(t, "net", "1.0.0", secretTo("https://api.example.com/*", "Authorization")))
	for version, c := range map[string]struct {
		members string
		new     int
	}{
		"1.0.1": {secretTo("https://api.example.com/*", "Authorization"), 0},
		"1.0.2": {secretTo("https://logs.example.net/*", "Authorization"), 1},
		"1.0.3": {secretTo("https://api.example.com/*", "X-Echo"), 1},
	} {
		plan := p.plan(t, with(t, "net", version, c.members), registry.OriginUser)
		want(t, version, plan.Effect, "ask")
		want(t, version, len(plan.New()), c.new)
	}
	plan := p.plan(t, with(t, "net", "1.0.2", secretTo("https://logs.example.net/*", "Authorization")), registry.OriginUser)
	if words := plan.New()[0].Words; !strings.Contains(words, "Authorization") || !strings.Contains(words, "https://logs.example.net/*") {
		t.Errorf("the person is not told where the secret goes: %q", words)
	}
}

func TestGrantForSomeRunsIsNoGrantForTheNextVersion(t *testing.T) {
	p := assemble(t)
	p.accept(t, pack(t, "net", "1.0.0"))
	c := capability.MustParse("http:GET " + api)
	if err := p.approvals.Grant(t.Context(), ada, p.skill(t, "net"), []capability.Capability{c}, approval.Terms{MaxUses: 1}); err != nil {
		t.Fatal(err)
	}
	plan := p.plan(t, pack(t, "net", "1.1.0", api), registry.OriginUser)
	want(t, "effect", plan.Effect, "ask")
	want(t, "new", len(plan.New()), 1)
}

func TestNoSkillAnswersForAnother(t *testing.T) {
	p := assemble(t)
	p.accept(t, with(t, "files", "1.0.0", `"aliases":["f"]`))
	for name, pkg := range map[string]*bundle.Package{
		"an alias that is a name":    with(t, "a", "1.0.0", `"aliases":["files"]`),
		"an alias that is an alias":  with(t, "b", "1.0.0", `"aliases":["f"]`),
		"a name that is an alias":    with(t, "f", "1.0.0", `"aliases":["ff"]`),
		"the same, asked for rights": with(t, "f", "1.0.0", permissions(`"kv":{"reason":"r"}`)),
	} {
		for _, origin := range []registry.Origin{registry.OriginUser, registry.OriginGenerated} {
			_, err := p.Plan(t.Context(), request(pkg, origin))
			if e := fault.AsError(err); e == nil || e.Kind != fault.KindConflict {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
	p.accept(t, with(t, "files", "1.1.0", `"aliases":["f","fs"]`))
}

// Both were fine when they were proposed.
func TestAliasIsCheckedAgainWhenItIsApproved(t *testing.T) {
	p := assemble(t)
	proposal := p.propose(t, with(t, "a", "1.0.0", `"aliases":["files"]`))
	p.accept(t, pack(t, "files", "1.0.0"))
	_, err := p.Approve(t.Context(), ada, proposal.ID, install.Consent{})
	wantKind(t, err, fault.KindConflict)
}

// The same bytes ask for other files in another workspace.
func TestProposalsOfTheSameBytesDiffer(t *testing.T) {
	p := assemble(t)
	pkg := with(t, "a", "1.0.0", permissions(`"file_read":["./src"]`))
	ids := map[string]bool{}
	for _, ws := range []string{"/home/ada", "/work/project", "/home/ada"} {
		req := request(pkg, registry.OriginGenerated)
		req.Workspace = ws
		plan, err := p.Plan(t.Context(), req)
		if err != nil {
			t.Fatal(err)
		}
		out, err := p.Submit(t.Context(), plan)
		wantKind(t, err, fault.KindApproval)
		want(t, "asks", out.Proposal.Requested[0].Capability.String(), "fs.read:"+ws+"/src/**")
		ids[out.Proposal.ID] = true
	}
	want(t, "proposals", len(ids), 2)
}

func TestApprovalHoldsForWhatIsReplaced(t *testing.T) {
	p := assemble(t)
	proposal := p.propose(t, pack(t, "a", "1.0.0"))
	want(t, "replaces", proposal.Replaces, "")
	p.accept(t, pack(t, "a", "2.0.0"))
	_, err := p.Approve(t.Context(), ada, proposal.ID, install.Consent{})
	wantKind(t, err, fault.KindConflict)
	want(t, "active", p.active(t, "a"), "2.0.0")
}

func TestPlanThatWasOvertakenIsRefused(t *testing.T) {
	p := assemble(t)
	p.accept(t, pack(t, "a", "1.0.0", api))
	stale := p.plan(t, pack(t, "a", "1.1.0", api), registry.OriginUser)
	if _, err := p.Remove(t.Context(), "human:ada", manifests.Ref{Name: "a"}); err != nil {
		t.Fatal(err)
	}
	p.accept(t, with(t, "a", "1.0.0", permissions(`"kv":{"reason":"another package of that name and version"}`)))
	_, err := p.Submit(t.Context(), stale)
	wantKind(t, err, fault.KindConflict)
}

func TestShownDigestMustSaySomething(t *testing.T) {
	p := assemble(t)
	proposal := p.propose(t, pack(t, "a", "1.0.0"))
	for _, d := range []string{"sha256:", proposal.Digest.Hex()[:1], "sha256:" + proposal.Digest.Hex()[:7]} {
		_, err := p.Approve(t.Context(), ada, proposal.ID, install.Consent{Digest: d})
		if e := fault.AsError(err); e == nil || e.Kind != fault.KindUsage {
			t.Errorf("%q: %v", d, err)
		}
	}
	if _, err := p.Approve(t.Context(), ada, proposal.ID, install.Consent{Digest: string(proposal.Digest)}); err != nil {
		t.Fatal(err)
	}
}

// under makes an Installer over the same state with a person's own policy.
func (p *parts) under(t *testing.T, policy string) *install.Installer {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "own.cedar"), []byte(policy), 0o600); err != nil {
		t.Fatal(err)
	}
	ps, err := policies.Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	inForce := func() (*policies.Set, error) { return ps, nil }
	approvals := approval.NewStore(p.ledger, p.store.KV(), inForce, approval.Settings{Home: "/home/x/.skillet"})
	return install.New(p.ledger, p.registry, approvals, p.trust, inForce, anything{}, nil, "/home/x/.skillet")
}

// anything is an Engine for packages that were checked before.
type anything struct{}

func (anything) Check(context.Context, *bundle.Package) error { return nil }
func (anything) Forget(context.Context, string) error         { return nil }
func (anything) Keeps(context.Context, string) (bool, error)  { return false, nil }
func (anything) FitsState(context.Context, *manifests.Manifest) error {
	return nil
}
func (anything) TakeBack(context.Context, *manifests.Manifest) error { return nil }

func TestApprovalAsksThePoliciesAgain(t *testing.T) {
	p := assemble(t)
	proposal := p.propose(t, pack(t, "a", "1.0.0"))
	strict := p.under(t, `@id("no-generated") @reason("not here") forbid (principal, action == Action::"install", resource) when { context.origin == "generated" };`)
	_, err := strict.Approve(t.Context(), ada, proposal.ID, install.Consent{})
	wantKind(t, err, fault.KindDenied)
	want(t, "active", p.active(t, "a"), "")
}

func TestProposerCannotSpeakAsTheHost(t *testing.T) {
	p := assemble(t)
	req := request(pack(t, "a", "1.0.0"), registry.OriginGenerated)
	req.ProposedBy = "model:x\n  asks for nothing\x1b[2K"
	req.Source = "/src\u202egnp.exe"
	req.Rationale = "because\n\n  digest sha256:00\r\n  asks for nothing\u200b"
	plan, err := p.Plan(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	out, err := p.Submit(t.Context(), plan)
	wantKind(t, err, fault.KindApproval)
	want(t, "by", out.Proposal.ProposedBy, `model:x\u{a}  asks for nothing\u{1b}[2K`)
	want(t, "source", out.Proposal.Source, `/src\u{202e}gnp.exe`)
	want(t, "rationale", out.Proposal.Rationale, `because digest sha256:00 asks for nothing\u{200b}`)
	req.Rationale = strings.Repeat("x", 5000)
	_, err = p.Plan(t.Context(), req)
	wantKind(t, err, fault.KindUsage)
}

// A proposal that no store keeps would have stood in the journal for ever.
func TestPackageThatAsksForTooMuch(t *testing.T) {
	p := assemble(t)
	var paths []string
	for i := range 64 {
		paths = append(paths, fmt.Sprintf(`{"path":"/%s/%d","reason":%q}`, strings.Repeat("p", 1000), i, strings.Repeat("é", 500)))
	}
	all := strings.Join(paths, ",")
	pkg := with(t, "a", "1.0.0", permissions(`"file_read":[`+all+`],"file_write":[`+all+`]`))
	_, err := p.Plan(t.Context(), request(pkg, registry.OriginGenerated))
	wantKind(t, err, fault.KindLimit)
}

// What is recorded has to fit into the store, whatever a manifest asks for.
func TestLargestPackageCanBeProposedAndApproved(t *testing.T) {
	p := assemble(t)
	var paths []string
	for i := range 64 {
		paths = append(paths, fmt.Sprintf(`{"path":"/%s/%d","reason":%q}`, strings.Repeat("p", 400), i, strings.Repeat("r", 500)))
	}
	all := strings.Join(paths, ",")
	pkg := with(t, "a", "1.0.0", permissions(`"file_read":[`+all+`],"file_write":[`+all+`]`))
	proposal := p.propose(t, pkg)
	if _, err := p.Approve(t.Context(), ada, proposal.ID, install.Consent{}); err != nil {
		t.Fatal(err)
	}
	want(t, "granted", len(p.granted(t, pkg)), 128)
}

func TestProposalsDoNotPileUp(t *testing.T) {
	p := assemble(t)
	submit := func(i int) error {
		_, err := p.Submit(t.Context(), p.plan(t, pack(t, fmt.Sprintf("a%d", i), "1.0.0"), registry.OriginGenerated))
		return err
	}
	for i := range 100 {
		wantKind(t, submit(i), fault.KindApproval)
	}
	wantKind(t, submit(100), fault.KindLimit)
	wantKind(t, submit(3), fault.KindApproval) // known already
	ps, err := p.approvals.Proposals(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Reject(t.Context(), ada, ps[0].ID, ""); err != nil {
		t.Fatal(err)
	}
	wantKind(t, submit(100), fault.KindApproval)
}

func TestRejectedBytesAreDeleted(t *testing.T) {
	p := assemble(t)
	proposal := p.propose(t, pack(t, "a", "1.0.0"))
	if _, err := p.Reject(t.Context(), ada, proposal.ID, ""); err != nil {
		t.Fatal(err)
	}
	if ok, err := p.store.Blobs().Has(t.Context(), string(proposal.Digest)); ok || err != nil {
		t.Errorf("the package is kept: %v, %v", ok, err)
	}
}

func TestInstallingAgainGrantsWhatIsMissing(t *testing.T) {
	p := assemble(t)
	pkg := with(t, "a", "1.0.0", permissions(`"file_read":["./src"]`))
	p.accept(t, pkg)
	req := request(pkg, registry.OriginUser)
	req.Workspace = "/other"
	plan, err := p.Plan(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	want(t, "new", len(plan.New()), 1)
	out, err := p.Accept(t.Context(), ada, plan)
	if err != nil || out.Unchanged {
		t.Fatalf("got %+v, %v", out, err)
	}
	want(t, "granted", p.granted(t, pkg), []string{"fs.read:/other/src/**", "fs.read:/ws/src/**"})
	plan, err = p.Plan(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	if out, err = p.Accept(t.Context(), ada, plan); err != nil || !out.Unchanged {
		t.Fatalf("the second time: %+v, %v", out, err)
	}
}

// Two runs at once cannot both have the one use of a grant.
func TestOneUseIsOneRun(t *testing.T) {
	p := assemble(t)
	p.accept(t, pack(t, "a", "1.0.0"))
	s := p.skill(t, "a")
	kv := capability.MustParse("kv")
	if err := p.approvals.Grant(t.Context(), ada, s, []capability.Capability{kv}, approval.Terms{MaxUses: 3}); err != nil {
		t.Fatal(err)
	}
	sets := make(chan capability.Set)
	for range 12 {
		go func() {
			set, err := p.approvals.ConsumeGrants(t.Context(), s, approval.Use{})
			if err != nil {
				t.Error(err)
			}
			sets <- set.Set()
		}()
	}
	n := 0
	for range 12 {
		select {
		case set := <-sets:
			n += set.Len()
		case <-time.After(time.Minute):
			t.Fatal("it hangs")
		}
	}
	want(t, "runs that had it", n, 3)
	uses := 0
	if err := p.ledger.History(t.Context(), 0, func(r ledger.Record) error {
		if r.Kind == "use" {
			uses++
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	want(t, "uses in the audit log", uses, 3)
}

// What a removed skill kept waits for the same skill, and is not for whoever
// takes its name.
func TestNameTakenOverHasNoState(t *testing.T) {
	p := assemble(t)
	keep := func() {
		t.Helper()
		for key, value := range map[string]string{"kv/account/skill/a": `{"schema":1,"bytes":7}`, "kv/skill/a/value/diary": "\x01\x00\x00\x00\x00\x00\x00\x00\x00private"} {
			if _, err := p.store.KV().Put(t.Context(), key, []byte(value), store.AnyRevision); err != nil {
				t.Fatal(err)
			}
		}
	}
	kept := func() int {
		t.Helper()
		entries, err := p.store.KV().List(t.Context(), "kv/")
		if err != nil {
			t.Fatal(err)
		}
		return len(entries)
	}
	remove := func(version string) {
		t.Helper()
		if _, err := p.Remove(t.Context(), "human:ada", manifests.Ref{Name: "a", Version: version}); err != nil {
			t.Fatal(err)
		}
	}
	from := func(source string, pkg *bundle.Package) install.Plan {
		t.Helper()
		req := request(pkg, registry.OriginUser)
		req.Source = source
		plan, err := p.Plan(t.Context(), req)
		if err != nil {
			t.Fatal(err)
		}
		return plan
	}
	p.accept(t, pack(t, "a", "1.0.0"))
	keep()
	p.accept(t, pack(t, "a", "2.0.0"))
	remove("2.0.0")
	want(t, "kept for the version that stays", kept(), 2)
	remove("")
	want(t, "kept after the last version", kept(), 2)
	p.accept(t, pack(t, "a", "1.1.0"))
	want(t, "kept for the same skill from the same source", kept(), 2)
	remove("")
	plan := from("/elsewhere", pack(t, "a", "1.1.0"))
	if plan.Forgets != nil {
		t.Errorf("the same bytes from elsewhere are another skill: %+v", plan.Forgets)
	}

	plan = from("/elsewhere", pack(t, "a", "1.2.0"))
	if plan.Forgets == nil || plan.Forgets.Source != "/src" {
		t.Errorf("the person is not told whose data goes: %+v", plan.Forgets)
	}
	want(t, "effect", plan.Effect, "ask")
	_, err := p.Submit(t.Context(), plan)
	wantKind(t, err, fault.KindApproval)
	want(t, "kept while it waits", kept(), 2)
	if _, err := p.Accept(t.Context(), ada, from("/elsewhere", pack(t, "a", "1.2.0"))); err != nil {
		t.Fatal(err)
	}
	want(t, "kept for a new skill of that name", kept(), 0)

	keep()
	remove("")
	proposal := p.propose(t, pack(t, "a", "3.0.0")) // from /src
	if _, err := p.Approve(t.Context(), ada, proposal.ID, install.Consent{}); err != nil {
		t.Fatal(err)
	}
	want(t, "kept for an approved one", kept(), 0)

	keep()
	remove("")
	if err := p.Purge(t.Context(), "human:ada", "a"); err != nil {
		t.Fatal(err)
	}
	want(t, "kept after a purge", kept(), 0)
	wantKind(t, p.Purge(t.Context(), "human:ada", "a"), fault.KindNotFound)
	keep() // as if the purge had been killed
	p.accept(t, pack(t, "a", "3.0.0"))
	want(t, "kept for one that comes after a purge", kept(), 0)
	wantKind(t, p.Purge(t.Context(), "human:ada", "a"), fault.KindConflict)
}

func TestRemovedSkillIsGrantedNothing(t *testing.T) {
	p := assemble(t)
	pkg := pack(t, "a", "1.0.0")
	p.accept(t, pkg)
	s := p.skill(t, "a")
	if _, err := p.Remove(t.Context(), "human:ada", manifests.Ref{Name: "a"}); err != nil {
		t.Fatal(err)
	}
	err := p.approvals.Grant(t.Context(), ada, s, []capability.Capability{capability.MustParse("kv")}, approval.Terms{})
	wantKind(t, err, fault.KindConflict)
	p.accept(t, pkg)
	want(t, "granted", len(p.granted(t, pkg)), 0)
}

// watched is a store that is interrupted once a decision is in force.
type watched struct {
	store.KV
	interrupt func()
}

func (w watched) Put(ctx context.Context, key string, value []byte, prev uint64) (uint64, error) {
	revision, err := w.KV.Put(ctx, key, value, prev)
	if key == "ledger/cursor" {
		w.interrupt()
	}
	return revision, err
}

func (w watched) List(ctx context.Context, prefix string) ([]store.Entry, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return w.KV.List(ctx, prefix)
}

// A decision that was made is reported as made, whatever comes right after it.
func TestInterruptedAfterTheDecision(t *testing.T) {
	p := assemble(t)
	proposal := p.propose(t, pack(t, "b", "1.0.0"))
	for what, decide := range map[string]func(context.Context, *install.Installer) error{
		"approve": func(ctx context.Context, i *install.Installer) error {
			_, err := i.Approve(ctx, ada, proposal.ID, install.Consent{})
			return err
		},
		"accept": func(ctx context.Context, i *install.Installer) error {
			plan, err := i.Plan(ctx, request(pack(t, "c", "1.0.0", api), registry.OriginUser))
			if err == nil {
				_, err = i.Accept(ctx, ada, plan)
			}
			return err
		},
		"remove": func(ctx context.Context, i *install.Installer) error {
			_, err := i.Remove(ctx, "human:ada", manifests.Ref{Name: "a"})
			return err
		},
	} {
		if what == "remove" {
			p.accept(t, pack(t, "a", "1.0.0"))
		}
		ctx, cancel := context.WithCancel(t.Context())
		if err := decide(ctx, p.over(t, watched{p.store.KV(), cancel})); err != nil {
			t.Errorf("%s: %v", what, err)
		}
		cancel()
	}
}

// over makes an Installer over another view of the same state.
func (p *parts) over(t *testing.T, kv store.KV) *install.Installer {
	t.Helper()
	ps, err := policies.Default()
	if err != nil {
		t.Fatal(err)
	}
	inForce := func() (*policies.Set, error) { return ps, nil }
	l := ledger.New(p.journal, kv, registry.Projection(), approval.Projection(), trust.Projection())
	const home = "/home/x/.skillet"
	return install.New(l, registry.New(kv, p.store.Blobs()), approval.NewStore(l, kv, inForce, approval.Settings{Home: home}), trust.New(l, kv), inForce, anything{}, nil, home)
}

// What a person turned down is not installed by a yes to everything, whoever brings
// it and by whichever way in: only who names that decision gets it.
func TestWhatWasTurnedDownIsNamed(t *testing.T) {
	t.Parallel()
	for name, turnDown := range map[string]func(*testing.T, *parts, *bundle.Package) string{
		"rejected": func(t *testing.T, p *parts, pkg *bundle.Package) string {
			proposal := p.propose(t, pkg)
			if _, err := p.Reject(t.Context(), ada, proposal.ID, "it steals"); err != nil {
				t.Fatal(err)
			}
			return proposal.ID
		},
		"undecided": func(t *testing.T, p *parts, pkg *bundle.Package) string {
			_, err := p.Submit(t.Context(), p.plan(t, pkg, registry.OriginGenerated))
			wantKind(t, err, fault.KindApproval)
			ps, err := p.approvals.Proposals(t.Context())
			if err != nil || len(ps) != 1 {
				t.Fatalf("%+v, %v", ps, err)
			}
			return ps[0].ID
		},
		"reverted": func(t *testing.T, p *parts, pkg *bundle.Package) string {
			proposal := p.propose(t, pkg)
			if _, err := p.Approve(t.Context(), ada, proposal.ID, install.Consent{}); err != nil {
				t.Fatal(err)
			}
			if _, err := p.Revert(t.Context(), ada, proposal.ID, "it steals"); err != nil {
				t.Fatal(err)
			}
			return proposal.ID
		},
	} {
		p, pkg := assemble(t), pack(t, "net", "1.0.0")
		id := turnDown(t, p, pkg)
		plan := p.plan(t, pkg, registry.OriginUser)
		if plan.Refused == nil || plan.Refused.ID != id || !plan.Waits() || !strings.Contains(strings.Join(plan.Warnings, "\n"), map[bool]string{true: "nobody has decided", false: "it steals"}[name == "undecided"]) {
			t.Errorf("%s: planned %+v, waits %v, %q", name, plan.Refused, plan.Waits(), plan.Warnings)
		}
		_, err := p.Accept(t.Context(), ada, plan)
		wantKind(t, err, fault.KindDenied)
		_, err = p.AcceptGroup(t.Context(), ada, install.Group{Kind: "install", Subject: "net", Plans: []install.Plan{plan}, Since: p.state(t)})
		wantKind(t, err, fault.KindDenied)
		if _, err = p.Submit(t.Context(), plan); !errors.Is(err, install.ErrWaits) {
			t.Errorf("%s: without a person: %v", name, err)
		}
		p.revokedSince(t, name, plan)
		req := request(pkg, registry.OriginUser)
		req.Despite = []string{id[:6]}
		if plan, err = p.Plan(t.Context(), req); err != nil {
			t.Fatal(err)
		}
		if _, err := p.Accept(t.Context(), ada, plan); err != nil {
			t.Errorf("%s: named: %v", name, err)
		}
	}
}

// revokedSince demands that a revocation is what is said of a plan that is turned
// down as well, whichever way it comes in.
func (p *parts) revokedSince(t *testing.T, name string, plan install.Plan) {
	t.Helper()
	e := trust.Entry{Content: plan.Digest, Reason: "it calls home"}
	if _, err := p.trust.Revoke(t.Context(), ada, e); err != nil {
		t.Fatal(err)
	}
	for way, do := range map[string]func() error{
		"alone": func() error { _, err := p.Accept(t.Context(), ada, plan); return err },
		"group": func() error {
			_, err := p.AcceptGroup(t.Context(), ada, install.Group{Kind: "install", Subject: "net", Plans: []install.Plan{plan}, Since: p.state(t)})
			return err
		},
		"on trial": func() error { _, err := p.AcceptCanary(t.Context(), ada, plan, install.Share{Percent: 10}); return err },
	} {
		if err := do(); fault.AsError(err).Kind != fault.KindVerification || !strings.Contains(err.Error(), "it calls home") {
			t.Errorf("%s, revoked since, %s: %v", name, way, err)
		}
	}
	if err := p.trust.Unrevoke(t.Context(), ada, e); err != nil {
		t.Fatal(err)
	}
}
