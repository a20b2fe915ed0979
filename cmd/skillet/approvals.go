package main

import (
	"context"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/skillet-run/skillet/host"
	"github.com/skillet-run/skillet/host/app/govern"
	"github.com/skillet-run/skillet/host/base/fault"
	"github.com/skillet-run/skillet/host/edge/lines"
)

func (t *terminal) approvalsCommand() *cli.Command {
	return group("approvals",
		t.approvalsList(), t.approvalsShow(), t.approvalsReview(), t.approvalsApprove(), t.approvalsReject(), t.approvalsRevert(),
		command("expire", nil, t.withHost(func(ctx context.Context, c *cli.Context, h *host.Host) error {
			ended, err := h.Govern().Proposals.Expire(ctx, t.person())
			return t.answered(ended, err, func() {
				for _, p := range ended {
					t.note("%s %s: %s (%s)", p.ID, p.Status, plain(p.Title), plain(p.Notes))
				}
				t.note("%s ended", count(len(ended), "proposal"))
			})
		})),
	)
}

// withProposals opens the home, brings its state up to date, and ends what waits
// in vain.
func (t *terminal) withProposals(do action) cli.ActionFunc {
	return t.withHost(func(ctx context.Context, c *cli.Context, h *host.Host) error {
		if err := h.Govern().Proposals.Reconcile(ctx, t.person()); err != nil {
			return err
		}
		return do(ctx, c, h)
	})
}

func (t *terminal) approvalsList() *cli.Command {
	return command("list ls", append([]cli.Flag{
		allFlag("those that are decided"),
		&cli.StringFlag{Name: "status", Usage: "only those with this `STATUS`: " + statuses()},
	}, whichFlags()...), t.withHost(func(ctx context.Context, c *cli.Context, h *host.Host) error {
		req := which(c)
		req.All, req.Status = c.Bool("all"), govern.Status(c.String("status"))
		if c.IsSet("status") && req.Status == "" {
			return fault.Errorf(fault.KindUsage, "--status is empty").WithHint("it is one of: %s", statuses())
		}
		ps, err := h.Govern().Proposals.List(ctx, t.person(), req)
		if err != nil {
			return err
		}
		loops, err := h.Govern().Proposals.Loops(ctx, t.person())
		return t.answered(ps, err, func() {
			t.showProposals(ps)
			for _, p := range loops {
				t.note("%s: a script of %s may call %s %s; %s so far", p.ID, plain(p.Call.Script.Actor), plain(p.Ref()+":"+p.Call.Tool), plain(p.Loop.Words()), count(p.Loop.Uses, "call"))
			}
		})
	}))
}

func statuses() string { return strings.Join(govern.Statuses(), ", ") }

func (t *terminal) showProposals(ps []govern.Proposal) {
	if len(ps) == 0 {
		t.note("nothing waits for approval")
		return
	}
	t.listing(lines.ProposalListing(ps))
	if n := undecided(ps); n > 1 && t.canAsk() && t.outTTY {
		t.note("`skillet approvals review` walks through them")
	}
}

func undecided(ps []govern.Proposal) (n int) {
	for _, p := range ps {
		if govern.Undecided(p) {
			n++
		}
	}
	return n
}

// whichFlags say which proposals are meant.
func whichFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "skill", Usage: "only those about this `SKILL`"},
		&cli.StringFlag{Name: "kind", Usage: "only those of this `KIND`: " + strings.Join(govern.ProposalKinds(), ", ")},
	}
}

func which(c *cli.Context) govern.ListProposals {
	return govern.ListProposals{Skill: c.String("skill"), Kind: govern.ProposalKind(c.String("kind"))}
}
