package main

import (
	"context"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/skillet-run/skillet/host"
	"github.com/skillet-run/skillet/host/app/govern"
	"github.com/skillet-run/skillet/host/app/work"
	"github.com/skillet-run/skillet/host/base/fault"
	"github.com/skillet-run/skillet/host/edge/lines"
	"github.com/skillet-run/skillet/manifests"
)

func (t *terminal) agentCommand() *cli.Command {
	return group("agent",
		command("add", proposerFlags("define it"), t.withProposals(one("one file", t.addAgent))),
		command("list ls", nil, t.withProposals(t.listAgents)),
		command("show", nil, t.withProposals(one("one name", t.showAgent))),
		command("run", append(workFlags(), taskFlags()...), t.withState(func(ctx context.Context, c *cli.Context, h *host.Host) error {
			if c.NArg() < 2 {
				return fault.Errorf(fault.KindUsage, "agent run takes the name of an agent and a goal")
			}
			return t.runTask(ctx, c, h, c.Args().First(), c.Args().Tail())
		})),
		command("remove rm", proposerFlags("remove it"), t.withProposals(one("one name", t.removeAgent))),
	)
}

// proposerFlags are those of commands whose change a model may want.
func proposerFlags(yes string) []cli.Flag {
	return []cli.Flag{
		yesFlag(yes),
		&cli.StringFlag{Name: "generated-by", Usage: "this `MODEL` wants the change: it waits for approval"},
		&cli.StringFlag{Name: "rationale", Usage: "why, shown to whoever decides"},
	}
}

// proposingModel is the model that --generated-by names, which wants a change; empty for
// the person. A model's wish goes with no --yes.
func proposingModel(c *cli.Context) (string, error) {
	model := c.String("generated-by")
	if model != "" && c.Bool("yes") {
		return "", fault.Errorf(fault.KindUsage, "--yes does not go with --generated-by").
			WithHint("what a model wants is looked at first: propose it without --yes, then `skillet approvals show`")
	}
	return plain(model), nil
}

// decideChange has the person decide at once about a change of a file that they
// want themselves. Others wait.
func (t *terminal) decideChange(ctx context.Context, c *cli.Context, h *host.Host, p govern.Proposal) error {
	if !govern.DecidedAtOnce(t.person(), p) || !c.Bool("yes") && !t.canAsk() {
		return govern.Waiting(p)
	}
	if !c.Bool("yes") {
		v, err := t.lookAt(ctx, h, govern.ShowProposal{ID: p.ID, NoTests: true})
		if err != nil {
			return err
		}
		t.showBrief(v)
		if err := t.confirm(strings.TrimPrefix(c.Command.HelpName, "skillet "), "Change this?"); err != nil {
			if _, rejected := h.Govern().Proposals.Reject(ctx, t.person(), govern.Decision{ID: p.ID, Notes: "not meant"}); rejected != nil {
				return rejected
			}
			return err
		}
	}
	out, err := h.Govern().Proposals.Approve(ctx, t.person(), govern.Approval{ID: p.ID, Digest: string(p.Digest)})
	return answered(t, out, err, t.noteApproved)
}

func (t *terminal) addAgent(ctx context.Context, c *cli.Context, h *host.Host, file string) error {
	model, err := proposingModel(c)
	if err != nil {
		return err
	}
	text, err := readSmall(ctx, file, manifests.MaxBytes)
	if err != nil {
		return err
	}
	p, err := h.Work().Agents().Propose(ctx, t.person(), work.Definition{Text: text, File: file, Model: model, Rationale: plain(c.String("rationale"))})
	if err != nil {
		return err
	}
	if len(p.Missing) > 0 {
		t.note("the agent names tools that are not installed, and cannot call them until they are: %s", plain(strings.Join(p.Missing, ", ")))
	}
	return t.decideChange(ctx, c, h, p.Proposal)
}

func (t *terminal) removeAgent(ctx context.Context, c *cli.Context, h *host.Host, name string) error {
	model, err := proposingModel(c)
	if err != nil {
		return err
	}
	p, err := h.Work().Agents().ProposeRemoval(ctx, t.person(), work.Removal{Name: name, Model: model, Rationale: plain(c.String("rationale"))})
	if err != nil {
		return err
	}
	return t.decideChange(ctx, c, h, p)
}

func (t *terminal) listAgents(ctx context.Context, _ *cli.Context, h *host.Host) error {
	all, err := h.Work().Agents().List(ctx, t.person())
	return answered(t, all, err, func(all []work.AgentEntry) {
		var rows [][]string
		for _, a := range all {
			row := []string{a.Name, a.Origin, "-", "broken: " + a.Problem}
			if a.Definition != nil {
				row[2], row[3] = string(a.Definition.Tier), a.Definition.Description
			}
			rows = append(rows, row)
		}
		t.table("NAME\tFROM\tTIER\tDESCRIPTION", rows)
	})
}

func (t *terminal) showAgent(ctx context.Context, _ *cli.Context, h *host.Host, name string) error {
	a, err := h.Work().Agents().Show(ctx, t.person(), name)
	return t.answered(a.Definition, err, func() { printAll(t.say, lines.Agent(a)) })
}
