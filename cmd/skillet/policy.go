package main

import (
	"context"
	"strings"

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
				return answered(t, found, err, func(all []govern.Policy) { t.listing(lines.PolicyListing(all)) })
			})), command("check", nil, t.withoutHome(t.checkPolicies)), command("test", nil, t.withHost(t.testPolicies)),
			command("explain", []cli.Flag{
				&cli.BoolFlag{Name: "install", Usage: "ask about a package that asks for this capability"},
				&cli.StringSliceFlag{Name: "allow", Usage: "as if `CAPABILITY` were granted too; may be repeated"},
				&cli.StringFlag{Name: "run", Usage: "as in the call with this `RUN_ID`, which is on record"},
				&cli.StringFlag{Name: "tool", Usage: "as in a call of `TOOL`"},
				&cli.StringFlag{Name: "input", Usage: "with this input of the call: `JSON`, @FILE, or - for standard input"},
				&cli.StringFlag{Name: "caller", Usage: "as in a call of `CALLER`, such as agent:general, person:ada and token:nightly"},
				&cli.StringFlag{Name: "at", Usage: "as in a call at `TIME`, such as 2026-11-28T18:30"},
				&cli.StringFlag{Name: "task", Usage: "as in a call for the task with this `ID`"},
				&cli.StringFlag{Name: "session", Usage: "as in a call in `SESSION`"},
			}, t.withHost(t.explainPolicy)),
			command("new", []cli.Flag{
				&cli.BoolFlag{Name: "list", Usage: "list the templates, and what can be said of each"},
				&cli.StringFlag{Name: "id", Usage: "the `ID` of the policy, and the name of its file; otherwise that of the template"},
				&cli.BoolFlag{Name: "dry-run", Usage: "print the files, and write none"},
			}, t.newPolicy),
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
	if req.Call, err = t.explainedCall(c); err != nil {
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

// explainedCall is the call in which policies are asked.
func (t *terminal) explainedCall(c *cli.Context) (call govern.ExplainCall, err error) {
	call = govern.ExplainCall{Run: c.String("run"), Tool: c.String("tool"), Caller: c.String("caller"), Task: c.String("task"), Session: c.String("session")}
	if c.IsSet("at") {
		if call.At, err = govern.ReadTime(c.String("at")); err != nil {
			return call, fault.Wrap(fault.KindUsage, err)
		}
	}
	if c.IsSet("input") {
		call.Input, err = t.readInput(c.Context, c.String("input"))
	}
	return call, err
}

func (t *terminal) newPolicy(c *cli.Context) error {
	all := govern.PolicyTemplates()
	if c.Bool("list") {
		return printLines(t, all, nil, lines.PolicyTemplates)
	}
	req := govern.NewPolicyRequest{Template: c.Args().First(), ID: c.String("id"), DryRun: c.Bool("dry-run"), Values: map[string]string{}}
	if req.Template == "" {
		return fault.Errorf(fault.KindUsage, "which template?").WithHint("`skillet policy new --list` lists them")
	}
	for _, word := range c.Args().Tail() {
		name, value, ok := strings.Cut(word, "=")
		if !ok {
			return fault.Errorf(fault.KindUsage, "%q is not NAME=VALUE", word).WithHint("`skillet policy new --list` lists what can be said of each template")
		}
		req.Values[name] = value
	}
	return t.withHost(func(ctx context.Context, _ *cli.Context, h *host.Host) error {
		n, err := h.Govern().Policies.New(ctx, t.person(), req)
		return printLines(t, n, err, lines.NewPolicy)
	})(c)
}
