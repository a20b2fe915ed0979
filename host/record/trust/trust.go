// Package trust remembers who signs which skill, and what was revoked. The first
// signer of a skill is remembered; another signer, another source or a missing
// signature then has to be accepted by a person, by name. Names can be reserved
// for a signer beforehand, and a signer, a package or an artifact can be revoked.
//
// It judges and remembers. It fetches nothing, installs nothing and disables
// nothing: who does asks [Store.Assess] first, and puts what
// [Verdict.Changes] returns into the decision that installs. Only an
// [approval.Human] can make it trust anything.
//
// # Keys in the store
//
//	trust/signer/SHA256        -> a signer that is known; SHA256 is that of its text
//	trust/skill/NAME           -> who signs a skill and where it comes from
//	trust/package/CONTENT-HEX  -> how a package was accepted
//	trust/root/NAME            -> a trust root for keyless signatures
//	trust/revoked/SHA256       -> what a person revoked here; SHA256 is that of the target
//	trust/list/SHA256          -> the last revocation list of a signer
package trust

import (
	"context"
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
	"github.com/skillet-run/skillet/manifests"
	"github.com/skillet-run/skillet/manifests/signature"
	"github.com/skillet-run/skillet/manifests/signature/keyless"
)

// A Signer is one that is known here.
type Signer struct {
	Signer signature.Signer `json:"signer"`
	// Key is the public key; zero for keyless signers.
	Key signature.Key `json:"public_key,omitzero"`
	// Label is what a person calls the signer; may be empty.
	Label string `json:"label,omitempty"`
	// Names are the names of skills that are reserved for the signer: it is
	// trusted with them from the first time on, and nobody else is; and it is
	// trusted with no others. Empty for a signer that was met with a skill.
	Names []string `json:"names,omitempty"`
	// Revoker is whether its revocation lists count for everybody's packages.
	// Those of others count for what they signed themselves.
	Revoker bool `json:"revoker,omitempty"`
	// Own is whether it is this home's signing key, now or before.
	Own bool      `json:"own,omitempty"`
	By  string    `json:"by,omitempty"`
	At  time.Time `json:"at,omitzero"`
}

// Title is the signer for people: its label, if it has one, and its identity.
func (s Signer) Title() string {
	switch {
	case s.Label != "":
		return s.Label + " (" + s.Signer.Short() + ")"
	case s.Own:
		return "your own " + s.Signer.Short()
	}
	return s.Signer.Short()
}

// A Skill is what is remembered about the name of a skill.
type Skill struct {
	Name string `json:"skill"`
	// Signer is who has to sign its versions; empty while no version was signed.
	Signer signature.Signer `json:"signer,omitempty"`
	// Source is where it came from last, as it was written.
	Source string    `json:"source"`
	By     string    `json:"by,omitempty"`
	At     time.Time `json:"at,omitzero"`
}

// A Package is how one package was accepted.
type Package struct {
	Skill    string           `json:"skill"`
	Version  string           `json:"version"`
	Content  manifests.Digest `json:"content"`
	Artifact manifests.Digest `json:"artifact,omitempty"`
	Source   string           `json:"source"`
	// Directory and Listed are as in [Evidence].
	Directory bool               `json:"directory,omitempty"`
	Listed    bool               `json:"listed,omitempty"`
	Signers   []signature.Signer `json:"signers,omitempty"`
	// State is the verdict, and Accepted are the flags that were needed.
	State    State  `json:"state"`
	Accepted []Flag `json:"accepted,omitempty"`
	// Bundles are its signatures, as far as they were kept.
	Bundles [][]byte  `json:"bundles,omitempty"`
	By      string    `json:"by,omitempty"`
	At      time.Time `json:"at,omitzero"`
}

// A Root is a trust root for keyless signatures.
type Root struct {
	Name string `json:"name"`
	// Document is a trusted_root.json.
	Document []byte    `json:"document"`
	By       string    `json:"by,omitempty"`
	At       time.Time `json:"at,omitzero"`
}

// Known is what is known when a package is judged.
type Known struct {
	// Skill is what is remembered about the skill; zero when it is new.
	Skill Skill
	// Signers are all that are known, Roots the trust roots for keyless ones.
	Signers []Signer
	Roots   []*keyless.Root
	// Revocations are all that were made here or imported.
	Revocations []Revocation
}

// signer finds a signer; one that is not known has nothing but its identity.
func (k Known) signer(s signature.Signer) Signer {
	i := slices.IndexFunc(k.Signers, func(o Signer) bool { return o.Signer == s })
	if i < 0 {
		return Signer{Signer: s}
	}
	return k.Signers[i]
}

// keyring has the keys that are known.
func (k Known) keyring() signature.Keyring {
	var keys []signature.Key
	for _, s := range k.Signers {
		keys = append(keys, s.Key)
	}
	return signature.NewKeyring(keys...)
}

// A Store has what is known of signers, and commits decisions about them. It is
// safe for concurrent use.
type Store struct {
	ledger *ledger.Ledger
	kv     store.KV
}

// New makes a Store.
func New(l *ledger.Ledger, kv store.KV) *Store { return &Store{ledger: l, kv: kv} }

// Known reads what is known about a skill, and about everybody.
func (b *Store) Known(ctx context.Context, skill string) (Known, error) {
	var k Known
	var err error
	if k.Skill, err = get[Skill](ctx, b.kv, skillKey(skill)); err != nil && !errors.Is(err, store.ErrNotFound) {
		return k, fmt.Errorf("look up trust: %w", err)
	}
	if k.Signers, err = b.Signers(ctx); err != nil {
		return k, err
	}
	if k.Revocations, err = b.Revocations(ctx); err != nil {
		return k, err
	}
	roots, err := b.Roots(ctx)
	if err != nil {
		return k, err
	}
	for _, r := range roots {
		parsed, err := keyless.ParseRoot(r.Document)
		if err != nil {
			return k, fmt.Errorf("look up trust: root %s: %w", r.Name, err)
		}
		k.Roots = append(k.Roots, parsed)
	}
	return k, nil
}

// Assess verifies the signatures of a package and judges it by what is known:
// see [Known.Examine] and [Assess].
func (b *Store) Assess(ctx context.Context, e Evidence) (Verdict, error) {
	k, err := b.Known(ctx, e.Skill)
	if err != nil {
		return Verdict{}, err
	}
	v := Assess(k.Examine(e), k)
	if v.State == ChangedSigner {
		skills, err := b.Skills(ctx)
		if err != nil {
			return Verdict{}, err
		}
		v.compare(skills)
	}
	return v, nil
}

// Signers returns all known signers: own ones first, then by title.
func (b *Store) Signers(ctx context.Context) ([]Signer, error) {
	all, err := list[Signer](ctx, b.kv, "trust/signer/")
	if err != nil {
		return nil, fmt.Errorf("list signers: %w", err)
	}
	slices.SortStableFunc(all, func(a, b Signer) int {
		if a.Own != b.Own {
			return map[bool]int{true: -1, false: 1}[a.Own]
		}
		return strings.Compare(a.Title(), b.Title())
	})
	return all, nil
}

// Skills returns what is remembered about skills, by name.
func (b *Store) Skills(ctx context.Context) ([]Skill, error) {
	all, err := list[Skill](ctx, b.kv, "trust/skill/")
	if err != nil {
		return nil, fmt.Errorf("list trusted skills: %w", err)
	}
	for i := range all { // an earlier skillet kept tags and digests
		all[i].Source = LocationOf(all[i].Source)
	}
	return all, nil
}

// Roots returns the trust roots for keyless signatures, by name.
func (b *Store) Roots(ctx context.Context) ([]Root, error) {
	all, err := list[Root](ctx, b.kv, "trust/root/")
	if err != nil {
		return nil, fmt.Errorf("list trust roots: %w", err)
	}
	return all, nil
}

// Package returns how a package was accepted. The error wraps
// [store.ErrNotFound] when it never was.
func (b *Store) Package(ctx context.Context, content manifests.Digest) (Package, error) {
	p, err := get[Package](ctx, b.kv, packageKey(content))
	if err != nil {
		return p, fmt.Errorf("look up package %s: %w", content.Short(), err)
	}
	return p, nil
}

// A RevokedPackage is one that was accepted once and is revoked now.
type RevokedPackage struct {
	Package    Package    `json:"package"`
	Revocation Revocation `json:"revocation"`
}

// RevokedPackages returns the packages that were accepted here and are revoked,
// whether they are installed or not.
func (b *Store) RevokedPackages(ctx context.Context) ([]RevokedPackage, error) {
	packages, err := list[Package](ctx, b.kv, "trust/package/")
	if err != nil {
		return nil, fmt.Errorf("list accepted packages: %w", err)
	}
	rs, err := b.Revocations(ctx)
	if err != nil {
		return nil, err
	}
	skills, err := b.Skills(ctx)
	if err != nil {
		return nil, err
	}
	owners := map[string]signature.Signer{}
	for _, s := range skills {
		owners[s.Name] = s.Signer
	}
	var revoked []RevokedPackage
	for _, p := range packages {
		if r, ok := revocationOf(rs, Target{p.Content, p.Artifact, p.Signers, owners[p.Skill]}); ok {
			revoked = append(revoked, RevokedPackage{p, r})
		}
	}
	return revoked, nil
}

// Revocation returns what revokes a package; ok is false when nothing does.
func (b *Store) Revocation(ctx context.Context, t Target) (r Revocation, ok bool, err error) {
	rs, err := b.Revocations(ctx)
	if err != nil {
		return r, false, err
	}
	r, ok = revocationOf(rs, t)
	return r, ok, nil
}

// Find finds known signers by identity, label, or the beginning of a key's
// digits. It fails with a [fault.KindNotFound] error when there is none.
func (b *Store) Find(ctx context.Context, text string) (Signer, error) {
	all, err := b.Signers(ctx)
	if err != nil {
		return Signer{}, err
	}
	var found []Signer
	for _, s := range all {
		if string(s.Signer) == text || s.Label != "" && s.Label == text {
			return s, nil
		}
		if digits := strings.TrimPrefix(string(s.Signer), "key:sha256:"); len(text) >= 6 && strings.HasPrefix(digits, text) {
			found = append(found, s)
		}
	}
	if len(found) == 1 {
		return found[0], nil
	}
	return Signer{}, fault.Errorf(fault.KindNotFound, "signer %q: %d known signers are called so", text, len(found)).
		WithHint("%s shows who is known", fault.List(fault.Signers))
}

// checkHuman refuses the zero value.
func checkHuman(h approval.Human) error {
	if h == (approval.Human{}) {
		return fault.Errorf(fault.KindDenied, "only a person can decide whom to trust")
	}
	return nil
}

// stored wraps a value with the version of its stored form.
type stored[T any] struct {
	V     int `json:"v"`
	Value T   `json:"value"`
}

const storedVersion = 1

func put[T any](ctx context.Context, kv store.KV, key string, v T) error {
	b, err := json.Marshal(stored[T]{storedVersion, v})
	if err != nil {
		return err
	}
	_, err = kv.Put(ctx, key, b, store.AnyRevision)
	return err
}

func decode[T any](e store.Entry) (T, error) {
	var s stored[T]
	if err := json.Unmarshal(e.Value, &s); err != nil {
		return s.Value, fmt.Errorf("read %s: %w: %w", e.Key, store.ErrDamaged, err)
	}
	if s.V != storedVersion {
		return s.Value, fmt.Errorf("read %s: it has format %d, this skillet knows %d: use the skillet that wrote it, or a newer one", e.Key, s.V, storedVersion)
	}
	return s.Value, nil
}

func get[T any](ctx context.Context, kv store.KV, key string) (T, error) {
	e, err := kv.Get(ctx, key)
	if err != nil {
		var zero T
		return zero, err
	}
	return decode[T](e)
}

func list[T any](ctx context.Context, kv store.KV, prefix string) ([]T, error) {
	entries, err := kv.List(ctx, prefix)
	if err != nil {
		return nil, err
	}
	var all []T
	for _, e := range entries {
		v, err := decode[T](e)
		if err != nil {
			return nil, err
		}
		all = append(all, v)
	}
	return all, nil
}

func textKey(prefix, text string) string { return prefix + manifests.DigestOf([]byte(text)).Hex() }

func signerKey(s signature.Signer) string        { return textKey("trust/signer/", string(s)) }
func skillKey(name string) string                { return "trust/skill/" + name }
func packageKey(content manifests.Digest) string { return "trust/package/" + content.Hex() }
func rootKey(name string) string                 { return "trust/root/" + name }
func revokedKey(target string) string            { return textKey("trust/revoked/", target) }
func listKey(s signature.Signer) string          { return textKey("trust/list/", string(s)) }
