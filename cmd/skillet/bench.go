package main

import (
	"context"

	"github.com/skillet-run/skillet/host/app/author"
	"github.com/skillet-run/skillet/host/base/fault"
	"github.com/skillet-run/skillet/host/edge/lines"

	"github.com/urfave/cli/v2"

	"github.com/skillet-run/skillet/host"
)

func (t *terminal) benchCommand() *cli.Command {
	return command("bench", []cli.Flag{
		&cli.StringFlag{Name: "input", Usage: "the input: `JSON`, @FILE, or - for standard input"},
		&cli.StringSliceFlag{Name: "allow", Usage: "allow this `CAPABILITY` for these calls; may be repeated"},
		&cli.IntFlag{Name: "calls", Value: 200, Usage: "make this `NUMBER` of calls with a snapshot, and a tenth of it without"},
		&cli.DurationFlag{Name: "time", Usage: "make calls for this `TIME` rather than a number of them"},
		workspaceFlag(),
	}, t.withHost(t.bench))
}

func (t *terminal) bench(ctx context.Context, c *cli.Context, h *host.Host) error {
	if !c.Args().Present() {
		return fault.Errorf(fault.KindUsage, "bench takes a skill or a path").WithHint("`skillet help bench` shows examples")
	}
	call, err := t.invocation(ctx, c, h)
	if err != nil {
		return err
	}
	done := t.waiting("calling %s", call.Target.Label())
	out, err := h.Author().Bench(ctx, t.person(), author.BenchRequest{Call: call, Calls: c.Int("calls"), Time: c.Duration("time")})
	done()
	return printLines(t, out, err, func(out author.Benched) []string { return lines.Benched(t.fitting(), out) })
}
