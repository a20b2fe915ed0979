package main

import (
	"bytes"
	"crypto"
	"crypto/sha256"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/skillet-run/skillet/manifests"
	"github.com/skillet-run/skillet/manifests/signature"
)

// sumsFile lists the SHA-256 of every other file of a release, as `sha256sum --check` reads it.
const sumsFile = "SHA256SUMS"

// sums writes the checksums, and signs them when there is a key: whoever trusts the signature
// can check every file.
func (r *release) sums(dir string) error {
	var b bytes.Buffer
	err := fs.WalkDir(os.DirFS(dir), ".", func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		sum, err := sumOf(filepath.Join(dir, path))
		fmt.Fprintf(&b, "%x  %s\n", sum, path)
		return err
	})
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, sumsFile), b.Bytes(), 0o644); err != nil {
		return err
	}
	return r.sign(dir, b.Bytes())
}

func sumOf(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	h := sha256.New()
	_, err = io.Copy(h, f)
	return h.Sum(nil), err
}

// sign writes a Sigstore bundle of the checksums, which `cosign verify-blob-attestation` reads.
func (r *release) sign(dir string, sums []byte) error {
	if r.key == "" {
		r.say("the checksums are not signed: -key was not given")
		return nil
	}
	key, err := readKey(r.key)
	if err != nil {
		return fmt.Errorf("-key %s: %w", r.key, err)
	}
	bundle, err := signature.Sign(key, signature.Subject{Name: sumsFile, Digest: manifests.DigestOf(sums)})
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, sumsFile+".sigstore.json"), bundle, 0o644)
}

func readKey(path string) (crypto.Signer, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	block, _ := pem.Decode(text)
	if block == nil {
		return nil, fmt.Errorf("it holds no PEM block")
	}
	key, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		return nil, err
	}
	signer, ok := key.(crypto.Signer)
	if !ok {
		return nil, fmt.Errorf("a %T cannot sign", key)
	}
	return signer, nil
}
