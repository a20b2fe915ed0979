package main

import (
	"context"

	"github.com/urfave/cli/v2"

	"github.com/skillet-run/skillet/host"
	"github.com/skillet-run/skillet/host/app/admit"
)

func (t *terminal) lockCommand() *cli.Command {
	return command("lock", []cli.Flag{
		&cli.StringFlag{Name: "output", Aliases: []string{"o"}, Value: admit.LockFile, Usage: "the `FILE` to write; - for standard output"},
		&cli.BoolFlag{Name: "force", Usage: "replace the file even if it is not a lock"},
	}, t.withHost(t.lock))
}

func (t *terminal) lock(ctx context.Context, c *cli.Context, h *host.Host) error {
	path, r := c.String("output"), admit.LockRequest{Over: c.Bool("force")}
	if path != standardOutput {
		r.Path = path
	}
	l, err := h.Admit().Lock(ctx, t.person(), r)
	if err != nil {
		return err
	}
	if path == standardOutput {
		_, err := t.out.Write(l.Content)
		return err
	}
	return t.answer(l, func() {
		t.sayLines(l.Changes)
		t.note("wrote %s: %s, %s", plain(path), count(l.Packages, "package"), count(l.Roots, "root"))
	})
}
