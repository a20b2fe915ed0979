package install

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"

	"github.com/skillet-run/skillet/host/base/store"
	"github.com/skillet-run/skillet/host/record/approval"
	"github.com/skillet-run/skillet/host/record/ledger"
	"github.com/skillet-run/skillet/host/record/registry"
	"github.com/skillet-run/skillet/host/record/trust"
	"github.com/skillet-run/skillet/manifests/bundle"
)

// assess judges a package by what is known of signers, sources and revocations. It
// cannot be left out: what a request does not say is missing, and has to be accepted.
func (i *Installer) assess(ctx context.Context, p *Plan) error {
	v, err := i.trust.Assess(ctx, p.request.evidence())
	if err != nil {
		return err
	}
	p.Trust = v
	if p.accepted, err = v.Acceptance(p.request.accepts()...); err != nil {
		return err
	}
	p.Signer = string(v.Signer)
	if p.Origin == registry.OriginGenerated {
		p.Warnings = append(p.Warnings, lacks(v)...)
	}
	return nil
}

// evidence is what is known of a package before it is judged. Nobody signs what a
// model wrote, nor what its author is working on: a person looks at the one, and
// wrote the other.
func (r Request) evidence() trust.Evidence {
	m := r.Package.Manifest()
	return trust.Evidence{
		Skill: m.Name, Version: m.Version, Source: trust.LocationOf(r.Source), Content: r.Package.Digest(), Artifact: r.Artifact,
		Blob: r.Archive, Bundles: r.Signatures, Listed: r.Listed,
		Directory: r.Directory || r.Origin == registry.OriginGenerated || r.Origin == registry.OriginDevelopment,
	}
}

// accepts are the flags that count. Whoever decides about what a model wrote is told
// what it lacks, and the author of a package knows.
func (r Request) accepts() []trust.Flag {
	switch r.Origin {
	case registry.OriginGenerated:
		return append([]trust.Flag{trust.AcceptSource, trust.AllowUnsigned}, r.Accepted...)
	case registry.OriginDevelopment:
		return []trust.Flag{trust.AcceptSource, trust.AllowUnsigned, trust.TrustSigner}
	}
	return r.Accepted
}

// lacks are the findings that a person has to accept, in words.
func lacks(v trust.Verdict) []string {
	var words []string
	for _, f := range v.Findings {
		if f.Refused {
			words = append(words, "it is "+f.Words)
		}
	}
	return words
}

// trusting are the changes by which it is remembered who signed a package, and
// how that was accepted: part of the decision that installs it. Nothing is
// remembered of what its author is working on.
func (i *Installer) trusting(ctx context.Context, h approval.Human, p Plan) ([]ledger.Change, error) {
	if p.Origin == registry.OriginDevelopment {
		return nil, nil
	}
	return i.trust.Changes(ctx, h, p.accepted)
}

// trusted writes down for a proposal what is to be remembered when it is
// approved.
func (p Plan) trusted() (json.RawMessage, error) {
	b, err := json.Marshal(p.accepted)
	if err != nil {
		return nil, fmt.Errorf("propose: %w", err)
	}
	return b, nil
}

// trustingProposed are the changes of an approved proposal.
func (i *Installer) trustingProposed(ctx context.Context, h approval.Human, p approval.Proposal) ([]ledger.Change, error) {
	if len(p.Trust) == 0 {
		return nil, nil
	}
	var a trust.Acceptance
	if err := json.Unmarshal(p.Trust, &a); err != nil {
		return nil, fmt.Errorf("approve proposal %s: who signed it: %w: %w", p.ID, store.ErrDamaged, err)
	}
	return i.trust.Changes(ctx, h, a)
}

// verifyTrust verifies the signatures of an installed version again, and looks
// whether it was revoked.
func (i *Installer) verifyTrust(ctx context.Context, v *Verified, s registry.Skill, p *bundle.Package) error {
	verdict, known, refusal := i.trust.Recheck(ctx, s.Digest, func() ([]byte, error) {
		var archive bytes.Buffer
		err := p.WriteArchive(&archive)
		return archive.Bytes(), err
	})
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case refusal != nil:
		v.Problems = append(v.Problems, refusal.Error())
	case known && string(verdict.Signer) != s.Signer:
		v.Problems = append(v.Problems, fmt.Sprintf("it is recorded as signed by %q, and its signature is by %q", s.Signer, verdict.Signer))
	}
	return nil
}
