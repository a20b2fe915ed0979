package cert_test

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/skillet-run/skillet/host/base/cert"
	"github.com/skillet-run/skillet/host/base/fault"
)

// ends is when the certificate that is shown ends.
func ends(t *testing.T, k *cert.Reloader) time.Time {
	t.Helper()
	c, err := k.Config().GetCertificate(nil)
	if err != nil {
		t.Fatal(err)
	}
	return c.Leaf.NotAfter
}

func open(t *testing.T, dir string, now time.Time, names ...string) *cert.Reloader {
	t.Helper()
	k, err := cert.Open(cert.Source{Dir: dir, Names: names, Now: func() time.Time { return now }})
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// A certificate that is made here is kept, made anew before it ends or for other names, and its
// key is its owner's alone.
func TestOwn(t *testing.T) {
	t.Parallel()
	dir, now := filepath.Join(t.TempDir(), "tls"), time.Now()
	first := open(t, dir, now, "localhost", "127.0.0.1")
	if again := open(t, dir, now.Add(cert.Life-cert.Renew-time.Hour), "127.0.0.1"); again.Fingerprint() != first.Fingerprint() {
		t.Error("it was made anew without need")
	}
	for _, c := range []struct {
		host string
		want bool
	}{{"localhost", true}, {"localhost:7777", true}, {"127.0.0.1:1", true}, {"evil.example", false}, {"127.0.0.2", false}, {"", false}} {
		if first.IsFor(c.host) != c.want {
			t.Errorf("%q: %v", c.host, !c.want)
		}
	}
	st, err := os.Stat(filepath.Join(dir, "key.pem"))
	if err != nil || st.Mode().Perm() != 0o600 {
		t.Errorf("the key: %v, %v", st, err)
	}
	other := open(t, dir, now, "localhost", "skillet.example")
	if other.Fingerprint() == first.Fingerprint() || !other.IsFor("skillet.example") {
		t.Error("it was not made anew for another name")
	}
	later := open(t, dir, now.Add(cert.Life-cert.Renew+time.Hour), "localhost")
	if later.Fingerprint() == other.Fingerprint() || !ends(t, later).After(ends(t, other)) {
		t.Error("it was not made anew before its end")
	}
}

// What cannot be used is refused, and the one before stays.
func TestFiles(t *testing.T) {
	t.Parallel()
	dir, now := t.TempDir(), time.Now()
	own := open(t, dir, now, "localhost")
	files := cert.Source{Cert: own.File(), Key: filepath.Join(dir, "key.pem"), Now: func() time.Time { return now }}
	k, err := cert.Open(files)
	if err != nil {
		t.Fatal(err)
	}
	open(t, dir, now, "localhost", "skillet.example") // in its place
	before := k.Fingerprint()
	if err := k.Reload(); err != nil || k.Fingerprint() == before || !k.IsFor("skillet.example") {
		t.Errorf("read again: %v", err)
	}
	before = k.Fingerprint()
	if err := os.WriteFile(files.Cert, []byte("nonsense"), 0o600); err != nil {
		t.Fatal(err)
	}
	var e *fault.Error
	if err := k.Reload(); !errors.As(err, &e) || e.Kind != fault.KindUsage || k.Fingerprint() != before {
		t.Errorf("nonsense: %v", err)
	}
	for _, when := range []time.Time{now.Add(cert.Life + time.Hour), now.Add(-2 * time.Hour)} {
		open(t, filepath.Join(dir, "b"), now, "localhost")
		bad := cert.Source{Cert: filepath.Join(dir, "b/cert.pem"), Key: filepath.Join(dir, "b/key.pem"), Now: func() time.Time { return when }}
		if _, err := cert.Open(bad); !errors.As(err, &e) || e.Kind != fault.KindUsage {
			t.Errorf("at %v: %v", when, err)
		}
	}
}

// A client that trusts the certificate is answered by TLS 1.3, and no other is.
func TestClients(t *testing.T) {
	t.Parallel()
	k := open(t, t.TempDir(), time.Now(), "127.0.0.1")
	s := httptest.NewUnstartedServer(http.NotFoundHandler())
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s.Listener.Close()
	s.Listener = tls.NewListener(l, k.Config())
	s.Start()
	t.Cleanup(s.Close)
	pem, err := os.ReadFile(k.File())
	if err != nil {
		t.Fatal(err)
	}
	trusted := x509.NewCertPool()
	trusted.AppendCertsFromPEM(pem)
	for name, c := range map[string]struct {
		config *tls.Config
		ok     bool
	}{
		"trusts it": {&tls.Config{RootCAs: trusted}, true}, "trusts others": {&tls.Config{RootCAs: x509.NewCertPool()}, false},
		"TLS 1.2": {&tls.Config{RootCAs: trusted, MaxVersion: tls.VersionTLS12}, false}, "another name": {&tls.Config{RootCAs: trusted, ServerName: "localhost"}, false},
	} {
		conn, err := (&tls.Dialer{Config: c.config}).DialContext(t.Context(), "tcp", l.Addr().String())
		if (err == nil) != c.ok {
			t.Errorf("%s: %v", name, err)
		}
		if err == nil {
			conn.Close()
		}
	}
}
