package source_test

import (
	"crypto/x509"
	"errors"
	"io"
	"log"
	"net"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/skillet-run/skillet/host/base/fault"

	"github.com/google/go-containerregistry/pkg/registry"

	"github.com/skillet-run/skillet/host/fetch/source"
	"github.com/skillet-run/skillet/host/fetch/source/transfer"
)

// secureLab is a lab whose registry speaks TLS, with a certificate authority of its own.
func secureLab(t *testing.T) (*lab, *x509.CertPool) {
	t.Helper()
	s := httptest.NewTLSServer(registry.New(registry.Logger(log.New(io.Discard, "", 0))))
	t.Cleanup(s.Close)
	roots := x509.NewCertPool()
	roots.AddCert(s.Certificate())
	return labAt(t, strings.TrimPrefix(s.URL, "https://")), roots
}

// A registry on this machine is reached as it speaks: with TLS, also at the first
// call, or without.
func TestTLSOnThisMachine(t *testing.T) {
	t.Parallel()
	l, roots := secureLab(t)
	set := l.set
	set.Client.RootCAs = roots
	l.with(set)
	one := pack(t, "csv", "1.0.0", nil)
	l.push(one, "oci://HOST/skills/csv")
	l.get("oci://HOST/skills/csv:1.0.0", one)
	l.get("oci://HOST/skills/csv:1.0.0", one)
}

// One whose certificate nobody vouches for is refused, and the way out does not make
// the connection less secure.
func TestUnknownAuthority(t *testing.T) {
	t.Parallel()
	l, _ := secureLab(t)
	_, err := l.fetch.Versions(t.Context(), l.ref("oci://HOST/skills/csv"), source.Options{})
	e := fault.AsError(err)
	if !errors.Is(err, transfer.ErrTransport) || !strings.Contains(e.Way().String(), "SSL_CERT_FILE") || strings.Contains(e.Way().String(), "plain") {
		t.Errorf("%v; hint: %s", err, e.Way().String())
	}
}

// What the settings say of plain HTTP holds, in both ways.
func TestPlainHTTPIsObeyed(t *testing.T) {
	t.Parallel()
	yes, no := true, false
	secure, roots := secureLab(t)
	for name, c := range map[string]struct {
		l     *lab
		plain *bool
		want  error
	}{
		"never without TLS, and the registry has none": {newLab(t, true, nil), &no, transfer.ErrTransport},
		"without TLS, and the registry speaks it":      {secure, &yes, transfer.ErrProtocol},
		"without TLS, and the registry has none":       {newLab(t, true, nil), &yes, transfer.ErrNotFound},
		"nothing is said, and the registry has none":   {newLab(t, true, nil), nil, transfer.ErrNotFound},
		"nothing is said, and the registry speaks it":  {secure, nil, transfer.ErrNotFound},
	} {
		set := c.l.set
		set.Client.RootCAs = roots
		set.Registries = []source.Registry{{Name: "here", URL: "oci://" + c.l.host + "/skills", PlainHTTP: c.plain}}
		c.l.with(set)
		if _, err := c.l.fetch.Versions(t.Context(), c.l.ref("oci://HOST/skills/csv"), source.Options{}); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
	}
}

func TestSpeaksTLS(t *testing.T) {
	t.Parallel()
	secure, _ := secureLab(t)
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	closed.Close()
	for host, want := range map[string]bool{secure.host: true, newLab(t, true, nil).host: false, closed.Addr().String(): false} {
		if got := transfer.SpeaksTLS(host); got != want {
			t.Errorf("%s: %v", host, got)
		}
	}
}
