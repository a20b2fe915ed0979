package main

import (
	"context"

	"github.com/urfave/cli/v2"

	"github.com/skillet-run/skillet/host"
	"github.com/skillet-run/skillet/host/app/govern"
	"github.com/skillet-run/skillet/host/app/upkeep"
	"github.com/skillet-run/skillet/host/base/fault"
	"github.com/skillet-run/skillet/host/edge/lines"
	"github.com/skillet-run/skillet/policies/capability"
)

func (t *terminal) policyCommand() *cli.Command {
	return &cli.Command{
		Name: "policy",
		Description: "Policies come with skillet, from the administrator of this machine (" + upkeep.SystemDir() + ")\n" +
			"and from policies/*.cedar in the home. None of them lifts a forbid of another.\n\n" +
			"Examples:\n  skillet policy list\n  skillet policy explain files fs.read:/etc/shadow\n" +
			"  skillet policy check mine.cedar\n  skillet policy test",
		Subcommands: []*cli.Command{
			command("list ls", nil, t.withHost(func(ctx context.Context, c *cli.Context, h *host.Host) error {
				found, err := h.Govern().Policies.List(ctx, t.person(), c.Args().Slice())
				if c.Args().Present() {
					return printLines(t, found, err, lines.PolicyTexts)
				}
				return printLines(t, found, err, lines.Policies)
			})), command("check", nil, t.withoutHome(t.checkPolicies)), command("test", nil, t.withHost(t.testPolicies)),
			command("explain", []cli.Flag{
				&cli.BoolFlag{Name: "install", Usage: "ask about a package that asks for this capability"},
				&cli.StringSliceFlag{Name: "allow", Usage: "as if `CAPABILITY` were granted too; may be repeated"},
			}, t.withHost(t.explainPolicy)),
			command("schema", nil, t.withoutHome(func(context.Context, *cli.Context) error {
				if t.json {
					return t.printJSON(struct {
						Schema string `json:"schema"`
					}{string(govern.PolicySchema())})
				}
				return t.raw(govern.PolicySchema())
			}))},
	}
}

func (t *terminal) checkPolicies(_ context.Context, c *cli.Context) error {
	paths := c.Args().Slice()
	if len(paths) == 0 {
		home, err := t.home(c)
		if err != nil {
			return err
		}
		paths = govern.PolicyDirs(home, t.system)
	}
	r, err := govern.CheckPolicies(paths)
	return t.judged(r, err, r.OK, fault.KindUsage, func() { printAll(t.say, lines.PolicyReport(r)) })
}

func (t *terminal) testPolicies(ctx context.Context, c *cli.Context, h *host.Host) error {
	outcomes, err := h.Govern().Policies.Test(ctx, t.person(), c.Args().Slice())
	failed := 0
	for _, o := range outcomes {
		if !o.OK {
			failed++
		}
	}
	return t.judged(outcomes, err, failed == 0, fault.KindSkill, func() { printAll(t.say, lines.PolicyOutcomes(outcomes, failed)) })
}

func (t *terminal) explainPolicy(ctx context.Context, c *cli.Context, h *host.Host) (err error) {
	args := c.Args().Slice()
	req := govern.ExplainRequest{Request: args[1]}
	if req.Skill, err = skillRef(args[0]); err != nil {
		return err
	}
	if req.Allow, err = capabilities(c.StringSlice("allow")); err != nil {
		return err
	}
	if c.Bool("install") {
		if req.Installing, err = capability.Parse(args[1]); err != nil {
			return fault.Wrap(fault.KindUsage, err).WithHint("%s", inFull(args[1]))
		}
	}
	e, err := h.Govern().Policies.Explain(ctx, t.person(), req)
	return printLines(t, e, err, func(e govern.Explanation) []string { return lines.Explanation(t.style(c, ""), e) })
}
