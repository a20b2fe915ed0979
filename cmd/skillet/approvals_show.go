package main

import (
	"context"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/skillet-run/skillet/host"
	"github.com/skillet-run/skillet/host/app/govern"
	"github.com/skillet-run/skillet/host/edge/lines"
)

func (t *terminal) approvalsShow() *cli.Command {
	return command("show", []cli.Flag{fullFlag(), &cli.BoolFlag{Name: "no-tests", Usage: "do not run the tests of the package, and replay nothing"}}, t.withHost(func(ctx context.Context, c *cli.Context, h *host.Host) error {
		return t.showProposal(ctx, h, govern.ShowProposal{ID: c.Args().First(), Full: c.Bool("full"), NoTests: c.Bool("no-tests")})
	}))
}

func (t *terminal) showProposal(ctx context.Context, h *host.Host, req govern.ShowProposal) error {
	done := t.waiting("looking at %s", req.ID)
	v, err := h.Govern().Proposals.Show(ctx, t.person(), req)
	done()
	return t.answered(v, err, func() {
		style := lines.Style{All: "`skillet approvals show " + v.ID + " --full`", Way: t.inWords}
		if req.Full {
			style.Detail = lines.Full
		}
		printAll(t.say, lines.Proposal(style, v))
		if govern.Undecided(v.Proposal) {
			t.say("  decide: skillet approvals approve %s --digest %s%s", v.ID, v.Digest.Short(), despite(v))
			t.say("      or: skillet approvals reject %s --reason 'why'", v.ID)
		}
	})
}

// despite are the flags with which a package in quarantine can be approved.
func despite(v govern.Proposed) string {
	var b strings.Builder
	for _, rule := range v.Findings.Blocking() {
		b.WriteString(" --despite " + rule)
	}
	return b.String()
}
