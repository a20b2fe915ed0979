package trust_test

import (
	"crypto/ecdsa"
	"crypto/rand"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/skillet-run/skillet/host/base/fault"

	"github.com/skillet-run/skillet/host/record/ledger"
	"github.com/skillet-run/skillet/host/record/trust"
	"github.com/skillet-run/skillet/manifests"
	"github.com/skillet-run/skillet/manifests/signature"
)

// messageBundle is what `cosign sign-blob` writes.
func messageBundle(t *testing.T, k *ecdsa.PrivateKey, d manifests.Digest) []byte {
	t.Helper()
	sum, err := hex.DecodeString(d.Hex())
	if err != nil {
		t.Fatal(err)
	}
	sig, err := ecdsa.SignASN1(rand.Reader, k, sum)
	if err != nil {
		t.Fatal(err)
	}
	b64 := base64.StdEncoding.EncodeToString
	return fmt.Appendf(nil, `{"mediaType":%q,"verificationMaterial":{"publicKey":{"hint":""}},"messageSignature":{"messageDigest":{"algorithm":"SHA2_256","digest":%q},"signature":%q}}`,
		signature.MediaType, b64(sum), b64(sig))
}

func document(t testing.TB, l trust.List) []byte {
	t.Helper()
	if l.Format == "" {
		l.Format = trust.ListFormat
	}
	if l.IssuedAt.IsZero() {
		l.IssuedAt = time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)
	}
	for i := range l.Entries {
		if l.Entries[i].RevokedAt.IsZero() {
			l.Entries[i].RevokedAt = l.IssuedAt
		}
		if l.Entries[i].Reason == "" {
			l.Entries[i].Reason = "it leaks"
		}
	}
	b, err := json.Marshal(l)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func signedBy(t *testing.T, n byte, doc []byte) []byte {
	t.Helper()
	b, err := signature.Sign(key(n), signature.Subject{Name: "revocations.json", Digest: manifests.DigestOf(doc)})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func (h home) importList(n byte, l trust.List) (trust.Import, error) {
	h.t.Helper()
	doc := document(h.t, l)
	return h.ImportList(h.t.Context(), ada, doc, signedBy(h.t, n, doc))
}

// decided is how many decisions there are.
func (h home) decided() int {
	h.t.Helper()
	n := 0
	err := h.ledger.History(h.t.Context(), 0, func(ledger.Record) error {
		n++
		return nil
	})
	if err != nil {
		h.t.Fatal(err)
	}
	return n
}

func entries(es ...trust.Entry) []trust.Entry { return es }

func TestImportList(t *testing.T) {
	h, one, two := newHome(t), pack(t, "1.0.0", 1), pack(t, "1.1.0", 1)
	h.accept(one)
	h.add(trust.Signer{Key: public(t, 7), Revoker: true})
	r, err := h.importList(7, trust.List{Sequence: 3, Entries: entries(trust.Entry{Content: one.Content}, trust.Entry{Artifact: manifests.DigestOf(nil)})})
	if err != nil || r.Before != 0 || len(r.Added) != 2 || len(r.Revoked) != 1 || r.Revoked[0].Package.Version != "1.0.0" {
		t.Fatalf("%+v, %v", r, err)
	}
	if v := h.assess(one); v.State != trust.Revoked {
		t.Errorf("%+v", v)
	}
	if v := h.assess(two); v.State != trust.Trusted {
		t.Errorf("%+v", v)
	}
	if r, err := h.importList(7, trust.List{Sequence: 3, Entries: entries(trust.Entry{Content: one.Content}, trust.Entry{Artifact: manifests.DigestOf(nil)})}); err != nil || len(r.Added)+len(r.Dropped) != 0 || r.Before != 3 {
		t.Errorf("the same again: %+v, %v", r, err)
	}
	decided := h.decided()
	if _, err := h.importList(7, trust.List{Sequence: 3, Entries: entries(trust.Entry{Content: one.Content}, trust.Entry{Artifact: manifests.DigestOf(nil)})}); err != nil || h.decided() != decided {
		t.Errorf("the same again is decided again: %v", err)
	}
	r, err = h.importList(7, trust.List{Sequence: 4, Entries: entries(trust.Entry{Content: two.Content})})
	if err != nil || len(r.Added) != 1 || len(r.Dropped) != 2 {
		t.Errorf("%+v, %v", r, err)
	}
	if v := h.assess(two); v.State != trust.Revoked {
		t.Errorf("%+v", v)
	}
}

func TestListsDoNotGoBack(t *testing.T) {
	h := newHome(t)
	h.add(trust.Signer{Key: public(t, 7), Revoker: true})
	h.add(trust.Signer{Key: public(t, 8), Revoker: true})
	if _, err := h.importList(7, trust.List{Sequence: 5}); err != nil {
		t.Fatal(err)
	}
	for name, l := range map[string]trust.List{
		"an older one":           {Sequence: 4},
		"another of that number": {Sequence: 5, Entries: entries(trust.Entry{Content: manifests.DigestOf(nil)})},
	} {
		if _, err := h.importList(7, l); !errors.Is(err, trust.ErrRollback) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := h.importList(8, trust.List{Sequence: 1}); err != nil {
		t.Errorf("another signer's first: %v", err)
	}
	// Removing the signer does not make it forgotten how far it was.
	if _, err := h.Remove(t.Context(), ada, string(public(t, 7).Signer())); err != nil {
		t.Fatal(err)
	}
	h.add(trust.Signer{Key: public(t, 7), Revoker: true})
	if _, err := h.importList(7, trust.List{Sequence: 4}); !errors.Is(err, trust.ErrRollback) {
		t.Errorf("an older one after removing: %v", err)
	}
}

func TestWhoMayRevoke(t *testing.T) {
	h, theirs := newHome(t), pack(t, "1.0.0", 1)
	h.accept(theirs)
	h.add(trust.Signer{Key: public(t, 2)})
	all := entries(trust.Entry{Content: theirs.Content}, trust.Entry{Signer: public(t, 1).Signer()})
	if _, err := h.importList(2, trust.List{Sequence: 1, Entries: all}); err != nil {
		t.Fatal(err)
	}
	if v := h.assess(theirs); v.State != trust.Trusted {
		t.Errorf("somebody else's list counts: %+v", v)
	}
	if _, err := h.importList(1, trust.List{Sequence: 1, Entries: entries(trust.Entry{Content: theirs.Content})}); err != nil {
		t.Fatal(err)
	}
	if v := h.assess(theirs); v.State != trust.Revoked {
		t.Errorf("its own signer's list does not count: %+v", v)
	}
	if v := h.assess(with(theirs, func(e *trust.Evidence) { e.Bundles = nil })); v.State != trust.Revoked {
		t.Errorf("without its signature it is not revoked any more: %+v", v)
	}
	h.add(trust.Signer{Signer: public(t, 2).Signer(), Revoker: true})
	if v := h.assess(pack(t, "1.1.0", 1)); v.State != trust.Revoked {
		t.Errorf("a revoker's list does not count: %+v", v)
	}
}

func TestImportListRefuses(t *testing.T) {
	h := newHome(t)
	h.add(trust.Signer{Key: public(t, 7), Revoker: true})
	h.add(trust.Signer{Key: public(t, 8), Revoker: true})
	if _, err := h.Revoke(t.Context(), ada, trust.Entry{Signer: public(t, 8).Signer(), Reason: "lost"}); err != nil {
		t.Fatal(err)
	}
	doc := document(t, trust.List{Sequence: 1})
	for name, c := range map[string]struct {
		doc, bundle []byte
		kind        fault.Kind
	}{
		"an unknown signer":      {doc, signedBy(t, 9, doc), fault.KindVerification},
		"a revoked signer":       {doc, signedBy(t, 8, doc), fault.KindVerification},
		"a signature of another": {doc, signedBy(t, 7, []byte("other")), fault.KindVerification},
		"no signature":           {doc, nil, fault.KindVerification},
		"no list":                {[]byte("{}"), signedBy(t, 7, []byte("{}")), fault.KindUsage},
	} {
		var e *fault.Error
		if _, err := h.ImportList(t.Context(), ada, c.doc, c.bundle); !errors.As(err, &e) || e.Kind != c.kind {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestRevokeAndTakeBack(t *testing.T) {
	h, ctx, p := newHome(t), t.Context(), pack(t, "1.0.0", 1)
	h.accept(p)
	e := trust.Entry{Signer: public(t, 1).Signer(), Reason: "lost the key"}
	hit, err := h.Revoke(ctx, ada, e)
	if err != nil || len(hit) != 1 || hit[0].Package.Content != p.Content || hit[0].Revocation.By != "human:ada" {
		t.Errorf("%+v, %v", hit, err)
	}
	r, ok, err := h.Revocation(ctx, trust.Target{Content: p.Content, Signers: []signature.Signer{public(t, 1).Signer()}})
	if err != nil || !ok || r.Reason != e.Reason {
		t.Errorf("%+v, %v, %v", r, ok, err)
	}
	if err := h.Unrevoke(ctx, ada, e); err != nil {
		t.Fatal(err)
	}
	if v := h.assess(p); v.State != trust.Trusted {
		t.Errorf("%+v", v)
	}
	var te *fault.Error
	if err := h.Unrevoke(ctx, ada, e); !errors.As(err, &te) || te.Kind != fault.KindNotFound {
		t.Errorf("%v", err)
	}
	if _, err := h.Revoke(ctx, ada, trust.Entry{Signer: e.Signer}); !errors.As(err, &te) || te.Kind != fault.KindUsage {
		t.Errorf("without a reason: %v", err)
	}
}

// listKey signs lists as a home's key does.
type listKey struct{ n byte }

func (k listKey) Identity() signature.Signer {
	p, err := signature.NewKey(key(k.n).Public())
	if err != nil {
		panic(err)
	}
	return p.Signer()
}

func (k listKey) Sign(subjects ...signature.Subject) ([]byte, error) {
	return signature.Sign(key(k.n), subjects...)
}

// What one home exports, another imports.
func TestExportList(t *testing.T) {
	publisher, reader, ctx, p := newHome(t), newHome(t), t.Context(), pack(t, "1.0.0", 1)
	publisher.own(1)
	reader.accept(p)
	for n, e := range []trust.Entry{{Content: p.Content, Name: "csv@1.0.0", Reason: "it leaks"}, {Artifact: p.Artifact, Reason: "it leaks"}} {
		if _, err := publisher.Revoke(ctx, ada, e); err != nil {
			t.Fatal(err)
		}
		doc, bundle, err := publisher.ExportList(ctx, ada, listKey{1}, "revocations.json")
		if err != nil {
			t.Fatal(err)
		}
		r, err := reader.ImportList(ctx, ada, doc, bundle)
		if err != nil || r.Sequence != uint64(n+1) || len(r.Added) != 1 || len(r.Revoked) != 1-n {
			t.Errorf("%+v, %v", r, err)
		}
	}
	if v := reader.assess(p); v.State != trust.Revoked {
		t.Errorf("%+v", v)
	}
	if rs, err := publisher.Revocations(ctx); err != nil || len(rs) != 2 {
		t.Errorf("%+v, %v", rs, err)
	}
}

func TestParseListRefuses(t *testing.T) {
	d := manifests.DigestOf(nil)
	good := string(document(t, trust.List{Sequence: 1, Entries: entries(trust.Entry{Content: d})}))
	if _, err := trust.ParseList([]byte(good)); err != nil {
		t.Fatal(err)
	}
	many := make([]trust.Entry, trust.MaxEntries+1)
	for i := range many {
		many[i] = trust.Entry{Content: manifests.DigestOf(fmt.Append(nil, i))}
	}
	for name, text := range map[string]string{
		"nothing":            "",
		"another format":     strings.Replace(good, "/v1", "/v2", 1),
		"no number":          strings.Replace(good, `"sequence":1`, `"sequence":0`, 1),
		"a negative number":  strings.Replace(good, `"sequence":1`, `"sequence":-1`, 1),
		"an unknown member":  strings.Replace(good, `"content"`, `"when":1,"content"`, 1),
		"a member twice":     strings.Replace(good, `"sequence":1`, `"sequence":1,"sequence":2`, 1),
		"another case":       strings.Replace(good, `"sequence"`, `"Sequence"`, 1),
		"no digest":          strings.Replace(good, d.Hex(), "00", 1),
		"two targets":        strings.Replace(good, `"content"`, `"artifact":"`+string(d)+`","content"`, 1),
		"no target":          strings.Replace(good, `"content":"`+string(d)+`",`, "", 1),
		"no reason":          strings.Replace(good, "it leaks", " ", 1),
		"two lines":          strings.Replace(good, "it leaks", `it\nleaks`, 1),
		"a longer reason":    strings.Replace(good, "it leaks", strings.Repeat("x", 501), 1),
		"no date":            strings.Replace(good, `"revoked_at":"2026-11-01T00:00:00Z"`, `"revoked_at":"0001-01-01T00:00:00Z"`, 1),
		"not a signer":       strings.Replace(good, `"content":"`+string(d)+`"`, `"signer":"x"`, 1),
		"something after it": good + "{}",
		"too many":           string(document(t, trust.List{Sequence: 1, Entries: many})),
		"twice":              string(document(t, trust.List{Sequence: 1, Entries: entries(trust.Entry{Content: d}, trust.Entry{Content: d})})),
		"too large":          good + strings.Repeat(" ", trust.MaxListBytes),
	} {
		if text == good {
			t.Errorf("%s: nothing was changed", name)
		}
		if _, err := trust.ParseList([]byte(text)); !errors.Is(err, trust.ErrList) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestKeyless(t *testing.T) {
	h, ctx := newHome(t), t.Context()
	root, err := os.ReadFile("../../../manifests/signature/keyless/testdata/public-good.json")
	if err != nil {
		t.Fatal(err)
	}
	blob := []byte("DO NOT MODIFY ME!\n\nthis is \"a.txt\", a sample input for sigstore-conformance's test suite.\n\nDO NOT MODIFY ME!\n")
	bundle, err := os.ReadFile("testdata/keyless.sigstore.json")
	if err != nil {
		t.Fatal(err)
	}
	e := trust.Evidence{Skill: "a", Version: "1.0.0", Source: "https://x.example.com", Artifact: manifests.DigestOf(blob), Bundles: [][]byte{bundle}}
	v := h.assess(e)
	if v.State != trust.UnknownKey || !strings.Contains(fmt.Sprint(v.Findings[0].Remedies), "[trust_root trusted_root.json]") {
		t.Errorf("without a root: %+v", v.Findings)
	}
	if err := h.AddRoot(ctx, ada, "public", root); err != nil {
		t.Fatal(err)
	}
	v = h.accept(e)
	if _, identity, ok := v.Signer.Keyless(); v.State != trust.FirstSeen || !ok || !strings.Contains(identity, "sigstore-conformance") {
		t.Errorf("%+v", v)
	}
	if v = h.assess(e); v.State != trust.Trusted {
		t.Errorf("%+v", v)
	}
	for name, doc := range map[string][]byte{"Public": root, "empty": nil, "large": make([]byte, 300<<10)} {
		var te *fault.Error
		if err := h.AddRoot(ctx, ada, name, doc); !errors.As(err, &te) || te.Kind != fault.KindUsage {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := h.Remove(ctx, ada, "public"); err != nil {
		t.Error(err)
	}
	if v = h.assess(e); v.State != trust.WasSigned {
		t.Errorf("after the root was removed: %+v", v)
	}
}

func FuzzParseList(f *testing.F) {
	f.Add(document(f, trust.List{Sequence: 1, Entries: entries(trust.Entry{Content: manifests.DigestOf(nil)})}))
	f.Add([]byte(`{"format":"skillet-revocations/v1","sequence":1,"issued_at":"2026-11-01T00:00:00Z","revocations":[]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		l, err := trust.ParseList(data)
		if err != nil {
			if !errors.Is(err, trust.ErrList) {
				t.Error(err)
			}
			return
		}
		b, err := json.Marshal(l)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := trust.ParseList(b); err != nil && len(b) <= trust.MaxListBytes {
			t.Errorf("%q is read, and what is written of it is not: %v", data, err)
		}
	})
}
