package main

import (
	"context"

	"github.com/urfave/cli/v2"

	"github.com/skillet-run/skillet/host"
	"github.com/skillet-run/skillet/host/app/upkeep"
)

func (t *terminal) gcCommand() *cli.Command {
	return command("gc", []cli.Flag{
		&cli.BoolFlag{Name: "compiled", Usage: "delete compiled code, too"},
		&cli.BoolFlag{Name: "dry-run", Usage: "only show what would be deleted"},
	}, t.withHost(func(ctx context.Context, c *cli.Context, h *host.Host) error {
		g, err := h.Upkeep().CollectGarbage(ctx, t.person(), upkeep.GarbageRequest{Delete: !c.Bool("dry-run"), Compiled: c.Bool("compiled")})
		return answered(t, g, err, func(g upkeep.Garbage) {
			verb := "deleted"
			if c.Bool("dry-run") {
				verb = "would delete"
			}
			t.note("%s %s of packages, %s and %s of compiled code (%d bytes of caches)", verb,
				count(g.Packages, "file"), count(g.Downloads, "unfinished download"), count(g.Compiled, "file"), g.Bytes)
			if g.Packed > 0 && c.Bool("dry-run") {
				t.note("would put %s of the git history into one", count(g.Packed, "file"))
			} else if g.Packed > 0 {
				t.note("put %s of the git history into one", count(g.Packed, "file"))
			}
			if g.Recordings > 0 {
				t.note("%s %s of calls (%d bytes)", verb, count(g.Recordings, "recording"), g.RecordingBytes)
			}
		})
	}))
}
