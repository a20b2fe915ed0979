package trust

import (
	"context"

	"github.com/skillet-run/skillet/host/base/store"
	"github.com/skillet-run/skillet/host/record/approval"
	"github.com/skillet-run/skillet/host/record/ledger"
	"github.com/skillet-run/skillet/manifests/signature"
)

// The kinds of change this package owns.
const (
	kindSignerAdded    = "trust.signer_added"
	kindSignerRemoved  = "trust.signer_removed"
	kindSkillTrusted   = "trust.skill_remembered"
	kindSkillForgotten = "trust.skill_forgotten"
	kindAccepted       = "trust.package_accepted"
	kindRootAdded      = "trust.root_added"
	kindRootRemoved    = "trust.root_removed"
	kindRevoked        = "trust.revoked"
	kindUnrevoked      = "trust.unrevoked"
	kindListImported   = "trust.list_imported"
)

// named is the data of the changes that take something away.
type named struct {
	Name string `json:"name"`
}

// Changes are what accepting a package makes remembered: its signer, its source,
// and how it was accepted. Put them into the decision that installs it. It fails
// as [Verdict.Refusal] does, and for a zero Human.
func (v Verdict) Changes(h approval.Human, accepted ...Flag) ([]ledger.Change, error) {
	if err := checkHuman(h); err != nil {
		return nil, err
	}
	if err := v.Refusal(accepted...); err != nil {
		return nil, err
	}
	q := v.question
	skill := Skill{Name: v.Skill, Signer: v.known.Skill.Signer, Source: LocationOf(v.Source)}
	if v.Signer != "" { // a version without a signature does not make the signer forgotten
		skill.Signer = v.Signer
	}
	p := Package{
		Skill: v.Skill, Version: v.Version, Content: q.Content, Artifact: q.Artifact, Source: v.Source, Directory: q.Directory, Listed: q.Listed,
		Signers: signers(q.Signatures), State: v.State, Accepted: v.needed(), Bundles: fitting(q.Bundles),
	}
	all := []made{change(kindSkillTrusted, skill), change(kindAccepted, p)}
	if v.Signer != "" && v.known.signer(v.Signer).At.IsZero() {
		all = append(all, change(kindSignerAdded, Signer{Signer: v.Signer, Key: v.Key()}))
	}
	return collect(all...)
}

// Own is the change that makes a key known as this home's own signing key. Call
// it in the decision that makes the key.
func (b *Store) Own(ctx context.Context, key signature.Key) (ledger.Change, error) {
	s, err := b.Signer(ctx, key.Signer())
	if err != nil {
		return ledger.Change{}, err
	}
	s.Key, s.Own = key, true
	return ledger.NewChange(kindSignerAdded, s)
}

// A made is a change, or why there is none.
type made struct {
	change ledger.Change
	err    error
}

func change(kind string, data any) made {
	c, err := ledger.NewChange(kind, data)
	return made{c, err}
}

func collect(all ...made) ([]ledger.Change, error) {
	var changes []ledger.Change
	for _, m := range all {
		if m.err != nil {
			return nil, m.err
		}
		changes = append(changes, m.change)
	}
	return changes, nil
}

// Projection applies the changes of this package to the store.
func Projection() ledger.Projection {
	return ledger.Table{Name: "trust", State: []string{"trust/"}, Kinds: map[string]ledger.Apply{
		kindSignerAdded: keep(func(s *Signer, at ledger.Stamp) string {
			s.By, s.At = at.Actor, at.Time
			return signerKey(s.Signer)
		}),
		kindSkillTrusted: keep(func(s *Skill, at ledger.Stamp) string {
			s.By, s.At = at.Actor, at.Time
			return skillKey(s.Name)
		}),
		kindAccepted: keep(func(p *Package, at ledger.Stamp) string {
			p.By, p.At = at.Actor, at.Time
			return packageKey(p.Content)
		}),
		kindRootAdded: keep(func(r *Root, at ledger.Stamp) string {
			r.By, r.At = at.Actor, at.Time
			return rootKey(r.Name)
		}),
		kindRevoked: keep(func(r *Revocation, at ledger.Stamp) string {
			r.By = at.Actor
			return revokedKey(r.Target())
		}),
		kindListImported: keep(func(l *imported, at ledger.Stamp) string {
			l.By, l.At = at.Actor, at.Time
			return listKey(l.Signer)
		}),
		kindSignerRemoved:  forget(func(name string) string { return signerKey(signature.Signer(name)) }),
		kindSkillForgotten: forget(skillKey),
		kindRootRemoved:    forget(rootKey),
		kindUnrevoked:      forget(revokedKey),
	}}
}

// keep is how a change puts a record; stamp completes it and returns its key.
func keep[T any](stamp func(*T, ledger.Stamp) string) ledger.Apply {
	return ledger.On(func(ctx context.Context, kv store.KV, at ledger.Stamp, v T) error {
		return put(ctx, kv, stamp(&v, at), v)
	})
}

// forget is how a change takes a record away.
func forget(key func(name string) string) ledger.Apply {
	return ledger.On(func(ctx context.Context, kv store.KV, _ ledger.Stamp, n named) error {
		return ledger.Drop(ctx, kv, key(n.Name))
	})
}
