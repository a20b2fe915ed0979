package host_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/skillet-run/skillet/host"
	"github.com/skillet-run/skillet/host/app/admit"
	"github.com/skillet-run/skillet/host/base/fault"
	"github.com/skillet-run/skillet/host/engine/sandbox/wasmbin/wasmtest"
	"github.com/skillet-run/skillet/host/record/approval"
	"github.com/skillet-run/skillet/host/record/trust"
	"github.com/skillet-run/skillet/manifests"
	"github.com/skillet-run/skillet/policies/capability"
)

// skillDir is a directory with a version of a skill that asks for network addresses.
func skillDir(t *testing.T, name, version string, urls ...string) string {
	t.Helper()
	m := wasmtest.New()
	m.ExportFunc("nothing", m.Func(wasmtest.Signature{}, ""))
	asks := ""
	for i, u := range urls {
		if asks += fmt.Sprintf(`{"url":%q,"reason":"it needs it"}`, u); i < len(urls)-1 {
			asks += ","
		}
	}
	manifest := fmt.Sprintf(`{"name":%q,"version":%q,"description":"for tests","type":"code_inline","command":"main.wasm",
		"tools":[{"name":"nothing","description":"does nothing"}],"security":{"permissions":{"network":[%s]}}}`, name, version, asks)
	dir := filepath.Join(t.TempDir(), name+"-"+version)
	if err := errors.Join(os.Mkdir(dir, 0o700), os.WriteFile(filepath.Join(dir, "skill.json"), []byte(manifest), 0o600),
		os.WriteFile(filepath.Join(dir, "main.wasm"), m.Bytes(), 0o600)); err != nil {
		t.Fatal(err)
	}
	return dir
}

func planOf(t *testing.T, h *host.Host, by approval.Principal, c admit.Change) *admit.Plan {
	t.Helper()
	p, err := h.Admit().Plan(t.Context(), by, c)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func wantFault(t *testing.T, what string, err error, kind fault.Kind) {
	t.Helper()
	if e := fault.AsError(err); e == nil || e.Kind != kind {
		t.Errorf("%s: %v, want %s", what, err, kind)
	}
}

func opened(t *testing.T) *host.Host {
	t.Helper()
	h := open(t, t.TempDir(), &bytes.Buffer{})
	t.Cleanup(func() { h.Close(context.WithoutCancel(t.Context())) })
	return h
}

const anAddress = "https://x.example/*"

// What a caller leaves out is answered strictly: what asks for something waits, an agent
// decides nothing, and what a model wrote waits whatever is said.
func TestConsent(t *testing.T) {
	h := opened(t)
	ada := approval.NewHuman("ada")
	dir := skillDir(t, "fetcher", "1.0.0", anAddress)
	for _, c := range []struct {
		what    string
		by      approval.Principal
		change  admit.Install
		consent admit.Consent
		want    fault.Kind
	}{
		{"a person who says nothing", ada, admit.Install{Package: dir}, admit.NotAsked, fault.KindApproval},
		{"an agent", approval.NewAgent("general"), admit.Install{Package: dir}, admit.NotAsked, fault.KindApproval},
		{"an agent that consents", approval.NewAgent("general"), admit.Install{Package: dir}, admit.Shown, fault.KindDenied},
		{"an agent that consents beforehand", approval.NewAgent("general"), admit.Install{Package: dir}, admit.Beforehand, fault.KindDenied},
		{"what a model wrote", ada, admit.Install{Package: dir, GeneratedBy: "m"}, admit.Shown, fault.KindApproval},
		{"the same without a model", ada, admit.Install{Package: dir, Terms: admit.Terms{Look: admit.LookNever}}, admit.Beforehand, fault.KindDenied},
	} {
		_, err := h.Admit().Commit(t.Context(), c.by, planOf(t, h, c.by, c.change), c.consent)
		wantFault(t, c.what, err, c.want)
	}
	quiet := planOf(t, h, approval.NewAgent("general"), admit.Install{Package: skillDir(t, "quiet", "1.0.0")})
	_, err := h.Admit().Commit(t.Context(), approval.NewAgent("general"), quiet, admit.NotAsked)
	wantFault(t, "an agent's package that asks for nothing", err, fault.KindApproval)
	_, err = h.Admit().Commit(t.Context(), approval.NewHuman("eve"), planOf(t, h, ada, admit.Install{Package: dir}), admit.Shown)
	wantFault(t, "somebody else's plan", err, fault.KindDenied)
	_, err = h.Admit().Commit(t.Context(), ada, &admit.Plan{}, admit.Shown)
	wantFault(t, "a plan that nobody made", err, fault.KindUsage)
	if all, err := h.Parts().Registry.List(t.Context()); err != nil || len(all) != 0 {
		t.Errorf("installed are %v, %v", all, err)
	}
}

// A plan is good for the state that it was made from, and once.
func TestPlansThatAreOvertaken(t *testing.T) {
	ada := approval.NewHuman("ada")
	one, two := skillDir(t, "fetcher", "1.0.0", anAddress), skillDir(t, "fetcher", "2.0.0", anAddress)
	for what, meanwhile := range map[string]func(context.Context, *host.Host) error{
		"it was removed": func(ctx context.Context, h *host.Host) error {
			_, err := h.Parts().Installer.Remove(ctx, ada.Actor(), manifests.Ref{Name: "fetcher"})
			return err
		},
		"it was updated": func(ctx context.Context, h *host.Host) error {
			return installed(ctx, h, ada, skillDir(t, "fetcher", "3.0.0", anAddress))
		},
		"it was disabled": func(ctx context.Context, h *host.Host) error {
			_, err := h.Admit().Disable(ctx, ada, admit.EnableRequest{Skill: "fetcher", Reason: "a test"})
			return err
		},
		"a policy was written": func(_ context.Context, h *host.Host) error {
			return writePolicy(h, `@id("no-web") @reason("the web is off limits") forbid(principal, action == Action::"http", resource);`)
		},
		"its grants were taken back": func(ctx context.Context, h *host.Host) error {
			s, err := h.Parts().Registry.Lookup(ctx, manifests.Ref{Name: "fetcher"})
			if err != nil {
				return err
			}
			c, err := capability.Parse("http:GET https://x.example/*")
			if err != nil {
				return err
			}
			gone, err := h.Parts().Approvals.Revoke(ctx, ada.Actor(), s, []capability.Capability{c})
			if err == nil && len(gone) == 0 {
				err = errors.New("there was no grant")
			}
			return err
		},
	} {
		h := opened(t)
		if err := installed(t.Context(), h, ada, one); err != nil {
			t.Fatal(err)
		}
		p := planOf(t, h, ada, admit.Install{Package: two})
		removal := planOf(t, h, ada, admit.Removal{Skills: []string{"fetcher"}, Prune: true})
		if err := meanwhile(t.Context(), h); err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		for kind, plan := range map[string]*admit.Plan{"install": p, "remove": removal} {
			_, err := h.Admit().Commit(t.Context(), ada, plan, admit.Shown)
			if wantFault(t, what+": "+kind, err, fault.KindConflict); !errors.Is(err, admit.ErrMoved) {
				t.Errorf("%s: %s: %v", what, kind, err)
			}
		}
	}
}

// writePolicy makes a policy one of those of the home.
func writePolicy(h *host.Host, text string) error {
	dir := filepath.Join(h.Home(), "policies")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "own.cedar"), []byte(text), 0o600)
}

// What is planned after a policy was written is decided by it, in a host that was open
// before; and an edit of the file overtakes what was planned under it.
func TestPoliciesAreThoseOfNow(t *testing.T) {
	h, ada := opened(t), approval.NewHuman("ada")
	change := admit.Install{Package: skillDir(t, "fetcher", "1.0.0", anAddress)}
	const rule = `@id("closed") @reason("nothing comes in") forbid(principal, action == Action::"install", resource);`
	if err := writePolicy(h, rule); err != nil {
		t.Fatal(err)
	}
	_, err := h.Admit().Plan(t.Context(), ada, change)
	wantFault(t, "what a policy forbids", err, fault.KindDenied)
	if err := writePolicy(h, "// "+rule); err != nil {
		t.Fatal(err)
	}
	p := planOf(t, h, ada, change)
	if err := writePolicy(h, rule); err != nil {
		t.Fatal(err)
	}
	_, err = h.Admit().Commit(t.Context(), ada, p, admit.Shown)
	if wantFault(t, "an edited policy", err, fault.KindConflict); !errors.Is(err, admit.ErrMoved) {
		t.Error(err)
	}
	if err := writePolicy(h, "forbid("); err != nil {
		t.Fatal(err)
	}
	_, err = h.Admit().Plan(t.Context(), ada, change)
	wantFault(t, "a policy that cannot be read", err, fault.KindUsage)
	if all, err := h.Parts().Registry.List(t.Context()); err != nil || len(all) != 0 {
		t.Errorf("installed are %v, %v", all, err)
	}
}

// A plan is committed once, also when the first time failed.
func TestPlanTwice(t *testing.T) {
	h, ada := opened(t), approval.NewHuman("ada")
	change := admit.Install{Package: skillDir(t, "fetcher", "1.0.0", anAddress)}
	p, second := planOf(t, h, ada, change), planOf(t, h, ada, change)
	if r, err := h.Admit().Commit(t.Context(), ada, p, admit.Shown); err != nil || r.Skill == nil || len(r.Granted) != 1 {
		t.Fatalf("%+v, %v", r, err)
	}
	for what, again := range map[string]*admit.Plan{"the same plan": p, "another one for the same package": second} {
		_, err := h.Admit().Commit(t.Context(), ada, again, admit.Shown)
		if wantFault(t, what, err, fault.KindConflict); !errors.Is(err, admit.ErrMoved) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// What was revoked after it was planned is not installed, and not proposed.
func TestRevokedAfterThePlan(t *testing.T) {
	h, ada := opened(t), approval.NewHuman("ada")
	for _, consent := range []admit.Consent{admit.Shown, admit.NotAsked} {
		dir := skillDir(t, fmt.Sprint("fetcher", consent), "1.0.0", anAddress)
		p := planOf(t, h, ada, admit.Install{Package: dir})
		if _, err := h.Parts().Trust.Revoke(t.Context(), ada, trust.Entry{Content: p.Packages[0].Digest, Reason: "it steals"}); err != nil {
			t.Fatal(err)
		}
		_, err := h.Admit().Commit(t.Context(), ada, p, consent)
		wantFault(t, "revoked after it was planned", err, fault.KindVerification)
		_, err = h.Admit().Plan(t.Context(), ada, admit.Install{Package: dir})
		wantFault(t, "revoked before it is planned", err, fault.KindVerification)
	}
	if all, err := h.Parts().Approvals.Proposals(t.Context()); err != nil || len(all) != 0 {
		t.Errorf("proposed are %v, %v", all, err)
	}
}

func installed(ctx context.Context, h *host.Host, by approval.Human, path string) error {
	p, err := h.Admit().Plan(ctx, by, admit.Install{Package: path})
	if err == nil {
		_, err = h.Admit().Commit(ctx, by, p, admit.Shown)
	}
	return err
}

// Packages come in the order they were named in, whichever is ready first, and nothing
// hangs when somebody stops half-way.
func TestFetch(t *testing.T) {
	t.Parallel()
	h, ada := opened(t), approval.NewHuman("ada")
	var paths []string
	for i := range 9 {
		dir := filepath.Join(t.TempDir(), "missing")
		if i != 4 {
			dir = skillDir(t, fmt.Sprint("p", i), "1.0.0")
		}
		paths = append(paths, dir)
	}
	fetch := func(ctx context.Context) *admit.Batch {
		b, err := h.Admit().Fetch(ctx, ada, admit.Fetch{Names: paths})
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	b := fetch(t.Context())
	for i, path := range paths {
		a := b.Next(t.Context())
		if a == nil || a.Name != path || errors.Is(a.Err(), fs.ErrNotExist) != (i == 4) || i != 4 && a.Package().Manifest().Name != fmt.Sprint("p", i) {
			t.Errorf("number %d is %+v", i, a)
		}
	}
	if a := b.Next(t.Context()); a != nil {
		t.Errorf("%s came after the last one", a.Name)
	}
	b.Close()
	b = fetch(t.Context())
	b.Next(t.Context())
	b.Close()
	ctx, cancel := context.WithCancel(t.Context())
	b = fetch(ctx)
	b.Next(ctx)
	cancel()
	if a := b.Next(ctx); a != nil {
		t.Errorf("%s came after the end, %v", a.Name, a.Err())
	}
	b.Close()
}
