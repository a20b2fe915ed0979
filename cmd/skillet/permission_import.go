package main

import (
	"context"

	"github.com/urfave/cli/v2"

	"github.com/skillet-run/skillet/host"
	"github.com/skillet-run/skillet/host/app/govern"
	"github.com/skillet-run/skillet/host/base/fault"
	"github.com/skillet-run/skillet/host/edge/lines"
)

func (t *terminal) permissionImport() *cli.Command {
	return command("import", append([]cli.Flag{
		yesFlag("grant what the policy allows"),
		&cli.DurationFlag{Name: "expires", Hidden: true, Usage: "end the grants after this `TIME`, such as 24h or 7d"},
		&cli.IntFlag{Name: "uses", Usage: "end the grants after `N` runs"},
		&cli.StringFlag{Name: "reason", Usage: "why, shown wherever the grants are"},
		&cli.BoolFlag{Name: "dry-run", Usage: "only show what would be granted"},
		workspaceFlag(),
	}, scopeFlags()...), t.withHost(t.importPolicy))
}

func (t *terminal) importPolicy(ctx context.Context, c *cli.Context, h *host.Host) (err error) {
	args := c.Args().Slice()
	req := govern.ImportRequest{File: args[0]}
	if req.Skill, err = skillRef(args[1]); err != nil {
		return err
	}
	if req.Terms, err = terms(c); err != nil {
		return err
	}
	if req.Workspace, err = workspace(c); err != nil {
		return err
	}
	out, err := h.Govern().Grants.PlanImport(ctx, t.person(), req)
	if err != nil {
		return err
	}
	if !t.json {
		printAll(t.note, lines.Allowance(out))
	}
	switch {
	case c.Bool("dry-run"):
		return t.answer(out, func() {})
	case len(out.Permits) == 0:
		return fault.Errorf(fault.KindUsage, "%s allows nothing that can be granted here", args[0]).WithHint("`skillet permission grant` grants single capabilities")
	}
	if err := t.agreed(c, "Grant this to "+plain(out.Skill)+"?"); err != nil {
		return err
	}
	if out, err = h.Govern().Grants.Import(ctx, t.person(), out, govern.GrantConsent{Unbounded: true}); err != nil {
		return err
	}
	return t.answer(out, func() { t.note("gave %s %s", plain(out.Skill), count(len(out.Permits), "grant")) })
}
