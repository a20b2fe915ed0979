package install

import (
	"context"

	"github.com/skillet-run/skillet/host/base/fault"

	"github.com/skillet-run/skillet/host/record/registry"
	"github.com/skillet-run/skillet/policies"
)

// refused looks whether a person turned these bytes down. A person is asked about
// that, whatever the package asks for.
func (i *Installer) refused(ctx context.Context, p *Plan) error {
	r, err := i.approvals.Refused(ctx, p.Digest)
	if err != nil || r == nil || p.Installed || r.Waits && p.Origin == registry.OriginGenerated { // which it joins
		return err
	}
	p.Refused, p.named, p.Carried = r, r.Named(p.request.Despite), false
	p.Warnings = append(p.Warnings, r.Words())
	if p.Effect == policies.Allow.String() {
		p.Effect, p.Reason = policies.Ask.String(), r.Words()
	}
	return nil
}

// Despite is the plan for a person who was shown what [Plan.Refused] says and wants
// it all the same.
func (p Plan) Despite() Plan {
	p.named = true
	return p
}

// consented refuses a plan of bytes that a person rejected, unless the request names
// that: a yes to everything does not cover it. A graver reason, such as a revocation
// since the plan, is reported instead.
func (i *Installer) consented(ctx context.Context, p Plan) error {
	if p.Refused == nil || p.named {
		return nil
	}
	if err := i.assess(ctx, &p); err != nil {
		return err
	}
	e := fault.Errorf(fault.KindDenied, "install %s@%s: %s", p.Skill, p.Version, p.Refused.Words())
	if p.Refused.Waits {
		return e.WithHint("look at it with %s, then %s or %s; or add %s", fault.ShowProposal(p.Refused.ID), fault.Approve(p.Refused.ID), fault.Reject(p.Refused.ID), fault.SetField(fault.FieldDespite, p.Refused.ID))
	}
	return e.WithHint("%s shows it; to install it all the same, add %s", fault.ShowProposal(p.Refused.ID), fault.SetField(fault.FieldDespite, p.Refused.ID))
}
