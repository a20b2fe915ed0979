package trust

import (
	"context"
	"fmt"
	"slices"

	"github.com/skillet-run/skillet/host/record/ledger"
)

// A Snapshot is all that is remembered, for comparing two states of a home.
type Snapshot struct {
	signers []Signer
	roots   []Root
	revoked []Revocation // here, by a person
	lists   []imported
}

// Snapshot reads all that is remembered.
func (b *Store) Snapshot(ctx context.Context) (Snapshot, error) {
	var s Snapshot
	var err error
	if s.signers, err = b.Signers(ctx); err != nil {
		return s, err
	}
	if s.roots, err = b.Roots(ctx); err != nil {
		return s, err
	}
	if s.revoked, err = list[Revocation](ctx, b.kv, "trust/revoked/"); err != nil {
		return s, fmt.Errorf("list revocations: %w", err)
	}
	if s.lists, err = list[imported](ctx, b.kv, "trust/list/"); err != nil {
		return s, fmt.Errorf("list revocation lists: %w", err)
	}
	return s, nil
}

// Empty reports whether nothing is remembered.
func (s Snapshot) Empty() bool {
	return len(s.signers)+len(s.roots)+len(s.revoked)+len(s.lists) == 0
}

// Reconcile is for a home of whose decisions some were lost: s is what the
// others lead to, known what the store still knew; nil when it knew nothing. It
// returns the changes that end what gives trust and that known has not, and that
// give back the revocations which s has not; and what they end, in words. What
// is remembered about skills stays: it only ever makes somebody be asked.
func (s Snapshot) Reconcile(known *Snapshot) (changes []ledger.Change, ended []string, err error) {
	var all []made
	if known == nil {
		known = &Snapshot{}
	}
	for _, g := range s.signers {
		if !g.gives() || slices.ContainsFunc(known.signers, g.sameAs) {
			continue
		}
		all, ended = append(all, change(kindSignerRemoved, named{string(g.Signer)})), append(ended, "signer "+g.Title())
	}
	for _, r := range s.roots {
		if !slices.ContainsFunc(known.roots, r.sameAs) {
			all, ended = append(all, change(kindRootRemoved, named{r.Name})), append(ended, "trust root "+r.Name)
		}
	}
	changes, err = collect(append(all, s.missing(known)...)...)
	return changes, ended, err
}

// missing gives back what known revokes and s does not.
func (s Snapshot) missing(known *Snapshot) []made {
	var all []made
	for _, r := range known.revoked {
		if !slices.ContainsFunc(s.revoked, func(o Revocation) bool { return o.Target() == r.Target() }) {
			all = append(all, change(kindRevoked, r))
		}
	}
	for _, l := range known.lists {
		if !slices.ContainsFunc(s.lists, func(o imported) bool { return o.Signer == l.Signer && o.List.Sequence >= l.List.Sequence }) {
			all = append(all, change(kindListImported, l))
		}
	}
	return all
}

// gives reports whether the signer has rights: reserved names, or the right to revoke.
func (s Signer) gives() bool { return len(s.Names) > 0 || s.Revoker || s.Own }

func (s Signer) sameAs(o Signer) bool {
	return s.Signer == o.Signer && slices.Equal(s.Names, o.Names) && s.Revoker == o.Revoker && s.Own == o.Own
}

func (r Root) sameAs(o Root) bool { return r.Name == o.Name && slices.Equal(r.Document, o.Document) }
