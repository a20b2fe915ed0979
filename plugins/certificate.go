package plugins

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"time"
)

// hostName is who both ends of a connection say they are.
const hostName = "localhost"

// envCertificate is where go-plugin's way of mutual TLS has a plugin find the
// certificate of its host. The plugin answers with its own in the handshake.
const envCertificate = "PLUGIN_CLIENT_CERT"

// newIdentity makes the key and the certificate of the host towards one process of
// a plugin, and what they are as go-plugin's client takes them. go-plugin can do
// that itself, with a key on the curve P-521, which the TLS library of most gRPC
// implementations does not take.
func newIdentity() (*tls.Config, []byte, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127))
	if err != nil {
		return nil, nil, err
	}
	template := &x509.Certificate{
		Subject:               pkix.Name{CommonName: hostName},
		DNSNames:              []string{hostName},
		SerialNumber:          serial,
		NotBefore:             time.Now().Add(-5 * time.Minute),
		NotAfter:              time.Now().AddDate(10, 0, 0),
		KeyUsage:              x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage:           []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth, x509.ExtKeyUsageServerAuth},
		BasicConstraintsValid: true,
		IsCA:                  true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, nil, err
	}
	config := &tls.Config{
		Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}},
		ServerName:   hostName,
		MinVersion:   tls.VersionTLS12,
		RootCAs:      x509.NewCertPool(), // nobody's, until the handshake says whose
	}
	return config, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), nil
}
