package main

import (
	"context"
	"path/filepath"

	"github.com/urfave/cli/v2"

	"github.com/skillet-run/skillet/host"
	"github.com/skillet-run/skillet/host/app/author"
	"github.com/skillet-run/skillet/host/app/invoke"
	"github.com/skillet-run/skillet/host/edge/lines"
)

func (t *terminal) inspectCommand() *cli.Command {
	return command("inspect", nil, t.withHost(t.inspect))
}

func (t *terminal) inspect(ctx context.Context, c *cli.Context, h *host.Host) error {
	args, err := need(c, 1, "one module, package or skill")
	if err != nil {
		return err
	}
	r := author.InspectRequest{Progress: t.progress}
	shown := func() {}
	if filepath.Ext(args[0]) == ".wasm" {
		r.Module = args[0]
	} else {
		if r.Address, err = invoke.ParseAddress(args[0]); err != nil {
			return err
		}
		progress := t.downloading(args)
		r.Fetched, shown = progress.of(0), progress.show(0)
	}
	out, err := h.Author().Inspect(ctx, t.person(), r)
	shown()
	t.noteAll(out.Notes)
	return printLines(t, out, err, lines.Inspected)
}
