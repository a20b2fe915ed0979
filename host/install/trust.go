package install

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"

	"github.com/skillet-run/skillet/host/approval"
	"github.com/skillet-run/skillet/host/ledger"
	"github.com/skillet-run/skillet/host/registry"
	"github.com/skillet-run/skillet/host/store"
	"github.com/skillet-run/skillet/host/trust"
	"github.com/skillet-run/skillet/manifests/bundle"
)

// signer is who signed the package; empty for nobody.
func (r Request) signer() string {
	if r.Trust == nil {
		return ""
	}
	return string(r.Trust.Signer)
}

// trusting are the changes by which it is remembered who signed a package, and
// how that was accepted: part of the decision that installs it.
func (i *Installer) trusting(ctx context.Context, h approval.Human, a *trust.Acceptance) ([]ledger.Change, error) {
	if a == nil {
		return nil, nil
	}
	return i.trust.Changes(ctx, h, *a)
}

// trusted writes down for a proposal what is to be remembered when it is
// approved.
func (r Request) trusted() (json.RawMessage, error) {
	if r.Trust == nil {
		return nil, nil
	}
	b, err := json.Marshal(r.Trust)
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
	return i.trusting(ctx, h, &a)
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
