package main

import (
	"context"

	"github.com/urfave/cli/v2"

	"github.com/skillet-run/skillet/host"
	"github.com/skillet-run/skillet/host/app/admit"
)

func (t *terminal) pullCommand() *cli.Command {
	return command("pull", []cli.Flag{
		&cli.StringFlag{Name: "output", Aliases: []string{"o"}, Value: ".", Usage: "the `DIR` or FILE.skill to write"},
		&cli.BoolFlag{Name: "replace", Aliases: []string{"force"}, Usage: "replace another package of that name"},
		plainHTTPFlag(),
	}, t.withHost(t.pull))
}

func plainHTTPFlag() cli.Flag {
	return &cli.BoolFlag{Name: "plain-http", Usage: "reach the place without TLS: anybody on the way can see and change what is sent"}
}

func (t *terminal) pull(ctx context.Context, c *cli.Context, h *host.Host) error {
	if err := notPiped(c); err != nil {
		return err
	}
	args := c.Args().Slice()
	progress := t.downloading(args)
	done := progress.show(0)
	p, err := h.Admit().Pull(ctx, t.person(), admit.PullRequest{
		From: args[0], Output: c.String("output"), Replace: c.Bool("replace"),
		Transfer: admit.Transfer{PlainHTTP: c.Bool("plain-http"), Progress: progress.of(0)},
	})
	done()
	return t.answered(p, err, func() {
		t.say("%s", p.Path)
		t.note("%s@%s sha256:%s from %s", plain(p.Name), plain(p.Version), p.Digest.Short(), plain(p.Source))
		if p.From != "" {
			t.note("  the bytes came from %s", plain(p.From))
		}
		for _, s := range p.Signatures {
			t.note("  its signature, which nobody has verified yet: %s", s)
		}
		if len(p.Signatures) == 0 {
			t.note("  it is not signed")
		}
	})
}
