package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/skillet-run/skillet/manifests"
	"github.com/skillet-run/skillet/manifests/signature"
)

// releases publishes the checksums of one release on this machine, and counts who asks.
type releases struct {
	url   string
	key   *ecdsa.PrivateKey
	sums  atomic.Value // string
	asked atomic.Int64
}

func published(t *testing.T) *releases {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	r := &releases{key: key}
	r.sums.Store("")
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		r.asked.Add(1)
		sums := []byte(r.sums.Load().(string))
		switch {
		case q.URL.Path == "/SHA256SUMS":
			_, _ = w.Write(sums)
		case q.URL.Path == "/SHA256SUMS.sigstore.json":
			bundle, err := signature.Sign(key, signature.Subject{Name: "SHA256SUMS", Digest: manifests.DigestOf(sums)})
			if err != nil {
				t.Error(err)
			}
			_, _ = w.Write(bundle)
		case q.URL.Path == "/unsigned/SHA256SUMS":
			_, _ = w.Write(sums)
		default:
			http.NotFound(w, q)
		}
	}))
	t.Cleanup(s.Close)
	r.url = s.URL
	return r
}

// publish publishes a version for this platform.
func (r *releases) publish(version string) {
	platform := runtime.GOOS + "_" + runtime.GOARCH
	r.sums.Store(fmt.Sprintf("%064x  bom.json\n%064x  skillet_%s_%s.tar.gz\n%064x  skillet_%s_other_cpu.tar.gz\n", 1, 2, version, platform, 3, version))
}

func (r *releases) publicKey(t *testing.T) []byte {
	t.Helper()
	b, err := x509.MarshalPKIXPublicKey(&r.key.PublicKey)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: b})
}

// A person asks whether a newer release is published. Nobody is asked without that, only who was
// given the name is believed, and the program stays as it is.
func TestUpgradeCheck(t *testing.T) {
	t.Parallel()
	p, r := newPerson(t), published(t)
	r.publish("v999.1.0")
	at := "--set=releases=" + r.url + "/SHA256SUMS"
	refused := func(code int, want string, args ...string) {
		t.Helper()
		if got, out, errs := p.run(append([]string{"upgrade"}, args...)...); got != code || !strings.Contains(errs, want) {
			t.Errorf("upgrade %v: exit code %d, want %d with %q: %s%s", args, got, code, want, out, errs)
		}
	}
	p.must(0, "list", at)
	refused(2, "skillet does not replace itself", at)
	refused(2, "not known where releases are published", "--check")
	refused(2, "releases", "--check", "--set=releases=elsewhere")
	if n := r.asked.Load(); n != 0 {
		t.Errorf("it was asked %d times before anybody wanted to know", n)
	}
	refused(7, "to whom the name skillet was not given", "--check", at)
	p.write("release.pub", r.publicKey(t))
	p.must(0, "trust", "add", "release.pub", "--label", "releases", "--for", "other")
	refused(7, "to whom the name skillet was not given", "--check", at)
	p.must(0, "trust", "add", "release.pub", "--for", "skillet")
	if out := p.must(0, "upgrade", "--check", at); !strings.Contains(out, "v999.1.0") {
		t.Errorf("it says %s", out)
	}
	if out := p.must(0, "upgrade", "--check", "--json", at); !strings.Contains(out, `"version": "v999.1.0"`) || !strings.Contains(out, fmt.Sprintf("%064x", 2)) || !strings.Contains(out, `"signer": "releases (`) {
		t.Errorf("it says %s", out)
	}
	refused(7, "not signed", "--check", "--set=releases="+r.url+"/unsigned/SHA256SUMS")
	r.sums.Store("no checksums\n")
	refused(5, "no release is published for "+runtime.GOOS+"/"+runtime.GOARCH, "--check", at)
	refused(5, "", "--check", "--set=releases="+r.url+"/elsewhere")
	refused(11, "unreachable", "--check", "--set=releases=http://127.0.0.1:1/SHA256SUMS")
}
