package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/skillet-run/skillet/host"
	"github.com/skillet-run/skillet/host/app/govern"
	"github.com/skillet-run/skillet/host/base/fault"
)

func (t *terminal) approvalsReview() *cli.Command {
	return command("review", append(append([]cli.Flag{noTestsFlag()}, scopeFlags()...), whichFlags()...), t.withHost(t.review))
}

func noTestsFlag() cli.Flag {
	return &cli.BoolFlag{Name: "no-tests", Usage: "do not run the tests of the package, and replay nothing"}
}

// review walks a person through what waits.
func (t *terminal) review(ctx context.Context, c *cli.Context, h *host.Host) error {
	if !t.canAsk() {
		return fault.Errorf(fault.KindUsage, "approvals review asks about each proposal, and nobody can be asked here").
			WithHint("`skillet approvals list` and `skillet approvals show` say what waits; approve and reject take several ids, and --yes")
	}
	terms, err := scopeTerms(c)
	if err != nil {
		return err
	}
	ps, err := t.chosen(ctx, c, h, "")
	if err != nil {
		return err
	}
	r := reviewer{t: t, h: h, terms: terms, noTests: c.Bool("no-tests"), of: len(ps)}
	for _, p := range ps {
		if err := r.one(ctx, p.ID); err != nil {
			return err
		}
		if r.quit {
			break
		}
	}
	return r.end()
}

// A reviewer walks through proposals with a person.
type reviewer struct {
	t       *terminal
	h       *host.Host
	terms   govern.Terms
	noTests bool
	// at is the proposal in hand, counted from 1, and of how many there are.
	at, of int
	// approved, rejected and skipped are how many were decided so, and failed is the first
	// decision that could not be carried out.
	approved, rejected, skipped int
	failed                      *fault.Error
	quit                        bool
}

// one shows a proposal, and does what the person says. Only what ends the whole walk is an
// error: Ctrl-C, and a terminal that cannot be read.
func (r *reviewer) one(ctx context.Context, id string) error {
	r.at++
	v, err := r.t.lookAt(ctx, r.h, govern.ShowProposal{ID: id, NoTests: r.noTests})
	if err != nil {
		return r.carriedOut(ctx, err)
	}
	if !govern.Undecided(v.Proposal) {
		r.t.note("%s is %s by now", v.ID, v.Status)
		return nil
	}
	if r.of > 1 {
		r.t.note("%d of %d", r.at, r.of)
	}
	r.t.showBrief(v)
	for {
		word, err := r.t.prompt("Approve, reject, skip, show all of it, or quit? [a/r/s/d/q/N] ")
		if err != nil {
			return err
		}
		switch word {
		case "a", "approve":
			return r.approve(ctx, v)
		case "r", "reject":
			return r.reject(ctx, v)
		case "d":
			if err := r.t.showDetails(func() ([]string, error) { return r.t.wholeProposal(ctx, r.h, v) }); err != nil {
				return r.carriedOut(ctx, err)
			}
		case "q", "quit":
			r.quit = true
			return nil
		case "", "s", "n", "skip", "no":
			r.skipped++
			return nil
		default:
			r.t.note("answer a, r, s, d or q")
		}
	}
}

// approve approves what was shown, and no more than that.
func (r *reviewer) approve(ctx context.Context, v govern.Proposed) error {
	despite := v.Findings.Blocking()
	if len(despite) > 0 {
		yes, err := r.t.ask(plain(fmt.Sprintf("The scan found %s. Approve it despite that?", strings.Join(despite, ", "))))
		if err != nil || !yes {
			r.skipped++
			return err
		}
	}
	out, err := r.h.Govern().Proposals.Approve(ctx, r.t.person(), govern.Approval{
		ID: v.ID, Digest: string(v.Digest), Despite: despite, Terms: r.terms, Seen: govern.Versions{v.Version()},
	})
	if err != nil {
		return r.carriedOut(ctx, err)
	}
	r.approved++
	r.t.noteApproved(out)
	return nil
}

func (r *reviewer) reject(ctx context.Context, v govern.Proposed) error {
	why, err := r.t.typed("Why, to be kept with the decision? (may be left empty) ")
	if err != nil {
		return err
	}
	p, err := r.h.Govern().Proposals.Reject(ctx, r.t.person(), govern.Decision{ID: v.ID, Notes: plain(why), Seen: govern.Versions{v.Version()}})
	if err != nil {
		return r.carriedOut(ctx, err)
	}
	r.rejected++
	r.t.note("rejected %s: %s", p.ID, plain(p.Title))
	return nil
}

// carriedOut tells of a decision that could not be carried out; the walk goes on, unless it is
// to end.
func (r *reviewer) carriedOut(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return cmp.Or(err, ctx.Err())
	}
	e := explain(err)
	r.t.tell(e)
	r.failed = cmp.Or(r.failed, e)
	return nil
}

// end says what was decided.
func (r *reviewer) end() error {
	if r.of == 0 {
		r.t.note("nothing waits for approval")
	} else if r.of > 1 {
		r.t.note("%d approved, %d rejected, %d left as they are", r.approved, r.rejected, r.of-r.approved-r.rejected)
	}
	if r.failed != nil {
		return reported{r.failed.Kind}
	}
	return nil
}

// offerReview offers a person at a terminal to look at what a command ended with waiting for
// them. The command succeeded when they approve all of it.
func (t *terminal) offerReview(ctx context.Context, c *cli.Context, h *host.Host, err error) error {
	if err == nil || ctx.Err() != nil || t.offered || !t.canAsk() || strings.HasPrefix(c.Command.HelpName, "skillet approvals") {
		return err
	}
	ids := slices.Clone(t.waits) // of which was told
	if e := explain(err); len(ids) == 0 && e.Kind == fault.KindApproval {
		if ids = waitingFor(e); len(ids) > 0 {
			t.tell(e)
			err = reported{e.Kind}
		}
	}
	all, failed := t.reviewNow(ctx, h, ids)
	var said reported
	switch {
	case failed != nil:
		return failed
	case all && errors.As(err, &said) && said.kind == fault.KindApproval:
		return nil
	}
	return err
}

// reviewNow asks whether a person wants to look at proposals now, and walks through them.
// It reports whether all were approved.
func (t *terminal) reviewNow(ctx context.Context, h *host.Host, ids []string) (all bool, err error) {
	if len(ids) == 0 {
		return false, nil
	}
	t.offered = true
	if yes, err := t.ask("Look at it now?"); err != nil || !yes {
		return false, err
	}
	r := reviewer{t: t, h: h, terms: govern.Terms{Scope: govern.ScopeAlways}, of: len(ids)}
	for _, id := range ids {
		if err := r.one(ctx, id); err != nil {
			return false, err
		}
		if r.quit {
			break
		}
	}
	return r.approved == r.of, nil
}

// waitingFor are the proposals that an error says to look at.
func waitingFor(e *fault.Error) (ids []string) {
	for _, r := range e.Remedies {
		if r.Action == fault.ShowProposal("").Action && !slices.Contains(ids, r.Proposal) {
			ids = append(ids, r.Proposal)
		}
	}
	return ids
}
