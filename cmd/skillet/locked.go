package main

import (
	"context"

	"github.com/urfave/cli/v2"

	"github.com/skillet-run/skillet/host"
	"github.com/skillet-run/skillet/host/admit"
	"github.com/skillet-run/skillet/host/closure"
	"github.com/skillet-run/skillet/host/evidence"
	"github.com/skillet-run/skillet/host/findings"
	"github.com/skillet-run/skillet/host/install"
	"github.com/skillet-run/skillet/host/registry"
	"github.com/skillet-run/skillet/host/review"
	sources "github.com/skillet-run/skillet/host/source"
	"github.com/skillet-run/skillet/host/trust"
)

// planLocked plans the installation of a package that a lock or a set names; as says how
// it is wanted.
func (t *terminal) planLocked(ctx context.Context, c *cli.Context, h *host.Host, got *sources.Fetched, as closure.Step) (install.Plan, error) {
	req, err := t.request(c, got, as)
	if err != nil {
		return install.Plan{}, err
	}
	plan, err := h.Installer.Plan(ctx, req)
	for _, f := range plan.Trust.Findings {
		if err == nil && !t.json && (f.Refused || f.State == trust.FirstSeen) {
			t.note("%s@%s: %s", plain(plan.Skill), plain(plan.Version), plain(f.Words))
		}
	}
	return plan, err
}

// request is what is asked of the installer for a package.
func (t *terminal) request(c *cli.Context, got *sources.Fetched, as closure.Step) (install.Request, error) {
	ws, err := workspace(c)
	if err != nil {
		return install.Request{}, err
	}
	return install.Request{
		Package: got.Package, Source: got.Source, SourceKind: string(got.Kind), Artifact: got.Artifact,
		Origin: registry.OriginUser, ProposedBy: t.person().Actor(), Person: t.person(), Workspace: ws, Notes: got.Notes,
		Directory: got.MadeHere(), Archive: got.Archive, Signatures: got.Signatures, Accepted: accepted(c), Despite: c.StringSlice("despite"),
		Dependencies: as.Dependencies, Needed: as.Needed, Asked: as.Asked, Beside: as.Beside, Tests: testsOf(c),
	}, nil
}

// showLocked shows a plan, and what is different from the active version.
func (t *terminal) showLocked(ctx context.Context, c *cli.Context, h *host.Host, plan install.Plan, got *sources.Fetched) (admit.Package, error) {
	p := admit.Package{Plan: plan, Name: got.Source}
	p.Limits, p.Cut = h.Enforced(plan.Limits)
	if plan.Replaces == "" {
		p.Read = review.Read(got.Package.Manifest())
	}
	var err error
	if p.Difference, err = h.Admit().Compare(ctx, t.person(), admit.CompareRequest{Package: got.Package, Full: c.Bool("full")}); err != nil {
		return p, err
	}
	if plan.Replaces != "" && !plan.Installed {
		if p.Replays, err = h.Shadow(ctx, got.Package); err != nil {
			return p, err
		}
	}
	if p.Findings, err = findings.Scan(ctx, got.Package); err != nil {
		return p, err
	}
	p.Summary = evidence.Subject{
		Kind: p.Kind, Asks: p.Asks, Replaces: p.Replaces, Signer: p.Signer, Upgrade: p.Upgrade, Findings: p.Findings, Tests: p.Tests, Replays: p.Replays,
	}.Summary()
	if !t.json {
		t.showPlan(&p, c.Bool("full"))
	}
	return p, nil
}
