package main

import (
	"context"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/skillet-run/skillet/host"
	"github.com/skillet-run/skillet/host/approval"
	"github.com/skillet-run/skillet/host/install"
	"github.com/skillet-run/skillet/host/review"
	"github.com/skillet-run/skillet/host/task"
	"github.com/skillet-run/skillet/manifests"
)

func (t *terminal) approvalsCommand() *cli.Command {
	return &cli.Command{
		Name:  "approvals",
		Usage: "look at and decide what waits for a person",
		Description: "A proposal is bound to the bytes of its package: when one of them changes, it is\n" +
			"another proposal. Ids may be shortened to four characters or more.\n\n" +
			"Examples:\n  skillet approvals list\n  skillet approvals show 3f9a\n  skillet approvals approve 3f9a --digest 5d41402abc4b",
		Subcommands: []*cli.Command{
			t.approvalsList(), t.approvalsShow(), t.approvalsApprove(), t.approvalsReject(),
		},
	}
}

func (t *terminal) approvalsList() *cli.Command {
	return &cli.Command{
		Name: "list", Aliases: []string{"ls"},
		Usage:       "list the proposals that wait",
		Description: "Examples:\n  skillet approvals list\n  skillet approvals list --all --json",
		Flags:       []cli.Flag{allFlag("those that are decided")},
		Action: t.withState(func(ctx context.Context, c *cli.Context, h *host.Host) error {
			all, err := h.Desk.Proposals(ctx)
			if err != nil {
				return err
			}
			ps := listed(c, all, func(p approval.Proposal) bool { return p.Status == approval.StatusPending })
			return t.answer(ps, func() { t.showProposals(ps) })
		}),
	}
}

func (t *terminal) showProposals(ps []approval.Proposal) {
	if len(ps) == 0 {
		t.note("nothing waits for approval")
		return
	}
	var rows [][]string
	for _, p := range ps {
		rows = append(rows, []string{p.ID, string(p.Status), p.Title, p.ProposedBy, when(p.CreatedAt)})
	}
	t.table("ID\tSTATUS\tPROPOSAL\tBY\tSINCE", rows)
}

func (t *terminal) approvalsShow() *cli.Command {
	return &cli.Command{
		Name:      "show",
		Usage:     "show a proposal: who, why, what it asks for, what is in it",
		ArgsUsage: "ID",
		Description: "Beside the active version of the skill: changed texts line by line, other files by\n" +
			"size and digest, and what its module newly calls. Long differences are cut short, and\n" +
			"say so; --full shows all.\n\n" +
			"Examples:\n  skillet approvals show 3f9a\n  skillet approvals show 3f9a --full\n  skillet approvals show 3f9a --json",
		Flags: []cli.Flag{fullFlag()},
		Action: t.withState(func(ctx context.Context, c *cli.Context, h *host.Host) error {
			args, err := need(c, 1, "one id")
			if err != nil {
				return err
			}
			p, err := h.Desk.Proposal(ctx, args[0])
			if err != nil {
				return err
			}
			return t.showProposal(ctx, h, p, c.Bool("full"))
		}),
	}
}

// proposed is what --json prints of a proposal: the limits are those that hold
// on this host.
type proposed struct {
	approval.Proposal
	Limits manifests.ResolvedLimits `json:"limits"`
	Cut    []host.Cut               `json:"limits_cut"`
	comparison
}

func (t *terminal) showProposal(ctx context.Context, h *host.Host, p approval.Proposal, full bool) error {
	v := proposed{Proposal: p}
	v.Limits, v.Cut = h.Enforced(p.Limits)
	v.Files = []review.File{}
	if p.Status == approval.StatusPending {
		pkg, err := h.Registry.Package(ctx, p.Digest)
		if err != nil {
			return err
		}
		v.comparison, err = t.compare(ctx, h, pkg, full, "`skillet approvals show "+p.ID+" --full` shows them")
		if err != nil {
			return err
		}
	}
	return t.answer(v, func() { t.printProposal(v) })
}

func (t *terminal) printProposal(v proposed) {
	t.say("proposal %s: %s (%s)", v.ID, plain(v.Title), v.Status)
	t.say("  proposed by %s on %s, from %s (%s)", plain(v.ProposedBy), when(v.CreatedAt), plain(v.Source), plain(v.Origin))
	if v.Replaces != "" {
		t.say("  replaces %s@%s as the active version", plain(v.Skill), plain(v.Replaces))
	}
	if v.Rationale != "" {
		t.say("  because: %s", plain(v.Rationale))
	}
	t.say("  digest %s", v.Digest)
	t.printRequested(v.Requested)
	if v.DecidedBy != "" {
		t.say("  %s by %s on %s%s", v.Status, plain(v.DecidedBy), when(v.DecidedAt), because(plain(v.Notes), nil))
		return
	}
	bounds{v.Limits, v.Cut}.show(t.say, "  limits:")
	v.comparison.show(t.say)
	t.say("  decide: skillet approvals approve %s --digest %s", v.ID, v.Digest.Short())
	t.say("      or: skillet approvals reject %s --notes 'why'", v.ID)
}

// printRequested lists what a proposal asks for; a + marks what no earlier
// version was granted.
func (t *terminal) printRequested(asks []approval.Ask) {
	if len(asks) == 0 {
		t.say("  asks for nothing: it can compute and answer")
	}
	for _, a := range asks {
		mark := map[bool]string{true: "+", false: " "}[a.New]
		t.say("%s asks to %s%s", mark, plain(a.Words), because(plain(a.Reason), nil))
		t.say("      %s", plain(a.Capability.String()))
	}
}

func decisionFlags(what string) []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "notes", Usage: "why, kept with the decision"},
		yesFlag(what),
	}
}

func (t *terminal) approvalsApprove() *cli.Command {
	return &cli.Command{
		Name:      "approve",
		Usage:     "install what is proposed, and grant what it asks for",
		ArgsUsage: "ID",
		Description: "The approval holds for the bytes that were proposed and no others.\n\n" +
			"Examples:\n  skillet approvals approve 3f9a\n  skillet approvals approve 3f9a --digest 5d41402abc4b --yes --notes 'read it'",
		Flags: append(decisionFlags("approve it"), &cli.StringFlag{Name: "digest", Usage: "the `DIGEST` you were shown, or its beginning: refuse if it is another"}),
		Action: t.withState(func(ctx context.Context, c *cli.Context, h *host.Host) error {
			p, err := t.deciding(ctx, c, h, "approve")
			if err != nil {
				return err
			}
			if c.IsSet("digest") && c.String("digest") == "" {
				return task.Errorf(task.KindUsage, "--digest is empty").WithHint("give the digest that `skillet approvals show %s` showed", p.ID)
			}
			out, err := h.Installer.Approve(ctx, t.person(), p.ID, install.Consent{Digest: c.String("digest"), Notes: c.String("notes")})
			if err != nil {
				return err
			}
			return t.answer(out, func() {
				t.note("approved %s: installed %s (sha256:%s), tools: %s", p.ID, plain(out.Skill.Ref()), out.Skill.Digest.Short(), plain(strings.Join(out.Skill.Tools, ", ")))
			})
		}),
	}
}

func (t *terminal) approvalsReject() *cli.Command {
	return &cli.Command{
		Name:        "reject",
		Usage:       "refuse what is proposed",
		ArgsUsage:   "ID",
		Description: "Examples:\n  skillet approvals reject 3f9a --notes 'it has no business on the network' --yes",
		Flags:       decisionFlags("reject it"),
		Action: t.withState(func(ctx context.Context, c *cli.Context, h *host.Host) error {
			p, err := t.deciding(ctx, c, h, "reject")
			if err != nil {
				return err
			}
			p, err = h.Installer.Reject(ctx, t.person(), p.ID, c.String("notes"))
			if err != nil {
				return err
			}
			return t.answer(p, func() { t.note("rejected %s: %s", p.ID, plain(p.Title)) })
		}),
	}
}

// deciding finds the proposal a decision is about, and makes sure that the
// person means it: they see it and say yes, or said --yes.
func (t *terminal) deciding(ctx context.Context, c *cli.Context, h *host.Host, verb string) (approval.Proposal, error) {
	args, err := need(c, 1, "one id")
	if err != nil {
		return approval.Proposal{}, err
	}
	p, err := h.Desk.Proposal(ctx, args[0])
	if err != nil || c.Bool("yes") || p.Status != approval.StatusPending {
		return p, err
	}
	if !t.canAsk() {
		return p, task.Errorf(task.KindUsage, "approvals %s needs a yes, and nobody can be asked here", verb).
			WithHint("look at it with `skillet approvals show %s`, then add --yes", p.ID)
	}
	if err := t.showProposal(ctx, h, p, false); err != nil {
		return p, err
	}
	return p, t.confirm("approvals "+verb, strings.ToUpper(verb[:1])+verb[1:]+" this?")
}
