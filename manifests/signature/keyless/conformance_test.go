package keyless

import (
	"archive/tar"
	"compress/gzip"
	"errors"
	"io"
	"os"
	"path"
	"strings"
	"testing"

	"github.com/skillet-run/skillet/manifests"
	"github.com/skillet-run/skillet/manifests/signature"
)

// suite reads the files of the conformance suite, by path.
func suite(t testing.TB) map[string][]byte {
	t.Helper()
	f, err := os.Open("testdata/conformance.tar.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	files := map[string][]byte{}
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return files
		}
		if err != nil {
			t.Fatal(err)
		}
		if files[h.Name], err = io.ReadAll(r); err != nil {
			t.Fatal(err)
		}
	}
}

// What a case of the suite means when it does not say.
const (
	suiteIdentity = "https://github.com/sigstore-conformance/extremely-dangerous-public-oidc-beacon/.github/workflows/extremely-dangerous-oidc-beacon.yml@refs/heads/main"
	suiteIssuer   = "https://token.actions.githubusercontent.com"
)

// A suiteCase is one folder of the suite.
type suiteCase struct {
	bundle, artifact, root, key []byte
	want                        signature.Signer
}

func suiteCases(t testing.TB) map[string]suiteCase {
	t.Helper()
	files := suite(t)
	public, err := os.ReadFile("testdata/public-good.json")
	if err != nil {
		t.Fatal(err)
	}
	cases := map[string]suiteCase{}
	for name := range files {
		dir := path.Dir(name)
		if path.Base(name) != "bundle.sigstore.json" {
			continue
		}
		get := func(name string, otherwise []byte) []byte {
			if b, ok := files[dir+"/"+name]; ok {
				return b
			}
			return otherwise
		}
		want, err := signature.KeylessSigner(
			strings.TrimSpace(string(get("issuer", []byte(suiteIssuer)))), strings.TrimSpace(string(get("identity", []byte(suiteIdentity)))))
		if err != nil {
			t.Fatal(err)
		}
		cases[path.Base(dir)] = suiteCase{
			bundle: files[name], artifact: get("artifact", files[path.Dir(dir)+"/a.txt"]), root: get("trusted_root.json", public), key: get("key.pub", nil), want: want,
		}
	}
	return cases
}

// verify does what the suite asks of a client: it accepts any predicate, because
// the suite is about signatures of all kinds.
func (c suiteCase) verify() error {
	digest := manifests.DigestOf(c.artifact)
	if c.key != nil {
		return c.verifyKey(digest)
	}
	r, err := ParseRoot(c.root)
	if err != nil {
		return err
	}
	b, err := load(c.bundle)
	if err != nil {
		return err
	}
	who, err := r.signer(b, digest)
	if err == nil && who != c.want {
		err = ErrIdentity
	}
	return err
}

func (c suiteCase) verifyKey(digest manifests.Digest) error {
	k, err := signature.ParseKey(c.key)
	if err != nil {
		return err
	}
	s, err := signature.Verify(c.bundle, digest, signature.NewKeyring(k))
	if err == nil && !s.Known {
		err = signature.ErrUnknownKey
	}
	return err
}

func TestConformance(t *testing.T) {
	cases := suiteCases(t)
	if len(cases) != 70 {
		t.Errorf("%d cases", len(cases))
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := c.verify()
			if fails := strings.HasSuffix(name, "_fail"); fails != (err != nil) {
				t.Errorf("%v", err)
			}
		})
	}
}
