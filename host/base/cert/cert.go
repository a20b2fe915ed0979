// Package cert has the certificate of the service: one that a person has, or one that is made
// here and kept in the home. It is read again when it is asked to, and knows the names that it
// is for.
package cert

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/skillet-run/skillet/host/base/fault"
	"github.com/skillet-run/skillet/host/base/store/atomicfile"
)

// A certificate that is made here lives so long, and is made anew when so little is left.
const (
	Life  = 365 * 24 * time.Hour
	Renew = 30 * 24 * time.Hour
)

// Source says where a certificate is from. One of its ways is given.
type Source struct {
	// Cert and Key are files in PEM.
	Cert, Key string
	// Dir is where a certificate is kept that is made here, for Names: host names and
	// addresses.
	Dir   string
	Names []string
	// Now is the time; nil for that of the system.
	Now func() time.Time
}

// A Reloader holds a certificate and reads it again when it changes. It is safe for concurrent use.
type Reloader struct {
	from Source
	now  atomic.Pointer[tls.Certificate]
}

// Open reads or makes a certificate. One that cannot be used is a [fault.KindUsage] error.
func Open(from Source) (*Reloader, error) {
	if from.Now == nil {
		from.Now = time.Now
	}
	k := &Reloader{from: from}
	return k, k.Reload()
}

// Reload reads the certificate again, and makes a new one in place of one that was made here
// and ends soon. After an error the one before stays in use.
func (k *Reloader) Reload() error {
	read := k.read
	if k.from.Dir != "" {
		read = k.own
	}
	c, err := read()
	if err != nil {
		return fault.Wrap(fault.KindUsage, fmt.Errorf("the certificate cannot be used: %w", err))
	}
	k.now.Store(c)
	return nil
}

func (k *Reloader) read() (*tls.Certificate, error) {
	c, err := tls.LoadX509KeyPair(k.from.Cert, k.from.Key)
	if err != nil {
		return nil, err
	}
	switch now := k.from.Now(); {
	case now.After(c.Leaf.NotAfter):
		return nil, fmt.Errorf("it ended on %s", c.Leaf.NotAfter.UTC().Format(time.RFC3339))
	case now.Before(c.Leaf.NotBefore):
		return nil, fmt.Errorf("it is good from %s on", c.Leaf.NotBefore.UTC().Format(time.RFC3339))
	case len(c.Leaf.DNSNames)+len(c.Leaf.IPAddresses) == 0:
		return nil, errors.New("it is for no host name and no address")
	}
	return &c, nil
}

// File is where the certificate is that is made here.
func (k *Reloader) File() string {
	if k.from.Dir == "" {
		return k.from.Cert
	}
	return filepath.Join(k.from.Dir, "cert.pem")
}

func (k *Reloader) keyFile() string { return filepath.Join(k.from.Dir, "key.pem") }

// own is the certificate that was made here, or a new one when there is none, it ends soon, or
// it is not for all of the names.
func (k *Reloader) own() (*tls.Certificate, error) {
	c, err := tls.LoadX509KeyPair(k.File(), k.keyFile())
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return nil, err
	case k.from.Now().Add(Renew).Before(c.Leaf.NotAfter) && k.forAll(c.Leaf):
		return &c, nil
	}
	if err := k.make(); err != nil {
		return nil, err
	}
	c, err = tls.LoadX509KeyPair(k.File(), k.keyFile())
	return &c, err
}

func (k *Reloader) forAll(leaf *x509.Certificate) bool {
	for _, n := range k.from.Names {
		if leaf.VerifyHostname(n) != nil {
			return false
		}
	}
	return true
}

// make makes a key and a certificate for it. The key is written first: a certificate without
// its key is not used.
func (k *Reloader) make() error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127))
	if err != nil {
		return err
	}
	now := k.from.Now()
	t := &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: "skillet"}, NotBefore: now.Add(-time.Hour), NotAfter: now.Add(Life),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}, BasicConstraintsValid: true,
	}
	for _, n := range k.from.Names {
		if ip := net.ParseIP(n); ip != nil {
			t.IPAddresses = append(t.IPAddresses, ip)
		} else {
			t.DNSNames = append(t.DNSNames, n)
		}
	}
	der, err := x509.CreateCertificate(rand.Reader, t, t, key.Public(), key)
	if err != nil {
		return err
	}
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(k.from.Dir, 0o700); err != nil {
		return err
	}
	if err := os.Remove(k.File()); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := atomicfile.Write(k.keyFile(), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret})); err != nil {
		return err
	}
	return atomicfile.Write(k.File(), pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
}

// Fingerprint is the SHA-256 of the certificate, in hexadecimal digits.
func (k *Reloader) Fingerprint() string {
	sum := sha256.Sum256(k.now.Load().Leaf.Raw)
	return hex.EncodeToString(sum[:])
}

// IsFor reports whether the certificate is for a host, which may have a port.
func (k *Reloader) IsFor(host string) bool {
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	return k.now.Load().Leaf.VerifyHostname(host) == nil
}

// Config is for a server that shows the certificate, the one that is in use when a
// connection begins.
func (k *Reloader) Config() *tls.Config {
	return &tls.Config{
		MinVersion:     tls.VersionTLS13,
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return k.now.Load(), nil },
	}
}

// NamesAt are the names and addresses by which this machine is reached at a place to listen,
// HOST:PORT: all that it has for a host that is empty or unspecified.
func NamesAt(listen string) []string {
	names := []string{"localhost", "127.0.0.1", "::1"}
	host, _, _ := net.SplitHostPort(listen) // listening says what is wrong with it
	if ip := net.ParseIP(host); host != "" && (ip == nil || !ip.IsUnspecified()) {
		return append(names, host)
	}
	if name, err := os.Hostname(); err == nil {
		names = append(names, name)
	}
	all, _ := net.InterfaceAddrs() // what the system does not tell is left out
	for _, a := range all {
		if n, ok := a.(*net.IPNet); ok && !n.IP.IsLoopback() && !n.IP.IsLinkLocalUnicast() {
			names = append(names, n.IP.String())
		}
	}
	return names
}
