package signer_test

import (
	"bytes"
	"crypto"
	"crypto/ecdh"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/secure-systems-lab/go-securesystemslib/encrypted"

	"github.com/skillet-run/skillet/host/base/secret"
	"github.com/skillet-run/skillet/host/record/signer"
	"github.com/skillet-run/skillet/manifests"
	"github.com/skillet-run/skillet/manifests/signature"
)

func open(home string) *signer.Keystore {
	return signer.Open(filepath.Join(home, "signing"), secret.NewKey(secret.KeyOptions{Home: home, Location: secret.LocationFile}))
}

func TestEnsureMakesOneKey(t *testing.T) {
	home, ctx := t.TempDir(), t.Context()
	if _, err := open(home).Key(ctx); !errors.Is(err, signer.ErrNoKey) {
		t.Errorf("before: %v", err)
	}
	first, made, err := open(home).Ensure(ctx)
	if err != nil || !made || first.Imported() || first.MadeAt().IsZero() || first.Public().Algorithm() != "ed25519" {
		t.Fatalf("%+v, %v, %v", first, made, err)
	}
	again, made, err := open(home).Ensure(ctx)
	if err != nil || made || again.Identity() != first.Identity() || !again.MadeAt().Equal(first.MadeAt()) {
		t.Errorf("%+v, %v, %v", again, made, err)
	}
	if _, err := open(home).Create(ctx); !errors.Is(err, signer.ErrExists) {
		t.Errorf("create: %v", err)
	}
}

func TestSignatureVerifies(t *testing.T) {
	k, _, err := open(t.TempDir()).Ensure(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	d := manifests.DigestOf([]byte("package"))
	b, err := k.Sign(signature.Subject{Digest: d})
	if err != nil {
		t.Fatal(err)
	}
	s, err := signature.Verify(b, d, signature.NewKeyring(k.Public()))
	if err != nil || s.Signer != k.Identity() {
		t.Errorf("%+v, %v", s, err)
	}
	if _, err := (signer.Key{}).Sign(signature.Subject{Digest: d}); !errors.Is(err, signer.ErrNoKey) {
		t.Errorf("no key signs: %v", err)
	}
}

func TestConcurrentFirstUseMakesOneKey(t *testing.T) {
	home := t.TempDir()
	var (
		wg   sync.WaitGroup
		mu   sync.Mutex
		seen = map[signature.Signer]int{}
		many int
	)
	for range 8 {
		wg.Go(func() {
			k, made, err := open(home).Ensure(t.Context())
			if err != nil {
				t.Error(err)
				return
			}
			mu.Lock()
			defer mu.Unlock()
			if seen[k.Identity()]++; made {
				many++
			}
		})
	}
	wg.Wait()
	if len(seen) != 1 || many != 1 {
		t.Errorf("%d keys, made %d times", len(seen), many)
	}
}

func TestRotate(t *testing.T) {
	s, ctx := open(t.TempDir()), t.Context()
	if _, _, err := s.Rotate(ctx); !errors.Is(err, signer.ErrNoKey) {
		t.Errorf("nothing to rotate: %v", err)
	}
	first, err := s.Create(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for n := range 2 {
		k, old, err := s.Rotate(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if k.Identity() == old.Identity() || len(k.Retired()) != n+1 || k.Retired()[0].Key.Signer() != first.Identity() {
			t.Errorf("%+v after %+v", k, old)
		}
	}
}

func TestTheKeyIsSealed(t *testing.T) {
	home := t.TempDir()
	k, _, err := open(home).Ensure(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(home, "signing", "signing.age")
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if seed := k.Private().(ed25519.PrivateKey).Seed(); bytes.Contains(b, seed) || bytes.Contains(b, []byte("PRIVATE")) {
		t.Error("the private key lies in the open")
	}
	for _, format := range []string{"%v", "%+v", "%#v", "%s", "%q"} {
		if text := fmt.Sprintf(format, k); !strings.Contains(text, string(k.Identity())) || len(text) > len(k.Identity())+2 {
			t.Errorf("%s prints %s", format, text)
		}
	}
	for i := 0; i < len(b); i += 37 {
		bad := bytes.Clone(b)
		bad[i] ^= 1
		if err := os.WriteFile(path, bad, 0o600); err != nil {
			t.Fatal(err)
		}
		if got, err := open(home).Key(t.Context()); err == nil && got.Identity() != k.Identity() {
			t.Fatalf("byte %d: another key", i)
		}
	}
}

// A key that cannot be read is not replaced without a word.
func TestDamageIsNoReasonForANewKey(t *testing.T) {
	home := t.TempDir()
	if _, _, err := open(home).Ensure(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(home, "keys", "identity")); err != nil {
		t.Fatal(err)
	}
	if _, made, err := open(home).Ensure(t.Context()); err == nil || made {
		t.Errorf("made %v, %v", made, err)
	}
}

func pkcs8(t *testing.T, key any) []byte {
	t.Helper()
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return der
}

func block(kind string, b []byte) []byte { return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: b}) }

func passphrase(text string) func() ([]byte, error) {
	return func() ([]byte, error) { return []byte(text), nil }
}

func TestParsePrivate(t *testing.T) {
	ec, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	rsaKey, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	sec1, err := x509.MarshalECPrivateKey(ec)
	if err != nil {
		t.Fatal(err)
	}
	sealed, err := encrypted.Encrypt(pkcs8(t, ec), []byte("open sesame"))
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		text []byte
		want crypto.Signer
	}{
		"ed25519":      {block("PRIVATE KEY", pkcs8(t, ed25519.NewKeyFromSeed(make([]byte, 32)))), ed25519.NewKeyFromSeed(make([]byte, 32))},
		"ecdsa":        {block("PRIVATE KEY", pkcs8(t, ec)), ec},
		"rsa":          {block("PRIVATE KEY", pkcs8(t, rsaKey)), rsaKey},
		"sec 1":        {block("EC PRIVATE KEY", sec1), ec},
		"cosign":       {block("ENCRYPTED SIGSTORE PRIVATE KEY", sealed), ec},
		"older cosign": {block("ENCRYPTED COSIGN PRIVATE KEY", sealed), ec},
	} {
		k, err := signer.ParsePrivate(c.text, passphrase("open sesame"))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if got, want := identity(t, k), identity(t, c.want); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
	if _, err := signer.ParsePrivate(block("ENCRYPTED SIGSTORE PRIVATE KEY", sealed), passphrase("other")); !errors.Is(err, signer.ErrPassphrase) {
		t.Errorf("a wrong passphrase: %v", err)
	}
}

func identity(t *testing.T, k crypto.Signer) signature.Signer {
	t.Helper()
	public, err := signature.NewKey(k.Public())
	if err != nil {
		t.Fatal(err)
	}
	return public.Signer()
}

func TestParsePrivateRefuses(t *testing.T) {
	x25519, err := ecdh.X25519().GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	p224, err := ecdsa.GenerateKey(elliptic.P224(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	good := block("PRIVATE KEY", pkcs8(t, ed25519.NewKeyFromSeed(make([]byte, 32))))
	for name, text := range map[string][]byte{
		"nothing":         nil,
		"no PEM":          []byte("hello"),
		"two":             append(bytes.Clone(good), good...),
		"no private key":  block("PUBLIC KEY", []byte("x")),
		"damaged":         block("PRIVATE KEY", []byte("x")),
		"damaged sec 1":   block("EC PRIVATE KEY", []byte("x")),
		"cannot sign":     block("PRIVATE KEY", pkcs8(t, x25519)),
		"unsupported":     block("PRIVATE KEY", pkcs8(t, p224)),
		"longer than any": bytes.Repeat([]byte("x"), 100_000),
	} {
		if _, err := signer.ParsePrivate(text, passphrase("")); !errors.Is(err, signer.ErrImport) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestImport(t *testing.T) {
	s, ctx := open(t.TempDir()), t.Context()
	private := ed25519.NewKeyFromSeed(make([]byte, 32))
	k, err := s.Import(ctx, private, false)
	if err != nil || !k.Imported() || k.Identity() != identity(t, private) {
		t.Fatalf("%+v, %v", k, err)
	}
	other := ed25519.NewKeyFromSeed(bytes.Repeat([]byte{1}, 32))
	if _, err := s.Import(ctx, other, false); !errors.Is(err, signer.ErrExists) {
		t.Errorf("over another: %v", err)
	}
	if _, err := s.Import(ctx, private, true); !errors.Is(err, signer.ErrExists) {
		t.Errorf("over itself: %v", err)
	}
	k, err = s.Import(ctx, other, true)
	if err != nil || k.Identity() != identity(t, other) || len(k.Retired()) != 1 {
		t.Errorf("%+v, %v", k, err)
	}
}

func FuzzParsePrivate(f *testing.F) {
	f.Add(block("PRIVATE KEY", []byte("x")))
	f.Add(block("ENCRYPTED SIGSTORE PRIVATE KEY", []byte(`{"kdf":{"name":"scrypt","params":{"N":1073741824,"r":8,"p":1},"salt":"AAAA"}}`)))
	f.Fuzz(func(t *testing.T, text []byte) {
		if k, err := signer.ParsePrivate(text, passphrase("")); err == nil && k == nil {
			t.Error("no key and no error")
		}
	})
}
