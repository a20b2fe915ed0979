package main

import (
	"context"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/skillet-run/skillet/host"
	"github.com/skillet-run/skillet/host/app/admit"
	"github.com/skillet-run/skillet/host/app/invoke"
	"github.com/skillet-run/skillet/host/base/fault"
	"github.com/skillet-run/skillet/host/edge/lines"
)

func (t *terminal) listCommand() *cli.Command {
	return command("list ls", []cli.Flag{
		allFlag("versions that are not active"),
		&cli.StringFlag{Name: "state", Usage: "only versions in this `STATE`, of all: active, inactive, disabled, quarantined, pinned, needed or trial"},
	}, t.inService(t.listServed, t.withHost(func(ctx context.Context, c *cli.Context, h *host.Host) error {
		l := listingOf(c)
		skills, err := h.Admit().List(ctx, t.person(), l)
		return t.answered(skills, err, func() { t.showSkills(l, skills) })
	})))
}

// listingOf is what the list is of.
func listingOf(c *cli.Context) admit.Listing {
	return admit.Listing{All: c.Bool("all"), Names: c.Args().Slice(), State: admit.State(c.String("state"))}
}

func allFlag(others string) cli.Flag {
	return &cli.BoolFlag{Name: "all", Usage: "also " + others}
}

func (t *terminal) showSkills(l admit.Listing, skills []admit.Skill) {
	if len(skills) == 0 && (len(l.Names) > 0 || l.State != "") {
		t.note("no installed skill is like that; `skillet list --all` shows all")
		return
	}
	if len(skills) == 0 {
		t.note("no skills are installed; `skillet install PATH` installs one")
		return
	}
	t.listing(lines.SkillListing(skills))
}

func (t *terminal) infoCommand() *cli.Command {
	return command("info", []cli.Flag{
		&cli.BoolFlag{Name: "diff", Usage: "also show what is different from the active version; of an MCP server, which is asked, what it offers now"},
		fullFlag(),
	}, t.withHost(t.info))
}

func (t *terminal) info(ctx context.Context, c *cli.Context, h *host.Host) error {
	of, err := invoke.ParseAddress(c.Args().First())
	if err != nil {
		return err
	}
	if of.Tool != "" {
		return t.infoTool(ctx, c, h, of)
	}
	ws, err := workspace(c)
	if err != nil {
		return err
	}
	in, err := h.Admit().Info(ctx, t.person(), admit.InfoRequest{Of: of, Difference: c.Bool("diff"), Full: c.Bool("full"), Workspace: ws})
	seen := skillInfo{Info: in}
	if err == nil && c.Bool("diff") {
		seen.Offer, err = t.serverNow(ctx, h, in)
	}
	return printLines(t, seen, err, func(in skillInfo) []string {
		all := lines.Info(t.style(c, "`skillet info "+c.Args().First()+" --diff --full`"), in.Info)
		if in.Offer == nil {
			return all
		}
		return append(append(all, "", "offered now:"), offerLines(in.Offer)...)
	})
}

// A skillInfo is what info prints.
type skillInfo struct {
	admit.Info
	// Offer is what an MCP server offers now, with what is different from what was approved.
	Offer *admit.MadeServer `json:"offered_now,omitempty"`
}

// infoTool shows one tool.
func (t *terminal) infoTool(ctx context.Context, c *cli.Context, h *host.Host, of invoke.Address) error {
	if c.Bool("diff") || c.Bool("full") {
		return fault.Errorf(fault.KindUsage, "--diff and --full are about the whole skill, and %s is a tool", of.Tool).WithHint("leave :%s out", of.Tool)
	}
	tool, err := h.Admit().Tool(ctx, t.person(), of)
	return printLines(t, tool, err, lines.Tool)
}

func none(n int) string {
	if n == 0 {
		return " nothing"
	}
	return ""
}

func names(skills []admit.Skill) string {
	var refs []string
	for _, s := range skills {
		refs = append(refs, s.Ref())
	}
	return strings.Join(refs, ", ")
}
