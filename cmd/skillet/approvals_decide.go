package main

import (
	"cmp"
	"context"
	"slices"
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
	return command("approve", append(append(append(decisionFlags("approve it"),
		&cli.StringFlag{Name: "digest", Usage: "the `DIGEST` you were shown, or its beginning: refuse if it is another"},
		&cli.StringSliceFlag{Name: "despite", Usage: "approve although this `RULE` found something; may be repeated"},
	), scopeFlags()...), whichFlags()...), t.withHost(t.approve))
}

func (t *terminal) approve(ctx context.Context, c *cli.Context, h *host.Host) error {
	terms, err := scopeTerms(c)
	if err != nil {
		return err
	}
	ps, err := t.chosen(ctx, c, h, govern.StatusPending)
	if err != nil {
		return err
	}
	switch {
	case c.IsSet("digest") && len(ps) > 1:
		return fault.Errorf(fault.KindUsage, "--digest is that of one proposal, and these are %d", len(ps)).WithHint("approve them one after the other, or without --digest")
	case c.IsSet("digest") && c.String("digest") == "":
		return fault.Errorf(fault.KindUsage, "--digest is empty").WithHint("give the digest that `skillet approvals show %s` showed", ps[0].ID)
	}
	return decideEach(ctx, t, ps, func(p govern.Proposal) (govern.Outcome, error) {
		if err := t.deciding(ctx, c, h, p, "approve"); err != nil {
			return govern.Outcome{}, err
		}
		return h.Govern().Proposals.Approve(ctx, t.person(), govern.Approval{
			ID: p.ID, Digest: cmp.Or(c.String("digest"), string(p.Digest)), Notes: c.String("notes"), Despite: c.StringSlice("despite"), Terms: terms,
		})
	}, t.noteApproved)
}

// chosen are the proposals that a command line names, or those that stand so and fit its
// filters.
func (t *terminal) chosen(ctx context.Context, c *cli.Context, h *host.Host, status govern.Status) ([]govern.Proposal, error) {
	req := which(c)
	filtered := req.Skill != "" || req.Kind != ""
	switch {
	case c.Args().Present() && filtered:
		return nil, fault.Errorf(fault.KindUsage, "--skill and --kind say which proposals are meant, and so do ids").WithHint("give one or the other")
	case !c.Args().Present() && !filtered && c.Command.Name != "review":
		return nil, fault.Errorf(fault.KindUsage, "%s takes the id of a proposal", strings.TrimPrefix(c.Command.HelpName, "skillet ")).WithHint("`skillet approvals list` shows what waits; `skillet approvals review` walks through it")
	case !c.Args().Present():
		req.Status = status
		ps, err := h.Govern().Proposals.List(ctx, t.person(), req)
		if err == nil && len(ps) == 0 && filtered {
			err = fault.Errorf(fault.KindNotFound, "nothing that waits is about that").WithHint("`skillet approvals list` shows what waits")
		}
		return ps, err
	}
	var ps []govern.Proposal
	for _, id := range c.Args().Slice() {
		p, err := h.Govern().Proposals.Find(ctx, t.person(), id)
		if err != nil {
			return nil, err
		}
		if !slices.ContainsFunc(ps, func(o govern.Proposal) bool { return o.ID == p.ID }) {
			ps = append(ps, p)
		}
	}
	return ps, nil
}

// decided is what became of one of several proposals.
type decided[T any] struct {
	ID     string       `json:"id"`
	OK     bool         `json:"ok"`
	Result *T           `json:"result,omitempty"`
	Error  *fault.Error `json:"error,omitempty"`
}

// decideEach decides about proposals, one after the other: one that cannot be decided does not
// keep the others waiting, and the first of those decides the exit code.
func decideEach[T any](ctx context.Context, t *terminal, ps []govern.Proposal, do func(govern.Proposal) (T, error), told func(T)) error {
	if len(ps) == 1 {
		v, err := do(ps[0])
		return answered(t, v, err, told)
	}
	all, failed := []decided[T]{}, (*fault.Error)(nil)
	for _, p := range ps {
		v, err := do(p)
		if ctx.Err() != nil {
			return cmp.Or(err, ctx.Err())
		}
		d := decided[T]{ID: p.ID, OK: err == nil, Error: explain(err)}
		if err == nil {
			d.Result = &v
		}
		switch {
		case t.json:
		case err != nil:
			t.tell(d.Error)
		default:
			told(v)
		}
		failed, all = cmp.Or(failed, d.Error), append(all, d)
	}
	return t.answerEach(all, failed)
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
	return t.turningDown("reject", "rejected", whichFlags(), (*govern.Proposals).Reject)
}

func (t *terminal) approvalsRevert() *cli.Command {
	return t.turningDown("revert", "reverted", nil, (*govern.Proposals).Revert)
}

// turningDown is a command by which a person says no to proposals.
func (t *terminal) turningDown(verb, done string, more []cli.Flag, do func(*govern.Proposals, context.Context, principal.Human, govern.Decision) (govern.Proposal, error)) *cli.Command {
	return command(verb, append(decisionFlags(verb+" it"), more...), t.withHost(func(ctx context.Context, c *cli.Context, h *host.Host) error {
		ps, err := t.chosen(ctx, c, h, "")
		if err != nil {
			return err
		}
		return decideEach(ctx, t, ps, func(p govern.Proposal) (govern.Proposal, error) {
			if err := t.deciding(ctx, c, h, p, verb); err != nil {
				return p, err
			}
			return do(h.Govern().Proposals, ctx, t.person(), govern.Decision{ID: p.ID, Notes: c.String("notes")})
		}, func(p govern.Proposal) { t.note("%s %s: %s", done, p.ID, plain(p.Title)) })
	}))
}

// deciding makes sure that the person means a decision: they see what it is about and say yes,
// or said --yes.
func (t *terminal) deciding(ctx context.Context, c *cli.Context, h *host.Host, p govern.Proposal, verb string) error {
	open := govern.Undecided(p) || verb == "revert" && p.Status == govern.StatusApplied
	if c.Bool("yes") || !open {
		return nil
	}
	if !t.canAsk() {
		return fault.Errorf(fault.KindUsage, "approvals %s needs confirmation, and nobody can be asked here", verb).
			WithHint("look at it with `skillet approvals show %s`, then add --yes", p.ID)
	}
	v, err := t.lookAt(ctx, h, govern.ShowProposal{ID: p.ID})
	if err != nil {
		return err
	}
	t.showBrief(v)
	return t.confirmDetailed("approvals "+verb, strings.ToUpper(verb[:1])+verb[1:]+" this?", func() ([]string, error) { return t.wholeProposal(ctx, h, v) })
}

// toolsOf is the end of a sentence that says which tools a skill has.
func toolsOf(s govern.Skill) string {
	if len(s.Tools) == 0 {
		return ""
	}
	return ", tools: " + strings.Join(s.Tools, ", ")
}
