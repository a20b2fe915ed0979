package signature_test

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/skillet-run/skillet/manifests"
	"github.com/skillet-run/skillet/manifests/signature"
)

// A cosign runs the program in a directory of its own.
type cosign struct {
	t         *testing.T
	path, dir string
}

// newCosign finds cosign in $COSIGN or on the path; without it, the test is
// skipped.
func newCosign(t *testing.T) cosign {
	t.Helper()
	path := os.Getenv("COSIGN")
	if path == "" {
		var err error
		if path, err = exec.LookPath("cosign"); err != nil {
			t.Skip("cosign is neither on the path nor in $COSIGN")
		}
	}
	return cosign{t, path, t.TempDir()}
}

func (c cosign) run(args ...string) error {
	cmd := exec.CommandContext(c.t.Context(), c.path, args...)
	cmd.Dir = c.dir
	cmd.Env = append(os.Environ(), "COSIGN_PASSWORD=pw", "HOME="+c.dir, "TUF_ROOT="+c.dir)
	out, err := cmd.CombinedOutput()
	c.t.Logf("cosign %v: %v\n%s", args, err, out)
	return err
}

func (c cosign) must(args ...string) {
	c.t.Helper()
	if err := c.run(args...); err != nil {
		c.t.Fatal(err)
	}
}

func (c cosign) write(name string, b []byte) {
	c.t.Helper()
	if err := os.WriteFile(filepath.Join(c.dir, name), b, 0o600); err != nil {
		c.t.Fatal(err)
	}
}

func (c cosign) read(name string) []byte {
	c.t.Helper()
	b, err := os.ReadFile(filepath.Join(c.dir, name))
	if err != nil {
		c.t.Fatal(err)
	}
	return b
}

// verifies asks cosign whether the bundle is a signature of the file by the key.
func (c cosign) verifies(bundle []byte) error {
	c.write("package.skill.sigstore.json", bundle)
	return c.run("verify-blob", "--key", "key.pub", "--insecure-ignore-tlog", "--bundle", "package.skill.sigstore.json", "package.skill")
}

// cosign accepts what we sign, and refuses it when a byte of any part is another.
func TestCosignVerifiesOurs(t *testing.T) {
	c := newCosign(t)
	for name, private := range keys(t) {
		c.write("package.skill", artifact)
		c.write("key.pub", publicKey(t, private).PEM())
		bundle := signed(t, private)
		if err := c.verifies(bundle); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		c.write("package.skill", append(bytes.Clone(artifact), '\n'))
		if err := c.verifies(bundle); err == nil {
			t.Errorf("%s: cosign accepts another artifact", name)
		}
	}
	c.write("package.skill", artifact)
	c.write("key.pub", publicKey(t, seeded(1)).PEM())
	bundle := signed(t, seeded(1))
	for _, part := range []string{`"mediaType":"appl`, `"payload":"eyJfdHlw`, `"payloadType":"appl`, `"sig":"`} {
		bad := bytes.Clone(bundle)
		bad[bytes.Index(bad, []byte(part))+len(part)] ^= 1
		_, err := signature.Verify(bad, manifests.DigestOf(artifact), signature.NewKeyring(publicKey(t, seeded(1))))
		if theirs := c.verifies(bad); err == nil || theirs == nil {
			t.Errorf("a byte after %s: ours %v, theirs %v", part, err, theirs)
		}
	}
}

// We accept what cosign signs, with its key and without a log.
func TestWeVerifyCosigns(t *testing.T) {
	c := newCosign(t)
	c.must("generate-key-pair")
	c.write("package.skill", artifact)
	c.must("sign-blob", "--yes", "--key", "cosign.key", "--use-signing-config=false", "--tlog-upload=false", "--bundle", "bundle.json", "package.skill")
	key, err := signature.ParseKey(c.read("cosign.pub"))
	if err != nil {
		t.Fatal(err)
	}
	bundle, ring, digest := c.read("bundle.json"), signature.NewKeyring(key), manifests.DigestOf(artifact)
	s, err := signature.Verify(bundle, digest, ring)
	if err != nil || !s.Known || s.Signer != key.Signer() {
		t.Errorf("%+v, %v", s, err)
	}
	if _, err := signature.Verify(bundle, digest, signature.Keyring{}); !errors.Is(err, signature.ErrUnknownKey) {
		t.Errorf("without the key: %v", err)
	}
	if _, err := signature.Verify(bundle, manifests.DigestOf(nil), ring); !errors.Is(err, signature.ErrMismatch) {
		t.Errorf("of another artifact: %v", err)
	}
	for i := range bundle {
		bad := bytes.Clone(bundle)
		bad[i] ^= 1
		if s, err := signature.Verify(bad, digest, ring); err == nil && (s.Signer != key.Signer() || s.Subjects[0].Digest != digest) {
			t.Fatalf("byte %d: %+v", i, s)
		}
	}
}

// An attestation of cosign's, by a key that is known, is no signature.
func TestCosignsAttestationIsNoSignature(t *testing.T) {
	c := newCosign(t)
	c.must("generate-key-pair")
	c.write("package.skill", artifact)
	c.write("predicate.json", []byte(`{"result":"failed"}`))
	c.must("attest-blob", "--yes", "--key", "cosign.key", "--use-signing-config=false", "--tlog-upload=false",
		"--type", "https://example.com/scan/v1", "--predicate", "predicate.json", "--bundle", "bundle.json", "package.skill")
	key, err := signature.ParseKey(c.read("cosign.pub"))
	if err != nil {
		t.Fatal(err)
	}
	_, err = signature.Verify(c.read("bundle.json"), manifests.DigestOf(artifact), signature.NewKeyring(key))
	if !errors.Is(err, signature.ErrUnsupported) {
		t.Errorf("%v", err)
	}
}
