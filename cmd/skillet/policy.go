package main

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/skillet-run/skillet/host"
	"github.com/skillet-run/skillet/host/app/govern"
	"github.com/skillet-run/skillet/host/app/upkeep"
	"github.com/skillet-run/skillet/host/base/fault"
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
				return t.answered(found, err, func() { t.showPolicies(found, c.Args().Present()) })
			})), command("check", nil, t.withoutHome(t.checkPolicies)), command("test", nil, t.withHost(t.testPolicies)),
			command("explain", []cli.Flag{
				&cli.BoolFlag{Name: "install", Usage: "ask about a package that asks for this capability"},
				&cli.StringSliceFlag{Name: "allow", Usage: "as if `CAPABILITY` were granted too; may be given again"},
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

func (t *terminal) showPolicies(ps []govern.Policy, whole bool) {
	var rows [][]string
	for _, p := range ps {
		if whole {
			t.say("// %s:%d", plain(p.File), p.Line)
			for line := range strings.Lines(p.Text) {
				t.say("%s", plain(strings.TrimRight(line, "\n")))
			}
			continue
		}
		rows = append(rows, []string{p.ID, p.Effect, fmt.Sprintf("%s:%d", p.File, p.Line), p.Reason})
	}
	if !whole {
		t.table("POLICY\tDOES\tFROM\tREASON", rows)
	}
}

// policyPlace is the file of a problem, and the line where that is known.
func policyPlace(p govern.PolicyProblem) string {
	if p.Line == 0 {
		return plain(p.File)
	}
	return fmt.Sprintf("%s:%d", plain(p.File), p.Line)
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
	return t.judged(r, err, r.OK, fault.KindUsage, func() { t.showPolicyReport(r) })
}

func (t *terminal) showPolicyReport(r govern.PolicyReport) {
	for _, p := range r.Problems {
		t.say("%s: %s", policyPlace(p), plain(p.Message))
	}
	for _, w := range r.Warnings {
		t.say("warning: %s: %s", policyPlace(w), plain(w.Message))
	}
	switch {
	case !r.OK:
	case len(r.Warnings) > 0:
		t.say("%s, no mistakes, %s", count(r.Policies, "policy"), count(len(r.Warnings), "warning"))
	default:
		t.say("%s, all well", count(r.Policies, "policy"))
	}
}

func (t *terminal) testPolicies(ctx context.Context, c *cli.Context, h *host.Host) error {
	outcomes, err := h.Govern().Policies.Test(ctx, t.person(), c.Args().Slice())
	failed := 0
	for _, o := range outcomes {
		if !o.OK {
			failed++
		}
	}
	return t.judged(outcomes, err, failed == 0, fault.KindSkill, func() { t.showOutcomes(outcomes, failed) })
}

func (t *terminal) showOutcomes(outcomes []govern.CaseOutcome, failed int) {
	for _, o := range outcomes {
		if !o.OK {
			t.say("FAIL  %s: %s %s: %s", plain(filepath.Base(o.File)), plain(cmp.Or(o.Name, o.Skill)), plain(cmp.Or(o.Request, "install "+o.Install)), plain(o.Problem))
		}
	}
	t.say("%d of %s as wanted", len(outcomes)-failed, count(len(outcomes), "case"))
}

// explanation is what --json prints of an explanation.
type explanation struct {
	govern.Explanation
	Hint string `json:"hint,omitempty"`
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
	e := explanation{}
	if e.Explanation, err = h.Govern().Policies.Explain(ctx, t.person(), req); err != nil {
		return err
	}
	if e.Missing != (capability.Capability{}) {
		name, _, _ := strings.Cut(e.Skill, "@")
		e.Hint = "skillet permission grant " + name + " '" + e.Missing.String() + "'"
	}
	return t.answer(e, func() { t.showExplanation(e) })
}

func (t *terminal) showExplanation(e explanation) {
	t.say("%s: %s", e.Effect, plain(e.Reason))
	if e.Grant != "" {
		t.say("  covered by the grant %s", plain(e.Grant))
	}
	for _, p := range e.Policies {
		t.say("  %s %s (%s:%d): %s", p.Effect, p.ID, plain(p.File), p.Line, plain(p.Reason))
	}
	if e.IfGranted != "" {
		t.say("  if it were granted: %s", e.IfGranted)
	}
	if g := e.Granting; g != nil && g.Denies() {
		t.say("  granting it: %s: %s", g.Effect, plain(g.Reason))
		for _, p := range g.Policies {
			t.say("  %s %s (%s:%d): %s", p.Effect, p.ID, plain(p.File), p.Line, plain(p.Reason))
		}
	}
	if e.Hint != "" {
		t.say("  %s", plain(e.Hint))
	}
}
