package host

import (
	"context"
	"fmt"

	"github.com/skillet-run/skillet/host/approval"
	"github.com/skillet-run/skillet/host/registry"
	"github.com/skillet-run/skillet/host/trust"
	"github.com/skillet-run/skillet/manifests"
	"github.com/skillet-run/skillet/manifests/signature"
)

// IsolateRevoked puts every installed version that is revoked into quarantine,
// where it does not run. It returns those that were not there yet. Call it after
// something was revoked.
func (h *Host) IsolateRevoked(ctx context.Context, by approval.Human) ([]registry.Skill, error) {
	all, err := h.Registry.List(ctx)
	if err != nil {
		return nil, err
	}
	reasons := map[manifests.Digest]string{}
	for _, s := range all {
		t := trust.Target{Content: s.Digest, Artifact: s.Artifact}
		if s.Signer != "" {
			t.Signers = []signature.Signer{signature.Signer(s.Signer)}
		}
		r, revoked, err := h.Trust.Revocation(ctx, t)
		if err != nil {
			return nil, err
		}
		if revoked {
			reasons[s.Digest] = fmt.Sprintf("revoked by %s: %s", r.By, r.Reason)
		}
	}
	if len(reasons) == 0 {
		return nil, nil
	}
	return h.Installer.IsolateAll(ctx, by.Actor(), reasons)
}
