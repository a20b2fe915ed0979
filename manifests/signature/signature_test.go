package signature_test

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/skillet-run/skillet/manifests"
	"github.com/skillet-run/skillet/manifests/signature"
)

var artifact = []byte("the bytes of a package")

// seeded is a key that is the same in each run.
func seeded(n byte) ed25519.PrivateKey {
	return ed25519.NewKeyFromSeed(bytes.Repeat([]byte{n}, ed25519.SeedSize))
}

func publicKey(t testing.TB, private crypto.Signer) signature.Key {
	t.Helper()
	k, err := signature.NewKey(private.Public())
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func subjects() []signature.Subject {
	return []signature.Subject{
		{Name: "csv-1.2.0.skill", Digest: manifests.DigestOf(artifact)},
		signature.PackageSubject("csv", "1.2.0", manifests.DigestOf([]byte("index"))),
	}
}

func signed(t testing.TB, private crypto.Signer) []byte {
	t.Helper()
	b, err := signature.Sign(private, subjects()...)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// keys are one key of each kind that signs.
func keys(t testing.TB) map[string]crypto.Signer {
	t.Helper()
	all := map[string]crypto.Signer{"ed25519": seeded(1)}
	for name, c := range map[string]elliptic.Curve{"ecdsa-p256": elliptic.P256(), "ecdsa-p384": elliptic.P384(), "ecdsa-p521": elliptic.P521()} {
		k, err := ecdsa.GenerateKey(c, rand.Reader)
		if err != nil {
			t.Fatal(err)
		}
		all[name] = k
	}
	k, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	all["rsa-2048"] = k
	return all
}

func TestSignAndVerify(t *testing.T) {
	for name, private := range keys(t) {
		key := publicKey(t, private)
		if key.Algorithm() != name {
			t.Errorf("%s is called %s", name, key.Algorithm())
		}
		bundle := signed(t, private)
		for _, ring := range []signature.Keyring{signature.NewKeyring(key), {}, signature.NewKeyring(publicKey(t, seeded(9)))} {
			_, known := ring.Find(key.Signer())
			s, err := signature.Verify(bundle, manifests.DigestOf(artifact), ring)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if s.Signer != key.Signer() || s.Known != known || len(s.Subjects) != 2 || s.Key.Signer() != key.Signer() {
				t.Errorf("%s: %+v", name, s)
			}
		}
	}
}

func TestEd25519SignsTheSameEachTime(t *testing.T) {
	if a, b := signed(t, seeded(1)), signed(t, seeded(1)); !bytes.Equal(a, b) {
		t.Errorf("%s\n%s", a, b)
	}
}

func TestVerifyRefuses(t *testing.T) {
	good, other := signed(t, seeded(1)), manifests.DigestOf([]byte("other"))
	digest := manifests.DigestOf(artifact)
	rewrite := func(old, new string) []byte {
		if !bytes.Contains(good, []byte(old)) {
			t.Fatalf("%q is not in the bundle", old)
		}
		return bytes.Replace(good, []byte(old), []byte(new), 1)
	}
	for _, c := range []struct {
		name   string
		bundle []byte
		digest manifests.Digest
		want   error
	}{
		{"another artifact", good, other, signature.ErrMismatch},
		{"nothing", nil, digest, signature.ErrMalformed},
		{"no JSON", []byte("x"), digest, signature.ErrMalformed},
		{"empty object", []byte("{}"), digest, signature.ErrUnsupported},
		{"too large", append(bytes.Clone(good), bytes.Repeat([]byte(" "), signature.MaxBytes)...), digest, signature.ErrMalformed},
		{"something after it", append(bytes.Clone(good), '{', '}'), digest, signature.ErrMalformed},
		{"another version", rewrite("v0.3", "v0.9"), digest, signature.ErrUnsupported},
		{"an unknown member", rewrite(`{"mediaType"`, `{"more":1,"mediaType"`), digest, signature.ErrMalformed},
		{"a member twice", rewrite(`{"mediaType"`, `{"mediaType":"x","mediaType"`), digest, signature.ErrMalformed},
		{"no key", rewrite(`"publicKey":{`, `"certificate":{},"publicKey":{`), digest, signature.ErrMalformed},
		{"two signatures", rewrite(`"signatures":[`, `"signatures":[{"sig":"AAAA"},`), digest, signature.ErrMalformed},
		{"no signature", rewrite(`"signatures":[{`, `"signatures":[],"x":[{`), digest, signature.ErrMalformed},
		{"another payload type", rewrite(signature.PayloadType, "text/plain"), digest, signature.ErrUnsupported},
	} {
		if _, err := signature.Verify(c.bundle, c.digest, signature.Keyring{}); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", c.name, err, c.want)
		}
	}
}

// envelope is the part of a bundle that the tests below make themselves.
type envelope struct {
	MediaType            string         `json:"mediaType"`
	VerificationMaterial map[string]any `json:"verificationMaterial"`
	DSSE                 map[string]any `json:"dsseEnvelope,omitempty"`
	Message              map[string]any `json:"messageSignature,omitempty"`
}

func bundleOf(t testing.TB, key signature.Key, set func(*envelope)) []byte {
	t.Helper()
	e := envelope{MediaType: signature.MediaType, VerificationMaterial: map[string]any{"publicKey": map[string]any{"hint": ""}}}
	if !key.IsZero() {
		e.VerificationMaterial["publicKey"] = map[string]any{"hint": hint(key)}
	}
	set(&e)
	b, err := json.Marshal(e)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func hint(k signature.Key) string {
	sum, err := hex.DecodeString(strings.TrimPrefix(string(k.Signer()), "key:sha256:"))
	if err != nil {
		panic(err)
	}
	return base64.StdEncoding.EncodeToString(sum)
}

// statement is a bundle of an envelope that private signed.
func statement(t testing.TB, private ed25519.PrivateKey, payload string) []byte {
	t.Helper()
	pae := fmt.Appendf(nil, "DSSEv1 %d %s %d %s", len(signature.PayloadType), signature.PayloadType, len(payload), payload)
	return bundleOf(t, publicKey(t, private), func(e *envelope) {
		e.DSSE = map[string]any{
			"payload": []byte(payload), "payloadType": signature.PayloadType,
			"signatures": []any{map[string]any{"sig": ed25519.Sign(private, pae), "keyid": "ours"}},
		}
	})
}

func TestStatements(t *testing.T) {
	digest := manifests.DigestOf(artifact)
	ring := signature.NewKeyring(publicKey(t, seeded(1)))
	subject := `"subject":[{"name":"x","digest":{"sha256":"` + digest.Hex() + `"}}]`
	const types = `"_type":"https://in-toto.io/Statement/v1","predicateType":"https://sigstore.dev/cosign/sign/v1"`
	for _, c := range []struct {
		name, payload string
		want          error
	}{
		{"good", `{` + types + `,` + subject + `,"predicate":{}}`, nil},
		{"no predicate", `{` + types + `,` + subject + `}`, nil},
		{"other digests beside it", `{` + types + `,` + strings.Replace(subject, `"sha256"`, `"sha512":"00","sha256"`, 1) + `}`, nil},
		{"a scan", strings.Replace(`{`+types+`,`+subject+`}`, "cosign/sign/v1", "vuln/v1", 1), signature.ErrUnsupported},
		{"another statement", strings.Replace(`{`+types+`,`+subject+`}`, "Statement/v1", "Statement/v0.1", 1), signature.ErrUnsupported},
		{"no subject", `{` + types + `,"subject":[]}`, signature.ErrMalformed},
		{"no SHA-256", `{` + types + `,"subject":[{"name":"x","digest":{"sha1":"00"}}]}`, signature.ErrMalformed},
		{"half a digest", `{` + types + `,"subject":[{"digest":{"sha256":"00"}}]}`, signature.ErrMalformed},
		{"capital digits", strings.Replace(`{`+types+`,`+subject+`}`, digest.Hex(), strings.ToUpper(digest.Hex()), 1), signature.ErrMalformed},
		{"too many subjects", `{` + types + `,"subject":[` + strings.Repeat(`{"digest":{"sha256":"`+digest.Hex()+`"}},`, signature.MaxSubjects) + `{}]}`, signature.ErrMalformed},
		{"two lists of subjects", `{` + types + `,` + subject + `,` + subject + `}`, signature.ErrMalformed},
		{"an unknown member", `{` + types + `,` + subject + `,"more":1}`, signature.ErrMalformed},
		{"not JSON", `hello`, signature.ErrMalformed},
	} {
		_, err := signature.Verify(statement(t, seeded(1), c.payload), digest, ring)
		if !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", c.name, err, c.want)
		}
	}
}

func TestPackageNames(t *testing.T) {
	content := manifests.DigestOf([]byte("index"))
	s, err := signature.Verify(signed(t, seeded(1)), manifests.DigestOf(artifact), signature.Keyring{})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.CheckPackage("csv", "1.2.0", content); err != nil {
		t.Error(err)
	}
	for _, c := range [][2]string{{"csv", "1.3.0"}, {"tsv", "1.2.0"}} {
		if err := s.CheckPackage(c[0], c[1], content); !errors.Is(err, signature.ErrMismatch) {
			t.Errorf("%v: %v", c, err)
		}
	}
	if err := s.CheckPackage("csv", "1.2.0", manifests.DigestOf(nil)); !errors.Is(err, signature.ErrMismatch) {
		t.Errorf("other content: %v", err)
	}
	s.Subjects = []signature.Subject{{Name: "registry.example.com/ada@home/csv:1", Digest: content}}
	if err := s.CheckPackage("anything", "1", content); err != nil {
		t.Errorf("a signature that names no package: %v", err)
	}
}

// A signature that claims to be of a known key is never accepted with another.
func TestKnownKeyDecides(t *testing.T) {
	forged := bytes.Replace(signed(t, seeded(2)), []byte(hint(publicKey(t, seeded(2)))), []byte(hint(publicKey(t, seeded(1)))), 1)
	ring := signature.NewKeyring(publicKey(t, seeded(1)))
	if _, err := signature.Verify(forged, manifests.DigestOf(artifact), ring); !errors.Is(err, signature.ErrInvalid) {
		t.Errorf("%v, want ErrInvalid", err)
	}
}

func TestUnknownKey(t *testing.T) {
	subject := `"subject":[{"digest":{"sha256":"` + manifests.DigestOf(artifact).Hex() + `"}}]`
	b := statement(t, seeded(1), `{"_type":"https://in-toto.io/Statement/v1","predicateType":"https://sigstore.dev/cosign/sign/v1",`+subject+`}`)
	_, err := signature.Verify(b, manifests.DigestOf(artifact), signature.NewKeyring(publicKey(t, seeded(2))))
	var unknown *signature.UnknownKeyError
	if !errors.As(err, &unknown) || !errors.Is(err, signature.ErrUnknownKey) || !strings.Contains(err.Error(), string(publicKey(t, seeded(1)).Signer())) {
		t.Errorf("%v", err)
	}
}

// messageBundle is what `cosign sign-blob` writes.
func messageBundle(t testing.TB, key signature.Key, algorithm string, digest, sig []byte) []byte {
	t.Helper()
	return bundleOf(t, key, func(e *envelope) {
		e.Message = map[string]any{"messageDigest": map[string]any{"algorithm": algorithm, "digest": digest}, "signature": sig}
	})
}

func TestMessageSignatures(t *testing.T) {
	all := keys(t)
	sign := func(name string, message []byte, o crypto.SignerOpts) []byte {
		t.Helper()
		if o.HashFunc() != 0 {
			h := o.HashFunc().New()
			h.Write(message)
			message = h.Sum(nil)
		}
		sig, err := all[name].Sign(rand.Reader, message, o)
		if err != nil {
			t.Fatal(err)
		}
		return sig
	}
	sum := func(h crypto.Hash) []byte { w := h.New(); w.Write(artifact); return w.Sum(nil) }
	for _, c := range []struct {
		key, algorithm string
		hash           crypto.Hash
		options        crypto.SignerOpts
		byDigest       error // of verifying by the digest alone
	}{
		{"ecdsa-p256", "SHA2_256", crypto.SHA256, crypto.SHA256, nil},
		{"ecdsa-p384", "SHA2_384", crypto.SHA384, crypto.SHA384, signature.ErrNeedsBytes},
		{"ecdsa-p384", "SHA2_256", crypto.SHA256, crypto.SHA256, nil},
		{"ecdsa-p521", "SHA2_512", crypto.SHA512, crypto.SHA512, signature.ErrNeedsBytes},
		{"rsa-2048", "SHA2_256", crypto.SHA256, crypto.SHA256, nil},
		{"rsa-2048", "SHA2_256", crypto.SHA256, &rsa.PSSOptions{SaltLength: rsa.PSSSaltLengthEqualsHash, Hash: crypto.SHA256}, nil},
		{"ed25519", "SHA2_256", crypto.SHA256, crypto.Hash(0), signature.ErrNeedsBytes},
		{"ed25519", "SHA2_512", crypto.SHA512, &ed25519.Options{Hash: crypto.SHA512}, signature.ErrNeedsBytes},
	} {
		key := publicKey(t, all[c.key])
		ring := signature.NewKeyring(publicKey(t, seeded(9)), key)
		b := messageBundle(t, key, c.algorithm, sum(c.hash), sign(c.key, artifact, c.options))
		if s, err := signature.VerifyBlob(b, artifact, ring); err != nil || !s.Known || s.Signer != key.Signer() {
			t.Errorf("%s %s: %+v, %v", c.key, c.algorithm, s, err)
		}
		if _, err := signature.Verify(b, manifests.DigestOf(artifact), ring); !errors.Is(err, c.byDigest) {
			t.Errorf("%s %s by digest: %v, want %v", c.key, c.algorithm, err, c.byDigest)
		}
		if _, err := signature.VerifyBlob(b, []byte("other"), ring); !errors.Is(err, signature.ErrMismatch) {
			t.Errorf("%s %s of other bytes: %v", c.key, c.algorithm, err)
		}
		lying := messageBundle(t, key, c.algorithm, sum(c.hash), sign(c.key, []byte("other"), c.options))
		if _, err := signature.VerifyBlob(lying, artifact, ring); !errors.Is(err, signature.ErrInvalid) {
			t.Errorf("%s %s, whose digest lies: %v", c.key, c.algorithm, err)
		}
		if _, err := signature.VerifyBlob(b, artifact, signature.Keyring{}); !errors.Is(err, signature.ErrUnknownKey) {
			t.Errorf("%s %s without the key: %v", c.key, c.algorithm, err)
		}
	}
	weak := messageBundle(t, signature.Key{}, "SHA3_256", sum(crypto.SHA256), []byte("x"))
	if _, err := signature.VerifyBlob(weak, artifact, signature.NewKeyring(publicKey(t, seeded(1)))); !errors.Is(err, signature.ErrUnknownKey) {
		t.Errorf("another digest: %v", err)
	}
}

func TestKeylessIsSaidToBe(t *testing.T) {
	b := bytes.Replace(signed(t, seeded(1)), []byte(`"publicKey":{"hint":"`+hint(publicKey(t, seeded(1)))+`"}`), []byte(`"certificate":{"rawBytes":"AAAA"}`), 1)
	if _, err := signature.Verify(b, manifests.DigestOf(artifact), signature.Keyring{}); !errors.Is(err, signature.ErrKeyless) {
		t.Errorf("%v", err)
	}
}

// Whatever bit of a bundle or of the artifact is flipped, the signature is
// refused, or it still says the same about the same bytes.
func TestEveryFlippedBit(t *testing.T) {
	good, key := signed(t, seeded(1)), publicKey(t, seeded(1))
	ring := signature.NewKeyring(key)
	want, err := signature.VerifyBlob(good, artifact, ring)
	if err != nil {
		t.Fatal(err)
	}
	for i := range artifact {
		bad := bytes.Clone(artifact)
		bad[i] ^= 1
		if _, err := signature.VerifyBlob(good, bad, ring); !errors.Is(err, signature.ErrMismatch) {
			t.Fatalf("artifact byte %d: %v", i, err)
		}
	}
	accepted := 0
	for i := range good {
		for bit := range 8 {
			bad := bytes.Clone(good)
			bad[i] ^= 1 << bit
			s, err := signature.VerifyBlob(bad, artifact, ring)
			if err != nil {
				continue
			}
			accepted++
			if fmt.Sprint(s) != fmt.Sprint(want) {
				t.Fatalf("byte %d bit %d: another signature: %+v", i, bit, s)
			}
		}
	}
	// Only the hint, which proves nothing, and the end of a Base64 text may
	// change.
	if accepted > 8*len(hint(key))+8 {
		t.Errorf("%d of %d changed bundles are accepted", accepted, 8*len(good))
	}
}

func TestKeys(t *testing.T) {
	for name, private := range keys(t) {
		k := publicKey(t, private)
		back, err := signature.ParseKey(k.PEM())
		if err != nil || back.Signer() != k.Signer() || back.Algorithm() != name {
			t.Errorf("%s: %v", name, err)
		}
	}
	good := string(publicKey(t, seeded(1)).PEM())
	p224, err := ecdsa.GenerateKey(elliptic.P224(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := signature.NewKey(p224.Public()); !errors.Is(err, signature.ErrKey) {
		t.Errorf("P-224: %v", err)
	}
	for _, public := range []crypto.PublicKey{nil, "x", ed25519.PublicKey{1}} {
		if _, err := signature.NewKey(public); !errors.Is(err, signature.ErrKey) {
			t.Errorf("%v: %v", public, err)
		}
	}
	for name, text := range map[string]string{
		"empty": "", "no PEM": "hello", "two": good + good, "a tail": good + "x",
		"private":  strings.ReplaceAll(good, "PUBLIC KEY", "PRIVATE KEY"),
		"damaged":  strings.Replace(good, "MCo", "MCa", 1),
		"too long": good + strings.Repeat("\n", 10_000),
	} {
		if _, err := signature.ParseKey([]byte(text)); !errors.Is(err, signature.ErrKey) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestKeyText(t *testing.T) {
	type record struct{ Key signature.Key }
	for _, want := range []record{{}, {publicKey(t, seeded(1))}} {
		b, err := json.Marshal(want)
		if err != nil {
			t.Fatal(err)
		}
		var got record
		if err := json.Unmarshal(b, &got); err != nil || got.Key.IsZero() != want.Key.IsZero() || got.Key.Signer() != want.Key.Signer() {
			t.Errorf("%s: %+v, %v", b, got, err)
		}
	}
}

func TestSigners(t *testing.T) {
	key := publicKey(t, seeded(1)).Signer()
	for _, c := range []struct{ text, issuer, identity, short string }{
		{string(key), "", "", "key " + string(key)[11:23]},
		{"keyless:accounts.google.com/ada@example.com", "https://accounts.google.com", "ada@example.com", "ada@example.com (accounts.google.com)"},
		{"keyless:oauth2.sigstore.dev%2Fauth/https://github.com/a/b@refs/heads/main", "https://oauth2.sigstore.dev/auth", "https://github.com/a/b@refs/heads/main", "https://github.com/a/b@refs/heads/main (oauth2.sigstore.dev/auth)"},
	} {
		s, err := signature.ParseSigner(c.text)
		if err != nil {
			t.Error(err)
			continue
		}
		issuer, identity, keyless := s.Keyless()
		if keyless != (c.issuer != "") || keyless && (issuer != c.issuer || identity != c.identity) || s.Short() != c.short {
			t.Errorf("%s: %q %q %q", c.text, issuer, identity, s.Short())
		}
	}
	for _, text := range []string{
		"", "key:", "key:sha256:00", strings.ToUpper(string(key)), "keyless:", "keyless:x", "keyless:/y", "keyless:x/", "keyless:x/a b",
		"keyless:x/a\x00", "keyless:x%2f/a", "keyless:u@x/a", "other:x", "keyless:x/" + strings.Repeat("a", 4000),
	} {
		if s, err := signature.ParseSigner(text); !errors.Is(err, signature.ErrSigner) {
			t.Errorf("%q is %q: %v", text, s, err)
		}
	}
	if _, err := signature.KeylessSigner("http://issuer.example.com", "a"); !errors.Is(err, signature.ErrSigner) {
		t.Errorf("an issuer without TLS: %v", err)
	}
}

func TestSignRefuses(t *testing.T) {
	for name, subjects := range map[string][]signature.Subject{
		"nothing":     nil,
		"no digest":   {{Name: "x"}},
		"bad digest":  {{Digest: "sha256:00"}},
		"too many":    make([]signature.Subject, signature.MaxSubjects+1),
		"half of two": {subjects()[0], {}},
	} {
		if _, err := signature.Sign(seeded(1), subjects...); err == nil {
			t.Errorf("%s was signed", name)
		}
	}
}

// Whatever is parsed, nothing but the key's own signature verifies.
func FuzzVerify(f *testing.F) {
	private := seeded(1)
	key := publicKey(f, private)
	ring := signature.NewKeyring(key)
	f.Add(signed(f, private))
	f.Add(messageBundle(f, key, "SHA2_256", []byte("digest"), []byte("sig")))
	f.Add(statement(f, private, `{"_type":"https://in-toto.io/Statement/v1"}`))
	f.Add([]byte(`{"mediaType":"` + signature.MediaType + `"}`))
	f.Fuzz(func(t *testing.T, bundle []byte) {
		s, err := signature.Verify(bundle, manifests.DigestOf(artifact), ring)
		if err == nil && s.Signer == key.Signer() && !slices.Contains(s.Subjects, subjects()[0]) {
			t.Errorf("%+v", s)
		}
		if err == nil && s.Signer != s.Key.Signer() {
			t.Errorf("the signer is %s and the key %s", s.Signer, s.Key.Signer())
		}
	})
}

// A signer has one text.
func FuzzParseSigner(f *testing.F) {
	f.Add("keyless:accounts.google.com/ada@example.com")
	f.Add(string(publicKey(f, seeded(1)).Signer()))
	f.Fuzz(func(t *testing.T, text string) {
		s, err := signature.ParseSigner(text)
		if err != nil {
			return
		}
		if issuer, identity, ok := s.Keyless(); ok {
			if back, err := signature.KeylessSigner(issuer, identity); err != nil || back != s {
				t.Errorf("%q, %q is %q: %v", issuer, identity, back, err)
			}
		}
	})
}

func FuzzParseKey(f *testing.F) {
	f.Add(publicKey(f, seeded(1)).PEM())
	f.Fuzz(func(t *testing.T, text []byte) {
		k, err := signature.ParseKey(text)
		if err != nil {
			return
		}
		if back, err := signature.ParseKey(k.PEM()); err != nil || back.Signer() != k.Signer() {
			t.Errorf("%q: %v", text, err)
		}
	})
}
