package main

import (
	"context"

	"github.com/urfave/cli/v2"

	"github.com/skillet-run/skillet/host"
	"github.com/skillet-run/skillet/host/app/upkeep"
)

func (t *terminal) gcCommand() *cli.Command {
	return &cli.Command{
		Name:  "gc",
		Usage: "delete files that nothing needs any more",
		Description: "Deletes files of packages that no installed version, no proposal and no quarantine refers to,\n" +
			"and the beginnings of downloads that nobody goes on with. Removing a skill does the first by\n" +
			"itself. With --compiled it deletes compiled code, too, which is made again when it is needed.\n\n" +
			"Examples:\n  skillet gc --dry-run\n  skillet gc\n  skillet gc --compiled",
		Flags: []cli.Flag{
			&cli.BoolFlag{Name: "compiled", Usage: "delete compiled code, too"},
			&cli.BoolFlag{Name: "dry-run", Usage: "only show what would be deleted"},
		},
		Action: t.withHost(func(ctx context.Context, c *cli.Context, h *host.Host) error {
			g, err := h.Upkeep().CollectGarbage(ctx, t.person(), upkeep.GarbageRequest{Delete: !c.Bool("dry-run"), Compiled: c.Bool("compiled")})
			if err != nil {
				return err
			}
			return t.answer(g, func() {
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
		}),
	}
}
