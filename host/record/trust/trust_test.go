package trust_test

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/skillet-run/skillet/host/base/fault"

	"github.com/skillet-run/skillet/host/base/store"
	"github.com/skillet-run/skillet/host/record/approval"
	"github.com/skillet-run/skillet/host/record/journal"
	"github.com/skillet-run/skillet/host/record/ledger"
	"github.com/skillet-run/skillet/host/record/trust"
	"github.com/skillet-run/skillet/manifests"
	"github.com/skillet-run/skillet/manifests/signature"
)

// A home is a Store over a real ledger.
type home struct {
	*trust.Store
	ledger *ledger.Ledger
	t      *testing.T
}

func newHome(t *testing.T) home {
	t.Helper()
	j, err := journal.Open(t.TempDir(), journal.Options{})
	if err != nil {
		t.Fatal(err)
	}
	s := store.Memory()
	t.Cleanup(func() { s.Close() })
	l := ledger.New(j, s.KV(), trust.Projection())
	return home{trust.New(l, s.KV()), l, t}
}

var ada = approval.NewHuman("ada")

func key(n byte) ed25519.PrivateKey {
	return ed25519.NewKeyFromSeed(bytes.Repeat([]byte{n}, ed25519.SeedSize))
}

func public(t *testing.T, n byte) signature.Key {
	t.Helper()
	k, err := signature.NewKey(key(n).Public())
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// registry is where packages come from in these tests.
const registry = "oci://registry.example.com/skills/csv"

// pack is a version of csv, signed with the keys.
func pack(t *testing.T, version string, keys ...byte) trust.Evidence {
	t.Helper()
	e := trust.Evidence{
		Skill: "csv", Version: version, Source: registry,
		Content: manifests.DigestOf([]byte("content " + version)), Artifact: manifests.DigestOf([]byte("artifact " + version)),
	}
	for _, k := range keys {
		b, err := signature.Sign(key(k), signature.Subject{Name: "csv", Digest: e.Artifact}, signature.PackageSubject("csv", version, e.Content))
		if err != nil {
			t.Fatal(err)
		}
		e.Bundles = append(e.Bundles, b)
	}
	return e
}

func (h home) assess(e trust.Evidence) trust.Verdict {
	h.t.Helper()
	v, err := h.Assess(h.t.Context(), e)
	if err != nil {
		h.t.Fatal(err)
	}
	return v
}

// accept records that a package was accepted, as an installation does.
func (h home) accept(e trust.Evidence, flags ...trust.Flag) trust.Verdict {
	h.t.Helper()
	v := h.assess(e)
	err := h.ledger.Commit(h.t.Context(), func(context.Context) (ledger.Decision, error) {
		changes, err := v.Changes(ada, flags...)
		return ledger.Decision{Kind: "install", Actor: ada.Actor(), Changes: changes}, err
	})
	if err != nil {
		h.t.Fatal(err)
	}
	return v
}

func (h home) add(s trust.Signer) {
	h.t.Helper()
	if s.Signer == "" {
		s.Signer = s.Key.Signer()
	}
	if _, err := h.Add(h.t.Context(), ada, s); err != nil {
		h.t.Fatal(err)
	}
}

// own makes a key known as the home's.
func (h home) own(n byte) {
	h.t.Helper()
	err := h.ledger.Commit(h.t.Context(), func(ctx context.Context) (ledger.Decision, error) {
		c, err := h.Own(ctx, public(h.t, n))
		return ledger.Decision{Kind: "key", Actor: ada.Actor(), Changes: []ledger.Change{c}}, err
	})
	if err != nil {
		h.t.Fatal(err)
	}
}

func with(e trust.Evidence, change func(*trust.Evidence)) trust.Evidence {
	change(&e)
	return e
}

func from(source string) func(*trust.Evidence) {
	return func(e *trust.Evidence) { e.Source = source }
}

// flipped is e with a byte of its signature changed.
func flipped(e *trust.Evidence) {
	b := bytes.Clone(e.Bundles[0])
	i := bytes.Index(b, []byte(`"sig":"`)) + 10
	b[i] ^= 1
	e.Bundles = [][]byte{b}
}

// cosigned is a signature that does not bring its key.
func cosigned(t *testing.T) func(*trust.Evidence) {
	return func(e *trust.Evidence) {
		k, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		if err != nil {
			t.Fatal(err)
		}
		e.Bundles = [][]byte{messageBundle(t, k, e.Artifact)}
	}
}

func TestStates(t *testing.T) {
	revoke := func(e trust.Entry) func(home) {
		return func(h home) {
			e.Reason = "it leaks"
			if _, err := h.Revoke(t.Context(), ada, e); err != nil {
				t.Fatal(err)
			}
		}
	}
	signedBefore := func(h home) { h.accept(pack(t, "1.0.0", 1)) }
	unsignedBefore := func(h home) { h.accept(pack(t, "1.0.0"), trust.AllowUnsigned) }
	reserve := func(n byte, names ...string) func(home) {
		return func(h home) { h.add(trust.Signer{Key: public(t, n), Label: "acme", Names: names}) }
	}
	next := func(keys ...byte) trust.Evidence { return pack(t, "1.1.0", keys...) }
	for _, c := range []struct {
		name   string
		before []func(home)
		now    trust.Evidence
		state  trust.State
		flags  []trust.Flag // that accept it; nil when none are needed
		final  bool         // no flag accepts it
		words  string
	}{
		{"first signer", nil, next(1), trust.FirstSeen, nil, false, "from now on"},
		{"the same signer", []func(home){signedBefore}, next(1), trust.Trusted, nil, false, "as before"},
		{"another signer", []func(home){signedBefore}, next(2), trust.ChangedSigner, []trust.Flag{trust.TrustSigner}, false, "and before by"},
		{"both signers", []func(home){signedBefore}, next(2, 1), trust.Trusted, nil, false, "as before"},
		{"another source", []func(home){signedBefore}, with(next(1), from("oci://elsewhere.example.com/csv")), trust.ChangedSource, []trust.Flag{trust.AcceptSource}, false, "before from oci://registry"},
		{"another signer and source", []func(home){signedBefore}, with(next(2), from("https://x.example.com/csv.skill")), trust.ChangedSigner, []trust.Flag{trust.TrustSigner, trust.AcceptSource}, false, "and before by"},
		{"unsigned", nil, next(), trust.Unsigned, []trust.Flag{trust.AllowUnsigned}, false, "not signed"},
		{"unsigned directory", nil, with(next(), func(e *trust.Evidence) { e.Directory, e.Artifact = true, "" }), trust.Unsigned, nil, false, "not signed"},
		{"unsigned again", []func(home){unsignedBefore}, next(), trust.Unsigned, []trust.Flag{trust.AllowUnsigned}, false, "not signed"},
		{"unsigned, then signed", []func(home){unsignedBefore}, next(1), trust.FirstSeen, nil, false, "from now on"},
		{"signed, then not", []func(home){signedBefore}, next(), trust.WasSigned, []trust.Flag{trust.AllowUnsigned}, false, "and before by"},
		{"signed, then a directory", []func(home){signedBefore}, with(next(), func(e *trust.Evidence) { e.Directory, e.Source = true, "/home/ada/csv" }), trust.WasSigned, []trust.Flag{trust.AllowUnsigned, trust.AcceptSource}, false, "and before by"},
		{"signed, accepted without, then by another", []func(home){signedBefore, func(h home) { h.accept(pack(t, "1.0.1"), trust.AllowUnsigned) }}, next(2), trust.ChangedSigner, []trust.Flag{trust.TrustSigner}, false, "and before by"},
		{"a signature that is no good", nil, with(next(1), flipped), trust.Bad, nil, true, "does not verify"},
		{"a signature of something else", nil, with(next(1), func(e *trust.Evidence) {
			e.Artifact, e.Content = manifests.DigestOf(nil), manifests.DigestOf([]byte("other"))
		}), trust.Bad, nil, true, "something else"},
		{"a signature of another version", nil, with(next(1), func(e *trust.Evidence) { e.Version = "1.2.0" }), trust.Bad, nil, true, "does not name csv@1.2.0"},
		{"a bad signature beside a good one", []func(home){signedBefore}, with(next(1), func(e *trust.Evidence) { e.Bundles = append([][]byte{[]byte("{}")}, e.Bundles...) }), trust.Trusted, nil, false, "as before"},
		{"a key nobody knows", nil, with(next(), cosigned(t)), trust.UnknownKey, []trust.Flag{trust.AllowUnsigned}, false, "key that is not known"},
		{"a key nobody knows, signed before", []func(home){signedBefore}, with(next(), cosigned(t)), trust.WasSigned, []trust.Flag{trust.AllowUnsigned}, false, "and before by"},
		{"reserved name", []func(home){reserve(1, "csv")}, next(1), trust.Trusted, nil, false, "reserved"},
		{"reserved beginning", []func(home){reserve(1, "cs*")}, next(1), trust.Trusted, nil, false, "reserved"},
		{"reserved for another", []func(home){reserve(1, "c*")}, next(2), trust.ChangedSigner, nil, true, "reserved for acme"},
		{"reserved, and not signed", []func(home){reserve(1, "*")}, next(), trust.WasSigned, nil, true, "reserved for acme"},
		{"reserved, and a directory", []func(home){reserve(1, "*")}, with(next(), func(e *trust.Evidence) { e.Directory = true }), trust.WasSigned, nil, true, "reserved for acme"},
		{"reserved for a new signer", []func(home){signedBefore, reserve(2, "csv")}, next(2), trust.Trusted, nil, false, "reserved"},
		{"for other names only", []func(home){reserve(1, "acme-*")}, next(1), trust.WrongName, nil, true, "may sign only acme-*"},
		{"own key", []func(home){func(h home) { h.own(1) }}, next(1), trust.Trusted, nil, false, "your own"},
		{"own key after another's", []func(home){signedBefore, func(h home) { h.own(2) }}, next(2), trust.ChangedSigner, []trust.Flag{trust.TrustSigner}, false, "your own"},
		{"own key after own key", []func(home){func(h home) { h.own(1) }, signedBefore, func(h home) { h.own(2) }}, next(2), trust.Trusted, nil, false, "your own"},
		{"revoked content", []func(home){revoke(trust.Entry{Content: next().Content})}, next(1), trust.Revoked, nil, true, "it leaks"},
		{"revoked artifact", []func(home){revoke(trust.Entry{Artifact: next().Artifact})}, next(), trust.Revoked, nil, true, "it leaks"},
		{"revoked signer", []func(home){signedBefore, revoke(trust.Entry{Signer: public(t, 1).Signer()})}, next(1), trust.Revoked, nil, true, "it leaks"},
		{"one of two signers revoked", []func(home){revoke(trust.Entry{Signer: public(t, 1).Signer()})}, next(1, 2), trust.FirstSeen, nil, false, "key " + public(t, 2).Signer().Short()[4:]},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			h := newHome(t)
			for _, do := range c.before {
				do(h)
			}
			v := h.assess(c.now)
			if v.State != c.state || !strings.Contains(fmt.Sprint(v.Findings), c.words) {
				t.Errorf("%+v", v.Findings)
			}
			err := v.Refusal()
			if (err != nil) != (c.final || c.flags != nil) {
				t.Errorf("without flags: %v", err)
			}
			checkRefusal(t, err, c.flags)
			if err := v.Refusal(c.flags...); (err != nil) != c.final {
				t.Errorf("with %v: %v", c.flags, err)
			}
			if err := v.Refusal(trust.TrustSigner, trust.AcceptSource, trust.AllowUnsigned); (err != nil) != c.final {
				t.Errorf("with all flags: %v", err)
			}
		})
	}
}

// checkRefusal demands that a refusal says which flags accept it, each of which
// is needed.
func checkRefusal(t *testing.T, err error, flags []trust.Flag) {
	t.Helper()
	var e *fault.Error
	if err != nil && (!errors.As(err, &e) || e.Kind != fault.KindVerification || e.Way().String() == "") {
		t.Errorf("%#v", err)
	}
	for _, f := range flags {
		if e == nil || !strings.Contains(e.Way().String(), strings.ReplaceAll(strings.TrimPrefix(string(f), "--"), "-", "_")) {
			t.Errorf("%v does not name %s", e, f)
		}
	}
}

func TestZeroVerdictAcceptsNothing(t *testing.T) {
	if err := (trust.Verdict{}).Refusal(trust.TrustSigner, trust.AcceptSource, trust.AllowUnsigned); err == nil {
		t.Error("a verdict nobody made is accepted")
	}
}

// Nothing but a person decides whom to trust.
func TestOnlyPeopleDecide(t *testing.T) {
	h, nobody, ctx := newHome(t), approval.Human{}, t.Context()
	v := h.assess(pack(t, "1.0.0", 1))
	_, changes := v.Changes(nobody)
	_, add := h.Add(ctx, nobody, trust.Signer{Signer: public(t, 1).Signer(), Key: public(t, 1)})
	_, remove := h.Remove(ctx, nobody, "csv")
	_, revoke := h.Revoke(ctx, nobody, trust.Entry{Signer: public(t, 1).Signer(), Reason: "x"})
	root, err := os.ReadFile("../../../manifests/signature/keyless/testdata/public-good.json")
	if err != nil {
		t.Fatal(err)
	}
	for name, err := range map[string]error{
		"changes": changes, "add": add, "remove": remove, "revoke": revoke,
		"root": h.AddRoot(ctx, nobody, "public", root), "unrevoke": h.Unrevoke(ctx, nobody, trust.Entry{Signer: public(t, 1).Signer()}),
	} {
		var e *fault.Error
		if !errors.As(err, &e) || e.Kind != fault.KindDenied {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestAcceptingRemembers(t *testing.T) {
	h, ctx := newHome(t), t.Context()
	h.accept(pack(t, "1.0.0", 1))
	h.accept(with(pack(t, "1.1.0", 2), from("https://x.example.com/csv")), trust.TrustSigner, trust.AcceptSource)
	skills, err := h.Skills(ctx)
	if err != nil || len(skills) != 1 || skills[0].Signer != public(t, 2).Signer() || skills[0].Source != "https://x.example.com/csv" || skills[0].By != "human:ada" {
		t.Errorf("%+v, %v", skills, err)
	}
	signers, err := h.Signers(ctx)
	if err != nil || len(signers) != 2 || slices.ContainsFunc(signers, func(s trust.Signer) bool { return s.Key.Signer() != s.Signer || s.At.IsZero() }) {
		t.Errorf("%+v, %v", signers, err)
	}
	p, err := h.Package(ctx, pack(t, "1.1.0").Content)
	if err != nil || p.State != trust.ChangedSigner || !slices.Equal(p.Accepted, []trust.Flag{trust.TrustSigner.Of(string(p.Signers[0])), trust.AcceptSource}) || p.By != "human:ada" {
		t.Errorf("%+v, %v", p, err)
	}
	if _, err := h.Package(ctx, manifests.DigestOf(nil)); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("%v", err)
	}
}

// What was recorded can be made again from the journal.
func TestRebuild(t *testing.T) {
	dir := t.TempDir()
	j, err := journal.Open(dir, journal.Options{})
	if err != nil {
		t.Fatal(err)
	}
	first, second := store.Memory(), store.Memory()
	defer first.Close()
	defer second.Close()
	l := ledger.New(j, first.KV(), trust.Projection())
	h := home{trust.New(l, first.KV()), l, t}
	h.add(trust.Signer{Key: public(t, 3), Names: []string{"acme-*"}, Revoker: true})
	h.accept(pack(t, "1.0.0", 1))
	if _, err := h.Revoke(t.Context(), ada, trust.Entry{Content: pack(t, "9").Content, Reason: "x"}); err != nil {
		t.Fatal(err)
	}
	again := ledger.New(j, second.KV(), trust.Projection())
	if _, err := again.Rebuild(t.Context()); err != nil {
		t.Fatal(err)
	}
	if a, b := dump(t, h.Store), dump(t, trust.New(again, second.KV())); a != b {
		t.Errorf("%s\n%s", a, b)
	}
}

func dump(t *testing.T, b *trust.Store) string {
	t.Helper()
	signers, err1 := b.Signers(t.Context())
	skills, err2 := b.Skills(t.Context())
	revocations, err3 := b.Revocations(t.Context())
	text, err4 := json.Marshal([]any{signers, skills, revocations})
	if err := errors.Join(err1, err2, err3, err4); err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestAdd(t *testing.T) {
	h, ctx := newHome(t), t.Context()
	k := public(t, 1)
	h.add(trust.Signer{Key: k, Label: "acme", Names: []string{"acme-*"}})
	h.add(trust.Signer{Signer: k.Signer(), Names: []string{"csv", "acme-*"}, Revoker: true})
	got, err := h.Signer(ctx, k.Signer())
	if err != nil || got.Label != "acme" || !slices.Equal(got.Names, []string{"acme-*", "csv"}) || !got.Revoker || got.Key.Signer() != k.Signer() {
		t.Errorf("%+v, %v", got, err)
	}
	keyless, err := signature.KeylessSigner("https://accounts.google.com", "ada@example.com")
	if err != nil {
		t.Fatal(err)
	}
	h.add(trust.Signer{Signer: keyless})
	for name, s := range map[string]trust.Signer{
		"no signer":      {Signer: "x"},
		"another's key":  {Signer: public(t, 2).Signer(), Key: k},
		"no key":         {Signer: public(t, 2).Signer()},
		"a bad name":     {Signer: k.Signer(), Names: []string{"A*"}},
		"a star inside":  {Signer: k.Signer(), Names: []string{"a*b"}},
		"a bad label":    {Signer: k.Signer(), Label: "a\nb"},
		"a longer label": {Signer: k.Signer(), Label: strings.Repeat("a", 200)},
	} {
		var e *fault.Error
		if _, err := h.Add(ctx, ada, s); !errors.As(err, &e) || e.Kind != fault.KindUsage {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, text := range []string{"acme", string(k.Signer()), string(k.Signer())[11:19]} {
		if s, err := h.Find(ctx, text); err != nil || s.Signer != k.Signer() {
			t.Errorf("find %s: %+v, %v", text, s, err)
		}
	}
	if _, err := h.Find(ctx, "nobody"); err == nil {
		t.Error("nobody was found")
	}
}

func TestRemove(t *testing.T) {
	h, ctx := newHome(t), t.Context()
	h.accept(pack(t, "1.0.0", 1))
	words, err := h.Remove(ctx, ada, string(public(t, 1).Signer()))
	if err != nil || len(words) != 2 {
		t.Errorf("%v, %v", words, err)
	}
	if v := h.assess(pack(t, "1.1.0", 2)); v.State != trust.FirstSeen {
		t.Errorf("%+v", v)
	}
	h.accept(pack(t, "1.0.0", 1))
	if _, err := h.Remove(ctx, ada, "csv"); err != nil {
		t.Error(err)
	}
	if v := h.assess(with(pack(t, "1.1.0", 2), from("oci://x.example.com/y"))); v.State != trust.FirstSeen {
		t.Errorf("%+v", v)
	}
	h.own(5)
	for text, kind := range map[string]fault.Kind{"nothing": fault.KindNotFound, string(public(t, 5).Signer()): fault.KindDenied} {
		var e *fault.Error
		if _, err := h.Remove(ctx, ada, text); !errors.As(err, &e) || e.Kind != kind {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// Only the signer that is named is accepted, by its whole fingerprint.
func TestOneSignerIsAccepted(t *testing.T) {
	h := newHome(t)
	h.accept(pack(t, "1.0.0", 1))
	v := h.assess(pack(t, "1.1.0", 2))
	who := string(v.Signer)
	hex := strings.TrimPrefix(who, "key:sha256:")
	for text, ok := range map[string]bool{
		who: true, "sha256:" + hex: true, hex: true, "": false, hex[:16]: false, "key:sha256:" + strings.Repeat("a", 64): false,
	} {
		err := v.Refusal(trust.TrustSigner.Of(text))
		if (err == nil) != ok || !ok && !strings.Contains(err.Error(), who) {
			t.Errorf("accepting %q: %v", text, err)
		}
	}
	f := v.Findings[0]
	if len(f.Signers) != 2 || !f.Signers[0].Since.IsZero() || !f.Signers[1].Before || !slices.Equal(f.Signers[1].Skills, []string{"csv"}) {
		t.Errorf("%+v", f.Signers)
	}
}
