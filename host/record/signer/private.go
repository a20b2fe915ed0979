package signer

import (
	"bytes"
	"crypto"
	"crypto/x509"
	"encoding/pem"
	"fmt"

	"github.com/secure-systems-lab/go-securesystemslib/encrypted"

	"github.com/skillet-run/skillet/manifests/signature"
)

// maxPrivate is the longest file of a private key, in bytes.
const maxPrivate = 16 << 10

// sealedTypes are the PEM types of private keys under a passphrase, as `cosign
// generate-key-pair` and `cosign import-key-pair` write them.
func sealedTypes() []string {
	return []string{"ENCRYPTED SIGSTORE PRIVATE KEY", "ENCRYPTED COSIGN PRIVATE KEY"}
}

// ParsePrivate reads a private key in PEM: PKCS #8, SEC 1, or cosign's, which
// needs a passphrase; passphrase is called for that only. The error wraps
// [ErrImport] or [ErrPassphrase].
func ParsePrivate(text []byte, passphrase func() ([]byte, error)) (crypto.Signer, error) {
	private, err := parsePrivate(text, passphrase)
	if err != nil {
		return nil, fmt.Errorf("read private key: %w", err)
	}
	if _, err := signature.NewKey(private.Public()); err != nil {
		return nil, fmt.Errorf("read private key: %w: %w", ErrImport, err)
	}
	return private, nil
}

func parsePrivate(text []byte, passphrase func() ([]byte, error)) (crypto.Signer, error) {
	if len(text) > maxPrivate {
		return nil, fmt.Errorf("%w: it has %d bytes", ErrImport, len(text))
	}
	block, rest := pem.Decode(text)
	if block == nil || len(bytes.TrimSpace(rest)) > 0 {
		return nil, fmt.Errorf("%w: it is not one PEM block", ErrImport)
	}
	for _, sealed := range sealedTypes() {
		if block.Type == sealed {
			return unseal(block.Bytes, passphrase)
		}
	}
	switch block.Type {
	case "PRIVATE KEY":
		return parsePKCS8(block.Bytes)
	case "EC PRIVATE KEY":
		k, err := x509.ParseECPrivateKey(block.Bytes)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", ErrImport, err)
		}
		return k, nil
	}
	return nil, fmt.Errorf("%w: it is a %q; convert it with `openssl pkcs8 -topk8 -nocrypt`", ErrImport, block.Type)
}

func unseal(sealed []byte, passphrase func() ([]byte, error)) (crypto.Signer, error) {
	p, err := passphrase()
	if err != nil {
		return nil, err
	}
	der, err := encrypted.Decrypt(sealed, p)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrPassphrase, err)
	}
	return parsePKCS8(der)
}

func parsePKCS8(der []byte) (crypto.Signer, error) {
	k, err := x509.ParsePKCS8PrivateKey(der)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrImport, err)
	}
	private, ok := k.(crypto.Signer)
	if !ok {
		return nil, fmt.Errorf("%w: a %T cannot sign", ErrImport, k)
	}
	return private, nil
}
