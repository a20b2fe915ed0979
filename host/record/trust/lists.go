package trust

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/skillet-run/skillet/host/base/fault"

	"github.com/skillet-run/skillet/host/base/store"
	"github.com/skillet-run/skillet/host/record/approval"
	"github.com/skillet-run/skillet/host/record/ledger"
	"github.com/skillet-run/skillet/manifests"
	"github.com/skillet-run/skillet/manifests/signature"
)

// An Import is what importing a revocation list changed.
type Import struct {
	Signer signature.Signer `json:"signer"`
	// Sequence is the number of the list, Before that of the one it replaced; 0
	// for none. They are the same when the list was known.
	Sequence uint64 `json:"sequence"`
	Before   uint64 `json:"before"`
	// IssuedAt is when the signer says that it made the list.
	IssuedAt time.Time `json:"issued_at"`
	// Added and Dropped are the entries that it has and the one before had not,
	// and the other way round.
	Added   []Entry `json:"added"`
	Dropped []Entry `json:"dropped"`
	// Revoked are packages that were accepted here and are revoked by it.
	Revoked []RevokedPackage `json:"revoked"`
}

// ImportList takes over a revocation list that a known signer signed: document
// is the list, bundle the Sigstore bundle beside it. A list that is older than
// one that is known fails with an error that wraps [ErrRollback]. The list of a
// signer that is not a revoker counts for what that signer signed.
func (b *Store) ImportList(ctx context.Context, h approval.Human, document, bundle []byte) (Import, error) {
	known, err := b.Known(ctx, "")
	if err != nil {
		return Import{}, err
	}
	who, err := known.listSigner(document, bundle)
	if err != nil {
		return Import{}, err
	}
	l, err := ParseList(document)
	if err != nil {
		return Import{}, fault.Wrap(fault.KindUsage, err)
	}
	next := imported{Signer: who.Signer, Digest: manifests.DigestOf(document), List: l}
	before, err := b.RevokedPackages(ctx)
	if err != nil {
		return Import{}, err
	}
	result, err := b.replaceList(ctx, h, next)
	if err != nil {
		return result, err
	}
	result.Revoked, err = b.newlyRevoked(ctx, before)
	return result, err
}

// listSigner verifies the signature of a list, and returns who made it.
func (k Known) listSigner(document, bundle []byte) (Signer, error) {
	e := Evidence{Artifact: manifests.DigestOf(document), Blob: document}
	s, err := k.verifyArtifact(bundle, e, k.keyring())
	if err != nil {
		return Signer{}, fault.Wrap(fault.KindVerification, fmt.Errorf("import revocation list: %w", err)).Hinted(verifyHint(err))
	}
	who := k.signer(s.Signer)
	if who.At.IsZero() {
		return who, fault.Errorf(fault.KindVerification, "import revocation list: it is signed by %s, who is not known here", s.Signer.Short()).
			WithHint("%s, with the public key of whoever signed it, lets them revoke", fault.Trust("").With(fault.FieldRevoker))
	}
	if r, ok := revocationOf(k.Revocations, Target{Signers: []signature.Signer{s.Signer}}); ok {
		return who, fault.Errorf(fault.KindVerification, "import revocation list: its signer was %s", r.words(k)).WithHint("get a list of another signer")
	}
	return who, nil
}

// SignerOf verifies the signature of a document about what has a name, and returns who made it:
// a known signer to whom that name was given. Errors are [fault.Error]s of
// [fault.KindVerification].
func (k Known) SignerOf(name string, document, bundle []byte) (Signer, error) {
	s, err := k.verifyArtifact(bundle, Evidence{Artifact: manifests.DigestOf(document), Blob: document}, k.keyring())
	if err != nil {
		return Signer{}, fault.Wrap(fault.KindVerification, err).Hinted(verifyHint(err))
	}
	who := k.signer(s.Signer)
	if who.At.IsZero() || !slices.Contains(who.Names, name) {
		return who, fault.Errorf(fault.KindVerification, "it is signed by %s, to whom the name %s was not given", s.Signer.Short(), name).
			WithHint("%s gives it to whoever you know to sign it", fault.Trust("").With(fault.FieldFor, name))
	}
	if r, ok := revocationOf(k.Revocations, Target{Signers: []signature.Signer{s.Signer}}); ok {
		return who, fault.Errorf(fault.KindVerification, "its signer was %s", r.words(k)).WithHint("get it with another signature")
	}
	return who, nil
}

func (b *Store) replaceList(ctx context.Context, h approval.Human, next imported) (Import, error) {
	r := Import{Signer: next.Signer, Sequence: next.List.Sequence, IssuedAt: next.List.IssuedAt, Revoked: []RevokedPackage{}}
	if same, err := b.hasList(ctx, next); err != nil || same {
		r.Before, r.Added, r.Dropped = r.Sequence, []Entry{}, []Entry{}
		return r, err
	}
	d := ledger.Decision{Kind: "trust.import", Subject: string(next.Signer), Note: fmt.Sprintf("revocation list %d, %s", next.List.Sequence, next.Digest)}
	err := b.commit(ctx, h, d, func(ctx context.Context) ([]ledger.Change, error) {
		old, err := get[imported](ctx, b.kv, listKey(next.Signer))
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			return nil, err
		}
		if err := next.follows(old); err != nil {
			return nil, err
		}
		r.Before = old.List.Sequence
		r.Added, r.Dropped = without(next.List.Entries, old.List.Entries), without(old.List.Entries, next.List.Entries)
		return collect(change(kindListImported, next))
	})
	return r, err
}

// hasList reports whether a list is the one that is known, all of it: then
// nothing is decided, however often it is fetched.
func (b *Store) hasList(ctx context.Context, l imported) (bool, error) {
	old, err := get[imported](ctx, b.kv, listKey(l.Signer))
	if errors.Is(err, store.ErrNotFound) {
		return false, nil
	}
	return err == nil && old.Digest == l.Digest && old.List.Sequence == l.List.Sequence && len(old.List.Entries) == len(l.List.Entries), err
}

// follows demands that l may stand in the place of old.
func (l imported) follows(old imported) error {
	had, have := old.List.Sequence, l.List.Sequence
	if have > had || have == had && l.Digest == old.Digest {
		return nil
	}
	what := fmt.Sprintf("it has number %d, and number %d is known", have, had)
	if have == had {
		what = fmt.Sprintf("another list of number %d is known", have)
	}
	return fault.Wrap(fault.KindVerification, fmt.Errorf("import revocation list: %w: %s", ErrRollback, what)).
		WithHint("get the newest list of %s; one that is older may hide what was revoked since", l.Signer.Short())
}

// without are the entries of a whose target none of b has.
func without(a, b []Entry) []Entry {
	rest := []Entry{}
	for _, e := range a {
		if !slices.ContainsFunc(b, func(o Entry) bool { return o.Target() == e.Target() }) {
			rest = append(rest, e)
		}
	}
	return rest
}

// A ListSigner signs a list, as the signing key of a home does.
type ListSigner interface {
	Identity() signature.Signer
	Sign(subjects ...signature.Subject) ([]byte, error)
}

// ExportList makes a revocation list of what was revoked here, signed by key,
// for others to import. Its number is one more than that of the last. The
// subject of the signature is named name.
func (b *Store) ExportList(ctx context.Context, h approval.Human, key ListSigner, name string) (document, bundle []byte, err error) {
	d := ledger.Decision{Kind: "trust.export", Subject: string(key.Identity())}
	err = b.commit(ctx, h, d, func(ctx context.Context) ([]ledger.Change, error) {
		l, err := b.ownList(ctx, key.Identity())
		if err != nil {
			return nil, err
		}
		if document, err = l.encode(); err != nil {
			return nil, err
		}
		digest := manifests.DigestOf(document)
		if bundle, err = key.Sign(signature.Subject{Name: name, Digest: digest}); err != nil {
			return nil, err
		}
		// Its entries are here already; the number is what has to be known.
		l.Entries = nil
		return collect(change(kindListImported, imported{Signer: key.Identity(), Digest: digest, List: l}))
	})
	return document, bundle, err
}

// ownList is the next list of what was revoked here.
func (b *Store) ownList(ctx context.Context, who signature.Signer) (List, error) {
	last, err := get[imported](ctx, b.kv, listKey(who))
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return List{}, err
	}
	all, err := list[Revocation](ctx, b.kv, "trust/revoked/")
	if err != nil {
		return List{}, err
	}
	l := List{Format: ListFormat, Sequence: last.List.Sequence + 1, IssuedAt: time.Now().UTC().Truncate(time.Second), Entries: []Entry{}}
	for _, r := range all {
		l.Entries = append(l.Entries, r.Entry)
	}
	slices.SortFunc(l.Entries, func(a, b Entry) int { return a.RevokedAt.Compare(b.RevokedAt) })
	if err := l.check(); err != nil {
		return List{}, fault.Errorf(fault.KindLimit, "export revocation list: %w", err).WithHint("take back what need not be revoked any more")
	}
	return l, nil
}
