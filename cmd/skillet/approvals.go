package main

import (
	"context"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/skillet-run/skillet/host"
	"github.com/skillet-run/skillet/host/app/govern"
	"github.com/skillet-run/skillet/host/base/fault"
)

func (t *terminal) approvalsCommand() *cli.Command {
	return group("approvals",
		t.approvalsList(), t.approvalsShow(), t.approvalsApprove(), t.approvalsReject(), t.approvalsRevert(),
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
	return command("list ls", []cli.Flag{
		allFlag("those that are decided"),
		&cli.StringFlag{Name: "status", Usage: "only those with this `STATUS`: " + statuses()},
	}, t.withHost(func(ctx context.Context, c *cli.Context, h *host.Host) error {
		req := govern.ListProposals{All: c.Bool("all"), Status: govern.Status(c.String("status"))}
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
	var rows [][]string
	for _, p := range ps {
		until := ""
		if p.Status == govern.StatusPending {
			until = when(p.ExpiresAt)
		}
		rows = append(rows, []string{p.ID, string(p.Status), p.Title, p.ProposedBy, when(p.CreatedAt), until})
	}
	t.table("ID\tSTATUS\tPROPOSAL\tBY\tSINCE\tUNTIL", rows)
}
