// Package token keeps the tokens with which callers of the service say who they are: what
// each may do, for which skills, and until when. A token is made and revoked by a person,
// as a decision in the journal. Its secret is shown once and kept as a hash.
//
// The package knows neither HTTP nor what a right is needed for.
//
// # Keys in the store
//
//	token/HASH-HEX         -> record
//	token-revoked/HASH-HEX -> name
package token

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/skillet-run/skillet/host/base/fault"
	"github.com/skillet-run/skillet/host/base/store"
	"github.com/skillet-run/skillet/host/record/approval"
	"github.com/skillet-run/skillet/host/record/ledger"
	"github.com/skillet-run/skillet/internal/lazyregexp"
)

// A Token is what is known of a token. Its secret is not among it.
type Token struct {
	// Name is chosen by whoever made it. No two tokens have the same.
	Name string `json:"name"`
	Role Role   `json:"role"`
	// Skills are the skills, and tools of skills as SKILL:TOOL, that it is good for; empty
	// for all.
	Skills []string `json:"skills,omitempty"`
	// Expires is when it ends.
	Expires time.Time `json:"expires"`
	// By made it, At.
	By string    `json:"by"`
	At time.Time `json:"at"`
}

// Local is the name of whoever asks at the local socket without a token. No token has it: its
// tasks and plans would be those of all of them.
const Local = "local"

// Live reports whether the token has not ended yet.
func (t Token) Live(now time.Time) bool { return now.Before(t.Expires) }

// record is a token as it is kept and decided about.
type record struct {
	Token
	// Hash is the SHA-256 of the secret, in hexadecimal digits.
	Hash string `json:"hash"`
}

// revoked is the data of the change that ends a token.
type revoked struct {
	Name string `json:"name"`
	Hash string `json:"hash"`
}

// The kinds of change this package owns.
const (
	kindCreated = "token.created"
	kindRevoked = "token.revoked"
)

const (
	prefix        = "token/"
	revokedPrefix = "token-revoked/" // remembered, so that it is known whose token is tried
)

func key(hash string) string { return prefix + hash }

// Projection applies the changes of this package to the store.
func Projection() ledger.Projection {
	return ledger.Table{Name: "token", State: []string{prefix, revokedPrefix}, Kinds: map[string]ledger.Apply{
		kindCreated: ledger.On(func(ctx context.Context, kv store.KV, at ledger.Stamp, r record) error {
			r.By, r.At = at.Actor, at.Time
			b, err := json.Marshal(r)
			if err == nil {
				_, err = kv.Put(ctx, key(r.Hash), b, store.AnyRevision)
			}
			return err
		}),
		kindRevoked: ledger.On(func(ctx context.Context, kv store.KV, _ ledger.Stamp, r revoked) error {
			if _, err := kv.Put(ctx, revokedPrefix+r.Hash, []byte(r.Name), store.AnyRevision); err != nil {
				return err
			}
			return ledger.Drop(ctx, kv, key(r.Hash))
		}),
	}}
}

// A Store has the tokens of a home. It is safe for concurrent use.
type Store struct {
	ledger *ledger.Ledger
	kv     store.KV
}

// New makes a Store.
func New(l *ledger.Ledger, kv store.KV) *Store { return &Store{l, kv} }

const (
	// secretPrefix begins each secret, so that scanners of source code know one.
	secretPrefix = "skt_"
	secretBytes  = 32
	// MaxTokens is how many tokens a home has at most, expired ones included.
	MaxTokens = 1000
	// MaxLife is the longest that a token is good for.
	MaxLife = 366 * 24 * time.Hour
)

var nameForm = lazyregexp.New(`^[a-z0-9][a-z0-9._-]{0,62}$`)

// Create makes a token, and returns its secret, which nobody can read again. Name, Role,
// Skills and Expires of t are what is asked for. A name that another token has is a
// [fault.KindConflict] error.
func (b *Store) Create(ctx context.Context, by approval.Human, t Token) (_ Token, secret string, err error) {
	if err := by.Check(); err != nil {
		return Token{}, "", err
	}
	if err := t.check(time.Now()); err != nil {
		return Token{}, "", err
	}
	random := make([]byte, secretBytes)
	_, _ = rand.Read(random) // never fails
	secret = secretPrefix + base64.RawURLEncoding.EncodeToString(random)
	r := record{Token: t, Hash: hashOf(secret)}
	err = b.ledger.Commit(ctx, func(ctx context.Context) (ledger.Decision, error) {
		if err := b.room(ctx, t.Name); err != nil {
			return ledger.Decision{}, err
		}
		c, err := ledger.NewChange(kindCreated, r)
		return ledger.Decision{Kind: "token.create", Actor: by.Actor(), Subject: t.Name, Note: t.note(), Changes: []ledger.Change{c}}, err
	})
	if err != nil {
		return Token{}, "", err
	}
	made, err := b.Find(ctx, secret)
	return made, secret, err
}

// room refuses a name that is taken, and more tokens than there may be.
func (b *Store) room(ctx context.Context, name string) error {
	all, err := b.records(ctx)
	if err != nil {
		return err
	}
	if slices.ContainsFunc(all, func(o record) bool { return o.Name == name }) {
		return fault.Errorf(fault.KindConflict, "a token named %s exists already", name).WithHint("choose another name, or revoke that one")
	}
	if len(all) >= MaxTokens {
		return fault.Errorf(fault.KindLimit, "there are %d tokens", len(all)).WithHint("revoke those that are not needed")
	}
	return nil
}

// note says in the audit log what the token is good for.
func (t Token) note() string {
	note := string(t.Role)
	if len(t.Skills) > 0 {
		note += " of " + strings.Join(t.Skills, ", ")
	}
	return note + ", until " + t.Expires.UTC().Format(time.RFC3339)
}

func (t Token) check(now time.Time) error {
	switch {
	case !nameForm().MatchString(t.Name):
		return fault.Errorf(fault.KindUsage, "%q cannot be the name of a token", t.Name).
			WithHint("it has small letters, digits, '.', '_' and '-', at most 63, and begins with a letter or a digit")
	case t.Name == Local:
		return fault.Errorf(fault.KindUsage, "%s is the name of who asks without a token", Local).WithHint("choose another name")
	case !slices.Contains(Roles(), t.Role):
		return fault.Errorf(fault.KindUsage, "unknown role %q", t.Role).WithHint("the roles are %s", roleNames())
	case !t.Live(now):
		return fault.Errorf(fault.KindUsage, "the token would have expired already").WithHint("give a time in the future")
	case t.Expires.After(now.Add(MaxLife)):
		return fault.Errorf(fault.KindUsage, "a token is good for at most %d days", MaxLife/(24*time.Hour))
	case len(t.Skills) > 0 && !t.Role.Scoped():
		return fault.Errorf(fault.KindUsage, "the role %s cannot be limited to some skills", t.Role).WithHint("the roles that can be limited are %s and %s", Caller, Agent)
	}
	for _, s := range t.Skills {
		if name, tool, named := strings.Cut(s, ":"); name == "" || named && tool == "" || strings.ContainsAny(s, "@/* \t\n") {
			return fault.Errorf(fault.KindUsage, "%q names neither a skill nor a tool of one", s).WithHint("write SKILL or SKILL:TOOL")
		}
	}
	return nil
}

// List returns the tokens, by name, those that have expired too.
func (b *Store) List(ctx context.Context) ([]Token, error) {
	all, err := b.records(ctx)
	tokens := make([]Token, 0, len(all))
	for _, r := range all {
		tokens = append(tokens, r.Token)
	}
	slices.SortFunc(tokens, func(a, b Token) int { return strings.Compare(a.Name, b.Name) })
	return tokens, err
}

// Revoke ends a token at once. A name that no token has is a [fault.KindNotFound] error.
func (b *Store) Revoke(ctx context.Context, by approval.Human, name string) (t Token, err error) {
	if err := by.Check(); err != nil {
		return Token{}, err
	}
	return t, b.ledger.Commit(ctx, func(ctx context.Context) (ledger.Decision, error) {
		all, err := b.records(ctx)
		if err != nil {
			return ledger.Decision{}, err
		}
		i := slices.IndexFunc(all, func(o record) bool { return o.Name == name })
		if i < 0 {
			return ledger.Decision{}, fault.Errorf(fault.KindNotFound, "token %q not found", name).WithHint("%s shows those there are", fault.List(fault.Tokens))
		}
		t = all[i].Token
		c, err := ledger.NewChange(kindRevoked, revoked{name, all[i].Hash})
		return ledger.Decision{Kind: "token.revoke", Actor: by.Actor(), Subject: name, Changes: []ledger.Change{c}}, err
	})
}

// ErrUnknown means that a secret is that of no token, ErrRevoked, which is an ErrUnknown, that
// the token was revoked, and ErrExpired that its time is over. Errors that wrap them are
// [fault.Error]s of [fault.KindDenied].
var (
	ErrUnknown = errors.New("the token is not known")
	ErrRevoked = fmt.Errorf("%w any more: it was revoked", ErrUnknown)
	ErrExpired = errors.New("the token has expired")
)

// Find returns the live token with a secret; with [ErrRevoked] and [ErrExpired] its name. It is
// found by its hash, so that how long that takes says nothing about the secrets there are.
func (b *Store) Find(ctx context.Context, secret string) (Token, error) {
	if !strings.HasPrefix(secret, secretPrefix) {
		return Token{}, fault.Wrap(fault.KindDenied, ErrUnknown)
	}
	e, err := b.kv.Get(ctx, key(hashOf(secret)))
	if errors.Is(err, store.ErrNotFound) {
		return b.gone(ctx, hashOf(secret))
	}
	if err != nil {
		return Token{}, err
	}
	r, err := decode(e)
	if err == nil && !r.Live(time.Now()) {
		err = fault.Wrap(fault.KindDenied, ErrExpired)
	}
	return r.Token, err
}

// gone is the name of the token with a hash that is not there, if it was.
func (b *Store) gone(ctx context.Context, hash string) (Token, error) {
	e, err := b.kv.Get(ctx, revokedPrefix+hash)
	if errors.Is(err, store.ErrNotFound) {
		return Token{}, fault.Wrap(fault.KindDenied, ErrUnknown)
	}
	if err != nil {
		return Token{}, err
	}
	return Token{Name: string(e.Value)}, fault.Wrap(fault.KindDenied, ErrRevoked)
}

func hashOf(secret string) string {
	sum := sha256.Sum256([]byte(secret))
	return hex.EncodeToString(sum[:])
}

func (b *Store) records(ctx context.Context) ([]record, error) {
	entries, err := b.kv.List(ctx, prefix)
	if err != nil {
		return nil, err
	}
	all := make([]record, 0, len(entries))
	for _, e := range entries {
		r, err := decode(e)
		if err != nil {
			return nil, err
		}
		all = append(all, r)
	}
	return all, nil
}

func decode(e store.Entry) (r record, err error) {
	if err := json.Unmarshal(e.Value, &r); err != nil {
		return r, fmt.Errorf("read %s: %w: %w", e.Key, store.ErrDamaged, err)
	}
	return r, nil
}
