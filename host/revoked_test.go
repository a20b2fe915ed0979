package host_test

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/skillet-run/skillet/host/base/fault"

	"github.com/skillet-run/skillet/host"
	"github.com/skillet-run/skillet/host/app/govern"
	"github.com/skillet-run/skillet/host/app/invoke"
	"github.com/skillet-run/skillet/host/engine/sandbox/wasmbin/wasmtest"
	"github.com/skillet-run/skillet/host/fetch/source"
	"github.com/skillet-run/skillet/host/install"
	"github.com/skillet-run/skillet/host/record/approval"
	"github.com/skillet-run/skillet/host/record/registry"
	"github.com/skillet-run/skillet/host/record/trust"
	"github.com/skillet-run/skillet/host/run/runner"
	"github.com/skillet-run/skillet/manifests"
	"github.com/skillet-run/skillet/manifests/bundle"
	"github.com/skillet-run/skillet/manifests/signature"
)

// aSigner has a key that is made of a byte.
func aSigner(t *testing.T, n byte) (ed25519.PrivateKey, signature.Key) {
	t.Helper()
	private := ed25519.NewKeyFromSeed(bytes.Repeat([]byte{n}, ed25519.SeedSize))
	k, err := signature.NewKey(private.Public())
	if err != nil {
		t.Fatal(err)
	}
	return private, k
}

// revocationList is a list, signed by each of the signers.
func revocationList(t *testing.T, sequence uint64, signers ...byte) (document []byte, bundles [][]byte) {
	t.Helper()
	at := time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)
	document, err := json.Marshal(trust.List{Format: trust.ListFormat, Sequence: sequence, IssuedAt: at, Entries: []trust.Entry{
		{Content: manifests.DigestOf([]byte{byte(sequence)}), Reason: "it leaks", RevokedAt: at},
	}})
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range signers {
		private, _ := aSigner(t, n)
		b, err := signature.Sign(private, signature.Subject{Name: "revocations.json", Digest: manifests.DigestOf(document)})
		if err != nil {
			t.Fatal(err)
		}
		bundles = append(bundles, b)
	}
	return document, bundles
}

// knows opens a home in which signers may revoke.
func knows(t *testing.T, by approval.Human, signers ...byte) *host.Host {
	t.Helper()
	h := open(t, t.TempDir(), &bytes.Buffer{})
	t.Cleanup(func() {
		if err := h.Close(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
	for _, n := range signers {
		_, k := aSigner(t, n)
		if _, err := h.Parts().Trust.Add(t.Context(), by, trust.Signer{Signer: k.Signer(), Key: k, Revoker: true}); err != nil {
			t.Fatal(err)
		}
	}
	return h
}

// A list counts for every known signer, whoever else attached a signature.
func TestImportRevocationsOfSeveral(t *testing.T) {
	t.Parallel()
	by := approval.NewHuman("ada")
	h := knows(t, by, 1, 2)
	take := func(document []byte, signatures [][]byte) (govern.ImportedList, error) {
		return h.Govern().Signers.ImportRevocations(t.Context(), by, govern.ImportList{Content: document, Signatures: signatures})
	}
	document, bundles := revocationList(t, 3, 9, 1, 2, 1)
	got, err := take(document, append([][]byte{[]byte("junk")}, bundles...))
	if err != nil || len(got.Also) != 1 || got.Sequence != 3 || got.Signer == got.Also[0].Signer {
		t.Fatalf("%+v, %v", got, err)
	}
	document, bundles = revocationList(t, 4, 2)
	if _, err := take(document, bundles); err != nil {
		t.Fatal(err)
	}
	// Older for one, the same for the other: it is said, and takes nothing back.
	document, bundles = revocationList(t, 3, 1, 2)
	got, err = take(document, bundles)
	if !errors.Is(err, trust.ErrRollback) || len(got.Imports()) != 1 {
		t.Errorf("%+v, %v", got, err)
	}
	_, two := aSigner(t, 2)
	if numbers, err := h.Parts().Trust.Lists(t.Context()); err != nil || numbers[two.Signer()] != 4 {
		t.Errorf("%v, %v", numbers, err)
	}
	document, strangers := revocationList(t, 5, 9)
	for name, signatures := range map[string][][]byte{"none": nil, "junk": {[]byte("junk")}, "a stranger's": strangers} {
		if _, err := take(document, signatures); fault.AsError(err) == nil || fault.AsError(err).Kind != fault.KindVerification {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// What one home publishes, another takes over, and only from where it is.
func TestPublishRevocations(t *testing.T) {
	t.Parallel()
	ctx, by := t.Context(), approval.NewHuman("ada")
	one, two := knows(t, by), knows(t, by)
	key, _, err := one.Govern().Keys.Ensure(ctx, by)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := one.Parts().Trust.Revoke(ctx, by, trust.Entry{Content: manifests.DigestOf(nil), Reason: "it leaks"}); err != nil {
		t.Fatal(err)
	}
	to := "oci-layout:" + filepath.Join(t.TempDir(), "revoked")
	push := func(to string) (govern.PublishedList, error) {
		return one.Govern().Signers.PushRevocations(ctx, by, govern.PushList{To: to})
	}
	published, err := push(to)
	if err != nil || published.Sequence != 1 || published.Signer != key.Identity() || published.NewKey {
		t.Fatalf("%+v, %v", published, err)
	}
	take := func() (govern.ImportedList, error) {
		return two.Govern().Signers.ImportRevocations(ctx, by, govern.ImportList{Source: to})
	}
	if _, err := take(); fault.AsError(err) == nil || fault.AsError(err).Kind != fault.KindVerification {
		t.Errorf("a stranger's list: %v", err)
	}
	known, err := one.Parts().Trust.Signer(ctx, key.Identity())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := two.Parts().Trust.Add(ctx, by, trust.Signer{Signer: key.Identity(), Key: known.Key, Revoker: true}); err != nil {
		t.Fatal(err)
	}
	got, err := take()
	if err != nil || len(got.Imports()) != 1 || len(got.Added) != 1 || got.Source != published.Source {
		t.Errorf("%+v, %v", got, err)
	}
	if r, ok, err := two.Parts().Trust.Revocation(ctx, trust.Target{Content: manifests.DigestOf(nil)}); err != nil || !ok || r.Reason != "it leaks" {
		t.Errorf("%+v, %v, %v", r, ok, err)
	}
	if _, err := push(to + ":7"); !errors.Is(err, source.ErrRef) {
		t.Error(err)
	}
}

// What is revoked is refused whoever plans it, whatever the request leaves out, and
// is not run from a path, whoever makes the call.
func TestRevokedIsRefusedWhoeverAsks(t *testing.T) {
	var log bytes.Buffer
	h, by := open(t, t.TempDir(), &log), approval.NewHuman("ada")
	defer h.Close(t.Context())
	m := wasmtest.New()
	m.ExportFunc("run", m.Func(wasmtest.Sig("", "i32"), "", wasmtest.I32Const(0)))
	files := map[string][]byte{
		"skill.json": []byte(`{"name":"worker","version":"1.0.0","description":"works","type":"code_inline","command":"main.wasm","tools":[{"name":"run","description":"runs"}]}`),
		"main.wasm":  m.Bytes(),
	}
	p, err := bundle.FromFiles(files)
	if err != nil {
		t.Fatal(err)
	}
	requests := map[string]install.Request{
		"the proposal of an agent": {Package: p, Source: "task:t1", Origin: registry.OriginGenerated, ProposedBy: "agent:general"},
		"another way in": {
			Package: p, Source: "oci://registry.example/skills/worker", SourceKind: "registry", Origin: registry.OriginUser, ProposedBy: "agent:general",
			Accepted: []trust.Flag{trust.AllowUnsigned},
		},
		"a person": {Package: p, Source: "/src", Directory: true, Origin: registry.OriginUser, Person: by, ProposedBy: by.Actor()},
	}
	waits, err := h.Parts().Installer.Plan(t.Context(), requests["the proposal of an agent"])
	if err != nil {
		t.Fatal(err)
	}
	out, err := h.Parts().Installer.Submit(t.Context(), waits)
	if !errors.Is(err, install.ErrWaits) {
		t.Fatal(err)
	}
	plan, err := h.Parts().Installer.Plan(t.Context(), requests["another way in"])
	if err != nil {
		t.Fatal(err)
	}
	if out, err := h.Parts().Installer.Submit(t.Context(), plan); !errors.Is(err, install.ErrWaits) {
		t.Errorf("without a person it is installed: %+v, %v", out.Skill, err)
	}
	if _, err := h.Parts().Installer.Plan(t.Context(), install.Request{Package: p, Source: "/src", Origin: registry.OriginUser, Person: by}); fault.AsError(err) == nil || fault.AsError(err).Kind != fault.KindVerification {
		t.Errorf("without a signature, and nobody accepted that: %v", err)
	}
	if _, err := h.Parts().Trust.Revoke(t.Context(), by, trust.Entry{Content: p.Digest(), Reason: "it steals"}); err != nil {
		t.Fatal(err)
	}
	refused := func(what string, err error) {
		t.Helper()
		if e := fault.AsError(err); e == nil || e.Kind != fault.KindVerification || !strings.Contains(e.Message, "it steals") {
			t.Errorf("%s: %v", what, err)
		}
	}
	for what, req := range requests {
		_, err := h.Parts().Installer.Plan(t.Context(), req)
		refused(what, err)
	}
	_, err = h.Parts().Installer.Approve(t.Context(), by, out.Proposal.ID, install.Consent{})
	refused("a proposal of before", err)
	_, err = h.Parts().Installer.Accept(t.Context(), by, plan)
	refused("a plan of before", err)
	dir := t.TempDir()
	for name, b := range files {
		if err := os.WriteFile(filepath.Join(dir, name), b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	_, err = h.Invoke().Find(t.Context(), ada, invoke.Address{Path: dir}, nil)
	refused("a path", err)
	_, err = h.Invoke().Local(t.Context(), ada, "worker", "", p)
	refused("a package just built", err)
	for _, origin := range []registry.Origin{registry.OriginPath, registry.OriginUser} {
		r := h.Parts().Runner.Run(t.Context(), runner.Call{Target: runner.Target{Label: "worker", Package: p, Origin: origin}, Caller: "agent:general"})
		if r.OK {
			t.Errorf("%s: it runs", origin)
		} else {
			refused("a call", r.Error)
		}
	}
}
