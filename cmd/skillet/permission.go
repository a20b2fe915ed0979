package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/skillet-run/skillet/host"
	"github.com/skillet-run/skillet/host/app/govern"
	"github.com/skillet-run/skillet/host/base/fault"
	"github.com/skillet-run/skillet/host/edge/lines"
	"github.com/skillet-run/skillet/manifests"
	"github.com/skillet-run/skillet/policies/capability"
)

func (t *terminal) permissionCommand() *cli.Command {
	return &cli.Command{
		Name: "permission",
		Description: "A grant holds for one version of a skill, byte for byte.\n\n" +
			"Capabilities:\n" + capabilityExamples() + "\n" +
			"Examples:\n  skillet permission show files\n  skillet permission grant files \"fs.read:$PWD/docs/**\"",
		Subcommands: []*cli.Command{
			t.permissionList(),
			command("show", nil, t.withHost(func(ctx context.Context, c *cli.Context, h *host.Host) error {
				skill, err := skillRef(c.Args().First())
				if err != nil {
					return err
				}
				return t.showGrants(ctx, h, skill)
			})),
			command("grant", append([]cli.Flag{
				&cli.DurationFlag{Name: "expires", Hidden: true, Usage: "end the grant after this `TIME`, such as 24h or 7d"},
				&cli.IntFlag{Name: "uses", Usage: "end the grant after `N` runs"},
				&cli.StringFlag{Name: "reason", Usage: "why, shown wherever the grant is"},
				yesFlag("grant what has no bound, such as every file"),
				&cli.BoolFlag{Name: "dry-run", Usage: "only show what would be granted"},
			}, scopeFlags()...), t.withHost(t.grant)), t.permissionRevoke(), t.permissionReset(), t.permissionSuggest(), t.permissionImport(),
		},
	}
}

func (t *terminal) permissionList() *cli.Command {
	return command("list", []cli.Flag{
		&cli.StringFlag{Name: "capability", Usage: "only grants of this `CAPABILITY`, or of an action such as fs.write"},
		&cli.BoolFlag{Name: "all", Usage: "also grants that ended"},
	}, t.withHost(func(ctx context.Context, c *cli.Context, h *host.Host) error {
		req := govern.ListGrants{Capability: c.String("capability"), Ended: c.Bool("all")}
		for _, arg := range c.Args().Slice() {
			ref, err := skillRef(arg)
			if err != nil {
				return err
			}
			req.Skills = append(req.Skills, ref)
		}
		all, err := h.Govern().Grants.List(ctx, t.person(), req)
		return printLines(t, all, err, lines.Grants)
	}))
}

// capabilityExamples are an example of each capability and what it means, a line each.
func capabilityExamples() string {
	kinds, width := capability.Kinds(), 0
	for _, k := range kinds {
		width = max(width, len(k.Example))
	}
	var lines strings.Builder
	for _, k := range kinds {
		fmt.Fprintf(&lines, "  %-*s  %s\n", width, k.Example, capability.MustParse(k.Example).Words())
	}
	return lines.String()
}

// showGrants shows the grants of a skill, and what else it asks for, where relative paths
// mean the current directory.
func (t *terminal) showGrants(ctx context.Context, h *host.Host, skill manifests.Ref) error {
	dir, err := os.Getwd()
	if err != nil {
		return fmt.Errorf("find the current directory: %w", err)
	}
	p, err := h.Govern().Grants.Show(ctx, t.person(), skill, dir)
	return printLines(t, p, err, func(p govern.Permissions) []string { return lines.Permissions(p, "this directory") })
}

func (t *terminal) grant(ctx context.Context, c *cli.Context, h *host.Host) error {
	args := c.Args().Slice()
	if len(args) < 2 {
		return fault.Errorf(fault.KindUsage, "permission grant takes a skill and a capability").WithHint("`skillet help permission` shows the capabilities")
	}
	var req govern.GrantRequest
	var err error
	if req.Skill, err = skillRef(args[0]); err != nil {
		return err
	}
	if req.Capabilities, err = capabilities(args[1:]); err != nil {
		return err
	}
	if req.Terms, err = terms(c); err != nil {
		return err
	}
	plan, err := h.Govern().Grants.Plan(ctx, t.person(), req)
	if err != nil {
		return err
	}
	for _, one := range plan.Useless {
		if !t.json {
			t.note("skillet: %s has no code that could use %s", plain(plan.Skill), plain(one.String()))
		}
	}
	if c.Bool("dry-run") {
		return t.answer(plan.Capabilities, func() { t.noteCapabilities("would grant", plan) })
	}
	if err := t.confirmBroad(c, plan); err != nil {
		return err
	}
	if err := h.Govern().Grants.Grant(ctx, t.person(), plan, govern.GrantConsent{Unbounded: true}); err != nil {
		return err
	}
	if !t.json {
		t.noteCapabilities("granted", plan)
		return nil
	}
	return t.showGrants(ctx, h, req.Skill)
}

// confirmBroad asks about capabilities that have no bound.
func (t *terminal) confirmBroad(c *cli.Context, plan govern.GrantPlan) error {
	var words []string
	for _, one := range plan.Unbounded {
		words = append(words, one.Words())
	}
	if len(words) == 0 || c.Bool("yes") || !t.canAsk() {
		return nil
	}
	return t.confirm("permission grant", plain(fmt.Sprintf("%s could then %s. Grant it?", plan.Skill, strings.Join(words, ", and "))))
}

func (t *terminal) noteCapabilities(verb string, plan govern.GrantPlan) {
	for _, c := range plan.Capabilities {
		t.note("%s %s: %s", verb, plain(plan.Skill), plain(c.Words()))
	}
}

func capabilities(texts []string) ([]capability.Capability, error) {
	var cs []capability.Capability
	for _, text := range texts {
		c, err := capability.Parse(text)
		if err != nil {
			return nil, fault.Wrap(fault.KindUsage, err).WithHint("%s", inFull(text))
		}
		if err := govern.CheckCapability(c); err != nil {
			return nil, err
		}
		if !slices.Contains(cs, c) {
			cs = append(cs, c)
		}
	}
	return cs, nil
}

// inFull is the hint for a capability that cannot be read: the whole path, if
// it is a relative one.
func inFull(text string) string {
	for _, action := range []string{"fs.read:", "fs.write:"} {
		path, ok := strings.CutPrefix(text, action)
		if abs, err := absolute(path); ok && path != "" && !filepath.IsAbs(path) && err == nil {
			return "write " + action + abs
		}
	}
	return "`skillet help permission` shows the capabilities"
}

func terms(c *cli.Context) (govern.Terms, error) {
	terms, err := scopeTerms(c)
	if err != nil {
		return terms, err
	}
	terms.Reason = c.String("reason")
	for _, two := range [][2]string{{"expires", "until"}, {"uses", "scope"}} {
		if c.IsSet(two[0]) && c.IsSet(two[1]) && (two[0] == "expires" || terms.Scope == govern.ScopeOnce) {
			return terms, fault.Errorf(fault.KindUsage, "--%s and --%s mean the same", two[0], two[1]).WithHint("give one of them")
		}
	}
	if c.IsSet("expires") {
		terms.Until = time.Now().Add(c.Duration("expires")).UTC()
	}
	if c.IsSet("uses") {
		terms.Uses = c.Int("uses")
	}
	return terms, nil
}

func (t *terminal) permissionRevoke() *cli.Command {
	return command("revoke", []cli.Flag{
		&cli.BoolFlag{Name: "exact", Usage: "leave narrower grants"},
		yesFlag("take back narrower grants too"),
		&cli.BoolFlag{Name: "dry-run", Usage: "only show what would be taken back"},
	}, t.withHost(func(ctx context.Context, c *cli.Context, h *host.Host) error {
		if c.NArg() < 2 {
			return fault.Errorf(fault.KindUsage, "permission revoke takes a skill and a capability").WithHint("`skillet permission show SKILL` lists its grants; `skillet permission reset` takes back all")
		}
		cs, err := capabilities(c.Args().Tail())
		if err != nil {
			return err
		}
		return t.revoke(ctx, c, h, govern.RevokeRequest{Capabilities: cs, Exact: c.Bool("exact")})
	}))
}

// confirmNarrower asks about grants that go although they are not named.
func (t *terminal) confirmNarrower(c *cli.Context, plan govern.RevokePlan) error {
	if len(plan.Narrower) == 0 || c.Bool("yes") || !t.canAsk() {
		return nil
	}
	return t.confirm("permission revoke", plain(fmt.Sprintf("%s loses %s too, which --exact leaves. Take them back?", plan.Skill, strings.Join(govern.Texts(plan.Narrower), ", "))))
}

func (t *terminal) permissionReset() *cli.Command {
	return command("reset", []cli.Flag{
		yesFlag("take them back"),
		&cli.BoolFlag{Name: "dry-run", Usage: "only show what would be taken back"},
	}, t.withHost(func(ctx context.Context, c *cli.Context, h *host.Host) error {
		if !c.Bool("yes") && !c.Bool("dry-run") {
			if err := t.confirm("permission reset", "Take back every grant of "+plain(c.Args().First())+"?"); err != nil {
				return err
			}
		}
		return t.revoke(ctx, c, h, govern.RevokeRequest{All: true})
	}))
}

// revoke takes back grants of the skill; with --dry-run it only shows them.
func (t *terminal) revoke(ctx context.Context, c *cli.Context, h *host.Host, req govern.RevokeRequest) (err error) {
	if req.Skill, err = skillRef(c.Args().First()); err != nil {
		return err
	}
	plan, err := h.Govern().Grants.PlanRevoke(ctx, t.person(), req)
	if err != nil {
		return err
	}
	if c.Bool("dry-run") {
		return t.showRevoked("would lose", plan.View())
	}
	if err := t.confirmNarrower(c, plan); err != nil {
		return err
	}
	ended, err := h.Govern().Grants.Revoke(ctx, t.person(), plan)
	if err != nil {
		return err
	}
	return t.showRevoked("lost", ended)
}

func (t *terminal) showRevoked(verb string, ended govern.Permissions) error {
	return t.answer(ended, func() {
		t.note("%s %s: %s%s", plain(ended.Skill), verb, plain(strings.Join(govern.Texts(ended.Grants), ", ")), strings.TrimSpace(none(len(ended.Grants))))
	})
}
