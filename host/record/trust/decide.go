package trust

import (
	"context"
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
	"github.com/skillet-run/skillet/manifests"
	"github.com/skillet-run/skillet/manifests/signature"
	"github.com/skillet-run/skillet/manifests/signature/keyless"
)

// Signer returns what is known about a signer; one that is not known has a zero
// At.
func (b *Store) Signer(ctx context.Context, who signature.Signer) (Signer, error) {
	s, err := get[Signer](ctx, b.kv, signerKey(who))
	if errors.Is(err, store.ErrNotFound) {
		return Signer{Signer: who}, nil
	}
	if err != nil {
		return s, fmt.Errorf("look up signer %s: %w", who.Short(), err)
	}
	return s, nil
}

// commit makes a decision whose changes decide returns.
func (b *Store) commit(ctx context.Context, h approval.Human, d ledger.Decision, decide func(context.Context) ([]ledger.Change, error)) error {
	if err := checkHuman(h); err != nil {
		return err
	}
	d.Actor = h.Actor()
	return b.ledger.Commit(ctx, func(ctx context.Context) (ledger.Decision, error) {
		var err error
		d.Changes, err = decide(ctx)
		return d, err
	})
}

// maxLabel is how many bytes a label has.
const maxLabel = 100

// Add makes a signer known, with the names that are reserved for it. What is
// known about it already is kept, and added to.
func (b *Store) Add(ctx context.Context, h approval.Human, s Signer) (Signer, error) {
	if err := checkSigner(s); err != nil {
		return Signer{}, err
	}
	err := b.commit(ctx, h, ledger.Decision{Kind: "trust", Subject: string(s.Signer), Note: s.note()}, func(ctx context.Context) ([]ledger.Change, error) {
		known, err := b.Signer(ctx, s.Signer)
		if err != nil {
			return nil, err
		}
		s = known.with(s)
		if s.Key.IsZero() && strings.HasPrefix(string(s.Signer), "key:") {
			return nil, fault.Errorf(fault.KindUsage, "the key of %s is not known", s.Signer.Short()).
				WithHint("name the file of the public key instead, or install something it signed first")
		}
		return collect(change(kindSignerAdded, s))
	})
	if err != nil {
		return Signer{}, err
	}
	return b.Signer(ctx, s.Signer)
}

func checkSigner(s Signer) error {
	if _, err := signature.ParseSigner(string(s.Signer)); err != nil {
		return fault.Wrap(fault.KindUsage, err)
	}
	if !s.Key.IsZero() && s.Key.Signer() != s.Signer {
		return fault.Errorf(fault.KindUsage, "signer %s: the key is that of %s", s.Signer.Short(), s.Key.Signer().Short())
	}
	if len(s.Label) > maxLabel || !printable(s.Label) {
		return fault.Errorf(fault.KindUsage, "a label is one line of at most %d bytes", maxLabel)
	}
	return CheckNames(s.Names)
}

// with is s and what o adds to it.
func (s Signer) with(o Signer) Signer {
	if s.Key.IsZero() {
		s.Key = o.Key
	}
	if o.Label != "" {
		s.Label = o.Label
	}
	for _, n := range o.Names {
		if !slices.Contains(s.Names, n) {
			s.Names = append(s.Names, n)
		}
	}
	s.Revoker = s.Revoker || o.Revoker
	return s
}

func (s Signer) note() string {
	var parts []string
	if len(s.Names) > 0 {
		parts = append(parts, "for "+strings.Join(s.Names, ", "))
	}
	if s.Revoker {
		parts = append(parts, "may revoke")
	}
	return strings.Join(parts, "; ")
}

var rootNameForm = lazyregexp.New(`^[a-z0-9][a-z0-9._-]{0,63}$`)

// maxRoot is the longest trust root that is kept, in bytes.
const maxRoot = 256 << 10

// AddRoot makes keyless signatures verifiable that the authorities and logs of a
// trust root vouch for; one of that name is replaced. Nobody is trusted by that
// alone.
func (b *Store) AddRoot(ctx context.Context, h approval.Human, name string, document []byte) error {
	if !rootNameForm().MatchString(name) {
		return fault.Errorf(fault.KindUsage, "trust root %q: a name is 1 to 64 lower-case letters, digits, dots, dashes and underscores", name)
	}
	if len(document) > maxRoot {
		return fault.Errorf(fault.KindUsage, "trust root %s: it has %d bytes, at most %d are accepted", name, len(document), maxRoot)
	}
	if _, err := keyless.ParseRoot(document); err != nil {
		return fault.Wrap(fault.KindUsage, err).WithHint("it is a trusted_root.json, as `cosign trusted-root create` writes it")
	}
	d := ledger.Decision{Kind: "trust", Subject: "root " + name, Note: string(manifests.DigestOf(document))}
	return b.commit(ctx, h, d, func(context.Context) ([]ledger.Change, error) {
		return collect(change(kindRootAdded, Root{Name: name, Document: document}))
	})
}

// Remove forgets a signer, with every skill it is remembered for; or a skill; or
// a trust root. It returns what it forgot, in words. What is forgotten is met for
// the first time again; to have it refused, see [Store.Revoke]. This home's own
// signing key is not forgotten.
func (b *Store) Remove(ctx context.Context, h approval.Human, text string) ([]string, error) {
	var words []string
	err := b.commit(ctx, h, ledger.Decision{Kind: "untrust", Subject: text}, func(ctx context.Context) ([]ledger.Change, error) {
		for _, find := range []func(context.Context, string) ([]made, []string, error){b.forgetSkill, b.forgetRoot, b.forgetSigner} {
			changes, found, err := find(ctx, text)
			if err != nil {
				return nil, err
			}
			if words = found; len(found) > 0 {
				return collect(changes...)
			}
		}
		return nil, fault.Errorf(fault.KindNotFound, "signer, skill or trust root %q not found", text).WithHint("%s shows what is known", fault.List(fault.Signers))
	})
	return words, err
}

func (b *Store) forgetSkill(ctx context.Context, name string) ([]made, []string, error) {
	all, err := b.Skills(ctx)
	if err != nil || !slices.ContainsFunc(all, func(s Skill) bool { return s.Name == name }) {
		return nil, nil, err
	}
	return []made{change(kindSkillForgotten, named{name})}, []string{"skill " + name}, nil
}

func (b *Store) forgetRoot(ctx context.Context, name string) ([]made, []string, error) {
	all, err := b.Roots(ctx)
	if err != nil || !slices.ContainsFunc(all, func(r Root) bool { return r.Name == name }) {
		return nil, nil, err
	}
	return []made{change(kindRootRemoved, named{name})}, []string{"trust root " + name}, nil
}

func (b *Store) forgetSigner(ctx context.Context, text string) ([]made, []string, error) {
	s, err := b.Find(ctx, text)
	if err != nil {
		return nil, nil, ignoreNotFound(err)
	}
	if s.Own {
		return nil, nil, fault.Errorf(fault.KindDenied, "%s signs for this home", s.Signer.Short()).
			WithHint("%s makes another; %s refuses what this one signed", fault.RotateKey(), fault.RevokeSigner(string(s.Signer)))
	}
	changes, words := []made{change(kindSignerRemoved, named{string(s.Signer)})}, []string{"signer " + s.Title()}
	skills, err := b.Skills(ctx)
	if err != nil {
		return nil, nil, err
	}
	for _, k := range skills {
		if k.Signer == s.Signer {
			changes, words = append(changes, change(kindSkillForgotten, named{k.Name})), append(words, "skill "+k.Name)
		}
	}
	return changes, words, nil
}

func ignoreNotFound(err error) error {
	var e *fault.Error
	if errors.As(err, &e) && e.Kind == fault.KindNotFound {
		return nil
	}
	return err
}

// Revoke refuses a package, an artifact or a signer from now on. It returns the
// packages that were accepted before and are revoked by it.
func (b *Store) Revoke(ctx context.Context, h approval.Human, e Entry) ([]RevokedPackage, error) {
	e.RevokedAt = time.Now().UTC().Truncate(time.Second)
	if err := e.check(); err != nil {
		return nil, fault.Errorf(fault.KindUsage, "revoke: %w", err)
	}
	before, err := b.RevokedPackages(ctx)
	if err != nil {
		return nil, err
	}
	d := ledger.Decision{Kind: "trust.revoke", Subject: e.Target(), Note: e.Reason}
	err = b.commit(ctx, h, d, func(context.Context) ([]ledger.Change, error) {
		return collect(change(kindRevoked, Revocation{Entry: e}))
	})
	if err != nil {
		return nil, err
	}
	return b.newlyRevoked(ctx, before)
}

func (b *Store) newlyRevoked(ctx context.Context, before []RevokedPackage) ([]RevokedPackage, error) {
	after, err := b.RevokedPackages(ctx)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(after, func(p RevokedPackage) bool {
		return slices.ContainsFunc(before, func(o RevokedPackage) bool { return o.Package.Content == p.Package.Content })
	}), nil
}

// Unrevoke takes back what was revoked here; lists of others stay. It fails with
// a [fault.KindNotFound] error when nothing is.
func (b *Store) Unrevoke(ctx context.Context, h approval.Human, e Entry) error {
	return b.commit(ctx, h, ledger.Decision{Kind: "trust.unrevoke", Subject: e.Target()}, func(ctx context.Context) ([]ledger.Change, error) {
		if _, err := b.kv.Get(ctx, revokedKey(e.Target())); errors.Is(err, store.ErrNotFound) {
			return nil, fault.Errorf(fault.KindNotFound, "%s was not revoked here", e.title()).WithHint("%s shows what is revoked, and by whom", fault.List(fault.Revocations))
		} else if err != nil {
			return nil, err
		}
		return collect(change(kindUnrevoked, named{e.Target()}))
	})
}
