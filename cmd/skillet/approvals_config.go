package main

import (
	"context"

	"github.com/urfave/cli/v2"

	"github.com/skillet-run/skillet/host"
	"github.com/skillet-run/skillet/host/app/govern"
	"github.com/skillet-run/skillet/host/base/fault"
	"github.com/skillet-run/skillet/host/edge/lines"
)

func (t *terminal) configSet() *cli.Command {
	return command("set", configFlags(), t.withHost(func(ctx context.Context, c *cli.Context, h *host.Host) error {
		return t.changeConfig(ctx, c, h, settingsRequest)
	}))
}

func (t *terminal) configUnset() *cli.Command {
	return command("unset", configFlags(), t.withHost(func(ctx context.Context, c *cli.Context, h *host.Host) error {
		return t.changeConfig(ctx, c, h, unsetRequest)
	}))
}

// configFlags are those of commands that change settings.
func configFlags() []cli.Flag {
	return append(proposerFlags("change them"), &cli.BoolFlag{Name: "dry-run", Usage: "only show what would change"})
}

// changeConfig changes settings, or proposes to.
func (t *terminal) changeConfig(ctx context.Context, c *cli.Context, h *host.Host, read func([]string) ([]govern.Setting, error)) error {
	model, err := proposingModel(c)
	if err != nil {
		return err
	}
	req := govern.ChangeSettings{Model: model, Rationale: plain(c.String("rationale"))}
	if req.Settings, err = read(c.Args().Slice()); err != nil {
		return err
	}
	if c.Bool("dry-run") {
		p, err := h.Govern().Proposals.PlanSettings(ctx, t.person(), req)
		if err != nil {
			return err
		}
		return t.answer(p.Config.Settings, func() { printAll(t.say, lines.Settings(p.Config)) })
	}
	p, err := h.Govern().Proposals.ProposeSettings(ctx, t.person(), req)
	if err != nil {
		return err
	}
	return t.decideChange(ctx, c, h, p)
}

// unsetRequest reads the keys of settings that are to have their defaults.
func unsetRequest(args []string) (all []govern.Setting, err error) {
	if len(args) == 0 {
		return nil, fault.Errorf(fault.KindUsage, "config unset takes a key").WithHint("%s", helpFor("config unset"))
	}
	for _, key := range args {
		all = append(all, govern.Setting{Key: key, Unset: true})
	}
	return all, nil
}

// settingsRequest reads keys and values in turn.
func settingsRequest(args []string) (all []govern.Setting, err error) {
	if len(args) == 0 || len(args)%2 != 0 {
		return nil, fault.Errorf(fault.KindUsage, "config set takes a key and a value, or several such pairs").WithHint("%s", helpFor("config set"))
	}
	for i := 0; i < len(args); i += 2 {
		all = append(all, govern.Setting{Key: args[i], Value: args[i+1]})
	}
	return all, nil
}
