package main

import (
	"cmp"
	"context"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/skillet-run/skillet/cmd/skillet/internal/cmdline"
	"github.com/skillet-run/skillet/host"
	"github.com/skillet-run/skillet/host/app/govern"
	"github.com/skillet-run/skillet/host/app/principal"
	"github.com/skillet-run/skillet/host/base/fault"
)

func decisionFlags(what string) []cli.Flag {
	return []cli.Flag{
		cmdline.ReasonFlag("why, kept with the decision, as `TEXT`"),
		yesFlag(what),
	}
}

func (t *terminal) approvalsApprove() *cli.Command {
	return command("approve", append(append(decisionFlags("approve it"),
		&cli.StringFlag{Name: "digest", Usage: "the `DIGEST` you were shown, or its beginning: refuse if it is another"},
		&cli.StringSliceFlag{Name: "despite", Usage: "approve although this `RULE` found something; may be repeated"},
	), scopeFlags()...), t.withHost(t.approve))
}

func (t *terminal) approve(ctx context.Context, c *cli.Context, h *host.Host) error {
	terms, err := scopeTerms(c)
	if err != nil {
		return err
	}
	p, err := t.deciding(ctx, c, h, "approve")
	if err != nil {
		return err
	}
	if c.IsSet("digest") && c.String("digest") == "" {
		return fault.Errorf(fault.KindUsage, "--digest is empty").WithHint("give the digest that `skillet approvals show %s` showed", p.ID)
	}
	out, err := h.Govern().Proposals.Approve(ctx, t.person(), govern.Approval{
		ID: p.ID, Digest: cmp.Or(c.String("digest"), string(p.Digest)), Notes: c.String("reason"), Despite: c.StringSlice("despite"), Terms: terms,
	})
	return t.answered(out, err, func() { t.noteApproved(out) })
}

// noteApproved says what an approval led to.
func (t *terminal) noteApproved(out govern.Outcome) {
	p := out.Proposal
	switch {
	case out.Skill != nil:
		t.note("approved %s: installed %s (sha256:%s)%s", p.ID, plain(out.Skill.Ref()), out.Skill.Digest.Short(), plain(toolsOf(*out.Skill)))
		t.noteGranted(out.Granted)
	case p.Loop != nil:
		t.note("approved %s: this script may call %s %s", p.ID, plain(p.Ref()+":"+p.Call.Tool), plain(p.Loop.Words()))
	case p.Call != nil:
		t.note("approved %s: %s may be called once with that input, until %s", p.ID, plain(p.Ref()+":"+p.Call.Tool), when(p.ExpiresAt))
	default:
		t.note("approved %s: %s", p.ID, plain(p.Title))
	}
}

func (t *terminal) approvalsReject() *cli.Command {
	return t.turningDown("reject", "rejected", (*govern.Proposals).Reject)
}

func (t *terminal) approvalsRevert() *cli.Command {
	return t.turningDown("revert", "reverted", (*govern.Proposals).Revert)
}

// turningDown is a command by which a person says no to a proposal.
func (t *terminal) turningDown(verb, done string, do func(*govern.Proposals, context.Context, principal.Human, govern.Decision) (govern.Proposal, error)) *cli.Command {
	return command(verb, decisionFlags(verb+" it"), t.withHost(func(ctx context.Context, c *cli.Context, h *host.Host) error {
		p, err := t.deciding(ctx, c, h, verb)
		if err != nil {
			return err
		}
		p, err = do(h.Govern().Proposals, ctx, t.person(), govern.Decision{ID: p.ID, Notes: c.String("reason")})
		return t.answered(p, err, func() { t.note("%s %s: %s", done, p.ID, plain(p.Title)) })
	}))
}

// deciding finds the proposal a decision is about, and makes sure that the
// person means it: they see it and say yes, or said --yes.
func (t *terminal) deciding(ctx context.Context, c *cli.Context, h *host.Host, verb string) (govern.Proposal, error) {
	p, err := h.Govern().Proposals.Find(ctx, t.person(), c.Args().First())
	open := govern.Undecided(p) || verb == "revert" && p.Status == govern.StatusApplied
	if err != nil || c.Bool("yes") || !open {
		return p, err
	}
	if !t.canAsk() {
		return p, fault.Errorf(fault.KindUsage, "approvals %s needs confirmation, and nobody can be asked here", verb).
			WithHint("look at it with `skillet approvals show %s`, then add --yes", p.ID)
	}
	v, err := t.lookAt(ctx, h, govern.ShowProposal{ID: p.ID})
	if err != nil {
		return p, err
	}
	t.showBrief(v)
	return p, t.confirmDetailed("approvals "+verb, strings.ToUpper(verb[:1])+verb[1:]+" this?", func() ([]string, error) { return t.wholeProposal(ctx, h, v) })
}

// toolsOf is the end of a sentence that says which tools a skill has.
func toolsOf(s govern.Skill) string {
	if len(s.Tools) == 0 {
		return ""
	}
	return ", tools: " + strings.Join(s.Tools, ", ")
}
