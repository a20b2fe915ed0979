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
	return command("show", []cli.Flag{fullFlag(), noTestsFlag()}, t.withHost(func(ctx context.Context, c *cli.Context, h *host.Host) error {
		return t.showProposal(ctx, h, govern.ShowProposal{ID: c.Args().First(), Full: c.Bool("full"), NoTests: c.Bool("no-tests")})
	}))
}

func (t *terminal) showProposal(ctx context.Context, h *host.Host, req govern.ShowProposal) error {
	v, err := t.lookAt(ctx, h, req)
	return t.answered(v, err, func() {
		style := lines.Style{Detail: lines.Usual, All: "`skillet approvals show " + v.ID + " --full`", Way: t.inWords}
		if req.Full {
			style.Detail = lines.Full
		}
		printAll(t.say, lines.Proposal(style, v))
		if govern.Undecided(v.Proposal) {
			t.say("  decide: skillet approvals approve %s --digest %s%s", v.ID, v.Digest.Short(), despite(v))
			if v.Script != nil {
				t.say("      or, for more such calls of this script: skillet approvals approve %s --digest %s --times N --for PATH=GLOB --until 24h", v.ID, v.Digest.Short())
			}
			t.say("      or: skillet approvals reject %s --reason 'why'", v.ID)
		}
	})
}

// lookAt gathers what a person decides on about a proposal.
func (t *terminal) lookAt(ctx context.Context, h *host.Host, req govern.ShowProposal) (govern.Proposed, error) {
	defer t.waiting("looking at %s", req.ID)()
	return h.Govern().Proposals.Show(ctx, t.person(), req)
}

// showBrief shows a proposal in short, in front of a question about it.
func (t *terminal) showBrief(v govern.Proposed) {
	printAll(t.note, lines.Proposal(lines.Style{All: "the answer d", Way: t.inWords}, v))
	if v.Type.Package() && govern.Undecided(v.Proposal) {
		t.note(moreBehind)
	}
}

// wholeProposal is a proposal with nothing left out.
func (t *terminal) wholeProposal(ctx context.Context, h *host.Host, v govern.Proposed) ([]string, error) {
	defer t.waiting("looking at %s", v.ID)()
	whole, err := h.Govern().Proposals.Whole(ctx, t.person(), v)
	return lines.Proposal(lines.Style{Detail: lines.Full, Way: t.inWords}, whole), err
}

// despite are the flags with which a package in quarantine can be approved.
func despite(v govern.Proposed) string {
	var b strings.Builder
	for _, rule := range v.Findings.Blocking() {
		b.WriteString(" --despite " + rule)
	}
	return b.String()
}
