package main

import (
	"context"

	"github.com/urfave/cli/v2"

	"github.com/skillet-run/skillet/host"
	"github.com/skillet-run/skillet/host/approval"
	"github.com/skillet-run/skillet/host/config"
	"github.com/skillet-run/skillet/host/install"
	"github.com/skillet-run/skillet/host/settings"
	"github.com/skillet-run/skillet/host/task"
)

func (t *terminal) configSet() *cli.Command {
	return &cli.Command{
		Name:      "set",
		Usage:     "change settings, or propose to",
		ArgsUsage: "KEY VALUE [KEY VALUE...]",
		Description: "Writes " + config.FileName + " in the home when you agree, and keeps what it was: `skillet\n" +
			"approvals revert` puts it back. Without a terminal, and without --yes, the change waits\n" +
			"as a proposal (exit code 6). One that a model wants always waits.\n\n" +
			"Examples:\n  skillet config set max_memory_mb 512\n  skillet config set log_level debug log_format json --yes\n" +
			"  skillet config set max_fuel 2000000000 --generated-by gpt-x --rationale 'the last report ran out of it'",
		Flags: []cli.Flag{
			yesFlag("change them"),
			&cli.StringFlag{Name: "generated-by", Usage: "this `MODEL` wants the change: it waits for approval"},
			&cli.StringFlag{Name: "rationale", Usage: "why, shown to who decides"},
		},
		Action: t.withProposals(t.setConfig),
	}
}

func (t *terminal) setConfig(ctx context.Context, c *cli.Context, h *host.Host) error {
	model := c.String("generated-by")
	if c.Bool("yes") && model != "" {
		return task.Errorf(task.KindUsage, "--yes does not go with --generated-by").
			WithHint("what a model wants is looked at first: propose it without --yes, then `skillet approvals show`")
	}
	r, err := settingsRequest(c.Args().Slice())
	if err != nil {
		return err
	}
	r.Rationale, r.ProposedBy = plain(c.String("rationale")), t.person().Actor()
	if model != "" {
		r.ProposedBy = "model:" + plain(model)
	}
	p, err := h.Settings.Propose(ctx, r)
	if err != nil {
		return err
	}
	if model != "" || !c.Bool("yes") && !t.canAsk() {
		return task.Errorf(task.KindApproval, "the change of %s waits for approval: proposal %s", config.FileName, p.ID).
			WithHint("look at it with `skillet approvals show %s`, then `skillet approvals approve %s` or `reject`", p.ID, p.ID)
	}
	return t.changeConfig(ctx, c, h, p)
}

// changeConfig asks the person, and carries out what they proposed themselves.
func (t *terminal) changeConfig(ctx context.Context, c *cli.Context, h *host.Host, p approval.Proposal) error {
	if !c.Bool("yes") {
		t.printConfig(p.Config)
		if err := t.confirm("config set", "Change this?"); err != nil {
			_, rejected := h.Installer.Reject(ctx, t.person(), p.ID, "not meant")
			if rejected != nil {
				return rejected
			}
			return err
		}
	}
	out, err := h.Approve(ctx, t.person(), p.ID, install.Consent{Digest: string(p.Digest)})
	if err != nil {
		return err
	}
	return t.answer(out, func() { t.noteApproved(out) })
}

// settingsRequest reads keys and values in turn.
func settingsRequest(args []string) (settings.Request, error) {
	var r settings.Request
	if len(args) == 0 || len(args)%2 != 0 {
		return r, task.Errorf(task.KindUsage, "config set takes a key and a value, or several such pairs").WithHint("%s", helpFor("config set"))
	}
	for i := 0; i < len(args); i += 2 {
		r.Settings = append(r.Settings, settings.Setting{Key: args[i], Value: args[i+1]})
	}
	return r, nil
}
