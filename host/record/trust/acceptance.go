package trust

import (
	"context"
	"errors"
	"slices"

	"github.com/skillet-run/skillet/host/base/store"
	"github.com/skillet-run/skillet/host/record/approval"
	"github.com/skillet-run/skillet/host/record/ledger"
	"github.com/skillet-run/skillet/manifests"
	"github.com/skillet-run/skillet/manifests/signature"
)

// maxKept bounds the signatures of one package that are kept, in bytes. What does
// not fit was verified, and cannot be again.
const maxKept = 256 << 10

// An Acceptance is a package that nothing stands in the way of any more, in a
// form that can wait for the decision that installs it. The zero value accepts
// nothing.
type Acceptance struct {
	Skill     string           `json:"skill"`
	Version   string           `json:"version"`
	Source    string           `json:"source"`
	Directory bool             `json:"directory,omitempty"`
	Listed    bool             `json:"listed,omitempty"`
	Content   manifests.Digest `json:"content"`
	Artifact  manifests.Digest `json:"artifact,omitempty"`
	// Signer is who signed it, and will be remembered; empty for nobody.
	Signer signature.Signer `json:"signer,omitempty"`
	// Signed are the signatures that were good, and Accepted the flags that a
	// person gave.
	Signed   []Signed `json:"signed,omitempty"`
	Accepted []Flag   `json:"accepted,omitempty"`
	// Bundles are the signatures themselves, for verifying them again.
	Bundles [][]byte `json:"bundles,omitempty"`
}

// A Signed is one good signature.
type Signed struct {
	Signer signature.Signer `json:"signer"`
	// Key is the public key; zero for keyless signatures.
	Key signature.Key `json:"public_key,omitzero"`
}

// Acceptance is the verdict with what a person accepts of it. It fails as
// [Verdict.Refusal] does.
func (v Verdict) Acceptance(accepted ...Flag) (Acceptance, error) {
	if err := v.Refusal(accepted...); err != nil {
		return Acceptance{}, err
	}
	q := v.question
	a := Acceptance{
		Skill: v.Skill, Version: v.Version, Source: v.Source, Directory: q.Directory, Listed: q.Listed, Content: q.Content, Artifact: q.Artifact,
		Signer: v.Signer, Accepted: accepted, Bundles: fitting(q.Bundles),
	}
	for _, s := range q.Signatures {
		a.Signed = append(a.Signed, Signed{s.Signer, s.Key})
	}
	return a, nil
}

// fitting returns the first signatures, as many as fit.
func fitting(bundles [][]byte) [][]byte {
	left := maxKept
	for i, b := range bundles {
		if left -= len(b); left < 0 {
			return bundles[:i]
		}
	}
	return bundles
}

// Changes are what installing an accepted package makes remembered: see
// [Verdict.Changes]. The package is judged again by what is known now: it fails
// with a [fault.KindVerification] error when it was revoked meanwhile, or another
// signer is remembered for the skill. Call it in the decision that installs.
func (b *Store) Changes(ctx context.Context, h approval.Human, a Acceptance) ([]ledger.Change, error) {
	known, err := b.Known(ctx, a.Skill)
	if err != nil {
		return nil, err
	}
	q := Question{Evidence: Evidence{
		Skill: a.Skill, Version: a.Version, Source: a.Source, Directory: a.Directory, Listed: a.Listed, Content: a.Content, Artifact: a.Artifact,
		Bundles: a.Bundles,
	}}
	for _, s := range a.Signed {
		q.Signatures = append(q.Signatures, signature.Signature{Signer: s.Signer, Key: s.Key})
	}
	return Assess(q, known).Changes(h, a.Accepted...)
}

// Recheck judges a package again that was accepted once: its signatures are
// verified again, and whether it was revoked since. What was accepted then counts
// as accepted. ok is false for a package that was never judged. archive makes the
// .skill file, which is asked for when a signature needs its bytes.
func (b *Store) Recheck(ctx context.Context, content manifests.Digest, archive func() ([]byte, error)) (v Verdict, ok bool, err error) {
	p, err := b.Package(ctx, content)
	if errors.Is(err, store.ErrNotFound) {
		return Verdict{}, false, nil
	}
	if err != nil {
		return Verdict{}, false, err
	}
	known, err := b.Known(ctx, p.Skill)
	if err != nil {
		return Verdict{}, false, err
	}
	// Who is remembered now, and from where, is about versions to come.
	known.Skill = Skill{}
	e := Evidence{
		Skill: p.Skill, Version: p.Version, Source: p.Source, Directory: p.Directory || p.Artifact == "", Listed: p.Listed, Content: content, Artifact: p.Artifact,
		Bundles: p.Bundles,
	}
	q := known.Examine(e)
	if slices.ContainsFunc(q.Failures, func(err error) bool { return errors.Is(err, signature.ErrNeedsBytes) }) {
		if e.Blob, err = archive(); err != nil {
			return Verdict{}, false, err
		}
		if manifests.DigestOf(e.Blob) == p.Artifact { // it was packed as we pack
			q = known.Examine(e)
		}
	}
	v = Assess(q, known)
	return v, true, v.Refusal(p.Accepted...)
}
