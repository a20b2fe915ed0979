package checkpoint

import (
	"crypto/ed25519"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"strings"

	"golang.org/x/mod/sumdb/note"
)

// NamePrefix begins the name of every home's keys; 16 hexadecimal digits follow.
const NamePrefix = "skillet-audit-"

var (
	// ErrUnknownKey means that a statement was signed, but by none of the keys it
	// may be signed by.
	ErrUnknownKey = errors.New("signed by another key")
	// ErrSignature means that the signature of a known key does not fit the
	// statement.
	ErrSignature = errors.New("the signature does not fit")
	// ErrKey means that a text is not a public key.
	ErrKey = errors.New("not a public key of an audit log")
)

// A Public is the public half of a home's key. The zero value is invalid.
type Public struct {
	name string
	key  string // the 32 bytes; a string, so that keys can be compared with ==
}

// Name is the name of the home's keys, "skillet-audit-" and 16 digits.
func (p Public) Name() string { return p.name }

// String is the key in the form NAME+HASH+KEY of a signed note's verifier key
// (C2SP signed-note); empty for the zero value.
func (p Public) String() string {
	if p.key == "" {
		return ""
	}
	text, err := note.NewEd25519VerifierKey(p.name, ed25519.PublicKey(p.key))
	if err != nil {
		panic("checkpoint: " + err.Error()) // the length is checked wherever a key is made
	}
	return text
}

// PEM is the key as a PEM block of its SubjectPublicKeyInfo (RFC 8410).
func (p Public) PEM() ([]byte, error) {
	der, err := x509.MarshalPKIXPublicKey(ed25519.PublicKey(p.key))
	if err != nil {
		return nil, fmt.Errorf("write public key %s: %w", p.name, err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der}), nil
}

// MarshalText returns [Public.String]; it never fails.
func (p Public) MarshalText() ([]byte, error) { return []byte(p.String()), nil }

// UnmarshalText reads what MarshalText wrote. The error is [ErrKey].
func (p *Public) UnmarshalText(text []byte) (err error) {
	*p, err = parsePublic(string(text))
	return err
}

// ReadPublic reads a key as [Public.String] or [Public.PEM] wrote it. A PEM
// block does not say whose key it is: it is taken as one of name. The error is
// [ErrKey].
func ReadPublic(text []byte, name string) (Public, error) {
	block, _ := pem.Decode(text)
	if block == nil {
		return parsePublic(strings.TrimSpace(string(text)))
	}
	parsed, err := x509.ParsePKIXPublicKey(block.Bytes)
	key, ok := parsed.(ed25519.PublicKey)
	if err != nil || !ok {
		return Public{}, fmt.Errorf("%w: the PEM block holds no Ed25519 key", ErrKey)
	}
	return Public{name, string(key)}, nil
}

func parsePublic(text string) (Public, error) {
	name, rest, _ := strings.Cut(text, "+")
	_, encoded, _ := strings.Cut(rest, "+")
	b, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil || len(b) != 1+ed25519.PublicKeySize {
		return Public{}, fmt.Errorf("%w: %.80q", ErrKey, text)
	}
	p := Public{name, string(b[1:])}
	if _, err := note.NewVerifier(text); err != nil || p.String() != text {
		return Public{}, fmt.Errorf("%w: %.80q", ErrKey, text)
	}
	return p, nil
}

// A Private signs statements.
type Private struct {
	Public
	signer ed25519.PrivateKey
}

// NewHome makes the first key of a home, which also gives the home its name: the
// SHA-256 of the key's SubjectPublicKeyInfo, of which 16 digits are kept.
func NewHome() (Private, error) {
	p, err := generate("")
	if err != nil {
		return Private{}, err
	}
	der, err := x509.MarshalPKIXPublicKey(p.signer.Public())
	if err != nil {
		return Private{}, fmt.Errorf("make an audit key: %w", err)
	}
	sum := sha256.Sum256(der)
	p.name = NamePrefix + hex.EncodeToString(sum[:8])
	return p, nil
}

// Successor makes another key of the same home.
func (p Private) Successor() (Private, error) { return generate(p.name) }

func generate(name string) (Private, error) {
	public, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return Private{}, fmt.Errorf("make an audit key: %w", err)
	}
	return Private{Public{name, string(public)}, private}, nil
}

// Seed is the secret from which [FromSeed] makes the key again, 32 bytes.
func (p Private) Seed() []byte { return p.signer.Seed() }

// FromSeed is the key of the given name and seed. The error is [ErrKey].
func FromSeed(name string, seed []byte) (Private, error) {
	if len(seed) != ed25519.SeedSize {
		return Private{}, fmt.Errorf("%w: a seed has %d bytes", ErrKey, ed25519.SeedSize)
	}
	private := ed25519.NewKeyFromSeed(seed)
	return Private{Public{name, string(private.Public().(ed25519.PublicKey))}, private}, nil
}

// noteSigner is a Private as the note package wants it.
type noteSigner struct {
	note.Verifier
	key ed25519.PrivateKey
}

func (s noteSigner) Sign(msg []byte) ([]byte, error) { return ed25519.Sign(s.key, msg), nil }

// Sign returns the statement as a note. The same statement is always the same
// bytes (RFC 8032).
func (p Private) Sign(c Checkpoint) ([]byte, error) {
	text, err := c.Text()
	if err != nil {
		return nil, err
	}
	v, err := note.NewVerifier(p.String())
	if err != nil {
		return nil, fmt.Errorf("sign checkpoint: %w", err)
	}
	return note.Sign(&note.Note{Text: text}, noteSigner{v, p.signer})
}

// Open checks the signature of a note, which must be one of the keys', and
// returns what it says and whose it is. It accepts exactly what
// [Private.Sign] makes. errors.Is finds [ErrSyntax], [ErrUnknownKey] or
// [ErrSignature].
func Open(signed []byte, keys ...Public) (Checkpoint, Public, error) {
	var vs []note.Verifier
	for _, k := range keys {
		v, err := note.NewVerifier(k.String())
		if err != nil {
			return Checkpoint{}, Public{}, fmt.Errorf("check checkpoint: %w", err)
		}
		vs = append(vs, v)
	}
	n, err := note.Open(signed, note.VerifierList(vs...))
	if err != nil {
		return Checkpoint{}, Public{}, translate(err)
	}
	c, err := Parse(n.Text)
	if err != nil {
		return c, Public{}, err
	}
	if len(n.Sigs) != 1 || string(join(n.Text, n.Sigs[0].Name, n.Sigs[0].Base64)) != string(signed) || !canonical(n.Sigs[0].Base64) {
		return c, Public{}, fmt.Errorf("%w: it has another signature beside the one that is known", ErrSyntax)
	}
	for i, v := range vs {
		if v.KeyHash() == n.Sigs[0].Hash {
			return c, keys[i], nil
		}
	}
	return c, Public{}, ErrUnknownKey
}

// translate says what an error of the note package means.
func translate(err error) error {
	var unknown *note.UnverifiedNoteError
	var invalid *note.InvalidSignatureError
	switch {
	case errors.As(err, &unknown) && len(unknown.Note.UnverifiedSigs) > 0:
		s := unknown.Note.UnverifiedSigs[0]
		return fmt.Errorf("%w: %s+%08x", ErrUnknownKey, s.Name, s.Hash)
	case errors.As(err, &invalid):
		return ErrSignature
	}
	return fmt.Errorf("%w: %w", ErrSyntax, err)
}

// canonical reports whether base64 has no bits to spare that are not zero.
func canonical(text string) bool {
	_, err := base64.StdEncoding.Strict().DecodeString(text)
	return err == nil
}

// Signature is the last part of a note, from which and from the statement
// [Join] makes the note again.
func Signature(signed []byte) string {
	text := strings.TrimSuffix(string(signed), "\n")
	return text[strings.LastIndexByte(text, ' ')+1:]
}

// Join is the note of a statement with a signature that [Signature] took off.
func Join(c Checkpoint, signature string) ([]byte, error) {
	text, err := c.Text()
	if err != nil {
		return nil, err
	}
	name, _, _ := strings.Cut(c.Origin, "/")
	return join(text, name, signature), nil
}

func join(text, name, signature string) []byte {
	return []byte(text + "\n— " + name + " " + signature + "\n")
}

// Line is a note as one line of JSON, which is how it is stored:
//
//	{"checkpoint":"…"}
func Line(note []byte) []byte {
	b, err := json.Marshal(line{string(note)})
	if err != nil {
		panic("checkpoint: " + err.Error()) // a string can always be marshalled
	}
	return append(b, '\n')
}

type line struct {
	Checkpoint string `json:"checkpoint"`
}

// LineOpen begins every [Line].
const LineOpen = `{"checkpoint":"`

// ParseLine returns the note of a line, exactly as [Line] made it. The error is
// [ErrSyntax].
func ParseLine(b []byte) ([]byte, error) {
	var l line
	if err := json.Unmarshal(b, &l); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrSyntax, err)
	}
	if note := []byte(l.Checkpoint); string(Line(note)) == string(b) {
		return note, nil
	}
	return nil, fmt.Errorf("%w: the line is not in the form it was written in", ErrSyntax)
}
