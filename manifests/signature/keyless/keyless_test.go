package keyless

import (
	"bytes"
	"crypto/ed25519"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/skillet-run/skillet/manifests"
	"github.com/skillet-run/skillet/manifests/signature"
)

func publicGood(t testing.TB) []byte {
	t.Helper()
	b, err := os.ReadFile("testdata/public-good.json")
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func parseRoot(t testing.TB, data []byte) *Root {
	t.Helper()
	r, err := ParseRoot(data)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// happy is a case of the suite in which somebody signed a file.
const happy = "happy-path-v0.3"

func TestVerify(t *testing.T) {
	c := suiteCases(t)[happy]
	r, digest := parseRoot(t, c.root), manifests.DigestOf(c.artifact)
	s, err := r.Verify(c.bundle, digest)
	if err != nil {
		t.Fatal(err)
	}
	if s.Signer != c.want || !s.Known || !s.Key.IsZero() || len(s.Subjects) != 1 || s.Subjects[0].Digest != digest {
		t.Errorf("%+v", s)
	}
	other, err := signature.KeylessSigner(suiteIssuer, "ada@example.com")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Verify(c.bundle, digest, other, c.want); err != nil {
		t.Errorf("one of two expected signers: %v", err)
	}
	if _, err := r.Verify(c.bundle, digest, other); !errors.Is(err, ErrIdentity) || !strings.Contains(err.Error(), suiteIdentity) {
		t.Errorf("another signer: %v", err)
	}
	if _, err := r.Verify(c.bundle, manifests.DigestOf(nil)); !errors.Is(err, signature.ErrInvalid) {
		t.Errorf("another artifact: %v", err)
	}
	if _, err := r.Verify(c.bundle, "sha256:x"); !errors.Is(err, manifests.ErrDigest) {
		t.Errorf("no digest: %v", err)
	}
}

// An attestation says something about a package. It does not sign it.
func TestAttestationsAreNoSignatures(t *testing.T) {
	c := suiteCases(t)["happy-path-intoto-in-dsse-v3"]
	_, err := parseRoot(t, c.root).Verify(c.bundle, manifests.DigestOf(c.artifact))
	if !errors.Is(err, signature.ErrUnsupported) || !strings.Contains(err.Error(), "attestation") {
		t.Errorf("%v", err)
	}
}

func TestKeysAreNotForHere(t *testing.T) {
	b, err := signature.Sign(ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize)), signature.Subject{Digest: manifests.DigestOf(nil)})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := parseRoot(t, publicGood(t)).Verify(b, manifests.DigestOf(nil)); !errors.Is(err, signature.ErrUnsupported) {
		t.Errorf("%v", err)
	}
}

// Whatever the trust root has is demanded, and what it lacks cannot be
// forgotten: a signature that is in no log of this root is refused.
func TestRootDemands(t *testing.T) {
	c := suiteCases(t)[happy]
	var members map[string]json.RawMessage
	if err := json.Unmarshal(c.root, &members); err != nil {
		t.Fatal(err)
	}
	other := suiteCases(t)["bundle-with-sct-with-extensions"].root
	var others map[string]json.RawMessage
	if err := json.Unmarshal(other, &others); err != nil {
		t.Fatal(err)
	}
	for _, member := range []string{"certificateAuthorities", "ctlogs", "tlogs"} {
		changed := map[string]json.RawMessage{}
		for name, value := range members {
			changed[name] = value
		}
		changed[member] = others[member]
		b, err := json.Marshal(changed)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := parseRoot(t, b).Verify(c.bundle, manifests.DigestOf(c.artifact)); err == nil {
			t.Errorf("a signature is accepted with the %s of another root", member)
		}
	}
}

func TestParseRootRefuses(t *testing.T) {
	good := publicGood(t)
	for name, data := range map[string][]byte{
		"nothing":        nil,
		"empty":          []byte("{}"),
		"another type":   bytes.Replace(good, []byte("trustedroot+json"), []byte("other+json"), 1),
		"no authority":   []byte(`{"mediaType":"application/vnd.dev.sigstore.trustedroot+json;version=0.1"}`),
		"unknown member": bytes.Replace(good, []byte("{"), []byte(`{"more":1,`), 1),
		"too long":       append(bytes.Clone(good), bytes.Repeat([]byte(" "), MaxRootBytes)...),
	} {
		if _, err := ParseRoot(data); !errors.Is(err, ErrRoot) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestErrorsAreOneLine(t *testing.T) {
	for name, c := range suiteCases(t) {
		if err := c.verify(); err != nil && (strings.Contains(err.Error(), "\n") || len(err.Error()) > 800) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Whatever bit of a bundle is flipped, the signature is refused, or says the
// same about the same artifact.
func TestFlippedBits(t *testing.T) {
	c := suiteCases(t)[happy]
	r, digest := parseRoot(t, c.root), manifests.DigestOf(c.artifact)
	want, err := r.Verify(c.bundle, digest)
	if err != nil {
		t.Fatal(err)
	}
	accepted, tried, step := 0, 0, 7
	if testing.Short() {
		step = 101
	}
	for i := 0; i < len(c.bundle); i += step {
		bad := bytes.Clone(c.bundle)
		bad[i] ^= 1 << (i % 7)
		tried++
		s, err := r.Verify(bad, digest)
		if err != nil {
			continue
		}
		if accepted++; fmt.Sprint(s) != fmt.Sprint(want) {
			t.Fatalf("byte %d: another signature: %+v", i, s)
		}
	}
	t.Logf("%d of %d changed bundles say the same", accepted, tried)
	if accepted > tried/4 {
		t.Errorf("%d of %d changed bundles are accepted", accepted, tried)
	}
}

// Whatever is parsed, the suite's artifact is signed by the suite's signer or by
// nobody.
func FuzzVerify(f *testing.F) {
	c := suiteCases(f)[happy]
	r, digest := parseRoot(f, c.root), manifests.DigestOf(c.artifact)
	f.Add(c.bundle)
	f.Add(suiteCases(f)["happy-path-intoto-in-dsse-v3"].bundle)
	f.Fuzz(func(t *testing.T, data []byte) {
		if s, err := r.Verify(data, digest); err == nil && s.Signer != c.want {
			t.Errorf("%+v", s)
		}
	})
}

func FuzzParseRoot(f *testing.F) {
	f.Add(publicGood(f))
	f.Fuzz(func(t *testing.T, data []byte) {
		if _, err := ParseRoot(data); err != nil && !errors.Is(err, ErrRoot) {
			t.Error(err)
		}
	})
}

func BenchmarkVerify(b *testing.B) {
	c := suiteCases(b)[happy]
	r, digest := parseRoot(b, c.root), manifests.DigestOf(c.artifact)
	for b.Loop() {
		if _, err := r.Verify(c.bundle, digest); err != nil {
			b.Fatal(err)
		}
	}
}
