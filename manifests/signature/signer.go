package signature

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
	"unicode"

	"github.com/skillet-run/skillet/manifests"
)

// A Signer says who made a signature, in one of two forms:
//
//	key:sha256:HEX            the holder of a key: the SHA-256 of its DER SubjectPublicKeyInfo (RFC 5280, section 4.1)
//	keyless:ISSUER/IDENTITY   who the issuer, an OpenID provider, says it was
//
// ISSUER is the issuer's URL without https://, its slashes written %2F, so that
// the first slash ends it. The zero value is nobody.
type Signer string

// ErrSigner means that a text is not a signer.
var ErrSigner = errors.New(`want "key:sha256:" and 64 hexadecimal digits, or "keyless:ISSUER/IDENTITY"`)

const (
	keyPrefix     = "key:sha256:"
	keylessPrefix = "keyless:"
	maxSigner     = 2048 // bytes
)

// ParseSigner checks that text is a signer as [Signer] describes it. The error
// wraps [ErrSigner].
func ParseSigner(text string) (Signer, error) {
	s := Signer(text)
	if hex, ok := strings.CutPrefix(text, keyPrefix); ok {
		if _, err := manifests.ParseDigest("sha256:" + hex); err == nil {
			return s, nil
		}
	}
	if issuer, identity, ok := s.Keyless(); ok {
		if same, err := KeylessSigner(issuer, identity); err == nil && same == s {
			return s, nil
		}
	}
	return "", fmt.Errorf("parse signer %q: %w", text[:min(len(text), maxSigner)], ErrSigner)
}

// KeylessSigner is the signer of whom the issuer vouches for. The error wraps
// [ErrSigner].
func KeylessSigner(issuer, identity string) (Signer, error) {
	host, ok := strings.CutPrefix(issuer, "https://")
	u, err := url.Parse(issuer)
	switch {
	case !ok || err != nil || u.Host == "" || u.User != nil || strings.Contains(host, "%"):
		return "", fmt.Errorf("issuer %q: %w: an issuer is an https URL", issuer, ErrSigner)
	case identity == "" || len(issuer)+len(identity) > maxSigner-64 || !printable(issuer) || !printable(identity):
		return "", fmt.Errorf("identity %q: %w", identity, ErrSigner)
	}
	return Signer(keylessPrefix + strings.ReplaceAll(host, "/", "%2F") + "/" + identity), nil
}

func printable(s string) bool {
	return strings.IndexFunc(s, func(r rune) bool { return !unicode.IsPrint(r) || unicode.IsSpace(r) }) < 0
}

// Keyless returns issuer and identity; ok is false for the holder of a key.
func (s Signer) Keyless() (issuer, identity string, ok bool) {
	rest, ok := strings.CutPrefix(string(s), keylessPrefix)
	if !ok {
		return "", "", false
	}
	host, identity, ok := strings.Cut(rest, "/")
	return "https://" + strings.ReplaceAll(host, "%2F", "/"), identity, ok
}

// Short is the signer for people: the first 12 digits of a key, or the identity
// and the issuer.
func (s Signer) Short() string {
	if hex, ok := strings.CutPrefix(string(s), keyPrefix); ok {
		return "key " + hex[:min(12, len(hex))]
	}
	if issuer, identity, ok := s.Keyless(); ok {
		return identity + " (" + strings.TrimPrefix(issuer, "https://") + ")"
	}
	return string(s)
}
